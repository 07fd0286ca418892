"""Studies: questions, and the points that answer them.

A study is one module here that defines ``STUDY``; other packages add theirs through the entry point
group ``isthmus.studies``.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from isthmus.errors import UsageError
from isthmus.studies.base import Study
from isthmus.text import nearest

__all__ = ["Study", "by_name", "in_order", "registry"]


@cache
def registry() -> Mapping[str, Study]:
    """All studies by name."""
    studies: dict[str, Study] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name != "base":
            study: Study = importlib.import_module(f"{__name__}.{module.name}").STUDY
            studies[study.name] = study
    for entry in importlib.metadata.entry_points(group="isthmus.studies"):
        studies.setdefault(entry.name, entry.load())
    return MappingProxyType(studies)


def in_order() -> list[Study]:
    """All studies, the most used first."""
    return sorted(registry().values(), key=lambda study: study.place)


def by_name(name: str) -> Study:
    """The study of this name; raises UsageError for an unknown one."""
    studies = registry()
    if name not in studies:
        known = [*studies, "all"]
        raise UsageError(f"unknown study '{name}'; {nearest(name, known)}known: {', '.join(known)}")
    return studies[name]
