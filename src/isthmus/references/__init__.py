"""Reads what is known of boards and DMA engines: links, memories and rates, each with its source.

``boards`` has a TOML file for each board, ``engines`` for each engine. ``known.csv`` has the rates
of all of them: each row names boards and engines, and has the fields of ``Known``. Other packages
add files through the entry point group ``isthmus.references``: each entry is a folder's path, or a
function that returns the path. Users name a file of their own by its path. Files of packages and
users contain the rates themselves.
"""

from __future__ import annotations

import csv
import importlib.metadata
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

from isthmus.errors import UsageError
from isthmus.models.pcie import Link
from isthmus.references.reference import About, Known, Links, Memory, Peer, Reference
from isthmus.registration import load_entry_point
from isthmus.text import require_known

__all__ = ["Known", "Reference", "board", "boards", "engine", "link", "of_names"]

_FOLDER = Path(__file__).parent
_GROUP = "isthmus.references"
_LINK = re.compile(r"(?:pcie ?)?gen ?([1-6]) ?x ?(1|2|4|8|12|16|32)", re.IGNORECASE)
_SPEEDS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}


class _File(msgspec.Struct, forbid_unknown_fields=True):
    reference: About
    link: Links = Links()
    memory: Memory | None = None
    peer: list[Peer] = []
    known: list[Known] = []


def link(text: str) -> Link:
    """The link of a text such as ``gen3x16``; raises UsageError for any other text."""
    match = _LINK.fullmatch(text.strip())
    if not match:
        raise UsageError(f"'{text}' is no link; write gen3x16")
    return Link(_SPEEDS[int(match[1])], int(match[2]))


def link_of(generation: int, lanes: int) -> Link | None:
    """The link of this generation with these lanes; None if PCIe has no such link."""
    return Link(_SPEEDS[generation], lanes) if generation in _SPEEDS and 0 < lanes <= 32 else None


def read(path: Path) -> Reference:
    """Reads a board or an engine from a file; raises UsageError with file and fault."""
    try:
        file = msgspec.toml.decode(path.read_bytes(), type=_File)
        reference = Reference(
            **msgspec.structs.asdict(file.reference), link=file.link, memory=file.memory,
            peers=file.peer, known=file.known, file=path.name,
        )  # fmt: skip
        reference.check()
    except (OSError, ValueError, msgspec.ValidationError, UsageError) as error:
        raise UsageError(f"{path}: {' '.join(str(error).split())}") from error
    return reference


@cache
def _rates() -> Mapping[str, list[Known]]:
    """The known rates in ``known.csv``, by name of board or engine."""
    rates: dict[str, list[Known]] = {}
    with (_FOLDER / "known.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            names, also = row.pop("of").split(), row.pop("also").split()
            fields = {name: text for name, text in row.items() if text} | {"also": also}
            known = msgspec.convert(fields, Known, strict=False)
            for name in names:
                rates.setdefault(name, []).append(known)
    return rates


def _folders(kind: str) -> Iterator[Path]:
    yield _FOLDER / kind
    for entry in importlib.metadata.entry_points(group=_GROUP):
        place = load_entry_point(entry)
        yield Path(place() if callable(place) else place) / kind


@cache
def boards() -> Mapping[str, Reference]:
    """All boards by name. Of two files with the same name, the first counts: Isthmus's own."""
    return _all("boards")


@cache
def _engines() -> Mapping[str, Reference]:
    return _all("engines")


def _all(kind: str) -> Mapping[str, Reference]:
    references: dict[str, Reference] = {}
    for folder in _folders(kind):
        for path in sorted(folder.glob("*.toml")):
            reference = read(path)
            references.setdefault(reference.name, reference)
    for name, reference in references.items():
        references[name] = msgspec.structs.replace(
            reference, known=[*reference.known, *_rates().get(name, ())]
        )
        references[name].check()
    return references


def board(name: str) -> Reference:
    """Finds a board by its name, one of its ``words``, or the path of a file.

    Raises UsageError for an unknown board.
    """
    if name.endswith(".toml"):
        return read(Path(name))
    fitting = [reference for reference in boards().values() if name.lower() in reference.words]
    if len(fitting) == 1:
        return fitting[0]
    return boards()[require_known("board", name.lower(), boards())]


def engine(name: str) -> Reference | None:
    """The DMA engine of this name; None if nothing is known of such an engine."""
    return _engines().get(name)


def of_names(names: list[str]) -> list[Reference]:
    """The boards to which these printed names belong, each board once."""
    fitting: dict[str, Reference] = {}
    for name in names:
        for reference in boards().values():
            if reference.fits(name):
                fitting.setdefault(reference.name, reference)
    return list(fitting.values())
