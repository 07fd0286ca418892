"""Thresholds of answers: where a figure becomes a finding, a verdict or a cause.

Each has its unit, and the source or experiment behind the value. "A choice" is a value that no
experiment chose: its text says what a lower and a higher value would cost. Files that are named
without a folder are in ``benchmarks/``.
"""

from __future__ import annotations

SMALL = 4 << 10
"""Bytes: up to this size the time of a transfer is mostly start-up; this size is the latency's.

Source: the size of a page. At the 55 GB/s of an H100 (gen5 x16) its link needs 0.07 us of a copy
of some us."""
LARGE = 1 << 20
"""Bytes from which a copy shows its link rather than its start-up time: its rate may be a plateau.

Source: on H100 (gen5 x16) a pinned copy of 1 MiB has 0.6 to 0.7 of the rate of 256 MiB (stored runs
in ``results/``), and slower links need less."""
SETTLED = 16 << 20
"""Bytes from which a rate that stands alone is the link's.

Source: a start-up time of 10 us is 3 % of such a copy on PCIe gen5 x16. No known run of
``analysis.findings.reached`` has smaller copies."""
LARGE_MESSAGE = 64 << 10
"""Bytes of a message between ranks that shows its network. Source: perftest's default size."""
PLATEAU_BYTES = 256 << 20
"""Bytes up to which a run is advised that shows a plateau.

Source: on H100 (gen5 x16) pinned copies of 64 MiB are within 1 % of those of 256 MiB
(``RESULTS.md``)."""
CACHE_BYTES = 64 << 20
"""Bytes up to which a peak is called a cache's. A choice: a larger value would call a fast memory
a cache, a smaller one would miss the last-level caches of servers."""

PLATEAU = 0.05
"""Share: most gain over the next larger sizes of a rate that is called a plateau.

Source: on H100 and H200 (gen5 x16), pinned copies of 16 MiB have 0.97 to 0.99 of the rate of the
largest, those of 1 MiB 0.58 to 0.73, those of 256 KiB 0.31 to 0.39 (stored runs in ``results/``).
"""
GOOD, FAIR = 0.85, 0.6
"""Least shares of a limit that are good, and that no cause has to explain.

Source: planted faults (``RESULTS.md``). With one threshold of 0.85, 15 of 20 healthy
runs were below: many an engine does not fill its link."""
GOOD_OF_LOG = 0.75
"""Share of a limit from which the figure of another program is normal.

Source: healthy copies of the references reach 0.76 or more of their link's data rate, but for
writes of XDMA, which the references know."""
GOOD_CALL = 0.65
"""The same for copies that a runtime makes of ordinary memory.

Source: 0.69 to 0.73 of gen4 x16 by clpeak (RTX 4090, Arc A770)."""
POOR_MEMORY = 0.3
"""Share of a device's memory below which kernels are slow. A choice: kernels are not made to fill
the memory, so a higher value would accuse healthy ones."""

LOWER = 0.8
"""Share of a like rate below which a rate is told to be lower: of another kind of memory, bank,
GPU or size, of known runs, or of the peak.

Source: NVIDIA/nvbandwidth issue 42 reports 0.66 as a fault; a driver's further copy at 100 GB/s
leaves 0.78 of gen5 x8 (``RESULTS.md``)."""
MUCH_LOWER = 0.5
"""The same between directions and between runs. A choice: hosts and options may differ there, so a
higher value would accuse them; a lower one misses a link of half the width."""
FALLS = 0.6
"""Share of the peak that the rate of another program keeps at larger sizes. A choice: caches and
protocols change with the size, so a higher value would report their steps."""
AS_FAST = 0.95
"""Share of a known rate, or of a peak, from which a rate is as fast.

Source: pinned copies of equal H100 differ by 0.4 % within a node and by 4 to 8 % between some runs
in virtual machines (``RESULTS.md``)."""
ADVISED = 0.05
"""Relative half-width to which ``isthmus advise`` measures. A choice: ways that differ by less cost
more time to tell apart than they are worth."""
AS_FAST_WAY = 1.02
"""Ratio of estimated times up to which the simpler way is advised. A choice: the default
precision of a run."""
WORTH = 1.2
"""Ratio of rates from which a change of memory is a headline. A choice: smaller changes are
listed below the headlines."""
WORTH_COPYING = 1.05
"""Ratio of times up to which copying first and direct access are alike. A choice: a change of a
program for less than 5 % costs more than it gains."""
PEAK_ON_HOST = 1.1
"""Ratio of the peak to the last rate from which kernels on host memory have a peak. A choice: the
precision of quick runs, below which a peak may be chance."""

UNSTEADY = 1.15
"""Ratio of the best sample's rate to the median's from which another user of the link explains it;
also of the rates before and after a fall.

Source: planted neighbours (``RESULTS.md``) that take half of the link for 60 % of the
time are found with it; a steady one of 15 % is not."""
START_UP = 0.1
"""Share of a copy's time from which the processor's part of it is worth a verdict. A choice: it
cannot slow the copy by more than itself."""
COLD = 1.5
"""Ratio of a first call to the median of later ones from which it was cold. A choice: a lower value
would take a disturbed call for a cold one."""
MEDIAN_TO_LEAST = 1.5
"""Ratio of a point's median to its least time from which the two are flagged as apart. A choice:
the flag says that a best-of figure would tell another story."""
SLOW_CALL = 2.0
"""Ratio to the slowest known time up to which a small transfer is normal. A choice: small transfers
depend on the host, of which the known runs have few."""
BUSY = 0.5
"""Load average per processor from which other programs disturb.

Source: an idle machine has less than 0.1, one other program on two processors 1.0. AMD's OpenCL
took 6.0 us a call in some runs and 9.0 us in others, on two processors that share a core
(``RESULTS.md``)."""
STEAL_SEEN = 0.01
"""Share of processor time from which steal is named, and rows are flagged. A choice: less is within
what a row's interval holds; a higher value hides why intervals are wide."""
STEAL_SLOWS = 0.05
"""Share of busy time from which steal is a fault. A choice: less widens intervals, but lowers no
rate that a table shows."""
QUICK = 0.1
"""Precision of quick runs as a share. A residual beyond it is not reproduced, and a headline with
a wider interval does not stand alone. A choice: it fits most studies into a minute."""
DRIFT = 0.1
"""Share by which a machine's speed may differ from one point to the next. Source: runs on an H100
of a virtual machine differ by 7 % (``RESULTS.md``)."""
TIMER = 0.1
"""Share of a sample that reading the clock takes, from which the row is flagged as bound by the
timer. A choice: the time is taken off, so only its error of some per cent remains."""

NOTHING_BPS = 1e12
"""Bytes a second beyond any link: a faster copy moved nothing."""
NO_MEMORY_BPS = 2e13
"""Bytes a second beyond any device's memory and caches. Source: repeated
reads of 64 MiB on an H100 show 6.9e12, which are its caches (``RESULTS.md``)."""
NO_COPY_BPS = 200e9
"""Bytes a second from which a step of an offload has not copied its vectors. A choice: it lies
above what a core copies and below a call that does nothing."""
FURTHER_PASS_BPS = 50e9
"""Bytes a second: extra time so short that a copy would need a higher rate is no further copy. A
choice: above what a core copies, so that noise of short steps is not called one."""
FRESH_VECTORS = 0.9
"""Vectors' worth of page faults in a step from which it touched a vector for the first time. A
choice: less than 1, for a runtime may have touched some pages before."""
KERNEL_NOISE = 0.1
"""Share of a kernel's shortest time that may be noise. A choice: see ``QUICK``."""
LAUNCH_S = 100e-9
"""Seconds: no command reaches a device behind a link, and no answer comes back, in less. Source: a
register is read over PCIe in 437 ns (``isthmus reproduce mmio/read-latency``)."""
