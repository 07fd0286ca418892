"""Makes the page's last section: method, flags, machine and all points of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from isthmus.analysis import wording
from isthmus.analysis.commands import recorded
from isthmus.analysis.flags import meaning
from isthmus.frames import Frame
from isthmus.reporters.cells import Table, heading, table, view
from isthmus.reporters.html.charts import Source
from isthmus.results.run_file import Run
from isthmus.units import format_seconds, percent, rounded_size


class Folded(NamedTuple):
    """A table that the page shows collapsed."""

    title: str
    cells: Table
    common: Mapping[str, str]


class Method(NamedTuple):
    """Texts and tables on how one run was measured."""

    id: str
    name: str
    heading: str
    convergence: str
    flags: list[tuple[str, str, int]]
    devices: list[tuple[str, list[tuple[str, str]]]]
    environment: list[tuple[str, str]]
    method: list[tuple[str, str]]
    points: Folded
    command: str


def method_of(id: str, source: Source) -> Method:  # noqa: A002 - the attribute's name
    """Collects the method of a run; ``id``: HTML id of the section's heading."""
    run, summary, labels = source.run, source.summary, wording.labels(source.run)
    shown, common = view(summary, labels)
    return Method(
        id=id,
        name=source.name,
        heading=heading(run),
        convergence=_convergence(run, summary),
        flags=_flags(summary),
        devices=list(_properties(run)),
        environment=list(wording.facts(run.environment)),
        method=list(_settings(run)),
        points=Folded(f"All points ({len(shown):,} rows)", table(shown, labels), common),
        command=str(recorded(run) or ""),
    )


def _convergence(run: Run, summary: Frame) -> str:
    if summary.empty:
        return "No points."
    if run.origin:
        return f"Not measured: {'; '.join(run.origin.not_measured)}."
    reached, missing = int(summary["converged"].sum()), int((summary["samples"] == 0).sum())
    wrong = int((summary["verified"] == "false").sum())
    text = f"{reached} of {len(summary)} rows reached the wanted precision"
    text += f"; {missing} have no samples" if missing else ""
    text += f"; in {wrong} the data did not arrive: they are left out" if wrong else ""
    return f"{text}."


def _flags(summary: Frame) -> list[tuple[str, str, int]]:
    counts = Counter(flag for text in summary["flags"] for flag in text.split(";") if flag)
    return [(flag, meaning(flag), count) for flag, count in counts.most_common()]


def _properties(run: Run) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    labels = wording.labels(run)
    for device in run.devices:
        facts = {
            "name": device.name,
            "platform": device.platform,
            "API": device.api,
            "backend": device.backend,
            "memory": rounded_size(device.memory_bytes) if device.memory_bytes else "",
            "largest buffer": rounded_size(device.max_buffer_bytes)
            if device.max_buffer_bytes
            else "",
            **device.properties,
            "link": device.link,
            "environment": device.environment,
            "error": device.error,
        }
        yield labels[device.address], list(wording.facts(facts))


def _settings(run: Run) -> Iterator[tuple[str, str]]:
    if run.origin:
        facts = msgspec.structs.asdict(run.origin)
        yield from wording.facts({name: facts[name] for name in facts if name != "lines"})
        yield "imported", f"{run.started}, by Isthmus {run.software.version}"
        return
    settings = run.settings
    yield "precision", f"interval of the median within {percent(settings.precision)}"
    yield "confidence", percent(settings.confidence)
    yield "processes", _processes(run)
    yield "time for the run", format_seconds(settings.budget_s)
    yield "order", f"points interleaved over all devices, seed {settings.seed}"
    yield from wording.facts({"axis": settings.axes})
    bound = ", ".join(map(str, settings.cpus)) or "not bound"
    node = "" if settings.numa_node is None else f", NUMA node {settings.numa_node}"
    yield "processors", bound + node
    simulated = [device.address for device in run.devices if device.simulated]
    for address in simulated:
        yield f"clock for {address}", "simulated: exact, and the same wherever it runs"
    clocks = [(p.device, r.clock) for p in run.points for r in p.reruns]
    for device, clock in dict(pair for pair in clocks if pair[0] not in simulated).items():
        reason = f" ({clock.reason})" if clock.reason else ""
        resolution, pair = format_seconds(clock.resolution_s), format_seconds(clock.empty_pair_s)
        yield (
            f"clock for {device}",
            (
                f"{clock.source}{reason}, resolution {resolution}, empty pair {pair} taken off, "
                f"scale known to {clock.uncertainty:.1g}"
            ),
        )
    yield (
        "verification",
        "first and last repetition in full, between them a stamp in every 4 KiB (simulated: all)",
    )
    software = run.software
    yield "Isthmus", f"{software.version} {software.commit}".strip()
    yield "started, finished", f"{run.started}, {run.finished or 'not finished'}"


def _processes(run: Run) -> str:
    ranks = run.environment.get("ranks")
    if ranks:
        return f"the {len(ranks)} ranks"
    if all(device.simulated for device in run.devices):
        return "one per device: simulated time does not differ between processes"
    many = run.settings.reruns or "6 to 30"
    return f"{many} per device, each fresh, buffers allocated anew"
