"""Reads the cycles that a kernel computes, as a formula over its values: ``n*4 + 120``.

A formula has ``+ - * / // % ( )``, ``min`` and ``max``, decimal numbers, and names of arguments
that are integers. ``/`` divides exactly, ``//`` rounds down; the result is rounded up. Two formulas
with ``..`` between them are a range. The emulated card reads formulas in reverse Polish notation
(``emulation/xrt/include/isthmus/card/process/cycles.hpp``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.errors import UsageError
from isthmus.text import shortened
from isthmus_emulation.xclbin.metadata import Argument, Kernel
from isthmus_emulation.xclbin.sizes import is_signed

_LONGEST = 500
"""Most letters of a formula: no schedule needs as many, and the card refuses 1000 words."""
_DEEPEST = 50
"""Most nested brackets and signs: the reader is recursive."""
_LARGEST = 1e18
"""Largest number: the card counts no more cycles (``emulation/xrt/src/cycles.cpp``)."""
_DECIMAL = r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_WORD = re.compile(rf"\s*({_DECIMAL}\b|[A-Za-z_]\w*|//|[-+*/%(),]|[^\s()+\-*/%,]+)", re.ASCII)
_NUMBER = re.compile(_DECIMAL, re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_VALUES = (None, "scalar")
_SIZES = (1, 2, 4, 8)
"""Bytes of integers that the card reads (``is_integer`` of ``emulation/xrt/src/cycles.cpp``)."""
_SUMS = ("+", "-")
_PRODUCTS = ("*", "/", "//", "%")
_FUNCTIONS = ("min", "max")


@dataclass(frozen=True)
class Cycles:
    """Formulas for cycles in reverse Polish notation, as the card reads them."""

    most: str
    least: str | None = None
    """The lower end of a range; None without a range."""


def read(kernel: Kernel) -> Cycles | None:
    """Reads the cycles of a kernel whose arguments are complete; None without a formula.

    Raises UsageError that names the kernel and the wrong word.
    """
    if kernel.cycles is None:
        return None
    what = f"kernel {kernel.name}: cycles '{shortened(kernel.cycles)}'"
    if len(kernel.cycles) > _LONGEST:
        raise UsageError(f"{what}: {len(kernel.cycles)} letters, more than {_LONGEST}")
    *least, most = kernel.cycles.split("..", 1)
    try:
        parts = [_Formula(text, kernel.arguments).in_order() for text in (most, *least)]
    except UsageError as error:
        raise UsageError(f"{what}: {error}") from None
    if len(parts) > 1 and all(map(_NUMBER.fullmatch, parts)) and float(parts[0]) < float(parts[1]):
        raise UsageError(f"{what}: the range goes backwards; write the least first")
    return Cycles(*parts)


class _Formula:
    """Reads one formula from left to right."""

    def __init__(self, text: str, arguments: Sequence[Argument]) -> None:
        self._words = _WORD.findall(text)
        self._arguments = {a.name: (n, a) for n, a in enumerate(arguments)}
        self._at = 0
        self._depth = 0

    def in_order(self) -> str:
        """Returns the formula in reverse Polish notation."""
        symbols = self._sum()
        if self._next() is not None:
            raise UsageError(f"'{self._next()}' is too much there")
        return " ".join(symbols)

    def _next(self) -> str | None:
        return self._words[self._at] if self._at < len(self._words) else None

    def _taken(self) -> str:
        word = self._next()
        if word is None:
            last = f" behind '{self._words[-1]}'" if self._words else ""
            raise UsageError(f"something is missing{last}")
        self._at += 1
        return word

    def _require(self, word: str) -> None:
        symbol = self._taken()
        if symbol != word:
            raise UsageError(f"'{symbol}' stands where '{word}' is needed")

    def _sum(self) -> list[str]:
        symbols = self._product()
        while (sign := self._next()) in _SUMS:
            self._at += 1
            symbols = [*symbols, *self._product(), str(sign)]
        return symbols

    def _product(self) -> list[str]:
        symbols = self._factor()
        while (sign := self._next()) in _PRODUCTS:
            self._at += 1
            symbols = [*symbols, *self._factor(), str(sign)]
        return symbols

    def _factor(self) -> list[str]:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UsageError(f"more than {_DEEPEST} brackets and signs within one another")
        word = self._taken()
        if word == "-":
            symbols = [*self._factor(), "neg"]
        elif word == "(":
            symbols = self._sum()
            self._require(")")
        elif word in _FUNCTIONS and self._next() == "(":
            symbols = self._function(word)
        elif _NUMBER.fullmatch(word):
            if float(word) > _LARGEST:
                raise UsageError(f"'{word}' is more than {_LARGEST:g}")
            symbols = [word]
        else:
            symbols = [self._argument(word)]
        self._depth -= 1
        return symbols

    def _function(self, name: str) -> list[str]:
        self._require("(")
        symbols = self._sum()
        self._require(",")
        symbols = [*symbols, *self._sum(), name]
        while self._next() == ",":
            self._at += 1
            symbols = [*symbols, *self._sum(), name]
        self._require(")")
        return symbols

    def _argument(self, word: str) -> str:
        if _NAME.fullmatch(word) is None:
            raise UsageError(f"'{word}' is neither a number nor the name of an argument")
        if word not in self._arguments:
            there = [
                name for name, (_, a) in self._arguments.items() if _letter(a) and a.size in _SIZES
            ]
            integers = f"its integers are {', '.join(there)}" if there else "it has no integers"
            raise UsageError(f"'{word}' is no argument of the kernel: {integers}")
        number, argument = self._arguments[word]
        if argument.qualifier not in _VALUES:
            raise UsageError(f"'{word}' is no value: it is '{argument.type}'")
        letter = _letter(argument)
        if letter is None:
            raise UsageError(
                f"'{word}' is no integer but '{argument.type}'; where that is another name of an "
                "integer, a description of the kernel (TOML) can give it the integer's type"
            )
        if argument.size not in _SIZES:
            raise UsageError(f"'{word}' has {argument.size} bytes; possible are 1, 2, 4 and 8")
        return f"{letter}{number}"


def _letter(argument: Argument) -> str | None:
    """Returns ``s`` for a signed integer, ``u`` for an unsigned one, None for any other type."""
    if argument.qualifier not in _VALUES:
        return None
    signed = is_signed(argument.type)
    return None if signed is None else "s" if signed else "u"
