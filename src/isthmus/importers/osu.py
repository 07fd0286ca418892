"""Text of the OSU micro-benchmarks osu_bw, osu_bibw and osu_latency, also with device buffers."""

from __future__ import annotations

import re

from isthmus.errors import UsageError
from isthmus.importers.base import Figure, Importer, Output, device, number, size

_WINDOW = 64
"""Default of ``-W``, which the output does not have."""
_TITLE = re.compile(r"# OSU MPI(-\S+)? (Bandwidth|Bi-Directional Bandwidth|Latency) Test v?(\S+)")
_ANY_TITLE = re.compile(r"# OSU (.+) Test")
_BUFFERS = re.compile(r"# Send Buffer on \w+ \((\w+)\) and Receive Buffer on \w+ \((\w+)\)")
_ROW = re.compile(r"(\d+)\s+(\S+)(?:\s+.*)?$")
_MEMORY = {"H": "aligned", "D": "device", "M": "managed", "MD": "managed", "MH": "managed"}
"""Kind of memory of each buffer. Version 7.5 for CUDA or ROCm does not say which: unknown."""
_OPERATIONS = {
    "Bandwidth": ("osu_bw", "window", _WINDOW),
    "Bi-Directional Bandwidth": ("osu_bibw", "window_both", 2 * _WINDOW),
    "Latency": ("osu_latency", "pingpong", 2),
}
"""Program, operation, and messages in one repetition."""


def read(text: str) -> Output:
    """Bandwidths as windows of 64 messages, latencies as round trips (the output has the half)."""
    tools: dict[str, str] = {}
    figures: list[Figure] = []
    operation, messages, buffers = "", 0, ("H", "H")
    for line, row in enumerate(text.splitlines(), 1):
        if title := _TITLE.match(row):
            tool, operation, messages = _OPERATIONS[title[2]]
            tools[tool], buffers = title[3], ("", "") if title[1] else ("H", "H")
        elif other := _ANY_TITLE.match(row):
            raise UsageError(
                f"line {line}: '{other[1][:60]}' is not read; osu_bw, osu_bibw and osu_latency are"
            )
        elif where := _BUFFERS.match(row):
            buffers = where[1], where[2]
        elif (found := _ROW.match(row)) and operation and found[1] != "0":
            figures.append(_figure(found, row, line, operation, messages, buffers))
    addresses = dict.fromkeys(figure.device for figure in figures)
    return Output(
        tool=" and ".join(tools) or "OSU micro-benchmarks",
        version=next(iter(tools.values()), ""),
        figures=figures,
        devices=[device(one, "two ranks of MPI", api="mpi") for one in addresses],
        assumed=["a window of 64 messages, the default of -W"]
        if {*tools} - {"osu_latency"}
        else [],
    )


def _figure(
    found: re.Match[str],
    row: str,
    line: int,
    operation: str,
    messages: int,
    buffers: tuple[str, str],
) -> Figure:
    bytes_each, latency = size(found[1], line), operation == "pingpong"
    sender, receiver = (_MEMORY.get(one, "") for one in buffers)
    value = number(found[2], line)
    axes: dict[str, int | str] = {"channel": "mpi", "ranks": 2, "sizes": "own"}
    axes |= {} if latency else {"depth": _WINDOW}
    axes |= {} if sender == receiver else {"receiver_memory": receiver}
    return Figure(
        line=line,
        study="beff",
        operation=operation,
        device="host"
        if buffers == ("H", "H")
        else f"mpi:{'-'.join(filter(None, buffers)) or 'unknown'}",
        bytes=bytes_each,
        moved_bytes=messages * bytes_each,
        values=(2 * value if latency else value,),
        unit="us" if latency else "MB/s",
        statistic="mean",
        api="mpi",
        memory=sender,
        axes=axes,
        fault="osu says that validation failed" if row.rsplit(maxsplit=1)[-1] == "Fail" else "",
    )


IMPORTER = Importer(
    "osu",
    "text of osu_bw, osu_bibw and osu_latency",
    lambda text: re.search(r"^# OSU ", text[:4000], re.MULTILINE) is not None,
    read,
)
