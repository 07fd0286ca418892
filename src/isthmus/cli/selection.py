"""Part of a run: the points of one study, or of some operations."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from isthmus.errors import UsageError
from isthmus.results.run_file import Run
from isthmus.text import did_you_mean


def of_study_and_operations(run: Run, study: str | None, operations: str | None) -> Run:
    """The run with these points only; raises UsageError for names that the run does not have."""
    points = run.points
    if study is not None:
        _known("study", [study], (point.study for point in points))
        points = [point for point in points if point.study == study]
        run = msgspec.structs.replace(run, studies=[study])
    if operations is not None:
        names = operations.split(",")
        _known("operation", names, (point.operation for point in points))
        points = [point for point in points if point.operation in names]
    return msgspec.structs.replace(run, points=points)


def _known(what: str, names: Iterable[str], here: Iterable[str]) -> None:
    known = list(dict.fromkeys(here))
    for name in names:
        if name not in known:
            hint = f"{did_you_mean(name, known)}it has {', '.join(known)}"
            raise UsageError(f"no {what} '{name}' in this run; {hint}")
