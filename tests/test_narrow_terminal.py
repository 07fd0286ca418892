"""A summary fits a terminal that is narrower than 80 columns; a pipe has lines of 80."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conftest import Command
from terminals import on_terminal

ISTHMUS = str(Path(sys.executable).with_name("isthmus"))
RUNS = Path(__file__).parent / "data" / "runs"


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
@pytest.mark.parametrize("name", ["2026-11-24-all", "2026-11-22-beff"])
def test_a_summary_is_no_wider_than_the_terminal(tmp_path: Path, name: str, columns: int) -> None:
    (tmp_path / "run.json").write_bytes((RUNS / f"{name}.json").read_bytes())
    told = on_terminal(("show", "run.json"), tmp_path, columns).replace("\r", "").splitlines()
    # The program's path is one word.
    assert all(len(line) <= min(columns, 80) for line in told if ISTHMUS not in line)
    assert not any(line.strip() == "\\" for line in told)
    assert " \\" not in told[-1]


def test_a_narrow_terminal_shows_whole_sentences(isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes((RUNS / "2026-11-24-all.json").read_bytes())
    headlines, _, _ = isthmus("show", "run.json").stdout.partition("\n\n")
    narrow = on_terminal(("show", "run.json"), tmp_path, 40)
    assert " ".join(headlines.split()) in " ".join(narrow.split())
