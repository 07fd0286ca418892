"""Shows a run as Markdown, as code hosts render it: findings, then one row per point."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isthmus.analysis import wording
from isthmus.analysis.context import RunContext
from isthmus.analysis.findings import findings
from isthmus.analysis.flags import meaning
from isthmus.analysis.summary import summarise
from isthmus.reporters.base import Reporter
from isthmus.reporters.cells import Table, flags_in, heading, table, view
from isthmus.results.run_file import Run
from isthmus.units import printable

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&])")


def escape(text: str) -> str:
    """Escapes text, so that Markdown shows it unchanged."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def _text(run: Run) -> str:
    return "\n".join(_lines(run)) + "\n"


def _lines(run: Run) -> Iterator[str]:
    summary, labels = summarise(run), wording.labels(run)
    yield f"## {escape(heading(run))}"
    yield ""
    for finding in findings(RunContext.of(run, summary)):
        sentence = escape(finding.sentence)
        yield f"- **{sentence}**" if finding.headline else f"- {sentence}"
    shown, common = view(summary, labels)
    yield ""
    if common:
        yield escape("All rows: " + ", ".join(f"{name} {value}" for name, value in common.items()))
        yield ""
    yield from markdown(table(shown, labels))
    for trouble in wording.troubles(run):
        yield ""
        yield f"**Wrong:** {escape(trouble)}"
    if flags := flags_in(summary):
        yield ""
    for flag in flags:
        yield f"- {escape(flag)}: {escape(meaning(flag))}"


def markdown(cells: Table) -> Iterator[str]:
    """Yields the lines of a table in Markdown."""
    yield f"| {' | '.join(map(escape, cells.headings))} |"
    yield f"| {' | '.join('---:' if right else '---' for right in cells.numeric)} |"
    for row in cells.rows:
        yield f"| {' | '.join(map(escape, row))} |"


REPORTER = Reporter("md", "the findings and a Markdown table", _text)
