"""Reads computing times of kernels that the user gives: formulas, and reports of Vitis HLS."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from isthmus.errors import UsageError
from isthmus_emulation import csynth
from isthmus_emulation.xclbin import Design

_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*)", re.DOTALL)
_SHOWN_LOOPS = 3


@dataclass(frozen=True)
class Schedule:
    """The cycles of a kernel's run, and their source."""

    cycles: str
    """A formula, or a range between two formulas."""
    origin: str | None = None
    """Name of the report; None if the user wrote the formula."""
    clock_mhz: float | None = None
    """Clock in MHz that the report is for; None without a report."""

    def notes(self, kernel: str, source: str) -> list[str]:
        """Returns remarks on a report for the user; ``source``: the kernel's code with pragmas."""
        if self.origin is None:
            return []
        lines = []
        if ".." in self.cycles:
            lines.append(
                f"{kernel}: {self.origin} knows a range alone, {self.cycles} cycles, of which the "
                "most are counted; --cycles says them exactly"
            )
        if "LOOP_TRIPCOUNT" in source.upper():
            lines.append(
                f"{kernel}: the source has LOOP_TRIPCOUNT, so that the {self.cycles} cycles of "
                f"{self.origin} hold for those trip counts alone; --cycles says them for any"
            )
        if self.clock_mhz is not None:
            lines.append(
                f"{kernel}: {self.cycles} cycles ({self.origin}), scheduled for "
                f"{self.clock_mhz:.4g} MHz; they take the time of the board's clock, which card "
                f"exec --board BOARD,kernel.clock_MHz={self.clock_mhz:.4g} sets"
            )
        return lines


def schedules_of(
    kernels: Sequence[str], reports: Sequence[Path], formulas: Sequence[str]
) -> dict[str, Schedule]:
    """Returns the schedule of each kernel by name.

    A formula is ``KERNEL=FORMULA``, or without a name if there is one kernel. Raises UsageError for
    an unknown kernel, and for a report without a known latency.
    """
    schedules: dict[str, Schedule] = {}

    def add(kernel: str, schedule: Schedule, said: str) -> None:
        if kernel not in kernels:
            built = ", ".join(kernels)
            raise UsageError(f"{said} is of a kernel {csynth.shown(kernel)}; built is {built}")
        if kernel in schedules:
            raise UsageError(f"kernel {kernel}: give one of --schedule and --cycles, once")
        schedules[kernel] = schedule

    for text in formulas:
        named = _NAMED.fullmatch(text)
        if named is None and len(kernels) > 1:
            raise UsageError(
                f"--cycles '{text}': of which kernel? Write {kernels[0]}={text.strip()}"
            )
        kernel, formula = (named[1], named[2]) if named else (kernels[0], text)
        add(kernel, Schedule(" ".join(formula.split())), f"--cycles '{text}'")
    for path in reports:
        report = csynth.read(path)
        add(report.kernel, _of_report(report, path), str(path))
    return schedules


def _of_report(report: csynth.Report, path: Path) -> Schedule:
    if report.most is None:
        loops = ", ".join(map(str, report.unknown_loops[:_SHOWN_LOOPS]))
        why = f"the trip count of {loops} is not known to HLS" if loops else "HLS does not know it"
        raise UsageError(
            f"{path} has no latency of {csynth.shown(report.kernel)}: {why}. Say it "
            "with --cycles, as a formula over the kernel's values: a pipelined loop takes about II "
            "cycles for each iteration, and those of one iteration once"
        )
    exact = report.least == report.most
    cycles = f"{report.most}" if exact else f"{report.least} .. {report.most}"
    longest = "" if report.longest is None else f"; {report.longest}"
    by = f", HLS {report.version}" if report.version else ""
    return Schedule(cycles, f"{path.name}{by}{longest}", report.clock_mhz)


def applied(
    design: Design, schedules: Mapping[str, Schedule], clock_mhz: int | None = None
) -> Design:
    """Returns the design with these schedules, which replace those of the description.

    The design's clock is ``clock_mhz``, else that of the fastest report, else unchanged.
    """
    kernels = (
        msgspec.structs.replace(kernel, cycles=said.cycles, schedule=said.origin)
        if (said := schedules.get(kernel.name))
        else kernel
        for kernel in design.kernels
    )
    design = msgspec.structs.replace(design, kernels=tuple(kernels))
    reports = [round(said.clock_mhz) for said in schedules.values() if said.clock_mhz]
    clock = clock_mhz or max(reports, default=None)
    return design if clock is None else design.at_clock(clock)
