"""Writes advice on a job as text on one screen, and as JSON."""

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
"""Largest ratio of a job's time to a limit at which the limit counts as reached."""
_WHOLE_BANK = 0.95
"""Least share of a bank's rate at which the bank is the limit."""
_LIMITS = {
    "link in": "the link to the device",
    "link out": "the link to the host",
    "kernel": "the kernel",
    "both directions": "both directions of the link together",
    "host": "the host's processors, which copy and compute one after the other",
}


class Answer:
    """Advice on a job, with the devices, the times' origin and the board behind it."""

    def __init__(self, advice: JobAdvice, records: Mapping[str, DeviceRecord], how: str) -> None:
        self.advice = advice
        self.records = records
        """Records of the compared devices, by address; empty for emulated cards."""
        self.how = how
        """Origin of the times in words."""
        self.board: Board | None = None
        """Board of an emulated card; None for other devices."""
        self.board_name = ""

    @property
    def emulated(self) -> bool:
        """Whether the advice is for an emulated card."""
        return self.board is not None


def api_of(place: Place) -> str:
    """Name of the API at a place, in its usual spelling."""
    from isthmus import backends

    backend = backends.of(place.backend)
    software = backend.card_software
    if software is not None and place.device.startswith(f"{software.scheme}:"):
        return software.name
    return next(iter(backend.api_names.values()), "") or {"opencl": "OpenCL"}.get(
        place.backend, place.backend
    )


def memory_of(place: Place) -> str:
    """Words for the host memory of a place."""
    from isthmus import backends

    software = backends.of(place.backend).card_software
    if place.memory == HOST_ONLY and software is not None:
        return "buffers in host memory (host_only, HOST[0])"
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
    """The advice in one sentence."""
    advice = answer.advice
    job, best = advice.job, advice.best
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
    advice = answer.advice
    for text in (sentence(answer), _limit(answer), _bank(answer), _parts(answer), _how(answer)):
        yield from wrapped(text) if text else ()
    yield ""
    yield from _table(advice.best, advice.others)
    yield ""
    yield "Program: the same command with --code"


def _limit(answer: Answer) -> str:
    advice, stages = answer.advice, answer.advice.stages
    best = advice.best
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
    text = f"Limit: {format_seconds(seconds)} an item: {name}; "
    if reached <= _REACHED:
        return f"{text}reached to {percent(1 / reached)}."
    idle = "start-up of transfers and launches" if best.sets > 1 else "nothing overlaps"
    return f"{text}{percent(1 / reached)} of it: {idle}."


def _fills_a_bank(answer: Answer) -> bool:
    """Whether both directions together use the whole rate of a memory bank."""
    board, best, job = answer.board, answer.advice.best, answer.advice.job
    if board is None or best.place.banks != 1:
        return False
    return (job.into + job.out) / board.bank_rate() > _WHOLE_BANK * best.limit.seconds


def board_bank_s(answer: Answer) -> float | None:
    """Least seconds of an item on a board, whose kernel and transfers share the banks' rate.

    The kernel counts as one that reads and writes each byte of an item once. None: unknown, or the
    item does not cross card memory.
    """
    board, best, job = answer.board, answer.advice.best, answer.advice.job
    if board is None or not best.place.banks or not board.has("memory"):
        return None
    moved = job.into + job.out if best.place.banks == 1 else max(job.into, job.out)
    return 2 * moved / board.bank_rate()


def _bank(answer: Answer) -> str:
    """Words for the kernel's traffic in the banks of the transfers, which the times leave out."""
    best = answer.advice.best
    if best.sets == 1:
        return ""
    if answer.board is None:
        return "Not considered: the kernel and the copies share the rate of the memory they use."
    least = board_bank_s(answer)
    if least is None or least <= best.per_item.value:
        return ""
    banks = "the bank" if best.place.banks == 1 else "a bank"
    return (
        f"On a board at least {format_seconds(least)} an item, if the kernel reads and writes each "
        f"byte once: kernel and transfers share {banks}'s rate, which the emulated card leaves out."
    )


def _parts(answer: Answer) -> str:
    """Words for the time of one item at each stage of the job."""
    stages = answer.advice.stages
    parts = {
        "host": stages.host_before + stages.host_after,
        "in": stages.into.fixed + stages.into.data,
        "launch": stages.launch,
        "kernel": stages.kernel,
        "out": stages.out.fixed + stages.out.data,
    }
    named = ", ".join(f"{name} {format_seconds(s)}" for name, s in parts.items() if s)
    what = "One item alone" if answer.advice.best.group == 1 else "One transfer of items alone"
    return f"{what}: {named}."


def _how(answer: Answer) -> str:
    if answer.emulated:
        place = answer.advice.best.place
        return (
            f"How: {place.device} is card:{answer.board_name} driven by {api_of(place)}; "
            f"{answer.how}; the software of the API and the host's copies as measured on "
            "processors like these. No hardware was used."
        )
    real = answer.records[answer.advice.best.place.device].real
    return f"How: {answer.how}.{'' if real else ' No hardware was measured.'}"


def _table(best: Plan, others: Sequence[Plan]) -> Iterator[str]:
    yield f"{'sets':>4}  {'an item':>8}  {'in all':>8}  way"
    for plan_ in sorted([best, *others], key=lambda plan: plan.total.value):
        place = plan_.place
        way = [api_of(place), memory_of(place), _banks(place)]
        way += [f"{plan_.group} items a transfer"] if plan_.group > 1 else []
        mark = " <-" if plan_ is best else ""
        item, total = format_seconds(plan_.per_item.value), format_seconds(plan_.total.value)
        yield f"{plan_.sets:>4}  {item:>8}  {total:>8}  {', '.join(filter(None, way))}{mark}"


def as_json(answer: Answer) -> str:
    """The advice as JSON."""
    advice = answer.advice

    def plain(plan: Plan) -> Mapping[str, object]:
        return {
            "sets": plan.sets,
            "device": plan.place.device,
            "api": api_of(plan.place),
            "call": plan.place.call,
            "memory": plan.place.memory,
            "banks": plan.place.banks,
            "items_in_a_transfer": plan.group,
            "per_item_s": plan.per_item._asdict(),
            "total_s": plan.total._asdict(),
            "limit": plan.limit._asdict(),
        }

    job = advice.job
    return json_text(
        {
            "job": {
                "in_bytes": job.into,
                "kernel_s": job.kernel_s,
                "out_bytes": job.out,
                "times": job.times,
            },
            "how": answer.how,
            "hardware": not answer.emulated and answer.records[advice.best.place.device].real,
            "best": plain(advice.best),
            "board_bank_s": board_bank_s(answer),
            "alternatives": [plain(plan) for plan in advice.others],
        }
    )
