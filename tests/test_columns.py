"""Tables of commands: whole in a pipe, folded on a terminal, nothing lost on either."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from conftest import LIMIT_S
from isthmus.columns import columns

WIDTH = 60
COMMANDS = (("card", "boards"), ("run",))


def on_terminal(*words: str) -> str:
    """What a command prints on a terminal of ``WIDTH`` columns."""
    ours, its = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "isthmus", *words], stdin=its, stdout=its,
        env={**os.environ, "COLUMNS": str(WIDTH), "TERM": "dumb"},
    ) as command:  # fmt: skip
        os.close(its)
        told = b""
        try:
            while more := os.read(ours, 4096):
                told += more
        except OSError:  # nobody writes to it any more
            pass
        assert command.wait(LIMIT_S) == 0
    os.close(ours)
    return told.decode()


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_table_is_whole_in_a_pipe_and_folded_on_a_terminal(
    words: tuple[str, ...], isthmus
) -> None:
    whole, folded = isthmus(*words).stdout, on_terminal(*words)
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
