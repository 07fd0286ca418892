"""``isthmus model``: predict, fit or validate. Options come from the models' tables."""

from __future__ import annotations

from typing import Annotated

import typer

_OWN_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(
        name="model",
        help="Predict with a closed form (NAME), redo the fits (fit), or compare with every "
        "published figure (validate); NAME --help lists a model's options.",
        context_settings=_OWN_OPTIONS,
    )(model)


def model(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="a model's name, validate or fit")] = "",
) -> None:
    """Prints figures of a model, residuals, or fitted parameters."""
    from isthmus import models
    from isthmus.cli import model_figures

    if name in {"", "--help"} or (name in {"validate", "fit"} and "--help" in context.args):
        print(model_figures.overview(), end="")
    elif name == "validate":
        from isthmus.validation import residuals

        given = model_figures.options(context.args, known=("format",))
        form = residuals.known_format(given.get("format", "table"))
        print(residuals.render(residuals.validate(), form), end="")
    elif name == "fit":
        from isthmus.validation import fitting

        model_figures.options(context.args, known=())
        print(fitting.text(fitting.refit()), end="")
    else:
        chosen = models.by_name(name)
        if "--help" in context.args:
            print(model_figures.usage(chosen), end="")
        else:
            print(model_figures.answer(chosen, context.args), end="")
