"""Finds the importers for outputs of other programs, which read them as logs.

``as_run`` makes run files of logs. An importer is a module here that defines ``IMPORTER``. Other
packages add importers through the entry point group ``isthmus.importers``. Several importers may
match a pasted text, since it can have parts of several formats.
"""

from __future__ import annotations

from functools import cache

from isthmus.errors import UsageError
from isthmus.importers.base import Importer
from isthmus.registration import Registry, registered
from isthmus.text import require_known

__all__ = ["Importer", "all_recognised", "by_name", "recognised", "registry"]


@cache
def registry() -> Registry:
    """All importers by name."""
    return registered(__name__, __path__, "IMPORTER")


def by_name(name: str) -> Importer:
    """The importer of this name; raises UsageError for an unknown name."""
    importers = registry()
    importer: Importer = importers[require_known("format", name, importers)]
    return importer


def all_recognised(text: str) -> list[Importer]:
    """The importers that recognise a part of a cleaned text.

    Importers of other packages are loaded only if no importer of Isthmus finds rates in the text.
    """
    own = registry().own()
    matching = [importer for importer in own.values() if importer.matches(text)]
    if any(importer.has_rates for importer in matching):
        return matching
    others = [importer for name, importer in registry().items() if name not in own]
    return [importer for importer in others if importer.matches(text)] + matching


def recognised(text: str) -> Importer:
    """The first importer that recognises a text; raises UsageError if none does."""
    for importer in all_recognised(text):
        return importer
    names = ", ".join(registry())
    raise UsageError(f"no output that Isthmus knows; --format NAME names one of {names}")
