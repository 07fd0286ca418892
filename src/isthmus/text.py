"""Pieces of messages: a suggestion for an unknown name, and lists cut short."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from isthmus.errors import UsageError

_SIMILAR = 0.6
"""Least similarity of a suggestion, from 0 to 1."""
_MOST_LISTED = 8
_MOST_SHOWN = 200


def nearest(name: str, known: Iterable[str]) -> str:
    """``"did you mean u250? "``, a prefix for a list of known names; empty if none is similar."""
    names = {one.lower(): one for one in known}
    matches = difflib.get_close_matches(name.lower(), names, 1, _SIMILAR)
    return f"did you mean {names[matches[0]]}? " if matches else ""


def known(what: str, name: str, among: Iterable[str]) -> str:
    """The name, if it is one of these; else raises UsageError that lists them, nearest first."""
    names = list(among)
    if name not in names:
        hint = f"{nearest(name, names)}known: {', '.join(names)}"
        raise UsageError(f"unknown {what} '{name}'; {hint}")
    return name


def truncated(items: Sequence[object]) -> list[str]:
    """The first items as text; where there are more, their number follows: ``"3 more"``."""
    more = len(items) - _MOST_LISTED
    return [*map(str, items[:_MOST_LISTED]), *([f"{more} more"] if more > 0 else [])]


def listed(items: Iterable[str]) -> str:
    """``a, b and c``; ``nothing`` where there is none."""
    *first, last = [*items] or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, one: str, many: str) -> str:
    """``1 machine``, ``2 machines``."""
    return f"{count} {one if count == 1 else many}"


def shortened(text: str) -> str:
    """Text of at most 200 characters; of a longer one the end is left out."""
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} ..."
