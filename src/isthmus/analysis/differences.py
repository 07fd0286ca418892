"""Finds facts in which the machines, devices and settings of two sets of runs differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from isthmus import boards
from isthmus.analysis.wording import facts
from isthmus.results.run_file import DeviceRecord, Run

_PASSING = (
    "load_average", "memory_available_bytes", "steal_share_since_boot", "steal_share_of_busy",
    "steal_before_s", "steal_after_s", "busy_before_s", "busy_after_s",
)  # fmt: skip
"""Names in a run file of facts that hold for a moment only: they explain no change."""
_EXPLAINING = (
    "driver", "gen", "width", "speed", "payload", "mps", "mrrs", "iommu", "kernel", "governor",
    "turbo", "idle", "microcode", "bios", "cpu", "numa", "platform", "version", "xclbin", "huge",
)  # fmt: skip
"""Parts of names of facts that may change times of a crossing, as parameters of a board do."""
_PRODUCT = "name"
"""Fact that explains most: a device with another name is another product."""
_HOST = ("machine", "host")
"""Subject and name of the fact that shows another machine."""


class Difference(NamedTuple):
    """A fact of the machine, the device or the run that is not the same on both sides."""

    of: str
    """Subject of the fact: ``machine``, ``run``, or a device's address."""
    name: str
    before: str
    after: str
    explains: bool
    """Whether the fact may change times of a crossing."""


def differences(
    base: Sequence[Run], new: Sequence[Run], names: Mapping[str, str]
) -> list[Difference]:
    """Facts that differ between two sets of runs, those that may explain a change first.

    Devices that are another product come first of all. ``names``: addresses in the second set of
    devices that have another address in the first set, with that address.
    """
    sides = [_facts(base, {}), _facts(new, names)]
    subjects = [{of for of, _ in side} for side in sides]
    results = []
    for of, name in dict.fromkeys([*sides[0], *sides[1]]):
        before, after = (", ".join(sorted(side.get((of, name), ()))) for side in sides)
        if before != after and of in subjects[0] & subjects[1]:
            explains = (
                name == _PRODUCT
                or (of, name) == _HOST
                or "." in name
                or any(part in name.lower() for part in _EXPLAINING)
            )
            results.append(Difference(of, name, before, after, explains))
    return sorted(
        results,
        key=lambda difference: (
            difference.name != _PRODUCT,
            (difference.of, difference.name) != _HOST,
            not difference.explains,
        ),
    )


def _facts(runs: Sequence[Run], names: Mapping[str, str]) -> dict[tuple[str, str], set[str]]:
    """Returns all values of each fact, by subject and name of the fact."""
    values: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        settings = {"cpus": run.settings.cpus, "NUMA node": run.settings.numa_node}
        of_run = {"Isthmus version": run.software.version, "status": run.status, **settings}
        parts = [("run", of_run), ("machine", run.environment)]
        parts += [(names.get(d.address, d.address), _of_device(d)) for d in run.devices]
        for of, part in parts:
            for name, value in facts(part, without=_PASSING):
                if value:
                    values.setdefault((of, name), set()).add(value)
    return values


def _of_device(device: DeviceRecord) -> dict[str, Any]:
    named = {_PRODUCT: device.name, "platform": device.platform}
    return {**named, **device.properties, **device.link, **device.environment}


def matched_devices(base: Sequence[Run], new: Sequence[Run]) -> dict[str, str]:
    """Names in the second set by names in the first, for devices that have two names.

    Either each set has one device in all, or one device of a backend and product has two names.
    """
    ours, theirs = ({d.address: product(d) for run in runs for d in run.devices}
                    for runs in (base, new))  # fmt: skip
    if len(ours) == len(theirs) == 1 and ours.keys() != theirs.keys():
        return dict(zip(theirs, ours, strict=True))
    left = [{a: of for a, of in devices.items() if a not in other}
            for devices, other in ((ours, theirs), (theirs, ours))]  # fmt: skip
    single = [
        {of: address for address, of in side.items() if list(side.values()).count(of) == 1}
        for side in left
    ]
    return {single[1][of]: single[0][of] for of in single[1] if of in single[0]}


def product(device: DeviceRecord) -> tuple[str, str, str]:
    """Returns a device's backend, name and board, which are equal for devices of one product."""
    board = boards.of_device(device.properties)
    return device.backend, device.name, board.name if board else ""
