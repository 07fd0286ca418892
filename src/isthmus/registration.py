"""Finds what packages register: studies, models, checks, reporters, importers."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from isthmus.errors import IsthmusError


def registered(package: str, path: Iterable[str], attribute: str) -> Mapping[str, Any]:
    """Objects by name: ``attribute`` of the package's modules, and entry points of its name.

    ``path`` is the package's ``__path__``. Modules without the attribute register nothing; an entry
    point does not replace what comes with the package.
    """
    objects: dict[str, Any] = {}
    for module in pkgutil.iter_modules(path):
        one = getattr(importlib.import_module(f"{package}.{module.name}"), attribute, None)
        if one is not None:
            objects[one.name] = one
    for entry in importlib.metadata.entry_points(group=package):
        objects.setdefault(entry.name, loaded(entry))
    return MappingProxyType(objects)


def loaded(entry: importlib.metadata.EntryPoint) -> Any:
    """The object of another package's entry point; raises IsthmusError that names the package."""
    try:
        return entry.load()
    except Exception as error:
        package = entry.dist.name if entry.dist else entry.value
        raise IsthmusError(
            f"package {package} registers {entry.group} '{entry.name}', which cannot be loaded "
            f"({type(error).__name__}: {' '.join(str(error).split())}): repair or uninstall it"
        ) from error
