"""Parses and formats sizes, times and rates; values are in bytes, seconds and bytes per second."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from isthmus.errors import UsageError

_BINARY = ("", "Ki", "Mi", "Gi", "Ti")
_SIZE = re.compile(r"([1-9][0-9]{0,17})(Ki|Mi|Gi|Ti)?")
_TIME = re.compile(r"([0-9]{1,17}(?:\.[0-9]+)?)(s|ms|us|ns)")
_AGE = re.compile(r"([0-9]{1,5}(?:\.[0-9]+)?)(m|h|d)")
_LARGEST_SIZE = 1 << 50
_MOST_DIGITS = 19


def parse_size(text: str) -> int:
    """Bytes of ``1``, ``4Ki`` or ``2Gi``. Raises UsageError for any other text."""
    match = _SIZE.fullmatch(text)
    if not match:
        raise UsageError(f"'{text}' is no size; write 1, 4Ki, 256Mi or 2Gi")
    size = int(match[1]) << 10 * _BINARY.index(match[2] or "")
    if size > _LARGEST_SIZE:
        raise UsageError(f"'{text}' is larger than any memory")
    return size


def parse_seconds(text: str) -> float:
    """Returns the seconds of a time such as ``5ms``, ``1.5s`` or ``20us``.

    Raises UsageError for any other text.
    """
    match = _TIME.fullmatch(text)
    if not match or not float(match[1]):
        raise UsageError(f"'{text}' is no time above 0; write 20us, 5ms or 1.5s")
    return float(match[1]) * {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[match[2]]


def parse_age(text: str) -> float:
    """Returns the seconds of an age such as ``90m``, ``36h`` or ``7d``.

    Raises UsageError for any other text.
    """
    match = _AGE.fullmatch(text)
    if not match or not float(match[1]):
        raise UsageError(f"'{text}' is no age above 0; write 90m, 36h or 7d")
    return float(match[1]) * {"m": 60.0, "h": 3600.0, "d": 86400.0}[match[2]]


def format_age(seconds: float) -> str:
    """Returns an age in whole days from two days on, else in hours: ``40 days``, ``26 hours``."""
    days = int(seconds // 86400)
    return f"{days} days" if days > 1 else f"{int(seconds // 3600)} hours"


class Amount(NamedTuple):
    """A formatted number and its unit."""

    number: str
    unit: str

    def __str__(self) -> str:
        return f"{self.number} {self.unit}".strip()

    def and_to(self, end: Amount, between: str = " to ") -> str:
        """A range from this amount to ``end``, a shared unit only once: ``11.6 to 12.1 GB/s``."""
        return f"{self.number if self.unit == end.unit else self}{between}{end}"


def size_amount(size: int) -> Amount:
    """A size as number and unit: the largest unit that divides it, empty for bytes."""
    power = 0
    while size and size % 1024 == 0 and power + 1 < len(_BINARY):
        size //= 1024
        power += 1
    return Amount(str(size), _BINARY[power])


def format_size(size: int) -> str:
    """A size as ``parse_size`` reads it, in the largest unit that divides it."""
    return "".join(size_amount(size))


def format_bytes(size: int) -> str:
    """A size for readers, in the largest unit that divides it: ``4 KiB``."""
    number, unit = size_amount(size)
    return f"{number} {unit}B"


def parse_sizes(text: str) -> list[int]:
    """Sizes of a list ``1,4Ki`` or a range ``1:2Gi``, which doubles from the first to the last."""
    sizes: list[int] = []
    for piece in text.split(","):
        first, colon, last = piece.partition(":")
        if colon and not (first and last):
            raise UsageError(f"'{piece}' is no range of sizes; write 1:256Mi")
        size = parse_size(first)
        end = parse_size(last) if colon else size
        if end < size:
            raise UsageError(f"'{piece}' is no range of sizes: it ends before it begins")
        while size <= end:
            sizes.append(size)
            size *= 2
    return sorted(set(sizes))


def parse_positive(text: str) -> list[int]:
    """Whole numbers of 1 or more, as a list ``1,2,8`` or a range of doubles ``1:64``."""
    try:
        return parse_sizes(text)
    except UsageError as error:
        raise UsageError(f"'{text}' is no list of whole numbers of 1 or more") from error


def parse_counts(text: str) -> list[int]:
    """Whole numbers of 0 or more, as a list ``0,1,3``."""
    pieces = text.split(",")
    if not all(piece.isdecimal() and len(piece) < _MOST_DIGITS for piece in pieces):
        raise UsageError(f"'{text}' is no list of whole numbers")
    return sorted({int(piece) for piece in pieces})


def parse_share(text: str) -> float:
    """A share >= 0 from ``2%`` or ``0.02``. Raises UsageError for any other text."""
    number, percent, rest = text.replace(" ", "").partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = math.nan
    if rest or not 0 <= share < math.inf:
        raise UsageError(f"'{text}' is no share; write 2% or 0.02")
    return share


def _scaled(value: float, units: tuple[tuple[float, str], ...]) -> Amount:
    if math.isnan(value):
        return Amount("", "")
    if not math.isfinite(value):
        return Amount(str(value), units[-1][1])
    # Choose the unit by the rounded value that is shown: 0.99999 s is 1.00 s, not 1000 ms.
    scale, unit = next(((s, u) for s, u in units if _rounded(value) >= s), units[-1])
    number = value / scale
    digits = max(0, 2 - math.floor(math.log10(_rounded(number)))) if number else 0
    return Amount(f"{number:.{min(digits, 3)}f}", unit)


def _rounded(value: float) -> float:
    """The absolute value, rounded to three significant digits."""
    return float(f"{abs(value):.3g}")


def seconds_amount(seconds: float) -> Amount:
    """A time as number of three significant digits, and unit; both empty for NaN."""
    return _scaled(seconds, _SCALES["s"])


def format_seconds(seconds: float) -> str:
    """A time with three significant digits: ``16.2 us``; empty for NaN."""
    return str(seconds_amount(seconds))


def rate_amount(bytes_per_second: float) -> Amount:
    """A rate with three digits, GB/s = 1e9 bytes per second; empty for NaN."""
    return _scaled(bytes_per_second, _SCALES["B/s"])


def format_rate(bytes_per_second: float) -> str:
    """A rate with three digits, GB/s = 1e9 bytes per second; empty for NaN."""
    return str(rate_amount(bytes_per_second))


def percent(share: float) -> str:
    """A share as text in per cent, ``4.2 %``: with one decimal below 10 %, without above."""
    return str(percent_amount(share))


def percent_amount(share: float) -> Amount:
    """A share in per cent, as number and unit, with the digits of ``percent``."""
    return Amount(f"{100 * share:.{1 if abs(share) < 0.1 else 0}f}", "%")


def printable(text: object) -> str:
    r"""Text with control characters replaced by escapes: ``\x1b``."""
    words = str(text)
    if words.isprintable():
        return words
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in words)


_DIGITS = 4
"""Most digits of a size that is shown exactly."""


def number(value: float) -> str:
    """Writes three significant digits without an exponent: ``1.03``, ``24.8``, ``1530``."""
    if not math.isfinite(value):
        return "unbounded" if value > 0 else "unknown"
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:.{min(max(digits, 0), 6)}f}"


def rounded_size(value: float) -> str:
    """Writes any size, rounded: ``12.3Ki``."""
    return "".join(_size(value))


def rounded_bytes(value: float) -> str:
    """Writes any size, rounded, with its unit: ``12.3 KiB``."""
    number_, unit = _size(value)
    return f"{number_} {unit}B"


def _size(value: float) -> Amount:
    if value <= 0 or not math.isfinite(value):
        return Amount("0" if value == 0 else "unknown", "")
    if float(value).is_integer() and len((exact := size_amount(int(value))).number) <= _DIGITS:
        return exact
    power = min(int(math.log2(value)) // 10 if value >= 1 else 0, len(_BINARY) - 1)
    return Amount(number(value / 1024**power), _BINARY[power])


def size_range(values: Sequence[int]) -> str:
    """Writes the smallest and the largest size: ``1 to 4Ki``."""
    low, high = min(values), max(values)
    return format_size(low) if low == high else f"{format_size(low)} to {format_size(high)}"


_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "B/s": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")),
    "1": ((1.0, "x"),),
}


def _scale(value: float, unit: str) -> tuple[float, str]:
    scales = _SCALES.get(unit, ((1.0, unit),))
    return next(((s, u) for s, u in scales if abs(value) >= s * 0.9995), scales[-1])


def amount(value: float, unit: str) -> Amount:
    """A value with three digits in a suitable unit, as number and unit."""
    scale, name = _scale(value, unit)
    return Amount(number(value / scale), name)


def shown(value: float, unit: str) -> str:
    """A value with three digits in a suitable unit; ``unit``: a finding's unit."""
    return str(amount(value, unit))


def span(value: float, least: float, most: float, unit: str) -> str:
    """Ends of an interval in the unit that suits its value; empty where exact or unknown."""
    if math.isnan(least) or math.isnan(most) or least == most:
        return ""
    scale, _ = _scale(value, unit)
    low, high = number(least / scale), number(most / scale)
    return f"{low} to {high}" if low != high else ""


def shown_range(value: float, least: float, most: float, unit: str) -> str:
    """The ends with their unit, ``55.0 to 55.1 GB/s``; only the value if both ends look alike."""
    ends = span(value, least, most, unit)
    return f"{ends} {_scale(value, unit)[1]}" if ends else shown(value, unit)
