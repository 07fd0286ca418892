"""The OpenCL backend on a real runtime, end to end."""

from __future__ import annotations

import csv
import io
import sys

import pytest

from conftest import Command
from isthmus.errors import IsthmusError
from isthmus.studies.transfer import OPERATIONS


def rows(isthmus: Command, *arguments: str) -> list[dict[str, str]]:
    ran = isthmus("run", "transfer", *arguments, "--precision", "0.5", "--reruns", "1",
                  "--out", "run.json")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    shown = isthmus("show", "run.json", "--format", "csv")
    return list(csv.DictReader(io.StringIO(shown.stdout)))


def test_every_operation_is_measured_and_verified(isthmus: Command, pocl: str) -> None:
    points = rows(isthmus, "--device", pocl, "--axis", "bytes=1,4097,1Mi")
    by_operation = {row["operation"] for row in points}
    assert by_operation == set(OPERATIONS)
    for row in points:
        assert row["verified"] == ("na" if row["operation"] == "launch" else "true"), row
        assert int(row["samples"]) >= 25, row
    clocks = {row["clock"] for row in points if row["operation"] == "kernel_read"}
    assert clocks == {"host", "device"}


@pytest.mark.parametrize("memory", ["aligned", "pageable", "hugepage", "alloc_host", "offset64"])
def test_memory_kinds(isthmus: Command, pocl: str, memory: str) -> None:
    points = rows(isthmus, "--device", pocl, "--axis", "bytes=64Ki", "--axis", "operation=write",
                 "--axis", f"memory={memory}")  # fmt: skip
    assert [(row["memory"], row["verified"]) for row in points] == [(memory, "true")]


def test_queue_depths_move_that_many_times_the_bytes(isthmus: Command, pocl: str) -> None:
    points = rows(isthmus, "--device", pocl, "--axis", "bytes=64Ki", "--axis", "operation=read",
                 "--axis", "depth=1,8")  # fmt: skip
    assert [row["depth"] for row in points] == ["1", "8"]
    for row in points:
        moved = float(row["bandwidth_Bps"]) * float(row["median_s"])
        assert moved == pytest.approx(65536 * int(row["depth"]))


def test_more_than_the_device_holds_is_left_out_and_told(isthmus: Command, pocl: str) -> None:
    ended = isthmus("run", "transfer", "--device", pocl, "--axis", "bytes=1,1Ti", "--axis",
                    "operation=write", "--quick", "--out", "run.json")  # fmt: skip
    assert ended.returncode == 0
    assert "does not do 1Ti" in ended.stderr


@pytest.mark.emulation
@pytest.mark.usefixtures("pocl")
def test_beside_an_emulated_card_another_platform_is_what_it_is(isthmus: Command) -> None:
    import isthmus_emulation

    try:
        isthmus_emulation.prepare(["u250"]).close()
    except IsthmusError as error:
        pytest.skip(f"no XRT behind which a card is emulated: {error}")
    program = [sys.executable, "-m", "isthmus", "run", "transfer", "--device", "opencl:pocl",
               "--axis", "bytes=64Ki", "--axis", "operation=write", "--quick",
               "--out", "run.json"]  # fmt: skip
    named = {"OCL_ICD_VENDORS": "/etc/OpenCL/vendors"}  # else AMD's platform is the only one
    ran = isthmus("card", "exec", "--", *program, env=named)
    assert ran.returncode == 0, ran.stderr
    shown = isthmus("show", "run.json", "--format", "csv")
    points = list(csv.DictReader(io.StringIO(shown.stdout)))
    assert {row["clock"] for row in points} <= {"host", "device"}
    assert all(float(row["median_s"]) > 0 for row in points)
    assert points
