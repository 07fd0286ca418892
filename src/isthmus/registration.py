"""Finds the objects that Isthmus and other packages register: studies, models, checks, ..."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isthmus.errors import IsthmusError


class Registry(Mapping[str, Any]):
    """Objects by name: those of this package, then those of other packages, loaded at first use.

    Listing the names loads no other package. Another package cannot replace a name of this package.
    Raises IsthmusError for an object whose package cannot be loaded.
    """

    def __init__(self, own: Mapping[str, Any], group: str) -> None:
        self._own = own
        self._objects = dict(own)
        self._entries = {
            entry.name: entry for entry in reversed([*importlib.metadata.entry_points(group=group)])
        }
        self._names = [*own, *(name for name in reversed(self._entries) if name not in own)]

    def own(self) -> Mapping[str, Any]:
        """The objects of Isthmus's own package by name, without those of other packages."""
        return self._own

    def __getitem__(self, name: str) -> Any:
        if name not in self._objects:
            self._objects[name] = load_entry_point(self._entries[name])
        return self._objects[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


def registered(package: str, path: Iterable[str], attribute: str) -> Registry:
    """Makes a registry of the objects named ``attribute`` in a package's modules.

    It adds the objects of the entry point group with the package's name. ``path``: the package's
    ``__path__``. Modules without the attribute register nothing.
    """
    objects: dict[str, Any] = {}
    for module in pkgutil.iter_modules(path):
        registered_object = getattr(
            importlib.import_module(f"{package}.{module.name}"), attribute, None
        )
        if registered_object is not None:
            objects[registered_object.name] = registered_object
    return Registry(objects, package)


def load_entry_point(entry: importlib.metadata.EntryPoint) -> Any:
    """Loads the object of another package's entry point.

    Raises IsthmusError with the package's name if the object cannot be loaded.
    """
    try:
        return entry.load()
    except Exception as error:
        package = entry.dist.name if entry.dist else entry.value
        raise IsthmusError(
            f"package {package} registers {entry.group} '{entry.name}', which cannot be loaded "
            f"({type(error).__name__}: {' '.join(str(error).split())}): repair or uninstall it"
        ) from error
