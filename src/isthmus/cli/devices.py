"""``isthmus devices``: what is here, what each can do, what is missing and how to get it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from isthmus.measure import discovery, protocol


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(name="devices", help="What is here, what each can do, what is missing.")(devices)


def devices(
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="refuse where another Isthmus measures")
    ] = False,
) -> None:
    """Lists devices, the studies that each can be measured with, and what is in the way of more.

    ``--json`` names the operations.
    """
    from isthmus.measure import discovery
    from isthmus.system import lock

    with lock.alone(_say, no_wait=no_wait):  # runtimes that start would be part of its figures
        surveys = discovery.surveys()
    if as_json:
        import msgspec

        print(msgspec.json.format(msgspec.json.encode(_as_data(surveys)), indent=2).decode())
        return
    from rich.console import Console
    from rich.table import Column, Table

    from isthmus.units import format_size

    console = Console()
    table = Table(
        Column("device", no_wrap=True), "name", "platform", "largest buffer", "studies", box=None
    )
    for survey in surveys:
        for found in survey.found:
            described = found.description
            table.add_row(
                "\n".join([found.address, *found.others]),
                described.name,
                described.platform,
                format_size(1 << (described.max_buffer_bytes.bit_length() - 1)),
                " ".join(_studies_for(described)),
            )
    console.print(table)
    told: dict[str, list[str]] = {}
    for survey in surveys:
        for problem in survey.problems:
            told.setdefault(f"{problem.what}; {problem.cure}", []).append(survey.backend.name)
    for problem_and_cure, backends in told.items():
        console.print(
            f"{', '.join(backends)}: {problem_and_cure}",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip


def _say(message: str) -> None:
    print(f"isthmus: {message}", file=sys.stderr)


def _studies_for(device: protocol.DeviceDescription) -> list[str]:
    from isthmus import studies
    from isthmus.studies.base import offered

    return [
        study.name
        for study in studies.registry().values()
        if any(offered(study, device, str(operation)) for operation in study.operations_usually)
    ]


def _as_data(surveys: list[discovery.Survey]) -> list[dict[str, object]]:
    import msgspec

    return [
        {
            "backend": survey.backend.name,
            "summary": survey.backend.summary,
            "schemes": survey.backend.schemes,
            "real": survey.backend.real,
            "devices": [
                {"address": f.address, "others": f.others, **msgspec.structs.asdict(f.description)}
                for f in survey.found
            ],
            "problems": [{"what": p.what, "cure": p.cure} for p in survey.problems],
        }
        for survey in surveys
    ]
