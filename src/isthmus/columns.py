"""Lays out text for terminals and pipes: tables, and paragraphs of 80 columns."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence

from isthmus.program import Invocation

_PARAGRAPH = 80
_BETWEEN = "  "
_LEAST = 24
"""Fewest characters to which the last column is wrapped, even on a narrow terminal."""


def line_width() -> int:
    """Characters of a line: 80, or fewer if stdout is a narrower terminal."""
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PARAGRAPH
    return max(min(room, _PARAGRAPH), _LEAST)


def fitted(line: str) -> list[str]:
    """Splits a line with several columns into lines of at most ``line_width`` characters."""
    if len(line) <= line_width():
        return [line]
    close = re.sub(" {3,}", "  ", line)
    return textwrap.wrap(close, line_width(), subsequent_indent="  ", break_on_hyphens=False)


def columns(
    rows: Sequence[Sequence[str]], indent: str = "", right: Collection[int] = ()
) -> Iterator[str]:
    """Yields a line for each row, or more lines if the terminal is narrower than the row.

    Long text of the last column continues below its start. If the terminal has too little room for
    the last column, each row becomes a paragraph.

    Args:
        rows: Cells of each row.
        indent: Text at the start of each line.
        right: Indices of the columns that are aligned to the right.

    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    beside = len(indent) + sum(width + len(_BETWEEN) for width in widths[:-1])
    if sys.stdout.isatty() and beside + _LEAST > shutil.get_terminal_size().columns:
        for row in rows:
            text = _BETWEEN.join(cell.strip() for cell in row if cell.strip())
            yield from wrapped(text, indent, f"{indent}  ")
        return
    for row in rows:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        first, parts = _BETWEEN.join((*cells[:-1], "")), [cells[-1]]
        if sys.stdout.isatty():
            room = shutil.get_terminal_size().columns - len(indent) - len(first)
            parts = textwrap.wrap(row[-1], max(room, _LEAST), break_on_hyphens=False) or [""]
        for i, part in enumerate(parts):
            yield f"{indent}{' ' * len(first) if i else first}{part}".rstrip()


def wrapped(text: str, first: str = "", others: str = "  ") -> list[str]:
    """Wraps a paragraph but no path or address; ``first`` and ``others`` indent its lines."""
    return textwrap.wrap(
        text, line_width(), initial_indent=first, subsequent_indent=others,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def command_lines(command: Invocation | Sequence[str], label: str) -> Iterator[str]:
    """Yields a command as lines to paste; a long command continues after a backslash.

    ``command`` is a command of Isthmus, or another program's words, quoted for a shell.
    """
    pieces = command.pieces if isinstance(command, Invocation) else command
    line = label
    for word in pieces:
        if len(f"{line} {word} \\") > line_width() and line not in {label, "   "}:
            yield f"{line} \\"
            line = "   "
        line += f" {word}"
    yield line
