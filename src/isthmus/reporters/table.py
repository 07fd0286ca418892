"""Shows all points of a run as a table for the terminal."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Mapping

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from isthmus.analysis import wording
from isthmus.analysis.flags import meaning
from isthmus.analysis.summary import summarise
from isthmus.frames import Frame
from isthmus.output import Styled
from isthmus.reporters.base import Reporter
from isthmus.reporters.cells import Table, flags_in, heading, table, view
from isthmus.results.run_file import Run
from isthmus.units import printable

_UNKNOWN_WIDTH = 200
_FLAGS_WIDTH = 18
_LEFT_OUT_FIRST = (
    ("limit_source",), ("low_model_s", "high_model_s"), ("samples",), ("reruns",), ("verified",),
    ("min_s",), ("api",), ("clock",),
    ("converged",), ("limit",), ("model_s",),
    ("low_median_s", "high_median_s"), ("study",), ("limit_share",),
)  # fmt: skip
"""Columns in the order in which a narrow terminal omits them."""
_ANY_HEIGHT = 25
"""Lines of a terminal for Rich, which ignores the width of a dumb terminal without a height."""


def _text(run: Run) -> str:
    """Makes a table of all points for the width of the terminal; a narrow one omits columns."""
    text = io.StringIO()
    width = shutil.get_terminal_size((_UNKNOWN_WIDTH, 0)).columns
    console = _console(text, width)
    summary, labels = summarise(run), wording.labels(run)
    shown, common = view(summary, labels)
    console.print(Text(heading(run), style="bold"))
    if common:
        console.print("  ".join(f"{name} {value}" for name, value in common.items()))
    cells, left_out = _fitted(shown, labels, width)
    # A terminal wraps lines that are too long; cutting them would change figures.
    _console(text, max(width, _least_width(cells))).print(_rich(cells))
    if left_out:
        console.print(f"left out in {width} columns: {', '.join(left_out)} (--format csv has all)")
    for flag in flags_in(summary):
        console.print(Text.assemble((printable(flag), "yellow"), f": {printable(meaning(flag))}"))
    for trouble in wording.troubles(run):
        console.print(Text(printable(trouble), style="red"))
    for skipped, memory in dict.fromkeys((point.skipped, point.memory) for point in run.points):
        if skipped:
            console.print(Text(printable(f"{memory} was skipped: {skipped}"), style="yellow"))
    for missing in run.devices:
        if missing.error:
            reason = f"{missing.address} was not measured: {missing.error}"
            console.print(Text(printable(reason), style="red"))
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    return Styled("\n".join(lines).rstrip() + "\n")


def drawn(cells: Table) -> Styled:
    """Draws a table with all its columns, however wide the table becomes."""
    text = io.StringIO()
    _console(text, _least_width(cells)).print(_rich(cells))
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    return Styled("\n".join(lines).strip("\n") + "\n")


def _fitted(shown: Frame, labels: Mapping[str, str], width: int) -> tuple[Table, list[str]]:
    """The table with the columns that fit, and the names of omitted columns."""
    left_out: list[str] = []
    cells = table(shown, labels)
    for names in _LEFT_OUT_FIRST:
        if _least_width(cells) <= width:
            break
        here = [name for name in names if name in shown]
        shown = shown.without(here)
        before, cells = cells.headings, table(shown, labels)
        left_out += [name for name in before if name not in cells.headings]
    return cells, left_out


def _console(text: io.StringIO, width: int) -> Console:
    return Console(
        file=text,
        width=width,
        height=_ANY_HEIGHT,
        force_terminal=sys.stdout.isatty(),
        highlight=False,
        markup=False,
        emoji=False,
    )


def _rich(cells: Table) -> RichTable:
    drawn = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    last = len(cells.headings) - 1
    for i, (name, right) in enumerate(zip(cells.headings, cells.numeric, strict=True)):
        # The last column, flags, is the first to wrap on a narrow terminal.
        drawn.add_column(
            Text(name), justify="right" if right else "left", overflow="fold", no_wrap=i < last
        )
    for row in cells.rows:
        drawn.add_row(*map(Text, row))
    return drawn


def _least_width(cells: Table) -> int:
    """Width in characters that the table needs if its column of flags is narrow."""
    columns = list(zip(cells.headings, *cells.rows, strict=True))
    return sum(max(map(cell_len, column)) + 2 for column in columns[:-1]) + _FLAGS_WIDTH


REPORTER = Reporter("table", "all points, one row each", _text)
