"""Files that commands write are whole, or not there: on a full disk, after a kill."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Command
from isthmus.errors import UsageError
from isthmus.saving import save

ISTHMUS = Path(sys.executable).with_name("isthmus")
MOST = 2048
"""Bytes of a file that a full disk still takes: fewer than any of these files has."""
MEASURED = ("run", "transfer", "--device", "null:20us", "--bytes", "1,64", "--reruns", "2",
            "--budget", "5", "--out", "run.json")  # fmt: skip
WRITING = {
    "export csv": ("export", "run.json", "--out", "rows.csv"),
    "export samples": ("export", "run.json", "--samples", "--out", "rows.json"),
    "report": ("report", "run.json", "--out", "page"),
    "anonymise": ("anonymise", "run.json", "--out", "free.json"),
}


def on_a_full_disk(folder: Path, *words: str, most: int = MOST) -> subprocess.CompletedProcess[str]:
    """Runs a command that can write no more than so many bytes into a file."""
    start = "import resource, os, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (%d, %d)); "
    start += "os.execv(sys.argv[1], sys.argv[1:])"
    return subprocess.run(
        [sys.executable, "-c", start % (most, most), ISTHMUS, *words], cwd=folder,
        env={**os.environ, "TMPDIR": "/tmp"}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", WRITING)
def test_a_full_disk_leaves_no_part_of_a_file(isthmus: Command, tmp_path: Path, name: str) -> None:
    assert isthmus(*MEASURED).returncode == 0
    before = sorted(tmp_path.rglob("*"))
    done = on_a_full_disk(tmp_path, *WRITING[name])
    assert done.returncode == 1, done.stderr
    assert "cannot write" in done.stderr
    assert done.stderr.count("\n") == 1
    made = [path for path in sorted(tmp_path.rglob("*")) if path not in before and path.is_file()]
    assert all(0 < path.stat().st_size < MOST for path in made)
    assert not any(path.suffix == ".tmp" or path.name == "index.html" for path in made)


@pytest.mark.emulation
def test_results_of_card_exec_are_whole_or_not_there(tmp_path: Path) -> None:
    words = ("card", "exec", "--junit", "result.xml", "--", "true", "x" * 100_000)
    done = on_a_full_disk(tmp_path, *words, most=1 << 16)  # the session's own files fit
    assert "cannot write result.xml" in done.stderr
    assert not (tmp_path / "result.xml").exists()
    assert not list(tmp_path.glob(".*.tmp"))


def test_an_existing_file_stays_as_it_is(tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    out.write_text("precious")
    with pytest.raises(UsageError, match="nothing is overwritten"):
        save(b"new", out)
    assert out.read_text() == "precious"
    save(b"new", out, replace=True)
    assert out.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """Also one that leads nowhere: a stranger may have put it into a common folder."""
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="nothing is overwritten"):
        save(b"new", tmp_path / "out")
    save(b"new", tmp_path / "out", replace=True)
    assert not (tmp_path / "elsewhere").exists()
    assert not (tmp_path / "out").is_symlink()


@pytest.mark.parametrize("length", [200, 255])
def test_a_long_name_leaves_room_for_the_other_name(tmp_path: Path, length: int) -> None:
    out = tmp_path / ("n" * length)
    save(b"new", out)
    assert out.read_bytes() == b"new"


def test_names_that_are_no_text_are_written_and_read(isthmus: Command, tmp_path: Path) -> None:
    name = b"a\xae.json".decode("utf-8", "surrogateescape")
    done = isthmus(*MEASURED[:-1], name)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / name).is_file()
    for words in (
        ("show", name),
        ("report", name, "--out", "page"),
        ("export", name, "--out", "b.csv"),
    ):
        done = isthmus(*words)
        assert done.returncode == 0, done.stderr
    assert isthmus("anonymise", name, "--out", "free.json").returncode == 0
    assert isthmus("compare", name, name).returncode == 0
