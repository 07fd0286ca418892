"""Figures that other people measured and published; sources and units in ``README.md``.

References for models and reports, never measurements of ours.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from isthmus.errors import UsageError

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Series there are."""
    return sorted(path.stem for path in _FOLDER.glob("*.csv"))


def series(name: str) -> pd.DataFrame:
    """One series as published, in the units that its columns name."""
    if name not in names():
        raise UsageError(f"no published series '{name}'; known: {', '.join(names())}")
    return pd.read_csv(_FOLDER / f"{name}.csv")
