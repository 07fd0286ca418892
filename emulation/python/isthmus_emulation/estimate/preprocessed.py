"""Maps a preprocessed source to the lines of the user's files, and finds its pragmas."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable
from pathlib import Path

from isthmus_emulation.estimate.structure import Pragma
from isthmus_emulation.prototype import value

_MARK = re.compile(rb'^# (\d+) "((?:[^"\\]|\\.)*)"([ \d]*)$', re.MULTILINE)
_PRAGMA = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+HLS[ \t]+(.*)$", re.MULTILINE | re.IGNORECASE)
_SYSTEM = b"3"
"""Flag of a line mark after which the text is that of a system header."""
_OPTION = re.compile(r"(\w+)(?:\s*=\s*([^\s,]+(?:\s*[-+*/]\s*[^\s,]+)*))?")
_NAME = re.compile(r"[A-Za-z_]\w*(?:::\w+)*")


class Preprocessed:
    """The text that the compiler reads; places are bytes, as libclang counts."""

    def __init__(self, text: bytes, ours: Path) -> None:
        self.text = text
        self._marks = [
            (m.end() + 1, int(m[1]), _SYSTEM in m[3].split() or m[2].startswith(bytes(ours)))
            for m in _MARK.finditer(text)
        ]
        self._begins = [begin for begin, _, _ in self._marks]
        self.pragmas = [(m.start(), m[1].decode("utf-8", "replace"))
                        for m in _PRAGMA.finditer(text)]  # fmt: skip

    def line(self, offset: int) -> int:
        """Number of the line in the user's file."""
        which = bisect.bisect_right(self._begins, offset) - 1
        if which < 0:
            return self.text.count(b"\n", 0, offset) + 1
        begin, line, _ = self._marks[which]
        return line + self.text.count(b"\n", begin, offset)

    def is_users(self, offset: int) -> bool:
        """Whether a place is in the user's code, not in a header of the system or of HLS."""
        which = bisect.bisect_right(self._begins, offset) - 1
        return which < 0 or not self._marks[which][2]

    def pragmas_in(self, begin: int, end: int) -> list[tuple[int, str]]:
        """Places and texts of the pragmas in a range of the text."""
        return [(at, text) for at, text in self.pragmas if begin <= at < end]

    def end_of_statement(self, end: int) -> int:
        """End of a statement, including its ``;``, before which libclang's extent stops."""
        rest = re.match(rb"\s*;", self.text[end:])
        return end + rest.end() if rest else end


def pragma(text: str, constant: Callable[[str], int | None]) -> Pragma:
    """Reads a pragma such as ``UNROLL factor=N``; ``constant`` returns the values of names."""

    def number(match: re.Match[str]) -> str:
        known = constant(match[0])
        return match[0] if known is None else str(known)

    options: dict[str, str] = {}
    name, *rest = text.split(None, 1)
    for match in _OPTION.finditer(rest[0] if rest else ""):
        key, said = match[1].lower(), match[2]
        if said is None:
            options[key] = ""
        elif key in {"variable", "port", "bundle", "mode", "type", "instances"}:
            options[key] = said
        else:
            options[key] = value(_NAME.sub(number, said))
    return Pragma(name.lower(), options)
