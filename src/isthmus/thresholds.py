"""Thresholds at which a figure becomes a finding, a verdict or a cause.

Each threshold has its unit, and the source or experiment of its value. "A choice" is a value
without an experiment: its text says what a lower or a higher value would cost. ``RESULTS.md`` and
``results/`` are in ``benchmarks/``.
"""

from __future__ import annotations

SMALL = 4 << 10
"""Bytes up to which start-up dominates a transfer's time; latency is measured at this size. Source:
the size of a page. At 55 GB/s of an H100 (gen5 x16) the link needs 0.07 us of a copy that takes
some us."""
LARGE = 1 << 20
"""Bytes from which a copy shows its link rather than its start-up time: its rate may be a plateau.
Source: on H100 (gen5 x16) a pinned copy of 1 MiB has 0.6 to 0.7 of the rate of 256 MiB (stored runs
in ``results/``), and slower links need less."""
SETTLED = 16 << 20
"""Bytes from which a single rate counts as the link's rate. Source: a start-up time of 10 us is 3 %
of such a copy on PCIe gen5 x16. No known run of ``analysis.findings.reached`` has smaller copies.
"""
LARGE_MESSAGE = 64 << 10
"""Bytes of a message between ranks from which its rate shows the network. Source: perftest's
default size."""
PLATEAU_BYTES = 256 << 20
"""Bytes up to which commands in advice measure, so that a run shows a plateau. Source: on H100
(gen5 x16) pinned copies of 64 MiB are within 1 % of those of 256 MiB (``RESULTS.md``)."""
CACHE_BYTES = 64 << 20
"""Bytes up to which a peak counts as a cache's. A choice: a larger value would call a fast memory a
cache, a smaller value would miss the last-level caches of servers."""

PLATEAU = 0.05
"""Largest relative gain over the next larger sizes of a rate that counts as a plateau. Source: on
H100 and H200 (gen5 x16), pinned copies of 16 MiB have 0.97 to 0.99 of the rate of the largest,
those of 1 MiB 0.58 to 0.73, those of 256 KiB 0.31 to 0.39 (stored runs in ``results/``)."""
GOOD, FAIR = 0.85, 0.6
"""Shares of a limit. A rate of ``GOOD`` or more is normal unless a check shows a lower limit; a
rate below ``FAIR`` needs a cause. Source: planted faults (``RESULTS.md``). With one threshold of
0.85, 15 of 20 healthy runs were below it, because many engines do not fill their links."""
GOOD_OF_LOG = 0.75
"""Share of a limit from which another program's figure is normal. Source: healthy copies of the
references reach 0.76 or more of their link's data rate, except writes of XDMA, which the references
list."""
GOOD_CALL = 0.65
"""``GOOD_OF_LOG`` for copies from and to ordinary memory by a runtime. Source: clpeak reaches 0.69
to 0.73 of gen4 x16 (RTX 4090, Arc A770)."""
POOR_MEMORY = 0.3
"""Share of a device's memory rate below which kernels count as slow. A choice: kernels need not use
the full rate, so that a higher value would accuse healthy kernels."""

LOWER = 0.8
"""Share of a comparable rate below which a rate counts as lower. Comparable are rates of another
kind of memory, bank, GPU or size, of known runs, and the peak. Source: NVIDIA/nvbandwidth issue 42
reports 0.66 as a fault; a driver's further copy at 100 GB/s leaves 0.78 of gen5 x8
(``RESULTS.md``)."""
MUCH_LOWER = 0.5
"""``LOWER`` between directions and between runs. A choice: hosts and options of two runs may
differ, so that a higher value would report healthy links; a lower value misses a link of half the
width."""
FALLS = 0.6
"""Share of the peak that another program's rate must keep at larger sizes. A choice: caches and
protocols change with the size, so that a higher value would report their steps."""
AS_FAST = 0.95
"""Share of a known rate or a peak from which a rate counts as equally fast. Source: pinned copies
of equal H100 differ by 0.4 % within a node and by 4 to 8 % between some runs in virtual machines
(``RESULTS.md``)."""
ADVISED = 0.05
"""Relative half-width to which ``isthmus advise`` measures. A choice: to separate ways that differ
by less would take more time than the difference is worth."""
AS_FAST_WAY = 1.02
"""Ratio of estimated times up to which the simpler way is advised. A choice: the default precision
of a run."""
WORTH = 1.2
"""Ratio of rates from which advice to change the kind of memory is a headline. A choice: smaller
gains are listed below the headlines."""
WORTH_COPYING = 1.05
"""Ratio of times up to which a kernel's direct access to host memory and a copy before the kernel
count as equal. A choice: changing a program for less than 5 % costs more than it gains."""
PEAK_ON_HOST = 1.1
"""Ratio of the highest rate to the rate of the largest buffer from which kernels on host memory
have a peak. A choice: the precision of quick runs; a lower peak may be chance."""

UNSTEADY = 1.15
"""Ratio of the best sample's rate to the median rate from which another user of the link explains a
low rate; also the ratio of rates before and after a fall. Source: it finds planted neighbours
(``RESULTS.md``) that take half of the link for 60 % of the time, but no steady neighbour of 15 %.
"""
START_UP = 0.1
"""Share of processor time in a copy's time from which the processor time gets a verdict. A choice:
processor time cannot slow a copy by more than its share."""
COLD = 1.5
"""Ratio of times, first call over median of later calls, from which the first call counts as cold.
A choice: a lower value would take a disturbed call for a cold call."""
MEDIAN_TO_LEAST = 1.5
"""Ratio of a point's median to its least time from which the point gets a flag, which says that a
best-of figure would differ. A choice: a lower value would flag ordinary scatter."""
SLOW_CALL = 2.0
"""Ratio of a small transfer's time to the slowest known time up to which it is normal. A choice:
small transfers depend on the host, and the known runs cover few hosts."""
BUSY = 0.5
"""Load average per processor from which other programs disturb. Source: an idle machine has less
than 0.1, another program on two processors 1.0. AMD's OpenCL took 6.0 us a call in some runs and
9.0 us in others, on two processors that share a core (``RESULTS.md``)."""
STEAL_SEEN = 0.01
"""Share of processor time from which steal is reported and rows are flagged. A choice: less steal
is within a row's interval; a higher value hides why intervals are wide."""
STEAL_SLOWS = 0.05
"""Share of busy time from which steal is a fault. A choice: less steal widens intervals, but lowers
no rate that a table shows."""
QUICK = 0.1
"""Precision of quick runs as a share. A published figure with a larger residual is not reproduced;
a headline with a wider interval is not shown alone. A choice: most studies then fit into a minute.
"""
DRIFT = 0.1
"""Share by which a machine's speed may differ from one point to the next. Source: runs on an H100
of a virtual machine differ by 7 % (``RESULTS.md``)."""
TIMER = 0.1
"""Share of the clock's reading time in a sample from which the row gets the flag of the timer. A
choice: the reading time is subtracted, so that only its error of some per cent remains."""

NOTHING_BPS = 1e12
"""Bytes per second above the rate of any link: a faster copy moved nothing."""
NO_MEMORY_BPS = 2e13
"""Bytes per second above the rate of any device's memory and caches: a faster kernel moved no data.
Source: repeated reads of 64 MiB on an H100 show 6.9e12, the rate of its caches (``RESULTS.md``)."""
NO_COPY_BPS = 200e9
"""Rate of a step of an offload, vector bytes over its seconds, from which the step made no copy. A
choice: a core copies more slowly, and a call without work is faster."""
FURTHER_PASS_BPS = 50e9
"""Rate in bytes per second up to which extra time of a step counts as one more copy of its bytes. A
choice: a core copies more slowly, so that noise of short steps does not count as a copy."""
FRESH_VECTORS = 0.9
"""Page faults of a step over pages of a vector, from which the step touched a vector for the first
time. A choice: less than 1, because a runtime may have touched some pages before."""
KERNEL_NOISE = 0.1
"""Share of a kernel's shortest time that counts as noise. A choice: the precision of quick runs."""
LAUNCH_S = 100e-9
"""Seconds that a command to a device behind a link takes at least, with its answer. Source: reading
a register over PCIe takes 437 ns (``isthmus reproduce mmio/read-latency``)."""
