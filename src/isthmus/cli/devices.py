"""``isthmus devices``: what is here, what each can do, what is missing and how to get it."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Column, Table

from isthmus.measure import discovery
from isthmus.units import format_size


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(name="devices", help="What is here, what each can do, what is missing.")(devices)


def devices(
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
) -> None:
    """Lists devices and what stands in the way of more."""
    surveys = discovery.surveys()
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(_as_data(surveys)), indent=2).decode())
        return
    console = Console()
    table = Table(
        Column("device", no_wrap=True), "name", "platform", "largest buffer", "can do", box=None
    )
    for survey in surveys:
        for found in survey.found:
            described = found.description
            table.add_row(
                "\n".join([found.address, *found.others]),
                described.name,
                described.platform,
                format_size(1 << (described.max_buffer_bytes.bit_length() - 1)),
                " ".join(dict.fromkeys(p.name for o in described.operations for p in o.parts)),
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


def _as_data(surveys: list[discovery.Survey]) -> list[dict[str, object]]:
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
