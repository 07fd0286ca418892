"""A table for the terminal, with the answers below it."""

from __future__ import annotations

import io
import shutil
import sys

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from isthmus.analysis import wording
from isthmus.analysis.answers import answers
from isthmus.analysis.flags import MEANINGS
from isthmus.analysis.summary import summarise
from isthmus.reporters.base import Reporter
from isthmus.reporters.cells import Table, flags_in, heading, printable, table, view
from isthmus.results.run_file import Run

_UNKNOWN_WIDTH = 200


def _text(run: Run) -> str:
    text = io.StringIO()
    console = Console(
        file=text,
        width=shutil.get_terminal_size((_UNKNOWN_WIDTH, 0)).columns,
        force_terminal=sys.stdout.isatty(),
        highlight=False,
        markup=False,
        emoji=False,
    )
    summary, labels = summarise(run), wording.labels(run)
    shown, common = view(summary, labels)
    console.print(Text(heading(run), style="bold"))
    if common:
        console.print("  ".join(f"{name} {value}" for name, value in common.items()))
    console.print(_rich(table(shown, labels)))
    for flag in flags_in(summary):
        meaning = MEANINGS.get(flag, "no description")
        console.print(Text.assemble((printable(flag), "yellow"), f": {meaning}"))
    for answer in answers(run, summary):
        console.print()
        console.print(Text(answer.question, style="bold"))
        console.print(Text(printable(answer.verdict)))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _rich(cells: Table) -> RichTable:
    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, right in zip(cells.headings, cells.numeric, strict=True):
        drawn.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for row in cells.rows:
        drawn.add_row(*map(Text, row))
    return drawn


REPORTER = Reporter("table", "a table for the terminal and the answers", _text)
