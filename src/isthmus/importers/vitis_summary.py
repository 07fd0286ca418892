"""``summary.csv`` of a program profiled by Vitis and XRT: its transfers between host and card.

Units are decimal. A table of means has a row for each direction; XRT 2.13 leaves it out where it
does not count on the card. Then there are its tables of the longest transfers, one by one: all of
them where they are fewer than ten.
"""

from __future__ import annotations

import csv
import math
import re
from typing import Literal

from isthmus.errors import UsageError
from isthmus.importers.base import Figure, Importer, Output, count, device, number, slug

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
_CARDS = re.compile(r"^Target devices: ?([^\s,;]+)", re.MULTILINE)
_VERSION = re.compile(r"^Tool version: ?[,\t]?(.+?)[,\t]*$", re.MULTILINE)
_EMULATED = re.compile(r"^Flow mode: .*Emulation", re.MULTILINE)


def _rows(text: str, title: str, columns: tuple[str, ...]) -> list[tuple[int, list[str]]]:
    """Number and cells of each line of a table, these columns only; empty without the table."""
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
    for i, cells in table[1:]:
        if len(cells) != len(header):
            raise UsageError(f"line {i}: {len(cells)} cells below {len(header)} columns")
    at = [header.index(name) for name in columns]
    return [(i, [cells[j] for j in at]) for i, cells in table[1:]]


def read(text: str) -> Output:
    """Reads and writes of buffers."""
    card, version = _CARDS.search(text), _VERSION.search(text)
    kernels = [] if card else _rows(text, "Top Kernel Execution", ("Device",))
    name = card[1] if card else kernels[0][1][0] if kernels else "unknown card"
    address = f"xrt:{slug(name)}"
    figures = [_mean(line, cells, address) for line, cells in _rows(text, _MEANS, _COLUMNS)]
    left_out: list[str] = []
    for kind, title in _LONGEST.items() if not figures else ():
        rows = _rows(text, title, _LONGEST_COLUMNS)
        if len(rows) < _MOST_LISTED:
            figures += _each(kind, rows, address)
        else:
            left_out.append(f"{title} (only the longest are listed)")
    return Output(
        tool="Vitis profile summary",
        version=version[1].strip() if version else "",
        figures=figures,
        devices=[
            device(address, name, api="opencl", kind="accelerator", real=not _EMULATED.search(text))
        ],
        left_out=left_out,
        assumed=["one size for all transfers of a row: their mean"]
        if any(figure.statistic == "mean" for figure in figures)
        else [],
    )


def _mean(line: int, cells: list[str], address: str) -> Figure:
    kind, transfers, kilobytes, milliseconds = cells
    times = [number(milliseconds, line)]
    return _figure(line, kind, _size(kilobytes, line), times, address, count(transfers, line))


def _size(kilobytes: str, line: int) -> int:
    """Bytes of a size with six digits; a power of two where the digits are one's."""
    value = number(kilobytes, line)
    power = 1 << max(round(math.log2(1000 * value)), 0)
    return power if f"{power / 1000:.6g}" == f"{value:.6g}" else count(1000 * value, line)


def _each(kind: str, rows: list[tuple[int, list[str]]], address: str) -> list[Figure]:
    """A figure for each size, of all its transfers; an emulation does not know their times."""
    by_size: dict[int, tuple[int, list[float]]] = {}
    for line, (kilobytes, milliseconds) in rows:
        if milliseconds != "N/A":
            size = _size(kilobytes, line)
            by_size.setdefault(size, (line, []))[1].append(number(milliseconds, line))
    return [
        _figure(line, kind, size, times, address) for size, (line, times) in by_size.items()
    ]  # fmt: skip


def _figure(
    line: int, kind: str, size: int, times: list[float], address: str,
    transfers: int = 0,
) -> Figure:  # fmt: skip
    """``transfers``: number that a time is the mean of; 0: each time is one's own."""
    if kind not in _WAYS:
        raise UsageError(f"line {line}: transfer type '{kind[:20]}'")
    operation, direction = _WAYS[kind]
    return Figure(
        line=line,
        study="transfer",
        operation=operation,
        device=address,
        bytes=size,
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
    return any(title in text for title in (_MEANS, *_LONGEST.values()))


IMPORTER = Importer("vitis_summary", "Vitis summary.csv", _matches, read)
