"""Text of rocm_bandwidth_test: matrices of copies between processors and GPUs, in GB/s of 10^9.

``-v`` prints a matrix of PASS and FAIL instead: the pairs of a FAIL are an outcome.
"""

from __future__ import annotations

import re
from typing import Literal

from isthmus.errors import UsageError
from isthmus.importers.base import (
    Importer,
    Kind,
    Log,
    Outcome,
    Problems,
    Row,
    device,
    number,
    size,
    unit,
)

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
"""Pairs that a message lists."""
_COLUMNS = re.compile(r"\s*D/D((?:\s+\d+)+)\s*$")
_ROW = re.compile(r"\s*(\d+)((?:\s+(?:N/A|[\d.]+))+)\s*$")
_ENDS = re.compile(r"=* ?(Src|Dst) Device Id: (\d+) (?:Src|Dst) Device Type: (Cpu|Gpu)")
_SIZES = re.compile(
    r"\s*Data Size\s+Avg Time\((\w+)\)\s+Avg BW\(([\w/]+)\)\s+Min Time\(\w+\)\s+Peak BW\(([\w/]+)\)"
)
_OF_SIZE = re.compile(r"\s*(\d+) (KB|MB|GB)((?:\s+[\d.]+){4})\s*$")
_PROCESSOR = re.compile(
    r"EPYC|Xeon|Ryzen|Core\(TM\)|Celeron|Processor|CPU|Threadripper|Opteron", re.IGNORECASE
)


def read(text: str) -> Log:  # noqa: PLR0912 - a branch for each kind of line
    """Each cell of the matrices that is a copy between two devices."""
    names, processors = dict[str, str](), set[str]()
    rows, problems, version = list[Row](), Problems(), ""
    title, printed, columns = "", "", list[str]()
    ends = dict[str, tuple[str, str]]()
    failed, validated = dict[int, list[str]](), 0  # by the line of the matrix's title
    for line, row in enumerate(text.splitlines(), 1):
        if found := _VERSION.match(row):
            version = found[1]
        elif found := _DEVICE.match(row):
            names[found[1]] = found[2].strip()
            if not found[3] and _PROCESSOR.search(found[2]) and not re.search(r"GPU-", row):
                processors.add(found[1])
        elif found := _TITLE.match(row):
            title, columns, printed, validated = found[1].lower(), [], "", 0
            with problems.of(line):
                unit(found[2], line)
                printed = found[2]
        elif found := _ENDS.match(row):
            ends[found[1]] = found[2], found[3]
            printed = ""
        elif found := _SIZES.match(row):
            with problems.of(line):
                printed, title = unit(found[2], line) and found[2], ""
        elif printed and not title and len(ends) == 2 and (found := _OF_SIZE.match(row)):
            with problems.of(line):
                rows.append(_of_size(line, found, ends, printed))
        elif _OTHER.match(row):
            title, validated = "", 0
        elif _VALIDATION.match(row):
            title, columns, validated = "", [], line
        elif validated and (found := _COLUMNS.match(row)):
            columns = found[1].split()
        elif validated and columns and (found := _VALIDATED.match(row)):
            with problems.of(line):
                failed.setdefault(validated, []).extend(_failed_pairs(line, found, columns))
        elif title and printed and (found := _COLUMNS.match(row)):
            columns = found[1].split()
        elif title and columns and (found := _ROW.match(row)):
            cells = found[2].split()
            if len(cells) > len(columns):
                problems.add(line, f"{len(cells)} values below {len(columns)} columns")
                continue
            for column, cell in zip(columns, cells, strict=False):
                if cell != "N/A":
                    with problems.of(line):
                        rows.append(_row(line, found[1], column, cell, title, printed, names,
                                         processors))  # fmt: skip
    addresses = dict.fromkeys(row.device for row in rows)
    return Log(
        tool="rocm_bandwidth_test",
        version=version,
        rows=rows,
        devices=[device(one, names.get(one.partition(":")[2], "AMD GPU"), kind="gpu")
                 for one in addresses],
        names=[name for key, name in names.items() if key not in processors],
        outcomes=[_outcome(at, pairs) for at, pairs in failed.items() if pairs],
        host=next((names[key] for key in names if key in processors), ""),
        problems=problems,
        assumed=["the best of the sizes that the program tries"],
    )  # fmt: skip


def _failed_pairs(line: int, found: re.Match[str], columns: list[str]) -> list[str]:
    """Pairs of a row of the matrix whose data came out wrong: ``0 to 1``."""
    cells = found[2].upper().split()
    if len(cells) > len(columns) or {*cells} - {"PASS", "FAIL", "N/A"}:
        raise UsageError(f"line {line}: the row of the validation is not understood")
    pairs = zip(columns, cells, strict=False)
    return [f"{found[1]} to {column}" for column, cell in pairs if cell == "FAIL"]


def _outcome(line: int, pairs: list[str]) -> Outcome:
    more = f" and {len(pairs) - _MOST_PAIRS} more" if len(pairs) > _MOST_PAIRS else ""
    message = f"wrong data from device {', '.join(pairs[:_MOST_PAIRS])}{more}"
    return Outcome(line, "data path validation", "failed", message)


def _row(
    line: int, source: str, target: str, cell: str, title: str, printed: str,
    names: dict[str, str], processors: set[str],
) -> Row:  # fmt: skip
    both = not title.startswith("uni")
    if not names:
        processors = {"0"}
    kind: Kind = "peer"
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
    return Row(
        line=line, name=f"{title} copy", kind=kind, study="transfer" if operation else "",
        operation=operation, device=f"rocm:{gpu}",
        part=f"GPU {gpu}{node}" if kind == "copy" else f"GPU {source} and {target}",
        values=(number(cell, line),), unit=unit(printed, line), statistic="best",
        memory="pinned" if kind == "copy" else "device", direction=way, initiator="dma",
        axes={"depth": 1, "bank": 0} | ({"host": source if way == "h2d" else target}
                                        if len(processors) > 1 and way in {"h2d", "d2h"} else {}),
    )  # fmt: skip


def _of_size(
    line: int, found: re.Match[str], ends: dict[str, tuple[str, str]], printed: str
) -> Row:
    """A row of the result for two devices: size, mean time and rate, least time and best rate."""
    (source, from_), (target, to) = ends["Src"], ends["Dst"]
    kind: Kind = "copy" if from_ != to else "peer" if source != target else "on_card"
    way: Literal["h2d", "d2h", ""] = ""
    if kind == "copy":
        way = "h2d" if from_ == "Cpu" else "d2h"
    gpu = target if way == "h2d" else source
    operation = {"h2d": "write", "d2h": "read"}.get(way, "")
    return Row(
        line=line, name="copy", kind=kind, study="transfer" if operation else "",
        operation=operation, device=f"rocm:{gpu}",
        part=f"GPU {gpu}" if kind == "copy" else f"GPU {source} and {target}",
        size=size(found[1], line, found[2]), values=(number(found[3].split()[1], line),),
        unit=unit(printed, line), printed_unit=printed, statistic="mean",
        memory="pinned" if kind == "copy" else "device", direction=way, initiator="dma",
        axes={"depth": 1, "bank": 0},
    )  # fmt: skip


IMPORTER = Importer(
    "rocm_bandwidth", "rocm_bandwidth_test", lambda text: "RocmBandwidthTest" in text
    or (_TITLE.search(text) is not None and "D/D" in text)
    or (_ENDS.search(text) is not None and re.search(r"^\s*Data Size ", text, re.M) is not None),
    read,
)  # fmt: skip
