"""Reads runs of a fleet: keeps times, failures, findings of the checks, and the host's speed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from statistics import median
from typing import Literal, NamedTuple

import msgspec

from isthmus.analysis.machines import Fact, facts_of, started
from isthmus.analysis.quantities import CLOCKS, IDENTITY, size_class, trusted_logs
from isthmus.analysis.summary import simulated_devices
from isthmus.frames import Frame, Series
from isthmus.results.run_file import DeviceRecord, Point, Run

KEY = [*IDENTITY, "sizes"]
"""Columns that identify a quantity of a device."""
KIND_PARTS = "; "
"""Separator between processor and devices in the name of a kind of machine."""
_CARDS = ("uuid", "serial", "serial_number")
"""Properties that distinguish a card from other cards of its product."""
Key = tuple[str, ...]
"""Values of the columns ``KEY``."""
_NEVER = datetime.min.replace(tzinfo=timezone.utc)
"""Takes the place of an unknown date: any known date is newer."""


class Card(NamedTuple):
    """Identity of a card."""

    kind: str
    """One of ``_CARDS``, or ``name``: only identities of equal kind are compared."""
    value: str


@dataclass
class Machine:
    """One machine with its devices, from all of its runs."""

    name: str
    kind: str
    reasons: list[str] = field(default_factory=list)
    """Why the machine failed."""
    started: datetime | None = None
    """When the machine's newest run began."""
    dated: Literal["", "old", "future"] = ""
    """Why no run of the machine counts: all runs are too old, or dated in the future."""
    unreadable: bool = False
    """Whether the machine is known only by the name of a file that cannot be read."""
    facts: list[Fact] = field(default_factory=list)
    hosts: list[Run] = field(default_factory=list)
    """The machine's runs with readings of the host's speed, without their times."""
    logs: list[Mapping[Key, Mapping[int, float]]] = field(default_factory=list)
    """For each run of ``hosts``: mean log time of each quantity, by process."""
    cards: dict[str, Card] = field(default_factory=dict)
    """The card at each device's address, in the machine's newest run."""


class Unreadable(NamedTuple):
    """A file that should be a run file, but cannot be read."""

    why: str


class OneRun(NamedTuple):
    """Contents of one run that a fleet keeps."""

    machine: Machine
    rows: list[tuple[object, ...]]
    """Values of ``KEY``, bytes, and the logarithms of seconds and of moved bytes."""

    @property
    def identity(self) -> tuple[object, ...]:
        """A value that is equal for two files of the same run."""
        return self.machine.name, self.machine.started, repr(self.rows)


class Reading(NamedTuple):
    """All machines whose runs were read, with their times."""

    times: Frame
    """Columns ``node``, ``kind``, ``KEY``, ``bytes``, and logarithms ``log`` and ``moved``."""
    machines: dict[tuple[str, str], Machine]
    """Machines by name and kind."""


class Ages(NamedTuple):
    """Earliest and latest time at which a run that counts may have begun."""

    oldest: datetime
    newest: datetime


def read(runs: Iterable[tuple[str, Run | Unreadable]], ages: Ages | None = None) -> list[OneRun]:
    """Keeps contents of each run; only the machine's name if the run began outside of ``ages``."""
    return [
        OneRun(Machine(name, "", [run.why], unreadable=True), [])
        if isinstance(run, Unreadable)
        else _one(name, run, ages)
        for name, run in runs
    ]


def gather(runs: Sequence[OneRun], names: Mapping[str, str]) -> Reading:
    """Groups the runs by machine; ``names``: the shown name of each host."""
    machines: dict[tuple[str, str], Machine] = {}
    cards: dict[tuple[str, str], list[tuple[datetime | None, Mapping[str, Card]]]] = {}
    rows: list[tuple[object, ...]] = []
    count = [run.machine for run in runs if not run.machine.dated]
    known_now = {names[machine.name] for machine in count if not machine.unreadable}
    unreadable = {names[machine.name] for machine in count if machine.unreadable}
    for own, of_run in runs:
        name = names[own.name]
        if (own.dated or own.unreadable) and name in known_now:
            continue
        if own.dated and name in unreadable:
            continue
        known = machines.setdefault(
            (name, own.kind),
            Machine(name, own.kind, dated=own.dated, unreadable=own.unreadable),
        )
        known.reasons += [reason for reason in own.reasons if reason not in known.reasons]
        known.facts += [fact for fact in own.facts if fact not in known.facts]
        known.started = max(filter(None, (known.started, own.started)), default=None)
        known.hosts += own.hosts
        known.logs += own.logs
        cards.setdefault((name, own.kind), []).append((own.started, own.cards))
        rows += [(name, own.kind, *row) for row in of_run]
    for key, of_runs in cards.items():
        for _, seen in sorted(of_runs, key=lambda dated: dated[0] or _NEVER):
            machines[key].cards |= seen
    columns = ["node", "kind", *KEY, "bytes"]
    frame = Frame(rows, columns=[*columns, "log", "moved"])
    return Reading(figures(frame, columns, log=Series.median, moved=Series.median), machines)


def figures(rows: Frame, keys: Sequence[str], **of: Callable[[Series], float]) -> Frame:
    """Makes a row for each group of rows that are equal in the keys, with figures of the group."""
    groups = [
        (*key, *(
            figure(group[name]) if len(group) > 1 else group[name].values[0]
            for name, figure in of.items()
        ))
        for key, group in rows.groupby(keys, sort=False)
    ]  # fmt: skip
    return Frame(groups, columns=[*keys, *of])


def _one(name: str, run: Run, ages: Ages | None) -> OneRun:
    host = str(run.environment.get("host") or name)
    machine = Machine(host, kind_of(run), started=started(run))
    machine.cards = {
        device.address: next(
            (Card(kind, value) for kind in _CARDS if (value := device.properties.get(kind))),
            Card("name", device.name),
        )
        for device in run.devices
        if not device.error
    }
    if ages is not None:
        if machine.started is None or machine.started < ages.oldest:
            machine.dated = "old"
        elif machine.started > ages.newest:
            machine.dated = "future"
        if machine.dated:
            return OneRun(machine, [])
    rows: list[tuple[object, ...]] = []
    try:
        rows, machine.reasons, logs = _rows(run)
        machine.facts = list(facts_of(run))
        readings = [rerun for point in run.points for rerun in point.reruns if rerun.host_speed]
        if readings:
            machine.hosts.append(_host_alone(run))
            machine.logs.append(logs)
    except (ArithmeticError, LookupError, RuntimeError, ValueError) as error:
        machine.reasons = [f"{name}: not a valid run ({type(error).__name__})"]
    return OneRun(machine, rows)


def _host_alone(run: Run) -> Run:
    """Returns the run with readings of the host's speed only, without times."""
    points = []
    for point in run.points:
        reruns = [msgspec.structs.replace(r, clocks={}) for r in point.reruns if r.host_speed]
        points += [msgspec.structs.replace(point, reruns=reruns)] if reruns else []
    return msgspec.structs.replace(run, points=points, devices=[])


def _rows(
    run: Run,
) -> tuple[list[tuple[object, ...]], list[str], Mapping[Key, Mapping[int, float]]]:
    """Rows of one run, what failed in the run, and mean log times by quantity and process."""
    rows: list[tuple[object, ...]] = []
    wrong = [f"{device.address}: {device.error}" for device in run.devices if device.error]
    by_process: dict[Key, dict[int, list[float]]] = {}
    simulated = simulated_devices(run)
    for point in run.points:
        for clock in CLOCKS:
            if clock == "host" and point.device in simulated:
                continue
            logs, why = trusted_logs(point, clock)
            if why in {"wrong data", "failed"} and f"{point.device}: {why}" not in wrong:
                wrong.append(f"{point.device}: {why}")
            if logs:
                key = _key(point, clock)
                moved = math.log(point.moved_bytes) if point.moved_bytes else math.nan
                log = median([median(values) for values in logs.values()])
                rows.append((*key, point.bytes, log, moved))
                if clock == "host":
                    known = by_process.setdefault(key, {})
                    for process, values in logs.items():
                        known.setdefault(process, []).append(median(values))
    if not rows and not wrong:
        wrong.append("nothing was measured")
    return rows, wrong, {key: dict(_complete(of)) for key, of in by_process.items()}


def _complete(logs: Mapping[int, list[float]]) -> Iterator[tuple[int, float]]:
    """Yields the mean of each process that measured the most common number of sizes."""
    usual = Counter(map(len, logs.values())).most_common(1)[0][0]
    for process, values in logs.items():
        if len(values) == usual:
            yield process, math.fsum(values) / usual


def _key(point: Point, clock: str) -> Key:
    axes = ", ".join(f"{axis} {value}" for axis, value in point.axes.items() if value != "")
    return (
        point.study, point.device, point.operation, point.memory, axes, clock,
        size_class(point.bytes),
    )  # fmt: skip


def kind_of(run: Run) -> str:
    """The kind of a run's machine: its processor, and its devices with their links."""
    devices = sorted({_device(d) for d in run.devices})
    return KIND_PARTS.join([str(run.environment.get("cpu") or "unknown processor"), *devices])


def _device(device: DeviceRecord) -> str:
    ends = (device.link.get("max_link_speed", ""), device.link.get("max_link_width", ""))
    slot = " x".join(filter(None, ends))
    return " ".join(filter(None, (device.address, device.name, slot and f"({slot})")))
