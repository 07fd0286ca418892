"""What somebody may have meant who wrote a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_ALIKE = 0.6


def nearest(name: str, known: Iterable[str]) -> str:
    """``"did you mean u250? "``, to go before what is known; empty where nothing is near."""
    names = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), names, 1, _ALIKE)
    return f"did you mean {names[found[0]]}? " if found else ""
