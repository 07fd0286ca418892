"""A summary fits a terminal that is narrower than 80 columns; a pipe has lines of 80."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conftest import Command
from isthmus.columns import columns
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


@pytest.mark.parametrize(
    "words",
    [("card", "boards"), ("reproduce",), ("run",), ("run", "transfer", "--help")],
    ids=" ".join,
)
def test_a_table_is_no_wider_than_a_narrow_terminal(tmp_path: Path, words: tuple[str, ...]) -> None:
    told = on_terminal(words, tmp_path, 40).replace("\r", "").splitlines()
    assert len(told) > 5
    # The program's path is one word.
    assert not [line for line in told if len(line) > 40 and len(line.split()) > 1]


def test_a_table_without_room_becomes_paragraphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    rows = [("opencl:pocl", "transfer hostmem allocation beff", "Intel(R) Xeon(R) Processor")]
    assert list(columns(rows)) == [
        "opencl:pocl  transfer hostmem allocation", "  beff  Intel(R) Xeon(R) Processor",
    ]  # fmt: skip
