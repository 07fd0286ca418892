"""Parts of messages: suggestions for unknown names, and shortened lists."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from isthmus.errors import UsageError

_SIMILAR = 0.6
"""Least similarity of a name that is suggested (``difflib``'s ratio, 0 to 1)."""
_MOST_LISTED = 8
_MOST_SHOWN = 200


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """The prefix ``"did you mean u250? "`` for a list of known names; empty if none is similar."""
    names = {choice.lower(): choice for choice in choices}
    matches = difflib.get_close_matches(name.lower(), names, 1, _SIMILAR)
    return f"did you mean {names[matches[0]]}? " if matches else ""


def require_known(kind: str, name: str, choices: Iterable[str]) -> str:
    """Returns the name if it is known; otherwise raises UsageError with the known names."""
    names = list(choices)
    if name not in names:
        hint = f"{did_you_mean(name, names)}known: {', '.join(names)}"
        raise UsageError(f"unknown {kind} '{name}'; {hint}")
    return name


def truncated(items: Sequence[object]) -> list[str]:
    """The first items as text, followed by the number of further items: ``"3 more"``."""
    more = len(items) - _MOST_LISTED
    return [*map(str, items[:_MOST_LISTED]), *([f"{more} more"] if more > 0 else [])]


def listed(items: Iterable[str]) -> str:
    """Joins items to ``a, b and c``; ``nothing`` for an empty list."""
    *first, last = [*items] or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, singular: str, plural: str) -> str:
    """A number with its noun: ``1 machine``, ``2 machines``."""
    return f"{count} {singular if count == 1 else plural}"


def shortened(text: str) -> str:
    """The first 200 characters of a text, with dots after a longer text."""
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} ..."


def cut_middle(name: str, most: int) -> str:
    """Cuts a name in the middle to at most ``most`` characters: ``cache line to...back``.

    The cut is between words, unless more than half of the first or the second part would be lost.
    """
    if len(name) <= most:
        return name
    left = (most - 2) // 2
    cut = len(name) - (most - 3 - left)
    between = [at for at in range(1, len(name)) if not name[at - 1 : at + 1].isalnum()]
    end = max((at for at in between if left // 2 < at <= left), default=left)
    start = min((at for at in between if cut <= at < (cut + len(name)) // 2), default=cut)
    return f"{name[:end].rstrip(' ,')}...{name[start:].lstrip(' ,')}"
