"""Changes inputs of parsers at random: bytes, words and lines of texts, values of JSON."""

from __future__ import annotations

import json
import random
import re
import struct
from collections.abc import Callable
from typing import Any

MOST_BYTES = 1 << 18
"""Longest input; longer ones are cut."""
WORDS = (
    "0", "-0", "-1", "1", "255", "4096", "1e999", "-1e999", "5e-324", "1e308", "nan", "inf", "0x10",
    "9" * 19, "9" * 400, "4611686018427387904", "-9223372036854775808", "1e-300", "0.1", "null",
    "true", "false", "[]", "{}", '""', "''", "[" * 3000, "{}" * 50, "4Ki", "1:2Gi", "1:1Ti", "0-9",
    "{x.__class__}", "{0}", "{size:>99999999}", "%s%n", "<script>alert(1)</script>", "]]>", "<!--",
    "&a;", '"', "'", "\\", "\\u0000", "\t", "\n", "\r\n", "\x1b[31m", "\u202e", "\ud800", "\x00",
    "\ufeff", "²", "٣", "é" * 100, "a" * 5000, "../../etc/passwd", "/dev/zero", "=cmd()", "#", ",",
    ";", ":", "=", "@", "|", "=== ", "[board]\n", "[[row]]\n", "= 3\n", " ",
)  # fmt: skip
"""Texts that parsers may misread."""
_TOKEN = re.compile(r'"[^"\n]*"|[A-Za-z_][\w.-]*|[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|[^\w\s]')
_NUMBERS = (0, -1, 1, 2, 2**31, 2**53, 2**62, -(2**62), 2**64, 10**30, 10**400, 0.0, -0.5, 1e-300,
            5e-324, 1e308, float("inf"), float("nan"))  # fmt: skip
_LEAVES = (None, True, False, [], {}, "", [[1]], {"a": {"b": [None]}}, [None] * 50)
_INTEGERS = (0, 1, 7, 8, 255, 0x7FFF, 0xFFFF, 1 << 20, (1 << 31) - 1, (1 << 32) - 1, 1 << 62,
             (1 << 63) - 1, (1 << 64) - 1)  # fmt: skip


class Mutator:
    """Makes new inputs from old ones; the same random numbers give the same inputs."""

    def __init__(self, source: random.Random) -> None:
        self._random = source

    def mutated(self, data: bytes, other: bytes) -> bytes:
        """Returns the input after some changes; pieces of ``other`` may be inserted."""
        for _ in range(1 + self._random.randrange(1 << self._random.randrange(4))):
            data = self._changed(data, other)[:MOST_BYTES]
        return data

    def _changed(self, data: bytes, other: bytes) -> bytes:
        kind = self._random.randrange(10)
        if kind < 5 and data[:1] in {b"{", b"["}:
            try:
                tree = json.loads(data)
            except (ValueError, RecursionError):
                pass
            else:
                return json.dumps(self._value(tree), ensure_ascii=False).encode("utf-8", "replace")
        if kind < 8:
            try:
                return self._text(data.decode(), other.decode()).encode("utf-8", "surrogatepass")
            except UnicodeDecodeError:
                pass
        return self._bytes(data, other)

    def _bytes(self, data: bytes, other: bytes) -> bytes:
        pick = self._random
        at = pick.randrange(len(data) + 1)
        length = pick.choice((1, 2, 4, 8, pick.randrange(64), pick.randrange(len(data) + 1)))
        end = min(at + length, len(data))
        width, form = pick.choice(((1, "B"), (2, "H"), (4, "I"), (8, "Q")))
        number = struct.pack(f"<{form}", pick.choice(_INTEGERS) & ((1 << 8 * width) - 1))
        begin = pick.randrange(len(other) + 1)
        ways: tuple[Callable[[], bytes], ...] = (
            lambda: data[:at] + bytes([pick.randrange(256)]) + data[at + 1 :],
            lambda: data[:at] + bytes([(data[at : at + 1] or b"\0")[0] ^ 1 << pick.randrange(8)])
            + data[at + 1 :],
            lambda: data[:at] + pick.randbytes(pick.randrange(9)) + data[at:],
            lambda: data[:at] + data[end:],
            lambda: data[:at],
            lambda: data[:end] + data[at:],
            lambda: data[:at] + number + data[at + width :],
            lambda: data[:at] + other[begin : begin + length] + data[at:],
            lambda: data[:at] + other[begin : begin + length] + data[end:],
        )  # fmt: skip
        return pick.choice(ways)()

    def _text(self, text: str, other: str) -> str:
        pick = self._random
        if pick.randrange(3):
            tokens = list(_TOKEN.finditer(text))
            if tokens:
                token, rival = pick.choice(tokens), pick.choice(tokens)
                elsewhere = pick.choice(_TOKEN.findall(other) or [""])
                word = pick.choice(WORDS)
                quoted = f'"{word}"' if token[0].startswith('"') else word
                put = pick.choice((word, quoted, rival[0], elsewhere, "", token[0] * 2))
                return text[: token.start()] + put + text[token.end() :]
            return text + pick.choice(WORDS)
        lines = text.splitlines(keepends=True) or [""]
        first, second = pick.randrange(len(lines)), pick.randrange(len(lines))
        low, high = sorted((first, second))
        kind = pick.randrange(5)
        if kind == 0:
            del lines[low : low + pick.choice((1, high - low))]
        elif kind == 1:
            lines[low:low] = [lines[high]] * pick.choice((1, 2, 50))
        elif kind == 2:
            lines[low], lines[high] = lines[high], lines[low]
        elif kind == 3:
            lines.insert(low, pick.choice(other.splitlines(keepends=True) or [""]))
        else:
            at = pick.randrange(len(text) + 1)
            return text[:at] + pick.choice(WORDS) + text[at:]
        return "".join(lines)

    def _value(self, tree: Any) -> Any:
        """Returns the tree with one value changed, at any depth."""
        pick = self._random
        if not isinstance(tree, dict | list) or not tree or not pick.randrange(12):
            return self._leaf(tree)
        keys = list(tree) if isinstance(tree, dict) else range(len(tree))
        key = pick.choice(keys)
        kind = pick.randrange(24)
        if kind == 0:
            del tree[key]
        elif kind == 1 and isinstance(tree, list):
            tree[key:key] = [tree[pick.choice(keys)]] * pick.choice((1, 2, 30))
        elif kind == 2:
            tree[key] = tree[pick.choice(keys)]
        elif kind == 3 and isinstance(tree, dict):
            tree[pick.choice(WORDS)] = tree[key]
        else:
            tree[key] = self._value(tree[key])
        return tree

    def _leaf(self, value: Any) -> Any:
        pick = self._random
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return pick.choice((*_LEAVES, pick.choice(WORDS), pick.choice(_NUMBERS)))
        if isinstance(value, str):
            return pick.choice(
                (
                    pick.choice(WORDS),
                    value + pick.choice(WORDS),
                    value[: len(value) // 2],
                    value * 2,
                )
            )
        near = (value + 1, value - 1, -value, value * 2, value * 1000, str(value), [value])
        return pick.choice((*near, pick.choice(_NUMBERS), pick.choice(_LEAVES)))
