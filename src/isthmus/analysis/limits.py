"""Finds the limit of each measured rate: its value, its name and its source.

A limit is what the narrowest PCIe link to the root leaves for data, at its trained speed and width.
Between devices it is the rate of their links, within a device the rate of its memory, and for other
copies a plain memory copy of the same run.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isthmus import backends, boards
from isthmus.boards import Board
from isthmus.frames import Frame
from isthmus.models import serial
from isthmus.models.pcie import link_of, path_of
from isthmus.results.run_file import DeviceRecord, Point, Run
from isthmus.statistics import relevant
from isthmus.thresholds import (
    DRIFT,
    KERNEL_NOISE,
    LARGE,
    NO_MEMORY_BPS,
    NOTHING_BPS,
    PLATEAU,
    SETTLED,
    SMALL,
)

Name = Literal["link", "links", "device memory", "memcpy"]
COLUMNS = ("limit_Bps", "limit_share", "limit", "limit_source", "plateau")
"""Columns that limits add to a summary: bytes a second, the rate over them, ``Limit.name`` and
``Limit.source``, and whether a larger size is hardly faster."""
_USUAL_PAYLOAD = 256
"""Bytes of data in a packet, where the system does not report them. A choice: the limit is 8 %
lower with 128 bytes and 4 % higher with 512; sentences call the size assumed."""
_KNOWN = 2.0
"""Largest ratio of an interval's ends at which a rate is compared with a memory copy."""
_STEP = 8
"""Largest factor from a size to a larger size that can show its plateau. The sizes of a run differ
by at most this factor."""
_NO_LINKS = ("mpi", "staged")
"""Channels between devices whose messages do not use the links between the devices."""


_BOTH_AT_ONCE = (
    ("bidirectional", "read", "write"), ("bandwidth", "read_bandwidth", "write_bandwidth"),
)  # fmt: skip
"""Operations that use both directions at once, each with the operations of one direction."""


class Limit(NamedTuple):
    """The upper limit of a rate."""

    value: float
    """Bytes a second that are left for data, in all directions that the operation uses at once."""
    name: Name
    source: str
    """Origin of the limit in words: "PCIe gen5 x16, MPS 256"."""
    most: float
    """Bytes a second above which a rate cannot be true; infinite where a cache may be faster."""


_TIMES_THROUGH_BANK = {"stream": 2}
"""How often a byte passes a bank of card memory, where more than once: the kernel of a stream reads
the byte from the bank, and writes it back."""


def of_points(run: Run) -> list[Limit | None]:
    """The limit of each point's rate, in the run's order; None if none is known."""
    devices = {device.address: device for device in run.devices}
    known = {a: boards.of_device(device.properties) for a, device in devices.items()}
    return [_of_point(point, run, devices, known.get(point.device)) for point in run.points]


def _of_point(
    point: Point, run: Run, devices: Mapping[str, DeviceRecord], board: Board | None
) -> Limit | None:
    device = devices.get(point.device)
    if point.operation in {"exchange", "exchange_rank"}:
        return _between(point, board, run.environment.get("ranks"), devices)
    if device is None:
        return None
    if point.direction:
        return _of_link(device, board, point)
    if point.initiator == "kernel":
        return _of_memory(device, board, point)
    links = links_Bps(device) if point.operation.startswith("peer_") else math.nan
    return Limit(links, "links", "between devices", links) if links > 0 else None


def _between(
    point: Point, board: Board | None, ranks_of_run: object, devices: Mapping[str, DeviceRecord]
) -> Limit | None:
    """Returns the limit by the links between ranks: of all ranks, or of one sending rank."""
    ranks = int(point.axes.get("ranks") or 1)
    senders = ranks if point.operation == "exchange" else 1
    if board is not None and board.has("serial"):
        value = 2 * senders * serial.channel_rate(board)
        return Limit(value, "links", f"serial channels of {board.name}", value)
    value = senders * _links_of_all(point.device, ranks_of_run, devices)
    if point.axes.get("channel") in _NO_LINKS or ranks == 1 or not value > 0:
        return None
    return Limit(value, "links", "between devices", value)


def _links_of_all(address: str, ranks: object, devices: Mapping[str, DeviceRecord]) -> float:
    """Bytes a second that each of several devices can send to the others.

    ``address`` joins the devices by ``+``. NaN if a device does not report its links, or if
    ranks share a device, so that messages stay within it.
    """
    if isinstance(ranks, list):
        used = {(rank.get("host"), rank.get("id", rank.get("device"))) for rank in ranks}
        if len(used) < len(ranks):
            return math.nan
    rates = {name: links_Bps(device) for name, device in devices.items()}
    members = [name for name in address.split("+") if name in rates] or [address]
    return float(np.min([rates.get(name, math.nan) for name in members]))


def links_Bps(device: DeviceRecord) -> float:  # noqa: N802 - a unit
    """Bytes a second, in each direction, of a device's links to devices of its kind, or NaN."""
    return float(device.properties.get(backends.of(device.backend).links_property, "nan"))


def _of_link(device: DeviceRecord, board: Board | None, point: Point) -> Limit | None:
    """Returns the limit by a device's PCIe link, or by a slower memory bank of its board."""
    both = point.direction == "both"
    ways = 2 if both else 1
    if board is not None and board.has("link"):
        path = path_of(board)
        # A card reads host memory to copy to the device; a processor reads to copy from it.
        read = (point.direction == "h2d") != (point.initiator == "cpu")
        rate = path.both() if both else path.reads() if read else path.writes()
        payload, link, asked = path.max_payload, path.link, str(path.max_read_request)
        value, guess, by = min(rate, path.bus_rate()), "", f"board {board.name}"
    else:
        trained = link_of(device.link)
        if trained is None:
            return None
        reported = _payload(device)
        asked = device.link.get("max_read_request_bytes", "")
        payload, link = reported or _USUAL_PAYLOAD, trained
        value, guess, by = link.payload(payload), "" if reported else " assumed", ""
    if board is not None and board.has("memory"):
        bank = board.bank_rate() / _TIMES_THROUGH_BANK.get(point.operation, 1)
        if bank < ways * value:
            return Limit(bank, "device memory", f"one bank, board {board.name}", ways * link.raw)
    facts = [f"PCIe {link.name}", f"MPS {payload}{guess}", f"MRRS {asked}" if asked else "", by]
    return Limit(ways * value, "link", ", ".join(filter(None, facts)), ways * link.raw)


def _payload(device: DeviceRecord) -> int:
    """Most bytes of data in a packet of the device's link; 0 if unknown."""
    reported = device.link.get("max_payload_bytes", "")
    return int(reported) if reported.isdecimal() else 0


def assumed(device: DeviceRecord) -> str:
    """What the limit of a device's link assumes: ``MPS 256``; empty if nothing is assumed."""
    board = boards.of_device(device.properties)
    link_known = (board is not None and board.has("link")) or _payload(device) > 0
    return "" if link_known else f"MPS {_USUAL_PAYLOAD}"


def _of_memory(device: DeviceRecord, board: Board | None, point: Point) -> Limit | None:
    """Returns the rate of a device's own memory as the limit; its caches may be faster."""
    if board is None:
        rate = backends.of(device.backend).memory_Bps(device.properties)
        source = "clock and width of the memory"
        return Limit(rate, "device memory", source, math.inf) if rate > 0 else None
    if not (board.has("memory") and board.has("kernel")):
        return None
    # A kernel that reads and writes has two ports, and uses two banks if the card has them.
    ways = 2 if point.operation == "bandwidth" else 1
    port = board.number("kernel.width_bytes") * board.hertz("kernel.clock_MHz")
    banks = min(ways, board.whole("memory.banks")) * board.bank_rate()
    return Limit(min(ways * port, banks), "device memory", f"board {board.name}", math.inf)


def mark_untrue(frame: Frame, precision: float, axes: Sequence[str]) -> None:
    """Flags rates that no data had, and empties those of operations that moved nothing."""
    _mark_idle(frame, axes)
    _mark_above_sum(frame, precision, axes)


def _mark_idle(frame: Frame, axes: Sequence[str]) -> None:
    """Flags rows whose time does not grow with size: no data moved. Empties their bandwidth.

    Verified rows that differ in size only are judged by ``_copies_nothing`` and ``_is_idle``.
    """
    seen = frame["verified"] == "true"
    kernels = frame["initiator"] == "kernel"
    copies = seen & (frame["direction"] != "") & ~kernels
    keys = ["study", "device", "operation", "memory", "clock", *axes]
    for some, moved_nothing in (
        (copies, _copies_nothing), (seen & kernels & (frame["clock"] == "host"), _is_idle),
    ):  # fmt: skip
        idle = [
            group.index
            for _, group in frame[some].groupby(keys, dropna=False)
            if moved_nothing(group.sort_values("bytes"))
        ]
        if idle:
            rows = np.isin(frame.index, np.concatenate(idle))
            frame.set(rows, "bandwidth_Bps", np.nan)
            _add_flag(frame, rows, "zero_copy")


def _copies_nothing(sizes: Frame) -> bool:
    """Whether copies across the link moved no data.

    They moved nothing if 1 MiB or more takes at most twice the time of 4 KiB or less, and the
    additional bytes would need a rate that no link has; or if the largest size needs such a rate.
    Needs a size of each kind. For kernels ``_is_idle`` decides: a disturbed launch can hide that
    their time grows with size.
    """
    low, high = sizes[sizes["bytes"] <= SMALL], sizes[sizes["bytes"] >= LARGE]
    if low.empty or high.empty:
        return False
    short, long = float(low["median_s"].median()), float(high["median_s"].iloc[-1])
    largest = float(high["bytes"].iloc[-1])
    more = largest - low["bytes"].median()
    grows = long > 2 * short or more <= NOTHING_BPS * (long - short)
    return not grows or largest > NOTHING_BPS * long


def _is_idle(sizes: Frame) -> bool:
    """Whether a kernel moved no data: the additional bytes would need a rate that no memory has.

    Additional bytes are those of the largest size beyond the smallest. Their time is that of the
    largest size beyond the shortest sample, but at least ``KERNEL_NOISE`` of that sample. No memory
    has ``NO_MEMORY_BPS``.
    """
    more = float(sizes["bytes"].iloc[-1] - sizes["bytes"].iloc[0])
    shortest = float(sizes["min_s"].min())
    longer = float(sizes["median_s"].iloc[-1]) - shortest
    return more > NO_MEMORY_BPS * max(longer, KERNEL_NOISE * shortest)


def _mark_above_sum(frame: Frame, precision: float, axes: Sequence[str]) -> None:
    """Flags rates of both directions at once that exceed the sum of what each reaches alone.

    Rows without a link are left out: caches of a processor can exceed the sum. A measured rate is
    flagged only above ``DRIFT``, and only if several processes measured the rate.
    """
    same = ["study", "device", "memory", "bytes", "clock", *axes]
    ends = frame[same].assign(
        label=frame.index,
        least=frame["bandwidth_Bps"] * frame["median_s"] / frame["ci_high_s"],
        most=frame["bandwidth_Bps"] * frame["median_s"] / frame["ci_low_s"],
    )
    one_process = frame.index[frame["flags"].str.contains(r"\bwithin\b").values]
    for both, *alone in _BOTH_AT_ONCE:
        rates = ends[frame["operation"].eq(both) & frame["limit"].eq("link")]
        for single in alone:
            most_alone = ends[frame["operation"].eq(single)][[*same, "most"]]
            rates = rates.merge(most_alone.rename({"most": single}), on=same)
        slack = np.where(rates["clock"] == "simulated", 0.0, DRIFT)
        together = sum(rates[single] for single in alone)
        most = (1 + np.maximum(relevant(precision), slack)) * together
        above = (rates["least"] > most) & ~rates["label"].isin(one_process)
        _add_flag(frame, np.isin(frame.index, rates[above]["label"].values), "above_sum")


def _add_flag(frame: Frame, rows: NDArray[np.bool_], flag: str) -> None:
    frame["flags"] = [
        ";".join(sorted({*str(flags).split(";"), flag} - {""})) if marked else flags
        for flags, marked in zip(frame["flags"], rows, strict=True)
    ]


def complete(frame: Frame, copying: Collection[str], axes: Sequence[str]) -> Frame:
    """Adds memory copies as limits of copies without a link, and each rate's share of its limit.

    A rate below its plateau has no share, because latency bounds it. Two kinds of limit give a
    share at any size: a memory copy of the same size, and links between devices, because effective
    bandwidth is by definition a mean that includes small messages. ``copying``: addresses of
    devices that are plain memory copies.
    """
    frame = frame.copy()
    place = {label: i for i, label in enumerate(frame.index)}
    names = ("limit_Bps", "limit", "limit_source")
    limits = frame.rows(names)
    for row in _with_memory_copy(frame, copying):
        source = f"{row.device_copy} in this run"
        limits[place[row.label]] = (row.bandwidth_Bps_copy, "memcpy", source)
    for at, name in enumerate(names):
        frame[name] = [values[at] for values in limits]
    shares = frame["bandwidth_Bps"] / frame["limit_Bps"]
    frame["limit_share"] = shares
    frame["plateau"] = on_plateau(frame, axes)
    of_any_size = frame["limit"].isin(["memcpy", "links"])
    frame.set(~(frame["plateau"] | of_any_size), "limit_share", math.nan)
    return frame


def on_plateau(frame: Frame, axes: Sequence[str]) -> NDArray[np.bool_]:
    """Whether the rate of each row is on its series' plateau, where it hardly grows with size.

    The plateau begins at the smallest size whose rate no larger size exceeds by more than
    ``PLATEAU``, and which has a larger size within ``_STEP`` times its size. A single size of
    ``SETTLED`` or more is a plateau, too. A series has rows that differ in size only.
    """
    result = np.zeros(len(frame), dtype=bool)
    place = {label: i for i, label in enumerate(frame.index)}
    rated = frame[frame["bandwidth_Bps"].gt(0)]
    series = ["study", "device", "api", "operation", "memory", "clock", *axes]
    for _, rows in rated.groupby(series, sort=False, dropna=False):
        sized = sorted(
            zip(
                rows["bytes"],
                rows["bandwidth_Bps"],
                map(place.__getitem__, rows.index),
                strict=True,
            )
        )
        for i in _settled([(size, rate) for size, rate, _ in sized]):
            result[sized[i][2]] = True
    return result


def _settled(rates: Sequence[tuple[int, float]]) -> range:
    """Indices of the rates on the plateau; ``rates``: pairs of size and rate, in order of size."""
    last = len(rates) - 1
    sizes = [size for size, _ in rates]
    backwards = accumulate((rate for _, rate in reversed(rates)), max)
    for i, highest in enumerate(list(backwards)[::-1]):
        size, rate = rates[i]
        larger = bisect_left(sizes, 2 * size, i + 1)
        near = larger <= last and sizes[larger] <= _STEP * size
        if near and rate >= (1 - PLATEAU) * highest:
            return range(i, last + 1)
    before = [size for size, _ in rates[:-1] if _STEP * size >= rates[last][0]]
    alone = not before and rates[last][0] >= SETTLED
    return range(last, last + 1) if alone else range(0)


def _with_memory_copy(frame: Frame, addresses: Collection[str]) -> Iterator[Any]:
    """Yields rows without a limit, joined with the best memory copy of their operation and size.

    A row's ``label`` is its label in ``frame``; columns of the memory copy end in ``_copy``.
    """
    certain = frame["ci_high_s"] <= _KNOWN * frame["ci_low_s"]
    usable = frame["direction"].ne("") & frame["clock"].eq("host") & frame["bandwidth_Bps"].gt(0)
    usable &= frame["verified"].eq("true")
    copying = frame["device"].isin(addresses)
    copies = frame[usable & copying]
    plain = copies[copies["device"] == "host"]
    copies = copies if plain.empty else plain
    open_ = frame[usable & ~copying & certain & frame["limit_Bps"].isna()]
    same = ["study", "operation", "bytes"]
    best = copies.sort_values("bandwidth_Bps").drop_duplicates(same, last=True)
    best = best[best["ci_high_s"] <= _KNOWN * best["ci_low_s"]]
    labelled = open_.assign(label=open_.index)
    return labelled.merge(best, on=same, suffixes=("", "_copy")).itertuples()
