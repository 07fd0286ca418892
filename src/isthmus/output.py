"""All that Isthmus prints. Only here text reaches stdout and stderr, so that none of it is obeyed.

Names in run files, of devices and of files come from others. A terminal obeys escape characters in
them, and bidirectional characters let text look like another: both are shown as escapes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from isthmus.errors import UsageError
from isthmus.units import printable

if TYPE_CHECKING:
    from rich.console import Console


class Styled(str):
    """Text with colours of our own: whoever made it has cleaned what others wrote in it."""

    __slots__ = ()


def cleaned(text: object) -> str:
    r"""Lines of text with other control characters as escapes (``\x1b``); tabs stay."""
    if isinstance(text, Styled):
        return text
    return "\n".join(
        line if line.isprintable() else "\t".join(map(printable, line.split("\t")))
        for line in str(text).split("\n")
    )


def put(text: object, end: str = "\n") -> None:
    """Prints what a command is asked for, to stdout."""
    _write(sys.stdout, text, end)


def put_bytes(content: bytes) -> None:
    """Prints a whole file to stdout: text as ``put`` does, else only where no terminal reads it."""
    try:
        put(content.decode(), end="")
    except UnicodeDecodeError:
        if sys.stdout.isatty():
            raise UsageError(
                "these are no characters for a terminal: write them to a file"
            ) from None
        sys.stdout.buffer.write(content)


def tell(text: object) -> None:
    """Prints what a command has to say beside that, to stderr."""
    _write(sys.stderr, text, "\n")


def warn(message: object) -> None:
    """Prints a message of one line to stderr, with the program's name."""
    _write(sys.stderr, f"isthmus: {printable(message)}", "\n")


def line(console: Console, text: object) -> None:
    """Prints one line to a console, above progress that it shows."""
    console.print(printable(text), markup=False, highlight=False, soft_wrap=True)


def _write(stream: TextIO, text: object, end: str) -> None:
    print(cleaned(text), end=end, file=stream, flush=stream is sys.stderr)
