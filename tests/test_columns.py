"""Tables of commands: whole in a pipe, folded on a terminal, nothing lost on either."""

from __future__ import annotations

from pathlib import Path

import pytest

from isthmus.columns import columns
from terminals import on_terminal

WIDTH = 60
COMMANDS = (("card", "boards"), ("run",))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_table_is_whole_in_a_pipe_and_folded_on_a_terminal(
    words: tuple[str, ...], isthmus, tmp_path: Path
) -> None:
    whole, folded = isthmus(*words).stdout, on_terminal(words, tmp_path, WIDTH)
    assert max(map(len, whole.splitlines())) > WIDTH
    assert max(map(len, folded.splitlines()[1:])) <= WIDTH  # the first is no table
    assert folded.split() == whole.split()


def test_cells_stand_below_one_another_and_numbers_end_there() -> None:
    rows = [("name", "size", "note"), ("a", "7", "x"), ("long-name", "1024", "")]
    assert list(columns(rows, "  ", right=[1])) == [
        "  name       size  note",
        "  a             7  x",
        "  long-name  1024",
    ]
    assert list(columns([])) == []
