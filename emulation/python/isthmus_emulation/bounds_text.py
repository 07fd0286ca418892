"""Writes what bounds a program on emulated cards as a few lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isthmus.boards import Board
from isthmus.columns import wrapped
from isthmus.text import counted, listed
from isthmus.thresholds import AS_FAST_WAY
from isthmus.units import format_seconds, percent
from isthmus_emulation.region import LOOP_KINDS, Change, Region

_MOST_LINES = 13
"""Most lines of text: with the shares above and the last line they fit a screen of 24 lines."""
_MOST_CHANGES = 3
_SHOWN = 0.005
"""Least share of the time that the text shows."""
_RIGHT = 0.15
"""Largest error of the model for the present program; above it the text calls gains rough."""
_SAME = 1.005
"""Largest ratio of two times of an item that differ only by rounding."""
_BUSY = 0.5
"""Share of a bank's rate above which a board's kernel and transfers may slow each other."""
_RANGE = 1.1
"""Largest ratio of an estimate's ends at which the text gives the middle alone."""
_ONE = 1.02
"""Most elements that a port moves in a clock, with a margin for rounding."""
_MOSTLY = 0.5
"""Least share of the transfers' time that makes start-up the named reason."""
_MOST_OF_ITEM = 0.9
"""Least share of an item's time, in transfers and computing, that bounds a single thread."""
_MORE_SETS = ("double buffering", "threads")
_OF_LOOPS = ("wide ports", *LOOP_KINDS)
_LIMITS = {
    "link in": "the link to the card",
    "link out": "the link to the host",
    "kernel": "the kernels",
    "both directions": "both directions of the link, which share a memory",
    "host": "the host",
}
_SYNCS = {"link in": "syncs to the card", "link out": "syncs to the host"}
"""Names of both directions on a board without a link: host and kernels share one memory."""


def lines(regions: Sequence[Region], boards: Sequence[Board]) -> list[str]:
    """Returns lines for each region, the longest region first: reasons, and the best changes."""
    shown: list[str] = []
    for region in sorted(regions, key=lambda region: -region.seconds):
        text = list(_region(region, boards[region.card]))
        if shown and len(shown) + len(text) > _MOST_LINES:
            shown.append("more regions: --trace FILE has all")
            break
        shown += text
    return shown[:_MOST_LINES]


def _region(region: Region, board: Board) -> Iterator[str]:
    where = f"region {region.name}" if region.name else "the program"
    about = "about " * (region.share_read < 1)
    each = format_seconds(region.item_s)
    items = f", {about}{region.items} items of {each}" * (region.items > 1)
    yield f"card {region.card}, what bounds {where}: {format_seconds(region.seconds)}{items}"
    syncs = _SYNCS if board.has("sync") else {}
    names = {"bank": f"bank {region.bank}", "host": "host alone", **syncs}
    shares = [
        f"{names.get(name, name)} {percent(share)}"
        for name, share in region.shares.items()
        if share >= _SHOWN
    ]
    limit = region.limit
    limits = _LIMITS | syncs | {"bank": f"the rate of {region.bank}"}
    if region.kernel_s < limit.seconds / 2:
        limits = limits | {"kernel": "starts of kernels"}
    yield f"  shares: {', '.join(shares)}"
    yield (
        f"  limit: {format_seconds(limit.seconds)} an item, {limits[limit.resource]}; "
        f"{percent(min(1.0, limit.seconds / region.item_s))} of it reached"
    )
    if region.bank_s > region.item_s:
        board_s = format_seconds(region.bank_s)
        yield f"  on a board {board_s} an item: kernel and transfers share {region.bank}'s rate"
    elif region.shares["bank"] > _BUSY and region.way.sets > 1:
        yield f"  not modelled: on a board kernel and transfers share {region.bank}'s rate"
    if region.computed_s and region.way.sets > 1:
        sets = region.buffer_sets or region.way.sets
        yield (
            f"  runs: {counted(region.way.threads, 'thread', 'threads')}, "
            f"{counted(sets, 'buffer set', 'buffer sets')}; the host computes "
            f"{format_seconds(region.computed_s)} an item"
        )
    for kernel in region.kernels[:1]:
        if kernel.most_s > _RANGE * kernel.least_s:
            ends = f"{format_seconds(kernel.least_s)} to {format_seconds(kernel.most_s)}"
            yield f"  estimate: a run of {kernel.instance} takes {ends}; times here use the middle"
    off = abs(region.modelled_s / region.seconds - 1)
    if off > _RIGHT:
        mark = "" if region.name else "; mark the items as a region"
        yield f"  the model is {percent(off)} off today's time: what it expects is rough{mark}"
    for change in _named(region):
        said = ": ".join([*_said(region, change, board), _gain(region, change)])
        yield from wrapped(f"- {said}", "  ", "    ")
    if not region.changes:
        yield "  no change that the model knows gains 3 %"
    yield from wrapped(_unchanged(region), "  ", "    ")


def _unchanged(region: Region) -> str:
    """Returns what bounds the slowest kernel, if no change helps; else an empty text."""
    kernel = region.kernels[0] if region.kernels else None
    if kernel is None or kernel.by != "computing" or region.limit.resource != "kernel":
        return ""
    if not kernel.loop or any(change.kind in _OF_LOOPS for change in region.changes):
        return ""
    return f"bottleneck: kernel {kernel.instance}, {kernel.loop}; no change of that loop is known"


def _named(region: Region) -> list[Change]:
    """Returns the changes to show; of buffer sets and threads, only the simplest fast change."""
    more = [change for change in region.changes if change.kind in _MORE_SETS]
    fast = [change for change in more if change.item_s <= AS_FAST_WAY * more[0].item_s]
    simplest = min(fast, key=lambda change: (change.kind == "threads", change.sets), default=None)
    named = [change for change in region.changes if change is simplest or change not in more]
    return named[:_MOST_CHANGES]


def _gain(region: Region, change: Change) -> str:
    digits = 2 if change.gain < 2 else 1 if change.gain < 10 else 0
    times = f"{change.gain:.{digits}f}"
    item, new = format_seconds(change.before_s), format_seconds(change.item_s)
    where = "estimate of the changed source" if change.kind in LOOP_KINDS else "model"
    if change.before_s > region.item_s * _SAME:
        where = "on a board"
    return f"{new} an item in place of {item}, {times} times as fast ({where})"


def _said(region: Region, change: Change, board: Board) -> tuple[str, str]:
    """Returns why the program is slow, and what to change, as two texts."""
    if change.kind in LOOP_KINDS:
        return _loop(region, change)
    kernels = {
        "wide ports": lambda: _elements(region, board),
        "two banks": lambda: _shared(region),
        "host memory": lambda: _transfers(region),
        "mapped buffers": lambda: _copies(region),
        "one sync": lambda: _syncs(region),
    }
    return kernels[change.kind]() if change.kind in kernels else _waits(region, change)


def _elements(region: Region, board: Board) -> tuple[str, str]:
    kernel = next(run_bound for run_bound in region.kernels if run_bound.by == "elements")
    clock = f"clock at {board.number('kernel.clock_MHz'):g} MHz"
    each = f"each port one {kernel.element_bytes}-byte element a {clock}"
    per_clock = kernel.bytes_per_s / kernel.element_bytes / board.hertz("kernel.clock_MHz")
    if per_clock > _ONE:  # the estimate leaves open whether HLS widens the port
        each = (
            f"{kernel.element_bytes}-byte elements, {per_clock:.2g} a {clock} in the middle of "
            "the estimate, as HLS may widen the port or not"
        )
    reason = f"kernel {kernel.instance}: {kernel.bytes_per_s / 1e9:.2g} GB/s: {each}"
    wide = board.whole("kernel.width_bytes")
    arrays = "partition (complete) each array that a loop then uses for a whole word at once"
    return reason, f"widen its ports to {wide} bytes (hls::vector), and {arrays}"


def _loop(region: Region, change: Change) -> tuple[str, str]:
    kernel = next(one for one in region.kernels if one.instance == change.kernel)
    name, count = change.name, change.number
    distance = f"DEPENDENCE distance={count} true"
    changes = {
        "partial sums": f"keep {count} partial results in turn, p[i % {count}], and join them "
        f"behind the loop (p needs ARRAY_PARTITION complete and {distance}, which HLS may not "
        "see)",
        "local array": f"copy all {count} elements of {name} into a local array, work on that, and "
        "copy it back once",
        "tables": f"add to {count} tables in turn, {name}[i % {count}][...], and add them up "
        f"behind the loop ({name} needs ARRAY_PARTITION dim=1 complete and {distance})",
        "own ports": f"a bundle for each of {name} (INTERFACE m_axi bundle=)",
        "partition": f"#pragma HLS ARRAY_PARTITION variable={name} dim={count} complete",
        "line buffer": f"read each word of {name} once, into a window of the words that an "
        "iteration reads, with a line buffer for earlier rows (both need ARRAY_PARTITION complete, "
        "the line buffer in dim=1)",
        "shift register": f"read each word of {name} once, into a shift register "
        "(ARRAY_PARTITION complete), and unroll the loop over it (constant length)",
    }
    waits = ", each waits for the one before" * (change.kind == "partial sums")
    return f"kernel {kernel.instance}: {kernel.loop}{waits}", changes[change.kind]


def _shared(region: Region) -> tuple[str, str]:
    kernel = next((run_bound for run_bound in region.kernels if run_bound.shared), None)
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
    cure = "buffers in host memory (host_only), which kernels reach over the link"
    kernel = next((one for one in region.kernels if one.ports), None)
    if kernel is None:
        return reason, cure
    places = [f"sp={kernel.instance}.{port}:HOST[0]" for port in kernel.ports]
    return reason, f"{cure} if the design connects them ({listed(places)})"


def _syncs(region: Region) -> tuple[str, str]:
    reason = f"many small syncs an item, {percent(region.startup)} of their time is start-up"
    return reason, "one sync for each buffer in place of many for its parts"


def _copies(region: Region) -> tuple[str, str]:
    share = percent(region.copied_s / region.item_s)
    reason = f"bo.write and bo.read copy within the host, {share} of the time"
    return reason, "map the buffers and compute in place"


def _waits(region: Region, change: Change) -> tuple[str, str]:
    return _late(region), _in_time(region, change)


def _late(region: Region) -> str:
    """Returns why kernels or transfers wait for the host."""
    way = region.way
    if way.threads > 1:
        return f"{way.threads} threads leave the card idle"
    if way.sets == 1 and _moves(region):
        return "transfers and kernels never overlap: one thread waits for each"
    if way.sets == 1 or region.order not in {"ahead", "batches"}:
        return "each kernel is started after the wait for the one before"
    if region.order == "batches":
        return "kernels wait for the inputs of all sets, and outputs for all kernels"
    if region.moves_s < _MOST_OF_ITEM * region.item_s:
        alone = format_seconds(region.alone_s)
        return f"{way.sets} items at a time are too few, each of which takes {alone} in all"
    return "one thread computes and moves data, one after the other"


def _in_time(region: Region, change: Change) -> str:
    """Returns what keeps the card busy, in words."""
    if change.kind == "threads":
        return f"{change.sets} threads, each with a buffer set"
    if not _moves(region):
        return f"keep {change.sets} runs started, and wait for the oldest"
    if region.order != "ahead" and change.sets == region.way.sets:
        return "start the next kernel before you wait for this one"
    if change.sets <= region.buffer_sets:
        sets = f"use the {region.buffer_sets} buffer sets in turn"
        return f"{sets}: start a kernel, move another set's data, then wait"
    if change.sets == 2:
        return "two buffer sets in one thread, which moves data while a kernel runs"
    return f"{change.sets} buffer sets in one thread, which waits for the oldest kernel"


def _moves(region: Region) -> bool:
    """Whether transfers take a share of the time that the text shows."""
    return max(region.shares["link in"], region.shares["link out"]) >= _SHOWN
