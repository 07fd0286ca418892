"""Writes schemas/run-1.schema.json from the run file's types; with ``--check`` only compares it."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from isthmus.results import run_file

TARGET = Path(__file__).parents[1] / "schemas" / "run-1.schema.json"


def text() -> bytes:
    """Returns the schema as the repository must hold it."""
    return msgspec.json.format(msgspec.json.encode(run_file.schema()), indent=2) + b"\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if TARGET.read_bytes() == text() else f"{TARGET} is out of date: run {__file__}")
    TARGET.write_bytes(text())
