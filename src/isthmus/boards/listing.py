"""Lists boards and their parameters as text, as plain data for JSON, and as TOML files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from isthmus.boards.board import Board, text
from isthmus.boards.table import TABLE
from isthmus.columns import columns


def about(board: Board) -> dict[str, str]:
    """Name, title and description of a board."""
    return {"name": board.name, "title": board.title, "description": board.description}


def as_data(board: Board) -> dict[str, object]:
    """All data of a board for JSON; parameters are in the order of ``boards.table.TABLE``."""
    return {
        **about(board),
        "shells": [{"name": shell.name, "source": shell.source} for shell in board.shells],
        "parameters": [
            {
                "parameter": name,
                "value": setting.value,
                "unit": TABLE[name].unit,
                "meaning": TABLE[name].meaning,
                "kind": setting.kind,
                "source": setting.source,
                "calibration": setting.calibration,
            }
            for name, setting in board.settings.items()
        ],
    }


def titles(boards: Sequence[Board]) -> Iterator[str]:
    """Yields one line for each board: name and title."""
    yield from columns([(board.name, board.title) for board in boards])


def lines(board: Board) -> Iterator[str]:
    """Yields the lines of one board: name, description, platforms, and a table of parameters."""
    yield f"{board.name}: {board.title}"
    if board.description:
        yield board.description
    if board.shells:
        yield "names under XRT, for card exec --device-name:"
        yield from columns([("", shell.name, shell.source) for shell in board.shells])
    rows = [("parameter", "value", "unit", "kind", "source")]
    for name, setting in board.settings.items():
        fitted = f" [{setting.calibration}]" if setting.calibration else ""
        unit = TABLE[name].unit
        rows.append((name, text(setting.value), unit, setting.kind, setting.source + fitted))
    yield from columns(rows)


def toml(board: Board) -> Iterator[str]:
    """The board as a complete TOML file, which reads back as an equal board."""
    yield f"# {board.title}. Change what differs."
    yield f"# Shorter: [board] base = {_quoted(board.name)}, and below it only what differs."
    yield "[board]"
    yield f"name = {_quoted('my-' + board.name)}"
    yield f"title = {_quoted('My ' + board.title)}"
    if board.shells:
        yield "shells = ["
        for shell in board.shells:
            yield f"  {{ name = {_quoted(shell.name)}, source = {_quoted(shell.source)} }},"
        yield "]"
    section = ""
    for name, setting in board.settings.items():
        before, (section, key) = section, name.split(".")
        if section != before:
            yield ""
            yield f"[{section}]"
        value = _quoted(setting.value) if isinstance(setting.value, str) else text(setting.value)
        kind = "assumed" if setting.kind == "chosen" else setting.kind
        entry = [
            f"value = {value}",
            f"kind = {_quoted(kind)}",
            f"source = {_quoted(setting.source)}",
        ]
        entry += [f"calibration = {_quoted(setting.calibration)}"] if setting.calibration else []
        yield f"{key} = {{ {', '.join(entry)} }}"


def _quoted(words: str) -> str:
    """A text quoted for TOML, with JSON's escapes, which TOML shares."""
    return msgspec.json.encode(words).decode()
