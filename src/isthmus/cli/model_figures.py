"""Reads a model's inputs from the command line, and writes the model's figures as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from isthmus import boards
from isthmus.columns import columns
from isthmus.errors import UsageError
from isthmus.models.base import NO_BOARD, Figure, Model, Option
from isthmus.units import format_rate, format_seconds, format_size, parse_size
from isthmus.written import json_text


def answer(model: Model, texts: Mapping[str, str], *, as_json: bool = False) -> str:
    """Figures of a model for these options, as a table or as JSON.

    ``texts``: values by option name, with ``_`` in place of ``-``; ``board`` is one of the names.
    """
    replaced: dict[str, str] = {}
    inputs: dict[str, float] = {}
    for option in model.options:
        text = texts.get(option.name.replace("-", "_"))
        if text is not None and option.parameter:
            replaced[option.parameter] = text
        elif text is not None:
            inputs[option.name] = _number(option, text)
        elif option.default is not None:
            inputs[option.name] = option.default
    board = NO_BOARD
    if model.default_board:
        board = boards.named(texts.get("board", model.default_board), replaced)
    figures = model.predict(board, inputs)
    if as_json:
        data = {
            "model": model.name,
            "board": board.name,
            "inputs": inputs,
            "replaced": replaced,
            "figures": [figure._asdict() for figure in figures],
        }
        return json_text(data)
    changed = "".join(f", {name}={value}" for name, value in replaced.items())
    on_board = f"; board {texts.get('board', board.name)}{changed}" if model.default_board else ""
    lines = [f"{model.name}: {model.summary}{on_board}"]
    return "\n".join([*lines, *columns([*_rows(figures)])]) + "\n"


def _number(option: Option, text: str) -> float:
    if option.unit == "B":
        return float(parse_size(text))
    try:
        value = float(text)
    except ValueError as error:
        raise UsageError(f"--{option.name} {text}: no number") from error
    if not 0 < value < float("inf"):
        raise UsageError(f"--{option.name} {text}: must be above 0")
    return value


def _rows(figures: Sequence[Figure]) -> Iterator[tuple[str, str, str, str]]:
    yield "quantity", "at", "value", "note"
    for figure in figures:
        at = "" if figure.at is None else format_size(int(figure.at))
        yield figure.quantity, at, _shown(figure), figure.note


def _shown(figure: Figure) -> str:
    if figure.unit == "s":
        return format_seconds(figure.value)
    if figure.unit == "B/s":
        return format_rate(figure.value)
    return f"{figure.value:.4g} {figure.unit}".strip()
