"""What a badly allocated buffer costs: the questions of the study ``allocation``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np

from isthmus.analysis import wording
from isthmus.analysis.evidence import Answer, Evidence, table
from isthmus.analysis.offloads import (
    ALGORITHM,
    SOFTWARE,
    Case,
    Difference,
    against_host,
    cases,
    compare,
    groups,
    offloads,
)
from isthmus.studies.allocation import ACCELERATOR
from isthmus.units import format_rate, format_seconds, format_size

_PAGE = 4096
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
_MOVES = {
    "map": ("map",),
    "migrate": ("migrate_to_device", "migrate_to_device_wait"),
    "read_back": ("read_back",),
}
"""Where a runtime may copy, and the phases of it."""
_VECTORS = {"map": 3, "migrate": 2, "read_back": 1}
_NO_COPY_BPS = 200e9
"""Nothing here copies so fast: what seems to was not copied."""
_PASS_BPS = 50e9
"""A certain delay that copying at such a rate would not explain is no copy."""
_COPY_SHARE = 0.9
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
                    rows.append((case.device, case.elements, case.name, use, *medians))
        for case in group[:1]:
            if not np.isnan(share := _remainder(case)):
                clauses.append(
                    f"{_at(evidence, case)}: phases and remainder are the total in each "
                    f"repetition; the remainder is at most {wording.percent(share)} of it"
                )
    return Answer(
        "phases",
        "How long does each phase take, from each kind of memory?",
        wording.few(clauses) or ("nothing was measured",),
        table(rows, "device", "elements", "memory", "use", *(f"{name}_s" for name in _COLUMNS)),
        in_full=True,
    )


def _remainder(case: Case) -> float:
    total, rest = case.sum(("total",)), case.sum(("remainder",))
    shares = [rest[rep] / total[rep] for rep in total if rep in rest and total[rep] > 0]
    return max(shares, default=np.nan)


def deltas(evidence: Evidence) -> Answer:
    """What any two kinds of memory differ by, phase by phase."""
    rows = []
    clauses: list[str] = []
    each = {**{name: (name,) for name in ACCELERATOR}, "algorithm": ALGORITHM, "total": ("total",)}
    for group in groups(offloads(evidence.run)):
        confidence = _simultaneous(evidence, len(group) - 1)
        for a, b in permutations(group, 2):
            for name, names in each.items():
                if any(n in case.phases for n in names for case in (a, b)):
                    found = compare(a, b, names, confidence)
                    rows.append((a.device, a.elements, name, a.name, b.name, *found))
        clauses += _told(evidence, group, confidence)
    return Answer(
        "deltas",
        "What do kinds of memory differ by?",
        wording.few(clauses) or ("one kind of memory only: nothing to compare",),
        table(
            rows, "device", "elements", "operation", "memory", "reference",
            "delta_s", "low_delta_s", "high_delta_s", "repetitions",
        ),
    )  # fmt: skip


def _simultaneous(evidence: Evidence, comparisons: int) -> float:
    """Confidence of each interval so that all together have the run's (Bonferroni)."""
    return 1.0 - (1.0 - evidence.confidence) / max(comparisons, 1)


def _told(evidence: Evidence, group: Sequence[Case], confidence: float) -> Iterator[str]:
    if len(group) < 2:
        return
    reference, *others = group
    whole = reference.median(*ALGORITHM)
    found = {case.name: compare(case, reference, ALGORITHM, confidence) for case in others}
    where = f"{_at(evidence, reference)}, map to read back"
    slower = {name: d for name, d in found.items() if d.low > 0}
    faster = {name: d for name, d in found.items() if d.high < 0}
    if slower:
        name = max(slower, key=lambda n: slower[n].seconds)
        worst = next(case for case in others if case.name == name)
        phase = max(ALGORITHM, key=lambda p: worst.median(p) - np.nan_to_num(reference.median(p)))
        yield (
            f"{where}: {name} costs most, {_longer(slower[name])} longer than {reference.name}, "
            f"most of it in {phase}"
        )
    if faster:
        name = min(faster, key=lambda n: faster[n].seconds)
        yield f"{where}: {name} costs least, {_longer(faster[name])} less than {reference.name}"
    if slower or faster:
        return
    known = [d for d in found.values() if d.resolved(whole)]
    if len(known) == len(found):
        low, high = min(d.low for d in known), max(d.high for d in known)
        yield (
            f"{where}: no difference between {reference.name} and {_others(others)} "
            f"(95 % intervals within {_signed(low)} to {_signed(high)} of {format_seconds(whole)})"
        )
    else:
        yield f"{where}: cannot tell kinds of memory apart yet; measure longer with --budget"


def _others(others: Sequence[Case]) -> str:
    return others[0].name if len(others) == 1 else f"the {len(others)} other kinds"


def _longer(found: Difference) -> str:
    """The size of a difference and its interval, whatever its sign."""
    ends = sorted((abs(found.low), abs(found.high)))
    told = f"{format_seconds(abs(found.seconds))}"
    if ends[0] == ends[1]:
        return told
    return f"{told} (interval {format_seconds(ends[0])} to {format_seconds(ends[1])})"


def _signed(seconds: float) -> str:
    return f"{'+' if seconds > 0 else ''}{format_seconds(seconds)}"


def _at(evidence: Evidence, case: Case) -> str:
    """The device, and the size where the run has several."""
    sizes = {point.bytes for point in evidence.run.points if point.study == evidence.study}
    at = f" at {format_size(case.elements)} elements" if len(sizes) > 1 else ""
    return f"{evidence.labels[case.device]}{at}"


def host(evidence: Evidence) -> Answer:
    """The device against the same add on the host, in the same processes."""
    rows = []
    clauses = []
    for group in groups(offloads(evidence.run)):
        for case in group:
            for software in filter(case.phases.get, SOFTWARE):
                both = _both(case, software, evidence.confidence)
                rows.append((case.device, case.elements, case.name, software, *_ends(both)))
        told = [case for case in group if case.add]
        if told:
            best = min(told, key=lambda case: case.median(*ALGORITHM))
            total, algorithm = _both(best, best.add, evidence.confidence)
            how = "vectorised add" if best.add == SOFTWARE[1] else "add"
            clauses.append(
                f"{_at(evidence, best)}, {best.name}: the {how} on the host is "
                f"{_faster(total)} in all, and {_faster(algorithm)} without starting the runtime, "
                "allocating and populating"
            )
    return Answer(
        "host",
        "Host minus accelerator: is the offload worth it?",
        wording.few(clauses) or ("no add on the host beside an offload",),
        table(
            rows, "device", "elements", "memory", "reference",
            "total_delta_s", "low_total_delta_s", "high_total_delta_s",
            "algorithm_delta_s", "low_algorithm_delta_s", "high_algorithm_delta_s", "repetitions",
        ),
    )  # fmt: skip


def _both(case: Case, software: str, confidence: float) -> tuple[Difference, Difference]:
    """Host minus accelerator: in all, and the algorithm only."""
    return (
        against_host(case, ("total",), ("populate", software), confidence),
        against_host(case, ALGORITHM, (software,), confidence),
    )


def _ends(both: tuple[Difference, Difference]) -> tuple[float, ...]:
    total, algorithm = both
    return (*total[:3], *algorithm[:3], algorithm.repetitions)


def _faster(found: Difference) -> str:
    if not found.certain:
        return "neither faster nor slower for certain"
    return f"{_longer(found)} {'slower' if found.seconds > 0 else 'faster'}"


def break_even(evidence: Evidence) -> Answer:
    """From which size on the device is faster, of sizes that were swept."""
    rows = []
    clauses = []
    by_kind: dict[tuple[str, str], list[Case]] = {}
    for case in offloads(evidence.run):
        if case.add:
            by_kind.setdefault((case.device, case.name), []).append(case)
    for (device, name), sized in by_kind.items():
        sized.sort(key=lambda case: case.elements)
        if len(sized) < 2:
            continue
        signs = [_both(case, case.add, evidence.confidence)[1] for case in sized]
        from_here = next(
            (i for i in range(len(signs)) if all(d.low > 0 for d in signs[i:])), len(signs)
        )
        below = next(
            (sized[i].elements for i in reversed(range(from_here)) if signs[i].high < 0), 0
        )
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


def copies(evidence: Evidence) -> Answer:
    """Where a runtime copied: fresh pages it touched, and time that only a copy takes."""
    rows = []
    clauses = []
    for group in groups(offloads(evidence.run)):
        confidence = _simultaneous(evidence, len(_MOVES) * (len(group) - 1))
        copying: dict[str, list[str]] = {}
        for phase, names in _MOVES.items():
            having = [case for case in group if case.median(*names) >= 0]
            best = min(having, key=lambda case: case.median(*names), default=None)
            for case in having:
                assert best is not None
                seconds, beyond = case.median(*names), compare(case, best, names, confidence)
                moved = 4 * case.elements * _VECTORS[phase]
                faults = sum(case.typical(name, "minor_faults") for name in names)
                switches = sum(case.typical(name, "voluntary_switches") for name in names)
                fresh = faults * _PAGE / (4 * case.elements)
                rate = moved / seconds if seconds > 0 else np.inf
                verdict = _verdict(fresh, rate, moved, beyond)
                rows.append((case.device, case.elements, case.name, phase, seconds, rate,
                             faults, fresh, switches, *beyond[:3], verdict))  # fmt: skip
                if verdict not in {"no copy", "moved"}:
                    copying.setdefault(f"{phase}: {verdict}", []).append(case.name)
        where = _at(evidence, group[0])
        told = [
            f"{what} ({', '.join(names[:4])}{' ...' if len(names) > 4 else ''})"
            for what, names in copying.items()
        ]
        clauses.append(f"{where}: {', '.join(told) or 'nothing was copied unasked'}")
    return Answer(
        "copies",
        "Which copies did the runtime make behind your back?",
        wording.few(clauses) or ("nothing was measured",),
        table(rows, "device", "elements", "memory", "operation", "median_s", "rate_Bps", "faults",
              "fresh_vectors", "switches", "beyond_best_s", "low_beyond_best_s",
              "high_beyond_best_s", "finding"),
    )  # fmt: skip


def _verdict(fresh: float, rate: float, moved: int, beyond: Difference) -> str:
    """What a move was.

    Pages touched for the first time tell of a copy's destination; time beyond the best kind's of a
    further pass, where it is certain and as long as copying takes at least.
    """
    if fresh >= _COPY_SHARE:
        return f"copied to fresh memory of {round(fresh)} vector{'s' if round(fresh) > 1 else ''}"
    if rate > _NO_COPY_BPS:
        return "no copy"
    if beyond.low > 0 and moved / beyond.low < _PASS_BPS:
        return "a further pass over the data"
    return "moved"


def offsets(evidence: Evidence) -> Answer:
    """The worst place in a page, or that none is worse."""
    rows = []
    clauses = []
    for group in groups(offloads(evidence.run)):
        aligned = group[0]
        moved = [
            case
            for case in group[1:]
            if (case.memory.startswith("offset") or case.relative_offset)
            and case.handover == aligned.handover
        ]
        if aligned.memory != "aligned" or not moved:
            continue
        confidence = _simultaneous(evidence, len(moved))
        found = {case.name: compare(case, aligned, ALGORITHM, confidence) for case in moved}
        rows += [(aligned.device, aligned.elements, name, *d) for name, d in found.items()]
        name = max(found, key=lambda n: found[n].seconds)
        worst, whole = found[name], aligned.median(*ALGORITHM)
        where = _at(evidence, aligned)
        if worst.low > 0:
            clauses.append(f"{where}: worst is {name}, {_longer(worst)} longer than aligned")
        elif all(d.resolved(whole) for d in found.values()):
            clauses.append(
                f"{where}: no offset is worse than aligned (at most {_signed(worst.high)} "
                f"of {format_seconds(whole)})"
            )
        else:
            clauses.append(f"{where}: cannot tell yet; measure longer with --budget")
    return Answer(
        "offsets",
        "Does it matter where in a page the vectors begin, and which offset is worst?",
        wording.few(clauses) or ("no offsets beside aligned memory",),
        table(rows, "device", "elements", "memory", "delta_s", "low_delta_s", "high_delta_s",
              "repetitions"),
    )  # fmt: skip


def residuals(evidence: Evidence) -> Answer:
    """An emulated board beside the published phases of the real one."""
    from isthmus.validation.points import OFFLOAD_SERIES, all_points  # noqa: PLC0415 - slow to load

    rows = []
    boards = {d.address: d.properties.get("board.name") for d in evidence.run.devices}
    points = {point.name: point for point in all_points() if point.series == OFFLOAD_SERIES}
    for case in offloads(evidence.run):
        memory = {"aligned": "aligned", "pageable": "unaligned"}.get(case.name)
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
    return Answer(
        "residuals",
        "How near do the phases of the emulated card come to those published?",
        tuple(clauses) or ("no emulated board whose phases somebody published",),
        table(rows, "device", "memory", "operation", "published_s", "simulated_s", "residual",
              "kind"),
        in_full=True,
    )  # fmt: skip


def advice(evidence: Evidence) -> Answer:
    """One sentence for each runtime."""
    rows = []
    clauses = []
    largest: dict[str, list[Case]] = {}
    for group in groups(offloads(evidence.run)):
        if len(group) > 1:
            before = largest.get(group[0].device)
            if before is None or before[0].elements < group[0].elements:
                largest[group[0].device] = group
    for device, group in largest.items():
        confidence = _simultaneous(evidence, len(group) - 1)
        best = min(group, key=lambda case: case.median(*_recurring(case)))
        plain = next((case for case in group if case.memory == "pageable"), group[0])
        gain = compare(plain, best, _recurring(plain), confidence)
        rows.append((device, group[0].elements, best.name, plain.name, *gain))
        name = evidence.labels[device]
        if best is plain or not gain.certain:
            clauses.append(f"{name}: allocate as you like; nothing is certainly better than "
                           f"{plain.name} memory")  # fmt: skip
        else:
            clauses.append(
                f"{name}: allocate {best.name} memory; from allocating to the result that takes "
                f"{_longer(gain)} less than {plain.name}, populating included "
                f"({format_rate(12 * group[0].elements / best.median(*_recurring(best)))} of "
                "operands and results)"
            )
    return Answer(
        "advice",
        "How should the buffers of such an offload be allocated?",
        wording.few(clauses) or ("one kind of memory only",),
        table(rows, "device", "elements", "memory", "reference", "delta_s", "low_delta_s",
              "high_delta_s", "repetitions"),
    )  # fmt: skip


def _recurring(case: Case) -> tuple[str, ...]:
    """What each offload costs: all but starting the runtime."""
    return tuple(name for name in ACCELERATOR[2:] if name in case.phases)


QUESTIONS = (phases, deltas, host, break_even, copies, offsets, residuals, advice)
