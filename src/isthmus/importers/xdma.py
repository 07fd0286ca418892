"""Reads outputs of dma_to_device and dma_from_device (github.com/Xilinx/dma_ip_drivers).

XDMA's tools print ``DEVICE ** Average BW = SIZE, RATE`` without a unit; the rate is in MB/s of 10^6
bytes. QDMA's tools print size and unit.
"""

from __future__ import annotations

import re
from typing import Literal

from isthmus.errors import UsageError
from isthmus.importers import base

_XDMA = re.compile(r"\s*(/dev/\S+) \*\* Average BW = (-?\d+), ?(\S+)")
_XDMA_CUT = re.compile(r"\s*(/dev/\S+) \*\* Average BW")
_QDMA = re.compile(r"\s*size=(\S+) Average BW = (\S+) (\S+)")
_COMMAND = re.compile(r"dma[_-](to|from)[_-]device\b")
_TO, _FROM = re.compile(r"h2c|to[_-]device"), re.compile(r"c2h|from[_-]device")
_CHANNEL = re.compile(r"(?:h2c|c2h)_?(\d+)")
_CARD = re.compile(r"(?:xdma|qdma)([0-9a-f]+)")
_FAILED = re.compile(
    r".*(?:read|write) (?:file|0x[\da-f]+|/dev).*(?:failed|error).*", re.IGNORECASE
)


def read(text: str) -> base.Log:
    """Reads a row for each call of a tool, with its mean rate."""
    rows, problems, outcomes = list[base.Row](), base.Problems(), list[base.Outcome]()
    way = ""
    for line, row in enumerate(text.splitlines(), 1):
        if called := _COMMAND.search(row):
            way = called[1]
        with problems.of(line):
            if match := _XDMA.match(row):
                rows.append(_row(line, match[1], match[2], match[3], "MB/s", "", text))
            elif match := _QDMA.match(row):
                name = re.search(r"/dev/\S+|qdma\S+", row)
                printed = match[3]
                rows.append(_row(line, name[0] if name else f"{way}_device", match[1], match[2],
                                 base.unit(printed, line), printed, text))  # fmt: skip
            elif match := _XDMA_CUT.match(row):
                raise UsageError("no rate behind 'Average BW'")
        if _FAILED.match(row):
            outcomes.append(base.Outcome(line, "transfer", "failed", " ".join(row.split())[:160]))
    names = dict.fromkeys(row.device for row in rows)
    engine = "qdma" if "qdma" in text.lower() else "xdma"
    return base.Log(
        tool=f"{engine.upper()} driver's tools",
        rows=rows,
        devices=[base.device(name, engine.upper(), kind="accelerator") for name in names],
        outcomes=outcomes,
        problems=problems,
        engines=("qdma",) if engine == "qdma" else ("xdma", "xdma-tools"),
    )


def _row(
    line: int, path: str, bytes_each: str, rate: str, meant: str, printed: str, text: str
) -> base.Row:
    to, back = _TO.search(path), _FROM.search(path)
    if not to and not back:
        raise UsageError(f"'{path[:40]}' says no direction")
    way: Literal["h2d", "d2h"] = "h2d" if to else "d2h"
    number_ = base.size(bytes_each, line)
    channel, card = _CHANNEL.search(path), _CARD.search(path)
    return base.Row(
        line=line, name=path, kind="copy", study="transfer",
        operation="write" if to else "read", device=f"xdma:{card[1] if card else 0}",
        part=f"channel {channel[1]}" if channel and _channels(text) > 1 else "",
        size=number_, values=(base.number(rate, line),), unit=meant, printed_unit=printed,
        statistic="mean", memory="aligned", direction=way, initiator="dma",
        axes={"depth": 1, "bank": 0} | ({"channel": channel[1]} if channel else {}),
    )  # fmt: skip


def _channels(text: str) -> int:
    return len(set(_CHANNEL.findall(text)))


def _matches(text: str) -> bool:
    return any(
        re.search(rf"^{pattern.pattern}", text, re.MULTILINE) is not None
        for pattern in (_XDMA, _QDMA, _XDMA_CUT)
    )


IMPORTER = base.Importer("xdma", "dma_to_device, dma_from_device of dma_ip_drivers", _matches, read)
