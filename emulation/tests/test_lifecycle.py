"""Programs that open, share, restart and misuse emulated cards: one test for each way to fail."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from on_cards import SOURCES, Ran, Run, card_exec, emulated, programs

__all__ = ["card_exec", "emulated", "programs"]  # fixtures
pytestmark = pytest.mark.usefixtures("emulated")
CLOCKS = pytest.mark.parametrize("clock", ["virtual", "wall"])
SUM = 1000 * 1001
"""Of what ``vadd`` makes of 1 to 1000 twice."""


@pytest.fixture
def lifecycle(card_exec: Run, programs: Path) -> Run:
    def run(what: str, *rest: object, options: tuple[str, ...] = (), xclbin: object = None) -> Ran:
        file = xclbin or programs / "hw_emu.xclbin"
        return card_exec(*options, "--", programs / "lifecycle", what, file, *rest)

    return run


@pytest.fixture(scope="module")
def late_waits(programs: Path) -> Path:
    """A library that, preloaded, makes threads lose their processor where that does most harm."""
    library = programs / "late_waits.so"
    compiler = os.environ.get("CXX", "c++")
    source = SOURCES / "late_waits.cpp"
    command = [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", source, "-o", library]
    subprocess.run(command, check=True)
    return library


@CLOCKS
def test_bitstreams_are_loaded_in_turn(lifecycle: Run, programs: Path, clock: str) -> None:
    file = programs / "hw_emu.xclbin"
    ran = lifecycle("second_bitstream", file, file, options=("--clock", clock))
    assert set(ran.figures.values()) == {SUM}
    assert len(ran.figures) == 3
    assert ran.code == 0


@CLOCKS
def test_a_programs_children_are_its_own(lifecycle: Run, clock: str) -> None:
    figures = lifecycle("children", options=("--clock", clock)).figures
    assert figures == {"first": 7, "sum": SUM, "others": 0, "alive": 1, "reaped": 1}


@CLOCKS
@pytest.mark.parametrize("what", ["many_runs", "restarts"])
def test_no_wake_up_of_xrts_scheduler_is_lost(
    card_exec: Run, programs: Path, late_waits: Path, clock: str, what: str
) -> None:
    preload = f'LD_PRELOAD="$LD_PRELOAD {late_waits}" exec "$@"'
    program = ("sh", "-c", preload, "sh", programs / "lifecycle", what)
    ran = card_exec("--clock", clock, "--", *program, programs / "hw_emu.xclbin", 50)
    assert ran.code == 0, ran.errors
    assert ran.figures
