"""Words for numbers, and the published figures beside them."""

from __future__ import annotations

import pytest

from isthmus.analysis import wording


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
    assert wording.size(value) == text


def test_many_clauses_are_cut_and_counted():
    assert wording.few(["a", "a", "b"]) == ("a", "b")
    assert wording.few(map(str, range(9))) == ("0", "1", "2", "3", "4", "4 more in the table")
