"""Runs of kernels whose order the program has not made, and runs that two threads share."""

from __future__ import annotations

from pathlib import Path

import pytest
from on_cards import OPENCL, SOURCES, Run, card_exec, compiled, emulated

from conftest import Command, made_once

__all__ = ["card_exec", "emulated"]  # fixtures
pytestmark = pytest.mark.usefixtures("emulated")
GATE_FAILED = 3
KERNELS = {
    "scale": """
extern "C" void scale(const int* in, int* out, int by, int first, int step, int end) {
  for (int i = first; i < end; i += step) out[i] = in[i] * by;
}
""",
    "add": """
extern "C" void add(int* buffer, int n) {
  for (int i = 0; i < n; ++i) buffer[i] += 1;
}
""",
    "add_some": """
extern "C" void add_some(int* buffer, int first, int step, int end) {
  for (int i = first; i < end; i += step) buffer[i] += 1;
}
""",
    "write_flagged": """
extern "C" void write_flagged(int* data, volatile int* flag, int n) {
  for (int i = 0; i < n; ++i) data[i] = i;
  flag[0] = 1;
}
""",
    "read_flagged": """
extern "C" void read_flagged(const int* data, volatile int* flag, int* out, int n) {
  while (flag[0] == 0) {}
  for (int i = 0; i < n; ++i) out[i] = data[i];
}
""",
    "write_told": """
#include <hls_stream.h>
extern "C" void write_told(int* data, hls::stream<int>& out, int n) {
  for (int i = 0; i < n; ++i) data[i] = i;
  out << 1;
}
""",
    "read_told": """
#include <hls_stream.h>
extern "C" void read_told(const int* data, hls::stream<int>& in, int* out, int n) {
  in.read();
  for (int i = 0; i < n; ++i) out[i] = data[i];
}
""",
}
LINKS = """
[connectivity]
nk=scale:2:scale_1.scale_2
nk=add_some:2:add_some_1.add_some_2
stream_connect=write_told_1.out:read_told_1.in:4
"""
BESIDE = "buffer of 262144 bytes, which kernel "
WAIT = "between the two starts, add run.wait() for the first run"


@pytest.fixture(scope="session")
def races(run_isthmus: Command) -> Path:
    """A folder with kernels that share memory, and a program that runs them side by side."""

    def make(folder: Path) -> None:
        for name, code in KERNELS.items():
            (folder / f"{name}.cpp").write_text(code)
        (folder / "link.cfg").write_text(LINKS)
        sources = [f"{name}.cpp" for name in KERNELS]
        options = ["--config", "link.cfg", "-o", "races.xclbin"]
        made = run_isthmus("card", "kernel", "build", *sources, *options, cwd=folder)
        assert made.returncode == 0, made.stderr
        compiled(SOURCES / "races.cpp", folder / "program", OPENCL)

    return made_once("races", make)


@pytest.mark.parametrize(
    ("api", "way", "said"),
    [
        ("native", "two_writers", ["kernel scale_2 writes byte 4 of argument out", BESIDE, WAIT]),
        (
            "native",
            "reader_of_an_output",
            ["kernel add_1 reads byte 0 of argument buffer", "scale_1 writes by argument out"],
        ),
        (
            "native",
            "writer_of_an_input",
            ["kernel scale_1 writes byte 0 of argument out", "add_1 writes by argument buffer"],
        ),
        ("native", "late_wait", ["kernel add_1 reads byte 0 of argument buffer", WAIT]),
        ("native", "shared_run", ["a run of kernel scale is started while it runs"]),
        (
            "native",
            "other_card",
            ["kernel scale_1 reads byte 0 of argument in", "make the buffer on the kernel's card"],
        ),
        (
            "native",
            "never_waits",
            ["wrote to argument out", "does not wait for the run either: add run.wait(), then out"],
        ),
        (
            "opencl",
            "two_kernels",
            ["argument buffer (number 0)", "the first run's event to the second's wait list"],
        ),
        ("opencl", "early_kernel", ["kernel scale waits for no event in an out-of-order queue"]),
        ("opencl", "migrates_again", ["kernel add waits for no event in an out-of-order"]),
        ("opencl", "migrates_write_only", ["kernel add waits for no event in an out-of-order"]),
        ("opencl", "late_queue", ["kernel scale waits for no event in an out-of-order queue"]),
        ("opencl", "marker", ["kernel scale waits for no event in an out-of-order queue"]),
        ("opencl", "many_kernels", ["before kernel add, which uses it"]),
        (
            "opencl",
            "early_read",
            ["clEnqueueReadBuffer waits for no event", "before kernel add, which uses it"],
        ),
    ],
)
def test_a_missing_order_ends_a_program_that_fails_on_warnings(
    card_exec: Run, races: Path, api: str, way: str, said: list[str]
) -> None:
    command = [races / "program", api, races / "races.xclbin", way]
    boards = ["--board", "u250"] * (2 if way == "other_card" else 1)
    options = [*boards, "--kernels", races, "--fail-on-warning"]
    ran = card_exec(*options, "--", *command)
    assert ran.code == GATE_FAILED, ran.errors
    assert all(part in ran.errors[-1] for part in said), ran.errors


@pytest.mark.parametrize(
    ("api", "way"),
    [
        ("native", "waits"),
        ("native", "two_halves"),
        ("native", "alternate_elements"),
        ("native", "alternate_in_place"),
        ("native", "one_input"),
        ("native", "same_values"),
        ("native", "waits_in_a_thread"),
        ("native", "by_callback"),
        ("native", "by_a_flag"),
        ("native", "by_a_stream"),
        ("native", "polled_run"),
        ("opencl", "events"),
        ("opencl", "finishes"),
        ("opencl", "migrates"),
    ],
)
def test_runs_with_an_order_or_other_bytes_are_not_warned(
    card_exec: Run, races: Path, api: str, way: str
) -> None:
    """The first migration of an input needs no event: XRT's OpenCL then waits for the input."""
    command = [races / "program", api, races / "races.xclbin", way]
    ran = card_exec("--kernels", races, "--fail-on-warning", "--", *command)
    assert ran.code == 0, ran.errors


def test_each_kind_of_missing_event_is_told(card_exec: Run, races: Path) -> None:
    command = [races / "program", "opencl", races / "races.xclbin", "both"]
    ran = card_exec("--kernels", races, "--", *command)
    text = " ".join(ran.errors)
    assert "kernel scale waits for no event" in text
    assert "clEnqueueReadBuffer waits for no event" in text


def test_a_child_of_a_fork_does_not_wait_for_the_parents_thread(
    card_exec: Run, races: Path
) -> None:
    command = [races / "program", "opencl", races / "races.xclbin", "forks"]
    ran = card_exec("--kernels", races, "--", *command)
    assert ran.code == 0, ran.errors
    assert ran.figures["hung"] == 0
