"""Checks: what keeps a device from its best, told from facts that were read; nothing is measured.

A check is one module here that defines ``CHECK``; other packages add theirs through the entry point
group ``isthmus.checks``, backends those of their devices through ``BackendDescription.checks``.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

import msgspec

from isthmus.checks.base import Check, Facts, Result

__all__ = ["Check", "Facts", "Result", "of_device", "of_machine", "registry"]

_REASON = 60
"""Characters of an exception that are shown."""


@cache
def registry() -> Mapping[str, Check]:
    """All checks by name, the likeliest cause of a low rate first."""
    found: dict[str, Check] = {}
    for module in pkgutil.iter_modules(__path__):
        check = getattr(importlib.import_module(f"{__name__}.{module.name}"), "CHECK", None)
        if check is not None:
            found[check.name] = check
    for entry in importlib.metadata.entry_points(group="isthmus.checks"):
        found.setdefault(entry.name, entry.load())
    return MappingProxyType(dict(sorted(found.items(), key=lambda item: item[1].place)))


def of_machine(facts: Facts) -> list[Result]:
    """Results of all checks of the machine."""
    return _results((c for c in registry().values() if c.of == "machine"), facts)


def of_device(facts: Facts, own: Iterable[Check] = ()) -> list[Result]:
    """Results of all checks of a device; ``own``: those of its backend."""
    subjects = {"device", "pci"} if facts.crosses else {"device"}
    checks = sorted([*registry().values(), *own], key=lambda check: check.place)
    return _results((check for check in checks if check.of in subjects), facts)


def _judged(check: Check, facts: Facts) -> Result | None:
    """A check's result; unknown where facts, of a file or of odd hardware, are beyond it."""
    try:
        return check.judge(facts)
    except Exception as error:  # of third parties' checks, too
        reason = f"{type(error).__name__}: {error}"[:_REASON]
        return Result(state="unknown", found=f"{check.name} cannot be judged ({reason})")


def _results(checks: Iterable[Check], facts: Facts) -> list[Result]:
    found = ((check, _judged(check, facts)) for check in checks)
    return [msgspec.structs.replace(one, check=check.name) for check, one in found if one]
