"""Finds the published sources: figures that other people measured, as references for models.

A source is a folder here. Its ``source.toml`` lists figures and tables, and how Isthmus reproduces
them; CSV files hold the published numbers. Other packages add sources through the entry point group
``isthmus.published``: each entry is a path to such a folder.
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
    """Figures by ``all``, the name of a source, or ``SOURCE/FIGURE``; UsageError if unknown."""
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
    """Rows of all sources that runs of this study reproduce and a figure uses, each row once."""
    every = (row for source in sources().values() for row in source.rows if row.figures)
    return [row for row in every if row.run and row.run.study == study]
