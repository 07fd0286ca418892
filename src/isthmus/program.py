"""Builds commands of Isthmus for messages, ready to paste: lists of words, quoted when shown."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec


def program() -> str:
    """How the user called Isthmus: ``isthmus``, ``.venv/bin/isthmus``, ``python -m isthmus``.

    Returns ``isthmus`` if another program imports this package.
    """
    called = Path(sys.argv[0])
    if called.name == "__main__.py" and called.parent.name == "isthmus":
        return f"{quoted(shorter(Path(sys.executable)))} -m isthmus"
    installed = shutil.which(called.name)
    if called.name != "isthmus" or (
        installed and called.exists() and Path(installed).samefile(called)
    ):
        return "isthmus"
    return quoted(shorter(called))


def shorter(path: Path) -> str:
    """The path as given or relative to the working folder, whichever is shorter.

    The result never begins with a hyphen, which would make it an option.
    """
    names = [str(path)]
    if path.is_absolute():
        names.append(os.path.relpath(path))
        if "/" not in names[1]:
            names[1] = f"./{names[1]}"
    shortest = min(names, key=len)
    return f"./{shortest}" if shortest.startswith("-") else shortest


def quoted(word: str) -> str:
    r"""A word quoted for a shell, as ``$'\x1b'`` if it has control characters or invalid UTF-8."""
    if word.isprintable():
        return shlex.quote(word)
    escaped = re.sub(rb"[^ -&(-[\]-~]", lambda b: b"\\x%02x" % ord(b[0]), os.fsencode(word))
    return f"$'{escaped.decode()}'"


class Invocation(msgspec.Struct, frozen=True):
    """A command of Isthmus. As text, its words are quoted and begin as the user called Isthmus."""

    words: tuple[str, ...]
    """Arguments of ``isthmus``."""
    before: tuple[str, ...] = ()
    """Words of a launcher before the program: ``mpirun -n 2``."""

    @property
    def pieces(self) -> list[str]:
        """All words quoted, including launcher and program."""
        return [*map(quoted, self.before), program(), *map(quoted, self.words)]

    def __str__(self) -> str:
        return " ".join(self.pieces)


def invocation(*words: object, before: Iterable[str] = ()) -> Invocation:
    """Makes a command of these words; ``analysis.commands`` checks words of a run file before."""
    return Invocation(tuple(map(str, words)), tuple(before))


def option_words(flag: str, value: object) -> list[str]:
    """Words of an option and its value; ``--flag=-1`` for a value that begins with a hyphen."""
    return [f"{flag}={value}"] if str(value).startswith("-") else [flag, str(value)]
