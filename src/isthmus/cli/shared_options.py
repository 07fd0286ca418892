"""Declares options that several commands share, and refuses options that have no effect."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import timedelta
from typing import Annotated

import typer

from isthmus.errors import UsageError

MOST_SKEW = timedelta(minutes=10)
"""Most time by which a machine's clock may be ahead: NTP keeps clocks closer than that."""
NoWait = Annotated[bool, typer.Option("--no-wait", help="refuse while another Isthmus measures")]
Relevant = Annotated[str | None, typer.Option(help="smallest difference that counts, e.g. 2%")]
FailAbove = Annotated[
    str | None,
    typer.Option(help="gate: 3 where a time is longer by more, 5 undecided; 5%, auto or auto,10%"),
]
AllowOther = Annotated[
    str | None,
    typer.Option(help="gate: in what the base may differ: machine,device,settings,link"),
]


def options(context: typer.Context) -> Iterator[tuple[str, str]]:
    """Yields name and written form (``--numa-node``) of each option on the command line."""
    for parameter in context.command.get_params(context):
        source = context.get_parameter_source(parameter.name or "")
        if parameter.param_type_name == "option" and source and source.name == "COMMANDLINE":
            yield parameter.name or "", parameter.opts[0]


def refuse(context: typer.Context, names: Collection[str], why: str) -> None:
    """Raises UsageError, which ends with ``why``, if the user gives one of these options."""
    _refuse((flag for name, flag in options(context) if name in names), why)


def refuse_all_but(context: typer.Context, names: Collection[str], why: str) -> None:
    """Raises UsageError, which ends with ``why``, if the user gives any other option."""
    _refuse((flag for name, flag in options(context) if name not in names), why)


def _refuse(flags: Iterator[str], why: str) -> None:
    if without_effect := ", ".join(flags):
        raise UsageError(f"{without_effect} has no effect {why}")
