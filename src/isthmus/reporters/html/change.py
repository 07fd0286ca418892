"""Says what changed between two runs, for the page on both: sentences, tiles and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from isthmus.analysis.change import Change
from isthmus.analysis.changes import GATE_COLUMNS, Comparison, Side, compare, frame
from isthmus.analysis.findings import MOST_HEADLINES
from isthmus.errors import UsageError
from isthmus.reporters import change_words, comparison
from isthmus.reporters.cells import Table, lift, table
from isthmus.reporters.html.charts import Source
from isthmus.reporters.html.method import Folded
from isthmus.text import cut_middle

_MOST_ROWS = 500
_LONGEST = 40
"""Most characters of an environment's value in a table."""
_FIRST = ("device", "operation", "memory", "axes", "sizes", "verdict", "ratio", "low_ratio",
          "high_ratio", "before_Bps", "after_Bps", "before_s", "after_s")  # fmt: skip
Tile = Mapping[str, str | float | None]


class Changed(NamedTuple):
    """Two runs with what changed from the first to the second."""

    sentences: list[str]
    """The verdict, points that the second run lacks, and what the changes have in common."""
    tiles: list[Tile]
    """The largest certain changes; empty if no change is certain."""
    series: Folded
    folded: list[Folded]
    """Tables of every point and of differences in the environment."""


def changed(sources: Sequence[Source]) -> Changed | str:
    """Compares two runs of a study, or says why they cannot be compared.

    Empty unless there are two runs with a study in common.
    """
    if len(sources) != 2 or not sources[0].several:
        return ""
    base, new = (Side(source.name, [source.run]) for source in sources)
    try:
        result = compare(base, new)
    except UsageError as error:
        return str(error)
    certain = [*result.of("slower"), *result.of("faster")]
    rows = [*certain, *result.of("undecided"), *result.of("same")]
    return Changed(
        [*comparison.verdict(result), *comparison.remarks(result)],
        [_tile(change) for change in certain[:MOST_HEADLINES]],
        _rows("Each series", rows),
        [*_environment(result), _rows("Every point", result.points)],
    )


def _tile(change: Change) -> Tile:
    value, interval = change_words.percents(change)
    return {
        "what": change_words.what(change),
        "of": change.device,
        "value": value,
        "unit": "% time",
        "certainty": interval,
        "share": None,
        "remark": f"{change.verdict}: {change_words.values(change)}",
    }


def _rows(title: str, changes: Sequence[Change]) -> Folded:
    rows = frame(changes).without(GATE_COLUMNS)
    rows = rows[[*_FIRST, *(name for name in rows if name not in _FIRST)]]
    if rows["before_Bps"].notna().all():
        rows = rows.without(["before_s", "after_s"])
    shown, common = lift(rows, {})
    more = f" ({_MOST_ROWS} of {len(rows):,})" if len(rows) > _MOST_ROWS else f" ({len(rows):,})"
    return Folded(f"{title}{more}", table(shown[:_MOST_ROWS]), common)


def _environment(result: Comparison) -> list[Folded]:
    """Tables of differing facts; facts that may explain a change come first."""
    cells = [
        [difference.of, difference.name,
         *(cut_middle(text, _LONGEST) for text in (difference.before, difference.after)),
         "may explain it" if difference.explains else ""]
        for difference in result.differences
    ]  # fmt: skip
    headings = ["of", "fact", result.base.name, result.new.name, ""]
    grid = Table(headings, cells, [False] * len(headings))
    return [Folded(f"What differs in the environment ({len(cells)})", grid, {})] if cells else []
