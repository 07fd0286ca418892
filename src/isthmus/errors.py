"""Errors that end a command with one line and a known exit code."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

GATE_FAILED = 3
"""Exit code of a command that did its work and found what it was to guard against."""
GATE_UNDECIDED = 5
"""Exit code of a gate that neither passes nor fails: its data do not decide."""


BUSY = 6
"""Exit code of a command with ``--no-wait`` while another Isthmus measures on this machine."""


class IsthmusError(Exception):
    """Something failed; the message is one line that says what to do."""

    exit_code = 1

    def __init__(self, message: str = "", *, detail: str = "") -> None:
        """``detail``: lines of another program, such as a compiler, that are shown as they are."""
        super().__init__(message)
        self.detail = detail


class UsageError(IsthmusError):
    """The user named something that does not exist, or gave an invalid value."""

    exit_code = 2


class NoSuchDeviceError(UsageError):
    """No device here has the name that the user gave; others of its kind are here."""


class NoDeviceError(IsthmusError):
    """No device of this machine can do what was requested."""

    exit_code = 4


class BusyError(IsthmusError):
    """Another Isthmus measures on this machine, and the user does not want to wait for it."""

    exit_code = BUSY


@contextlib.contextmanager
def analysing(what: object) -> Iterator[None]:
    """A context that analyses run files: what it cannot compute is a UsageError that names them.

    The types of a file were checked when it was read; its values together can still be such that
    no run has them, as where every size is 0.
    """
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageError(
            f"{what}: cannot be analysed, as its values contradict each other "
            f"({type(error).__name__}: {' '.join(str(error).split())[:200]}; --verbose shows where)"
        ) from error
