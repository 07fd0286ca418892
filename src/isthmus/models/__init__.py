"""Models: what a crossing should cost. Pure functions; no file is read or written in a model.

A model is one module here that defines ``MODEL``; other packages add theirs through the entry
point group ``isthmus.models``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from isthmus.models.base import Model
from isthmus.registration import registered
from isthmus.text import known

__all__ = ["Model", "by_name", "registry"]


@cache
def registry() -> Mapping[str, Model]:
    """All models by name."""
    return registered(__name__, __path__, "MODEL")


def by_name(name: str) -> Model:
    """The model of this name; raises UsageError for an unknown one."""
    return registry()[known("model", name, [*registry(), "validate", "fit"])]
