"""Answers to the questions of a run's studies: a table of figures for each question."""

from __future__ import annotations

from collections.abc import Iterator

from isthmus import studies
from isthmus.analysis.context import SERIES, AnalysisContext, Answer
from isthmus.analysis.summary import summarise
from isthmus.frames import Frame
from isthmus.results.run_file import Run

__all__ = ["SERIES", "Answer", "answers", "answers_to", "studies_in"]


def studies_in(run: Run) -> list[str]:
    """Names of the studies that were requested for a run or that its points belong to."""
    return list(dict.fromkeys([*run.studies, *(point.study for point in run.points)]))


def answers_to(study: str, run: Run, summary: Frame) -> list[Answer]:
    """Answers to the questions of one study; empty where the study is not installed."""
    known = studies.registry().get(study)
    if known is None:
        return []
    context = AnalysisContext.of(run, summary, study, known.columns)
    return [question(context) for question in known.analysis().questions]


def answers(run: Run, summary: Frame | None = None) -> list[Answer]:
    """Answers to all studies of a run."""
    return list(_all(run, summarise(run) if summary is None else summary))


def _all(run: Run, summary: Frame) -> Iterator[Answer]:
    for study in studies_in(run):
        yield from answers_to(study, run, summary)
