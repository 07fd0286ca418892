from __future__ import annotations

import gzip
import json
import os
import platform
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from conftest import Command
from isthmus.errors import IsthmusError, UsageError
from isthmus.results import journal, run_file
from isthmus.results.journal import Entry, Journal
from isthmus.results.run_file import Run

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "schemas" / "run-1.schema.json"


@pytest.fixture(scope="module")
def run(run_isthmus: Command, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A small real run of the null backend."""
    folder = tmp_path_factory.mktemp("run")
    done = run_isthmus("run", "transfer", "--device", "null:2us", "--quick", "--axis",
                       "bytes=1,4Ki", "--axis", "operation=write,read_rw", "--out", "run.json",
                       cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return run_file.load(folder / "run.json")


def test_the_published_schema_is_the_one_of_the_types() -> None:
    check = [sys.executable, str(ROOT / "tools" / "write_schema.py"), "--check"]
    assert subprocess.run(check, check=False).returncode == 0


def test_a_real_run_follows_the_schema(run: Run) -> None:
    jsonschema.validate(json.loads(run_file.encode(run)), json.loads(SCHEMA.read_text()))


def test_what_is_written_reads_back(run: Run, tmp_path: Path) -> None:
    run_file.save(run, tmp_path / "copy.json")
    assert run_file.load(tmp_path / "copy.json") == run


def test_nothing_is_overwritten(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    out.write_text("precious")
    with pytest.raises(UsageError, match="nothing is overwritten"):
        run_file.save(run, out)
    assert out.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_place_that_cannot_be_written_is_one_line(run: Run, tmp_path: Path) -> None:
    with pytest.raises(IsthmusError, match="cannot write"):
        run_file.save(run, tmp_path / "missing" / "run.json")


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda text: text[: len(text) // 2], "cut short"),
        (lambda _: "not JSON at all", "not JSON"),
        (lambda text: text.replace("isthmus.run/1", "isthmus.run/2"), "update Isthmus"),
        (lambda text: text.replace('"isthmus.run/1"', '"other/1"'), "not a run file"),
        (lambda _: "[1, 2]", "not a run file"),
        (lambda text: text.replace('"precision": 0.1', '"precision": "high"'), "not a valid"),
    ],
)
def test_damaged_files_are_told_in_one_line(
    run: Run, tmp_path: Path, damage: object, complaint: str
) -> None:
    path = tmp_path / "damaged.json"
    path.write_text(damage(run_file.encode(run).decode()))  # type: ignore[operator]
    with pytest.raises(UsageError, match=complaint) as error:
        run_file.load(path)
    assert "\n" not in str(error.value)


def test_a_journal_gives_back_its_entries_and_drops_a_torn_line(run: Run, tmp_path: Path) -> None:
    entries = journal.entries_of(run.points)
    assert entries
    path = journal.path_of(tmp_path / "run.json")
    head = msgspec.structs.replace(run, points=[])
    with Journal(path, head) as log:
        for entry in entries:
            log.add(entry)
    assert journal.read(path) == (head, entries)
    path.write_bytes(path.read_bytes()[:-20])
    assert journal.read(path) == (head, entries[:-1])


def test_a_journal_in_the_way_is_not_overwritten(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    Journal(path, run).__exit__(None, None, None)
    with pytest.raises(UsageError, match="--resume"):
        Journal(path, run)


def test_points_are_told_apart_by_what_was_asked(run: Run) -> None:
    keys = [journal.key_of(point) for point in run.points]
    assert len(set(keys)) == len(keys)
    assert Entry(run.points[0]).rerun is None


def test_what_a_killed_save_left_goes_with_the_next(run: Run, tmp_path: Path) -> None:
    """A process is killed between writing and naming the file; another one still writes."""
    (tmp_path / "given.json").write_bytes(run_file.encode(run))
    killed = """
import os, signal, sys
from pathlib import Path
from isthmus.results import run_file
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
run_file.save(run_file.load(Path("given.json")), Path("run.json"))
"""
    ended = subprocess.run([sys.executable, "-c", killed], cwd=tmp_path, check=False)
    assert ended.returncode == -9
    assert len(list(tmp_path.glob(".run.json.*.tmp"))) == 1
    node = platform.node()
    others = {
        f".run.json.{node}.{os.getppid()}.tmp", f".other.json.{node}.1.tmp",
        f".run.json.{node}.x.tmp", ".run.json.another.4000000.tmp",
    }  # fmt: skip
    for name in others:
        (tmp_path / name).touch()
    run_file.save(run, tmp_path / "run.json")
    assert {path.name for path in tmp_path.iterdir()} == {"given.json", "run.json", *others}


def test_a_run_is_read_from_a_pipe(tmp_path: Path) -> None:
    stored = Path(__file__).parent / "data" / "runs" / "2026-11-22-beff.json"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(stored.read_bytes(),))
    writer.start()
    assert run_file.load(pipe) == run_file.load(stored)
    writer.join()


@pytest.mark.parametrize("packed", [False, True])
def test_a_large_foreign_file_is_not_read_whole(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of other programs' JSON took longer to refuse than to compare."""
    run = b'{"points": [' + b"1.5," * (4 << 20) + b'0], "schema": "%s"}'
    for schema, name in ((b"other/1", "foreign"), (b"isthmus.run/1", "sorted")):
        data = run % schema
        (tmp_path / name).write_bytes(gzip.compress(data, 1) if packed else data)
    decoded: list[int] = []
    decode = msgspec.json.decode

    def counting(data: bytes, **how: Any) -> Any:
        decoded.append(len(data))
        return decode(data, **how)

    monkeypatch.setattr(msgspec.json, "decode", counting)
    with pytest.raises(UsageError, match="no schema"):
        run_file.load(tmp_path / "foreign")
    assert not decoded
    # A program that sorts keys writes the schema last: the end is looked at, too.
    with pytest.raises(UsageError, match="not a valid"):
        run_file.load(tmp_path / "sorted")
    assert decoded
