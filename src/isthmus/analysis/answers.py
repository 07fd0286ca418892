"""The transfer study's answers: for each question one plain sentence and the table behind it."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from isthmus.analysis import api_software, comparisons, speeds
from isthmus.analysis.evidence import SERIES, STUDY, Answer, Evidence
from isthmus.analysis.summary import summarise
from isthmus.results.run_file import Run

__all__ = ["SERIES", "STUDY", "Answer", "answers"]

_ASKED: tuple[Callable[[Evidence], Answer], ...] = (
    speeds.peaks,
    api_software.per_call,
    comparisons.small,
    comparisons.indistinguishable,
    comparisons.throttle,
    comparisons.ceiling,
    speeds.half,
    speeds.fits,
)


def answers(run: Run, summary: pd.DataFrame | None = None) -> list[Answer]:
    """Answers to the transfer study's questions; none where a run is of other studies."""
    if STUDY not in run.studies and all(point.study != STUDY for point in run.points):
        return []
    evidence = Evidence.of(run, summarise(run) if summary is None else summary)
    return [ask(evidence) for ask in _ASKED]
