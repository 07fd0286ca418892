"""Mistakes of host programs that pass silently on a board: a warning names what to change."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from on_cards import OPENCL, SOURCES, Run, card_exec, compiled, emulated

from conftest import Command, made_once

__all__ = ["card_exec", "emulated"]  # fixtures
SCALE = """
extern "C" void scale(const int* in, int* out, int n, int by, float plus) {
  for (int i = 0; i < n; ++i) out[i] = in[i] * by + int(plus);
}
"""
ENDS = """
extern "C" void scale(const int* in, int* out, int n, int by, float plus) {
  for (int i = 0; i < n / 4; ++i) {
    out[i] = in[i] * by + int(plus);
    out[n - 1 - i] = in[n - 1 - i] * by + int(plus);
  }
}
"""
"""Reads and writes the first and the last quarter alone."""
WARNED = "isthmus: emulated card: warning: "
UNWRITTEN = "kernel scale_1 reads byte 0 of argument in (number 0), buffer of 4096 bytes, which "
LOST = "kernel scale_1 wrote to argument out (number 1), buffer of 4096 bytes, which neither "
UNAWAITED = (
    "kernel scale_1 writes to argument out (number 1), buffer of 4096 bytes, and the program reads "
    "that without a wait for the run's end"
)
OTHER_SIZE = (
    "argument plus (number 4) of kernel scale is a value of 4 bytes (float), and a value of 8 bytes"
)
TO_CARD = "add in.sync(XCL_BO_SYNC_BO_TO_DEVICE)"
FROM_CARD = "add out.sync(XCL_BO_SYNC_BO_FROM_DEVICE)"
FOLLOWS = "read; this may follow from the warning before: mend that first"
EXCHANGE = "exchange the two in the calls that set arguments"


@pytest.fixture(scope="session")
def mistakes(run_isthmus: Command) -> Path:
    """A folder with a kernel, and a program that makes the mistake that it is told."""

    def make(folder: Path) -> None:
        (folder / "ends").mkdir()
        for place, code in ((folder, SCALE), (folder / "ends", ENDS)):
            (place / "scale.cpp").write_text(code)
            made = run_isthmus("card", "kernel", "build", "scale.cpp", cwd=place)
            assert made.returncode == 0, made.stderr
        compiled(SOURCES / "mistakes.cpp", folder / "program", OPENCL)
        compiled(SOURCES / "rounds.cpp", folder / "rounds")

    return made_once("mistakes", make)


def warnings(errors: list[str]) -> list[str]:
    return [line.removeprefix(WARNED) for line in errors if line.startswith(WARNED)]


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("api", "way"),
    [
        ("native", "none"),
        ("opencl", "none"),
        ("native", "wide_values"),
        ("native", "by_state"),
        ("native", "by_time"),
        ("native", "by_packet"),
        ("native", "by_callback"),
        ("native", "by_thread"),
        ("native", "by_next_run"),
    ],
    ids=[
        "native",
        "opencl",
        "integers_that_fit",
        "waits_by_state",
        "waits_with_a_limit",
        "waits_by_the_packet",
        "waits_by_a_callback",
        "waits_in_another_thread",
        "waits_for_the_next_run",
    ],
)
def test_a_program_without_a_mistake_is_not_warned(
    card_exec: Run, mistakes: Path, api: str, way: str
) -> None:
    command = [mistakes / "program", api, mistakes / "scale.xclbin", way]
    ran = card_exec("--kernels", mistakes, "--fail-on-warning", "--", *command)
    assert ran.code == 0, ran.errors
    assert ran.figures["out"] == 42
    assert not warnings(ran.errors)


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("mistake", "code", "said"),
    [
        ("no_sync_to", 0, [(UNWRITTEN, TO_CARD)]),
        ("no_sync_from", 0, [(LOST, FROM_CARD)]),
        ("no_wait", 0, [(UNAWAITED, "add run.wait()")]),
        ("double_for_float", 0, [(OTHER_SIZE, "write run.set_arg(4, static_cast<float>(...))")]),
        ("lost_bytes", 0, [("argument by (number 3)", "write run.set_arg(3, static_cast<int>")]),
        ("swapped", 0, [(UNWRITTEN, EXCHANGE), (LOST, FOLLOWS)]),
        ("unset_scalar", 0, [("started without argument by (number 3)", "add run.set_arg(3, by)")]),
        (
            "buffer_for_scalar",
            128 + signal.SIGSEGV,
            [("argument n (number 2) of kernel scale is a value of 4 bytes", "run.set_arg(2, n)")],
        ),
        (
            "scalar_for_buffer",
            128 + signal.SIGTERM,
            [("argument in (number 0) of kernel scale is a buffer", "run.set_arg(0, in)")],
        ),
        (
            "started_twice",
            1,
            [("a run of kernel scale is started while it runs", "add run.wait()")],
        ),
    ],
    ids=[
        "no_sync_to",
        "no_sync_from",
        "no_wait",
        "double_for_float",
        "lost_bytes",
        "swapped",
        "unset_scalar",
        "buffer_for_scalar",
        "scalar_for_buffer",
        "started_twice",
    ],
)
def test_a_mistake_is_a_warning_that_names_the_line_to_add(
    card_exec: Run, mistakes: Path, mistake: str, code: int, said: list[tuple[str, str]]
) -> None:
    command = [mistakes / "program", "native", mistakes / "scale.xclbin", mistake]
    ran = card_exec("--kernels", mistakes, "--", *command)
    assert ran.code == code, ran.errors
    found = warnings(ran.errors)
    assert len(found) == len(said), found
    for line, (what, cure) in zip(found, said, strict=True):
        assert what in line
        assert cure in line


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ("no_sync_from", LOST),
        ("unset_scalar", "without argument by"),
        ("no_wait", UNAWAITED),
        ("double_for_float", OTHER_SIZE),
        ("never_started", "waits for a run of kernel scale that it never started"),
    ],
    ids=["by_the_card", "by_the_clock", "no_wait", "other_size", "never_started"],
)
def test_the_first_warning_may_end_the_program(
    card_exec: Run, mistakes: Path, mistake: str, said: str
) -> None:
    command = [mistakes / "program", "native", mistakes / "scale.xclbin", mistake]
    ran = card_exec("--kernels", mistakes, "--fail-on-warning", "--", *command)
    gate_failed = 3
    assert ran.code == gate_failed, ran.errors
    (line,) = [line for line in ran.errors if said in line]
    assert line.startswith("isthmus: --fail-on-warning: ")


@pytest.mark.usefixtures("emulated")
def test_opencl_names_an_output_that_is_never_read(card_exec: Run, mistakes: Path) -> None:
    command = [mistakes / "program", "opencl", mistakes / "scale.xclbin", "no_sync_from"]
    ran = card_exec("--kernels", mistakes, "--", *command)
    assert ran.code == 0, ran.errors
    (only,) = warnings(ran.errors)
    assert LOST in only
    assert "clEnqueueReadBuffer" in only


OVERWRITTEN = "kernel scale_1 reads argument in (number 0), buffer of 4096 bytes, and the program "
PARTLY = "kernel scale_1 wrote 4096 bytes to argument out (number 1), buffer of 4096 bytes, and "
SECOND = "in run 2 of those that did, and the program read the output of other runs alone"


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("what", "way", "said"),
    [
        ("overlapped", ["overwrites"], OVERWRITTEN + "writes new data there without a wait"),
        ("overlapped", ["overwrites,by_write"], OVERWRITTEN),
        ("overlapped", ["in_queue"], OVERWRITTEN),
        ("serial", ["elements_for_bytes", "1"], PARTLY + "the program read only 1024 of them"),
        (
            "serial",
            ["elements_for_bytes,by_read", "1"],
            PARTLY + "the program read only 1024 of them",
        ),
        ("serial", ["lost_1", "2"], SECOND),
        ("serial", ["lost_1", "4"], SECOND),
        ("serial", ["lost_1,by_read", "4"], SECOND),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "-".join(value)[:40],
)
def test_a_mistake_in_one_round_of_several_is_told(
    card_exec: Run, mistakes: Path, what: str, way: list[str], said: str
) -> None:
    command = [mistakes / "rounds", what, mistakes / "scale.xclbin", *way]
    ran = card_exec("--kernels", mistakes, "--fail-on-warning", "--", *command)
    gate_failed = 3
    assert ran.code == gate_failed, ran.errors
    assert said in ran.errors[-1]


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("what", "way"),
    [
        pytest.param("overlapped", ["two_sets"], id="sends_to_another_buffer"),
        pytest.param("overlapped", ["overwrites,same"], id="sends_the_same_data"),
        pytest.param("serial", ["in_two_parts", "2"], id="reads_in_two_parts"),
        pytest.param("serial", ["first_half", "2"], id="reads_a_half"),
        pytest.param("serial", ["first_half,then_all", "3"], id="reads_a_half_then_all"),
        pytest.param("serial", ["by_read", "3"], id="reads_by_a_copy"),
        pytest.param("serial", ["first_only,without_input,unlooked", "5"], id="times_further_runs"),
        pytest.param("serial", ["first_only,unlooked", "5"], id="checks_once_then_times"),
        pytest.param("serial", ["last_only,unlooked", "5"], id="reads_the_last_run"),
        pytest.param("serial", ["first_ten", "3"], id="reads_the_first_results"),
        pytest.param("chained", ["all_set"], id="passes_an_output_on"),
    ],
)
def test_rounds_without_a_mistake_are_not_warned(
    card_exec: Run, mistakes: Path, what: str, way: list[str]
) -> None:
    """A program that reads a half of each output may need no more.

    A part counts as a mistake only if the program gives a count of elements for bytes. Then the
    number of bytes is a scalar argument of the run: 1024 elements, of which 2048 bytes are none.
    """
    command = [mistakes / "rounds", what, mistakes / "scale.xclbin", *way]
    ran = card_exec("--kernels", mistakes, "--fail-on-warning", "--", *command)
    assert ran.code == 0, ran.errors
    assert not any(wrong for name, wrong in ran.figures.items() if name.startswith("wrong"))


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("what", "way", "is_told"),
    [
        ("serial", ["ends_only", "2"], False),
        ("overlapped", ["overwrites,middle,ends_only"], False),
        ("overlapped", ["in_queue,middle,ends_only"], False),
        ("overlapped", ["overwrites,ends_only"], True),
        ("overlapped", ["in_queue,ends_only"], True),
    ],
    ids=["reads_what_was_written", "sends_between", "sends_between_early", "sends", "sends_early"],
)
def test_bytes_between_those_of_a_run_are_not_of_the_run(
    card_exec: Run, mistakes: Path, what: str, way: list[str], is_told: bool
) -> None:
    folder = mistakes / "ends"
    command = [mistakes / "rounds", what, folder / "scale.xclbin", *way]
    ran = card_exec("--kernels", folder, "--fail-on-warning", "--", *command)
    assert (OVERWRITTEN in " ".join(ran.errors)) == is_told, ran.errors
    assert (ran.code != 0) == is_told, ran.errors


@pytest.mark.usefixtures("emulated")
def test_an_output_that_is_not_needed_may_be_left_unread(card_exec: Run, mistakes: Path) -> None:
    command = [mistakes / "program", "native", mistakes / "scale.xclbin", "no_sync_from"]
    options = ["--kernels", mistakes, "--fail-on-warning"]
    ran = card_exec(*options, "--", *command)
    assert "if nobody needs it, card exec has --not-needed scale_1.out" in ran.errors[-1]
    ran = card_exec(*options, "--not-needed", "scale_1.out", "--", *command)
    assert ran.code == 0, ran.errors
    ran = card_exec(*options, "--not-needed", "scale_1.in", "--", *command)
    gate_failed = 3
    assert ran.code == gate_failed, ran.errors


@pytest.mark.usefixtures("emulated")
def test_another_clock_than_that_of_the_build_is_told(
    card_exec: Run, run_isthmus: Command, mistakes: Path, tmp_path: Path
) -> None:
    (tmp_path / "scale.cpp").write_text(SCALE)
    made = run_isthmus("card", "kernel", "build", "scale.cpp", "--clock", 150, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    said = "built for 150 MHz run at 300 MHz: give --board u250,kernel.clock_MHz=150"
    for board, is_told in (("u250", True), ("u250,kernel.clock_MHz=150", False)):
        options = ["--board", board, "--kernels", tmp_path, "--fail-on-warning", "--"]
        ran = card_exec(*options, mistakes / "program", "native", tmp_path / "scale.xclbin", "none")
        assert ran.code == 0, ran.errors
        assert any(said in line for line in ran.errors) == is_told


@pytest.mark.usefixtures("emulated")
def test_what_follows_from_a_mistake_names_no_other_cure(card_exec: Run, mistakes: Path) -> None:
    """A value that was never set makes the first run write nothing, which the second one reads."""
    command = [mistakes / "rounds", "chained", mistakes / "scale.xclbin", "unset"]
    ran = card_exec("--kernels", mistakes, "--", *command)
    assert ran.code == 0, ran.errors
    first, second = warnings(ran.errors)
    assert "started without argument n (number 2)" in first
    assert second.startswith(UNWRITTEN)
    assert second.endswith("this may follow from the warning before: mend that first")


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("what", ["independent", "mended"])
def test_a_mistake_apart_from_another_names_its_cure(
    card_exec: Run, mistakes: Path, what: str
) -> None:
    """With other buffers, or in a later start of the same run."""
    command = [mistakes / "rounds", what, mistakes / "scale.xclbin", "all"]
    ran = card_exec("--kernels", mistakes, "--", *command)
    assert ran.code == 0, ran.errors
    first, second = warnings(ran.errors)
    assert "started without argument n (number 2)" in first
    assert second.startswith(UNWRITTEN)
    assert TO_CARD in second


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("api", "call"),
    [
        ("native", "xrt::bo::sync(XCL_BO_SYNC_BO_FROM_DEVICE, size 4096, offset 0)"),
        ("opencl", "clEnqueueReadBuffer(queue, buffer, blocking 1, offset 0, size 4096, ...)"),
    ],
    ids=["native", "opencl"],
)
def test_a_program_that_dies_is_told_its_last_call(
    card_exec: Run, mistakes: Path, api: str, call: str
) -> None:
    command = [mistakes / "program", api, mistakes / "scale.xclbin", "crash"]
    ran = card_exec("--board", "u200", "--kernels", mistakes, "--", *command)
    assert ran.code == 128 + signal.SIGSEGV
    (line,) = [line for line in ran.errors if "ended by SIGSEGV" in line]
    assert f"its last call was {call}, in thread " in line
    assert "kernel runs: 1, of which 0 not seen to end" in line
    assert f"card exec --board u200 --kernels {mistakes} -- gdb -ex run -ex bt --args " in line


@pytest.mark.usefixtures("emulated")
def test_the_last_call_names_an_argument_that_the_kernel_lacks(
    card_exec: Run, mistakes: Path
) -> None:
    command = [mistakes / "program", "group", mistakes / "scale.xclbin", 9]
    ran = card_exec("--kernels", mistakes, "--", *command)
    assert ran.code == 128 + signal.SIGABRT
    assert any("call was xrt::kernel::group_id(9) of kernel scale" in one for one in ran.errors)


@pytest.mark.usefixtures("emulated")
def test_a_program_that_dies_before_any_call_has_none(card_exec: Run) -> None:
    ran = card_exec("--", "sh", "-c", "kill -ABRT $$")
    assert ran.code == 128 + signal.SIGABRT
    assert any("it made no call of XRT or OpenCL" in line for line in ran.errors), ran.errors
