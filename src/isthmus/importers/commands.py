"""Commands that stand in a pasted text before what they printed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_NUMBER = re.compile(r"[0-9]{1,6}")
_PER_NODE = re.compile(r"\bppr:([0-9]{1,6}):node\b")
_HOST_FILES = ("--hostfile", "-hostfile", "--machinefile", "-machinefile", "--default-hostfile",
               "-default-hostfile", "-f")  # fmt: skip
"""Options of mpirun and mpiexec that name a file of hosts."""


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
    return _value(words, options)


def _value(words: Sequence[str], options: Sequence[str]) -> str:
    for at, word in enumerate(words):
        for one in options:
            if word == one:
                return words[at + 1] if at + 1 < len(words) else ""
            if one.startswith("--") and word.startswith(f"{one}="):
                return word[len(one) + 1 :]
            if not one.startswith("--") and re.fullmatch(re.escape(one) + r"\d\S*", word):
                return word[len(one) :]
    return ""


@dataclass(frozen=True)
class Started:
    """The ranks that a launcher starts, as far as its options say it."""

    ranks: int
    """Processes; 0: the command does not say it."""
    several_hosts: bool
    """Whether the options name several hosts, or a file of hosts."""


def started(command: str, program: re.Pattern[str]) -> Started:
    """Processes and hosts of a call of mpirun, mpiexec or srun; options of the program are none."""
    words: list[str] = []
    for word in command.split():
        if program.fullmatch(word.rpartition("/")[2]):
            break
        words.append(word)
    if any(word.rpartition("/")[2] == "srun" for word in words):
        nodes = _whole(_value(words, ("-N", "--nodes")))
        named = _value(words, ("-w", "--nodelist"))
        each = _whole(_value(words, ("--ntasks-per-node",)))
        ranks = _whole(_value(words, ("-n", "--ntasks"))) or max(nodes, 1) * each
        return Started(ranks, nodes > 1 or "," in named or "[" in named)
    ranks = _whole(_value(words, ("-np", "--np", "-n")))
    each = _whole(_value(words, ("-N", "-npernode", "--npernode", "-ppn", "-perhost")))
    if not each and (mapped := _PER_NODE.search(command)):
        each = int(mapped[1])
    named = _value(words, ("-H", "--host", "-host", "-hosts", "--hosts"))
    hosts = {one.partition(":")[0] for one in named.split(",")}
    return Started(ranks, 0 < each < ranks or len(hosts) > 1 or bool(_value(words, _HOST_FILES)))


def _whole(text: str) -> int:
    """The number that a text begins with; 0 where there is none. ``-N 2-4`` of srun is 2."""
    found = _NUMBER.match(text)
    return int(found[0]) if found else 0


def environment(command: str) -> Mapping[str, str]:
    """Variables that a command line sets in front of the program."""
    found = {}
    for word in command.split():
        if not _VARIABLE.match(word):
            break
        name, _, value = word.partition("=")
        found[name] = value
    return found
