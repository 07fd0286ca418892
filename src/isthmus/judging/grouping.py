"""Groups rows that measure the same quantity, by device and run.

A text can have several runs of a program: a run ends where one of its figures appears again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isthmus.importers.base import Log, Row
from isthmus.judging.judgement import Group

JUDGED = ("copy", "peer", "on_card", "memory", "host_memory", "network", "collective")
BETWEEN_RANKS = ("network", "collective")
_GPUS = ("cuda", "rocm")
"""Backends of GPUs: figures of GPUs with one name on a host are compared with each other."""


def groups(log: Log) -> Iterator[Group]:
    """Yields groups of rows of one quantity: all sizes, and all objects (banks, pairs, GPUs)."""
    rows_by_key: dict[tuple[str, ...], list[Row]] = {}
    for row in log.rows:
        if row.kind in JUDGED and not row.nothing:
            rows_by_key.setdefault((_device(log, row), *_key(row)), []).append(row)
    for (device, kind, way, engine, beside, memory, name, *_), rows in rows_by_key.items():
        runs = _runs(rows)
        for number, of_run in enumerate(runs, 1):
            yield Group(
                kind, way, engine, beside, memory, name, of_run, log.file, device, number, len(runs)
            )


def backend(device: str) -> str:
    """The backend in an address: ``cuda`` in ``cuda:0``."""
    return device.partition(":")[0]


def _device(log: Log, row: Row) -> str:
    if row.kind in BETWEEN_RANKS:
        return ""
    if backend(row.device) in _GPUS:
        return next((device.name for device in log.devices if device.address == row.device), "")
    return row.device


def _key(row: Row) -> tuple[str, ...]:
    way = "both" if row.operation == "window_both" else row.direction
    # Programs of xdma and dd print the device file, whose name differs by channel.
    files = row.kind == "copy" and backend(row.device) in {"xdma", "dd"}
    return (
        row.kind, way, row.engine, row.beside,
        row.memory if row.kind in {"copy", "network"} else "",
        "kernels" if row.kind == "memory" else "copy" if files else row.name,
        "timed" if row.timed and not row.moved else "",
        row.part if row.kind == "network" else "",
    )  # fmt: skip


def _runs(rows: Sequence[Row]) -> list[list[Row]]:
    """Splits rows into the runs of a program, in the order of the text."""
    of_commands: dict[int, list[Row]] = {}
    for row in rows:
        of_commands.setdefault(row.run, []).append(row)
    return [run for of_one in of_commands.values() for run in _repetitions(of_one)]


def _repetitions(rows: Sequence[Row]) -> Iterator[list[Row]]:
    current, seen = list[Row](), set[tuple[object, ...]]()
    for row in rows:
        figure = (row.device, row.part, row.name, row.size, row.memory, row.operation, row.cold,
                  *sorted(row.axes.items()))  # fmt: skip
        if figure in seen:
            yield current
            current, seen = [], set()
        seen.add(figure)
        current.append(row)
    yield current
