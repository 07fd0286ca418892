"""Checks: whether a setting slows a device, judged from facts without any measurement.

A check is a module here that defines ``CHECK``. Other packages add checks through the entry point
group ``isthmus.checks``, backends through ``BackendDescription.checks``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import msgspec

from isthmus.checks.base import Check, Facts, Result
from isthmus.registration import registered

__all__ = ["Check", "Facts", "Result", "judged", "of_device", "of_machine", "registry"]

_REASON = 60
"""Characters of an exception's message that the result of a failed check shows at most."""


@cache
def registry() -> Mapping[str, Check]:
    """All checks by name, in the order of ``Check.place``: likely causes of a low rate first."""
    checks = registered(__name__, __path__, "CHECK")
    return dict(sorted(checks.items(), key=lambda item: item[1].place))


def of_machine(facts: Facts) -> list[Result]:
    """Results of all checks of the machine that apply."""
    return [result for _, result in judged(facts, machine=True)]


def of_device(facts: Facts, own: Iterable[Check] = ()) -> list[Result]:
    """Results of all checks of a device that apply; ``own``: checks by the device's backend."""
    return [result for _, result in judged(facts, own)]


def judged(
    facts: Facts, own: Iterable[Check] = (), *, machine: bool = False
) -> list[tuple[Check, Result]]:
    """Checks of a device, each with its result; likely causes of a low rate come first.

    ``own``: checks by the device's backend. ``machine``: return the machine's checks instead.
    """
    subjects = {"machine"} if machine else {"device", "pci"} if facts.crosses else {"device"}
    asked = [check for check in (*registry().values(), *own) if check.of in subjects]
    results = (
        (check, _result(check, facts))
        for check in sorted(asked, key=lambda asked_check: asked_check.place)
    )
    return [
        (check, msgspec.structs.replace(result, check=check.name))
        for check, result in results
        if result
    ]


def _result(check: Check, facts: Facts) -> Result | None:
    """A check's result; an unknown result if the check raises an exception on odd facts."""
    try:
        return check.judge(facts)
    except Exception as error:  # third parties' checks may raise any exception
        reason = f"{type(error).__name__}: {error}"[:_REASON]
        return Result(state="unknown", found=f"{check.name} cannot be judged ({reason})")
