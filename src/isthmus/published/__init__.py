"""Figures that other people measured and published.

A source is a folder here: ``source.toml`` lists its figures and tables and how they are reproduced;
CSV files in the folder hold what was published. Other packages add theirs through the entry point
group ``isthmus.published``: each entry is a path to such a folder.

References for models and reports; no measurements of Isthmus.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from isthmus.errors import UsageError
from isthmus.published.source import Figure, Row, Source, read
from isthmus.registration import Registry
from isthmus.text import nearest

__all__ = ["Figure", "Row", "Source", "chosen", "rows_of", "sources"]

_FOLDER = Path(__file__).parent


@cache
def sources() -> Mapping[str, Source]:
    """All sources by name: those that come with Isthmus, then those of other packages."""
    folders = {path.parent.name: path.parent for path in sorted(_FOLDER.glob("*/source.toml"))}
    every = Registry(folders, __name__)
    return MappingProxyType({name: read(name, Path(folder)) for name, folder in every.items()})


def chosen(name: str) -> list[Figure]:
    """Figures of a name: ``all``, a source, or ``SOURCE/FIGURE``; UsageError for an unknown one."""
    every = {figure.name: figure for source in sources().values() for figure in source.figures}
    if name == "all":
        return list(every.values())
    figures = [figure for known, figure in every.items() if name in {known, known.split("/")[0]}]
    if not figures:
        known = [*sources(), *every]
        raise UsageError(
            f"nothing published is called '{name}'; {nearest(name, known)}"
            "isthmus reproduce lists what there is"
        )
    return figures


def rows_of(study: str) -> list[Row]:
    """Rows that this study gives, each once; their figures are not empty."""
    every = (row for source in sources().values() for row in source.rows if row.figures)
    return [row for row in every if row.run and row.run.study == study]
