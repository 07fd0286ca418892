"""Cites a run: BibTeX of Isthmus, of published sources and of statistics, and a paragraph."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import isthmus
from isthmus import boards, published
from isthmus.analysis.context import studies_in
from isthmus.analysis.method import method
from isthmus.analysis.reproduction import rows_of_card
from isthmus.columns import wrapped
from isthmus.errors import IsthmusError
from isthmus.published import Source
from isthmus.reporters.methods import COMMIT_DIGITS, paragraph
from isthmus.results.run_file import Run, Software
from isthmus.units import printable
from isthmus.written import json_text

FILE = "CITATION.cff"
FORMATS = ("text", "bibtex", "json")
_NO_URL = "% Isthmus: no URL is known here; CITATION.cff has none as repository-code or url."
"""Comment that BibTeX skips, before the entries, if no address of Isthmus is known."""
_STATISTICS = (
    ("inproceedings", "kalibera2013", {
        "author": "Kalibera, Tomas and Jones, Richard",
        "title": "{Rigorous Benchmarking in Reasonable Time}",
        "booktitle": "Proceedings of the 2013 International Symposium on Memory Management",
        "pages": "63--74", "year": "2013",
    }),
    ("article", "hodges1963", {
        "author": "Hodges, J. L. and Lehmann, E. L.",
        "title": "{Estimates of Location Based on Rank Tests}",
        "journal": "The Annals of Mathematical Statistics", "volume": "34", "number": "2",
        "pages": "598--611", "year": "1963",
    }),
)  # fmt: skip
"""Sources of the estimator over processes, which the paragraph on the method names."""
_SPECIAL = re.compile(r"([&%$#_{}])")
_ACCENTS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def citation() -> dict[str, Any]:
    """Returns the content of ``CITATION.cff``; raises IsthmusError if the file is missing."""
    source_tree = Path(__file__).parents[3]
    for folder in (*isthmus.__path__, str(source_tree)):
        path = Path(folder) / FILE
        if path.is_file():
            return parsed(path.read_text("utf-8"))
    raise IsthmusError(f"{FILE} is missing: this installation is not complete")


def parsed(text: str) -> dict[str, Any]:
    """Reads values of simple YAML as in this file: texts, and lists of texts or of named texts."""
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
    """Returns the published sources of a run's figures and of its boards' parameters."""
    names: dict[str, None] = {}
    for device in run.devices:
        names |= dict.fromkeys(
            row.source for study in studies_in(run) for row in rows_of_card(study, device)
        )
        board = boards.of_device(device.properties)
        fitted = {setting.calibration for setting in board.settings.values()} if board else set()
        names |= dict.fromkeys(
            source.name
            for source in published.sources().values()
            if any(fit.calibration in fitted for fit in source.fits)
        )
    return [source for name, source in published.sources().items() if name in names]


def bibtex(run: Run) -> list[str]:
    """Returns entries for Isthmus, for each source of ``cited``, and for the estimator."""
    estimator = () if run.origin or not method(run).rows.several else _STATISTICS
    return [
        _isthmus(run.software, run.started),
        *map(_of_source, cited(run)),
        *(_entry(*entry) for entry in estimator),
    ]


def _isthmus(software: Software, started: str = "") -> str:
    """The entry of one version of Isthmus; ``started``: when that version measured the run."""
    about = citation()
    authors = [author.get("name") or f"{author['family-names']}, {author['given-names']}"
               for author in about["authors"]]  # fmt: skip
    fields = {
        "author": " and ".join(f"{{{_tex(name)}}}" for name in authors),
        "title": f"{{{_tex(about['title'])}}}",
        "version": _tex(f"{software.version} {software.commit[:COMMIT_DIGITS]}".strip()),
        "year": about.get("date-released", started)[:4],
        "url": _url(about),
        "doi": about.get("doi", ""),
    }
    return _entry("software", "isthmus", fields)


def _url(about: Mapping[str, Any]) -> str:
    """Address of Isthmus in ``CITATION.cff``; empty if the file has none."""
    return str(about.get("repository-code") or about.get("url") or "")


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
    """Escapes a text, so that TeX prints it unchanged."""
    plain = "".join(_ACCENTS.get(c, c) for c in _SPECIAL.sub(r"\\\1", printable(text)))
    return re.sub(r"\\textbackslash\{\}(?=[&%$#_{}])", r"\\", plain)


def render(run: Run | None, form: str) -> str:
    """The citation as text in one of ``FORMATS``; without a run, of this version of Isthmus."""
    entries = bibtex(run) if run else [_isthmus(Software(version=isthmus.__version__, command=[]))]
    text = "\n\n".join([*([] if _url(citation()) else [_NO_URL]), *entries]) + "\n"
    if form == "bibtex" or (run is None and form == "text"):
        return text
    if run is None:
        return json_text({"isthmus": citation(), "bibtex": entries})
    if form == "json":
        sources = [
            {"name": source.name, "by": source.by, "title": source.title} for source in cited(run)
        ]
        return json_text(
            {
                "methods": paragraph(run),
                "isthmus": citation(),
                "sources": sources,
                "bibtex": entries,
            }
        )
    return "\n".join([*wrapped(paragraph(run), others=""), "", text])
