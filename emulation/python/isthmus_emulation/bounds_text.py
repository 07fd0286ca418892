"""Writes what bounds a program on emulated cards as a few lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isthmus.boards import Board
from isthmus.columns import wrapped
from isthmus.text import counted, listed
from isthmus.thresholds import AS_FAST_WAY
from isthmus.units import format_seconds, percent
from isthmus_emulation.region import Change, Region

_MOST_LINES = 13
"""Most lines: with the shares before them and the last line they fit a screen of 24 lines."""
_MOST_CHANGES = 3
_SHOWN = 0.005
"""Least share that is shown."""
_RIGHT = 0.15
"""Most error of the model for the present program, above which the text calls gains rough."""
_BUSY = 0.5
"""Share of a bank's rate above which kernel and transfers may slow each other on a board."""
_MOSTLY = 0.5
"""Least share of start-up in the transfers' time for start-up to be named as the reason."""
_MORE_SETS = ("double buffering", "threads")
_LIMITS = {
    "link in": "the link to the card",
    "link out": "the link to the host",
    "kernel": "the kernels",
    "both directions": "both directions of the link, which share a memory",
    "host": "the host",
}
_SYNCS = {"link in": "syncs to the card", "link out": "syncs to the host"}
"""Names of the two directions on a board without a link, whose host and kernels share a memory."""


def lines(found: Sequence[Region], boards: Sequence[Board]) -> list[str]:
    """Returns lines for each region, the longest first: reasons, and the changes that gain most."""
    told: list[str] = []
    for region in sorted(found, key=lambda region: -region.seconds):
        text = list(_region(region, boards[region.card]))
        if told and len(told) + len(text) > _MOST_LINES:
            told.append("more regions: --trace FILE has all")
            break
        told += text
    return told[:_MOST_LINES]


def _region(region: Region, board: Board) -> Iterator[str]:
    where = f"region {region.name}" if region.name else "the program"
    items = f", {region.items} items of {format_seconds(region.item_s)}" * (region.items > 1)
    yield f"card {region.card}, what bounds {where}: {format_seconds(region.seconds)}{items}"
    syncs = _SYNCS if board.has("sync") else {}
    names = {"bank": f"bank {region.bank}", "host": "host alone", **syncs}
    shares = [
        f"{names.get(name, name)} {percent(share)}"
        for name, share in region.shares.items()
        if share >= _SHOWN
    ]
    limit = region.limit
    yield f"  shares: {', '.join(shares)}"
    yield (
        f"  limit: {format_seconds(limit.seconds)} an item, {(_LIMITS | syncs)[limit.resource]}; "
        f"{percent(min(1.0, limit.seconds / region.item_s))} of it reached"
    )
    if region.shares["bank"] > _BUSY and region.way.sets > 1:
        yield f"  not modelled: on a board kernel and transfers share {region.bank}'s rate"
    if region.computed_s and region.way.sets > 1:
        yield (
            f"  runs: {counted(region.way.threads, 'thread', 'threads')}, "
            f"{counted(region.way.sets, 'buffer set', 'buffer sets')}; the host computes "
            f"{format_seconds(region.computed_s)} an item"
        )
    off = abs(region.modelled_s / region.seconds - 1)
    if off > _RIGHT:
        mark = "" if region.name else "; mark the items as a region"
        yield f"  the model is {percent(off)} off today's time: what it expects is rough{mark}"
    for change in _named(region):
        said = ": ".join([*_said(region, change, board), _gain(region, change)])
        yield from wrapped(f"- {said}", "  ", "    ")
    if not region.changes:
        yield "  no change that the model knows gains 3 %"


def _named(region: Region) -> list[Change]:
    """Returns the changes to show; of buffer sets and threads only the simplest of the fastest."""
    more = [change for change in region.changes if change.kind in _MORE_SETS]
    fast = [change for change in more if change.item_s <= AS_FAST_WAY * more[0].item_s]
    simplest = min(fast, key=lambda change: (change.kind == "threads", change.sets), default=None)
    named = [change for change in region.changes if change is simplest or change not in more]
    return named[:_MOST_CHANGES]


def _gain(region: Region, change: Change) -> str:
    digits = 2 if change.gain < 2 else 1 if change.gain < 10 else 0
    times = f"{change.gain:.{digits}f}"
    item, new = format_seconds(region.item_s), format_seconds(change.item_s)
    return f"{new} an item in place of {item}, {times} times as fast (model)"


def _said(region: Region, change: Change, board: Board) -> tuple[str, str]:
    """Returns why the program is slow, and the change."""
    kernels = {
        "wide ports": lambda: _elements(region, board),
        "partial sums": lambda: _sums(region),
        "two banks": lambda: _shared(region),
        "host memory": lambda: _transfers(region),
        "mapped buffers": lambda: _copies(region),
    }
    return kernels[change.kind]() if change.kind in kernels else _waits(region, change)


def _elements(region: Region, board: Board) -> tuple[str, str]:
    kernel = next(one for one in region.kernels if one.by == "elements")
    reason = (
        f"kernel {kernel.instance}: {kernel.bytes_per_s / 1e9:.2g} GB/s = one "
        f"{kernel.element_bytes}-byte element a clock at {board.number('kernel.clock_MHz'):g} MHz"
    )
    return reason, f"widen its ports to {board.whole('kernel.width_bytes')} bytes"


def _sums(region: Region) -> tuple[str, str]:
    kernel = next(one for one in region.kernels if one.partial_sums)
    return (
        f"kernel {kernel.instance}: {kernel.loop}, each waits for the one before",
        f"keep {kernel.partial_sums} partial results in turn, and join them behind the loop",
    )


def _shared(region: Region) -> tuple[str, str]:
    kernel = next((one for one in region.kernels if one.shared), None)
    if kernel is None:
        reason = f"kernels, or transfers of both directions, share {region.bank}"
        return reason, "connect what goes out with another bank (sp)"
    reason = f"arguments {listed(kernel.shared)} of {kernel.instance} share {kernel.memory}"
    banks = "another bank" if len(kernel.moves) == 1 else "other banks, one each"
    return reason, f"connect {listed(kernel.moves)} with {banks} (sp)"


def _transfers(region: Region) -> tuple[str, str]:
    reason = "each byte crosses the link and the card's memory"
    if region.startup >= _MOSTLY:
        reason = f"{percent(region.startup)} of the transfers' time is start-up"
    return reason, "buffers in host memory (host_only), which kernels reach over the link"


def _copies(region: Region) -> tuple[str, str]:
    share = percent(region.copied_s / region.item_s)
    reason = f"bo.write and bo.read copy within the host, {share} of the time"
    return reason, "map the buffers and compute in place"


def _waits(region: Region, change: Change) -> tuple[str, str]:
    way = region.way
    reason = "transfers and kernels never overlap: one thread waits for each"
    if way.threads > 1:
        reason = f"{way.threads} threads leave the card idle"
    elif way.sets > 1:
        reason = "one thread computes and moves data, one after the other"
    if change.kind == "threads":
        return reason, f"{change.sets} threads, each with a buffer set"
    if region.buffer_sets > 1:
        sets = f"use the {region.buffer_sets} buffer sets in turn"
        return reason, f"{sets}: start a kernel, move another set's data, then wait"
    return reason, "two buffer sets in one thread, which moves data while a kernel runs"
