"""What the studies of a run asked: for each question a table of figures."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from isthmus import studies
from isthmus.analysis.context import SERIES, AnalysisContext, Answer
from isthmus.analysis.summary import summarise
from isthmus.results.run_file import Run

__all__ = ["SERIES", "Answer", "answers", "answers_to", "studies_in"]


def studies_in(run: Run) -> list[str]:
    """Names of the studies that a run was asked for or holds points of."""
    return list(dict.fromkeys([*run.studies, *(point.study for point in run.points)]))


def answers_to(study: str, run: Run, summary: pd.DataFrame) -> list[Answer]:
    """Answers to the questions of one study; none where that study is not known here."""
    known = studies.registry().get(study)
    if known is None:
        return []
    context = AnalysisContext.of(run, summary, study, known.columns)
    return [question(context) for question in known.analysis().questions]


def answers(run: Run, summary: pd.DataFrame | None = None) -> list[Answer]:
    """Answers to all studies of a run."""
    return list(_all(run, summarise(run) if summary is None else summary))


def _all(run: Run, summary: pd.DataFrame) -> Iterator[Answer]:
    for study in studies_in(run):
        yield from answers_to(study, run, summary)
