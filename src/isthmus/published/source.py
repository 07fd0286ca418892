"""Reads a published source from its folder: figures, tables, and a row for each published number.

``source.toml`` has ``title``, ``by`` (the citation) and ``board`` (a name, or a file of the
folder), and these tables:

``[cite]``
    ``type`` and fields of the source's entry in BibTeX. Defaults of ``author`` and ``title`` are
    ``by`` and ``title``.
``[[figure]]``
    ``name``, ``title``, ``needs`` (what a machine must have for the figure's rows), ``note``; for a
    figure that is not reproduced ``because``, the reason.
``[run.NAME]``
    A measurement that reproduces rows: ``study``, ``device``, ``memory`` and further ``axes``. In
    ``device``, ``{board}`` stands for the source's board. ``further_devices`` are measured in the
    same run. ``hybrid`` adds measured time of software to the simulated time.
``[[row]]``
    One published number, or one for each line of a CSV file (``data = "NAME"``; ``only`` keeps the
    lines whose columns have these values). Texts may name columns: ``"{size_bytes}"``; ``{size}``
    is ``bytes`` with a unit.

    The published number: ``item``, ``value`` (a number, two ends of a range, or a column),
    ``divide`` (divisor of the value), ``unit``, ``api`` (if the source compares several),
    ``figures`` (names, separated by blanks).

    Our number, from points: ``run`` and ``operation``, ``bytes``, ``where`` (further axes). Or
    lists of such points: (sum of ``plus`` less sum of ``minus``) ``times`` a number, over the sum
    of ``over``. ``combine`` is ``sum``; over all sizes of ``bytes`` also ``mean``, ``max`` or
    ``cost of a call`` (for each call, when 1 MiB is moved in blocks of these sizes). Our number,
    from a closed form: ``model`` with ``inputs``.

    How it is reproduced: ``fit`` (the calibration that used it; ``fits`` by item), else ``kind``:
    one of ``KINDS`` (``kinds`` by item). ``series`` groups rows in the residual table; ``events``
    adds the emulated card's number there. ``headline`` (by item) puts the row on a page without
    boards. ``aim`` is the largest accepted residual.
``[[aim]]``
    Aims of whole ``series``: ``name``, ``worst`` and perhaps ``rms``.
``[[fit]]``
    Parameters of ``board`` (default: the source's) that were fitted to rows. ``name`` stands in
    ``fit`` of these rows and in ``calibration`` of the board's file. ``start`` has the first values
    of the search. ``series`` names curves; each of their sizes in turn is held out for a check.
    ``held_out.csv`` stores the results (``tools/model_docs.py``).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from isthmus.errors import UsageError
from isthmus.units import format_size, parse_sizes

UNITS = {
    "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "GB/s": 1e9, "MB/s": 1e6, "GiB/s": float(1 << 30),
    "MiB/s": float(1 << 20), "%": 0.01,
}  # fmt: skip
"""Factors from units to seconds or bytes per second, and from % to a share. Any other unit is of a
count or a ratio."""
KINDS = {
    "fitted": "a parameter of the board was fitted to it",
    "predicted": "no parameter was fitted to it",
    "alike": "the model gives it the same figure as a point to which a parameter was fitted",
    "after the fact": "an input was chosen after this figure was known",
    "reproduced": "the source's own arithmetic",
    "hybrid": "measured software plus the simulated card",
}
"""Ways in which a published number is reproduced, with their meanings."""
COMBINED = ("sum", "mean", "max", "cost of a call")


@dataclass(frozen=True)
class Term:
    """Selects a point of a run by operation, size and axes."""

    operation: str
    bytes: int | None
    """Size in bytes; None: the operation has a single size."""
    where: Mapping[str, str]
    """Values of further axes, and of ``memory``."""


@dataclass(frozen=True)
class Measurement:
    """A run of ``isthmus`` whose points reproduce published rows: ``[run.NAME]``."""

    name: str
    study: str
    device: str
    memory: str = ""
    axes: Mapping[str, str] = field(default_factory=dict)
    further_devices: Sequence[str] = ()
    """Addresses of further devices that the same run measures."""
    hybrid: bool = False
    """Whether measured time of software is added to the simulated time of the card: see
    ``analysis.hybrid``."""


@dataclass(frozen=True)
class Row:
    """A published number, and how Isthmus reproduces it."""

    source: str
    figures: tuple[str, ...]
    item: str
    published: float
    unit: str
    board: str
    api: str = ""
    """API of the published measurement, if the source compares several APIs; else empty."""
    published_to: float | None = None
    """Upper end of a published range; None for a single number."""
    series: str = ""
    run: Measurement | None = None
    plus: tuple[Term, ...] = ()
    minus: tuple[Term, ...] = ()
    over: tuple[Term, ...] = ()
    times: float = 1.0
    combine: str = "sum"
    rate: bool = False
    """Whether the number is a rate in bytes per second; otherwise it is a time."""
    model: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    fit: str = ""
    """Name of the calibration that used this number to fit a board; empty if none did."""
    kind: str = "predicted"
    note: str = ""
    events: bool = False
    headline: str = ""
    aim: float | None = None

    @property
    def scale(self) -> float:
        """Factor from the row's unit to seconds or bytes per second; 1 for counts and ratios."""
        return UNITS.get(self.unit, 1.0)

    def nearest(self, ours: float) -> float:
        """The published number; for a range, the value in the range that is nearest to ``ours``."""
        to = self.published if self.published_to is None else self.published_to
        low, high = sorted((self.published, to))
        return min(max(ours, low), high)

    def residual(self, ours: float) -> float:
        """``ours`` (in the row's unit) over the published number, less 1; 0 within a range."""
        return ours / self.nearest(ours) - 1.0

    @property
    def text(self) -> str:
        """The published number or range with its unit: ``0.3333 to 0.5``, ``8.775 GiB/s``."""
        first = "" if self.published_to is None else f"{self.published:.5g} to "
        last = self.published if self.published_to is None else self.published_to
        return first + self.with_unit(last)

    def with_unit(self, value: float) -> str:
        """A value in the row's unit: ``8.775 GiB/s``; ratios have no unit."""
        return f"{value:.5g}" + ("" if self.unit == "ratio" else f" {self.unit}")

    @property
    def how(self) -> str:
        """How the row is reproduced: a key of ``KINDS``."""
        return "fitted" if self.fit else self.kind

    @property
    def terms(self) -> tuple[Term, ...]:
        """All points of runs from which Isthmus computes the row's number."""
        return (*self.plus, *self.minus, *self.over)


def counted(ways: Iterable[str]) -> str:
    """Number of rows of each kind: ``3 fitted, 2 predicted``; if all are alike, only the kind."""
    every = list(ways)
    counts = {way: every.count(way) for way in (*KINDS, *every) if way in every}
    if len(counts) == 1:
        return every[0]
    return ", ".join(f"{count} {way}" for way, count in counts.items())


@dataclass(frozen=True)
class Figure:
    """One figure or table of a source."""

    name: str
    """Name of source and figure: ``SOURCE/FIGURE``."""
    title: str
    rows: tuple[Row, ...]
    because: str = ""
    """Why Isthmus does not reproduce the figure; empty if it does."""
    needs: str = ""
    """What a machine must have to reproduce the figure's rows, in words."""
    note: str = ""

    @property
    def state(self) -> str:
        """How the figure's rows are reproduced, or why they are not, in a few words."""
        if self.because:
            return "not modelled"
        return counted(row.how for row in self.rows)


@dataclass(frozen=True)
class Aim:
    """Largest accepted residuals of the rows of whole series."""

    name: str
    series: tuple[str, ...]
    worst: float
    rms: float | None = None


@dataclass(frozen=True)
class Fit:
    """A calibration: the parameters of a board that it fits, with start values of the search."""

    calibration: str
    board: str
    start: Mapping[str, float]
    series: tuple[str, ...] = ()
    """Names of curves for the check, which leaves out each size in turn; empty: too few points."""


@dataclass(frozen=True)
class Source:
    """The contents of one source's folder."""

    name: str
    title: str
    by: str
    figures: tuple[Figure, ...]
    rows: tuple[Row, ...]
    """All rows of the source, each once, in the order of the file."""
    aims: tuple[Aim, ...]
    fits: tuple[Fit, ...]
    folder: Path
    cite: Mapping[str, Any]
    """Type and fields of the source's BibTeX entry: see ``[cite]``."""


def read(name: str, folder: Path) -> Source:
    """Reads the source in a folder. Raises UsageError that names a file with wrong contents."""
    path = folder / "source.toml"
    try:
        data = msgspec.toml.decode(path.read_bytes(), type=dict[str, Any])
        return _source(name, folder, data)
    except (
        OSError, msgspec.DecodeError, UsageError, TypeError, ValueError,
        ArithmeticError, AttributeError, IndexError, RecursionError,
    ) as error:  # fmt: skip
        raise UsageError(f"{path}: {error}") from error
    except KeyError as error:
        raise UsageError(f"{path}: {error} is missing, or no column") from error


def _source(name: str, folder: Path, data: Mapping[str, Any]) -> Source:
    board = _board(folder, data["board"])
    runs = {
        key: Measurement(key, **{**run, "device": run["device"].replace("{board}", board)})
        for key, run in data.get("run", {}).items()
    }
    aims = tuple(
        Aim(aim_entry["name"], tuple(aim_entry["series"]), aim_entry["worst"], aim_entry.get("rms"))
        for aim_entry in data.get("aim", ())
    )
    aimed = {series: aim.worst for aim in aims for series in aim.series}
    rows = tuple(
        row
        for block in data.get("row", ())
        for row in _rows(name, folder, board, runs, aimed, block)
    )
    listed = {entry["name"] for entry in data["figure"]}
    unknown = {figure for row in rows for figure in row.figures} - listed
    if unknown:
        raise UsageError(f"rows name figures that are not listed: {', '.join(sorted(unknown))}")
    figures = tuple(_figure(name, entry, rows) for entry in data["figure"])
    fits = tuple(
        Fit(
            entry["name"],
            _board(folder, entry.get("board", board)),
            entry["start"],
            tuple(entry.get("series", ())),
        )
        for entry in data.get("fit", ())
    )
    unknown = {row.fit for row in rows} - {fit.calibration for fit in fits} - {""}
    if unknown:
        raise UsageError(f"rows name fits that are not listed: {', '.join(sorted(unknown))}")
    return Source(
        name, data["title"], data["by"], figures, rows, aims, fits, folder, data.get("cite", {})
    )


def _board(folder: Path, name: str) -> str:
    """A board's name, or the path of its file in the folder."""
    return str(folder / name) if name.endswith(".toml") else name


def _figure(source: str, block: Mapping[str, Any], rows: Sequence[Row]) -> Figure:
    own = block["name"]
    own_rows = tuple(row for row in rows if own in row.figures)
    figure = Figure(**{**block, "rows": own_rows, "name": f"{source}/{own}"})
    if not (own_rows or figure.because):
        raise UsageError(f"figure '{own}' has neither rows nor a reason")
    return figure


def _rows(
    source: str,
    folder: Path,
    board: str,
    runs: Mapping[str, Measurement],
    aimed: Mapping[str, float],
    block: Mapping[str, Any],
) -> Iterator[Row]:
    for line in _lines(folder, block):
        filled = _filled(block, line)
        divide = filled.get("divide", 1)
        ends = [
            float(line[end] or "nan") / divide if isinstance(end, str) else end / divide
            for end in (filled["value"] if isinstance(filled["value"], list) else [filled["value"]])
        ]
        if any(map(math.isnan, ends)):  # the source lacks this number: no row
            continue
        if 0 in ends:
            raise UsageError(f"'{filled['item']}': a published 0 allows no comparison")
        sizes = parse_sizes(filled["bytes"]) if "bytes" in filled else []
        sized = {**line, "size": format_size(sizes[0])} if len(sizes) == 1 else line
        item = filled["item"].format_map(sized).replace("_", " ")
        series, unit, where = filled.get("series", ""), filled["unit"], filled.get("where", {})
        single = [{"operation": filled["operation"]}] if "operation" in filled else []
        yield Row(
            source=source,
            figures=tuple(filled.get("figures", "").split()),
            item=item,
            published=ends[0],
            unit=unit,
            board=_board(folder, filled.get("board", board)),
            api=filled.get("api", ""),
            published_to=ends[1] if len(ends) > 1 else None,
            series=series,
            run=runs[filled["run"]] if "run" in filled else None,
            plus=tuple(_terms([*single, *filled.get("plus", ())], sizes, where)),
            minus=tuple(_terms(filled.get("minus", ()), sizes, where)),
            over=tuple(_terms(filled.get("over", ()), sizes, where)),
            times=float(filled.get("times", 1)),
            combine=_known(filled.get("combine", "sum"), COMBINED),
            rate=filled.get("quantity", "rate" if unit.endswith("B/s") else "time") == "rate",
            model=filled.get("model", ""),
            inputs=filled.get("inputs", {}),
            fit=filled.get("fits", {}).get(item, filled.get("fit", "")),
            kind=_known(filled.get("kinds", {}).get(item, filled.get("kind", "predicted")), KINDS),
            note=filled.get("notes", {}).get(item, filled.get("note", "")),
            events=filled.get("events", False),
            headline=filled.get("headline", {}).get(item, ""),
            aim=filled.get("aim", aimed.get(series)),
        )


def _lines(folder: Path, block: Mapping[str, Any]) -> Iterator[Mapping[str, str]]:
    """Yields the selected lines of a row block's CSV file; one empty line if it names no file."""
    if "data" not in block:
        yield {}
        return
    only = block.get("only", {})
    with (folder / f"{block['data']}.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            if all(line[column] in values for column, values in only.items()):
                yield line


def _filled(block: Any, line: Mapping[str, str]) -> Any:
    """A copy of a row block: values of the CSV line replace ``{COLUMN}``, except in ``item``."""
    if isinstance(block, str):
        return block.format_map(line) if "{" in block and "{size}" not in block else block
    if isinstance(block, Mapping):
        return {
            key: value if key == "item" else _filled(value, line) for key, value in block.items()
        }
    return [_filled(item, line) for item in block] if isinstance(block, list) else block


def _terms(
    terms: Sequence[Mapping[str, str]], sizes: Sequence[int], where: Mapping[str, str]
) -> Iterator[Term]:
    for entry in terms:
        axes = {key: value for key, value in entry.items() if key not in {"operation", "bytes"}}
        term_sizes: Sequence[int | None] = (
            parse_sizes(entry["bytes"]) if "bytes" in entry else sizes
        )
        for size in term_sizes or [None]:
            yield Term(entry["operation"], size, {**where, **axes})


def _known(word: str, words: Collection[str]) -> str:
    if word not in words:
        raise UsageError(f"'{word}' is none of: {', '.join(words)}")
    return word
