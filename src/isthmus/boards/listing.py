"""A board as text, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isthmus.boards.board import Board, text
from isthmus.boards.table import TABLE


def about(board: Board) -> dict[str, str]:
    """Name, title and description."""
    return {"name": board.name, "title": board.title, "description": board.description}


def as_data(board: Board) -> dict[str, object]:
    """The whole board; parameters in the table's order."""
    return {
        **about(board),
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
    """One line for each board."""
    yield from columns([(board.name, board.title) for board in boards])


def lines(board: Board) -> Iterator[str]:
    """One line for each parameter, under a heading."""
    yield f"{board.name}: {board.title}"
    if board.description:
        yield board.description
    rows = [("parameter", "value", "unit", "kind", "source")]
    for name, setting in board.settings.items():
        fitted = f" [{setting.calibration}]" if setting.calibration else ""
        unit = TABLE[name].unit
        rows.append((name, text(setting.value), unit, setting.kind, setting.source + fitted))
    yield from columns(rows)


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of cells as lines, each column as wide as it needs."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
