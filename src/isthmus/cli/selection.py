"""Selects the points of one study or of some operations from a run."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from isthmus.errors import UsageError
from isthmus.results.run_file import Run
from isthmus.text import did_you_mean


def of_study_and_operations(run: Run, study: str | None, operations: str | None) -> Run:
    """Returns the run with these points only; raises UsageError for names that the run lacks."""
    points = run.points
    if study is not None:
        _require_in_run("study", [study], (point.study for point in points))
        points = [point for point in points if point.study == study]
        run = msgspec.structs.replace(run, studies=[study])
    if operations is not None:
        names = operations.split(",")
        _require_in_run("operation", names, (point.operation for point in points))
        points = [point for point in points if point.operation in names]
    return msgspec.structs.replace(run, points=points)


def _require_in_run(what: str, names: Iterable[str], here: Iterable[str]) -> None:
    names_here = list(dict.fromkeys(here))
    for name in names:
        if name not in names_here:
            hint = f"{did_you_mean(name, names_here)}it has {', '.join(names_here)}"
            raise UsageError(f"no {what} '{name}' in this run; {hint}")
