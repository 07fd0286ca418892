"""Finds the studies: questions, with the points that answer them.

A study is a module here that defines ``STUDY``. Other packages add studies through the entry point
group ``isthmus.studies``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from isthmus.registration import registered
from isthmus.studies.base import Study
from isthmus.text import require_known

__all__ = ["Study", "by_name", "in_order", "registry"]


@cache
def registry() -> Mapping[str, Study]:
    """All studies by name."""
    return registered(__name__, __path__, "STUDY")


def in_order() -> list[Study]:
    """All studies in the order of ``Study.place``: the most used study comes first."""
    return sorted(registry().values(), key=lambda study: study.place)


def by_name(name: str) -> Study:
    """The study of this name. Raises UsageError for an unknown name."""
    return registry()[require_known("study", name, [*registry(), "all"])]
