"""``isthmus run`` from outside, on backends that are always here."""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

import synthetic
from conftest import LIMIT_S, Command, slow
from isthmus import __version__
from isthmus.analysis.summary import COLUMNS
from isthmus.cli import app
from isthmus.measure import discovery, protocol, session
from isthmus.measure.supervisor import WorkerProcess
from isthmus.reporters import summary
from isthmus.results import run_file
from isthmus.results.journal import Entry, assemble
from isthmus.results.journal import read as read_journal
from isthmus.results.run_file import State
from isthmus.studies import Study, registry

SMALL = ("--axis", "bytes=1,4Ki", "--axis", "operation=write", "--reruns", "1")


def rows(isthmus: Command, path: str = "run.json") -> list[dict[str, str]]:
    shown = isthmus("show", path, "--format", "csv")
    assert shown.returncode == 0, shown.stderr
    return list(csv.DictReader(io.StringIO(shown.stdout)))


def test_from_question_to_rows(isthmus: Command) -> None:
    done = isthmus("run", "transfer", "--device", "host", "--device", "null:2us", *SMALL,
                   "--out", "run.json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "run.json"
    points = rows(isthmus)
    assert list(points[0]) == [*COLUMNS, "depth", "bank"]
    assert [(r["device"], r["bytes"], r["verified"]) for r in points] == [
        ("host", "1", "true"), ("host", "4096", "true"),
        ("null:2us", "1", "na"), ("null:2us", "4096", "na"),
    ]  # fmt: skip
    for row in points:
        assert float(row["ci_low_s"]) <= float(row["median_s"]) <= float(row["ci_high_s"])
        assert float(row["min_s"]) <= float(row["p10_s"]) <= float(row["p90_s"])
        assert int(row["samples"]) >= 25
    moved = points[1]
    assert float(moved["bandwidth_Bps"]) == pytest.approx(4096 / float(moved["median_s"]))


def test_without_out_the_name_is_printed_and_nothing_overwritten(
    isthmus: Command, tmp_path: Path
) -> None:
    names = [isthmus("run", "transfer", "--device", "null", *SMALL).stdout.split()[-1]
             for _ in range(2)]  # fmt: skip
    assert len(set(names)) == 2
    assert all((tmp_path / name).exists() for name in names)


def test_reruns_are_fresh_workers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    visitors = []

    class Noted(WorkerProcess):
        def ask(self, request: protocol.Request, allowed_s: float = 0.0) -> protocol.Answer:
            if isinstance(request, protocol.Measure):
                visitors.append(self.pid)
            return super().ask(request, allowed_s)

    monkeypatch.setattr(discovery, "WorkerProcess", Noted)
    monkeypatch.chdir(tmp_path)
    app(["run", "transfer", "--device", "null:2us", "--bytes", "1", "--operation=write",
         "--reruns", "3", "--precision", "0.1", "--out", "run.json"],
        standalone_mode=False)  # fmt: skip
    run = run_file.load(tmp_path / "run.json")
    assert [r.rerun for r in run.points[0].reruns] == [0, 1, 2]
    assert len(set(visitors)) == 3
    assert all(r.clocks["host"].cold_ticks is not None for r in run.points[0].reruns)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("run", "nonsense"), 2, "unknown study"),
        (("run", "transfer", "--device", "nonsense:0"), 2, "unknown backend"),
        (("run", "transfer", "--device", "host:nonsense"), 2, "no device"),
        (("run", "transfer", "--device", "null,nonsense=1"), 2, "unknown option"),
        (("run", "transfer", "--device", "null:3parsecs"), 2, "no duration"),
        (("run", "transfer", "--device", "host@mode"), 2, "no mode"),
        (("run", "transfer", "--device", "null", "--axis", "colour=red"), 2, "no axis 'colour'"),
        (("run", "transfer", "--device", "null", "--colour", "red"), 2, "No such option: --colour"),
        (("run", "transfer", "--device", "null", "--axis", "bytes=0"), 2, "no size"),
        (("run", "transfer", "--device", "null", "--axis", "bytes=3Qi"), 2, "no size"),
        (("run", "transfer", "--device", "null", "--axis", "bytes=-1"), 2, "no size"),
        (("run", "transfer", "--device", "null", "--axis", "bytes=1:"), 2, "no range"),
        (("run", "transfer", "--device", "null", "--axis", "bytes=512Ti"), 2, "left out"),
        (("run", "transfer", "--device", "null", "--axis", "operation=fly"), 2, "no operation"),
        (("run", "transfer", "--device", "host", "--axis", "memory=paper"), 2, "no memory kind"),
        (("run", "transfer", "--device", "null", "--precision", "0"), 2, "--precision"),
        (("run", "transfer", "--device", "null", "--precision", "7"), 2, "0.02 for 2 %"),
        (("run", "transfer", "--device", "null", "--reruns", "many"), 2, "--reruns"),
        (("run", "transfer", "--precision", "0.1", "--precision=0.2"), 2, "is given twice"),
        (("report", "a.json", "--out", "b", "--out", "c"), 2, "--out is given twice"),
        (("run", "transfer", "--device", "null", "--cpus", "4096"), 2, "processor 4096"),
        (("run", "transfer", "--device", "pci:0000:00:00.0,allow_loads=yes"), 2, "--allow-loads"),
        (("run", "transfer", "--device", "card:u250", "--memory", "bar_uc"), 2, "no memory kind"),
        (("run", "--bytes", "1"), 2, "name a study"),
        (("run", "--quick"), 2, "name a study"),
        (("reproduce", "mmio/read-latency", "--memory", "pageable"), 2, "--memory pageable"),
        (("run", "transfer", "--resume"), 2, "--out"),
        (("run", "transfer", "--resume", "--out", "x", "--quick"), 2, "as the run began"),
        (("run", "transfer", "--device", "null", "--budget", "inf"), 2, "--budget"),
        (("run", "transfer", "--device", "null", "--out", "missing/run.json"), 2, "cannot write"),
        (("run", "transfer", "--device", "null", "--xclbin", "x"), 2, "no device"),
        (("run", "transfr"), 2, "did you mean transfer?"),
        (("run", "transfer", "--device", "crad:u250"), 2, "did you mean card?"),
        (("run", "transfer", "--device", "u250"), 2, "did you mean card:u250?"),
        (("run", "transfer", "--device", "card:u25"), 2, "did you mean u250?"),
        (("run", "transfer", "--device", "card:u250,link.lane=8"), 2, "did you mean link.lanes?"),
        (("run", "transfer", "--device", "null", "--byts", "1"), 2, "--bytes"),
        (("run", "transfer", "--device", "null", "--operation", "raed"), 2, "did you mean read?"),
        (("model", "pci"), 2, "did you mean pcie?"),
        (("show", "missing.json"), 2, "No such file"),
        (("nonsense",), 2, "nonsense"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_its_exit_code(
    isthmus: Command, arguments: tuple[str, ...], code: int, says: str
) -> None:
    ended = isthmus(*arguments)
    assert ended.returncode == code, ended.stderr
    assert says in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_an_existing_file_is_left_alone(isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("precious")
    ended = isthmus("run", "transfer", "--device", "null", *SMALL, "--out", "run.json")
    assert ended.returncode == 2
    assert "nothing is overwritten" in ended.stderr
    assert (tmp_path / "run.json").read_text() == "precious"


def test_no_usable_device(isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "vendors").mkdir()
    ended = isthmus("run", "transfer", "--device", "opencl:pocl",
                    env={"OCL_ICD_VENDORS": str(tmp_path / "vendors")})  # fmt: skip
    assert ended.returncode == 4
    assert "is not here" in ended.stderr
    assert len(ended.stderr.splitlines()) <= 2


def test_a_broken_icd_file_is_told(isthmus: Command, tmp_path: Path) -> None:
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    (vendors / "broken.icd").write_text("/nowhere/libbroken.so\n")
    (vendors / "empty.icd").write_text("")
    env = {"OCL_ICD_VENDORS": str(vendors)}
    ended = isthmus("run", "transfer", "--device", "opencl:pocl", env=env)
    assert ended.returncode == 4
    assert "broken" in ended.stderr
    shown = isthmus("devices", env=env)
    assert shown.returncode == 0
    text = " ".join(shown.stdout.split())
    assert "/nowhere/libbroken.so" in text or "no OpenCL loader" in text
    assert "empty.icd names no library" in " ".join(shown.stdout.split())


def test_a_device_that_is_not_here_costs_only_itself(isthmus: Command, tmp_path: Path) -> None:
    ended = isthmus("run", "transfer", "--device", "null", "--device", "opencl:pocl", *SMALL,
                    "--out", "run.json", env={"OCL_ICD_VENDORS": str(tmp_path)})  # fmt: skip
    assert ended.returncode == 1
    assert {row["device"] for row in rows(isthmus)} == {"null"}


def test_failing_devices_cost_only_their_points(isthmus: Command) -> None:
    faults = {"fail": "told to fail", "crash": "SIGSEGV", "lose": "told to lose"}
    failing = [f"null:5us,{fault}=60" for fault in faults]
    named = [word for device in (*failing, "host") for word in ("--device", device)]
    ended = isthmus("run", "transfer", *named, *SMALL, "--out", "run.json")
    assert ended.returncode == 1
    assert all(says in ended.stderr for says in faults.values()), ended.stderr
    points = rows(isthmus)
    assert {row["verified"] for row in points if row["device"] == "host"} == {"true"}
    for device in failing:
        failed = [row for row in points if row["device"] == device]
        assert len(failed) == 2
        assert any("failed" in row["flags"] for row in failed)


def test_corrupted_data_fail_the_run(isthmus: Command) -> None:
    moves = ("drop", "duplicate", "reorder", "nothing", "early", "correct")
    named = [word for move in moves for word in ("--device", f"null:1us,move={move}")]
    ended = isthmus("run", "transfer", *named, "--axis", "bytes=4Ki", "--axis", "operation=write",
                    "--reruns", "1", "--out", "run.json")  # fmt: skip
    assert ended.returncode == 1
    assert [row["verified"] for row in rows(isthmus)] == ["false"] * 5 + ["true"]


def test_drift_is_flagged_unstable(isthmus: Command) -> None:
    isthmus("run", "transfer", "--device", "null:20us,drift=20", "--device", "null:20us",
            "--axis", "operation=write", "--axis", "bytes=1", "--reruns", "1",
            "--precision", "0.01", "--budget", "5", "--out", "run.json")  # fmt: skip
    drifting = rows(isthmus)[0]
    assert "unstable" in drifting["flags"].split(";")


def start(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    # In a shell's background it is ignored, and so would it be in the child.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(
        [sys.executable, "-m", "isthmus", "run", "transfer", *arguments],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for_entries(journal: Path, count: int) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not journal.exists() or journal.read_bytes().count(b"\n") < count + 1:
        assert time.monotonic() < deadline, "nothing was journalled"
        time.sleep(0.05)


LONG = ("--device", "null:20us", "--precision", "0.0001", "--reruns", "2", "--budget", "600",
        "--axis", "bytes=1:64Ki", "--axis", "operation=write,read",
        "--out", "run.json")  # fmt: skip
QUICK = (*LONG[:3], "0.5", *LONG[4:])


@pytest.mark.parametrize("how", [signal.SIGINT, *slow(signal.SIGTERM)])
def test_ctrl_c_leaves_a_valid_file_and_resume_goes_on(
    isthmus: Command, tmp_path: Path, how: signal.Signals
) -> None:
    process = start(tmp_path, *QUICK)
    wait_for_entries(tmp_path / "run.json.journal", 5)
    process.send_signal(how)
    assert process.wait(LIMIT_S) == 1
    assert process.stderr is not None
    assert "go on: " in (text := process.stderr.read())
    assert "run transfer --resume --out run.json" in text
    before = run_file.load(tmp_path / "run.json")
    assert before.status == "interrupted"
    kept = [r for p in before.points for r in p.reruns if r.state == "visit"]
    assert len(kept) >= 5
    assert not (tmp_path / "run.json.journal").exists()

    resumed = isthmus("run", "transfer", "--resume", "--out", "run.json")
    assert resumed.returncode == 0, resumed.stderr
    after = run_file.load(tmp_path / "run.json")
    assert after.status == "complete"
    assert all(len(p.reruns) == 2 for p in after.points)
    there = [r for p in after.points for r in p.reruns]
    assert all(r in there for r in kept)


def test_a_killed_runner_leaves_a_journal_that_resume_reads(
    isthmus: Command, tmp_path: Path
) -> None:
    process = start(tmp_path, *QUICK)
    wait_for_entries(tmp_path / "run.json.journal", 5)
    process.kill()
    process.wait()
    assert not (tmp_path / "run.json").exists()
    again = isthmus("run", "transfer", *QUICK)
    assert again.returncode == 2
    assert "--resume" in again.stderr
    resumed = isthmus("run", "transfer", "--resume", "--out", "run.json")
    assert resumed.returncode == 0, resumed.stderr
    assert all(len(p.reruns) == 2 for p in run_file.load(tmp_path / "run.json").points)


def test_resume_loses_nothing_when_a_device_is_gone(isthmus: Command, tmp_path: Path) -> None:
    """The device's points stay, though it cannot be measured any more."""
    first = isthmus("run", "transfer", "--device", "null:2us", "--device", "host", *SMALL,
                    "--out", "run.json")  # fmt: skip
    assert first.returncode == 0, first.stderr
    text = (tmp_path / "run.json").read_text()
    (tmp_path / "run.json").write_text(text.replace("null:2us", "opencl:pocl"))
    empty = tmp_path / "vendors"
    empty.mkdir()
    resumed = isthmus("run", "transfer", "--resume", "--out", "run.json",
                      env={"OCL_ICD_VENDORS": str(empty)})  # fmt: skip
    assert resumed.returncode == 1
    assert {row["device"] for row in rows(isthmus)} == {"opencl:pocl", "host"}
    assert all(int(row["samples"]) >= 25 for row in rows(isthmus))


def test_the_budget_ends_a_run_and_says_so(isthmus: Command) -> None:
    slow = ("--device", "null:2ms", "--reruns", "30", "--budget", "3")  # 2 s are samples alone
    ended = isthmus("run", "transfer", *slow, *LONG[8:])
    assert ended.returncode == 0, ended.stderr
    assert any("budget_exhausted" in row["flags"] for row in rows(isthmus))


def test_resume_with_nothing_left_says_so(isthmus: Command) -> None:
    first = isthmus("run", "mmio", "--device", "card:u250", "--operation", "register_load",
                    "--bytes", "4,8", "--out", "run.json")  # fmt: skip
    assert first.returncode == 0, first.stderr
    assert "nothing is left" not in first.stderr
    again = isthmus("run", "mmio", "--resume", "--out", "run.json")
    assert again.returncode == 0, again.stderr
    assert "nothing is left to measure" in again.stderr


def test_a_pause_before_resume_is_no_time_of_the_run(isthmus: Command, tmp_path: Path) -> None:
    first = isthmus("run", "mmio", "--device", "card:u250", "--operation", "register_load",
                    "--bytes", "4,8", "--out", "run.json")  # fmt: skip
    assert first.returncode == 0, first.stderr
    begun = run_file.load(tmp_path / "run.json")
    assert 0 < begun.duration_s < LIMIT_S
    hours_ago = msgspec.structs.replace(
        begun, started="2026-01-01T00:00:00+00:00", finished="2026-01-01T00:00:10+00:00",
        duration_s=0.0,
    )  # fmt: skip
    assert hours_ago.took_s == 10, "of a version that kept no duration"
    run_file.save(hours_ago, tmp_path / "run.json", replace=True)
    again = isthmus("run", "mmio", "--resume", "--out", "run.json")
    assert again.returncode == 0, again.stderr
    resumed = run_file.load(tmp_path / "run.json")
    assert resumed.started == hours_ago.started
    assert 10 < resumed.took_s < 10 + LIMIT_S
    assert " min" not in again.stdout


@pytest.mark.slow
def test_a_study_that_was_installed_since_is_no_part_of_the_run(
    isthmus: Command, tmp_path: Path
) -> None:
    first = isthmus("run", "all", "--device", "null", "--budget", "2", "--reruns", "2",
                    "--out", "run.json")  # fmt: skip
    assert first.returncode == 0, first.stderr
    begun = run_file.load(tmp_path / "run.json")
    studies = [name for name in begun.studies if name != "beff"]
    fewer = msgspec.structs.replace(
        begun, studies=studies, points=[p for p in begun.points if p.study != "beff"]
    )
    assert len(fewer.points) < len(begun.points)
    run_file.save(fewer, tmp_path / "run.json", replace=True)
    again = isthmus("run", "all", "--resume", "--out", "run.json", "--budget", "2")
    assert again.returncode == 0, again.stderr
    resumed = run_file.load(tmp_path / "run.json")
    assert resumed.studies == studies
    assert {p.study for p in resumed.points} <= set(studies)
    other = isthmus("run", "transfer", "--resume", "--out", "run.json")
    assert other.returncode == 2
    assert "was begun as" in other.stderr


def test_run_alone_lists_the_studies(isthmus: Command) -> None:
    done = isthmus("run")
    assert done.returncode == 0
    for study in registry().values():
        assert any(
            line.startswith(f"{study.name} ") and study.question in line
            for line in done.stdout.splitlines()
        )


def test_version(isthmus: Command) -> None:
    assert isthmus("--version").stdout == f"isthmus {__version__}\n"


def test_devices_are_a_line_each_with_the_studies_that_work(isthmus: Command) -> None:
    lines = isthmus("devices").stdout.splitlines()
    table = lines[: lines.index("")]
    assert not any(line.endswith("..") for line in table)  # a pipe gets whole names
    assert all(len(line) <= 80 or " " not in line.strip() for line in lines[len(table) :])
    (host,) = (line for line in lines if line.startswith("host "))
    assert "transfer" in host
    assert "hostmem" not in host
    (cards,) = (line for line in lines if line.startswith("card:BOARD  "))
    assert all(study in cards for study in ("transfer", "hostmem", "allocation", "beff", "mmio"))
    assert "card:BOARD: beff: only 520n" in lines
    listed = {entry["backend"]: entry for entry in json.loads(isthmus("devices", "--json").stdout)}
    assert "allocation" in listed["host"]["devices"][0]["studies"]


def test_devices_for_programs(isthmus: Command) -> None:
    listed = json.loads(isthmus("devices", "--json").stdout)
    by_name = {entry["backend"]: entry for entry in listed}
    assert {"null", "host", "opencl"} <= set(by_name)
    assert by_name["host"]["devices"][0]["address"] == "host"


def test_one_isthmus_measures_at_a_time(tmp_path: Path) -> None:
    first = start(tmp_path, *QUICK)
    wait_for_entries(tmp_path / "run.json.journal", 1)
    second = subprocess.Popen(
        [sys.executable, "-m", "isthmus", "run", "transfer", "--device", "null", *SMALL,
         "--out", "second.json"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=os.environ,
    )  # fmt: skip
    assert second.stderr is not None
    assert "waiting" in second.stderr.readline()
    first.send_signal(signal.SIGINT)
    first.wait(LIMIT_S)
    second.communicate(timeout=LIMIT_S)
    assert second.returncode == 0


@pytest.fixture
def measuring() -> Iterator[int]:
    """Somebody who measures here: a process id."""
    code = (
        "import time\n"
        "from isthmus.system import lock\n"
        "with lock.measuring(print):\n"
        "    print('holds', flush=True)\n"
        "    time.sleep(600)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"holds\n"
    yield holder.pid
    holder.kill()
    holder.wait()
    holder.stdout.close()


@pytest.mark.parametrize("command", [
    ("devices",), ("run", "transfer", "--device", "host"), ("run", "transfer", "--device", "null"),
    ("run", "transfer"),
])  # fmt: skip
def test_no_wait_refuses_while_another_measures(
    isthmus: Command, tmp_path: Path, measuring: int, command: tuple[str, ...]
) -> None:
    more = SMALL if "run" in command else ()
    ended = isthmus(*command, *more, "--no-wait")
    assert ended.returncode == 6, "a script tells this from a run that failed"
    assert f"another Isthmus measures here (process {measuring})" in ended.stderr
    assert not list(tmp_path.glob("*.json*"))


def test_a_device_that_is_not_here_is_said_before_the_wait(
    isthmus: Command, measuring: int
) -> None:
    absent = {"ISTHMUS_CUDA_DRIVER": "/nowhere/libcuda.so.1"}
    for more in ((), ("--no-wait",)):
        ended = isthmus("run", "transfer", "--device", "cuda:0", *SMALL, *more, env=absent)
        assert ended.returncode == 4
        assert "'cuda:0' is not here" in ended.stderr
        assert str(measuring) not in ended.stderr


def test_doctor_waits_for_nobody(isthmus: Command, measuring: int) -> None:
    told = isthmus("doctor", "null", timeout=60)
    assert told.stdout.startswith(("No finding", "1 finding"))
    assert f"another Isthmus measures here (process {measuring})" in told.stderr


def test_what_is_simulated_waits_for_nobody(
    isthmus: Command, tmp_path: Path, measuring: int
) -> None:
    assert measuring
    simulated = ("--device", "null:20us,clock=simulated")
    done = isthmus("run", "transfer", *simulated, *SMALL, "--out", "alone.json", timeout=60)
    assert done.returncode == 0, done.stderr
    assert "another" not in done.stderr
    ended = isthmus("run", "transfer", *simulated, "--device", "null", *SMALL, "--no-wait",
                     "--out", "beside.json", timeout=60)  # fmt: skip
    assert ended.returncode == 6
    kept = run_file.load(tmp_path / "beside.json")
    assert all(len(p.reruns) == ("simulated" in p.device) for p in kept.points)


def test_a_quick_run_of_all_studies_gets_its_sixty_seconds() -> None:
    request = session.Request(list(registry().values()), [], {}, Path("run.json"), [], quick=True)
    settings = session.settings_of(request, [])
    assert (settings.budget_s, settings.reruns, settings.precision) == (60.0, 0, 0.1)


def test_by_default_the_number_of_processes_is_found(isthmus: Command, tmp_path: Path) -> None:
    done = isthmus("run", "transfer", "--device", "null:20us", "--bytes", "1", "--operation=write",
                   "--precision", "0.5", "--out", "run.json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = run_file.load(tmp_path / "run.json")
    assert len(run.points[0].reruns) == 6
    assert {rerun.state for rerun in run.points[0].reruns} == {"visit"}


@pytest.mark.parametrize(
    "option", [("--axis", "memory=pinned,aligned"), ("--xclbin", "some.xclbin")]
)
def test_what_only_an_absent_device_takes_costs_the_others_nothing(
    isthmus: Command, tmp_path: Path, option: tuple[str, ...]
) -> None:
    nowhere = {"XILINX_XRT": str(tmp_path), "ISTHMUS_CUDA_DRIVER": str(tmp_path / "libcuda.so.1")}
    ended = isthmus("run", "transfer", "--device", "cuda:0", "--device", "xrt:0@noop", "--device",
                    "host", "--axis", "bytes=64", "--axis", "operation=write", *option,
                    "--quick", "--out", "run.json", env=nowhere)  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    points = json.loads((tmp_path / "run.json").read_text())["points"]
    assert {point["device"] for point in points} == {"host"}


def test_what_is_not_here_is_said_once(isthmus: Command, tmp_path: Path) -> None:
    nowhere = {"ISTHMUS_CUDA_DRIVER": str(tmp_path / "libcuda.so.1")}
    ended = isthmus("run", "transfer", "--device", "cuda:0", env=nowhere)
    assert ended.returncode == 4
    assert len(ended.stderr.strip().splitlines()) == 1


def test_a_file_whose_run_was_cut_off_is_known_by_its_journal(
    isthmus: Command, tmp_path: Path
) -> None:
    (tmp_path / "run.json.journal").write_bytes(b"")
    ended = isthmus("show", "run.json")
    assert ended.returncode == 2
    assert "--resume --out run.json" in ended.stderr


def test_resume_keeps_the_better_of_two_series() -> None:
    def entry(samples: int, state: State) -> Entry:
        measured = synthetic.point(
            "null", "write", 1, [[1e-6] * samples], rerun_changes={"state": state}
        )
        return Entry(msgspec.structs.replace(measured, reruns=[]), measured.reruns[0])

    def kept(*entries: Entry) -> int:
        return len(assemble([], entries)[0].reruns[0].clocks["host"].ticks)

    assert kept(entry(100, "budget"), entry(30, "budget")) == 100
    assert kept(entry(100, "budget"), entry(30, "precision")) == 30
    assert kept(entry(30, "budget"), entry(100, "budget")) == 100


@pytest.mark.parametrize("study", registry().values(), ids=lambda study: str(study.name))
def test_help_of_a_study_lists_its_axes_and_operations(isthmus: Command, study: Study) -> None:
    assert "isthmus run STUDY --help" in " ".join(isthmus("run", "--help").stdout.split())
    done = isthmus("run", study.name, "--help")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert study.question in text
    for axis in study.axes:
        option = f"--{axis.name.replace('_', '-')}"
        (line,) = (line for line in done.stdout.splitlines() if line.startswith(f"{option} "))
        assert axis.describes in line
    for operation in study.operations:
        assert operation in done.stdout
    _, _, example = text.partition("Example: ")
    axes = example.partition(" --quick ")[2].removeprefix("--").split()
    assert study.parse({axes[0].replace("-", "_"): axes[1]})


def test_a_disturbed_machine_is_reported() -> None:
    noisy = synthetic.point("null", "write", 1, [[1e-6 * 1.1**n for n in range(30)]])
    quiet = synthetic.point("null", "write", 1, [[1e-6] * 30])
    for points, disturbed in (([noisy], True), ([quiet], False)):
        text = "\n".join(summary.lines(synthetic.run(points)))
        assert ("100 % disturbed" in text) == disturbed


def _limited(kind: int, value: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (value, value))


@pytest.mark.slow
def test_a_folder_that_goes_away_costs_no_result(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    process = start(tmp_path, *QUICK[:-1], "gone/run.json")
    wait_for_entries(folder / "run.json.journal", 5)
    shutil.rmtree(folder)
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1
    assert "cannot write gone/run.json: No such file or directory; the run is in " in said
    kept = run_file.load(Path(said.rpartition("the run is in ")[2].rpartition(" instead")[0]))
    assert kept.status == "complete"
    assert all(len(point.reruns) == 2 for point in kept.points)


def test_what_no_file_takes_stays_in_the_journal(isthmus: Command, tmp_path: Path) -> None:
    """No file may grow beyond 64 KiB: neither the journal nor the run file has room."""
    done = subprocess.run(
        [sys.executable, "-m", "isthmus", "run", "transfer", *QUICK], cwd=tmp_path,
        capture_output=True, text=True, check=False,
        preexec_fn=_limited(resource.RLIMIT_FSIZE, 64 << 10),
    )  # fmt: skip
    assert done.returncode == 1
    *_, last = done.stderr.splitlines()
    assert "the results are in run.json.journal: go on with --resume" in last
    assert {path.name for path in tmp_path.glob("*run.json*")} == {"run.json.journal"}
    _, before = read_journal(tmp_path / "run.json.journal")
    assert before
    assert isthmus("run", "transfer", "--resume", "--out", "run.json").returncode == 0
    after = [rerun for point in run_file.load(tmp_path / "run.json").points
             for rerun in point.reruns]  # fmt: skip
    assert all(entry.rerun in after for entry in before)


def test_a_journal_without_a_head_does_not_stay(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "isthmus", "run", "transfer", *QUICK], cwd=tmp_path,
        capture_output=True, text=True, check=False,
        preexec_fn=_limited(resource.RLIMIT_FSIZE, 100),
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "cannot write run.json.journal" in done.stderr
    assert not list(tmp_path.glob("*run.json*"))


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (resource.RLIMIT_AS, 200 << 20, "needs 512 MiB: raise the limit (ulimit -v)"),
        (resource.RLIMIT_NOFILE, 12, "Too many open files"),
    ],
)
def test_too_small_limits_end_a_run_at_once(
    tmp_path: Path, kind: int, value: int, said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "isthmus", "run", "transfer", *QUICK], cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=LIMIT_S,
        preexec_fn=_limited(kind, value),
    )  # fmt: skip
    assert done.returncode == 1
    assert said in done.stderr.splitlines()[-1]
    assert not list(tmp_path.glob("*run.json*"))


def test_a_link_to_nothing_is_refused_before_anything_is_measured(
    isthmus: Command, tmp_path: Path
) -> None:
    (tmp_path / "run.json").symlink_to("elsewhere")
    refused = isthmus("run", "transfer", *QUICK)
    assert refused.returncode == 2
    assert "run.json exists" in refused.stderr
    assert not list(tmp_path.glob("*.journal"))
