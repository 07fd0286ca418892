"""Reads the output of ``dd``: copied bytes and seconds.

The log names the copied files only if the text has the command line, too. The rate is bytes over
seconds, because ``dd`` prints the rate with only two or three digits.
"""

from __future__ import annotations

import re
from typing import Literal

from isthmus.errors import UsageError
from isthmus.importers.base import Importer, Kind, Log, Outcome, Problems, Row, device, number, size

_COPIED = re.compile(
    r"\s*(\d+) bytes(?: \(.*?\))?(?: copied| transferred)?,? (?:in )?"
    r"([\d.,]+(?:e-\d+)?) s(?:ec\w*)?\b"
)
_RECORDS = re.compile(r"\s*(\d+)\+(\d+) records in")
_COMMAND = re.compile(r"(?:^|[\s;&|])dd\s+((?:\w+=\S+\s*)+)")
_OPERAND = re.compile(r"(\w+)=(\S+)")
_ERROR = re.compile(r"\s*dd: (.+)")
_SUFFIX = re.compile(r"(\d+)([kKMG]?)(i?B?)$")
_POWERS = {"": 1, "k": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_H2C, _C2H = re.compile(r"/dev/.*h2c"), re.compile(r"/dev/.*c2h")
_CARD = re.compile(r"/dev/xdma(\d+)_(?:h2c|c2h)_(\d+)")


def _bytes(text: str) -> int | None:
    match = _SUFFIX.match(text)
    if not match:
        return None
    power = _POWERS[match[2]]
    if match[3] == "B" and match[2]:  # kB, MB: powers of 1000
        power = {1 << 10: 1000, 1 << 20: 10**6, 1 << 30: 10**9}[power]
    return int(match[1]) * power


def read(text: str) -> Log:
    """Reads a row for each copy that ``dd`` reported."""
    rows, problems, outcomes = list[Row](), Problems(), list[Outcome]()
    operands: dict[str, str] = {}
    blocks = 0
    for line, row in enumerate(text.splitlines(), 1):
        if command := _COMMAND.search(row):
            operands = dict(_OPERAND.findall(command[1]))
        elif records := _RECORDS.match(row):
            blocks = int(records[1]) + int(records[2])
        elif error := _ERROR.match(row):
            outcomes.append(Outcome(line, "dd", "failed", error[1][:160]))
        elif copied := _COPIED.match(row):
            with problems.of(line):
                rows.append(_row(line, copied, operands, blocks))
            operands, blocks = {}, 0
    return Log(
        tool="dd",
        rows=rows,
        devices=[device(name, "files of dd") for name in dict.fromkeys(row.device for row in rows)],
        outcomes=outcomes,
        problems=problems,
        engines=("xdma", "xdma-tools") if "/dev/xdma" in text else (),
    )


def _row(line: int, copied: re.Match[str], operands: dict[str, str], blocks: int) -> Row:
    total = size(copied[1], line)
    seconds = number(copied[2].replace(",", "."), line)
    source, target = operands.get("if", ""), operands.get("of", "")
    way: Literal["h2d", "d2h", ""] = (
        "h2d" if _H2C.match(target) else "d2h" if _C2H.match(source) else ""
    )  # fmt: skip
    kind: Kind = "copy" if way else "other"
    each = _bytes(operands.get("bs", "")) or (total // blocks if blocks else None)
    if each is not None and not 0 < each <= total:
        each = total
    card = _CARD.match(target if way == "h2d" else source)
    if total / seconds > 1e15:
        raise UsageError(f"{seconds} s is no time of {total} bytes")
    return Row(
        line=line, name=f"{source or '?'} to {target or '?'}" if operands else "dd", kind=kind,
        study="transfer" if way else "", operation={"h2d": "write", "d2h": "read"}.get(way, ""),
        device=f"dd:{card[1] if card else 0}", part=f"channel {card[2]}" if card else "",
        size=each, values=(total / seconds / 1e6,), unit="MB/s",
        statistic="mean", batch=max(1, total // each) if each else 1,
        memory="pageable" if way else "", direction=way, initiator="dma",
        axes={"depth": 1, "bank": 0},
    )  # fmt: skip


IMPORTER = Importer(
    "dd", "what dd prints, with its command", lambda text: any(
        _COPIED.match(row) for row in text.splitlines()
    ), read,
)  # fmt: skip
