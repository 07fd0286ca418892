"""Advice on a job as text on one screen, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from isthmus.analysis.job import HOST_ONLY
from isthmus.cli.advice_text import timed
from isthmus.columns import wrapped
from isthmus.units import format_seconds, format_size, percent
from isthmus.written import json_text

if TYPE_CHECKING:
    from isthmus.analysis.job import Job, JobAdvice, Place, Plan
    from isthmus.boards.board import Board
    from isthmus.results.run_file import DeviceRecord

_REACHED = 1.1
"""Time over the limit up to which the limit is reached."""
_WHOLE_BANK = 0.95
"""Share of a bank's rate from which the bank is the limit."""
_LIMITS = {
    "link in": "the link to the device",
    "link out": "the link to the host",
    "kernel": "the kernel",
    "both directions": "both directions of the link together",
    "host": "the host's processors, which copy and compute one after the other",
}


class Answer:
    """Advice on a job, with what supports it."""

    def __init__(self, found: JobAdvice, records: Mapping[str, DeviceRecord], how: str) -> None:
        self.found = found
        self.records = records
        """Of the devices whose places were compared; empty for emulated cards."""
        self.how = how
        """How times were obtained."""
        self.board: Board | None = None
        """Of an emulated card."""
        self.board_name = ""

    @property
    def emulated(self) -> bool:
        """Whether the device is an emulated card."""
        return self.board is not None


def api_of(place: Place) -> str:
    """How people write the API of a place."""
    from isthmus import backends

    of = backends.of(place.backend)
    software = of.card_software
    if software is not None and place.device.startswith(f"{software.scheme}:"):
        return software.name
    return next(iter(of.api_names.values()), "") or {"opencl": "OpenCL"}.get(
        place.backend, place.backend
    )


def memory_of(place: Place) -> str:
    """Host memory of a place in words."""
    from isthmus import backends

    software = backends.of(place.backend).card_software
    if place.memory == HOST_ONLY and software is not None:
        return "buffers in host memory (host_only)"
    on_card = software is not None and place.banks > 0
    if place.call == "map" or (on_card and software and place.memory == software.mapped):
        return "mapped buffers"
    return f"{place.memory} memory, copied first" if on_card else f"{place.memory} memory"


def _banks(place: Place) -> str:
    return {1: "one bank", 2: "two banks"}.get(place.banks, "")


def _chunk(best: Plan, job: Job) -> str:
    if best.group == 1:
        return "each item whole"
    size = format_size(best.group * max(job.into, job.out))
    return f"{best.group} items in a transfer and a kernel's run ({size})"


def sentence(answer: Answer) -> str:
    """The answer in one sentence."""
    found = answer.found
    job, best = found.job, found.best
    workers = "queue and thread" if best.place.backend == "opencl" else "thread"
    sets = (
        f"{best.sets} buffer sets, each with a {workers}"
        if best.sets > 1
        else "one buffer set (serial)"
    )
    moved = f"{format_size(job.into)} in, {format_seconds(job.kernel_s)} kernel, "
    moved += f"{format_size(job.out)} out, {job.times} times on {best.place.device}"
    parts = [
        sets,
        api_of(best.place),
        memory_of(best.place),
        f"in and out in {_banks(best.place)}" if best.place.banks else "",
        _chunk(best, job),
    ]
    way = ", ".join(filter(None, parts))
    return f"{moved}: {way}: {timed(best.per_item)} an item, {timed(best.total)} in all."


def lines(answer: Answer) -> Iterator[str]:
    """The advice on one screen, the answer first."""
    found = answer.found
    for said in (sentence(answer), _limit(answer), _parts(answer), _how(answer)):
        yield from wrapped(said)
    yield ""
    yield from _table(found.best, found.others)
    yield ""
    yield "Program: the same command with --code"


def _limit(answer: Answer) -> str:
    found, stages = answer.found, answer.found.stages
    best = found.best
    resource, seconds = best.limit
    name = _LIMITS[resource]
    if resource == "kernel" and best.place.memory == HOST_ONLY:
        name += ", which reaches the host's memory over the link"
    both_ways = stages.into.data > 0 and stages.out.data > 0
    if resource.startswith("link") and both_ways and stages.is_full_duplex:
        name += ", full duplex"
    if resource == "both directions":
        name = (
            "one memory bank of the card, which both directions share"
            if _fills_a_bank(answer)
            else "both directions of the link together, which share the host's memory or the link"
        )
    reached = best.per_item.value / seconds
    said = f"Limit: {format_seconds(seconds)} an item: {name}; "
    if reached <= _REACHED:
        return f"{said}reached to {percent(1 / reached)}."
    idle = "start-up of transfers and launches" if best.sets > 1 else "nothing overlaps"
    return f"{said}{percent(1 / reached)} of it: {idle}."


def _fills_a_bank(answer: Answer) -> bool:
    """Whether what both directions move in the limit's time is a bank's whole rate."""
    board, best, job = answer.board, answer.found.best, answer.found.job
    if board is None or best.place.banks != 1:
        return False
    return (job.into + job.out) / board.bank_rate() > _WHOLE_BANK * best.limit.seconds


def _parts(answer: Answer) -> str:
    """What one item costs at each stage."""
    of = answer.found.stages
    parts = {
        "host": of.host_before + of.host_after,
        "in": of.into.fixed + of.into.data,
        "launch": of.launch,
        "kernel": of.kernel,
        "out": of.out.fixed + of.out.data,
    }
    named = ", ".join(f"{name} {format_seconds(s)}" for name, s in parts.items() if s)
    what = "One item alone" if answer.found.best.group == 1 else "One transfer of items alone"
    return f"{what}: {named}."


def _how(answer: Answer) -> str:
    if answer.emulated:
        return (
            f"How: {answer.how}; the software of the API and the host's copies as measured on "
            "processors like these. No hardware was used."
        )
    real = answer.records[answer.found.best.place.device].real
    return f"How: {answer.how}.{'' if real else ' No hardware was measured.'}"


def _table(best: Plan, others: Sequence[Plan]) -> Iterator[str]:
    yield f"{'sets':>4}  {'an item':>8}  {'in all':>8}  way"
    for one in sorted([best, *others], key=lambda plan: plan.total.value):
        place = one.place
        way = [api_of(place), memory_of(place), _banks(place)]
        way += [f"{one.group} items a transfer"] if one.group > 1 else []
        mark = " <-" if one is best else ""
        item, total = format_seconds(one.per_item.value), format_seconds(one.total.value)
        yield f"{one.sets:>4}  {item:>8}  {total:>8}  {', '.join(filter(None, way))}{mark}"


def as_json(answer: Answer) -> str:
    """The advice as JSON."""
    found = answer.found

    def plain(one: Plan) -> Mapping[str, object]:
        return {
            "sets": one.sets,
            "device": one.place.device,
            "api": api_of(one.place),
            "call": one.place.call,
            "memory": one.place.memory,
            "banks": one.place.banks,
            "items_in_a_transfer": one.group,
            "per_item_s": one.per_item._asdict(),
            "total_s": one.total._asdict(),
            "limit": one.limit._asdict(),
        }

    job = found.job
    return json_text(
        {
            "job": {
                "in_bytes": job.into,
                "kernel_s": job.kernel_s,
                "out_bytes": job.out,
                "times": job.times,
            },
            "how": answer.how,
            "hardware": not answer.emulated and answer.records[found.best.place.device].real,
            "best": plain(found.best),
            "alternatives": [plain(one) for one in found.others],
        }
    )
