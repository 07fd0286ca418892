"""Figures that other people measured and published.

A source is a folder here: ``source.toml`` lists its figures and tables and their reproduction; CSV
files hold the published numbers. Other packages add sources through the entry point group
``isthmus.published``: each entry is a path to such a folder. They are references for models and
reports, not measurements of Isthmus.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from isthmus.errors import UsageError
from isthmus.published.source import Figure, Row, Source, read
from isthmus.registration import Registry
from isthmus.text import did_you_mean

__all__ = ["Figure", "Row", "Source", "chosen", "rows_of", "sources"]

_FOLDER = Path(__file__).parent


@cache
def sources() -> Mapping[str, Source]:
    """All sources by name: those that come with Isthmus, then those of other packages."""
    folders = {path.parent.name: path.parent for path in sorted(_FOLDER.glob("*/source.toml"))}
    every = Registry(folders, __name__)
    return MappingProxyType({name: read(name, Path(folder)) for name, folder in every.items()})


def chosen(name: str) -> list[Figure]:
    """Figures of a name: ``all``, a source, or ``SOURCE/FIGURE``. Raises UsageError if unknown."""
    every = {figure.name: figure for source in sources().values() for figure in source.figures}
    if name == "all":
        return list(every.values())
    figures = [
        figure
        for figure_name, figure in every.items()
        if name in {figure_name, figure_name.split("/")[0]}
    ]
    if not figures:
        names = [*sources(), *every]
        raise UsageError(
            f"no published figure or source is called '{name}'; {did_you_mean(name, names)}"
            "isthmus reproduce lists them"
        )
    return figures


def rows_of(study: str) -> list[Row]:
    """Rows that this study reproduces, without repetition, if a figure uses them."""
    every = (row for source in sources().values() for row in source.rows if row.figures)
    return [row for row in every if row.run and row.run.study == study]
