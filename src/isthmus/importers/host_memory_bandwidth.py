"""Reads the log of AMD's example host_memory_bandwidth (github.com/Xilinx/Vitis_Accel_Examples).

The printed "GB/sec" are GiB/s, and "KB" are KiB: the example divides by powers of 1024. A figure is
one launch of 1024 sweeps over the buffer. In emulation a launch makes 2 sweeps, and the largest
buffer has 8 KiB.
"""

from __future__ import annotations

import re
from typing import Literal

from isthmus.errors import UsageError
from isthmus.importers.base import Importer, Log, Problems, Row, device, number, size, slug

_ROW = re.compile(
    r"\s*(Concurrent Read and Write|Read|Write) Throughput = (\S+) \(([^)]*)\) "
    r"for buffer size (\S+) (\w+)"
)
_DEVICE = re.compile(r"Trying to program device\[\d+\]: (\S+)|Found Device=(\S+)")
_OPERATIONS: dict[str, tuple[str, Literal["both", "h2d", "d2h"], int]] = {
    "Concurrent Read and Write": ("bandwidth", "both", 2),
    "Read": ("read_bandwidth", "h2d", 1),
    "Write": ("write_bandwidth", "d2h", 1),
}
"""By printed name: operation of Isthmus, direction, and buffer sizes that one sweep moves."""
_PRINTED = "GB/sec"
"""Unit of rates as the example prints it; it means GiB/s."""
_SWEEPS, _SWEEPS_EMULATED, _MOST_EMULATED = 1024, 2, 8 << 10


def read(text: str) -> Log:
    """Reads the rates of kernels on host memory at each size."""
    matches = list(enumerate(map(_ROW.match, text.splitlines()), 1))
    problems, rows = Problems(), []
    for line, row in matches:
        with problems.of(line):
            if row and row[3] != _PRINTED:
                raise UsageError(f"unknown unit '{row[3][:20]}'")
            if row:
                number(row[2], line)
                rows.append((line, row, size(row[4], line, row[5])))
    emulated = max((size_ for *_, size_ in rows), default=0) <= _MOST_EMULATED
    sweeps = _SWEEPS_EMULATED if emulated else _SWEEPS
    named = _DEVICE.search(text)
    name = (named[1] or named[2]) if named else "unknown card"
    api = "opencl" if "Platform Name" in text else "xrt"
    address = f"xrt:{slug(name)}"
    figures = []
    for line, row, bytes_each in rows:
        operation, direction, ways = _OPERATIONS[row[1]]
        figures.append(
            Row(
                line=line,
                name=f"{row[1]} Throughput",
                kind="host_memory",
                printed_unit=_PRINTED,
                study="hostmem",
                operation=operation,
                device=address,
                size=bytes_each,
                times=ways * sweeps,
                values=(number(row[2], line),),
                unit="GiB/s",
                statistic="each",
                api=api,
                memory="host_only",
                direction=direction,
                initiator="kernel",
                axes={"target": "host", "implementation": "board", "iterations": sweeps},
            )
        )
    return Log(
        tool="host_memory_bandwidth",
        rows=figures,
        names=[name] if named else [],
        problems=problems,
        devices=[device(address, name, api=api, kind="accelerator", real=not emulated)],
        assumed=[f"{sweeps} sweeps in a launch, as the example's source has it"],
    )


IMPORTER = Importer(
    "host_memory_bandwidth",
    "log of AMD's example host_memory_bandwidth",
    lambda text: "Throughput = " in text and _ROW.search(text) is not None,
    read,
)
