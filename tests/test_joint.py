"""The devices of all ranks as one: what it can do is what each of them can."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any, cast

import msgspec
import pytest

from isthmus.candidates import Candidate
from isthmus.descriptions import (
    AxisDescription,
    DeviceDescription,
    OperationDescription,
    PartDescription,
)
from isthmus.measure import protocol
from isthmus.measure.joint import RankGroup, joint
from isthmus.measure.plan import Limits
from isthmus.measure.ranks import Hello, Leader, RankDevice, RankState
from isthmus.system.memory import available_bytes

DEPTH = AxisDescription("depth", "64", buffers=True)
LISTED = AxisDescription("depth", "16", ["1", "16"])


def device(axis: AxisDescription = DEPTH, *, buffers: int = 2, **changes: Any) -> DeviceDescription:
    """A device with one joint operation, which has one axis."""
    operation = OperationDescription(
        "window", [PartDescription("window", "", "cpu")], True, [axis], ["aligned"],
        buffers, 1 << 30, joint=True,
    )  # fmt: skip
    plain = DeviceDescription("", "a", "b", "host", 1 << 40, 1 << 40, ["aligned"], [operation], {})
    return msgspec.structs.replace(plain, **changes)


@pytest.mark.parametrize("of_first", [True, False], ids=["rank 0", "rank 1"])
def test_the_narrowest_limit_of_any_rank_counts(of_first: bool) -> None:
    narrow = device(
        AxisDescription("depth", "8", most=8, buffers=True),
        buffers=3, max_buffer_bytes=1 << 20, memory_bytes=1 << 30,
    )  # fmt: skip
    every = [narrow, device()] if of_first else [device(), narrow]
    found = joint(every)
    (operation,) = found.operations
    (axis,) = operation.axes
    assert (axis.most, axis.usual, axis.buffers) == (8, "8", True)
    assert operation.device_buffers == 3
    assert (found.max_buffer_bytes, found.memory_bytes) == (1 << 20, 1 << 30)


@pytest.mark.parametrize("of_first", [True, False], ids=["rank 0", "rank 1"])
def test_values_are_those_that_each_rank_takes(of_first: bool) -> None:
    any_to_8 = AxisDescription("depth", "8", most=8)
    every = [device(LISTED), device(any_to_8)]
    (operation,) = joint(every if of_first else every[::-1]).operations
    (axis,) = operation.axes
    assert (axis.values, axis.usual) == (["1"], "1")
    other = device(AxisDescription("depth", "32", ["32"]))
    apart = [device(LISTED), other]
    assert joint(apart if of_first else apart[::-1]).operations == []


class Answering(Leader):
    """A leader whose ranks have come, and which answers for them: hosts of their own are rare."""

    def __init__(self, hellos: Sequence[Hello]) -> None:
        self.ranks = [RankState(cast("Any", None), hello) for hello in hellos]

    def ask(self, requests: Sequence[protocol.Request], _: float) -> list[protocol.Answer]:
        return [protocol.Opened(device()) for _ in requests]


def left(*free: tuple[str, int]) -> int:
    """What the plan takes for free host memory, of ranks on these hosts."""
    own = RankDevice("host", "host", Candidate("here"), device())
    hellos = [Hello(n, host, 1, own, "mpi", bytes_) for n, (host, bytes_) in enumerate(free)]
    return Limits.of(RankGroup(Answering(hellos)).open_devices({}).description).host_bytes


def test_memory_of_every_host_counts_and_ranks_of_a_host_share_it() -> None:
    assert left(("a", 8 << 30), ("b", 1 << 30)) == 1 << 30
    assert left(("b", 1 << 30), ("a", 8 << 30)) == 1 << 30
    assert left(("a", 8 << 30), ("a", 8 << 30), ("b", 5 << 30)) == 4 << 30
    here = socket.gethostname()
    assert left((here, 0)) >= available_bytes() // 2, "one that does not know: the machine's own"
