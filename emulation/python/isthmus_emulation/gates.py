"""Checks a program on emulated cards against limits, and writes the result as JUnit's XML."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from isthmus.junit import Case, junit
from isthmus.units import format_seconds, parse_seconds
from isthmus_emulation import account
from isthmus_emulation.session import WARNINGS, Session


@dataclass
class Limit:
    """A limit of the simulated time for which a program waits for its cards."""

    session: Session
    text: str | None
    """The limit as typed by the user, such as 20ms; None: no limit."""
    ended: bool = field(default=False, init=False)

    def is_exceeded(self) -> bool:
        """Whether the program has waited for its cards longer than the limit."""
        self.ended = self._waited_s() > self._most_s
        return self.ended

    def failures(self) -> list[str]:
        """Returns one line if the program waited longer than the limit, else no line."""
        if self.text is None or self._waited_s() <= self._most_s:
            return []
        what = "the program was ended" if self.ended else "the program had ended by itself"
        return [
            f"{format_seconds(self._waited_s())} simulated, more than --max-simulated "
            f"{self.text}: {what}"
        ]

    @cached_property
    def _most_s(self) -> float:
        return float("inf") if self.text is None else parse_seconds(self.text)

    def _waited_s(self) -> float:
        return account.waited_s(self.session.used())


def warnings(session: Session, *, fatal: bool) -> list[str]:
    """Returns the warning by which --fail-on-warning ended the program, as a list of failures."""
    file: Path = session.directory / WARNINGS
    if not fatal or not file.exists():
        return []
    first = file.read_text("utf-8", "replace").splitlines()[:1]
    return [f"--fail-on-warning: {line}" for line in first]


def as_junit(
    command: Sequence[str], code: int, failures: Sequence[str], line: str, wall_s: float
) -> bytes:
    """Returns JUnit's XML with one test case: the program, named by its command line.

    The time of the test case is wall time in seconds.
    """
    reasons = [*failures, *([f"exit code {code}"] if code and not failures else [])]
    case = Case("card.exec", shlex.join(command), "failure" if reasons else "", "; ".join(reasons))
    if not reasons:
        case = case._replace(message=line)
    return junit("isthmus card exec", [case], wall_s).encode()
