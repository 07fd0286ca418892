"""Inputs that once were findings of fuzzing, and valid ones: each is read or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Command
from foreign_inputs import TARGETS, refused

_LONG = {"commands", "page"}  # the same inputs as run; each takes seconds


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=pytest.mark.slow if one in _LONG else ()) for one in TARGETS],
)
def test_inputs_of_the_repository_are_read_or_refused(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    found, valid = target.doubtful(), list(target.seeds())
    assert found or valid
    for data in found:
        (tmp_path / "input").write_bytes(data)
        with refused():
            target.read(tmp_path / "input")
    for data in valid:
        (tmp_path / "input").write_bytes(data)
        target.read(tmp_path / "input")


def test_text_of_strangers_in_an_error_is_one_line_without_escapes(isthmus: Command) -> None:
    done = isthmus("run", "transfer", "--device", "null", "--bytes", "1\n\x1b[31m2")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr


def test_a_board_name_that_no_file_can_have_is_refused(isthmus: Command) -> None:
    done = isthmus("card", "boards", "a" * 5000)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert len(done.stderr) < 400
