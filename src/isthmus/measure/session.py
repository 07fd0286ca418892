"""Carries out a whole run: opens devices, plans, measures, keeps a journal, writes the run file."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from isthmus import __version__, saving
from isthmus.address import Address
from isthmus.backends import by_scheme, run_options
from isthmus.errors import UsageError
from isthmus.host_rows import HostRows
from isthmus.measure.devices import (
    devices_of,
    joint_device,
    of_earlier,
    read_again,
    refuse_absent,
    refuse_or_warn,
)
from isthmus.measure.discovery import FoundDevice
from isthmus.measure.jobs import Job
from isthmus.measure.plan import Layer, Questions, Task, describe_memory_kinds, has_memory, plan_run
from isthmus.measure.rounds import usual_budget_s
from isthmus.measure.runner import Runner, Watcher
from isthmus.measure.selection import Identity
from isthmus.measure.visit import HostSpeed
from isthmus.results import journal, run_file
from isthmus.results.journal import Entry, Journal, PointKey, assemble, key_of
from isthmus.results.run_file import DeviceRecord, LeftOut, Run, Settings, Software
from isthmus.studies import by_name
from isthmus.studies.base import Study
from isthmus.system import environment, lock, memory
from isthmus.system.binding import Binding, binding
from isthmus.thresholds import QUICK

if TYPE_CHECKING:
    from isthmus.measure.joint import RankGroup

QUICK_BUDGET_S = 60.0
"""Time limit of a quick run in seconds, for all studies together."""
PRECISION = 0.02
LEAST_BUDGET_S = 240.0
"""Least time limit in seconds of a run without ``--budget``, which ends earlier if its points are
precise."""


@dataclass
class Request:
    """What the user requests: studies, devices, axes, options and limits of a run."""

    studies: Sequence[Study]
    devices: Sequence[str]
    axes: Mapping[str, str]
    out: Path
    command: Sequence[str]
    quick: bool = False
    precision: float | None = None
    budget_s: float | None = None
    reruns: int | None = None
    seed: int = 1
    no_wait: bool = False
    """Whether to raise BusyError, instead of waiting, while another Isthmus measures."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Values of options that backends declare, by name: see ``isthmus.run_options``."""
    binding: Binding = field(default_factory=Binding)
    group: RankGroup | None = None
    """The ranks that measure together; None unless a launcher started several processes."""
    layer_of: Callable[[Task], Layer | None] | None = None
    """Gives the layer of each planned task, or None to leave the task out. By default the plan
    decides."""


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _seconds_since(started: str) -> float:
    """Seconds from a run's start to now; 0 if ``started`` is no time with a time zone."""
    began = run_file.moment(started)
    now = datetime.now(timezone.utc)
    return (now - began).total_seconds() if began and began.tzinfo else 0.0


def _questions(request: Request) -> Questions:
    """The studies of a request, each with the values of axes that the user set.

    Raises UsageError for wrong values.
    """
    alone = len(request.studies) == 1
    return [
        (study, study.parse({n: v for n, v in request.axes.items() if alone or n in study.names}))
        for study in request.studies
    ]


def lock_for_hardware(
    addresses: Sequence[str], watcher: Watcher, *, no_wait: bool
) -> contextlib.AbstractContextManager[None]:
    """A context that holds the machine's lock while hardware is found and measured.

    Starting runtimes would disturb the measurements of another Isthmus. A run of only emulated
    devices takes no lock. If another Isthmus measures, the context checks the devices before it
    waits, so that a user learns at once if none of them is here.
    """
    parsed = [Address.parse(address) for address in addresses]
    if not parsed or any(by_scheme(a.scheme).expects_hardware(a) for a in parsed):
        return lock.exclusive(
            watcher.say, no_wait=no_wait, before_waiting=lambda: refuse_absent(addresses)
        )
    return contextlib.nullcontext()


def _open(
    request: Request, questions: Questions, watcher: Watcher
) -> tuple[list[FoundDevice], list[DeviceRecord]]:
    """Opens the devices of a request, and devices that time the software of their APIs alone.

    Returns the devices and their records.
    """
    if request.group:
        return joint_device(request.group, request.options, watcher)
    software = any(study.of_software(requested) for study, requested in questions)
    return devices_of(request.devices, request.options, watcher, software=software)


def _jobs(
    request: Request,
    questions: Questions,
    devices: Sequence[FoundDevice],
    records: Sequence[DeviceRecord],
    watcher: Watcher,
) -> list[Job]:
    """Plans the jobs of a request; the watcher shows the reasons for values left out."""
    for study, requested in questions:
        for kind in requested.get("memory", ()):
            if kind in (study.axis("memory").default or ()):
                continue  # some device has the kind: the plan leaves out those that lack it
            if not any(has_memory(study, device.description, kind) for device in devices):
                offers = describe_memory_kinds(study, (device.description for device in devices))
                message = f"no memory kind '{kind}' on these devices; they have {offers}"
                refuse_or_warn(message, records, watcher)
    ranks = request.group is not None
    placed, left_out = plan_run(questions, devices, request.layer_of, ranks=ranks)
    for line in left_out:
        watcher.say(line)
    return [Job(device, task, open_ended=request.budget_s is None) for device, task in placed]


def settings_of(request: Request, jobs: Sequence[Job]) -> Settings:
    """Settings for the run file: the request's, with defaults where the user set no value."""
    quick = request.quick
    settings = Settings(
        precision=request.precision or (QUICK if quick else PRECISION),
        confidence=0.95,
        reruns=1 if request.group else request.reruns or 0,
        budget_s=request.budget_s or QUICK_BUDGET_S,
        seed=request.seed,
        quick=quick,
        axes=dict(request.axes),
        options=dict(request.options),
        cpus=list(request.binding.cpus),
        numa_node=request.binding.numa_node,
        repetitions=request.reruns or 0,
    )
    if request.budget_s or quick:
        return settings
    usual = usual_budget_s((job for job in jobs if job.layer <= Layer.CURVE), settings)
    return msgspec.structs.replace(settings, budget_s=max(LEAST_BUDGET_S, usual))


def measure(
    request: Request, watcher: Watcher, before: tuple[Run, Sequence[Entry]] | None = None
) -> Run:
    """Executes a request and writes its run file.

    ``before``: the run that is resumed, with its results; None for a new run. Raises UsageError or
    NoDeviceError before any measurement. Raises KeyboardInterrupt after an interrupt, when the
    results so far are in the run file.
    """
    memory.refuse_little()
    saving.refuse_stdout(request.out)
    if before is None and os.path.lexists(request.out):
        raise UsageError(f"{request.out} exists; nothing is overwritten: choose another --out")
    questions = _questions(request)  # refuse a wrong value before any device is opened
    with lock_for_hardware(request.devices, watcher, no_wait=request.no_wait):
        began = time.monotonic()
        devices, records = _open(request, questions, watcher)
        if before:
            records = _with_missing(records, before[0].devices)
        jobs = _jobs(request, questions, devices, records, watcher)
        if before is None:
            return _run_jobs(_new_run(request, jobs, records), jobs, [], request, watcher, began)
        run, entries = before
        for job in jobs:
            job.add_before(entries)
        # Leave out entries without a result: their points are measured again.
        kept = [entry for entry in entries if entry.rerun is not None]
        # A killed session has not written how long it took: count the time of its results.
        measured_s = sum(entry.rerun.measured_s for entry in kept if entry.rerun)
        run = msgspec.structs.replace(
            run,
            devices=records,
            status="interrupted",
            duration_s=run.took_s or max(run.duration_s, measured_s),
            points=[],
        )
        if journal.path_of(request.out).exists():  # keep it until the new journal has its entries
            journal.path_of(request.out).replace(journal.path_of_previous(request.out))
        return _run_jobs(run, jobs, kept, request, watcher, began, replace=request.out.exists())


def _with_missing(
    records: Sequence[DeviceRecord], before: Sequence[DeviceRecord]
) -> list[DeviceRecord]:
    """Records of this session's devices, and records of the earlier session for missing devices."""
    earlier = {record.address: record for record in before}
    present = {record.address for record in records}
    return [
        msgspec.structs.replace(earlier[record.address], error=record.error)
        if record.error
        else record
        for record in (*records, *(old for old in before if old.address not in present))
    ]


def _new_run(request: Request, jobs: Sequence[Job], records: Sequence[DeviceRecord]) -> Run:
    """Makes the run of a request, with its planned points but without measurements."""
    ranks = request.group.described() if request.group else {}
    launcher = ["mpirun", "-n", str(len(request.group.members))] if request.group else []
    used = {job.device.address for job in jobs}
    every = bool(request.devices or request.group)  # unnamed devices only if a job measures them
    return Run(
        software=Software(
            version=__version__,
            commit=environment.commit(),
            command=[*launcher, *request.command],
        ),
        started=_now(),
        status="interrupted",
        studies=[study.name for study in request.studies],
        settings=settings_of(request, jobs),
        environment={**environment.host(), **ranks},
        devices=[record for record in records if every or record.address in used],
        points=[],
    )


def _unfinished_run(out: Path) -> tuple[Run, Sequence[Entry]]:
    """Reads the run at ``out`` that can be resumed, with its results, from journal or run file.

    Raises UsageError if there is none.
    """
    for path in (journal.path_of_previous(out), journal.path_of(out)):
        if path.exists():
            return journal.read(path)
    if out.exists():
        run = run_file.load(out)
        if run.origin:
            raise UsageError(f"{out}: imported from {run.origin.tool}, which alone can go on")
        return run, journal.entries_of(run.points)
    raise UsageError(f"nothing to resume: neither {out} nor {journal.path_of(out)} is there")


def devices_of_ranks(out: Path, ranks: int) -> list[tuple[str, Identity]]:
    """Address and identity of each rank's device in the run at ``out``, which is to be resumed.

    Raises UsageError if that run had another number of ranks.
    """
    ranks_before = _unfinished_run(out)[0].environment.get("ranks", [])
    if len(ranks_before) != ranks:
        by = f"{len(ranks_before)} ranks" if ranks_before else "one process, without mpirun"
        raise UsageError(f"{out} was begun by {by}: go on in the same way")
    return [(str(rank["device"]), Identity.of_rank(rank)) for rank in ranks_before]


def resume(
    out: Path,
    study: str,
    budget_s: float | None,
    watcher: Watcher,
    *,
    permissions: Mapping[str, str] = MappingProxyType({}),
    no_wait: bool = False,
    group: RankGroup | None = None,
) -> Run:
    """Continues a run that was cut off, or that has points that failed or ran out of time.

    ``study``: name with which the run began; ``all`` for several studies. ``permissions``: options
    of this command that allow harmful actions. The run file, which may come from another person,
    cannot set them.
    """
    if journal.path_of_previous(out).exists():  # left by a resume that was cut off at its start
        journal.path_of_previous(out).replace(journal.path_of(out))
    before, entries = _unfinished_run(out)
    if group is None and before.environment.get("ranks"):
        devices_of_ranks(out, 0)
    if study != (before.studies[0] if len(before.studies) == 1 else "all"):
        raise UsageError(f"{out} was begun as '{' '.join(before.studies)}'")
    studies = [by_name(name) for name in before.studies]
    settings = before.settings
    if budget_s is not None:
        settings = msgspec.structs.replace(settings, budget_s=budget_s)
    declared = run_options()
    harmless = {
        name: value
        for name, value in settings.options.items()
        if name in declared and not declared[name].permission
    }
    request = Request(
        studies,
        [device.address for device in before.devices if not device.added],
        settings.axes,
        out,
        before.software.command,
        quick=settings.quick,
        budget_s=budget_s,
        no_wait=no_wait,
        options={**harmless, **permissions},
        binding=binding(",".join(map(str, settings.cpus)) or None, settings.numa_node),
        group=group,
    )
    with of_earlier(before.devices, must_be_here=True):
        return measure(
            request, watcher, (msgspec.structs.replace(before, settings=settings), entries)
        )


@dataclass
class _Kept:
    """Keeps the results of a run: in the journal at once, in the run file at the end."""

    run: Run
    log: Journal
    entries: list[Entry]
    rows: HostRows[PointKey] = field(init=False)
    """All results as rows, from which the host's state is computed."""

    def __post_init__(self) -> None:
        self.rows = HostRows(self.run.settings.confidence)
        self._simulated = {device.address for device in self.run.devices if device.simulated}

    def add(self, entry: Entry) -> None:
        """Adds a result to the journal, to memory and to ``rows``."""
        self.entries.append(entry)
        self.log.add(entry)
        if entry.rerun and entry.point.device not in self._simulated:
            self.rows.add(key_of(entry.point), entry.point, entry.rerun)

    def whole(self, status: str, runner: Runner, took_s: float) -> Run:
        """The run with all results so far; reads devices and counters of the machine again."""
        planned = (point for job in runner.rounds.wanted for point in job.task.points.values())
        return msgspec.structs.replace(
            self.run,
            finished=_now(),
            duration_s=self.run.duration_s + took_s,
            status=status,
            points=assemble(planned, self.entries),
            left_out=[
                LeftOut(study=study, points=points, seconds=round(seconds, 1))
                for study, (points, seconds) in runner.rounds.left_out().items()
            ],
            environment={**self.run.environment, **environment.counters("after")},
            devices=[read_again(device) for device in self.run.devices],
        )


def _run_jobs(
    run: Run,
    jobs: Sequence[Job],
    entries: Sequence[Entry],
    request: Request,
    watcher: Watcher,
    began: float,
    *,
    replace: bool = False,
) -> Run:
    """Measures jobs and writes the run file; the budget starts at ``began`` (time.monotonic)."""
    out = request.out
    left_s = run.settings.budget_s - (time.monotonic() - began)
    with Journal(journal.path_of(out), run) as log, contextlib.ExitStack() as held:
        kept = _Kept(run, log, [])
        for entry in entries:
            kept.add(entry)
        journal.path_of_previous(out).unlink(missing_ok=True)
        host_speed = HostSpeed(time.monotonic() - _seconds_since(run.started))
        held.callback(host_speed.close)
        runner = Runner(
            jobs, run.settings, request.binding, watcher, kept.add,
            goes_on=request.budget_s is not None and not run.settings.quick, host_speed=host_speed,
            host_rows=kept.rows,
        )  # fmt: skip

        def save(status: str) -> Run:
            whole = kept.whole(status, runner, time.monotonic() - began)
            log.end(whole, out, replace=replace)
            return whole

        try:
            if not runner.rounds.unfinished:
                watcher.say("nothing is left to measure: every point was done before")
            runner.run_simulated()
            if runner.rounds.has_timed_jobs_left:
                # Hold the lock until the devices are read again, because that starts runtimes.
                held.enter_context(lock.exclusive(watcher.say, no_wait=request.no_wait))
                before = environment.counters("before")
                kept.run = msgspec.structs.replace(run, environment={**run.environment, **before})
                runner.run(time.monotonic() + left_s)
        except KeyboardInterrupt:
            save("interrupted")
            raise
        # For example no lock, memory, descriptors or disk space: keep the results so far.
        except Exception:
            if any(entry.rerun for entry in kept.entries):
                save("interrupted")
            else:
                log.remove()
            raise
        return save("budget" if runner.out_of_time else "complete")
