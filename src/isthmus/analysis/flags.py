"""Gives the meaning of each flag of a summary row, in one line."""

from __future__ import annotations

from types import MappingProxyType

from isthmus import backends
from isthmus.frames import Frame

DISTURBED = r"\b(?:host_varies|steal|unstable)\b"
"""Pattern of flags which mean that other programs disturbed the measurement."""


def disturbed(rows: Frame) -> tuple[int, int]:
    """Returns how many rows with samples are disturbed, and how many rows have samples."""
    measured = rows[rows["samples"] > 0]
    return int(measured["flags"].str.contains(DISTURBED).sum()), len(measured)


OWN = MappingProxyType(
    {
        "above_link_limit": "faster than the link can be: not all bytes crossed it",
        "above_sum": "both directions at once exceed the sum of each alone: not all bytes crossed",
        "best_only": "imported, the fastest of several repetitions: no interval",
        "below_clock_resolution": "too short for the clock: no bandwidth, and in no comparison",
        "budget_exhausted": "the run's time ended before the precision was reached",
        "failed": "the device or its worker failed; what was measured until then counts",
        "host_varies": "processes agree to the precision, but the host's own speed varies by more",
        "imported": "another program's figure: whether its data arrived was not checked here",
        "interrupted": "the user stopped the run",
        "mean_only": "imported, the mean of several repetitions: no interval",
        "median_min_apart": "the median is 1.5 times the minimum or more: something interferes",
        "median_only": "imported, the median of several repetitions: no interval",
        "not_measured": "no sample was taken",
        "reruns_apart": "processes differ: by them alone the interval is wider than the precision",
        "samples_capped": "the most samples were taken before the precision was reached",
        "size_assumed": "imported from a file that does not say the size: the rate is the file's",
        "skipped": "this machine does not allow it; the table says what would",
        "steal": "the hypervisor took more than 1 % of the processor's time meanwhile",
        "through_emulation": "the host's time through an emulation: software, no cost of a board",
        "time_capped": "the point's own time ended before the precision was reached",
        "timer_bound": "reading the clock is more than a tenth of what was timed",
        "to_itself": "one rank alone: its messages went to itself, over no network",
        "unstable": "the time moved within a process, and the interval has no slow variation in it",
        "within": "one process only: the interval does not speak for other processes",
        "zero_copy": "the time does not grow with the size: nothing was copied, so no bandwidth",
    }
)
"""Meanings of the flags of engine and summary; backends declare flags of their operations."""


def meaning(flag: str) -> str:
    """Meaning of a flag of ``OWN`` or of a backend; "no description" for an unknown flag."""
    declared = (backend.flags for backend in backends.registry().values())
    return next((known[flag] for known in (OWN, *declared) if flag in known), "no description")
