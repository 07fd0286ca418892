"""Adds the options that backends and studies declare to the parameters of a command."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any

import typer

from isthmus.command import Command
from isthmus.errors import UsageError
from isthmus.run_options import RunOption, flag


class DeclaringCommand(Command):
    """A command with options of all backends, whose values it puts into ``context.obj``."""

    def declared(self) -> list[RunOption]:
        """Options to add to the command; options without help are left out of ``--help``."""
        from isthmus.backends import run_options

        return list(run_options().values())

    @cached_property
    def _declared_parameters(self) -> list[Any]:
        own = {p.name for p in self.params}
        return [p for p in _parameters(self.declared()) if p.name not in own]

    def get_params(self, ctx: Any) -> list[Any]:
        """The command's own parameters, then the declared options; ``--help`` is last."""
        *own, last = super().get_params(ctx)
        return [*own, *self._declared_parameters, last]

    def invoke(self, ctx: Any) -> Any:
        """Calls the command's function with its own parameters."""
        ctx.obj = {p.name: ctx.params.pop(p.name) for p in self._declared_parameters}
        return super().invoke(ctx)


def _parameters(options: Sequence[RunOption]) -> list[Any]:
    """Parameters that Typer makes of a function with these options."""

    def declaring() -> None:
        """Carries the signature that Typer reads; this function is never called."""

    hints: dict[str, Any] = {
        option.name: Annotated[
            bool if option.permission else list[str],
            typer.Option(
                option.flag,
                help=option.help,
                hidden=not option.help,
                metavar=None if option.permission else "VALUE",
            ),
        ]
        for option in options
    }
    declaring.__annotations__ = hints
    declaring.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                option.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=False if option.permission else [],
                annotation=hints[option.name],
            )
            for option in options
        ]
    )
    app = typer.Typer(add_completion=False)
    app.command()(declaring)
    return list(typer.main.get_command(app).params)


def separated(values_by_name: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Splits the values of declared options into options of devices and axes of studies.

    Raises UsageError for an option that is given twice.
    """
    from isthmus.backends import run_options

    backend_options = run_options()
    of_devices: dict[str, str] = {}
    axes: dict[str, str] = {}
    for name, values in values_by_name.items():
        if values is True:
            of_devices[name] = "yes"
        for value in values or () if not isinstance(values, bool) else ():
            form = backend_options[name].form or ".*" if name in backend_options else None
            chosen = axes if form is None or not re.fullmatch(form, value) else of_devices
            if name in chosen:
                raise UsageError(f"{flag(name)} is given twice")
            chosen[name] = value
    return of_devices, axes
