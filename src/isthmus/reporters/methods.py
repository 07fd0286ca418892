"""The paragraph on the method: sentences with the numbers of ``analysis.method``.

Each number is checked against the run file by ``tests/test_cite.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timezone

from isthmus.analysis.context import studies_in
from isthmus.analysis.method import Method, Range, Rows, Span, method
from isthmus.analysis.wording import percent
from isthmus.models.pcie import link_of
from isthmus.results.run_file import DeviceRecord, Origin, Run, moment
from isthmus.text import counted, listed
from isthmus.units import format_bytes, format_seconds, printable

COMMIT_DIGITS = 12
"""Digits of a commit that are shown."""
_DIGEST = 16
"""Digits of a checksum that are shown."""
_LEAST_STEAL = 0.0005
"""Share of processor time that is shown as more than 0.0 %."""


def paragraph(run: Run) -> str:
    """A paragraph for a paper: what was measured, on which machine, how and how certainly."""
    sentences = _of_import(run, run.origin) if run.origin else _sentences(run)
    return printable(" ".join(sentences))


def _of_import(run: Run, origin: Origin) -> Iterator[str]:
    """How figures that another program measured came into the run, and what they leave open."""
    tool = " ".join(filter(None, (origin.tool, origin.version)))
    yield (
        f"The figures are those of {tool}, read from its output {origin.file} (SHA-256 "
        f"{origin.sha256[:_DIGEST]}) with Isthmus {run.software.version}, which measured nothing."
    )
    for device in run.devices:
        yield _device(device)
    kinds = ["single repetitions" if one == "each" else f"{one} values"
             for one in origin.statistics]  # fmt: skip
    yield f"{counted(len(run.points), 'point', 'points')}: {listed(kinds)} of that program."
    if origin.not_measured:
        yield f"Not in that output: {'; '.join(origin.not_measured)}."
    if origin.assumed:
        yield f"Assumed: {'; '.join(origin.assumed)}."


def _sentences(run: Run) -> Iterator[str]:
    software = run.software
    commit = f" (commit {software.commit[:COMMIT_DIGITS]})" if software.commit else ""
    version = f"{software.version}{commit}"
    yield f"We measured {listed(studies_in(run))} with Isthmus {version}{_machine(run)}."
    found = method(run)
    yield from _time(run)
    for device in run.devices:
        yield _device(device)
    if not found.measured:
        yield "The run holds no samples."
        return
    yield from _points(run, found)
    yield from _missing(run, found)
    yield from _estimates(run, found.rows)
    yield from _precision(run, found.rows)
    yield from _state(found)
    yield from _disturbed(run, found)
    yield from _clocks(run, found)
    yield from _verification(found)


def _machine(run: Run) -> str:
    known = run.environment
    cpu, kernel = known.get("cpu", ""), known.get("kernel", "")
    virtual = "a virtual machine with " if known.get("virtualised") else ""
    parts = [f" on {virtual}{cpu or 'an unknown processor'}"]
    parts += [f"kernel {kernel}"] if kernel else []
    parts += [str(known["distribution"])] if known.get("distribution") else []
    settings = {"governor": "frequency governor", "turbo": "turbo"}
    parts += [f"{words} {known[name]}" for name, words in settings.items()
              if known.get(name) not in (None, "", "unknown")]  # fmt: skip
    bound = run.settings.cpus
    parts += [f"bound to processors {', '.join(map(str, bound))}"] if bound else []
    return ", ".join(parts)


def _time(run: Run) -> Iterator[str]:
    """When the run began, how long it took, and what else the machine had to do."""
    began = moment(run.started)
    if began:
        began = began.astimezone(timezone.utc) if began.tzinfo else began
        took = f" and took {format_seconds(run.took_s)}" if run.took_s else ""
        yield f"The run began on {began:%Y-%m-%d} at {began:%H:%M} UTC{took}."
    load, processors = run.environment.get("load_average"), run.environment.get("logical_cpus")
    if load:
        on = f" on {counted(processors, 'processor', 'processors')}" if processors else ""
        yield f"The load average of the minute before was {load[0]:.2f}{on}."


def _device(device: DeviceRecord) -> str:
    if device.error:
        return f"{device.address} could not be measured."
    known = {**device.properties, **device.link}
    link = link_of(device.link)
    parts = [device.name or device.address]
    parts += [f"PCIe {link.name}"] if link else []
    drivers = (known.get(name) for name in ("driver_version", "driver"))
    parts += [f"driver {driver}" for driver in drivers if driver][:1]
    parts += [device.platform] if device.platform else []
    kind = "simulated by a model of the board" if device.simulated else (
        "" if device.real else "not hardware"
    )  # fmt: skip
    return f"{device.address} is {', '.join(filter(None, (*parts, kind)))}."


def _points(run: Run, found: Method) -> Iterator[str]:
    several = len(run.devices) > 1
    turns = f", by turns on {len(run.devices)} devices" if several else ""
    planned = counted(found.points, "planned point", "planned points")
    subject = planned if found.measured == found.points else f"{found.measured} of {planned}"
    were = "was" if found.measured == 1 else "were"
    yield f"{subject} {were} measured in random order (seed {run.settings.seed}){turns}."
    processes = _of_many(found.processes, "process", "processes")
    each = _of_many(found.samples_each, "sample", "samples")
    yield f"Each point has {processes} with {each} a process, {found.samples} in all."
    if found.batch.most > 1:
        yield f"A sample is the mean of {_of_many(found.batch, 'repetition', 'repetitions')}."
    if found.twice_timed:
        timed = counted(found.twice_timed, "sample", "samples")
        yield f"The device's clock timed {timed} as well: counted once."


def _missing(run: Run, found: Method) -> Iterator[str]:
    """Points and sizes without figures, and why."""
    missing = found.missing
    if missing.points:
        counts = {
            "failed": missing.failed,
            "cannot be measured there": missing.skipped,
            "not reached": missing.not_reached,
        }
        why = ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
        yield f"{counted(missing.points, 'point has', 'points have')} no samples ({why})."
    if missing.sizes:
        yield f"Nothing was measured of {_sizes(missing.sizes)}."
    if missing.sizes_in_part:
        yield f"Some points are missing of {_sizes(missing.sizes_in_part)}."
    if missing.left_for_longer:
        further = counted(missing.left_for_longer, "further point", "further points")
        yield f"{further} of the studies {_is(missing.left_for_longer)} left for a longer run."
    if run.status != "complete":
        ended = "its time was up" if run.status == "budget" else "it was interrupted"
        yield f"The run ended when {ended}."


def _estimates(run: Run, rows: Rows) -> Iterator[str]:
    """Estimator and interval of the rows, by how many processes measured them."""
    yield f"There {_is(rows.all)} {_rows(rows.all)}, one for each point and clock."
    level = percent(run.settings.confidence)
    yield from _over_processes(rows, level)
    if single := rows.by_basis.get("one process", 0):
        without = rows.without_interval
        less = f"; {_rows(without)} of them with too few samples for it" if without else ""
        yield (
            f"One process measured {_rows(single)}: the figure is the median of its samples, with "
            f"the {level} interval of order statistics{less}."
        )
        yield "Such an interval does not speak for other processes."
    if exact := rows.by_basis.get("exact", 0):
        yield f"Times of {_rows(exact)} are simulated: exact, without an interval."
    if rows.on_device_clock:
        yield f"The device's own clock timed {_rows(rows.on_device_clock)}."


def _over_processes(rows: Rows, level: str) -> Iterator[str]:
    """Estimator and intervals of rows that several processes measured."""
    ranked, few = rows.by_basis.get("signed ranks", 0), rows.by_basis.get("Student", 0)
    ordered = rows.by_basis.get("order statistics over processes", 0)
    processes = _of_many(rows.processes, "process", "processes")
    if rows.several:
        yield f"{processes.capitalize()} measured {_rows(rows.several)}."
        yield "The process is the level of repetition (Kalibera and Jones 2013)."
    if ranked + few:
        yield (
            f"The figure of {_rows(ranked + few)} is the Hodges-Lehmann estimate over the "
            "logarithms of the medians of its processes (Hodges and Lehmann 1963)."
        )
    if ordered:
        yield f"The figure of {_rows(ordered)} with times of 0 is the median of these medians."
    kinds = {
        "of Wilcoxon's signed ranks": ranked,
        "Student's, for fewer processes": few,
        "of order statistics, for times of 0": ordered,
    }
    parts = [f"{kind} ({_rows(count)})" for kind, count in kinds.items() if count]
    if parts:
        yield f"The {level} interval holds for each row by itself: {listed(parts)}."


def _precision(run: Run, rows: Rows) -> Iterator[str]:
    if rows.several:
        yield (
            f"The interval of {rows.converged} of these {_rows(rows.several)} reached the wanted "
            f"precision of {percent(run.settings.precision)}."
        )


def _state(found: Method) -> Iterator[str]:
    """Whether intervals cover what the machine does between runs."""
    rows = found.rows
    if not rows.several:
        return
    if rows.with_state:
        yield (
            f"The interval of {_rows(rows.with_state)} includes the state of the machine: it "
            "covers a repetition of the run."
        )
        readings = counted(found.processes_with_readings, "process", "processes")
        yield (
            f"That state is {percent(rows.state_share)} of the interval's variance (median), by a "
            f"model of the rows and of readings of the host's speed in {readings}."
        )
    if rest := rows.several - rows.with_state:
        rows_without = f" of {_rows(rest)}" if rows.with_state else ""
        yield f"Intervals{rows_without} do not include how the machine differs from run to run."


def _disturbed(run: Run, found: Method) -> Iterator[str]:
    if all(device.simulated for device in run.devices):
        return
    rows = found.rows
    disturbed = f"{rows.disturbed} of {_rows(rows.all)} ({percent(rows.disturbed / rows.all)})"
    yield f"Drift within a process, the host's own speed, or steal disturbed {disturbed}."
    if found.steal >= _LEAST_STEAL:
        yield f"A hypervisor took {percent(found.steal)} of the processors' time meanwhile."


def _clocks(run: Run, found: Method) -> Iterator[str]:
    for clock in found.clocks:
        pair = _times(clock.empty_pair_s)
        yield (
            f"Times were read from the clock {clock.source} (resolution "
            f"{_times(clock.resolution_s)}); the {pair} that two readings with nothing between "
            "them take were taken off."
        )
        if clock.read_beside:
            samples = counted(clock.read_beside, "sample", "samples")
            yield f"Of {samples} the pair was timed beside the sample, and that time taken off."
    if simulated := sorted({device.address for device in run.devices if device.simulated}):
        yield f"Times of {listed(simulated)} are those of the model's clock."


def _verification(found: Method) -> Iterator[str]:
    text = f"Moved data were verified in {counted(found.verified, 'point', 'points')}"
    if found.wrong:
        text += f"; those of {found.wrong} were wrong and are left out"
    if found.unverified:
        text += f"; in {found.unverified} nothing could be verified"
    yield f"{text}."


def _rows(count: int) -> str:
    return counted(count, "row", "rows")


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _sizes(spans: Iterable[Span]) -> str:
    return listed(_range(format_bytes(low), format_bytes(high)) for low, high in spans)


def _times(seconds: Range) -> str:
    return _range(format_seconds(seconds.least), format_seconds(seconds.most))


def _of_many(numbers: Range, one: str, many: str) -> str:
    """``1 process``, ``1 to 3 processes``."""
    text = _range(f"{int(numbers.least)}", f"{int(numbers.most)}")
    return f"{text} {one if numbers.most == 1 else many}"


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
