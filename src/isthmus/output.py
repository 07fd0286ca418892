"""Prints all text of Isthmus: no other module writes to stdout or stderr.

Strangers may have chosen the names of files and devices, and the texts in run files. A terminal
would execute escape sequences in them, and bidirectional characters would disguise text: this
module prints both as escapes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from isthmus.errors import UsageError
from isthmus.units import printable

if TYPE_CHECKING:
    from rich.console import Console


class Styled(str):
    """Text with Isthmus's escape sequences for colours; text of strangers in it is cleaned."""

    __slots__ = ()


def cleaned(text: object) -> str:
    r"""Lines of text with control characters as escapes (``\x1b``), except tabs."""
    if isinstance(text, Styled):
        return text
    return "\n".join(
        line if line.isprintable() else "\t".join(map(printable, line.split("\t")))
        for line in str(text).split("\n")
    )


def put(text: object, end: str = "\n") -> None:
    """Prints the result of a command to stdout."""
    _write(sys.stdout, text, end)


def put_bytes(content: bytes) -> None:
    """Prints a file's contents to stdout; raises UsageError for binary data on a terminal."""
    try:
        put(content.decode(), end="")
    except UnicodeDecodeError:
        if sys.stdout.isatty():
            raise UsageError("a terminal cannot show binary data: write them to a file") from None
        sys.stdout.buffer.write(content)


def inform(text: object) -> None:
    """Prints further information beside a command's result to stderr."""
    _write(sys.stderr, text, "\n")


def warn(message: object) -> None:
    """Prints a message of one line to stderr, with the program's name."""
    _write(sys.stderr, f"isthmus: {printable(message)}", "\n")


def line(console: Console, text: object) -> None:
    """Prints one line to a console, above the progress bar."""
    console.print(printable(text), markup=False, highlight=False, soft_wrap=True)


def _write(stream: TextIO, text: object, end: str) -> None:
    print(cleaned(text), end=end, file=stream, flush=stream is sys.stderr)
