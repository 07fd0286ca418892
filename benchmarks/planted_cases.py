"""Cases for ``planted_verdicts.py``: machines with a planted fault, and healthy machines.

The cases were chosen after the rules of the verdicts were frozen. A case describes a machine by
three parts: the board of its emulated card, what the system shows, and changes of the times. Its
words, chosen before its first run, are those by which a cause must name the fault.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from isthmus.boards.board import Board
from isthmus.models.pcie import Link

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from pci_tree import GI, MI, REDIRECTS
from planted import Scene, _above, _card, _errors, _machine, _port

SIZES = (2 << 10, 48 << 10, 640 << 10, 6 * MI, 96 * MI)
COPIES = ("read", "write", "bidirectional")
INWARD = ("read", "bidirectional")
"""Operations that move data from card to host, in one or both directions."""
BOARDS = (
    ("f1-vu9p", {}),
    ("generic-gen4x8", {"link.generation": 3}),
    ("generic-gen5x16", {"link.generation": 4}),
    ("generic-gen5x16", {"link.lanes": 8}),
)
GEN4X16 = BOARDS[2]
SAMPLES = 20
"""Number of samples of each process."""
Keys = Mapping[str, object]
Times = Mapping[tuple[str, int], float]


@dataclass(frozen=True)
class Copy:
    """A copy in one process: all that a change of its times may depend on."""

    operation: str
    size: int
    memory: str
    link: Link
    late: bool
    """Whether the process belongs to the second half of the run."""
    times: Times
    random: np.random.Generator

    @property
    def moved(self) -> int:
        """Bytes that the copy moves in all directions."""
        return self.size * (2 if self.operation == "bidirectional" else 1)

    @property
    def on_link(self) -> float:
        """Seconds beyond those of the smallest copy: the part that grows with the size."""
        return self.times[self.operation, self.size] - self.times[self.operation, SIZES[0]]


Change = Callable[[Copy, np.ndarray], np.ndarray]
"""Function that gets a copy and the seconds of its samples, and returns changed seconds."""


def unchanged(_: Copy, seconds: np.ndarray) -> np.ndarray:
    return seconds


@dataclass(frozen=True)
class Case:
    """A machine: its card's board, what the system shows, and how its times change."""

    wanted: tuple[tuple[str, ...], ...] = ()
    """For each fault: words of which the name of a cause must contain one."""
    doctor: tuple[str, ...] = ()
    """Names of the checks that must be bad."""
    board: Callable[[Board], Keys] = lambda _: {}
    shown: Callable[[Scene, Link], Scene] = lambda scene, _: scene
    change: Change = unchanged
    on: tuple[tuple[str, Keys], ...] = BOARDS
    memories: tuple[str, ...] = ("pinned", "aligned")
    operations: tuple[str, ...] = COPIES
    most: int = 1 << 40
    """Largest size in bytes that is measured."""
    api: str = "opencl"
    verified: str = "true"
    beside: bool = False
    """Whether a healthy card of the same kind is in the machine and the run."""


def both(one: Case, other: Case) -> Case:
    """Combines two cases to a machine with both faults."""
    return replace(
        one,
        wanted=one.wanted + other.wanted,
        doctor=one.doctor + other.doctor,
        board=lambda board: {**one.board(board), **other.board(board)},
        shown=lambda scene, link: other.shown(one.shown(scene, link), link),
        change=lambda copy, seconds: other.change(copy, one.change(copy, seconds)),
    )


def trained(scene: Scene, link: Link) -> Scene:
    """The system shows the link at its lower speed and lanes; both ends still support more."""
    now = {"lanes": link.lanes, "speed": link.gigatransfers}
    return _above(_port(scene, **now), 0, **now)


def upstream(scene: Scene, link: Link) -> Scene:
    """The system shows fewer lanes only on the switch's link to the root."""
    return _above(_above(scene, 1, lanes=link.lanes), 2, lanes=link.lanes)


def packets_of_128(scene: Scene, _: Link) -> Scene:
    """The system shows MPS and MRRS of 128 B, although each port supports 512 B."""
    for i in range(len(scene.card.above)):
        scene = _above(scene, i, payload=128, most_payload=512)
    return _port(scene, payload=128, read_request=128)


def guest(scene: Scene, _: Link) -> Scene:
    """The system shows what a virtual machine sees of a card that is passed through to it."""
    scene = _card(_port(scene, correctable=None), above=(), iommu="", node=-1)
    scene = _machine(scene, virtual=True, governor="", driver="", idle={}, nodes=("0-15",))
    return replace(scene, as_root=False)


def steady(share: float, operations: tuple[str, ...] = COPIES) -> Change:
    """Change by a neighbour that always takes this share of the link."""
    return lambda copy, seconds: (
        seconds + copy.on_link * (1 / (1 - share) - 1) * (copy.operation in operations)
    )


def later(factor: float) -> Change:
    """Change in the second half of the processes: bytes take ``factor`` times as long."""
    return lambda copy, seconds: seconds + copy.on_link * (factor - 1) * copy.late


def copied(rate: float, memories: tuple[str, ...] = ("aligned", "pageable")) -> Change:
    """Change by a further copy on the host at ``rate`` B/s, for these kinds of memory."""
    return lambda copy, seconds: seconds + copy.moved / rate * (copy.memory in memories)


def at_rate(factor: float) -> Change:
    """Change that gives large copies ``factor`` times the link's raw rate."""
    return lambda copy, seconds: (
        np.full(SAMPLES, copy.size / (factor * copy.link.raw)) if copy.size >= 6 * MI else seconds
    )


def duplex(factor: float) -> Change:
    """Change of bidirectional copies: ``factor`` times the time of the faster direction alone."""
    return lambda copy, seconds: (
        np.full(SAMPLES, factor * min(copy.times[one, copy.size] for one in ("read", "write")))
        if copy.operation == "bidirectional" else seconds
    )  # fmt: skip


def fixed(value: float, operations: tuple[str, ...]) -> Change:
    """Change that gives these operations ``value`` seconds at each size."""
    return lambda copy, seconds: (
        np.full(SAMPLES, value) if copy.operation in operations else seconds
    )


def stolen(copy: Copy, seconds: np.ndarray) -> np.ndarray:
    """Change by a hypervisor that takes the processor away for 2 ms in a tenth of the samples."""
    return seconds + 2e-3 * (copy.random.random(SAMPLES) < 0.1)


def times_as_long(*names: str, factor: float = 3.0) -> Callable[[Board], Keys]:
    return lambda board: {name: factor * board.number(name) for name in names}


USER = ("another user", "neighbour", "a slow device, or another user")
FEWER, SLOWER, SMALL = ("fewer lanes",), ("a link slower",), ("small packets",)
NODE, IOMMU, ERRORS = ("another memory node",), ("IOMMU",), ("errors on the link", "sent again")
THROTTLED = ("thrott", "heat", "clock", "later", "during the run", "power")
UNCHECKED = ("verif", "not checked", "unchecked", "wrong data", "did not arrive")
"""Words for data that were not checked. The last was added after the first run, which used it."""
ABOVE = ("above", "more than", "faster than", "exceed", "impossible")
NOTHING = ("nothing", "no copy", "zero", "not moved", "no bytes", "did not")
TWO_GENERATIONS = {5: 3, 4: 3, 3: 2}
FAULTS = {
    "a quarter of the lanes": Case(
        (FEWER,), ("link_width",), lambda b: {"link.lanes": b.whole("link.lanes") // 4}, trained
    ),
    "gen 3 of gen 4 or 5, gen 2 of gen 3": Case(
        (SLOWER,), ("link_speed",),
        lambda b: {"link.generation": TWO_GENERATIONS[b.whole("link.generation")]}, trained,
    ),
    "upstream port of the switch at x4": Case(
        (("narrow link above", "upstream"),), ("upstream",), lambda _: {"link.lanes": 4}, upstream
    ),
    "MPS 128 of 512, MRRS 128": Case(
        ((*SMALL, "small read requests"),), ("max_payload", "max_read_request"),
        lambda _: {"link.max_payload_bytes": 128, "link.max_read_request_bytes": 128},
        packets_of_128,
    ),
    "MRRS 128 alone": Case(
        ((*SMALL, "small read requests", "read request"),), ("max_read_request",),
        lambda _: {"link.max_read_request_bytes": 128},
        lambda scene, _: _port(scene, read_request=128),
    ),
    "extended tags off, 32 tags": Case(
        (("extended tags",),), ("extended_tags",), lambda _: {"dma.tags": 32},
        lambda scene, _: _port(scene, extended_tags=False),
    ),
    "IOMMU, 16 pages kept, 300 ns a miss": Case(
        (IOMMU,), ("iommu",), lambda _: {"host.translation_entries": 16},
        lambda scene, _: _card(scene, iommu="DMA"),
    ),
    "IOMMU, 256 pages kept, 900 ns a miss": Case(
        (IOMMU,), ("iommu",),
        lambda _: {"host.translation_entries": 256, "host.translation_miss_ns": 900},
        lambda scene, _: _card(scene, iommu="DMA-FQ"),
    ),
    "0.2 % replay": Case(
        (ERRORS,), ("errors",), lambda _: {"link.error_rate": 0.002},
        lambda scene, _: _errors(scene, correctable={"BadTLP": 300, "BadDLLP": 40}),
    ),
    "5 % replay": Case(
        (ERRORS,), ("errors",), lambda _: {"link.error_rate": 0.05},
        lambda scene, _: _errors(scene, correctable={"BadTLP": 90_000, "Timeout": 70}),
    ),
    "5 % replay, no counters": Case(
        (("a slow device, or another user", "that no check sees", *ERRORS),), (),
        lambda _: {"link.error_rate": 0.05},
        lambda scene, _: _port(scene, correctable=None),
    ),
    "processes on the far node": Case(
        (NODE,), ("numa_node",),
        lambda b: {"host.memory_latency_ns": b.number("host.memory_latency_ns") + 140,
                   "host.memory_bandwidth_Bps": 20e9},
        lambda scene, _: replace(scene, cpus=tuple(range(8))),
    ),
    "powersave, C-states on": Case(
        (("processor clocked low",),), ("governor",),
        times_as_long("dma.submit_ns", "dma.finish_ns", "host.interrupt_ns"),
        lambda scene, _: _machine(scene, governor="powersave", idle_disabled=()),
    ),
    "throttled in the second half": Case((THROTTLED,), change=later(1.6)),
    "retrained to gen 1 in the second half": Case(
        (SLOWER,), ("link_speed",),
        shown=lambda scene, link: replace(
            scene, after=trained(scene, Link(2.5, link.lanes)).card
        ),
        change=lambda copy, seconds: later(
            copy.link.raw / Link(2.5, copy.link.lanes).raw
        )(copy, seconds),
    ),
    "a neighbour takes 15 %": Case((USER,), change=steady(0.15)),
    "a neighbour takes 50 %": Case((USER,), change=steady(0.5)),
    "a neighbour takes 40 % of one direction": Case((USER,), change=steady(0.4, INWARD)),
    "a neighbour comes at half time, 50 %": Case((USER,), change=later(2.0)),
    "bounce copies, 3 GB/s": Case((("bounce",),), change=copied(3e9)),
    "bounce copies, 12 GB/s": Case((("bounce",),), change=copied(12e9)),
    "swiotlb=force, 5 GB/s, pinned too": Case(
        (("bounce",),), ("bounce_buffer",),
        shown=lambda scene, _: _machine(scene, command_line="quiet swiotlb=force"),
        change=copied(5e9, ("aligned", "pinned")),
    ),
    "relaxed ordering off, reads at 2/3": Case(
        (("relaxed ordering",),), ("relaxed_ordering",),
        shown=lambda scene, _: _port(scene, class_code="030200", relaxed_ordering=False),
        change=steady(1 / 3, INWARD),
    ),
    "other tenants take the processors": Case(
        (("shared with other tenants",),), ("steal",),
        shown=lambda scene, _: replace(_machine(scene, virtual=True), stolen_s=16.0),
        change=stolen,
    ),
    "a quarter of the lanes, in a guest": Case(
        (FEWER,), ("link_width",), lambda b: {"link.lanes": b.whole("link.lanes") // 4},
        lambda scene, link: guest(_port(scene, lanes=link.lanes), link),
    ),
    "a quarter of the lanes, beside a healthy card": Case(
        (FEWER,), ("link_width",), lambda b: {"link.lanes": b.whole("link.lanes") // 4}, trained,
        beside=True,
    ),
    "a quarter of the lanes, measured to 48 KiB": Case(
        (FEWER,), ("link_width",), lambda b: {"link.lanes": b.whole("link.lanes") // 4}, trained,
        most=48 << 10,
    ),
    "BAR of 256 MiB of 32 GiB": Case(
        (), ("bar_size",),
        shown=lambda scene, _: replace(
            _card(scene, bars=(64 * MI, 256 * MI), rebar=(1, 32 * GI)), memory_bytes=32 * GI
        ),
    ),
    "ACS redirect in the switch": Case(
        (), ("acs",), shown=lambda scene, _: _above(scene, 0, acs=REDIRECTS)
    ),
    "1.25 times the link's bits": Case((ABOVE,), change=at_rate(1.25)),
    "1.03 times the link's bits": Case((ABOVE,), change=at_rate(1.03)),
    "both ways at 2.5 times one way": Case(((*ABOVE, "both", "sum"),), change=duplex(0.8)),
    "the same, of an engine at a third of the link": Case(
        ((*ABOVE, "both", "sum"),), board=lambda _: {"link.user_clock_MHz": 80},
        change=duplex(0.8),
    ),
    "no copy verified": Case((UNCHECKED,), verified="na"),
    "wrong data": Case((UNCHECKED,), verified="false"),
    "zero copy: 3 us at each size": Case(((*ABOVE, *NOTHING),), change=fixed(3e-6, COPIES)),
    "a kernel that reads nothing: 4 us at each size": Case(
        ((*ABOVE, *NOTHING),), operations=("read", "write", "kernel_read"),
        change=fixed(4e-6, ("kernel_read",)),
    ),
    "a launch that did nothing: 30 ns": Case(
        ((*ABOVE, *NOTHING),), operations=("read", "write", "launch"),
        change=fixed(3e-8, ("launch",)),
    ),
}  # fmt: skip
PAIRS = (
    ("a quarter of the lanes", "MPS 128 of 512, MRRS 128"),
    ("gen 3 of gen 4 or 5, gen 2 of gen 3", "processes on the far node"),
    ("upstream port of the switch at x4", "IOMMU, 256 pages kept, 900 ns a miss"),
    ("bounce copies, 3 GB/s", "processes on the far node"),
    ("a quarter of the lanes", "5 % replay"),
    ("MPS 128 of 512, MRRS 128", "extended tags off, 32 tags"),
    ("powersave, C-states on", "bounce copies, 12 GB/s"),
    ("a neighbour takes 50 %", "a quarter of the lanes"),
    ("throttled in the second half", "MPS 128 of 512, MRRS 128"),
    ("IOMMU, 16 pages kept, 300 ns a miss", "relaxed ordering off, reads at 2/3"),
    ("BAR of 256 MiB of 32 GiB", "gen 3 of gen 4 or 5, gen 2 of gen 3"),
    ("ACS redirect in the switch", "0.2 % replay"),
    ("a neighbour takes 15 %", "powersave, C-states on"),
    ("swiotlb=force, 5 GB/s, pinned too", "IOMMU, 16 pages kept, 300 ns a miss"),
)
HEALTHY = {
    "as it is": Case(),
    "one direction, gen 4 x4 card": Case(
        on=(("generic-gen4x8", {"link.lanes": 4}),), operations=("read",)
    ),
    "gen 5 card in a gen 4 slot": Case(
        shown=lambda scene, _: _port(scene, most_speed=32.0), on=(GEN4X16,)
    ),
    "engine with 16 tags": Case(board=lambda _: {"dma.tags": 16}),
    "engine that pauses 400 ns for a descriptor": Case(
        board=lambda _: {"dma.h2d_descriptor_ns": 400, "dma.d2h_descriptor_ns": 400}
    ),
    "engine at a third of its clock": Case(board=lambda _: {"link.user_clock_MHz": 80}),
    "card memory of 5 GB/s": Case(
        board=lambda _: {"memory.bandwidth_Bps": 5e9, "memory.banks": 1}
    ),
    "in a guest": Case(shown=guest),
    "OpenCL, ordinary memory": Case(
        memories=("aligned",), change=copied(200e9, ("aligned",))  # the runtime pins pages
    ),
    "XRT, ordinary memory": Case(memories=("pageable",), api="xrt"),
    "two cards": Case(beside=True),
    "GPU, asleep, copies pageable memory at 8 GB/s": Case(
        (("bounce copy of pageable",),),  # not planted, but true of this machine
        memories=("pinned", "pageable"), api="cuda", change=copied(8e9),
        shown=lambda scene, link: trained(
            _port(scene, class_code="030200", relaxed_ordering=True), Link(2.5, link.lanes)
        ),
    ),
    "counters of errors high, not growing": Case(
        shown=lambda scene, _: _port(scene, correctable={"BadTLP": 250_000, "RxErr": 9000})
    ),
    "sizes to 48 KiB": Case(most=48 << 10),
    "kernels read card memory": Case(operations=(*COPIES, "launch", "kernel_read")),
    "IOMMU passes through, schedutil": Case(
        shown=lambda scene, _: _machine(_card(scene, iommu="identity"), governor="schedutil")
    ),
}  # fmt: skip
