"""``summary.csv`` of a program profiled by Vitis and XRT: its transfers between host and card.

Units are decimal. Transfers of different sizes are one row there: the size here is their mean.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Literal

from isthmus.errors import UsageError
from isthmus.importers.base import Figure, Importer, Output, count, device, number, slug

_TABLE = "Data Transfer: Host to Global Memory"
_COLUMNS = ("Transfer Type", "Number Of Buffer Transfers", "Average Buffer Size (KB)",
            "Average Time (ms)")  # fmt: skip
_WAYS: dict[str, tuple[str, Literal["h2d", "d2h"]]] = {
    "READ": ("read", "d2h"), "WRITE": ("write", "h2d"),
}  # fmt: skip
_CARD = re.compile(r"\bxilinx_\w+-\d+")
_VERSION = re.compile(r"^Tool version: ?[,\t]?(.+?)[,\t]*$", re.MULTILINE)


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each line of the table, its header first."""
    lines = text.splitlines()
    begin = next((i for i, line in enumerate(lines) if line.strip(", \t") == _TABLE), None)
    if begin is None:
        raise UsageError(f"no table '{_TABLE}'")
    tab = "\t" in lines[begin + 1] if begin + 1 < len(lines) else False
    for i, line in enumerate(lines[begin + 1 :], begin + 2):
        if not line.strip(", \t"):
            return
        cells = next(csv.reader([line.rstrip(", \t")], delimiter="\t" if tab else ","))
        yield i, [cell.strip() for cell in cells]


def read(text: str) -> Output:
    """Reads and writes of buffers, a figure for each row of the table."""
    (_, header), *rows = list(_rows(text)) or [(0, [])]
    if not set(_COLUMNS) <= set(header):
        raise UsageError(f"table '{_TABLE}' has other columns than {', '.join(_COLUMNS)}")
    for line, row in rows:
        if len(row) != len(header):
            raise UsageError(f"line {line}: {len(row)} cells below {len(header)} columns")
    card = _CARD.search(text)
    name = card[0] if card else "unknown card"
    version = _VERSION.search(text)
    figures = [
        _figure(line, dict(zip(header, row, strict=True)), f"xrt:{slug(name)}")
        for line, row in rows
    ]
    return Output(
        tool="Vitis profile summary",
        version=version[1].strip() if version else "",
        figures=figures,
        devices=[device(f"xrt:{slug(name)}", name, api="opencl", kind="accelerator")],
        left_out=[
            f"{table} (of the profiled program, no transfer)"
            for table in ("OpenCL API Calls", "Kernel Execution",
                          "Data Transfer: Kernels to Global Memory")
            if re.search(rf"^{table}[,\t]*$", text, re.MULTILINE)
        ],
        assumed=["one size for all transfers of a row: their mean"],
    )  # fmt: skip


def _figure(line: int, row: dict[str, str], address: str) -> Figure:
    kind, transfers, kilobytes, milliseconds = (row.get(name, "") for name in _COLUMNS)
    if kind not in _WAYS:
        raise UsageError(f"line {line}: transfer type '{kind[:20]}'")
    operation, direction = _WAYS[kind]
    return Figure(
        line=line,
        study="transfer",
        operation=operation,
        device=address,
        bytes=count(1000 * number(kilobytes, line), line),
        values=(number(milliseconds, line),),
        unit="ms",
        statistic="mean",
        batch=count(transfers, line),
        api="opencl",
        memory="",
        direction=direction,
        initiator="dma",
        axes={"depth": 1, "bank": 0},
    )


IMPORTER = Importer("vitis_summary", "Vitis summary.csv", lambda text: _TABLE in text, read)
