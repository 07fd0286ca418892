"""Programs that open, share, restart and misuse emulated cards: one test for each way to fail."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from pathlib import Path

import pytest
from on_cards import Made, Ran, Run, card_exec, emulated, preloading, programs

from conftest import Command, made_once
from isthmus import boards

__all__ = ["card_exec", "emulated", "programs"]  # fixtures
pytestmark = pytest.mark.usefixtures("emulated")
CLOCKS = pytest.mark.parametrize("clock", ["virtual", "wall"])
SUM = 1000 * 1001
"""Of what ``vadd`` makes of 1 to 1000 twice."""


COUNT_UP = """
#include <cstring>
#include <isthmus/card/kernel_plugin.h>
extern "C" int isthmus_kernel(isthmus_kernel_run* run) {  // adds 1 to the first element
  uint64_t data = 0;
  int value = 0;
  std::memcpy(&data, run->registers + 0x1c, sizeof(data));
  if (run->read(run->card, data, &value, sizeof(value)) != 0) {
    return 1;
  }
  ++value;
  run->cycles = 1000;
  return run->write(run->card, data, &value, sizeof(value));
}
"""
SUCCESSOR = """
#include <cstring>
#include <isthmus/card/kernel_plugin.h>
extern "C" int isthmus_kernel(isthmus_kernel_run* run) {  // register 0x18 follows 0x10
  uint32_t value = 0;
  std::memcpy(&value, run->registers + 0x10, sizeof(value));
  ++value;
  std::memcpy(run->registers + 0x18, &value, sizeof(value));
  return 0;
}
"""
DESCRIPTION = """
mode = "hw_emu"
[[kernels]]
name = "count_up"
auto_restart = true
arguments = [{ name = "data", type = "int*" }]
[[kernels]]
name = "successor"
control = "ap_ctrl_none"
arguments = [{ name = "value", type = "unsigned int" }]
"""


@pytest.fixture
def lifecycle(card_exec: Run, programs: Made) -> Run:
    def run(what: str, *rest: object, options: tuple[str, ...] = (), xclbin: object = None) -> Ran:
        file = xclbin or programs("hw_emu.xclbin")
        return card_exec(*options, "--", programs("lifecycle"), what, file, *rest)

    return run


@pytest.fixture(scope="session")
def kernels(run_isthmus: Command) -> Path:
    """Returns a folder with kernels of a user, and their xclbin."""

    def make(folder: Path) -> None:
        include = run_isthmus("card", "include", cwd=folder).stdout.strip()
        compiler = os.environ.get("CXX", "c++")
        for name, source in (("count_up", COUNT_UP), ("successor", SUCCESSOR)):
            file = folder / f"{name}.cpp"
            file.write_text(source)
            command = [
                compiler,
                "-shared",
                "-fPIC",
                "-I",
                include,
                file,
                "-o",
                folder / f"{name}.so",
            ]
            subprocess.run(command, check=True)
        (folder / "own.toml").write_text(DESCRIPTION)
        made = run_isthmus("xclbin", "write", "--from", "own.toml", "-o", "own.xclbin", cwd=folder)
        assert made.returncode == 0, made.stderr

    return made_once("kernels", make)


@pytest.fixture(scope="module")
def other(run_isthmus: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An xclbin with fewer kernels."""
    file = tmp_path_factory.mktemp("other") / "other.xclbin"
    made = run_isthmus(
        "card", "xclbin", "--mode", "hw_emu", "--kernels", "vadd", "-o", file.name, cwd=file.parent
    )
    assert made.returncode == 0, made.stderr
    return file


@CLOCKS
def test_threads_of_xrt_that_begin_before_main_are_the_programs(
    card_exec: Run, programs: Made, clock: str
) -> None:
    """They were taken for XRT's scheduler, for which simulated time does not wait."""
    ran = card_exec("--clock", clock, "--", programs("graphs"), "chain", programs("hw_emu.xclbin"))
    assert (ran.code, ran.figures) == (0, {"sum": SUM}), ran.errors


@CLOCKS
def test_bitstreams_are_loaded_in_turn(
    lifecycle: Run, programs: Made, other: Path, clock: str
) -> None:
    files = (other, programs("hw_emu.xclbin"), other)
    ran = lifecycle("second_bitstream", *files, options=("--clock", clock))
    assert set(ran.figures.values()) == {SUM}
    assert len(ran.figures) == 4
    assert ran.code == 0


def test_a_buffer_may_be_made_before_there_is_a_bitstream(lifecycle: Run) -> None:
    assert lifecycle("before_bitstream").figures == {"before": 17, "behind": 18, "sum": SUM}


def test_a_bitstream_is_not_loaded_below_kernels_of_another(lifecycle: Run, other: Path) -> None:
    ran = lifecycle("kernel_of_before", other)
    assert ran.figures == {"closed": 0, "open": 1}
    assert sum("while kernels of another one are open" in line for line in ran.errors) == 1


def test_a_card_is_closed_when_all_have_closed_it(lifecycle: Run) -> None:
    assert lifecycle("opened_again").figures == {"sum_of_other": SUM, "kept": 5, "sum": SUM}


def test_a_program_that_aborts_ends_by_that_signal(lifecycle: Run) -> None:
    assert {lifecycle("aborting").code for _ in range(3)} == {128 + signal.SIGABRT}


@CLOCKS
def test_a_programs_children_are_its_own(lifecycle: Run, clock: str) -> None:
    figures = lifecycle("children", options=("--clock", clock)).figures
    assert figures == {"first": 7, "sum": SUM, "others": 0, "alive": 1, "reaped": 1}


@CLOCKS
@pytest.mark.parametrize("what", ["many_runs", "restarts"])
def test_no_wake_up_of_xrts_scheduler_is_lost(
    card_exec: Run, programs: Made, clock: str, what: str
) -> None:
    program = preloading(programs("late_waits.so"), programs("lifecycle"), what)
    ran = card_exec("--clock", clock, "--", *program, programs("hw_emu.xclbin"), 50)
    assert ran.code == 0, ran.errors
    assert ran.figures


def test_pages_of_a_buffer_are_there_when_it_is_made(lifecycle: Run) -> None:
    """Else the program pays for them when it touches them, beside what pinning them takes."""
    assert lifecycle("pages").figures == {"pages": 4096, "there": 4096}


def test_many_commands_are_there_at_once(lifecycle: Run) -> None:
    """XRT's emulation has addresses for 21 845 as it is installed."""
    ran = lifecycle("many_commands", 30_000)
    assert ran.figures == {"runs": 30_000}, ran.errors


def test_runs_take_no_more_memory(lifecycle: Run) -> None:
    assert lifecycle("many_runs", 2000).figures["grown_KiB"] < 100


def test_waiting_kernels_start_as_far_apart_as_the_board_says(lifecycle: Run) -> None:
    def seconds(interval: int) -> float:
        board = f"u250,driver.launch_ns=8000,driver.launch_interval_ns={interval}"
        options = ("--clock", "card", "--board", board)
        figures = lifecycle("queued_runs", 50, 200, options=options).figures
        first = boards.load("u250").seconds("driver.first_launch_ns")
        assert figures["50"] == pytest.approx(first + 8e-6 + 49e-9 * interval, abs=1e-9)
        return figures["200"]

    assert seconds(1000) == pytest.approx(8e-6 + 199e-6, abs=1e-9)
    assert seconds(3000) == pytest.approx(8e-6 + 597e-6, abs=1e-9)


def test_what_the_runtime_computes_for_a_launch_does_not_make_queued_ones_later(
    lifecycle: Run,
) -> None:
    # Far more than one launch computes, on a loaded machine too.
    board = "u250,driver.launch_ns=200000,driver.launch_interval_ns=100000"
    options = ("--clock", "virtual", "--board", board)
    figures = lifecycle("queued_runs", 1, 200, options=options).figures
    assert figures["200"] == pytest.approx(200e-6 + 199 * 100e-6, rel=0.02)


def test_no_launch_takes_less_than_the_board_says(lifecycle: Run) -> None:
    launch = boards.load("u250").seconds("driver.launch_ns")
    options = ("--clock", "virtual", "--board", "u250")
    assert lifecycle("single_runs", 500, options=options).figures["least"] >= launch


def test_buffers_on_the_card_alone_are_copied(lifecycle: Run) -> None:
    assert lifecycle("copies").figures == {"wrong_4096": 0, "wrong_20971520": 0}


def test_a_child_looks_until_its_kernel_is_completed(lifecycle: Run) -> None:
    """A child had no thread that ends kernels for which no thread waits."""
    ran = lifecycle("looks_of_a_child")
    assert ran.figures == {"code": 7}, ran.errors


def test_impossible_sizes_are_refused_and_the_program_goes_on(lifecycle: Run) -> None:
    """Each ended the program, gave it a buffer without memory, or read past its memory."""
    refused = dict.fromkeys(
        ["empty packet", "copy", "copy of a packet", "write", "read", "freed"], -errno.EINVAL
    )
    ran = lifecycle("impossible_sizes")
    assert ran.figures == {"buffers": 9, **refused, "sum": SUM}, ran.errors


def test_a_buffer_that_finds_no_memory_is_named(lifecycle: Run) -> None:
    ran = lifecycle("too_large")
    assert ran.figures == {"refused": 2}, ran.errors
    assert sum("for a buffer of 137438953472 bytes" in line for line in ran.errors) == 1


def test_memory_is_read_before_there_is_a_bitstream(lifecycle: Run) -> None:
    ran = lifecycle("memory_before_bitstream")
    assert ran.figures == {"word": 0}, ran.errors


def test_a_buffer_of_one_card_is_read_by_another(lifecycle: Run) -> None:
    cards = ("--board", "u250", "--board", "u250")
    assert lifecycle("sharing", options=cards).figures == {"wrong": 0}


def test_a_buffer_of_another_process_is_refused(lifecycle: Run) -> None:
    figures = lifecycle("of_another_process").figures
    assert figures == {"named": errno.EOPNOTSUPP, "unnamed": errno.EINVAL}


def test_a_program_runs_a_kernel_by_its_registers(lifecycle: Run) -> None:
    figures = lifecycle("user_managed", "vadd:{vadd_1}").figures
    assert figures == {
        "idle_before": 4,
        "done": 2,
        "done_twice": 0,
        "idle_after": 4,
        "sum": 64 * 65,
    }


def test_a_kernel_without_control_runs_all_the_time(lifecycle: Run, kernels: Path) -> None:
    options, xclbin = ("--kernels", str(kernels)), kernels / "own.xclbin"
    ran = lifecycle("free_running", "successor:{successor_1}", options=options, xclbin=xclbin)
    assert ran.figures == {"read": 42}


def test_a_kernel_starts_itself_again(lifecycle: Run, kernels: Path) -> None:
    options, xclbin = ("--kernels", str(kernels)), kernels / "own.xclbin"
    ran = lifecycle("auto_restart", "count_up", options=options, xclbin=xclbin)
    assert ran.figures == {"times": 3}


def test_queries_are_answered(lifecycle: Run) -> None:
    figures = lifecycle("queries").figures
    assert figures["uuid_length"] == 36
    assert figures["set"] == figures["nodma"] == 0


def test_an_access_past_a_buffer_is_a_warning(lifecycle: Run) -> None:
    ran = lifecycle("overrun")
    assert ran.figures == {"sum": 2000}
    warnings = [line for line in ran.errors if "warning" in line]
    assert len(warnings) == 3
    for argument, warning in zip(("in1", "in2", "out"), warnings, strict=True):
        assert "kernel vadd_1" in warning
        assert f"argument {argument}, whose buffer has 4000" in warning
        assert "bytes at 0x" in warning


def test_an_access_to_a_buffer_that_was_freed_is_a_warning(lifecycle: Run) -> None:
    (warning,) = [line for line in lifecycle("freed").errors if "warning" in line]
    assert "argument in1, whose address is that of no buffer (freed before?)" in warning


def test_an_access_past_a_buffer_is_an_error_on_request(lifecycle: Run) -> None:
    ran = lifecycle("overrun", options=("--fail-on-warning",))
    assert ran.code == 3
    assert not ran.output.endswith("}\n")
    assert "--fail-on-warning: kernel vadd_1 reads" in ran.errors[-1]
    assert any("argument in1, whose buffer has 4000" in line for line in ran.errors)


@CLOCKS
def test_a_run_may_go_while_its_kernel_runs(lifecycle: Run, clock: str) -> None:
    ran = lifecycle("dropped", options=("--clock", clock))
    assert (ran.code, ran.figures) == (0, {"sum": SUM}), ran.errors
    assert "202 kernel runs" in ran.errors[-1]
