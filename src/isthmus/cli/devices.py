"""``isthmus devices``: lists devices of this machine, their studies, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli.shared_options import NoWait
from isthmus.output import put, warn

if TYPE_CHECKING:
    from isthmus.measure import discovery


def devices(
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
    no_wait: NoWait = False,
) -> None:
    """Lists devices, the studies that each can be measured with, and what is missing.

    ``--json`` names the operations.
    """
    from isthmus.measure import discovery
    from isthmus.system import lock

    with lock.exclusive(warn, no_wait=no_wait):  # runtimes that open devices disturb measurements
        surveys = discovery.surveys()
    if as_json:
        from isthmus.written import json_text

        put(json_text(_as_data(surveys)), end="")
        return
    for text in _lines(surveys):
        put(text)


def _lines(surveys: Sequence[discovery.Survey]) -> Iterator[str]:
    """Yields lines for each device, then missing parts and how to install them."""
    from isthmus.columns import columns, wrapped
    from isthmus.units import printable

    rows = [("device", "studies", "name")]
    further: list[str] = []
    for survey in surveys:
        for device in survey.devices:
            able = studies_of(device)
            if "," in device.address:  # options in the address name another library
                further += wrapped(f"{device.address}: {device.candidate.label}")
            if not device.others:
                rows.append((device.address, " ".join(able), printable(device.description.name)))
                continue
            scheme = device.address.partition(":")[0]
            by_board = _studies_by_address(device)
            names = [address.removeprefix(f"{scheme}:") for address in by_board]
            some = dict.fromkeys(name for able in by_board.values() for name in able)
            rows.append((f"{scheme}:BOARD", " ".join(some), "one of the boards below"))
            further += wrapped(f"{scheme}:BOARD: {', '.join(names)}")
            for study in some:
                can = [n for n, able in zip(names, by_board.values(), strict=True) if study in able]
                cannot = [name for name in names if name not in can]
                which = f"only {', '.join(can)}" if len(can) < len(cannot) else (
                    f"all but {', '.join(cannot)}"
                )  # fmt: skip
                further += wrapped(f"{scheme}:BOARD: {study}: {which}") if cannot else []
    yield from columns(rows)
    yield from ["", *further] if further else []
    missing: dict[str, list[str]] = {}
    for survey in surveys:
        for problem in survey.problems:
            missing.setdefault(f"{problem.what}; {problem.cure}", []).append(survey.backend.name)
    if missing:
        yield from ["", "Missing, and how to get it:"]
    for what_and_cure, backends in missing.items():
        yield from wrapped(f"{', '.join(backends)}: {printable(what_and_cure)}")


def studies_of(device: discovery.FoundDevice) -> list[str]:
    """Names of studies whose plans have tasks for a device."""
    from isthmus import studies
    from isthmus.measure.plan import plan

    return [study.name for study in studies.in_order() if plan(study, device, {}).tasks]


def _studies_by_address(device: discovery.FoundDevice) -> dict[str, list[str]]:
    """Studies by address, for a device and others of its kind; one worker opens all of them."""
    from isthmus.errors import IsthmusError
    from isthmus.measure.devices import open_in

    def able(address: str) -> list[str]:
        try:
            return studies_of(open_in(worker, replace(device, address=address)))
        except IsthmusError:  # other devices of the kind may still have studies
            return []

    with device.worker() as worker:
        return {address: able(address) for address in (device.address, *device.others)}


def _as_data(surveys: list[discovery.Survey]) -> list[dict[str, object]]:
    import msgspec

    return [
        {
            "backend": survey.backend.name,
            "summary": survey.backend.summary,
            "schemes": survey.backend.schemes,
            "by_default": survey.backend.by_default,
            "devices": [
                {
                    "address": f.address,
                    "real": f.real,
                    "others": f.others,
                    "studies": studies_of(f),
                    **msgspec.structs.asdict(f.description),
                }
                for f in survey.devices
            ],
            "problems": [{"what": p.what, "cure": p.cure} for p in survey.problems],
        }
        for survey in surveys
    ]
