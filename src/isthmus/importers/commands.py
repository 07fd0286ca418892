"""Reads the command lines in a pasted text: options of the program, ranks and hosts of a launcher.

A command line stands before the output that it printed.
"""

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
"""Options of mpirun and mpiexec that name a file with a list of hosts."""


@dataclass
class Commands:
    """Finds the command lines that call one program, while a text is read line by line."""

    program: re.Pattern[str]
    """Matches the whole name of the program without its folder."""
    current: str = ""
    number_of: dict[str, int] = field(default_factory=dict)
    """Number of each different command line, counted from 1 in the order of the text."""

    def met(self, line: str) -> bool:
        """Whether a line calls the program; if so, it becomes the current command line."""
        words = line.removeprefix("$ ").split()
        called = [w for w in words if self.program.fullmatch(w.rpartition("/")[2])]
        if not called or not (line.startswith("$ ") or _is_call(words, called[0])):
            return False
        self.current = " ".join(words)
        self.number_of.setdefault(self.current, len(self.number_of) + 1)
        return True

    @property
    def number(self) -> int:
        """Number of the current command line in ``number_of``; 0 before the first command line."""
        return self.number_of.get(self.current, 0)

    def value(self, *options: str) -> str:
        """Value of an option (``-b``) in the current command line; empty without the option.

        ``options`` are spellings of one option.
        """
        return option(self.current, options)


def _is_call(words: list[str], called: str) -> bool:
    """Whether a line without a prompt is a command line: it begins with a launcher or a path.

    A line that begins with the program's bare name may be a line of its output.
    """
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
        for option_ in options:
            if word == option_:
                return words[at + 1] if at + 1 < len(words) else ""
            if option_.startswith("--") and word.startswith(f"{option_}="):
                return word[len(option_) + 1 :]
            if not option_.startswith("--") and re.fullmatch(re.escape(option_) + r"\d\S*", word):
                return word[len(option_) :]
    return ""


@dataclass(frozen=True)
class Started:
    """How many ranks a launcher starts, and on how many hosts, by its options."""

    ranks: int
    """Number of processes; 0 if the command line does not state it."""
    several_hosts: bool
    """Whether the options name several hosts, or a file of hosts."""


def started(command: str, program: re.Pattern[str]) -> Started:
    """Reads ranks and hosts from the options of mpirun, mpiexec or srun in a command line.

    Ignores the options after the program's name.
    """
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
    hosts = {host.partition(":")[0] for host in named.split(",")}
    return Started(ranks, 0 < each < ranks or len(hosts) > 1 or bool(_value(words, _HOST_FILES)))


def _whole(text: str) -> int:
    """The number at the beginning of a text, 0 without a number: srun's range ``2-4`` gives 2."""
    match = _NUMBER.match(text)
    return int(match[0]) if match else 0


def environment(command: str) -> Mapping[str, str]:
    """Environment variables that a command line sets before its first word: ``NAME=value ...``."""
    variables = {}
    for word in command.split():
        if not _VARIABLE.match(word):
            break
        name, _, value = word.partition("=")
        variables[name] = value
    return variables
