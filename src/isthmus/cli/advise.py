"""``isthmus advise``: finds how to move data of one size or run a job, and writes the program."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from isthmus.cli.declared import separated
from isthmus.cli.shared_options import NoWait
from isthmus.errors import GATE_FAILED, UsageError, analysing
from isthmus.output import put
from isthmus.thresholds import ADVISED

if TYPE_CHECKING:
    from isthmus.analysis.advice import Advice
    from isthmus.measure.discovery import FoundDevice
    from isthmus.measure.plan import Layer, Task
    from isthmus.results.run_file import DeviceRecord, Run
    from isthmus.studies import Study

_ALIASES = {"h2c": "h2d", "c2h": "d2h"}
_DEPTHS = (1, 4, 16)
"""Measured numbers of transfers in flight: powers of ``_STEP``, so that sizes are shared."""
_STEP = 4
_LEVELS = 7
_ROUNDED = 1000
"""A size is rounded up to equal chunks; rounding adds less than 1 / ``_ROUNDED`` of the size."""


def advise(
    context: typer.Context,
    size: Annotated[
        str, typer.Argument(help="bytes to move: 4Ki, 64Mi; not with --job", show_default=False)
    ] = "",
    runs: Annotated[list[Path] | None, typer.Argument(help="run files; none: measure")] = None,
    device: Annotated[
        list[str] | None, typer.Option(help="as isthmus run; of run files: only these")
    ] = None,
    direction: Annotated[str, typer.Option(help="h2d or d2h")] = "h2d",
    rate: Annotated[float | None, typer.Option(help="GB/s wanted")] = None,
    deadline: Annotated[str | None, typer.Option(help="time wanted, e.g. 5ms")] = None,
    once: Annotated[
        bool, typer.Option("--once", help="memory is used once: count what allocating it costs")
    ] = False,
    job: Annotated[
        str | None, typer.Option(help="bytes in, kernel's time, bytes out: 4Mi,kernel=232us,4Mi")
    ] = None,
    times: Annotated[int, typer.Option(min=1, help="how often a job is run")] = 1000,
    code: Annotated[bool, typer.Option("--code", help="print a program for the advice")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
    budget: Annotated[float, typer.Option(help="seconds to measure")] = 60.0,
    out: Annotated[Path | None, typer.Option(help="keep measured transfers in this file")] = None,
    no_wait: NoWait = False,
) -> int:
    """Prints the advice; returns exit code 3 if a wanted rate or time is not certainly kept."""
    from isthmus.cli import shared_options
    from isthmus.cli.run import positive

    positive(budget, "--budget")
    if code:
        shared_options.refuse(context, {"as_json"}, "with --code")
    measuring = _Measuring(context, device or [], budget, out, no_wait)
    if job is not None:
        shared_options.refuse(context, {"direction", "rate", "deadline", "once"}, "with --job")
        files = [Path(size)] * bool(size) + (runs or [])
        return _job(job, times, files, measuring, code=code, as_json=as_json)
    shared_options.refuse(context, {"times"}, "without --job")
    if not size:
        raise UsageError("name the bytes to move (4Ki, 64Mi), or a job: --job 4Mi,kernel=232us,4Mi")
    wanted = _Wanted.of(size, _ALIASES.get(direction, direction), rate, deadline)
    return _move(wanted, runs or [], measuring, once=once, code=code, as_json=as_json)


class _Wanted(NamedTuple):
    """The data to move, and the time that the user wants."""

    bytes: int
    direction: str
    seconds: float | None

    @classmethod
    def of(cls, size: str, direction: str, rate: float | None, deadline: str | None) -> _Wanted:
        """Reads options of the command line; raises UsageError for invalid values."""
        from isthmus.cli.run import positive
        from isthmus.units import parse_seconds, parse_size

        count = parse_size(size)
        if direction not in {"h2d", "d2h"}:
            raise UsageError(f"no direction '{direction}': h2d or d2h")
        if rate is not None and deadline is not None:
            raise UsageError("give --rate or --deadline: one follows from the other")
        positive(rate, "--rate")
        by_rate = count / (1e9 * rate) if rate else None
        return cls(count, direction, parse_seconds(deadline) if deadline else by_rate)


class _Measuring(NamedTuple):
    """Options of a measurement, which run files make useless."""

    context: typer.Context
    addresses: Sequence[str]
    budget_s: float
    out: Path | None
    no_wait: bool

    def refuse(self, why: str) -> None:
        """Raises UsageError if the user gives an option of a measurement."""
        from isthmus.cli import shared_options

        shared_options.refuse(self.context, {"budget", "out", "no_wait", *self.context.obj}, why)

    def options(self) -> dict[str, str]:
        """Options of backends on the command line; raises UsageError for an option of an axis."""
        options, axes = separated(self.context.obj)
        for axis in axes:
            raise UsageError(f"--{axis} {axes[axis]}: advise itself varies the {axis}")
        return options


def _move(
    wanted: _Wanted,
    runs: Sequence[Path],
    measuring: _Measuring,
    *,
    once: bool,
    code: bool,
    as_json: bool,
) -> int:
    from isthmus.cli import advice_text
    from isthmus.results import run_file
    from isthmus.units import printable

    addresses, (size, direction, seconds) = measuring.addresses, wanted
    if runs:
        measuring.refuse("on run files: nothing is measured")
        loaded = [run_file.load(path) for path in runs]
    elif addresses:
        loaded = _measured(
            addresses, size, direction, once=once, budget_s=measuring.budget_s,
            options=measuring.options(), out=measuring.out, no_wait=measuring.no_wait,
        )  # fmt: skip
    else:
        raise UsageError("name a run file, or --device to measure: isthmus devices lists them")
    with analysing(", ".join(map(str, runs or addresses))):
        advice, records = _advice(
            loaded, addresses, size, direction, seconds, once=once, here=not runs
        )
    record = records[advice.best.way.device]
    if code:
        put(program(advice, record, size, direction), end="")
    elif as_json:
        put(advice_text.as_json(advice, records, size, direction, seconds), end="")
    else:
        lines = advice_text.lines(advice, record, size, direction, seconds)
        put("\n".join(map(printable, lines)))
    return 0 if advice.met in {"", "yes"} else GATE_FAILED


def _job(
    text: str,
    times: int,
    runs: Sequence[Path],
    measuring: _Measuring,
    *,
    code: bool,
    as_json: bool,
) -> int:
    from isthmus.analysis.job import Job
    from isthmus.cli import job, job_text
    from isthmus.results import run_file
    from isthmus.units import printable

    addresses = measuring.addresses
    wanted = Job.parse(text, times)
    board, apis = job.apis_on_card(addresses) if addresses else ("", [])
    if runs or board:
        measuring.refuse("here: nothing is measured")
    if runs:
        loaded = [run_file.load(path) for path in runs]
    elif not addresses:
        raise UsageError("name a run file, or --device: isthmus devices lists them")
    elif not board:
        loaded = job.measured_runs(
            wanted, addresses, budget_s=measuring.budget_s, options=measuring.options(),
            out=measuring.out, no_wait=measuring.no_wait,
        )  # fmt: skip
    with analysing(", ".join(map(str, runs or addresses))):
        answer = (
            job.on_card(wanted, board, apis)
            if board and not runs
            else job.from_runs(wanted, loaded, addresses)
        )
    if code:
        put(job.program(answer), end="")
    elif as_json:
        put(job_text.as_json(answer), end="")
    else:
        put("\n".join(map(printable, job_text.lines(answer))))
    return 0


def kinds_of(devices: Sequence[DeviceRecord]) -> dict[str, list[str]]:
    """Kinds of memory of each device in its backend's order, the simplest kind first."""
    from isthmus import backends

    named = {device.address: backends.of(device.backend) for device in devices}
    return {
        address: list(dict.fromkeys([backend.naive_memory, *backend.memory_calls]))
        for address, backend in named.items()
    }


def _advice(
    runs: Sequence[Run],
    chosen: Sequence[str],
    size: int,
    direction: str,
    wanted_s: float | None,
    *,
    once: bool,
    here: bool,
) -> tuple[Advice, dict[str, DeviceRecord]]:
    """Returns advice from runs, and the records of their devices by address.

    ``here``: whether the runs were measured on this host, so that its speed of copies applies.
    """
    from isthmus import backends
    from isthmus.analysis.advice import Ways
    from isthmus.analysis.summary import memory_copies, summarise
    from isthmus.frames import concat
    from isthmus.measure.host_copy import copy_s
    from isthmus.text import did_you_mean

    records = {device.address: device for run in runs for device in run.devices}
    for address in chosen:
        if address not in records:
            hint = f"{did_you_mean(address, records)}here: {', '.join(records)}"
            raise UsageError(f"no device '{address}' in these runs; {hint}")
    copies = frozenset[str]().union(*map(memory_copies, runs))
    used = chosen or [address for address in records if address not in copies] or list(records)
    rows = concat([summarise(run) for run in runs])
    ways = Ways.of(
        rows[rows["device"].isin(used)],
        direction,
        kinds_of(list(records.values())),
        confidence=runs[0].settings.confidence,
        once=size if once else 0,
        copied={address: backends.of(records[address].backend).copied_memory for address in used},
        host_copy=copy_s if here else None,
    )
    return ways.advise(size, wanted_s), records


def _measured(
    addresses: Sequence[str],
    size: int,
    direction: str,
    *,
    once: bool,
    budget_s: float,
    options: Mapping[str, str],
    out: Path | None,
    no_wait: bool,
) -> list[Run]:
    """Makes short runs of study ``transfer`` and, with ``once``, of ``allocation``."""
    from rich.console import Console

    from isthmus.cli.progress import Progress
    from isthmus.measure import session
    from isthmus.measure.devices import devices_of
    from isthmus.measure.plan import Layer
    from isthmus.studies import by_name

    unit = _STEP ** max(0, _power(size // _ROUNDED))
    top = -(-size // unit) * unit
    sizes = [top // _STEP**i for i in range(_LEVELS) if top % _STEP**i == 0]
    studies = {"transfer": {"bytes": sizes}}
    if once:
        elements = [max(1, -(-size_ // _STEP)) for size_ in sizes[::2]]
        studies["allocation"] = {"elements": elements}

    def total(task: Task) -> int:
        return task.bytes * int(task.axes.get("depth", 1))

    def layer_of(task: Task) -> Layer | None:
        """Layer of a task: the whole size first, then smaller ones; None omits larger copies."""
        if total(task) > top and not task.offload:
            return None
        return Layer.HEADLINES if total(task) == top else Layer.CURVE

    runs = []
    with tempfile.TemporaryDirectory() as folder, Progress(Console(stderr=True)) as progress:
        with session.lock_for_hardware(addresses, progress, no_wait=no_wait):
            found_devices, _ = devices_of(addresses, options, progress)
        for name, axes in studies.items():
            study = by_name(name)
            words = _axes(study, axes, found_devices, direction)
            if words is None:
                continue
            kept = out if out and name == "transfer" else Path(folder, f"{name}.json")
            request = session.Request(
                studies=[study], devices=addresses, axes=words, out=kept,
                command=["isthmus", *sys.argv[1:]], precision=ADVISED, budget_s=budget_s,
                options=options, no_wait=no_wait, layer_of=layer_of,
            )  # fmt: skip
            runs.append(session.measure(request, progress))
    return runs


def _axes(
    study: Study, sizes: Mapping[str, Sequence[int]], devices: Sequence[FoundDevice], direction: str
) -> dict[str, str] | None:
    """Axes of a study, with all kinds of memory of the devices; None if there is no such kind."""
    from isthmus.analysis.advice import COPIES, MAPS
    from isthmus.measure.plan import has_memory, offered

    kinds = dict.fromkeys(
        kind
        for device in devices
        for kind in (device.backend.naive_memory, *device.backend.memory_calls)
        if has_memory(study, device.description, kind)
    )
    if not kinds:
        return None
    words = {axis: ",".join(map(str, values)) for axis, values in sizes.items()}
    words["memory"] = ",".join(kinds)
    if study.name == "transfer":
        mapping = any(offered(study, device.description, MAPS[0]) for device in devices)
        words["operation"] = ",".join([COPIES[direction], *(MAPS if mapping else ())])
        words["depth"] = ",".join(map(str, _DEPTHS))
    else:
        words["handover"] = "copy"
    return words


def _power(number: int) -> int:
    """The largest exponent at which the power of ``_STEP`` does not exceed a number."""
    return (number.bit_length() - 1) // (_STEP.bit_length() - 1)


def program(advice: Advice, record: DeviceRecord, size: int, direction: str) -> str:
    """A program that moves the data in the advised way, from the template of the backend."""
    from isthmus import backends
    from isthmus.cli.advice_text import sentence
    from isthmus.cli.templates import rendered

    backend, way = backends.of(record.backend), advice.best.way
    if not backend.code_template:
        raise UsageError(f"no code for {record.address}: its backend has no API to call")
    return rendered(
        backend, backend.code_template, record.address, way.memory,
        note=sentence(advice.best, size, direction), size=size, direction=direction,
        chunk=way.chunk(size), call=way.call, depth=way.depth, device=record.name,
        platform=record.platform, properties=record.properties,
    )  # fmt: skip
