"""Reads ``summary.csv``, the profile of a program by Vitis and XRT: transfers of host and card.

Units are decimal. The file of an OpenCL program has a table of means for each direction. XRT 2.13
leaves the table out unless the card has counters. Further tables list the ten longest transfers, or
all if there are fewer. The file of a program with native XRT has sections (``TITLE:``,
``SECTION:``, ``COLUMN:``, ``ENTRY:``) with sizes, and rates only if it ran on hardware.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from isthmus.errors import UsageError
from isthmus.importers.base import Importer, Log, Problems, Row, count, device, number, slug

_MEANS = "Data Transfer: Host to Global Memory"
_COLUMNS = ("Transfer Type", "Number Of Buffer Transfers", "Average Buffer Size (KB)",
            "Average Time (ms)")  # fmt: skip
_LONGEST = {
    "WRITE": "Top Memory Writes: Host to Global Memory",
    "READ": "Top Memory Reads: Host to Global Memory",
}
_LONGEST_COLUMNS = ("Buffer Size (KB)", "Duration (ms)")
_MOST_LISTED = 10
_WAYS: dict[str, tuple[str, Literal["h2d", "d2h"]]] = {
    "READ": ("read", "d2h"), "WRITE": ("write", "h2d"),
}  # fmt: skip
_NATIVE = {
    "Host Reads from Global Memory": "READ", "Host Writes to Global Memory": "WRITE",
}  # fmt: skip
_CARDS = re.compile(r"^Target devices: ?[,\t]?([^\s,;]+)", re.MULTILINE)
_VERSION = re.compile(r"^Tool version: ?[,\t]?(.+?)[,\t]*$", re.MULTILINE)
_EMULATED = re.compile(r"^Flow mode: ?[,\t]?.*Emulation", re.MULTILINE)


def _rows(text: str, title: str, columns: tuple[str, ...]) -> list[tuple[int, list[str]]]:
    """Line number and cells of each line of a table; empty if the file lacks the table.

    ``columns``: names of the columns to return, in this order.
    """
    lines = text.splitlines()
    begin = next((i for i, line in enumerate(lines) if line.strip(", \t") == title), None)
    if begin is None:
        return []
    tab = begin + 1 < len(lines) and "\t" in lines[begin + 1]
    table = []
    for i, line in enumerate(lines[begin + 1 :], begin + 2):
        cells = next(csv.reader([line.rstrip(", \t")], delimiter="\t" if tab else ","), [])
        if not cells:
            break
        table.append((i, [cell.strip() for cell in cells]))
    header = table[0][1] if table else []
    if not set(columns) <= set(header):
        raise UsageError(f"table '{title}' has other columns than {', '.join(columns)}")
    at = [header.index(name) for name in columns]
    return [
        (i, [cells[j] if len(header) >= len(cells) > j else "" for j in at])  # else columns shift
        for i, cells in table[1:]
        if not set(cells) <= {""}
    ]


def read(text: str) -> Log:
    """Reads the transfers of buffers from tables and sections."""
    problems = Problems()
    card, version = _CARDS.search(text), _VERSION.search(text)
    kernels = [] if card else _rows(text, "Top Kernel Execution", ("Device",))
    name = card[1] if card else kernels[0][1][0] if kernels else "unknown card"
    address = f"xrt:{slug(name)}"
    figures, left_out = list[Row](), list[str]()
    for line, cells in _rows(text, _MEANS, _COLUMNS):
        with problems.of(line):
            figures.append(_mean(line, cells, address))
    for kind, title in _LONGEST.items() if not figures else ():
        rows = _rows(text, title, _LONGEST_COLUMNS)
        if len(rows) < _MOST_LISTED:
            figures += _each(kind, rows, address, problems)
        else:
            left_out.append(f"{title} (only the longest are listed)")
    singles = _singles(text, address, problems) if figures else []
    means = {(figure.size, figure.direction) for figure in figures}
    figures += [row for row in singles if (row.size, row.direction) not in means]
    details = [row for row in singles if (row.size, row.direction) in means]
    if not figures:
        figures, left_out = _of_sections(text, address, problems)
    emulated = _EMULATED.search(text) is not None
    return Log(
        tool="Vitis profile summary",
        version=version[1].strip() if version else "",
        rows=figures,
        devices=[device(address, name, api="opencl", kind="accelerator", real=not emulated)],
        names=[name] if card or kernels else [],
        problems=problems,
        engines=("vitis",),
        emulated=emulated,
        left_out=left_out,
        details=details,
        assumed=["one size for all transfers of a row: their mean"]
        if any(figure.statistic == "mean" for figure in figures)
        else [],
    )


def _singles(text: str, address: str, problems: Problems) -> list[Row]:
    """Single transfers that the file lists beside the means, for display: no points of a run."""
    singles = []
    for kind, title in _LONGEST.items():
        for row in _each(kind, _rows(text, title, _LONGEST_COLUMNS), address, problems):
            singles.append(replace(row, study="", operation=""))
    return singles


def _of_sections(text: str, address: str, problems: Problems) -> tuple[list[Row], list[str]]:
    """Rows of transfers in sections of native XRT, and names of sections without any time."""
    rows, left_out, title, columns = list[Row](), list[str](), "", list[str]()
    for line, row in enumerate(text.splitlines(), 1):
        word, _, rest = row.partition(":")
        if word == "TITLE":
            title, columns = rest.strip(), []
        elif word == "COLUMN":
            columns.append(re.sub(r"<[^>]*>", " ", (next(csv.reader([rest]), []) or [""])[0]))
        elif word == "ENTRY" and title in _NATIVE:
            names = [" ".join(row_.split()) for row_ in columns]
            cells = dict(zip(names, [cell.strip() for cell in rest.split(",")], strict=False))
            with problems.of(line):
                if row_ := _of_entry(cells, _NATIVE[title], address, line):
                    rows.append(row_)
                else:
                    left_out.append(f"{title} ({_count(cells)} of {_sizes(cells)}, no time)")
    return rows, left_out


def _value(cells: Mapping[str, str], *words: str) -> str:
    """The cell of the column whose name has all these words; empty without such a column."""
    return next((cell for name, cell in cells.items() if all(w in name for w in words)), "")


def _count(cells: Mapping[str, str]) -> str:
    return _value(cells, "Number")


def _sizes(cells: Mapping[str, str]) -> str:
    return f"{_value(cells, 'Average', 'Size')} KB on average"


def _of_entry(cells: Mapping[str, str], kind: str, address: str, line: int) -> Row | None:
    """Makes a row from the mean of an ENTRY line; None if it has neither a rate nor a time."""
    transfers = count(_count(cells), line)
    bytes_each = _size(_value(cells, "Average", "Size"), line)
    milliseconds = _value(cells, "Average", "Time")
    if milliseconds not in {"", "N/A"}:
        return _figure(line, kind, bytes_each, [number(milliseconds, line)], address, transfers)
    rate = _value(cells, "Rate")
    if rate in {"", "N/A"}:
        return None
    time = bytes_each / (number(rate, line) * 1e6) * 1e3
    return _figure(line, kind, bytes_each, [time], address, transfers)


def _mean(line: int, cells: list[str], address: str) -> Row:
    kind, transfers, kilobytes, milliseconds = cells
    times = [number(milliseconds, line)]
    return _figure(line, kind, _size(kilobytes, line), times, address, count(transfers, line))


def _size(kilobytes: str, line: int) -> int:
    """Bytes of a size that the file prints in kilobytes with six digits.

    Returns the nearest power of two if its first six digits are those of the printed size.
    """
    value = number(kilobytes, line)
    power = 1 << max(round(math.log2(1000 * value)), 0)
    return power if f"{power / 1000:.6g}" == f"{value:.6g}" else count(1000 * value, line)


def _each(
    kind: str, rows: Sequence[tuple[int, list[str]]], address: str, problems: Problems
) -> list[Row]:
    """Makes a row for each size, with the times of its transfers; an emulation prints no times."""
    by_size: dict[int, tuple[int, list[float]]] = {}
    for line, (kilobytes, milliseconds) in rows:
        if milliseconds != "N/A":
            with problems.of(line):
                size = _size(kilobytes, line)
                by_size.setdefault(size, (line, []))[1].append(number(milliseconds, line))
    return [
        _figure(line, kind, size, times, address)
        for size, (line, times) in by_size.items()
        if times
    ]


def _figure(
    line: int, kind: str, size: int, times: list[float], address: str,
    transfers: int = 0,
) -> Row:  # fmt: skip
    """Makes a row; ``transfers``: number of transfers whose mean ``times`` has, 0 for each time."""
    if kind not in _WAYS:
        raise UsageError(f"line {line}: transfer type '{kind[:20]}'")
    operation, direction = _WAYS[kind]
    return Row(
        line=line,
        name=kind,
        kind="copy",
        study="transfer",
        operation=operation,
        device=address,
        size=size,
        values=times,
        unit="ms",
        statistic="mean" if transfers else "each",
        batch=transfers or 1,
        api="opencl",
        memory="",
        direction=direction,
        initiator="dma",
        axes={"depth": 1, "bank": 0},
    )


def _matches(text: str) -> bool:
    titles = (_MEANS, *_LONGEST.values(), *(f"TITLE:{title}" for title in _NATIVE))
    return any(title in text for title in titles) or text.startswith("Profile Summary")


IMPORTER = Importer("vitis_summary", "Vitis summary.csv", _matches, read)
