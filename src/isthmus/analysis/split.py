"""What the time of a small transfer is spent on, as far as a run tells it.

Of an emulated card, its board says it; with the same API above nothing in the same run, the API's
software is known too (``analysis.hybrid``). Where a device's memory is the host's, a plain copy of
the same size is what remains without the software. Else nothing is known, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from isthmus import backends
from isthmus.analysis.context import AnalysisContext, Rows, each, question
from isthmus.analysis.hybrid import estimated
from isthmus.analysis.ratios import groups, software_only
from isthmus.boards import Board
from isthmus.frames import Frame

SMALL = 4096
"""Bytes of the transfer that is taken apart, or the next size below that was measured."""
_OPERATIONS = ("write", "read")


class Split(NamedTuple):
    """The parts of one time; they add up to it."""

    row: Any
    """Of the summary, or of the answer ``hybrid``."""
    seconds: float
    parts: dict[str, float]
    """Seconds by name, in the order in which a transfer begins them."""

    @property
    def largest(self) -> list[tuple[str, float]]:
        """The parts, largest first."""
        return sorted(self.parts.items(), key=lambda part: -part[1])


def splits(context: AnalysisContext) -> Iterator[Split]:
    """One for each device, kind of memory and direction whose parts are known."""
    for row in _small(context.rows):
        board = context.boards.get(row.device)
        if row.clock == "simulated" and board is not None:
            if parts := _of_board(board, row.operation, row.median_s):
                yield Split(row, row.median_s, parts)
        elif row.limit == "memcpy":
            copying = min(row.bandwidth_Bps / row.limit_Bps, 1.0) * row.median_s
            software = f"software of {_api(row)}"
            parts = {software: row.median_s - copying, "the copy itself": copying}
            yield Split(row, row.median_s, parts)
        elif (called := _above_nothing(context, row)) is not None:
            rest = row.median_s - called
            parts = {f"software of {_api(row)}": called, "driver, link and device": rest}
            yield Split(row, row.median_s, parts)
    for row in _small(estimated(context).table):
        board = context.boards.get(row.device)
        parts = {f"software of {_api(row)}": float(row.software_s)}
        below = _of_board(board, row.operation, row.simulated_s) if board else {}
        parts |= below or {"driver, link and device": float(row.simulated_s)}
        yield Split(row, float(row.hybrid_s), parts)


def _small(rows: Frame) -> Iterator[Any]:
    """The row of each series of copies that is nearest to ``SMALL``, but not above."""
    rows = rows[rows["operation"].isin(_OPERATIONS) & rows["bytes"].le(SMALL)]
    for _, group in groups(rows, ["device", "operation", "memory", "axes", "clock"]):
        yield next(each(group[group["bytes"] == group["bytes"].max()]))


def _of_board(board: Board, operation: str, seconds: float) -> dict[str, float]:
    """A card's DMA: the board has driver and engine; what is left crosses link and memories."""
    if not board.has("dma"):
        return {}
    polls = board.value("dma.completion") == "poll"
    driver = board.seconds("dma.submit_ns") + board.seconds("dma.finish_ns")
    notice = board.seconds("host.polling_ns" if polls else "host.interrupt_ns")
    engine = board.seconds("dma.start_ns")
    engine += board.seconds(f"dma.{'h2d' if operation == 'write' else 'd2h'}_descriptor_ns")
    rest = seconds - driver - notice - engine
    if rest < 0:
        return {}
    return {"driver": driver, "DMA engine": engine, "link and memory": rest,
            "polling" if polls else "interrupt": notice}  # fmt: skip


def _above_nothing(context: AnalysisContext, row: Any) -> float | None:
    """Seconds of the same call where the API has no device below it in the same run."""
    every = context.every
    same = every["device"].isin(software_only(context.run)) & every["api"].eq(row.api)
    for name in ("study", "operation", "memory", "bytes", "axes", "clock"):
        same &= every[name].eq(getattr(row, name))
    found = every[same]["median_s"]
    return float(found.iloc[0]) if len(found) and found.iloc[0] < row.median_s else None


def _api(row: Any) -> str:
    return backends.api_names().get(str(row.api), str(row.api))


@question(
    "split", "What is the time of a small transfer spent on?",
    "device operation memory clock bytes median_s part part_s share",
)  # fmt: skip
def split(context: AnalysisContext) -> Rows:
    """The parts of each small transfer."""
    for one in splits(context):
        key = (one.row.device, one.row.operation, one.row.memory, one.row.clock, one.row.bytes)
        for part, seconds in one.parts.items():
            yield *key, one.seconds, part, seconds, seconds / one.seconds
