"""Further planted faults and healthy devices, chosen by who wrote the rules that they try.

What ``planted_cases.py`` has not: what comes during a run, in one direction, in small copies alone
or in part of the points, faults of the machine beside faults of the link, and healthy machines that
look unusual. Each healthy kind is on one board, so that many kinds can be tried.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import numpy as np
from planted_cases import (
    BOARDS,
    COPIES,
    ERRORS,
    FEWER,
    Case,
    Change,
    Copy,
    at_rate,
    copied,
    fixed,
    guest,
    later,
    stolen,
    trained,
    unchanged,
)
from planted_cases import FAULTS as EARLIER

from isthmus.models.pcie import Link

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from pci_tree import GI, MI
from planted import FAULTS as MACHINES
from planted import Scene, _above, _card, _errors, _machine, _port

Shown = Callable[[Scene, Link], Scene]


def machine(fault: str) -> Shown:
    """A fault of ``tests/planted.py``."""
    return lambda scene, _: MACHINES[fault][1](scene)


def port(**changes: object) -> Shown:
    return lambda scene, _: _port(scene, **changes)


def card(**changes: object) -> Shown:
    return lambda scene, _: _card(scene, **changes)


def host(**changes: object) -> Shown:
    return lambda scene, _: _machine(scene, **changes)


def only(change: Change, *operations: str) -> Change:
    """A change of some operations alone."""
    return lambda copy, seconds: change(copy, seconds) if copy.operation in operations else seconds


def lanes_lost(scene: Scene, link: Link) -> Scene:
    """A quarter of the lanes is left when the run has ended."""
    return replace(scene, after=trained(scene, Link(link.gigatransfers, link.lanes // 4)).card)


def often_stolen(copy: Copy, seconds: np.ndarray) -> np.ndarray:
    """The processor is away in six of ten samples, as long as the copy takes."""
    return seconds * (1 + (copy.random.random(len(seconds)) < 0.6))


def disturbed(copy: Copy, seconds: np.ndarray) -> np.ndarray:
    """A sample in twenty takes ten times as long."""
    return seconds * (1 + 9 * (copy.random.random(len(seconds)) < 0.05))


def by_processor(copy: Copy, seconds: np.ndarray) -> np.ndarray:
    """Copies of ordinary memory by a processor at half of its clock."""
    return seconds * (2 if copy.memory == "aligned" else 1)


HEAT = ("heat", "thrott")
FAULTS = {
    "three quarters of the lanes lost during the run": Case(
        (FEWER,), ("link_width",), shown=lanes_lost, change=later(4.0)
    ),
    "heat from half time on, of reads alone": Case(
        (HEAT,), change=only(later(1.6), "read", "bidirectional")
    ),
    "heat from half time on, 30 %": Case((HEAT,), change=later(1.3)),
    "processor throttled, ordinary memory alone": Case(
        (HEAT,), ("processor_heat",), shown=machine("processor throttled"), change=by_processor,
        memories=("aligned",),
    ),
    "other tenants take 60 % of the samples": Case(
        (("shared with other tenants",),), ("steal",),
        shown=lambda s, _: replace(_machine(s, virtual=True), stolen_s=40.0), change=often_stolen,
    ),
    "powersave, ordinary memory alone": Case(
        (("processor clocked low",),), ("governor",),
        shown=machine("powersave"), change=by_processor, memories=("aligned",),
    ),
    "three BadTLP and a quarter of the lanes": Case(
        (FEWER,), ("link_width",), EARLIER["a quarter of the lanes"].board,
        lambda s, link: _errors(trained(s, link), correctable={"BadTLP": 3}),
    ),
    "one generation down, measured to 48 KiB": replace(
        EARLIER["gen 3 of gen 4 or 5, gen 2 of gen 3"], board=lambda _: {}, most=48 << 10,
        shown=lambda s, link: trained(s, Link(link.gigatransfers / 2, link.lanes)),
    ),
    "requests fail during the run": Case(
        (ERRORS,), ("errors",), shown=machine("requests fail")
    ),
    "low-power state, small copies alone": Case(
        (("low-power state",),), ("power_state",), shown=card(power_state="D3hot"), most=48 << 10
    ),
    "reads alone at 1.1 times the link's bits": Case(
        (("faster than",),), change=only(at_rate(1.1), "read")
    ),
    "a launch in 80 ns": Case(
        (("did not run",),), operations=("read", "write", "launch"),
        change=fixed(8e-8, ("launch",)),
    ),
}  # fmt: skip
UNVERIFIED = Case((("not verified",),), verified="na")
FAULTS["not verified, one direction"] = replace(UNVERIFIED, operations=("read",))
NAMES = (
    "MRRS 128 alone", "a quarter of the lanes", "bounce copies, 3 GB/s", "5 % replay",
    "relaxed ordering off, reads at 2/3", "swiotlb=force, 5 GB/s, pinned too",
    "powersave, C-states on", "retrained to gen 1 in the second half", "0.2 % replay",
)  # fmt: skip
ALONE = dict(FAULTS)
"""Those that no earlier table has alone."""
FAULTS |= {name: EARLIER[name] for name in NAMES}
PAIRS = (
    ("MRRS 128 alone", "bounce copies, 3 GB/s"),
    ("a quarter of the lanes", "heat from half time on, of reads alone"),
    ("a quarter of the lanes", "swiotlb=force, 5 GB/s, pinned too"),
    ("retrained to gen 1 in the second half", "bounce copies, 3 GB/s"),
    ("three quarters of the lanes lost during the run", "powersave, C-states on"),
    ("heat from half time on, of reads alone", "bounce copies, 3 GB/s"),
    ("heat from half time on, of reads alone", "0.2 % replay"),
    ("relaxed ordering off, reads at 2/3", "requests fail during the run"),
    ("5 % replay", "bounce copies, 3 GB/s"),
    ("MRRS 128 alone", "requests fail during the run"),
    ("three BadTLP and a quarter of the lanes", "bounce copies, 3 GB/s"),
    ("relaxed ordering off, reads at 2/3", "bounce copies, 3 GB/s"),
    ("powersave, C-states on", "relaxed ordering off, reads at 2/3"),
)
_HEALTHY = {
    "MRRS 256": Case(shown=port(read_request=256)),
    "MRRS 4096": Case(shown=port(read_request=4096)),
    "three BadTLP during the run": Case(
        shown=lambda s, _: _errors(s, correctable={"BadTLP": 5})
    ),
    "a RxErr and a Timeout during the run": Case(
        shown=lambda s, _: _errors(s, correctable={"BadTLP": 2, "RxErr": 1, "Timeout": 1})
    ),
    "errors that are only reported": Case(
        shown=lambda s, _: _errors(s, correctable={"BadTLP": 2, "NonFatalErr": 40})
    ),
    "a user who is not root": Case(shown=lambda s, _: replace(s, as_root=False)),
    "no processor is bound": Case(shown=lambda s, _: replace(s, cpus=tuple(range(16)))),
    "one memory node": Case(shown=host(nodes=("0-15",))),
    "intel_pstate powersave": Case(shown=host(governor="powersave", driver="intel_pstate")),
    "no governor is shown": Case(shown=host(governor="")),
    "deep C-states": Case(shown=host(idle_disabled=())),
    "8 MiB may be locked": Case(shown=host(locked_memory=str(8 * MI))),
    "a guest, 2 % stolen": Case(
        shown=lambda s, link: replace(guest(s, link), stolen_s=3.2), change=stolen
    ),
    "a guest, pinned memory alone": Case(shown=guest, memories=("pinned",)),
    "a GPU that wakes": Case(
        shown=lambda s, link: replace(
            trained(_port(s, class_code="030200", relaxed_ordering=True),
                    Link(2.5, link.lanes)),
            after=_port(s, class_code="030200", relaxed_ordering=True).card,
        )
    ),
    "a GPU that falls asleep": Case(
        shown=lambda s, link: replace(
            _port(s, class_code="030200", relaxed_ordering=True),
            after=trained(_port(s, class_code="030200", relaxed_ordering=True),
                          Link(2.5, link.lanes)).card,
        )
    ),
    "relaxed ordering off, no GPU": Case(shown=port(relaxed_ordering=False)),
    "no extended tags": Case(shown=port(can_extended_tags=False, extended_tags=False)),
    "no error counters": Case(shown=port(correctable=None)),
    "the slot has more lanes": Case(shown=lambda s, _: _above(s, 0, most_lanes=32)),
    "the slot is faster": Case(shown=lambda s, _: _above(s, 0, most_speed=64.0)),
    "no IOMMU": Case(shown=card(iommu="")),
    "a driver with 47-bit addresses": Case(shown=card(dma_bits=47, driver="vendor")),
    "a BAR that shows a part": Case(shown=card(bars=(64 * MI, GI))),
    "reads alone": Case(operations=("read",)),
    "writes alone": Case(operations=("write",)),
    "both at once alone": Case(operations=("bidirectional",)),
    "sizes to 6 MiB": Case(most=6 * MI),
    "sizes to 640 KiB": Case(most=640 << 10),
    "write-combined memory": Case(memories=("write_combined",)),
    "a sample in twenty ten times as long": Case(change=disturbed),
    "a driver's copy at 100 GB/s": Case(change=copied(100e9)),
    "launches in 2 us": Case(
        operations=(*COPIES, "launch"), change=fixed(2e-6, ("launch",))
    ),
    "kernels of 5 us that read 1 TB/s": Case(
        operations=(*COPIES, "kernel_read"),
        change=lambda copy, seconds: (
            np.full(len(seconds), 5e-6 + copy.size / 1e12)
            if copy.operation == "kernel_read" else seconds
        ),
    ),
    "as it is, XRT": Case(api="xrt", change=unchanged),
}  # fmt: skip
HEALTHY = {
    name: replace(case, on=(on,)) for (name, case), on in zip(_HEALTHY.items(), cycle(BOARDS))
}
