"""Tables of the latencies of operators, as the vendor's HLS schedules them.

Sources. Stages of floating-point operators are the ``NUM_STAGE`` that HLS wrote into the RTL of
public projects (``NAME_fadd_32ns_32ns_32_7_full_dsp_1`` has 7), which configure the operator of
AMD's PG060. UltraScale+ near 300 MHz: 7 for an addition, 4 for a product (WYI1223/ECE8893MyLab,
public RTL of 2mm, bicg and attention kernels), 8 and 7 in double. UltraScale+ at 100 MHz: 4, 3, 9
(division) and 8 (square root) in LoreFiaschi/ArithmeticNonStandarNumbersLibrary. The 7 series at
100 MHz has 5, 4 and 16, and 6 of a conversion (agustinsilva447/hls_div, aishwarya-2720's SPMV).
Further stages for the 7 series are assumed and unchecked. Division and square root in double take
31 and 30 at 100 MHz, 59 and 57 near 300 MHz (Stepaka/Xilinx_lab).
A product of 32-bit integers has 2 stages in the RTL lists of both clocks, a division has 4 stages
more than bits (``sdiv_32ns_32ns_32_36``).
Delays of integer logic are those of HLS's schedule reports, named at the tables.
"""

from __future__ import annotations

import itertools
import math
from typing import Final, NamedTuple

from isthmus_emulation.estimate.structure import Number

FAST_MHZ: Final = 200
"""Least clock with the stages published near 300 MHz; slower clocks have those at 100 MHz."""
UNCERTAINTY: Final = 0.27
"""Share of the clock's period that HLS reserves for routing: default of set_clock_uncertainty."""

_SLOW, _FAST, _SERIES_7 = 0, 1, 2
_STAGES: Final[dict[tuple[str, Number], tuple[int, int, int]]] = {
    ("add", "half"): (4, 5, 5),
    ("add", "float"): (4, 7, 5),
    ("add", "double"): (5, 8, 5),
    ("multiply", "half"): (3, 4, 4),
    ("multiply", "float"): (3, 4, 4),
    ("multiply", "double"): (5, 7, 6),
    ("divide", "half"): (6, 9, 8),
    ("divide", "float"): (9, 16, 16),
    ("divide", "double"): (31, 59, 31),
    ("sqrt", "half"): (6, 9, 8),
    ("sqrt", "float"): (8, 16, 12),
    ("sqrt", "double"): (30, 57, 31),
    ("exp", "half"): (7, 13, 9),
    ("exp", "float"): (8, 14, 10),
    ("exp", "double"): (21, 30, 18),
    ("compare", "half"): (2, 2, 2),
    ("compare", "float"): (2, 2, 2),
    ("compare", "double"): (2, 2, 2),
    ("convert", "half"): (2, 3, 4),
    ("convert", "float"): (4, 6, 6),
    ("convert", "double"): (5, 6, 6),
}


class _Delays(NamedTuple):
    """Delays of integer operators within a cycle, in nanoseconds."""

    by_bits: dict[str, tuple[tuple[int, float], ...]]
    """For each kind of operator pairs of a number of bits and the delay of that many bits."""
    products: tuple[tuple[int, float], ...]
    """Pairs: most bits of a factor, and the delay of the product where a cycle has room for it."""
    ram: float
    """From a block RAM's clock to its word."""
    registers: float
    """To select a register, and of a select between two values."""


_ULTRASCALE: Final = _Delays(
    {
        "add": ((2, 0.54), (8, 0.76), (16, 0.85), (32, 1.01), (64, 1.09)),
        "compare": ((2, 0.45), (8, 0.65), (32, 0.99), (64, 1.06)),
        "logic": ((1, 0.28), (64, 0.38)),
        "select": ((1, 0.30), (64, 0.44)),
        "shift": ((8, 0.8), (32, 1.38), (64, 1.51)),
    },
    ((12, 1.65), (18, 2.2), (27, 2.7), (32, 3.42)), 1.23, 0.52,
)  # fmt: skip
"""UltraScale+ of speed grade 2, from ``*.verbose.sched.rpt`` of Marui-9/swiglu and
HanderRi/AMD-Pervasive-AI (K26). The slower xczu3eg of WYI1223/ECE8893MyLab has 1.35 for RAM."""
_SERIES_7_DELAYS: Final = _Delays(
    {
        "add": ((2, 1.56), (8, 1.91), (16, 2.07), (32, 2.55), (64, 3.52)),
        "compare": ((2, 0.95), (8, 1.55), (16, 2.42), (32, 2.47), (64, 2.8)),
        "logic": ((1, 0.97), (64, 0.99)),
        "select": ((1, 0.69), (64, 0.99)),
        "shift": ((8, 2.0), (32, 3.2), (64, 4.27)),
    },
    ((16, 4.17), (18, 4.35), (25, 6.4), (32, 8.51)), 3.25, 0.99,
)  # fmt: skip
"""7 series of speed grade 1, from ``*.verbose.sched.rpt`` of xiongxiongz/hls_cluster_nms,
hoanghelloworld/final_conv2d and dadaguaijiangjungd/image-fusion (Zynq 7020)."""
_DSP_BITS: Final = 18
MULTIPLY_ADD_CYCLES: Final = 3
"""Cycles of a product and a sum in one DSP block (UG1399, DSP Multi-Operation Matching): one less
than the 4 stages of such a module in the RTL of Vitis HLS (LeVDuc22/XilinxProject, 2022.2)."""

_TEXTS: Final = {
    "add": "sum",
    "subtract": "sum",
    "multiply": "product",
    "divide": "division",
    "remainder": "division",
    "sqrt": "square root",
    "exp": "exponential",
    "compare": "comparison",
    "convert": "conversion",
}


_INSTANCES: Final = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div",
                     "remainder": "div", "compare": "cmp", "shift": "shl"}  # fmt: skip
_OF_NUMBER: Final[dict[Number, str]] = {"half": "h", "float": "f", "double": "d"}


REDUCTIONS: Final = frozenset({"floating-point sum", "floating-point product"})
"""Operators, in the words of ``text``, whose order partial sums in a kernel may change."""


class Latency(NamedTuple):
    """Time of an operator from its operands to its result."""

    stages: int
    """Whole cycles that the operator takes from the begin of a cycle."""
    ns: float
    """Delay in nanoseconds within a cycle, for an operator without stages."""


def latency(kind: str, number: Number, bits: int, clock_mhz: float, part: str = "") -> Latency:
    """The latency of an operator at a clock, on a part; on an UltraScale+ if ``part`` is empty."""
    kind = "add" if kind == "subtract" else kind
    speed = _FAST if clock_mhz >= FAST_MHZ else _SERIES_7 if part.startswith("xc7") else _SLOW
    if number != "integer" and (stages := _STAGES.get((kind, number))):
        return Latency(stages[speed], 0.0)
    if kind == "multiply":
        return _product(bits, clock_mhz, part)
    if kind in {"divide", "remainder"}:
        return Latency(bits + 4, 0.0)
    if kind in {"sqrt", "exp"}:
        return Latency(bits // 2, 0.0)
    points = _delays(part).by_bits.get(kind, ((1, 0.0),))
    return Latency(0, _between(points, max(bits, 1)))


def _product(bits: int, clock_mhz: float, part: str) -> Latency:
    """A product of integers takes one cycle if its delay fits, else stages."""
    usable = 1000 / clock_mhz * (1 - UNCERTAINTY)
    delay = next((ns for most, ns in _delays(part).products if bits <= most), math.inf)
    if delay <= usable or bits <= _DSP_BITS:
        return Latency(0, delay)
    return Latency(2 if bits <= 32 else 5, 0.0)


def _between(points: tuple[tuple[int, float], ...], bits: int) -> float:
    """The delay of an operator of so many bits, in a straight line between known widths."""
    for (low, least), (high, most) in itertools.pairwise(points):
        if bits <= high:
            return least + (most - least) * max(0, bits - low) / (high - low)
    return points[-1][1]


def _delays(part: str) -> _Delays:
    return _SERIES_7_DELAYS if part.startswith("xc7") else _ULTRASCALE


def ram_ns(part: str) -> float:
    """Nanoseconds from a block RAM's clock to its word."""
    return _delays(part).ram


def registers_ns(part: str) -> float:
    """Nanoseconds to select a register of an array."""
    return _delays(part).registers


def is_of_dsp(kind: str, number: Number, bits: int) -> bool:
    """Whether an operation is a product that fits into one DSP block."""
    return kind == "multiply" and number == "integer" and bits <= _DSP_BITS


def instance(kind: str, number: Number) -> str:
    """Name of an operator in pragma ALLOCATION (UG1399): ``mul``, ``fadd``, ``ddiv``."""
    name = _INSTANCES.get(kind, kind)
    return f"{_OF_NUMBER[number]}{name}" if number in _OF_NUMBER else name


def plain(name: str) -> str:
    """Name in the form of ``instance`` of an ALLOCATION name, which also states a sign."""
    return {"sdiv": "div", "udiv": "div", "srem": "div", "urem": "div", "icmp": "cmp",
            "lshr": "shl", "ashr": "shl"}.get(name, name)  # fmt: skip


def text(kind: str, number: Number) -> str:
    """The operator in words: ``floating-point sum``."""
    prefix = "integer" if number == "integer" else "floating-point"
    return f"{prefix} {_TEXTS.get(kind, 'logic')}"
