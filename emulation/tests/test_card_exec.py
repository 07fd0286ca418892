"""Programs on emulated cards: what their clocks say, how they end, and that nothing stays."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest
from on_cards import Made, Ran, Run, card_exec, emulated, programs

from conftest import LIMIT_S, Command
from isthmus_emulation import execution

__all__ = ["card_exec", "emulated", "programs"]  # fixtures
pytestmark = pytest.mark.usefixtures("emulated")
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
DESCRIPTION = """
name = "mine"
mode = "hw_emu"
[[kernels]]
name = "vadd_of_mine"
arguments = [
  { name = "in1", type = "int*" },
  { name = "in2", type = "int*" },
  { name = "out", type = "int*" },
  { name = "size", type = "unsigned int" },
]
"""
ADDITION = """
#include <cstring>
#include <isthmus/card/kernel_plugin.h>
#include <vector>

extern "C" int isthmus_kernel(isthmus_kernel_run* run) {
  const auto address = [run](int offset) {
    uint64_t found = 0;
    std::memcpy(&found, run->registers + offset, sizeof(found));
    return found;
  };
  uint32_t count = 0;
  std::memcpy(&count, run->registers + 0x34, sizeof(count));
  const uint64_t bytes = count * sizeof(int);
  std::vector<int> first(count), second(count);
  if (run->read(run->card, address(0x10), first.data(), bytes) != 0 ||
      run->read(run->card, address(0x1c), second.data(), bytes) != 0) {
    return 1;
  }
  for (uint32_t i = 0; i < count; ++i) {
    first[i] = -first[i] - second[i];
  }
  run->cycles = count;
  return run->write(run->card, address(0x28), first.data(), bytes);
}
"""


@pytest.fixture
def native(card_exec: Run, programs: Made) -> Run:
    def run(what: str, *options: str, mode: str = "hw_emu") -> Ran:
        return card_exec(*options, "--", programs("native"), what, programs(f"{mode}.xclbin"))

    return run


def trace(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text())
    return data


def durations(path: Path, kind: str) -> list[float]:
    """Seconds that events of a kind took, by the card."""
    events = trace(path)["traceEvents"]
    return [event["dur"] * 1e-6 for event in events if event.get("cat") == kind]


# What clocks say. A program's own computing takes processor time, which varies a little: upper
# limits are for the least disturbed of several runs.


def least(run: Callable[[], dict[str, float]], most: Mapping[str, float]) -> dict[str, float]:
    """Every figure's least of some runs: of as few as it takes to get below these limits."""
    result = run()
    for _ in range(9):
        if all(result[name] < limit for name, limit in most.items()):
            break
        again = run()
        result = {name: min(figure, again[name]) for name, figure in result.items()}
    return result


def test_computing_takes_its_processor_time(native: Run) -> None:
    figures = least(lambda: native("computing").figures, {"with": 0.202})
    assert 0.2 <= figures["with"] < 0.202
    assert figures["before"] >= 0.2  # wall time, before a card is open


def test_copies_take_what_the_card_and_its_driver_take(native: Run, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"

    def copies() -> dict[str, float]:
        ran = native("copying", "--trace", path.name)
        # Of 101 copies of a batch the first is not timed.
        expected = sum(durations(path, "write")[1:51]) + sum(durations(path, "read")[:50])
        path.unlink()
        return {"ratio": ran.figures["copies"] / expected}

    assert 0.999 < least(copies, {"ratio": 1.03})["ratio"] < 1.05


def test_computing_and_a_kernel_overlap(native: Run, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"

    def overlap() -> dict[str, float]:
        figures = native("overlapping", "--trace", path.name).figures
        assert durations(path, "kernel")[0] < figures["alone"] < figures["twice"]
        path.unlink()
        return {name: figures[name] / figures["alone"] for name in ("half", "twice")}

    figures = least(overlap, {"half": 1.01, "twice": 2.02})
    assert 0.99 < figures["half"] < 1.01
    assert 1.98 < figures["twice"] < 2.02


def test_waits_end_in_the_programs_time_while_a_kernel_runs(native: Run) -> None:
    def waits() -> dict[str, float]:
        figures = native("waiting").figures
        whole, third = figures.pop("whole"), figures.pop("third")
        assert all(waited >= third * 0.999 for waited in figures.values())
        return {name: waited / whole for name, waited in figures.items()}

    figures = least(waits, dict.fromkeys(waits(), 0.9))
    assert len(figures) == 13
    for name, share in figures.items():
        assert share < 0.9, name


def test_a_wait_whose_end_is_past_still_does_its_work(native: Run) -> None:
    assert native("expired").figures == {"mutex_given_up": 1, "ready": 100, "locked": 1}


def test_a_cancelled_wait_holds_nobody_up(native: Run) -> None:
    def waited() -> dict[str, float]:
        figures = native("cancelling").figures
        assert figures["cancelled"] == 1
        return {"share": figures["wall"] / figures["run"]}

    assert least(waited, {"share": 0.5})["share"] < 0.5  # else as long in real time as its run


def test_threads_that_wait_for_a_kernel_hold_nobody_up(card_exec: Run, programs: Made) -> None:
    crowd = (programs("native"), "crowd", programs("hw_emu.xclbin"), 64)
    ran = card_exec("--", "timeout", "--signal=KILL", 120, *crowd)
    assert (ran.code, ran.figures["ended"]) == (0, 64), ran.errors


def test_no_thread_sees_time_go_back(native: Run) -> None:
    figures = native("looking").figures
    assert figures["looks"] > 1000
    assert figures["steps_back"] == 0


def test_cards_work_at_a_time(native: Run) -> None:
    def both() -> dict[str, float]:
        ran = native("two_cards", "--board", "u250", "--board", "u250")
        assert "u250, u250" in ran.errors[-1]
        return {"ratio": ran.figures["both"] / ran.figures["one"]}

    assert 0.99 < least(both, {"ratio": 1.01})["ratio"] < 1.01


def test_units_work_at_a_time_from_the_first_start_on(native: Run) -> None:
    """XRT's scheduler may begin its work only when both have been started."""
    ran = [native("two_units", "--clock", "card", "--board", "u250") for _ in range(5)]
    assert ran[0].figures["both"] < 1.1 * ran[0].figures["one"]
    assert all(one.figures == ran[0].figures for one in ran)


@pytest.mark.parametrize("what", ["overlapping", "two_cards", "copying"])
@pytest.mark.slow
def test_without_the_programs_computing_all_runs_are_alike(native: Run, what: str) -> None:
    """Beside two threads that keep the processors busy, too."""
    options = ("--clock", "card", "--board", "u250", "--board", "u250")

    def times() -> dict[str, float]:
        figures = native(what, *options).figures
        return {name: time for name, time in figures.items() if not name.endswith("_wall")}

    alone = times()
    loop_of_ten_minutes = ["sh", "-c", "ulimit -t 600; while :; do :; done"]
    busy = [subprocess.Popen(loop_of_ten_minutes) for _ in range(2)]
    try:
        assert times() == alone
    finally:
        for loop in busy:
            loop.kill()
            loop.wait()


@pytest.mark.parametrize("program", ["opencl", "opencl_loader"])
def test_events_of_opencl_have_the_cards_time(
    card_exec: Run, programs: Made, tmp_path: Path, program: str
) -> None:
    path = tmp_path / "trace.json"

    def events() -> dict[str, float]:
        figures = card_exec(
            "--trace", path.name, "--", programs(program), programs("hw_emu.xclbin")
        ).figures
        (kernel,) = durations(path, "kernel")
        (move,) = durations(path, "write")
        path.unlink()
        assert kernel < figures["kernel"] <= figures["host"]
        assert move < figures["move"]
        return {"kernel": figures["host"] / kernel, "move": figures["move"] - move}

    most = {"kernel": 1.1, "move": 0.01}
    figures = least(events, most)
    assert all(figures[name] < limit for name, limit in most.items()), figures


def test_wall_clocks_are_left_alone(native: Run) -> None:
    def share() -> dict[str, float]:
        began = time.monotonic()
        figures = native("overlapping", "--clock", "wall").figures
        assert figures["twice"] < time.monotonic() - began
        return {"share": figures["alone"] / figures["twice"]}

    assert least(share, {"share": 1.0})["share"] < 1.0


# What a program sees and does


@pytest.mark.parametrize(("options", "mode"), [((), "hw_emu"), (("--as-hardware",), "hw")])
def test_data_go_through_a_kernel(native: Run, options: tuple[str, ...], mode: str) -> None:
    ran = native("adding", *options, mode=mode)
    assert ran.figures["sum"] == 1000 * 1001
    assert ran.code == 0
    assert "simulated, not hardware" in ran.errors[-1]
    assert re.search(r"4 transfers of 16 kB, 1 kernel run of .*s over 12 kB", ran.errors[-1])
    assert "computing" not in "\n".join(ran.errors)  # of the card's own kernels a model knows it


def test_programs_can_ask_whether_they_are_emulated(card_exec: Run) -> None:
    ask = ("--", "sh", "-c", "echo mode=$XCL_EMULATION_MODE")
    assert card_exec(*ask).output == "mode=hw_emu\n"
    assert card_exec("--as-hardware", *ask).output == "mode=\n"


def test_a_fork_has_cards_of_its_own(native: Run) -> None:
    assert native("forking").figures["child"] == 0


def test_the_timeline_says_that_it_is_simulated(native: Run, tmp_path: Path) -> None:
    native("adding", "--trace", "trace.json")
    result = trace(tmp_path / "trace.json")
    assert result["metadata"]["clock"] == "simulated, not hardware"
    shown = [event for event in result["traceEvents"] if event["ph"] == "X"]
    assert [event["cat"] for event in shown] == [
        *["pin", "write"] * 3, "launch", "kernel", "read",
    ]  # fmt: skip
    assert shown[0]["ts"] == 0
    assert all(before["ts"] < after["ts"] for before, after in pairwise(shown))
    again = native("adding", "--trace", "trace.json")
    assert again.code == 2
    assert "nothing is overwritten" in again.errors[-1]


def test_a_kernel_of_ones_own_runs(
    card_exec: Run, isthmus: Command, programs: Made, tmp_path: Path
) -> None:
    source = tmp_path / "add.cpp"
    source.write_text(ADDITION)
    folder = tmp_path / "kernels"
    folder.mkdir()
    include = isthmus("card", "include").stdout.strip()
    compiler = os.environ.get("CXX", "c++")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-I", include, source, "-o", folder / "vadd_of_mine.so"],
        check=True,
    )
    (tmp_path / "mine.toml").write_text(DESCRIPTION)
    isthmus("xclbin", "write", "--from", "mine.toml", "-o", "mine.xclbin")
    program = ("--", programs("native"), "adding", "mine.xclbin", "vadd_of_mine")
    ran = card_exec("--kernels", folder, *program)
    assert ran.figures["sum"] == -1000 * 1001
    assert "computing" not in ran.errors[-1]  # the plug-in says its cycles
    assert card_exec(*program).code != 0  # nobody has said where that kernel is


# How programs end


def test_the_programs_exit_code_is_passed_on(card_exec: Run) -> None:
    assert card_exec("--", "sh", "-c", "exit 3").code == 3
    assert card_exec("--", "sh", "-c", "kill -9 $$").code == 128 + 9
    ran = card_exec("--", "sh", "-c", "exit 130")  # as shells tell a Ctrl-C
    assert ran.code == 130
    assert "no card was opened" in ran.errors[-1]


def test_what_follows_the_program_is_the_programs(card_exec: Run) -> None:
    ran = card_exec("--", "echo", "--verbose", "--board")
    assert ran.output == "--verbose --board\n"
    assert "no card was opened" in ran.errors[-1]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--", "./no-such-program"), "cannot run ./no-such-program"),
        (("--clock", "sun", "--", "true"), "no clock 'sun'"),
        (("--board", "no-such", "--", "true"), "no-such"),
        (("--kernels", "no-folder", "--", "true"), "no-folder"),
        (("--board", "stratix4-gen2x8", "--", "touch", "ran"), "stratix4-gen2x8 has no kernels"),
        (("--trace", "no-folder/trace.json", "--", "touch", "ran"), "No such file"),
        (("--trace", "new.json", "--", "./no-such-program"), "cannot run ./no-such-program"),
    ],
)
def test_what_cannot_be_is_refused(
    card_exec: Run, tmp_path: Path, arguments: tuple[str, ...], what: str
) -> None:
    ran = card_exec(*arguments)
    assert ran.code == 2
    assert what in ran.errors[-1]
    assert not list(tmp_path.glob("*.json"))
    assert not (tmp_path / "ran").exists()


def test_a_timeline_that_cannot_be_written_costs_nothing_else(card_exec: Run) -> None:
    ran = card_exec("--trace", "gone/trace.json", "--", "sh", "-c", "exit 3")
    assert ran.code == 2  # noticed before the program starts
    script = "rm trace.json; mkdir trace.json; exit 3"
    ran = card_exec("--trace", "trace.json", "--", "sh", "-c", script)
    assert ran.code == 3
    assert "no card was opened" in ran.errors[-2]
    assert "trace.json: Is a directory" in ran.errors[-1]
    script = "rm more.json; mkdir more.json"
    ran = card_exec("--trace", "more.json", "--", "sh", "-c", script)
    assert ran.code == 1, "the program succeeded, its timeline is missing"


def test_folders_of_kernels_are_told_apart_by_colons(card_exec: Run, tmp_path: Path) -> None:
    (tmp_path / "of:mine").mkdir()
    ran = card_exec("--kernels", "of:mine", "--", "true")
    assert ran.code == 2
    assert "cannot have ':'" in ran.errors[-1]


@pytest.mark.parametrize("given", ["vendors", "vendors/one.icd"])
def test_platforms_of_opencl_that_the_user_names_stay(
    card_exec: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    folder = tmp_path / "vendors"
    (folder / "folder.icd").mkdir(parents=True)
    (folder / "one.icd").write_text("libone.so")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path / given))
    ran = card_exec("--", "sh", "-c", "ls $OCL_ICD_VENDORS")
    assert ran.output.split() == ["one.icd", "xilinxopencl.icd"], ran.errors
    monkeypatch.delenv("OCL_ICD_VENDORS")  # others stand before AMD's, and programs take the first
    assert card_exec("--", "sh", "-c", "ls $OCL_ICD_VENDORS").output == "xilinxopencl.icd\n"


@pytest.fixture
def going_on(programs: Made, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that uses its card until it is ended."""
    program = [programs("native"), "going_on", programs("hw_emu.xclbin")]
    for number in SIGNALS:  # what the shell, or nohup, ignores would be ignored here too
        signal.signal(number, signal.default_int_handler)
    with subprocess.Popen(
        [sys.executable, "-m", "isthmus", "card", "exec", "--trace", "trace.json", "--", *program],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as command:  # fmt: skip
        assert command.stdout is not None
        while "running" not in command.stdout.readline():
            assert command.poll() is None
        yield command
        command.kill()


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only nobody has asked for is dead."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def belonging_to(command: int) -> dict[str, psutil.Process]:
    """Processes of a command's session by their names, beside the command."""
    processes = {}
    for process in psutil.process_iter():
        try:
            session = process.environ().get("ISTHMUS_CARD_SESSION", "")
            if session.startswith(f"/tmp/isthmus-card-{command}-"):
                processes[process.name()] = process
        except psutil.Error:
            continue
    return processes


def nothing_stays(command: int, *, folder: bool = True) -> None:
    """Sooner or later."""
    deadline = time.monotonic() + LIMIT_S
    while belonging_to(command) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not belonging_to(command)
    if folder:
        assert not list(Path("/tmp").glob(f"isthmus-card-{command}-*"))


@pytest.mark.parametrize("number", SIGNALS)
def test_signals_go_to_the_program(going_on: subprocess.Popen[str], number: signal.Signals) -> None:
    going_on.send_signal(number)
    _, errors = going_on.communicate(timeout=LIMIT_S)
    assert going_on.returncode == 128 + number
    assert "simulated, not hardware" in errors
    nothing_stays(going_on.pid)


def test_a_signal_before_the_program_has_started_ends_it() -> None:
    with execution._passing_on() as pass_on_to:
        signal.raise_signal(signal.SIGTERM)
        with subprocess.Popen(["sleep", str(LIMIT_S)], start_new_session=True) as program:
            pass_on_to(program.pid)
            assert program.wait(LIMIT_S) == -signal.SIGTERM


def test_a_killed_program_leaves_nothing(going_on: subprocess.Popen[str]) -> None:
    belonging_to(going_on.pid)["native"].kill()
    going_on.communicate(timeout=LIMIT_S)
    assert going_on.returncode == 128 + signal.SIGKILL
    nothing_stays(going_on.pid)


def test_the_folder_of_a_killed_command_goes_with_the_next_start(
    going_on: subprocess.Popen[str], card_exec: Run
) -> None:
    (folder,) = Path("/tmp").glob(f"isthmus-card-{going_on.pid}-*")
    with (folder / "lock").open() as lock:
        # The test waits for the lock before the kill, so that it gets the lock before the command
        # of another test, which would remove the folder.
        threading.Timer(1, going_on.kill).start()
        fcntl.flock(lock, fcntl.LOCK_EX)
        going_on.communicate(timeout=LIMIT_S)
        nothing_stays(going_on.pid, folder=False)
        assert list(Path("/tmp").glob(f"isthmus-card-{going_on.pid}-*"))
    assert card_exec("--", "true").code == 0
    nothing_stays(going_on.pid)


def test_a_killed_command_takes_its_program_along(
    going_on: subprocess.Popen[str], card_exec: Run
) -> None:
    going_on.kill()
    going_on.wait(timeout=LIMIT_S)
    nothing_stays(going_on.pid, folder=False)
    assert card_exec("--", "true").code == 0  # removes the folder too
    nothing_stays(going_on.pid)


def test_what_a_program_leaves_running_is_ended(card_exec: Run) -> None:
    ran = card_exec("--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!")
    assert ran.code == 0
    assert not is_alive(int(ran.output))


def test_ten_at_once(native: Run) -> None:
    with ThreadPoolExecutor(10) as pool:
        ended = list(pool.map(lambda _: native("adding"), range(10)))
    assert [ran.code for ran in ended] == [0] * 10
    assert {ran.figures["sum"] for ran in ended} == {1000 * 1001}


# xclbins


def test_an_xclbin_has_the_kernels_that_were_asked_for(isthmus: Command) -> None:
    made = isthmus("card", "xclbin", "--kernels", "vadd,bandwidth", "-o", "two.xclbin")
    assert made.returncode == 0
    data = json.loads(isthmus("xclbin", "dump", "two.xclbin", "--json").stdout)
    assert [kernel["name"] for kernel in data["kernels"]] == ["vadd", "bandwidth"]
    assert data["memories"][-1]["name"] == "HOST[0]"
    unknown = isthmus("card", "xclbin", "--kernels", "fft", "-o", "fft.xclbin")
    assert unknown.returncode == 2
    assert "no kernel 'fft'" in unknown.stderr


def test_the_clock_needs_nothing_but_libc() -> None:
    from isthmus_emulation.session import CLOCK

    if shutil.which("readelf") is None:
        pytest.skip("no readelf")
    done = subprocess.run(["readelf", "-d", CLOCK], capture_output=True, text=True, check=True)
    assert "libstdc++" not in done.stdout
