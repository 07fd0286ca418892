"""How to cite a run: BibTeX of Isthmus and of published sources, and a paragraph on the method."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import isthmus
from isthmus import boards, published
from isthmus.analysis.context import studies_in
from isthmus.analysis.reproduction import rows_of_card
from isthmus.analysis.summary import summarise
from isthmus.analysis.wording import percent
from isthmus.columns import wrapped
from isthmus.errors import IsthmusError
from isthmus.models.pcie import link_of
from isthmus.published import Source
from isthmus.results.run_file import DeviceRecord, Origin, Run
from isthmus.text import counted
from isthmus.units import format_seconds, printable
from isthmus.written import json_text

FILE = "CITATION.cff"
FORMATS = ("text", "bibtex", "json")
_COMMIT = 12
"""Digits of a commit that are shown."""
_DIGEST = 16
"""Digits of a checksum that are shown."""
_SPECIAL = re.compile(r"([&%$#_{}])")
_ACCENTS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def citation() -> dict[str, Any]:
    """Contents of ``CITATION.cff``; raises IsthmusError where it is not installed."""
    source_tree = Path(__file__).parents[3]
    for folder in (*isthmus.__path__, str(source_tree)):
        path = Path(folder) / FILE
        if path.is_file():
            return parsed(path.read_text("utf-8"))
    raise IsthmusError(f"{FILE} is missing: this installation is not complete")


def parsed(text: str) -> dict[str, Any]:
    """Values of YAML as simple as this file's: texts, and lists of texts or of named texts."""
    values: dict[str, Any] = {}
    items: list[Any] = []
    for line in filter(str.strip, text.splitlines()):
        name, colon, value = line.strip().removeprefix("- ").partition(": ")
        value = value.strip('"')
        if line.endswith(":"):
            items = values[line[:-1]] = []
        elif not line.startswith(" "):
            values[name] = value
        elif line.startswith("  - "):
            items.append({name: value} if colon else name)
        else:
            items[-1][name] = value
    return values


def cited(run: Run) -> list[Source]:
    """Published sources of figures or of board parameters that stand behind a run."""
    names: dict[str, None] = {}
    for device in run.devices:
        names |= dict.fromkeys(
            row.source for study in studies_in(run) for row in rows_of_card(study, device)
        )
        board = boards.of_device(device.properties)
        fitted = {one.calibration for one in board.settings.values()} if board else set()
        names |= dict.fromkeys(
            source.name
            for source in published.sources().values()
            if any(fit.calibration in fitted for fit in source.fits)
        )
    return [source for name, source in published.sources().items() if name in names]


def bibtex(run: Run) -> list[str]:
    """An entry for Isthmus, and for each source of ``cited``."""
    return [_isthmus(run), *map(_of_source, cited(run))]


def _isthmus(run: Run) -> str:
    about, software = citation(), run.software
    authors = [one.get("name") or f"{one['family-names']}, {one['given-names']}"
               for one in about["authors"]]  # fmt: skip
    fields = {
        "author": " and ".join(f"{{{_tex(name)}}}" for name in authors),
        "title": f"{{{_tex(about['title'])}}}",
        "version": _tex(f"{software.version} {software.commit[:_COMMIT]}".strip()),
        "year": about.get("date-released", run.started)[:4],
        "url": about.get("repository-code", ""),
        "doi": about.get("doi", ""),
    }
    return _entry("software", "isthmus", fields)


def _of_source(source: Source) -> str:
    fields = {"author": f"{{{_tex(source.by)}}}", "title": f"{{{_tex(source.title)}}}"}
    given = dict(source.cite)
    kind = given.pop("type", "misc")
    fields |= {name: _tex(value) for name, value in given.items()}
    return _entry(kind, source.name, fields)


def _entry(kind: str, key: str, fields: Mapping[str, str]) -> str:
    lines = (f"  {name} = {{{value}}}" for name, value in fields.items() if value)
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}"


def _tex(text: object) -> str:
    """Text that TeX prints as it is."""
    plain = "".join(_ACCENTS.get(c, c) for c in _SPECIAL.sub(r"\\\1", printable(text)))
    return re.sub(r"\\textbackslash\{\}(?=[&%$#_{}])", r"\\", plain)


def methods(run: Run) -> str:
    """A paragraph for a paper: what was measured, on which machine, how and how certainly."""
    return printable(" ".join(_sentences(run)))


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
    yield f"{counted(len(run.points), 'point', 'points')}: {_listed(kinds)} of that program."
    if origin.not_measured:
        yield f"Not in that output: {'; '.join(origin.not_measured)}."
    if origin.assumed:
        yield f"Assumed: {'; '.join(origin.assumed)}."


def _sentences(run: Run) -> Iterator[str]:
    if run.origin:
        yield from _of_import(run, run.origin)
        return
    software, settings = run.software, run.settings
    commit = f" (commit {software.commit[:_COMMIT]})" if software.commit else ""
    version = f"{software.version}{commit}"
    yield f"We measured {_listed(studies_in(run))} with Isthmus {version}{_machine(run)}."
    for device in run.devices:
        yield _device(device)
    measured = [point for point in run.points if point.reruns]
    if not measured:
        yield "The run holds no samples."
        return
    processes = [len({rerun.rerun for rerun in point.reruns}) for point in measured]
    each = [len(s.ticks) for p in measured for r in p.reruns for s in r.clocks.values() if s.ticks]
    fewest, most = min(processes), max(processes)
    all_points = counted(len(run.points), "point", "points")
    subject = all_points if len(measured) == len(run.points) else (
        f"{len(measured)} of {all_points}"
    )  # fmt: skip
    samples = "sample" if max(each, default=0) == 1 else "samples"
    yield (
        f"{subject} {'was' if len(measured) == 1 else 'were'} measured, each in "
        f"{_range(fewest, most)} {'process' if most == 1 else 'processes'} with "
        f"{_range(min(each, default=0), max(each, default=0))} {samples} a process ({sum(each)} in "
        f"all), in random order (seed {settings.seed}) interleaved over devices."
    )
    yield from _certainty(run, most)
    yield from _clocks(run)
    yield from _verification(run)
    if run.status != "complete":
        ended = "its time was up" if run.status == "budget" else "it was interrupted"
        yield f"The run ended when {ended}."


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


def _certainty(run: Run, most: int) -> Iterator[str]:
    summary, settings = summarise(run), run.settings
    if all(device.simulated for device in run.devices):
        yield "Simulated times are exact and have no interval unless the model is random."
        return
    rows, reached = len(summary), int(summary["converged"].sum())
    over = "over processes, which are the sample" if most > 1 else (
        "within the one process, so that another process may differ by more"
    )  # fmt: skip
    yield (
        f"Figures are medians with {percent(settings.confidence)} confidence intervals {over}; the "
        f"interval of {reached} of {rows} rows reached the wanted precision of "
        f"{percent(settings.precision)}."
    )


def _clocks(run: Run) -> Iterator[str]:
    simulated = {device.address for device in run.devices if device.simulated}
    clocks = [r.clock for p in run.points for r in p.reruns if p.device not in simulated]
    for source in dict.fromkeys(clock.source for clock in clocks):
        of_source = [clock for clock in clocks if clock.source == source]
        resolution, pair = (
            _range(*(format_seconds(end(values)) for end in (min, max)))
            for values in zip(*((c.resolution_s, c.empty_pair_s) for c in of_source), strict=True)
        )
        yield (
            f"Times were read from the clock {source} (resolution {resolution}); the {pair} that "
            "two readings with nothing between them take were taken off."
        )
    if simulated:
        yield f"Times of {_listed(sorted(simulated))} are those of the model's clock."


def _verification(run: Run) -> Iterator[str]:
    states = [{rerun.verified for rerun in point.reruns} for point in run.points if point.reruns]
    wrong = sum("false" in state for state in states)
    right = sum(state == {"true"} for state in states)
    text = f"Moved data were verified in {counted(right, 'point', 'points')}"
    yield f"{text}; those of {wrong} were wrong and are left out." if wrong else f"{text}."


def _listed(names: Iterable[str]) -> str:
    *first, last = names or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def _range(low: object, high: object) -> str:
    return str(low) if low == high else f"{low} to {high}"


def render(run: Run, form: str) -> str:
    """The citation as text in one of ``FORMATS``."""
    entries = bibtex(run)
    if form == "bibtex":
        return "\n\n".join(entries) + "\n"
    if form == "json":
        sources = [{"name": one.name, "by": one.by, "title": one.title} for one in cited(run)]
        return json_text(
            {"methods": methods(run), "isthmus": citation(), "sources": sources, "bibtex": entries}
        )
    return "\n".join([*wrapped(methods(run), others=""), "", "\n\n".join(entries)]) + "\n"
