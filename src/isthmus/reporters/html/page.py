"""Puts a page together: what a run came to, in reading order, and its plots as files."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import jinja2
import pandas as pd
import vl_convert
from markupsafe import Markup

from isthmus import studies
from isthmus.analysis import wording
from isthmus.analysis.answers import Answer, answers_to, studies_in
from isthmus.analysis.flags import MEANINGS, disturbed
from isthmus.analysis.ratios import software_alone
from isthmus.analysis.summary import summarise
from isthmus.errors import IsthmusError, UsageError
from isthmus.reporters.cells import Table, heading, lift, printable, table, view
from isthmus.reporters.html.charts import Figure, figures, slugged
from isthmus.results.run_file import Run
from isthmus.units import format_seconds

_FOLDER = Path(__file__).parent
_GENERATOR = '<meta name="generator" content="Isthmus">'
_VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
_PNG_SCALE = 2.0
_FILE_THEME: dict[str, object] = {
    "background": "white",
    "font": "sans-serif",
    "axis": {"gridColor": "#e4e4e4", "titleFontWeight": "normal", "labelColor": "#333"},
    "view": {"stroke": "#cccccc"},
    "legend": {"labelLimit": 480, "layout": {"bottom": {"direction": "vertical"}}},
}
_ENDINGS = {
    "interrupted": "This run was interrupted: what was measured until then is shown.",
    "budget": "This run ended when its time was up: points without the wanted precision are "
    "flagged, and some may be missing.",
}


class _Shown(NamedTuple):
    """An answer with its table in text."""

    answer: Answer
    cells: Table
    common: dict[str, str]
    """What is the same in all rows and stands in none."""


class _Part(NamedTuple):
    """One study of a run: what it came to, and its plots."""

    name: str
    question: str
    answers: list[_Shown]
    plots: list[tuple[str, list[Figure]]]
    """By operation: bandwidth and time side by side."""
    ratios: list[Figure]


class _Section(NamedTuple):
    """One run on the page."""

    id: str
    name: str
    heading: str
    run: Run
    notices: list[str]
    parts: list[_Part]
    convergence: str
    flags: list[tuple[str, str, int]]
    common: dict[str, str]
    points: Table
    devices: list[tuple[str, list[tuple[str, str]]]]
    environment: list[tuple[str, str]]
    method: list[tuple[str, str]]


def write(runs: Sequence[tuple[str, Run]], folder: Path) -> Path:
    """See ``write_page``."""
    page = folder / "index.html"
    sections = [_section(f"run-{i}", name, run) for i, (name, run) in enumerate(runs, 1)]
    drawn = [figure for section in sections for figure in _figures(section)]
    text = _render(sections)
    try:
        if page.exists() and _GENERATOR not in page.read_text("utf-8", errors="replace")[:2000]:
            raise UsageError(f"{page} is no page of Isthmus; choose another folder with --out")
        (folder / "plots").mkdir(parents=True, exist_ok=True)
        for figure in drawn:
            _write_plot(figure, folder / "plots")
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise IsthmusError(f"cannot write {error.filename or page}: {error.strerror}") from error
    return page


def _figures(section: _Section) -> Iterator[Figure]:
    for part in section.parts:
        for _, group in part.plots:
            yield from group
        yield from part.ratios


def _write_plot(figure: Figure, folder: Path) -> None:
    svg = vl_convert.vegalite_to_svg(figure.spec, vl_version=_VEGA_LITE, config=_FILE_THEME)
    (folder / f"{figure.name}.svg").write_text(svg, encoding="utf-8")
    (folder / f"{figure.name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=_PNG_SCALE))


def _section(id: str, name: str, run: Run) -> _Section:  # noqa: A002 - the attribute's name
    summary, labels = summarise(run), wording.labels(run)
    shown, common = view(summary, labels)
    return _Section(
        id=id,
        name=name,
        heading=heading(run),
        run=run,
        notices=[*_notices(run), *filter(None, [disturbed(summary)])],
        parts=[_part(study, run, summary, f"{id}-{slugged(study)}") for study in studies_in(run)],
        convergence=_convergence(summary),
        flags=_flags(summary),
        common=common,
        points=table(shown, labels),
        devices=list(_devices(run)),
        environment=list(_flattened(run.environment)),
        method=list(_method(run)),
    )


def _part(study: str, run: Run, summary: pd.DataFrame, prefix: str) -> _Part:
    drawn, labels = figures(run, summary, study, prefix), wording.labels(run)
    flat = [figure for figure in drawn if figure.kind != "ratio"]
    known = studies.registry().get(study)
    return _Part(
        name=study,
        question=known.question if known else "",
        answers=[
            _shown(answer, labels) for answer in answers_to(study, run, summary) if answer.found
        ],
        plots=[
            (operation, [figure for figure in flat if figure.operation == operation])
            for operation in dict.fromkeys(figure.operation for figure in flat)
        ],
        ratios=[figure for figure in drawn if figure.kind == "ratio"],
    )


def _shown(answer: Answer, labels: Mapping[str, str]) -> _Shown:
    frame, common = lift(answer.table, labels)
    return _Shown(answer, table(frame, labels), common)


def _notices(run: Run) -> list[str]:
    notices = [_ENDINGS[run.status]] if run.status in _ENDINGS else []
    if not run.points:
        notices.append("This run holds no points.")
    bare = software_alone(run)
    if bare:
        notices.append(
            f"{', '.join(sorted(bare))}: every call returns with nothing behind it. What is timed "
            "is the API's own software: argument checks, handles, locks, queues. No driver, no "
            "DMA, no link and no card is in it; nothing moves, so there is no bandwidth and "
            "nothing to verify."
        )
    unreal = [d.address for d in run.devices if not d.real and d.address not in bare]
    if unreal:
        notices.append(f"Not hardware: {', '.join(unreal)}. Its figures say nothing about a board.")
    if run.settings.quick:
        notices.append("A quick run: fewer sizes, wider intervals, one process per device.")
    failed = set(wording.troubles(run))
    failed |= {f"{device.address}: {device.error}" for device in run.devices if device.error}
    return notices + [f"Failed: {text}" for text in sorted(failed)]


def _convergence(summary: pd.DataFrame) -> str:
    if summary.empty:
        return "No points."
    reached, missing = int(summary["converged"].sum()), int((summary["samples"] == 0).sum())
    wrong = int((summary["verified"] == "false").sum())
    text = f"{reached} of {len(summary)} rows reached the wanted precision"
    text += f"; {missing} have no samples" if missing else ""
    text += f"; in {wrong} the data did not arrive: they count in no peak and no ratio" * bool(
        wrong
    )
    return f"{text}."


def _flags(summary: pd.DataFrame) -> list[tuple[str, str, int]]:
    counts = summary["flags"].str.split(";").explode().value_counts()
    return [
        (str(flag), MEANINGS.get(str(flag), "no description"), int(count))
        for flag, count in counts.items()
        if flag
    ]


def _devices(run: Run) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    labels = wording.labels(run)
    for device in run.devices:
        facts = {
            "name": device.name,
            "platform": device.platform,
            "API": device.api,
            "backend": device.backend,
            "memory": wording.size(device.memory_bytes) if device.memory_bytes else "",
            "largest buffer": wording.size(device.max_buffer_bytes)
            if device.max_buffer_bytes
            else "",
            **device.properties,
            "link": device.link,
            "environment": device.environment,
            "error": device.error,
        }
        yield labels[device.address], list(_flattened(facts))


def _flattened(facts: Mapping[str, object], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        title = f"{before}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{title}: ")
        elif isinstance(value, (list, tuple)):
            yield title, ", ".join(map(str, value))
        elif value not in ("", None):
            text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
            if name.endswith("_bytes") and isinstance(value, int):
                title, text = title.removesuffix(" bytes"), wording.size(value)
            yield title, text


def _method(run: Run) -> Iterator[tuple[str, str]]:
    settings = run.settings
    yield "precision", f"interval of the median within {wording.percent(settings.precision)}"
    yield "confidence", wording.percent(settings.confidence)
    yield "processes", _processes(run)
    yield "time for the run", format_seconds(settings.budget_s)
    yield "order", f"points interleaved over all devices, seed {settings.seed}"
    yield from _flattened({"axis": settings.axes})
    bound = ", ".join(map(str, settings.cpus)) or "not bound"
    node = "" if settings.numa_node is None else f", NUMA node {settings.numa_node}"
    yield "processors", bound + node
    simulated = [device.address for device in run.devices if device.simulated]
    for address in simulated:
        yield f"clock for {address}", "simulated: exact, and the same wherever it runs"
    clocks = [(p.device, r.clock) for p in run.points for r in p.reruns]
    for device, clock in dict(one for one in clocks if one[0] not in simulated).items():
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


def _title(sections: Sequence[_Section]) -> str:
    if len(sections) == 1:
        run = sections[0].run
        studies, host = ", ".join(run.studies) or "no study", run.environment.get("host", "")
        place = f" on {host}" if host else ""
        return f"Isthmus: {studies}{place}, {run.started[:10]}"
    return f"Isthmus: {len(sections)} runs: {', '.join(section.name for section in sections)}"


def _render(sections: Sequence[_Section]) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else printable(value),
    )
    drawn = any(True for section in sections for _ in _figures(section))
    scripts = [_inline(_library()), _inline((_FOLDER / "page.js").read_text("utf-8"))]
    return environment.get_template("page.html.j2").render(
        title=_title(sections),
        generator=Markup(_GENERATOR),
        sections=sections,
        scripts=scripts if drawn else [],
        sources=Markup(" ".join(_hash(script) for script in scripts) if drawn else "'none'"),
        style=Markup((_FOLDER / "page.css").read_text("utf-8")),
        as_json=_as_json,
    )


@cache
def _library() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=_VEGA_LITE)


def _inline(script: str) -> Markup:
    """A script that can stand between its tags: nothing in it ends it early."""
    return Markup(script.replace("\r\n", "\n").replace("</script", r"<\/script"))


def _hash(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _as_json(value: Any) -> Markup:
    text = json.dumps(value, separators=(",", ":"))
    return Markup(text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026"))
