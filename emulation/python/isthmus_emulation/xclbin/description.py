"""Reads a design from TOML or JSON with the fields of ``Design``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from isthmus.errors import UsageError
from isthmus.text import shortened
from isthmus.units import parse_size
from isthmus_emulation.xclbin.design import Design

_NUMBERS = {"size", "address", "offset", "range"}
_TEXTS = "key_values"
_MOST_BYTES = 256 << 10
"""Most bytes of a description: the time of TOML's parser grows with a key's length squared."""
_HEXADECIMAL = re.compile("0[xX][0-9a-fA-F]{1,16}")


def load(path: Path) -> Design:
    """Reads a description; raises UsageError with one line on the file and its error."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text"
        raise UsageError(f"{path}: {reason}") from error
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path}: larger than {_MOST_BYTES >> 10} KiB, which no description is")
    try:
        decode = msgspec.toml.decode if path.suffix == ".toml" else msgspec.json.decode
        return msgspec.convert(_with_numbers(decode(text)), Design)
    except ImportError as error:
        raise UsageError(f"{path}: TOML needs Python 3.11 or tomli; write JSON instead") from error
    except (msgspec.MsgspecError, ValueError, RecursionError, UsageError) as error:
        what = shortened(str(error))
        raise UsageError(f"{path}: not a description of an xclbin: {what}") from error


def _with_numbers(data: Any) -> Any:
    """Replaces texts such as ``"4Gi"`` or ``"0x1800000"`` in a description by numbers."""
    if isinstance(data, list):
        return [_with_numbers(item) for item in data]
    if not isinstance(data, dict):
        return data
    return {key: value if key == _TEXTS else _valued(key, value) for key, value in data.items()}


def _valued(key: str, value: Any) -> Any:
    return _number(value) if key in _NUMBERS and isinstance(value, str) else _with_numbers(value)


def _number(text: str) -> int:
    return int(text, 16) if _HEXADECIMAL.fullmatch(text) else parse_size(text)
