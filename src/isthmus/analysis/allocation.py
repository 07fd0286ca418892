"""How long an offload takes, and is it worth it: questions of the study ``allocation``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus.analysis import wording
from isthmus.analysis.allocation_memory import advice, copies, deltas, offsets
from isthmus.analysis.evidence import Answer, Evidence, table
from isthmus.analysis.offloads import (
    ALGORITHM,
    SOFTWARE,
    Case,
    against_host,
    at,
    cases,
    groups,
    longer,
    offloads,
    real_hosts,
)
from isthmus.statistics import Interval
from isthmus.units import format_size

_COLUMNS = {
    "start": ("initialise", "program_device"),
    "allocate": ("allocate",),
    "populate": ("populate",),
    "map": ("map",),
    "migrate": ("migrate_to_device", "migrate_to_device_wait"),
    "launch": ("set_arguments", "kernel_enqueue"),
    "kernel": ("kernel_run",),
    "read_back": ("read_back",),
    "remainder": ("remainder",),
    "total": ("total",),
    "host_add": SOFTWARE[:1],
    "host_simd": SOFTWARE[1:],
}
_PUBLISHED_ELEMENTS = 6 << 20
_LONG_S = 1e-3
"""Residuals of shorter phases are not worth a sentence."""


def phases(evidence: Evidence) -> Answer:
    """Medians of the first offload in a process, and of those that follow."""
    rows = []
    clauses = []
    for group in groups(cases(evidence.run)):
        for case in group:
            for use, warm in (("first", False), ("again", True)):
                medians = [case.median(*names, warm=warm) for names in _COLUMNS.values()]
                if not np.all(np.isnan(medians)):
                    clock = "simulated" if case.simulated else "host"
                    rows.append((case.device, case.elements, case.name, clock, use, *medians))
        for case in group[:1]:
            if not case.crossing and not np.isnan(share := _remainder(case)):
                clauses.append(
                    f"{at(evidence, case)}: phases and remainder are the total in each "
                    f"repetition; the remainder is at most {wording.percent(share)} of it"
                )
    return Answer(
        "phases",
        "How long does each phase take, from each kind of memory?",
        wording.few(clauses) or ("nothing was measured",),
        table(
            rows,
            "device",
            "elements",
            "memory",
            "clock",
            "use",
            *(f"{name}_s" for name in _COLUMNS),
        ),
        in_full=True,
    )


def _remainder(case: Case) -> float:
    total, rest = case.sum(("total",)), case.sum(("remainder",))
    shares = [rest[rep] / total[rep] for rep in total if rep in rest and total[rep] > 0]
    return max(shares, default=np.nan)


def host(evidence: Evidence) -> Answer:
    """The device against the same add on the host, in the same processes."""
    rows = []
    clauses = []
    for group in groups(_worth(evidence)):
        together = evidence.together(2 * len(group))
        for case in group:
            for software in filter(case.phases.get, SOFTWARE):
                both = _both(case, software, together)
                rows.append((case.device, case.elements, case.name, software, *_ends(both)))
        told = [case for case in group if case.add]
        if told:
            best = min(told, key=lambda case: case.median(*ALGORITHM))
            (total, _), (algorithm, _) = _both(best, best.add, together)
            how = "vectorised add" if best.add == SOFTWARE[1] else "add"
            clauses.append(
                f"{at(evidence, best)}, {best.name}: the {how} on the host is "
                f"{_faster(total)} in all, and {_faster(algorithm)} without starting the runtime, "
                "allocating and populating"
            )
    return Answer(
        "host",
        "Is the offload faster than the CPU?",
        wording.few(clauses) or ("no add on the host beside an offload",),
        table(
            rows, "device", "elements", "memory", "reference",
            "total_delta_s", "low_total_delta_s", "high_total_delta_s",
            "algorithm_delta_s", "low_algorithm_delta_s", "high_algorithm_delta_s", "repetitions",
        ),
    )  # fmt: skip


def _both(case: Case, software: str, confidence: float) -> tuple[tuple[Interval, int], ...]:
    """Host minus accelerator: in all, and the algorithm only."""
    return (
        against_host(case, ("total",), ("populate", software), confidence),
        against_host(case, ALGORITHM, (software,), confidence),
    )


def _ends(both: tuple[tuple[Interval, int], ...]) -> tuple[float, ...]:
    (total, _), (algorithm, count) = both
    return (*total[:3], *algorithm[:3], count)


def _faster(found: Interval) -> str:
    if not found.sign:
        return "neither faster nor slower for certain"
    return f"{longer(found)} {'slower' if found.value > 0 else 'faster'}"


def break_even(evidence: Evidence) -> Answer:
    """From which size on the device is faster, of sizes that were swept."""
    rows = []
    clauses = []
    by_kind: dict[tuple[str, str], list[Case]] = {}
    for case in _worth(evidence):
        if case.add:
            by_kind.setdefault((case.device, case.name), []).append(case)
    for (device, name), sized in by_kind.items():
        sized.sort(key=lambda case: case.elements)
        if len(sized) < 2:
            continue
        together = evidence.together(len(sized))
        signs = [_both(case, case.add, together)[1][0].sign for case in sized]
        from_here = next(
            (i for i in range(len(signs)) if all(sign > 0 for sign in signs[i:])), len(signs)
        )
        below = next((sized[i].elements for i in reversed(range(from_here)) if signs[i] < 0), 0)
        reached = from_here < len(signs)
        rows.append(
            (device, name, below, sized[from_here].elements if reached else np.nan,
             *_slopes(sized[-2:]))
        )  # fmt: skip
        span = wording.sizes([case.elements for case in sized])
        clauses.append(
            f"{evidence.labels[device]}, {name}: faster than the host from "
            f"{format_size(sized[from_here].elements)} elements on"
            if reached
            else f"{evidence.labels[device]}, {name}: no break-even from {span} elements"
            + _further(*_slopes(sized[-2:]))
        )
    return Answer(
        "break_even",
        "From which size on is the offload faster than the host?",
        wording.few(clauses) or ("one size only: sweep with --elements 64Ki:64Mi",),
        table(rows, "device", "memory", "slower_to", "faster_from", "device_slope_s",
              "host_slope_s"),
    )  # fmt: skip


def _slopes(pair: Sequence[Case]) -> tuple[float, float]:
    """Seconds that one more element costs the device and the host, from the two largest sizes."""
    small, large = pair
    more = large.elements - small.elements
    device = (large.median(*ALGORITHM) - small.median(*ALGORITHM)) / more
    return device, (large.median(large.add) - small.median(small.add)) / more


def _further(device: float, on_host: float) -> str:
    if device >= on_host:
        return ", nor beyond: each further element costs the device more than the host"
    return ", though each further element costs the device less"


def _worth(evidence: Evidence) -> list[Case]:
    """Offloads that did the work, with their host's software."""
    return [case for case in real_hosts(evidence.run) if case.verified]


def residuals(evidence: Evidence) -> Answer:
    """An emulated board beside the published phases of the real one."""
    from isthmus.validation.points import OFFLOAD_SERIES, all_points  # noqa: PLC0415 - slow to load

    rows = []
    boards = {
        d.address: d.properties.get("board.name") or d.properties.get("emulated_card")
        for d in evidence.run.devices
    }
    points = {point.name: point for point in all_points() if point.series == OFFLOAD_SERIES}
    for case in offloads(evidence.run):
        memory = {"aligned": "aligned", "pageable": "unaligned"}.get(case.name)
        if case.crossing and memory != "aligned":
            continue  # what the driver copies is not in it
        address = case.device.partition(",")
        if boards.get(case.device) != "u200" or address[1] or case.elements != _PUBLISHED_ELEMENTS:
            continue
        for phase in case.phases:
            point = points.get(f"{phase.replace('_', ' ')}, {memory}")
            if point is not None:
                simulated, real = case.median(phase), point.published / 1e3
                rows.append((case.device, case.name, phase, real, simulated,
                             simulated / real - 1.0, point.how))  # fmt: skip
    predicted = [row for row in rows if row[-1] == "predicted"]
    clauses = [
        f"{evidence.labels[device]}: {name}, {phase} {residual:+.1%} from published, predicted"
        for device, name, phase, _, _, residual, _ in predicted
        if abs(residual) == max(abs(row[5]) for row in predicted if row[3] > _LONG_S)
    ]
    what_else = (
        "all published phases that were simulated here set a parameter of the board"
        if rows
        else "no emulated board whose phases somebody published"
    )
    return Answer(
        "residuals",
        "How near do the phases of the emulated card come to those published?",
        tuple(clauses) or (what_else,),
        table(rows, "device", "memory", "operation", "published_s", "simulated_s", "residual",
              "kind"),
        in_full=True,
    )  # fmt: skip


QUESTIONS = (phases, deltas, host, break_even, copies, offsets, residuals, advice)
