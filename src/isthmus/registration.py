"""Finds what packages register: studies, models, checks, reporters, importers."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isthmus.errors import IsthmusError


class Registry(Mapping[str, Any]):
    """Objects by name: this package's, then those of other packages, which load when asked for.

    Names are known without loading anything of another package. A name of this package is not
    replaced. Getting an object raises IsthmusError where its package cannot be loaded.
    """

    def __init__(self, own: Mapping[str, Any], group: str) -> None:
        self._own = own
        self._objects = dict(own)
        self._entries = {
            entry.name: entry for entry in reversed([*importlib.metadata.entry_points(group=group)])
        }
        self._names = [*own, *(name for name in reversed(self._entries) if name not in own)]

    def own(self) -> Mapping[str, Any]:
        """Those of this package, which are loaded."""
        return self._own

    def __getitem__(self, name: str) -> Any:
        if name not in self._objects:
            self._objects[name] = loaded(self._entries[name])
        return self._objects[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


def registered(package: str, path: Iterable[str], attribute: str) -> Registry:
    """``attribute`` of the package's modules, and entry points of the package's name.

    ``path`` is the package's ``__path__``. Modules without the attribute register nothing.
    """
    objects: dict[str, Any] = {}
    for module in pkgutil.iter_modules(path):
        one = getattr(importlib.import_module(f"{package}.{module.name}"), attribute, None)
        if one is not None:
            objects[one.name] = one
    return Registry(objects, package)


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
