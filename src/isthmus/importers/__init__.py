"""Importers: outputs of other programs as logs, and logs as run files.

An importer is one module here that defines ``IMPORTER``; other packages add theirs through the
entry point group ``isthmus.importers``. A pasted text can have parts of several formats.
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
    """The importer of this name; raises UsageError for an unknown one."""
    importers = registry()
    found: Importer = importers[require_known("format", name, importers)]
    return found


def all_recognised(text: str) -> list[Importer]:
    """The importers that know a part of a text, which is cleaned.

    Those of other packages are loaded and asked where none of Isthmus' own finds rates in it.
    """
    own = registry().own()
    found = [one for one in own.values() if one.matches(text)]
    if any(one.has_rates for one in found):
        return found
    others = [one for name, one in registry().items() if name not in own]
    return [one for one in others if one.matches(text)] + found


def recognised(text: str) -> Importer:
    """The importer whose format a text is; raises UsageError for an unknown one."""
    for importer in all_recognised(text):
        return importer
    names = ", ".join(registry())
    raise UsageError(f"no output that Isthmus knows; --format NAME names one of {names}")
