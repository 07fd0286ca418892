"""Limits of a program under card exec, and what continuous integration reads of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from on_cards import Made, Ran, Run, card_exec, emulated, probe, probed, programs

__all__ = ["card_exec", "emulated", "probe", "probed", "programs"]  # fixtures
pytestmark = pytest.mark.usefixtures("emulated")


def result(file: Path) -> ElementTree.Element:
    suite = ElementTree.parse(file).getroot()
    assert suite.get("tests") == "1"
    return suite


def test_a_program_within_its_limits_passes(probed: Callable[..., Ran], tmp_path: Path) -> None:
    options = ("--max-simulated", "1s", "--fail-on-warning", "--junit", "result.xml")
    ran = probed("apart", 0, *options)
    assert ran.code == 0
    suite = result(tmp_path / "result.xml")
    assert suite.get("failures") == "0"
    assert float(suite.get("time", "0")) > 0
    case = suite.find("testcase")
    assert case is not None
    assert "apart" in case.get("name", "")
    assert "simulated, not hardware" in case.findtext("system-out", "")
    assert probed("apart", 0, *options).code == 2  # nothing is overwritten


def test_a_program_that_waits_too_long_for_the_card_ends_with_3(
    probed: Callable[..., Ran], tmp_path: Path
) -> None:
    ran = probed("apart", 0, "--max-simulated", "10us", "--junit", "result.xml")
    assert ran.code == 3
    assert ran.figures["sum"] > 0
    assert "more than --max-simulated 10us: the program had ended by itself" in ran.errors[-1]
    failure = result(tmp_path / "result.xml").find("testcase/failure")
    assert failure is not None
    assert "more than --max-simulated 10us" in failure.get("message", "")


def test_all_slices_of_a_wait_count(probed: Callable[..., Ran]) -> None:
    """XRT waits for a kernel in slices of a second: only the last slice counted."""
    ran = probed("apart", 0, "--board", "u250,memory.latency_ns=1e9", "--max-simulated", "4500ms")
    assert ran.code == 3
    assert "5.00 s waited" in ran.errors[0], "2 s for the kernel, 1 s for each of three transfers"


def test_a_program_that_does_not_end_is_ended_at_its_limit(card_exec: Run, programs: Made) -> None:
    program = [programs("native"), "going_on", programs("hw_emu.xclbin")]
    ran = card_exec("--max-simulated", "1ms", "--", *program)
    assert ran.code == 3
    assert "more than --max-simulated 1ms: the program was ended" in ran.errors[-1]


def test_what_a_program_fails_with_is_in_the_result(card_exec: Run, tmp_path: Path) -> None:
    ran = card_exec("--junit", "result.xml", "--", "sh", "-c", "exit 5")
    assert ran.code == 5
    failure = result(tmp_path / "result.xml").find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "exit code 5"
    ran = card_exec("--max-simulated", "soon", "--", "true")
    assert ran.code == 2
    assert "'soon' is no time" in ran.errors[-1]


def test_what_waited_for_what_is_told(probed: Callable[..., Ran]) -> None:
    ran = probed("apart", 0, "--watch")
    assert ran.code == 0
    told = ran.errors[ran.errors.index(next(e for e in ran.errors if e.startswith("card 0"))) : -1]
    assert any("host to card: 4.1 kB" in line for line in told)
    kernel = next(n for n, line in enumerate(told) if "kernel probe_1: 8.19 kB" in line)
    assert "kernel probe_1 launched" in told[kernel - 1]
    assert any("card to host" in line for line in told[kernel:])
    assert "card waits for program" in "".join(told)
    waits = [line for line in told if re.search(r", \d+ %$", line)]
    shares = [float(line.split(", ")[-1].split(" %")[0]) for line in waits]
    assert sum(shares) == pytest.approx(100, abs=2)
