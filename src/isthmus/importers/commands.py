"""Commands that stand in a pasted text before what they printed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

_VARIABLE = re.compile(r"[A-Za-z_]\w*=")


@dataclass
class Commands:
    """The command lines of a text that call one program, in the order in which they are met."""

    program: re.Pattern[str]
    """Matches the program's name, without its folder."""
    current: str = ""
    seen: dict[str, int] = field(default_factory=dict)
    """Number of each different command line, from 1."""

    def met(self, line: str) -> bool:
        """Whether a line calls the program; if so, it becomes the current one."""
        words = line.removeprefix("$ ").split()
        called = [w for w in words if self.program.fullmatch(w.rpartition("/")[2])]
        if not called or not (line.startswith("$ ") or _is_call(words, called[0])):
            return False
        self.current = " ".join(words)
        self.seen.setdefault(self.current, len(self.seen) + 1)
        return True

    @property
    def number(self) -> int:
        """Which of the different command lines is the current one; 0 before the first."""
        return self.seen.get(self.current, 0)

    def value(self, *options: str) -> str:
        """Value of an option of the current command (``-b``); empty where it is not given."""
        return option(self.current, options)


def _is_call(words: list[str], called: str) -> bool:
    """Whether a line without a prompt is a call: the program, or what starts it, is first."""
    first = next((w for w in words if not _VARIABLE.match(w)), "")
    starts = {"mpirun", "mpiexec", "srun", "sudo", "numactl", "taskset", "time", "prun", "jsrun"}
    return (first == called and "/" in called) or first.rpartition("/")[2] in starts


def option(command: str, options: tuple[str, ...]) -> str:
    """Value of an option in a command line: ``-b 512``, ``-b512``, ``--bufferSize=512``."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    for at, word in enumerate(words):
        for one in options:
            if word == one:
                return words[at + 1] if at + 1 < len(words) else ""
            if one.startswith("--") and word.startswith(f"{one}="):
                return word[len(one) + 1 :]
            if not one.startswith("--") and re.fullmatch(re.escape(one) + r"\d\S*", word):
                return word[len(one) :]
    return ""


def environment(command: str) -> Mapping[str, str]:
    """Variables that a command line sets in front of the program."""
    found = {}
    for word in command.split():
        if not _VARIABLE.match(word):
            break
        name, _, value = word.partition("=")
        found[name] = value
    return found
