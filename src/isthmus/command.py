"""Typer commands that refuse a repeated option, and start without building other commands."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand

from isthmus.errors import UsageError


class Command(TyperCommand):
    """A command that refuses a repeated option, of which Typer would use the last silently."""

    runs: ClassVar[Sequence[str]] = ()
    """Names of other commands that this command calls, so that ``App`` builds them, too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses arguments. Raises UsageError for a repeated option that takes one value."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        single = [
            parameter
            for parameter in order
            if parameter.param_type_name == "option"
            and not (parameter.multiple or getattr(parameter, "is_flag", False))
        ]
        for parameter in single:
            if single.count(parameter) > 1:
                raise UsageError(f"{parameter.opts[0]} is given twice")
        return super().parse_args(ctx, args)


class App(typer.Typer):
    """The application or a group of commands, whose class is ``Command`` by default."""

    def command(self, name: str | None = None, *, cls: Any = Command, **options: Any) -> Any:
        """Registers a command: see ``typer.Typer.command``."""
        return super().command(name, cls=cls, **options)

    def __call__(self, args: Sequence[str] | None = None, **options: Any) -> Any:
        """Runs the command that ``args`` name, and builds only this one and the commands it calls.

        Building all commands would delay each start.
        """
        words = sys.argv[1:] if args is None else args
        name = next((word for word in words if not word.startswith("-")), "")
        needed = copy.copy(self)
        named = [
            command_info for command_info in self.registered_commands if command_info.name == name
        ]
        wanted = {
            name,
            *(other for command_info in named for other in getattr(command_info.cls, "runs", ())),
        }
        needed.registered_commands = [
            command_info for command_info in self.registered_commands if command_info.name in wanted
        ]
        needed.registered_groups = [
            command_info for command_info in self.registered_groups if command_info.name == name
        ]
        any_needed = needed.registered_commands or needed.registered_groups
        return typer.Typer.__call__(needed if any_needed else self, args=args, **options)
