"""Writes the page: the answer, then a section for each study, then method and all points."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from isthmus import published, studies
from isthmus.analysis import wording
from isthmus.analysis.context import answers_to, studies_in
from isthmus.analysis.findings import MOST_HEADLINES, Finding, findings
from isthmus.analysis.flags import disturbed
from isthmus.analysis.reproduction import ReproducedRow, from_events
from isthmus.errors import IsthmusError, UsageError
from isthmus.frames import Frame
from isthmus.models.pcie import link_of
from isthmus.reporters.cells import Table, lift, table
from isthmus.reporters.html.change import Changed, Tile, changed
from isthmus.reporters.html.charts import Palette, Source, figures, host_speed
from isthmus.reporters.html.drawing import Figure
from isthmus.reporters.html.method import Folded, method_of
from isthmus.reporters.html.rendering import Drawing, Renderer
from isthmus.reporters.summary import accelerates, has_runtime, main_sentence, unmeasured
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.saving import save
from isthmus.units import format_seconds, printable

_FOLDER = Path(__file__).parent
_GENERATOR = '<meta name="generator" content="Isthmus">'
_ENDINGS = {"interrupted": "interrupted", "budget": "ended when its time was up"}
_MOST_LISTED = 3
"""Most items of advice, and of missing measurements, on the first screen."""
_MOST_FOLDED = 500
"""Most rows of a table behind an answer."""
_FINDINGS = ("what", "of", "value", "interval", "share", "remark")


class _Study(NamedTuple):
    """A study with the results of all its runs."""

    name: str
    heading: str
    question: str
    sentences: list[str]
    plots: list[Drawing]
    findings: Table
    folded: list[Folded]


def write(runs: Sequence[tuple[str, Run]], folder: Path) -> Path:
    """Writes the page for ``write_page``."""
    page, renderer = folder / "index.html", Renderer()
    sources = _sources(runs)
    palette = Palette()
    plots = {name: figures(name, sources, palette) for name in _in_order(sources)}
    hosts = {
        n: figure
        for n, source in enumerate(sources, 1)
        if (figure := host_speed.figure(f"host-{n}" if len(sources) > 1 else "host", source))
    }
    text = _render(sources, plots, hosts, renderer)
    try:
        if page.exists() and _GENERATOR not in page.read_text("utf-8", errors="replace")[:2000]:
            raise UsageError(f"{page} is no page of Isthmus; choose another folder with --out")
        (folder / "plots").mkdir(parents=True, exist_ok=True)
        for figure in chain(*plots.values(), hosts.values()):
            for ending, content in renderer.files(figure).items():
                save(content, folder / "plots" / f"{figure.name}.{ending}", replace=True)
    except OSError as error:
        raise IsthmusError(f"cannot write {error.filename or page}: {error.strerror}") from error
    save(text.encode(), page, replace=True)
    return page


@cache
def template() -> jinja2.Template:
    """Returns the page's template, compiled once, because that takes longer than to fill it in."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else printable(value),
    )
    return environment.get_template("page.html.j2")


def _sources(runs: Sequence[tuple[str, Run]]) -> list[Source]:
    """Gives the runs short names; if two share a study, names of devices include the run's."""
    held = [name for _, run in runs for name in set(studies_in(run))]
    several = len(held) > len(set(held))
    names = [Path(name).stem for name, _ in runs]
    if len(set(names)) < len(names):
        names = [name for name, _ in runs]
    elif several:
        names = _apart(names)
    return [Source(name, run, several) for name, (_, run) in zip(names, runs, strict=True)]


def _apart(names: Sequence[str]) -> list[str]:
    """Names without the words that all names begin or end with."""
    words = [name.split("-") for name in names]
    while min(map(len, words)) > 1 and len({w[-1] for w in words}) == 1:
        words = [w[:-1] for w in words]
    while min(map(len, words)) > 1 and len({w[0] for w in words}) == 1:
        words = [w[1:] for w in words]
    return ["-".join(w) for w in words]


def _in_order(sources: Sequence[Source]) -> list[str]:
    held = {name for source in sources for name in studies_in(source.run)}
    names = [study.name for study in studies.in_order() if study.name in held]
    return [*names, *sorted(held.difference(names))]


def _render(
    sources: Sequence[Source],
    plots: Mapping[str, list[Figure]],
    hosts: Mapping[int, Figure],
    renderer: Renderer,
) -> str:
    results = [(source, finding) for source in sources for finding in findings(source.context)]
    rank = {name: i for i, name in enumerate(_in_order(sources))}
    results.sort(key=lambda pair: (not pair[1].headline, rank[pair[1].study]))
    change = changed(sources)
    changes = change if isinstance(change, Changed) else None
    first = next((figure for name in rank for figure in plots[name]), None)
    script = Markup((_FOLDER / "page.js").read_text("utf-8"))
    none = not any(map(accelerates, _devices(sources)))
    return template().render(
        title=f"Isthmus: {_machine(sources)}, {sources[0].run.started[:10]}",
        generator=Markup(_GENERATOR),
        machine=_machine(sources),
        stands_in=_no_accelerator(sources) if none else "",
        states=list(_states(sources)),
        verdict=changes.sentences[0] if changes else main_sentence([f for _, f in results]),
        tiles=(changes and changes.tiles) or _tiles(results),
        change=changes,
        not_compared=change if isinstance(change, str) else "",
        first=renderer.drawing(first, first=True) if first else None,
        advice=_advice(results),
        unexplained=[
            finding.subject
            for _, finding in results
            if finding.verdict == "poor" and not finding.action
        ],
        imported=any(source.run.origin for source in sources),
        missing=[
            text
            for source in sources
            for text in _missing(source, [finding for of, finding in results if of is source])
        ],
        most_listed=_MOST_LISTED,
        studies=[
            _study(name, sources, results, plots[name], first, renderer)
            for name in rank  # a study without rows gets no section
            if not all(source.rows(name).empty for source in sources)
        ],
        boards=_published_boards() if none and any(s.run.points for s in sources) else [],
        methods=[method_of(f"run-{i}", source) for i, source in enumerate(sources, 1)],
        hosts={f"run-{i}": renderer.drawing(figure) for i, figure in hosts.items()},
        script=script,
        hash=Markup(_hash(script)),
        style=Markup((_FOLDER / "page.css").read_text("utf-8")),
    )


def _published_boards() -> list[tuple[str, ReproducedRow]]:
    """Authors and reproduced main row of each source, by simulating cards, which takes seconds."""
    return [
        (source.by, from_events(row))
        for source in published.sources().values()
        for row in source.rows
        if row.headline
    ]


# Functions for the first screen


def _devices(sources: Sequence[Source]) -> list[DeviceRecord]:
    return [device for source in sources for device in source.run.devices]


def _machine(sources: Sequence[Source]) -> str:
    """Words for the measured devices: accelerators with their links, else the processor."""
    named: dict[str, None] = {}
    for source in sources:
        for device in filter(accelerates, source.run.devices):
            if device.simulated:
                named[source.title(device.address)] = None
                continue
            link = link_of(device.link)
            named[device.name + (f", PCIe {link.name}" if link else "")] = None
    processors = (str(source.run.environment.get("cpu", "")) for source in sources)
    return " and ".join(named) or next(filter(None, processors), "no device")


def _no_accelerator(sources: Sequence[Source]) -> str:
    """Writes the first line of a page without an accelerator, with the processor used instead."""
    processors = [d.address for d in _devices(sources) if d.real and not d.error and has_runtime(d)]
    rest = f": {processors[0]}, the processor, stands in" if processors else ""
    return f"No accelerator was found{rest}."


def _states(sources: Sequence[Source]) -> Iterator[str]:
    """Yields a line for all runs of a day on a machine, or for each run if runs share a study."""
    days: dict[tuple[str, str, str, str], list[Source]] = {}
    for source in sources:
        run = source.run
        virtual = "virtual machine" if run.environment.get("virtualised") else ""
        name = source.name if source.several else ""
        day = (name, run.started[:10], str(run.environment.get("host", "")), virtual)
        days.setdefault(day, []).append(source)
    for day, held in days.items():
        origins = (wording.origin(source.run) for source in held)
        imported = [f"imported from {origin}" for origin in origins if origin]
        yield " · ".join(filter(None, [*day, *imported, *_state(held)]))


def _state(sources: Sequence[Source]) -> Iterator[str]:
    """Yields the parts of a line: number of points, duration, ends and disturbances of the runs."""
    runs = [source.run for source in sources]
    if all(run.finished for run in runs):
        took = sum(run.took_s for run in runs)
        many = f"{len(runs)} runs, " if len(runs) > 1 else ""
        points, measured = (
            sum(len(run.points) for run in runs),
            sum(point.measured for run in runs for point in run.points),
        )
        of = "" if measured == points else f"{measured:,} of "
        yield f"{many}{of}{points:,} points in {format_seconds(took)}"
    yield "quick" if any(run.settings.quick for run in runs) else ""
    yield from dict.fromkeys(_ENDINGS.get(run.status, "") for run in runs)
    counts = [disturbed(source.summary) for source in sources]
    noisy, measured_rows = (sum(counted) for counted in zip(*counts, strict=True))
    yield f"{100 * noisy / measured_rows:.0f} % of the rows disturbed" if noisy else ""
    devices = _devices(sources)
    if devices and all(device.simulated for device in devices):
        yield "simulated: what the model predicts, no hardware"


def _subject(source: Source, finding: Finding) -> str:
    return f"{finding.subject}, {source.name}" if source.several else finding.subject


def _share(finding: Finding) -> str:
    if finding.reference is None or finding.share is None:
        return ""
    article = "the " if finding.reference.kind == "limit" else ""
    return f"{finding.percent} of {article}{finding.reference.name}"


def _tiles(results: Sequence[tuple[Source, Finding]]) -> Sequence[Tile]:
    """Tiles of headlines with a figure: runs take turns, and the first study comes first."""
    of_runs: dict[str, list[tuple[Source, Finding]]] = {}
    for source, finding in results:
        if finding.headline and finding.figure and finding.verdict != "undecided":
            of_runs.setdefault(source.name, []).append((source, finding))
    by_turns = chain.from_iterable(zip_longest(*of_runs.values()))
    return [
        {
            "what": finding.quantity,
            "of": _subject(source, finding),
            "value": finding.figure.partition(" ")[0],
            "unit": finding.figure.partition(" ")[2],
            "certainty": finding.certainty,
            "share": finding.share,
            "remark": _share(finding) or finding.remark,
        }
        for source, finding in list(filter(None, by_turns))[:MOST_HEADLINES]
    ]


def _advice(results: Sequence[tuple[Source, Finding]]) -> list[tuple[str, str]]:
    """Sentences of advice, each with its call or command; no command appears twice."""
    actions: dict[str, str] = {}
    for _, finding in results:
        if finding.action:
            actions.setdefault(str(finding.action), finding.sentence)
    return [(sentence, action) for action, sentence in actions.items()][:_MOST_LISTED]


def _missing(source: Source, results: Sequence[Finding]) -> list[str]:
    """Lists errors and missing measurements, each text once."""
    run = source.run
    reasons = [f"{address}: no card behind it, its API's software alone" for address in
            sorted(source.context.software)]  # fmt: skip
    reasons += sorted(wording.troubles(run))
    reasons += [unmeasured(source.context, results)]
    return [*filter(None, reasons)] if run.points else ["this run holds no points", *reasons]


# Functions for the section of a study


def _study(
    name: str,
    sources: Sequence[Source],
    results: Sequence[tuple[Source, Finding]],
    plots: Sequence[Figure],
    first: Figure | None,
    renderer: Renderer,
) -> _Study:
    of_study = [(source, finding) for source, finding in results if finding.study == name]
    declared = studies.registry().get(name)
    rows = [
        [finding.quantity, _subject(source, finding), finding.figure, finding.span,
         _share(finding), finding.remark]
        for source, finding in of_study
    ]  # fmt: skip
    return _Study(
        name,
        (declared and declared.title) or name,
        declared.question if declared else "",
        [
            f"{source.name}: {finding.sentence}" if source.several else finding.sentence
            for source, finding in of_study
            if finding.headline
        ],
        # A plot that the first screen shows completely is not repeated.
        [renderer.drawing(figure) for figure in plots if figure is not first or figure.panels > 1],
        _filled(rows),
        [folded for source in sources for folded in _answers(name, source)],
    )


def _filled(rows: Sequence[Sequence[str]]) -> Table:
    """A table of findings, without columns that are empty in all rows."""
    kept = [i for i in range(len(_FINDINGS)) if any(row[i] for row in rows)]
    cells = [[row[i] for i in kept] for row in rows]
    return Table([_FINDINGS[i] for i in kept], cells, [i in {2, 3} for i in kept])


def _answers(study: str, source: Source) -> Iterator[Folded]:
    labels = wording.labels(source.run)
    for answer in answers_to(study, source.context):
        if answer.has_rows:
            frame, common = lift(_once(answer.table), labels)
            title = f"{answer.question} ({source.name})" if source.several else answer.question
            if len(frame) > _MOST_FOLDED:
                title = f"{title} ({_MOST_FOLDED} of {len(frame):,} rows)"
            yield Folded(title, table(frame[:_MOST_FOLDED], labels), common)


def _once(frame: Frame) -> Frame:
    """Drops the reverse of each pair of devices or kinds of memory from a table."""
    if "reference" not in frame:
        return frame
    of = "memory" if set(frame["reference"]) <= set(frame.get("memory", ())) else "device"
    both = zip(frame[of], frame["reference"], strict=True)
    pairs = [" ".join(sorted(map(str, pair))) for pair in both]
    rest = {"device", "operation", "memory", "axes", "elements", "bytes"} - {of}
    return frame.assign(pair=pairs).drop_duplicates([*rest & set(frame), "pair"]).without(["pair"])


def _hash(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"
