"""Writes the paragraph on the method: sentences with the numbers of ``analysis.method``.

``tests/test_cite.py`` checks each number against the run file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timezone
from types import MappingProxyType

from isthmus.analysis.context import studies_in
from isthmus.analysis.method import Method, Range, Rows, method
from isthmus.models.pcie import link_of
from isthmus.results.run_file import DeviceRecord, Origin, Run, moment
from isthmus.text import counted, listed
from isthmus.units import format_bytes, format_seconds, percent, printable

COMMIT_DIGITS = 12
"""Number of digits of a commit that are shown."""
_DIGEST = 16
"""Number of digits of a checksum that are shown."""
_MOST_NAMED = 3
"""Most operations of a direction that are named, if two or more others remain."""
_MOST_MEMORIES = 6
"""Most kinds of memory that are named."""
_GIGA = "10^9"
_DIRECTIONS = MappingProxyType(
    {"h2d": "host to device", "d2h": "device to host", "both": "both directions"}
)
_LEAST_STEAL = 0.0005
"""Least share of processor time that is not rounded to 0.0 percent."""


def paragraph(run: Run) -> str:
    """Makes a paragraph for a paper: measured operations, machine, method and certainty."""
    sentences = _of_import(run, run.origin) if run.origin else _sentences(run)
    return printable(" ".join(sentences))


def _of_import(run: Run, origin: Origin) -> Iterator[str]:
    """Yields sentences on imported figures: source, kind, and facts that their file lacks."""
    tool = " ".join(filter(None, (origin.tool, origin.version)))
    yield (
        f"The figures are those of {tool}, read from its output {origin.file} (SHA-256 "
        f"{origin.sha256[:_DIGEST]}) with Isthmus {run.software.version}, which measured nothing."
    )
    yield from _devices(run.devices)
    kinds = ["single repetitions" if statistic == "each" else f"{statistic} values"
             for statistic in origin.statistics]  # fmt: skip
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
    counts = method(run)
    yield from _time(run)
    yield from _devices(run.devices)
    if not counts.measured:
        yield "The run holds no samples."
        return
    yield _operations(counts)
    yield from _samples(run, counts)
    yield from _points(run, counts)
    yield from _missing(run, counts)
    yield from _estimates(run, counts.rows)
    yield from _state(counts)
    yield from _disturbed(run, counts)
    yield from _verification(counts)


def _machine(run: Run) -> str:
    machine = run.environment
    cpu, kernel = machine.get("cpu", ""), machine.get("kernel", "")
    virtual = "a virtual machine with " if machine.get("virtualised") else ""
    parts = [f" on {virtual}{cpu or 'an unknown processor'}"]
    parts += [f"kernel {kernel}"] if kernel else []
    parts += [str(machine["distribution"])] if machine.get("distribution") else []
    settings = {"governor": "frequency governor", "turbo": "turbo"}
    parts += [f"{words} {machine[name]}" for name, words in settings.items()
              if machine.get(name) not in (None, "", "unknown")]  # fmt: skip
    bound = run.settings.cpus
    parts += [f"bound to processors {', '.join(map(str, bound))}"] if bound else []
    return ", ".join(parts)


def _time(run: Run) -> Iterator[str]:
    """Yields a sentence on start and duration of the run, and on the load of the machine."""
    began = moment(run.started)
    load, processors = run.environment.get("load_average"), run.environment.get("logical_cpus")
    before = ""
    if load:
        on = f" on {counted(processors, 'processor', 'processors')}" if processors else ""
        before = f" after a load average of {load[0]:.2f}{on}"
    if began:
        began = began.astimezone(timezone.utc) if began.tzinfo else began
        took = f" and took {format_seconds(run.took_s)}" if run.took_s else ""
        yield f"The run began on {began:%Y-%m-%d} at {began:%H:%M} UTC{before}{took}."


def _devices(devices: Sequence[DeviceRecord]) -> Iterator[str]:
    """Yields a sentence for each kind of devices; devices beside an accelerator are only named."""
    named: dict[str, list[str]] = {}
    for device in devices:
        named.setdefault(_device(device), []).append(device.address)
    linked = {_device(device) for device in devices if link_of(device.link)}
    beside = []
    for text, addresses in named.items():
        if linked and text not in linked:
            beside += addresses
        else:
            yield f"{listed(addresses)} {_is(len(addresses))} {text}."
    if beside:
        yield f"{listed(beside)} {'was' if len(beside) == 1 else 'were'} measured as well."


def _device(device: DeviceRecord) -> str:
    """Describes a device, as the end of a sentence with "is"."""
    if device.error:
        return "a device that could not be measured"
    facts = {**device.properties, **device.link}
    link = link_of(device.link)
    parts = [device.name or device.address]
    parts += [f"PCIe {link.name}"] if link else []
    drivers = (facts.get(name) for name in ("driver_version", "driver"))
    parts += [f"driver {driver}" for driver in drivers if driver][:1]
    parts += [device.platform] if device.platform else []
    kind = "simulated by a model of the board" if device.simulated else (
        "" if device.real else "not hardware"
    )  # fmt: skip
    return ", ".join(filter(None, (*parts, kind)))


def _operations(counts: Method) -> str:
    """A sentence on operations by direction, kinds of host memory, sizes and the unit of rates."""
    texts = []
    for direction, names in counts.operations.items():
        way = _DIRECTIONS.get(direction, "")
        texts.append(f"{_some(names, _MOST_NAMED)}{f' ({way})' if way else ''}")
    kinds = _some(counts.memories, _MOST_MEMORIES)
    memory = f"; memory: {kinds}" if counts.memories else ""
    sizes = _range(format_bytes(int(counts.sizes.least)), format_bytes(int(counts.sizes.most)))
    moved = f"; sizes: {sizes} (rates in GB/s are {_GIGA} bytes a second)"
    return f"Operations: {'; '.join(texts)}{memory}{moved if counts.sizes.most else ''}."


def _samples(run: Run, counts: Method) -> Iterator[str]:
    """Yields sentences on samples: what they time, by which clock, and what is subtracted."""
    mean = ""
    if counts.batch.most > 1:
        mean = f"; the mean of {_of_many(counts.batch, 'repetition', 'repetitions')}"
    if counts.clocks:
        clocks = [
            f"{clock.source} (resolution {_times(clock.resolution_s)}), less the "
            f"{_times(clock.empty_pair_s)} of two readings with nothing between them"
            for clock in counts.clocks
        ]
        yield (
            "A sample is the time from submission to completion of an operation on the host's "
            f"clock {listed(clocks)}{mean}."
        )
    if counts.rows.on_device_clock:
        timed = counted(counts.twice_timed, "sample", "samples")
        rows = _rows(counts.rows.on_device_clock)
        yield (
            f"{rows} {_is(counts.rows.on_device_clock)} on the device's own clock, which spans the "
            f"operation on the device: it timed {timed} as well, each counted once."
        )
    if simulated := sorted({device.address for device in run.devices if device.simulated}):
        yield f"Times of {listed(simulated)} are those of the model's clock."


def _points(run: Run, counts: Method) -> Iterator[str]:
    several = len(run.devices) > 1
    turns = f", by turns on {len(run.devices)} devices" if several else ""
    planned = counted(counts.points, "planned point", "planned points")
    subject = planned if counts.measured == counts.points else f"{counts.measured} of {planned}"
    were = "was" if counts.measured == 1 else "were"
    processes = _of_many(counts.processes, "process", "processes")
    each = _of_many(counts.samples_each, "sample", "samples")
    yield (
        f"{subject} {were} measured in random order (seed {run.settings.seed}){turns}: {processes} "
        f"with {each} a process, {counts.samples} in all."
    )


def _missing(run: Run, method_: Method) -> Iterator[str]:
    """Yields sentences on points without samples, with the reasons."""
    missing = method_.missing
    if missing.points:
        counts = {
            "failed": missing.failed,
            "cannot be measured there": missing.skipped,
            "not reached": missing.not_reached,
        }
        why = ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
        yield f"{counted(missing.points, 'point has', 'points have')} no samples ({why})."
    if missing.left_for_longer:
        further = counted(missing.left_for_longer, "further point", "further points")
        yield f"{further} of the studies {_is(missing.left_for_longer)} left for a longer run."
    if run.status != "complete":
        ended = "its time was up" if run.status == "budget" else "it was interrupted"
        yield f"The run ended when {ended}."


def _estimates(run: Run, rows: Rows) -> Iterator[str]:
    """Yields sentences on estimator and interval, by how many processes measured the rows."""
    level = percent(run.settings.confidence)
    if rows.several:
        yield from _over_processes(run, rows, level)
    if single := rows.by_basis.get("one process", 0):
        less = f" ({rows.without_interval} lack samples for it)" if rows.without_interval else ""
        yield (
            f"{_rows(single)} {_have(single)} one process: the median of its samples with the "
            f"{level} interval of order statistics{less}, which does not speak for other processes."
        )
    if exact := rows.by_basis.get("exact", 0):
        yield f"Times of {_rows(exact)} are simulated: exact, without an interval."


def _over_processes(run: Run, rows: Rows, level: str) -> Iterator[str]:
    """Yields sentences on estimator and intervals of rows that several processes measured."""
    ranked, few = rows.by_basis.get("signed ranks", 0), rows.by_basis.get("Student", 0)
    ordered = rows.by_basis.get("order statistics over processes", 0)
    kinds = {
        "Wilcoxon's signed ranks": ranked,
        "Student's t": few,
        "order statistics for times of 0, whose figure is the median": ordered,
    }
    parts = [f"{kind} ({count})" for kind, count in kinds.items() if count]
    processes = _of_many(rows.processes, "process", "processes")
    figure = (
        "Hodges-Lehmann estimates over logarithms of the processes' medians (Hodges and Lehmann "
        "1963)" if ranked + few else "medians of the processes' medians"
    )  # fmt: skip
    yield (
        f"Of {_rows(rows.all)} (a point on a clock), {rows.several} {_have(rows.several)} "
        f"{processes}, the level of repetition (Kalibera and Jones 2013): {figure} with {level} "
        f"intervals, each row by itself, by {listed(parts)}. {rows.converged} reached the wanted "
        f"precision of {percent(run.settings.precision)}."
    )


def _state(counts: Method) -> Iterator[str]:
    """Yields sentences on whether intervals cover changes of the machine between runs."""
    rows = counts.rows
    if not rows.several:
        return
    if rows.with_state:
        yield (
            f"The interval of {_rows(rows.with_state)} includes the state of the machine: it "
            "covers a repetition of the run."
        )
        readings = counted(counts.processes_with_readings, "process", "processes")
        yield (
            f"That state is {percent(rows.state_share)} of the interval's variance (median), by a "
            f"model of the rows and of readings of the host's speed in {readings}."
        )
    if rest := rows.several - rows.with_state:
        rows_without = f" of {_rows(rest)}" if rows.with_state else ""
        yield f"Intervals{rows_without} do not include how the machine differs from run to run."


def _disturbed(run: Run, counts: Method) -> Iterator[str]:
    if all(device.simulated for device in run.devices):
        return
    rows = counts.rows
    disturbed = f"{rows.disturbed} of {_rows(rows.all)} ({percent(rows.disturbed / rows.all)})"
    yield f"Drift within a process, the host's own speed, or steal disturbed {disturbed}."
    if counts.steal >= _LEAST_STEAL:
        yield f"A hypervisor took {percent(counts.steal)} of the {counts.steal_of}."


def _verification(counts: Method) -> Iterator[str]:
    text = f"Moved data were verified in {counted(counts.verified, 'point', 'points')}"
    if counts.wrong:
        text += f"; those of {counts.wrong} were wrong and are left out"
    if counts.unverified:
        text += f"; in {counts.unverified} nothing could be verified"
    yield f"{text}."


def _rows(count: int) -> str:
    return counted(count, "row", "rows")


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _times(seconds: Range) -> str:
    return _range(format_seconds(seconds.least), format_seconds(seconds.most))


def _of_many(numbers: Range, singular: str, plural: str) -> str:
    """A range of numbers with its noun: ``1 process``, ``1 to 3 processes``."""
    text = _range(f"{int(numbers.least)}", f"{int(numbers.most)}")
    return f"{text} {singular if numbers.most == 1 else plural}"


def _some(names: Sequence[str], most: int) -> str:
    """The first ``most`` names in words, with the number of further names."""
    more = len(names) - most
    return listed([*names[:most], f"{more} more"] if more > 1 else names)


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
