"""Commands that refuse an option that is given twice, unless it takes several values."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from isthmus.errors import UsageError


class Command(TyperCommand):
    """A command; without this the last of several values would count, silently."""

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
