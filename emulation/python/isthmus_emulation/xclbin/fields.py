"""Packs numbers and texts into fields of fixed size; raises UsageError if a value is too big."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Any

from isthmus.errors import UsageError


def pack(layout: struct.Struct, what: str, *values: Any) -> bytes:
    """Packs values by ``layout``; raises UsageError, with ``what``, for a number out of range."""
    try:
        return layout.pack(*values)
    except struct.error as error:
        raise UsageError(f"{what}: a number does not fit its field ({error})") from error


def put_text(text: str, size: int, what: str) -> bytes:
    """Returns the bytes of a text for a field of ``size`` bytes that ends with a NUL."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} {text!r} is no text") from error
    if len(data) >= size:
        raise UsageError(f"{what} {text!r} has {len(data)} bytes; {size - 1} are the most")
    if b"\0" in data:
        raise UsageError(f"{what} {text!r} has a NUL in it")
    return data


def get_text(field: bytes, what: str) -> str:
    """Returns the text of a field up to its NUL, or the whole field without a NUL."""
    try:
        return field.partition(b"\0")[0].decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{what} is no text") from error


def name_of(kinds: type[IntEnum], value: int) -> str:
    """Returns the readable name of a number; the number itself if it has no name."""
    try:
        return kinds(value).name.lower()
    except ValueError:
        return str(value)
