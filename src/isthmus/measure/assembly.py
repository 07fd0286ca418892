"""Assembles points from the entries of a journal, which may come from several sessions."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from isthmus.measure.job import FINAL_STATES
from isthmus.results.journal import Entry, PointKey, key_of
from isthmus.results.run_file import Point, Rerun


def _completeness(rerun: Rerun) -> tuple[bool, int]:
    samples = rerun.clocks.get("host")
    return rerun.state in FINAL_STATES, len(samples.ticks) if samples else 0


def assemble(planned: Iterable[Point], entries: Iterable[Entry]) -> list[Point]:
    """All planned points and points with entries, with the results of their entries."""
    reruns: dict[PointKey, dict[int, Rerun]] = {}
    latest: dict[PointKey, Point] = {}
    for entry in entries:
        key = key_of(entry.point)
        before = latest.get(key)
        reason = entry.point.error or entry.point.skipped
        if before is None or entry.rerun is not None or reason:
            moved = entry.point.moved_bytes or (before.moved_bytes if before else 0)
            latest[key] = msgspec.structs.replace(entry.point, moved_bytes=moved)
        if entry.rerun is not None:
            of_point = reruns.setdefault(key, {})
            rival = of_point.get(entry.rerun.rerun)
            if rival is None or _completeness(entry.rerun) >= _completeness(rival):
                of_point[entry.rerun.rerun] = entry.rerun
    expected = {key_of(point): point for point in planned}
    # What was measured before stays, also where its device is gone or its size no longer fits.
    points: list[Point] = []
    for key, point in {
        **expected,
        **{k: p for k, p in latest.items() if k not in expected},
    }.items():
        measured = reruns.get(key, {})
        known = latest.get(key, point)
        points.append(
            msgspec.structs.replace(known, reruns=[measured[n] for n in sorted(measured)])
        )
    return points
