"""``isthmus advise --job``: advises how to run a job, from run files, times or a simulated card."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.cli.job_text import Answer, sentence
from isthmus.errors import UsageError
from isthmus.thresholds import ADVISED

if TYPE_CHECKING:
    from isthmus.analysis.job import Job, Place
    from isthmus.analysis.job_on_card import Api
    from isthmus.results.run_file import DeviceRecord, Run

_CARD = "card"
"""Scheme of addresses of emulated cards, and mode in the address of an API on such a card."""
_SMALL = 64 << 10
"""Largest item in bytes for which advice tries several items in one transfer."""
_TOGETHER = 16
"""Number of small items that advice tries in one transfer."""
_LEAST_GROUPS = 4
"""Least number of transfers that remain if several items share a transfer."""
_OPERATIONS = ("write", "read", "bidirectional", "launch")


def sizes_of(job: Job, group: int) -> list[int]:
    """Sizes of the copies whose times give the costs of a job."""
    from isthmus.analysis.job import START_BYTES

    used = job.grouped(group)
    return sorted({START_BYTES, *filter(None, (job.into, job.out, used.into, used.out))})


def group_of(job: Job) -> int:
    """Number of items in a transfer that is tried beside single items; 1 if none is tried."""
    small = max(job.into, job.out) <= _SMALL
    return max(1, min(_TOGETHER, job.times // _LEAST_GROUPS)) if small else 1


def from_runs(job: Job, runs: Sequence[Run], chosen: Sequence[str]) -> Answer:
    """Advises from times of real devices in runs.

    Raises UsageError if the runs lack a size that the job needs.
    """
    from isthmus.analysis.job import advise, costs_of_rows, measured
    from isthmus.analysis.summary import memory_copies, summarise
    from isthmus.frames import concat

    records = {device.address: device for run in runs for device in run.devices}
    for address in chosen:
        if address not in records:
            raise UsageError(f"no device '{address}' in these runs; here: {', '.join(records)}")
    copies = frozenset[str]().union(*map(memory_copies, runs))
    used = chosen or [address for address in records if address not in copies]
    if any(records[address].simulated for address in used):
        raise UsageError(
            "a job on an emulated card is simulated, not taken from a run: --device card:BOARD"
        )
    rows = concat([summarise(run) for run in runs])
    copy_times = measured(rows[rows["device"].isin(used)], runs[0].settings.confidence)
    costs = costs_of_rows(
        job,
        copy_times,
        {address: records[address].backend for address in used},
        {address: _computes_on_host(records[address]) for address in used},
    )
    simplest = sorted(costs, key=lambda place: _complexity(place, used))
    advice = advise(job, {1: {place: costs[place] for place in simplest}})
    return Answer(advice, records, "measured copies and launches, scheduled by a model")


def _computes_on_host(record: DeviceRecord) -> bool:
    """Whether kernels and copies of a device run on the host's own processors."""
    return record.properties.get("type") == "cpu"


def _complexity(place: Place, devices: Sequence[str]) -> tuple[object, ...]:
    """Sort key of a place: copies before maps, then the backend's order of kinds of memory."""
    from isthmus import backends

    backend = backends.of(place.backend)
    kinds = [backend.naive_memory, *backend.memory_calls]
    rank = kinds.index(place.memory) if place.memory in kinds else len(kinds)
    return place.call == "map", rank, devices.index(place.device)


def measured_runs(
    job: Job,
    addresses: Sequence[str],
    *,
    budget_s: float,
    options: Mapping[str, str],
    out: Path | None,
    no_wait: bool,
) -> list[Run]:
    """Makes a short run of study ``transfer`` with the sizes that the job needs."""
    from rich.console import Console

    from isthmus.analysis.advice import MAPS
    from isthmus.cli.progress import Progress
    from isthmus.measure import session
    from isthmus.measure.devices import devices_of
    from isthmus.measure.plan import Layer, has_memory, offered
    from isthmus.studies import by_name

    study = by_name("transfer")
    with tempfile.TemporaryDirectory() as folder, Progress(Console(stderr=True)) as progress:
        with session.lock_for_hardware(addresses, progress, no_wait=no_wait):
            devices, _ = devices_of(addresses, options, progress)
        operations = [
            name
            for name in (*_OPERATIONS, *MAPS)
            if any(offered(study, device.description, name) for device in devices)
        ]
        kinds = dict.fromkeys(
            kind
            for device in devices
            for kind in (device.backend.naive_memory, *device.backend.memory_calls)
            if has_memory(study, device.description, kind)
        )
        axes = {
            "bytes": ",".join(map(str, sizes_of(job, 1))),
            "operation": ",".join(operations),
            "memory": ",".join(kinds),
        }
        request = session.Request(
            studies=[study], devices=addresses, axes=axes, out=out or Path(folder, "job.json"),
            command=["isthmus", *sys.argv[1:]], precision=ADVISED, budget_s=budget_s,
            options=options, no_wait=no_wait, layer_of=lambda _: Layer.HEADLINES,
        )  # fmt: skip
        return [session.measure(request, progress)]


def apis_on_card(addresses: Sequence[str]) -> tuple[str, list[Api]]:
    """The emulated cards' board, as in ``card:BOARD``, and the APIs that are compared on it.

    The name is empty for addresses of other devices. Raises UsageError for several boards, or for a
    mix of emulated cards and other devices.
    """
    from isthmus import backends
    from isthmus.address import Address
    from isthmus.analysis.job_on_card import Api

    boards: dict[str, list[str]] = {}
    for text in addresses:
        address = Address.parse(text)
        if address.scheme == _CARD:
            boards.setdefault(text.removeprefix(f"{_CARD}:"), [])
        elif address.mode.startswith(f"{_CARD}="):
            boards.setdefault(address.mode.removeprefix(f"{_CARD}="), []).append(text)
        else:
            boards.setdefault("", [])
    if len(boards) > 1:
        names = ", ".join(name or "other devices" for name in boards)
        raise UsageError(f"one board at a time: --device names {names}")
    board, api_addresses = next(iter(boards.items()))
    every = {
        of.scheme: (name, of)
        for name, backend in backends.registry().items()
        if (of := backend.card_software) is not None
    }
    if not api_addresses:
        own = sorted(every, key=lambda scheme: not backends.by_scheme(scheme).own_api)
        api_addresses = [f"{scheme}:0@{_CARD}={board}" for scheme in own]
    schemes = [(text, Address.parse(text).scheme) for text in api_addresses]
    return board, [Api(text, *every[scheme]) for text, scheme in schemes if scheme in every]


def on_card(job: Job, board_name: str, apis: Sequence[Api]) -> Answer:
    """Advises for an emulated card, from simulated copies and the software time of each API."""
    from isthmus import boards
    from isthmus.analysis import job_on_card
    from isthmus.analysis.job import advise, measured
    from isthmus.analysis.summary import summarise
    from isthmus.measure.host_copy import copy_s

    board = boards.named(board_name)
    card, group = f"{_CARD}:{board_name}", group_of(job)
    devices = [address for address in (card, job_on_card.with_two_banks(card, board)) if address]
    run = _simulated(devices, sizes_of(job, group))
    copy_times = measured(summarise(run), run.settings.confidence)

    costs = {
        count: job_on_card.costs(job.grouped(count), copy_times, card, board, apis, copy_s)
        for count in sorted({1, group})
    }
    advice = advise(job, costs)
    answer = Answer(advice, {}, "simulated link and card, scheduled by a model")
    answer.board, answer.board_name = board, board_name
    return answer


def _simulated(devices: Sequence[str], sizes: Sequence[int]) -> Run:
    """Simulates copies on emulated cards, without the lock: the simulation uses no hardware."""
    from rich.console import Console

    from isthmus.analysis.job_on_card import MEMORY
    from isthmus.cli.progress import Progress
    from isthmus.measure import session
    from isthmus.studies import by_name

    axes = {
        "bytes": ",".join(map(str, sizes)),
        "operation": ",".join(_OPERATIONS[:3]),
        "memory": MEMORY,
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        Progress(Console(stderr=True, quiet=True)) as progress,
    ):
        request = session.Request(
            studies=[by_name("transfer")], devices=devices, axes=axes,
            out=Path(folder, "job.json"), command=["isthmus", *sys.argv[1:]],
        )  # fmt: skip
        return session.measure(request, progress)


def program(answer: Answer) -> str:
    """Writes a program that runs the job in the advised way, from the backend's template."""
    from isthmus import backends
    from isthmus.cli.templates import rendered

    advice = answer.advice
    place, job = advice.best.place, advice.job.grouped(advice.best.group)
    backend = backends.of(place.backend)
    if not backend.job_template:
        raise UsageError(f"no code for a job on {place.device}: its backend has no template")
    record = answer.records.get(place.device)
    hertz = answer.board.hertz("kernel.clock_MHz") if answer.board else _USUAL_HERTZ
    return rendered(
        backend, backend.job_template, place.device, place.memory,
        note=sentence(answer), board=answer.board_name or "u250", banks=place.banks,
        cycles=round(advice.stages.kernel * hertz), into=job.into, out=job.out, call=place.call,
        sets=advice.best.sets, times=advice.job.times, group=advice.best.group,
        kernel_s=job.kernel_s,
        platform=record.platform if record else "Xilinx",
        device=record.name if record else place.device,
    )  # fmt: skip


_USUAL_HERTZ = 300e6
"""Clock of kernels on AMD's platforms, assumed for a device without a board file."""
