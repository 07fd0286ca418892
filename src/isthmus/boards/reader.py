"""Reads board files: follows includes, applies overrides, and checks values by the table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from isthmus.boards.board import Board, Setting, Shell
from isthmus.boards.table import (
    KINDS,
    SECTIONS,
    TABLE,
    Parameter,
    of_section,
    required_sections,
)
from isthmus.errors import UsageError
from isthmus.text import did_you_mean, shortened

_BOARD_KEYS = ("name", "title", "description", "base", "include", "shells")
_SHELLS = "[{ name = ..., source = ... }]"
_SETTING_KEYS = ("value", "kind", "source", "calibration")


def read(name_or_path: str, folder: Path, overrides: Mapping[str, str]) -> Board:
    """A board of ``folder`` by name, or any board file by path. Raises UsageError of one line."""
    try:
        return _read(name_or_path, folder, overrides)
    except UsageError as error:
        line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(error))
        raise UsageError(line) from error
    except OSError as error:  # a name that no file can have, also of an included board
        raise UsageError(f"board '{shortened(name_or_path)}': {error.strerror}") from error


def from_flat(values: Mapping[str, str]) -> Board:
    """A board from texts by flat name, including ``board.name``; unknown names are ignored."""
    name, where = values["board.name"], Path("the run file")
    settings = {
        key: Setting(TABLE[key].parse(text), "chosen", "recorded in the run")
        for key, text in values.items()
        if key in TABLE
    }
    return Board(name, name, "", MappingProxyType(dict(_complete(settings, where))))


def _read(name_or_path: str, folder: Path, overrides: Mapping[str, str]) -> Board:
    path = _locate(name_or_path, folder)
    about, settings, shells = _merged(path, folder, ())
    present = _sections(settings)
    for name, value in overrides.items():
        changed = _override(name, value)
        if (section := name.partition(".")[0]) not in present:
            raise UsageError(f"{name}={value}: board '{name_or_path}' has no [{section}]")
        settings[name] = changed
    if "base" not in about and "include" not in about:
        _require_all_or_base(settings, path)
    complete = dict(_complete(settings, path))
    _check_consistency(complete, path)
    name = about.get("name", path.stem)
    changed_ones = ", ".join(f"{key}={value}" for key, value in overrides.items())
    title = about.get("title", name) + (f", with {changed_ones}" if changed_ones else "")
    return Board(name, title, about.get("description", ""), MappingProxyType(complete), shells)


_MOST_BYTES = 64 << 10
"""Bytes of the largest board file that is read: installed files have 5 KiB at most. The parser
takes 6 s for a key of 200 KB, and time in the square of the length for longer keys."""
_MOST_NUMBER = 1 << 63
"""Largest accepted integer: Python refuses to print numbers of more than 4300 digits."""
_MOST_INCLUDED = 16
"""Most files in a chain of includes; an installed board includes one file."""


def _locate(name_or_path: str, folder: Path, including: Path | None = None) -> Path:
    """The path of a board's file: the text itself if it looks like a path, else in ``folder``.

    ``including``: folder of the file whose include names the board; this folder is searched first.
    A name without a folder is then searched among the installed boards in ``folder``.
    """
    if "\0" in name_or_path:
        raise UsageError(f"{shortened(name_or_path)}: no file has such a name")
    if name_or_path.endswith(".toml") or "/" in name_or_path:
        path = Path(os.path.expanduser(name_or_path))
        if including is None:
            places = [path]
        else:
            places = [including / path, *([] if "/" in name_or_path else [folder / path])]
        file = next((place for place in places if place.is_file()), None)
        if file is None:
            installed = f", and {folder} has none" if len(places) > 1 else ""
            raise UsageError(f"{places[0]}: no such file{installed}")
        return file
    path = folder / f"{name_or_path}.toml"
    if name_or_path.startswith("_") or not path.is_file():
        installed_names = sorted(p.stem for p in folder.glob("[!_]*.toml"))
        raise UsageError(
            f"unknown board '{name_or_path}'; {did_you_mean(name_or_path, installed_names)}"
            f"known: {', '.join(installed_names)}, or a path to a .toml"
        )
    return path


def _merged(
    path: Path, folder: Path, including: tuple[Path, ...]
) -> tuple[dict[str, str], dict[str, Setting], tuple[Shell, ...]]:
    """Returns a file's ``[board]`` table, its settings by flat name, and its shells.

    Settings of this file replace those of the included file. A file without shells gets the shells
    of the included file, whose other entries of ``[board]`` are ignored.
    """
    real = path.resolve()
    if real in including:
        chain = " -> ".join(p.name for p in (*including, real))
        raise UsageError(f"{path}: board.include is cyclic: {chain}")
    if len(including) > _MOST_INCLUDED:
        raise UsageError(f"{path}: more than {_MOST_INCLUDED} files include one another")
    document = _document(path)
    about, shells = _about(document.pop("board", {}), path)
    settings = dict(_settings(document, path))
    if "base" in about and "include" in about:
        raise UsageError(f"{path}: board.base and board.include are the same: write one")
    said = "base" if "base" in about else "include"
    included = about.get(said)
    if included is None:
        return about, settings, shells
    try:
        included_path = _locate(included, folder, path.parent)
    except UsageError as error:
        raise UsageError(f"{path}: board.{said}: {error}") from error
    _, under, included_shells = _merged(included_path, folder, (*including, real))
    return about, {**under, **settings}, shells or included_shells


def _document(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path}: larger than {_MOST_BYTES >> 10} KiB, which no board is")
    try:
        return msgspec.toml.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: no TOML: {shortened(str(error))}") from error


def _about(section: Any, path: Path) -> tuple[dict[str, str], tuple[Shell, ...]]:
    if not isinstance(section, dict):
        raise UsageError(f"{path}: board is no section; write [board]")
    texts = dict(section)
    try:
        shells = msgspec.convert(texts.pop("shells", []), tuple[Shell, ...])
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: board.shells: write {_SHELLS}") from error
    for key, value in texts.items():
        if key not in _BOARD_KEYS:
            raise UsageError(
                f"{path}: board.{key} is unknown; {did_you_mean(key, _BOARD_KEYS)}"
                f"[board] has {', '.join(_BOARD_KEYS)}"
            )
        if not isinstance(value, str) or not value:
            raise UsageError(f"{path}: board.{key} is no text")
    return texts, shells


def _settings(document: Mapping[str, Any], path: Path) -> Iterator[tuple[str, Setting]]:
    for section, entries in document.items():
        if section not in SECTIONS:
            raise UsageError(
                f"{path}: [{section}] is unknown; {did_you_mean(section, SECTIONS)}"
                f"known: board, {', '.join(SECTIONS)}"
            )
        if not isinstance(entries, dict):
            raise UsageError(f"{path}: {section} is no section; write [{section}]")
        for key, entry in entries.items():
            name = f"{section}.{key}"
            try:
                yield name, _setting(name, entry, str(path))
            except UsageError as error:
                raise UsageError(f"{path}: {name}: {error}") from error


def _setting(name: str, entry: Any, file: str) -> Setting:
    if name not in TABLE:
        section, _, key = name.partition(".")
        keys = [parameter.key for parameter in of_section(section)]
        raise UsageError(f"unknown key; {did_you_mean(key, keys)}known: {', '.join(keys)}")
    if isinstance(entry, (bool, int, float, str)):
        entry = {"value": entry, "kind": "assumed", "source": f"a plain value in {Path(file).name}"}
    if not isinstance(entry, dict):
        raise UsageError("write a value, or { value = ..., kind = ..., source = ... }")
    for key in entry:
        if key not in _SETTING_KEYS:
            raise UsageError(
                f"'{key}' is unknown; {did_you_mean(key, _SETTING_KEYS)}"
                f"known: {', '.join(_SETTING_KEYS)}"
            )
    for key in ("value", "kind", "source"):
        if key not in entry:
            raise UsageError(f"'{key}' is missing")
    kind, source, calibration = entry["kind"], entry["source"], entry.get("calibration", "")
    if kind not in KINDS:
        raise UsageError(f"kind {kind!r} is none of {', '.join(KINDS)}")
    if not isinstance(source, str) or not source.strip():
        raise UsageError("source is no text")
    if not isinstance(calibration, str) or (kind == "fitted") != bool(calibration):
        raise UsageError("calibration names the points of a fitted value, and of no other")
    value = entry["value"]
    if isinstance(value, int) and abs(value) > _MOST_NUMBER:
        raise UsageError("a number with too many digits")
    return Setting(TABLE[name].check(value), kind, source, calibration, file)


def _override(name: str, text: str) -> Setting:
    if name not in TABLE:
        raise UsageError(
            f"{name}={text}: unknown parameter of a board; {did_you_mean(name, TABLE)}"
            "isthmus card boards u250 lists them"
        )
    try:
        return Setting(TABLE[name].parse(text), "chosen", "given by the user")
    except UsageError as error:
        raise UsageError(f"{name}={text}: {error}") from error


def _sections(settings: Mapping[str, Setting]) -> set[str]:
    """Sections that these settings name, and sections that such a board must also have."""
    listed = {name.partition(".")[0] for name in settings}
    return listed | required_sections(listed)


def _absent(settings: Mapping[str, Setting]) -> list[Parameter]:
    """Parameters of the table that the board's sections need and the settings lack."""
    present = _sections(settings)
    return [p for p in TABLE.values() if p.section in present and p.name not in settings]


def _require_all_or_base(settings: Mapping[str, Setting], path: Path) -> None:
    """Raises UsageError if required parameters are missing from a board that names no base.

    The message has the line ``base = ...`` to add.
    """
    if missing := [p.name for p in _absent(settings) if p.default is None]:
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise UsageError(
            f'{path}: {missing[0]} is missing{more}: write base = "u250" below [board], which '
            "gives all that this file does not say (isthmus card boards lists boards)"
        )


def _complete(settings: Mapping[str, Setting], path: Path) -> Iterator[tuple[str, Setting]]:
    """Settings in the table's order, with defaults. Raises UsageError for missing parameters."""
    absent = _absent(settings)
    if missing := [p for p in absent if p.default is None]:
        names = "; ".join(f"{p.name} is missing ({p.meaning})" for p in missing)
        raise UsageError(f"{path}: {names}")
    defaults = {
        p.name: Setting(p.default, "assumed", "default of the table")
        for p in absent
        if p.default is not None
    }
    with_defaults = {**settings, **defaults}
    for name in TABLE:
        if name in with_defaults:
            yield name, with_defaults[name]


def _check_consistency(settings: Mapping[str, Setting], path: Path) -> None:
    """Raises UsageError for values that are valid separately but contradict each other."""
    has = {name.partition(".")[0] for name in settings}
    for part, needed, why in (
        ("dma", "memory", "a DMA engine needs card memory"),
        ("sram", "registers", "SRAM lies behind the registers' bus"),
    ):
        if part in has and needed not in has:
            raise UsageError(f"{path}: {of_section(needed)[0].name} is missing: {why}")
    for small, large, scale in (
        ("link.max_payload_bytes", "link.posted_data_credits", 16),
        ("dma.engines", "dma.tags", 1),
        ("memory.refresh_ns", "memory.refresh_interval_ns", 1),
    ):
        if small in settings:
            least, most = settings[small].value, settings[large].value
            if float(least) > float(most) * scale:
                chosen = [name for name in (large, small) if settings[name].kind == "chosen"]
                where = "" if chosen else f"{path}: "
                raise UsageError(f"{where}{large}={most} is too little for {small}={least}")
