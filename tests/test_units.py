from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.errors import UsageError
from isthmus.units import (
    format_rate,
    format_seconds,
    format_size,
    parse_counts,
    parse_positive,
    parse_size,
    parse_sizes,
)


def test_what_has_no_end_is_written_all_the_same():
    assert format_rate(float("inf")).startswith("inf")


@given(st.integers(1, 1 << 50))
def test_a_size_reads_back(size: int) -> None:
    assert parse_size(format_size(size)) == size


@pytest.mark.parametrize(
    "text", ["0", "3Qi", "-1", "1:", ":1", "", "4K", "4KB", "1.5Ki", "01", "4:2", "1e3", "9999Ti"]
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"size|memory"):
        parse_sizes(text)


def test_ranges_double_and_lists_are_sorted() -> None:
    assert parse_sizes("1:8") == [1, 2, 4, 8]
    assert parse_sizes("3:20") == [3, 6, 12]
    assert parse_sizes("4Ki,1,4Ki,2Gi") == [1, 4096, 2 << 30]
    assert parse_sizes("1:2Gi")[-1] == 2 << 30


def test_whole_numbers() -> None:
    assert parse_positive("1:64") == [1, 2, 4, 8, 16, 32, 64]
    assert parse_counts("2,0") == [0, 2]
    for parse, text in ((parse_positive, "0"), (parse_counts, "-1"), (parse_counts, "1,,2")):
        with pytest.raises(UsageError):
            parse(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.62e-5, "16.2 us"),
        (2.0, "2.00 s"),
        (0.99999, "1.00 s"),
        (9.999e-3, "10.0 ms"),
        (3.1e-10, "0.310 ns"),
        (float("nan"), ""),
        (0.0, "0 ns"),
    ],
)
def test_times_have_three_digits(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_rates_are_decimal() -> None:
    assert format_rate(12.77e9) == "12.8 GB/s"
