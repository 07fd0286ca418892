"""``isthmus model``: prints predictions and fits of models, and errors at published figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from isthmus.cli.declared import DeclaringCommand
from isthmus.command import App
from isthmus.errors import UsageError
from isthmus.output import put
from isthmus.run_options import RunOption, flag

if TYPE_CHECKING:
    from isthmus.models import Model


def add_to(app: typer.Typer) -> None:
    """Registers the group ``model`` with its commands."""
    group = App(cls=Models, rich_markup_mode=None)
    group.callback(invoke_without_command=True)(overview)
    group.command(help="Compare every published figure with what the models predict.")(validate)
    group.command(help="Redo the fits of the boards' fitted parameters.")(fit)
    app.add_typer(
        group,
        name="model",
        help="Predict with a closed form, redo the fits, or compare with every published figure.",
    )


def overview(context: typer.Context) -> None:
    """Prints a line for each model, if the user names no model."""
    if context.invoked_subcommand is None:
        put(context.get_help())


class Models(TyperGroup):
    """A group with a command for each model, beside its own commands."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the models, then the group's own commands."""
        from isthmus.models import registry

        return [*registry(), *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; raises UsageError for an unknown name."""
        from isthmus.models import by_name

        return super().get_command(ctx, cmd_name) or _command(by_name(cmd_name))


def _command(model: Model) -> Any:
    """Makes the command that prints a model's figures."""

    class Predicting(DeclaringCommand):
        def declared(self) -> list[RunOption]:
            return list(_options(model))

    def predict(context: typer.Context) -> None:
        from isthmus.cli import model_figures

        as_json = context.obj.pop("json")
        for name, values in context.obj.items():
            if len(values) > 1:
                raise UsageError(f"{flag(name)} is given twice")
        text_by_name = {name: values[0] for name, values in context.obj.items() if values}
        put(model_figures.answer(model, text_by_name, as_json=as_json), end="")

    app = App(add_completion=False, rich_markup_mode=None)
    summary = f"{model.summary[0].upper()}{model.summary[1:]}."
    app.command(cls=Predicting, help=summary, short_help=summary)(predict)
    return typer.main.get_command(app)


def _options(model: Model) -> Iterator[RunOption]:
    """Yields options for a model's inputs; their help has the usual value in brackets."""
    if model.default_board:
        usual = f"[{model.default_board}]"
        yield RunOption("board", f"board or file, e.g. u250,link.lanes=8 {usual}")
    for option in model.options:
        usual = option.parameter or (
            "" if option.default is None else f"{option.default:g} {option.unit}"
        )
        usual = f" [{usual.strip()}]" if usual else ""
        yield RunOption(option.name.replace("-", "_"), f"{option.meaning}{usual}")
    yield RunOption("json", "for programs", permission=True)


def validate(
    form: Annotated[
        str, typer.Option("--format", help="table, or with all points md, csv or json")
    ] = "table",
) -> None:
    """Prints residuals of the models at published figures."""
    from isthmus.text import require_known
    from isthmus.validation import residuals

    require_known("format", form, residuals.FORMATS)
    put(residuals.render(residuals.validate(), form), end="")


def fit() -> None:
    """Prints the fitted parameters of the boards."""
    from isthmus.validation import fitting

    put(fitting.text(fitting.refit()), end="")
