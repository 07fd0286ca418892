"""A model on the command line: its options, read from arguments, and its figures as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from isthmus import boards, models
from isthmus.columns import columns
from isthmus.errors import UsageError
from isthmus.models.base import NO_BOARD, Figure, Model, Option
from isthmus.text import nearest
from isthmus.units import format_rate, format_seconds, format_size, parse_size


def options(arguments: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """``--name value`` and ``--name=value`` as a mapping; ``--json`` alone is ``true``."""
    given: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        key = name.removeprefix("--")
        if not name.startswith("--") or key not in known:
            accepted = ", ".join(f"--{k}" for k in known) or "none"
            raise UsageError(f"unknown option '{name}'; {nearest(key, known)}known: {accepted}")
        if key == "json":
            value = "true"
        elif not equals:
            if not rest:
                raise UsageError(f"{name} needs a value")
            value = rest.pop(0)
        if key in given:
            raise UsageError(f"{name} is given twice")
        given[key] = value
    return given


def answer(model: Model, arguments: Sequence[str]) -> str:
    """The figures that a model gives for these options: a table, or JSON with ``--json``."""
    own = [option.name for option in model.options]
    given = options(arguments, (*(["board"] if model.default_board else []), "json", *own))
    replaced: dict[str, str] = {}
    inputs: dict[str, float] = {}
    for option in model.options:
        if option.name in given and option.parameter:
            replaced[option.parameter] = given[option.name]
        elif option.name in given:
            inputs[option.name] = _number(option, given[option.name])
        elif option.default is not None:
            inputs[option.name] = option.default
    board = NO_BOARD
    if model.default_board:
        board = boards.named(given.get("board", model.default_board), replaced)
    figures = model.predict(board, inputs)
    if "json" in given:
        data = {
            "model": model.name,
            "board": board.name,
            "inputs": inputs,
            "replaced": replaced,
            "figures": [figure._asdict() for figure in figures],
        }
        return msgspec.json.format(msgspec.json.encode(data)).decode() + "\n"
    changed = "".join(f", {name}={value}" for name, value in replaced.items())
    on_board = f"; board {given.get('board', board.name)}{changed}" if model.default_board else ""
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


def usage(model: Model) -> str:
    """A model's options."""
    rows = [(f"--{o.name}", o.unit, _default(o), o.meaning) for o in model.options]
    if model.default_board:
        board = ("--board", "", model.default_board, "board or file, e.g. u250,link.lanes=8")
        rows.insert(0, board)
    rows = [("option", "unit", "default", "meaning"), *rows, ("--json", "", "", "as data")]
    lines = [f"isthmus model {model.name}: {model.summary}", *columns(rows)]
    return "\n".join(lines) + "\n"


def _default(option: Option) -> str:
    if option.parameter:
        return option.parameter
    return "" if option.default is None else f"{option.default:g}"


def overview() -> str:
    """All models, a line each."""
    known: Mapping[str, Model] = models.registry()
    rows = [(m.name, m.summary) for m in known.values()]
    rows.append(("validate", "published figures beside what closed forms and events predict"))
    rows.append(("fit", "redo the fits of the boards' fitted parameters"))
    lines = ["isthmus model NAME [--board BOARD] [--option value ...] [--json]"]
    return "\n".join([*lines, *columns(rows)]) + "\n"
