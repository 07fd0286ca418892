"""Commands that refuse an option that is given twice, unless it takes several values."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand

from isthmus.errors import UsageError


class Command(TyperCommand):
    """A command; without this the last of several values would count, silently."""

    runs: ClassVar[Sequence[str]] = ()
    """Names of other commands that it runs."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses arguments. Raises UsageError for an option with a value that is given twice."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        single = [
            one
            for one in order
            if one.param_type_name == "option"
            and not (one.multiple or getattr(one, "is_flag", False))
        ]
        for one in single:
            if single.count(one) > 1:
                raise UsageError(f"{one.opts[0]} is given twice")
        return super().parse_args(ctx, args)


class App(typer.Typer):
    """An application or a group of such commands."""

    def command(self, name: str | None = None, *, cls: Any = Command, **options: Any) -> Any:
        """Registers a command: see ``typer.Typer.command``."""
        return super().command(name, cls=cls, **options)

    def __call__(self, args: Sequence[str] | None = None, **options: Any) -> Any:
        """Runs a command. Typer makes all of them first; only the one that is named is needed."""
        words = sys.argv[1:] if args is None else args
        name = next((word for word in words if not word.startswith("-")), "")
        needed = copy.copy(self)
        named = [one for one in self.registered_commands if one.name == name]
        wanted = {name, *(other for one in named for other in getattr(one.cls, "runs", ()))}
        needed.registered_commands = [one for one in self.registered_commands if one.name in wanted]
        needed.registered_groups = [one for one in self.registered_groups if one.name == name]
        known = needed.registered_commands or needed.registered_groups
        return typer.Typer.__call__(needed if known else self, args=args, **options)
