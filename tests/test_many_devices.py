"""Nodes with many devices: one screen, on which devices that are alike share their rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Command
from stand_ins import boards, gpus

__all__ = ["boards", "gpus"]
pytestmark = pytest.mark.slow
MOST_LINES = 25
"""Lines of a terminal of usual size."""


def screen(isthmus: Command, *words: str) -> list[str]:
    """The lines that a run prints at its end."""
    done = isthmus("run", "all", "--quick", "--budget", "30", "--out", "run.json", *words)
    assert done.returncode in {0, 1}, done.stderr  # 1: the stand-ins run no kernels
    return done.stdout.splitlines()


def test_eight_gpus_fit_one_screen(
    isthmus: Command, gpus: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**gpus, "STAND_IN_BOARDS": "01234567"}.items():
        monkeypatch.setenv(name, value)
    lines = screen(isthmus)
    assert len(lines) <= MOST_LINES
    # Other accelerators of this machine, such as an FPGA emulator, follow.
    assert lines[0].startswith("Isthmus: 8 x stand-in (cuda:0 to cuda:7)")
    # How far the copies of eight devices differ is up to this machine: some share a row.
    assert any("copy to" in line for line in lines)
    points = json.loads((tmp_path / "run.json").read_text())["points"]
    curve = {point["device"] for point in points if point["bytes"] == 256 and point["reruns"]}
    gpus_with_a_curve = {address for address in curve if address.startswith("cuda:")}
    assert gpus_with_a_curve <= {"cuda:0"}, "a GPU like an earlier one has headlines alone"


def test_two_fpgas_fit_one_screen(
    isthmus: Command, boards: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**boards, "STAND_IN_BOARDS": "01"}.items():
        monkeypatch.setenv(name, value)
    lines = screen(isthmus, "--device", "xrt:0@noop", "--device", "xrt:1@noop")
    assert len(lines) <= MOST_LINES
    assert "2 x" in lines[0]
