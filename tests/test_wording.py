"""Words for numbers, and the published figures beside them."""

from __future__ import annotations

import pytest

from isthmus.text import truncated
from isthmus.units import rounded_size


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1, "1"),
        (4096, "4Ki"),
        (177_000, "173Ki"),
        (1.5 * 2**30, "1536Mi"),
        (33.65e9, "31.3Gi"),
    ],
)
def test_sizes_between_powers_of_two_are_rounded(value, text):
    assert rounded_size(value) == text


def test_long_lists_are_cut_and_the_rest_is_counted():
    assert truncated(["a", "b"]) == ["a", "b"]
    assert truncated(range(11)) == ["0", "1", "2", "3", "4", "5", "6", "7", "3 more"]
