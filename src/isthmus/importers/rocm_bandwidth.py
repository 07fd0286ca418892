"""Reads the text of rocm_bandwidth_test: copies between processors and GPUs, in GB/s of 10^9.

The program prints matrices of rates. With ``-v`` it prints a matrix of PASS and FAIL instead; the
log then has an outcome that names the pairs with FAIL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from isthmus.errors import UsageError
from isthmus.importers import base
from isthmus.importers.device_names import kind as kind_of

_VERSION = re.compile(r"\s*RocmBandwidthTest Version: (\S+)")
_DEVICE = re.compile(
    r"\s*Device: (\d+),\s+(.+?)(?:,\s+(?:GPU-\w+|\S+-[\da-f]+))?(?:,\s+([\da-f:.]+))?\s*$"
)
_TITLE = re.compile(
    r"\s*(Unidirectional|Bi?directional)(?: copy)? peak bandwidth (\S+)", re.IGNORECASE
)
_OTHER = re.compile(r"\s*(?:Inter-)?Device (?:Access|Numa Distance)", re.IGNORECASE)
_VALIDATION = re.compile(r"\s*Data Path Validation\s*$", re.IGNORECASE)
_VALIDATED = re.compile(r"\s*(\d+)((?:\s+[A-Za-z/]+)+)\s*$")
_MOST_PAIRS = 8
"""Most pairs with wrong data that a message lists."""
_COLUMNS = re.compile(r"\s*D/D((?:\s+\d+)+)\s*$")
_ROW = re.compile(r"\s*(\d+)((?:\s+(?:N/A|-?[\d.]+(?:e[+-]?\d+)?|-?nan|-?inf))+)\s*$")
_ENDS = re.compile(r"=* ?(Src|Dst) Device Id: (\d+) (?:Src|Dst) Device Type: (Cpu|Gpu)")
_SIZES = re.compile(
    r"\s*Data Size\s+Avg Time\((\w+)\)\s+Avg BW\(([\w/]+)\)\s+Min Time\(\w+\)\s+Peak BW\(([\w/]+)\)"
)
_OF_SIZE = re.compile(r"\s*(\d+) (KB|MB|GB)((?:\s+(?:-?[\d.]+(?:e[+-]?\d+)?|-?nan|-?inf)){4})\s*$")


@dataclass
class _Parts:
    """Collects results while the text is read, and remembers the table that is being read."""

    names: dict[str, str] = field(default_factory=dict)
    processors: set[str] = field(default_factory=set)
    rows: list[base.Row] = field(default_factory=list)
    failed: dict[int, list[str]] = field(default_factory=dict)
    """Pairs with wrong data, by line number of the title of their matrix."""
    problems: base.Problems = field(default_factory=base.Problems)
    version: str = ""
    title: str = ""
    """Title of the current matrix of rates; empty outside of one."""
    printed: str = ""
    """Unit of the current table, as printed."""
    columns: list[str] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)
    """Devices whose rows of the current matrix are still to come."""
    validated: int = 0
    """Line number of the title of the current matrix of PASS and FAIL; 0 outside of one."""
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Number and type (Cpu, Gpu) of ``Src`` and ``Dst`` of the current table of sizes."""

    def take(self, line: int, row: str) -> None:
        """Reads one line; keeps a line that is not readable as a problem."""
        with self.problems.of(line):
            if not (self._of_head(row) or self._of_title(line, row)):
                self._of_figures(line, row)

    def _of_head(self, row: str) -> bool:
        if match := _VERSION.match(row):
            self.version = match[1]
        elif match := _DEVICE.match(row):
            self.names[match[1]] = match[2].strip()
            if not match[3] and kind_of(match[2]) == "cpu" and not re.search(r"GPU-", row):
                self.processors.add(match[1])
        elif match := _ENDS.match(row):
            self.ends[match[1]] = match[2], match[3]
            self.printed = ""
        else:
            return False
        return True

    def _of_title(self, line: int, row: str) -> bool:
        if match := _TITLE.match(row):
            self.title, self.columns, self.printed, self.validated = match[1].lower(), [], "", 0
            base.unit(match[2], line)
            self.printed = match[2]
        elif match := _SIZES.match(row):
            base.unit(match[2], line)
            self.printed, self.title = match[2], ""
        elif _OTHER.match(row):
            self.title, self.validated = "", 0
        elif _VALIDATION.match(row):
            self.title, self.columns, self.validated = "", [], line
        elif (self.validated or (self.title and self.printed)) and (match := _COLUMNS.match(row)):
            self.columns = self.rest = match[1].split()
        else:
            return False
        return True

    def _of_figures(self, line: int, row: str) -> None:
        of_sizes = self.printed and not self.title and len(self.ends) == len(("Src", "Dst"))
        if of_sizes and (match := _OF_SIZE.match(row)):
            self.rows.append(_of_size(line, match, self.ends, self.printed))
        elif self.validated and self.columns and (match := _VALIDATED.match(row)):
            pairs = _failed_pairs(line, match, self.columns)
            self.failed.setdefault(self.validated, []).extend(pairs)
        elif self.title and self.rest and (match := _ROW.match(row)) and match[1] in self.rest:
            self.rest = self.rest[self.rest.index(match[1]) + 1 :]
            self._of_matrix(line, match[1], match[2].split())

    def _of_matrix(self, line: int, source: str, cells: list[str]) -> None:
        if len(cells) > len(self.columns):
            raise UsageError(f"{len(cells)} values below {len(self.columns)} columns")
        for column, cell in zip(self.columns, cells, strict=False):
            if cell != "N/A":
                with self.problems.of(line):
                    self.rows.append(_row(line, source, column, cell, self))


def read(text: str) -> base.Log:
    """Reads each copy between two devices from the matrices and the tables of sizes."""
    parts = _Parts()
    for line, row in enumerate(text.splitlines(), 1):
        parts.take(line, row)
    names, processors = parts.names, parts.processors
    addresses = dict.fromkeys(row.device for row in parts.rows)
    return base.Log(
        tool="rocm_bandwidth_test",
        version=parts.version,
        rows=parts.rows,
        devices=[base.device(address, names.get(address.partition(":")[2], "AMD GPU"), kind="gpu")
                 for address in addresses],
        names=[name for key, name in names.items() if key not in processors],
        outcomes=[_outcome(at, pairs) for at, pairs in parts.failed.items() if pairs],
        host=next((names[key] for key in names if key in processors), ""),
        problems=parts.problems,
        assumed=["the best of the sizes that the program tries"],
    )  # fmt: skip


def _failed_pairs(line: int, match: re.Match[str], columns: list[str]) -> list[str]:
    """Pairs with FAIL in a row of a matrix, as ``0 to 1``."""
    cells = match[2].upper().split()
    if len(cells) > len(columns) or {*cells} - {"PASS", "FAIL", "N/A"}:
        raise UsageError(f"line {line}: the row of the validation is not understood")
    pairs = zip(columns, cells, strict=False)
    return [f"{match[1]} to {column}" for column, cell in pairs if cell == "FAIL"]


def _outcome(line: int, pairs: list[str]) -> base.Outcome:
    more = f" and {len(pairs) - _MOST_PAIRS} more" if len(pairs) > _MOST_PAIRS else ""
    message = f"wrong data from device {', '.join(pairs[:_MOST_PAIRS])}{more}"
    return base.Outcome(line, "data path validation", "failed", message)


def _row(line: int, source: str, target: str, cell: str, parts: _Parts) -> base.Row:
    both = not parts.title.startswith("uni")
    processors = parts.processors if parts.names else {"0"}
    kind: base.Kind = "peer"
    way: Literal["h2d", "d2h", "both", ""] = ""
    gpu = source if source not in processors else target
    if source == target:
        kind = "on_card"
    elif (source in processors) != (target in processors):
        kind = "copy"
        way = "both" if both else "h2d" if source in processors else "d2h"
    elif source in processors:
        kind = "other"
    operation = {"h2d": "write", "d2h": "read"}.get(way, "") if kind == "copy" else ""
    node = f" from host {source}" if len(processors) > 1 and way == "h2d" else (
        f" to host {target}" if len(processors) > 1 and way == "d2h" else "")  # fmt: skip
    return base.Row(
        line=line, name=f"{parts.title} copy", kind=kind, study="transfer" if operation else "",
        operation=operation, device=f"rocm:{gpu}",
        part=f"GPU {gpu}{node}" if kind == "copy" else f"GPU {source} and {target}",
        ends=() if kind == "copy" else (source, target),
        values=(base.number(cell, line),), unit=base.unit(parts.printed, line), statistic="best",
        memory="pinned" if kind == "copy" else "device", direction=way, initiator="dma",
        axes={"depth": 1, "bank": 0} | ({"host": source if way == "h2d" else target}
                                        if len(processors) > 1 and way in {"h2d", "d2h"} else {}),
    )  # fmt: skip


def _of_size(
    line: int, match: re.Match[str], ends: dict[str, tuple[str, str]], printed: str
) -> base.Row:
    """Makes a log's row from a line for two devices: size, mean time, mean rate, best figures."""
    (source, from_), (target, to) = ends["Src"], ends["Dst"]
    kind: base.Kind = "copy" if from_ != to else "peer" if source != target else "on_card"
    way: Literal["h2d", "d2h", ""] = ""
    if kind == "copy":
        way = "h2d" if from_ == "Cpu" else "d2h"
    gpu = target if way == "h2d" else source
    operation = {"h2d": "write", "d2h": "read"}.get(way, "")
    return base.Row(
        line=line, name="copy", kind=kind, study="transfer" if operation else "",
        operation=operation, device=f"rocm:{gpu}",
        part=f"GPU {gpu}" if kind == "copy" else f"GPU {source} and {target}",
        ends=() if kind == "copy" else (source, target),
        size=base.size(match[1], line, match[2]), values=(base.number(match[3].split()[1], line),),
        unit=base.unit(printed, line), printed_unit=printed, statistic="mean",
        memory="pinned" if kind == "copy" else "device", direction=way, initiator="dma",
        axes={"depth": 1, "bank": 0},
    )  # fmt: skip


IMPORTER = base.Importer(
    "rocm_bandwidth", "rocm_bandwidth_test", lambda text: "RocmBandwidthTest" in text
    or (_TITLE.search(text) is not None and "D/D" in text)
    or (_ENDS.search(text) is not None and re.search(r"^\s*Data Size ", text, re.M) is not None),
    read,
)  # fmt: skip
