"""Importers: outputs of other programs as run files.

An importer is one module here that defines ``IMPORTER``; other packages add theirs through the
entry point group ``isthmus.importers``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from isthmus.errors import UsageError
from isthmus.importers.base import Importer
from isthmus.registration import registered
from isthmus.text import known

__all__ = ["Importer", "by_name", "recognised", "registry"]


@cache
def registry() -> Mapping[str, Importer]:
    """All importers by name."""
    return registered(__name__, __path__, "IMPORTER")


def by_name(name: str) -> Importer:
    """The importer of this name; raises UsageError for an unknown one."""
    importers = registry()
    return importers[known("format", name, importers)]


def recognised(text: str) -> Importer:
    """The importer whose format a text is; raises UsageError for an unknown one."""
    for importer in registry().values():
        if importer.matches(text):
            return importer
    names = ", ".join(registry())
    raise UsageError(f"no output that Isthmus knows; --format NAME names one of {names}")
