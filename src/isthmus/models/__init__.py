"""Finds the models, which predict what a crossing costs. They are pure functions, without files.

A model is a module here that defines ``MODEL``. Other packages add models through the entry point
group ``isthmus.models``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from isthmus.models.base import Model
from isthmus.registration import registered
from isthmus.text import require_known

__all__ = ["Model", "by_name", "registry"]


@cache
def registry() -> Mapping[str, Model]:
    """All models by name."""
    return registered(__name__, __path__, "MODEL")


def by_name(name: str) -> Model:
    """The model of this name. Raises UsageError for an unknown name."""
    return registry()[require_known("model", name, [*registry(), "validate", "fit"])]
