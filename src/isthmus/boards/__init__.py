"""Boards: descriptions of a card, its link and its host, each a TOML file.

Installed boards are ``card/boards/NAME.toml``; boards include files whose names begin with ``_``.
Users name a board of their own by the path of its TOML file.
"""

from __future__ import annotations

from collections.abc import Mapping

from isthmus import built
from isthmus.boards.board import Board, Setting
from isthmus.boards.reader import from_flat, read
from isthmus.errors import IsthmusError, UsageError

__all__ = ["Board", "Setting", "load", "named", "names", "of_device", "recorded", "resolve"]

FOLDER = built.FOLDER / "boards"


def names() -> list[str]:
    """Names of the boards that are installed with Isthmus, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob("[!_]*.toml"))


def load(name_or_path: str, overrides: Mapping[str, str] | None = None) -> Board:
    """A board by name or file, with some parameters replaced (``{"link.lanes": "8"}``).

    Raises UsageError with file and key for an invalid value.
    """
    return read(name_or_path, FOLDER, overrides or {})


def named(text: str, overrides: Mapping[str, str] | None = None) -> Board:
    """Loads a board that the command line names: ``u250``, ``my.toml``, ``u250,link.lanes=8``."""
    name, *pieces = text.split(",")
    replaced: dict[str, str] = {}
    for piece in pieces:
        key, equals, value = piece.partition("=")
        if not equals:
            raise UsageError(f"'{piece}' is not KEY=VALUE; write {name},link.lanes=8")
        if key in replaced:
            raise UsageError(f"'{text}' says {key} twice")
        if key in (overrides or {}):
            raise UsageError(f"{key} is given twice: in '{text}', and by an option")
        replaced[key] = value
    return load(name, {**replaced, **(overrides or {})})


def recorded(properties: Mapping[str, str]) -> Board | None:
    """A board from the flat values that a run recorded for a device; None if it recorded none.

    Raises UsageError for values that do not form a board.
    """
    if "board.name" not in properties:
        return None
    return from_flat(properties)


def of_device(properties: Mapping[str, str]) -> Board | None:
    """The board of an emulated card, from the name or the values that a run recorded.

    None for other devices, and if the board is missing or invalid.
    """
    try:
        named_board = properties.get("emulated_card")
        return named(named_board) if named_board else recorded(properties)
    except IsthmusError:
        return None


def resolve(name_or_path: str, overrides: Mapping[str, str] | None = None) -> dict[str, str]:
    """A board's values as texts for the emulated card, by flat name: ``{"link.lanes": "16"}``."""
    return load(name_or_path, overrides).flat()
