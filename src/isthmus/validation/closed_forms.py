"""Finds the closed forms that rows of published figures name: (board, inputs) -> SI units."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from isthmus import models
from isthmus.boards import Board
from isthmus.errors import UsageError
from isthmus.text import did_you_mean

_OF_NO_MODEL: Mapping[str, Callable[..., float]] = {
    "parameter": lambda board, name: board.seconds(name),
}


def closed_form(name: str, inputs: Mapping[str, Any]) -> Callable[[Board], float]:
    """Returns a function of a board: the closed form of this name with fixed inputs.

    Raises UsageError for an unknown name.
    """
    of_models = (model.closed_forms.items() for model in models.registry().values())
    forms = {**_OF_NO_MODEL, **{form: function for some in of_models for form, function in some}}
    if name not in forms:
        raise UsageError(
            f"no closed form '{name}'; {did_you_mean(name, forms)}known: {', '.join(forms)}"
        )
    signature = inspect.signature(forms[name])
    try:
        signature.bind(None, **inputs)
    except TypeError as error:
        takes = ", ".join([*signature.parameters][1:]) or "none"
        raise UsageError(f"closed form '{name}': {error}; its inputs: {takes}") from error
    return lambda board: forms[name](board, **inputs)
