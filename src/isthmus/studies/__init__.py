"""Studies: questions, and the points that answer them.

A study is one module here that defines ``STUDY``; other packages add theirs through the entry point
group ``isthmus.studies``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from isthmus.registration import registered
from isthmus.studies.base import Study
from isthmus.text import known

__all__ = ["Study", "by_name", "in_order", "registry"]


@cache
def registry() -> Mapping[str, Study]:
    """All studies by name."""
    return registered(__name__, __path__, "STUDY")


def in_order() -> list[Study]:
    """All studies, the most used first."""
    return sorted(registry().values(), key=lambda study: study.place)


def by_name(name: str) -> Study:
    """The study of this name; raises UsageError for an unknown one."""
    return registry()[known("study", name, [*registry(), "all"])]
