"""Selects the rows that analyses read, and makes the tables that answer their questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from isthmus import boards, studies
from isthmus.analysis.limits import memory_copies
from isthmus.analysis.ratios import Pair, medians, pairs, varying_axes, with_axes
from isthmus.analysis.summary import resolved, summarise, trusted
from isthmus.answers import Answer
from isthmus.boards import Board
from isthmus.frames import Frame
from isthmus.results.run_file import Run
from isthmus.statistics import Interval, Judgement, judge, relevant, simultaneous

SERIES = ["device", "api", "operation", "memory", "axes", "clock"]
"""Columns that are equal for all points of a series: the points differ in size only."""


@dataclass(frozen=True)
class AnalysisContext:
    """The measurements of one study of a run, prepared for analysis."""

    run: Run
    study: str
    every: Frame
    """Summary rows of all studies with times above the clock's resolution; ``axes`` has the values
    in which this study's points differ."""
    rows: Frame
    """Rows of this study that are trusted (``summary.trusted``) and have a bandwidth, on any clock
    except the device's; an imported run also keeps rows on the device's clock.

    Operations that move no data (verified ``na``, e.g. a launch) have no bandwidth: see ``timed``.
    """
    pairs: list[Pair]
    copies: frozenset[str]
    """Addresses of devices that are plain memory copies."""

    @classmethod
    def of(
        cls, run: Run, summary: Frame, study: str, columns: Sequence[str] = ()
    ) -> AnalysisContext:
        """Selects the trustworthy rows of one study from a run and its summary.

        ``columns``: columns of the study; those that the summary lacks are added, empty.
        """
        missing = [name for name in columns if name not in summary]
        summary = summary.assign(**dict.fromkeys(missing, ""))
        axes = varying_axes(point for point in run.points if point.study == study)
        every = with_axes(resolved(summary), axes)
        rows = every[every["study"] == study]
        rows = rows[trusted(rows) & rows["bandwidth_Bps"].gt(0)]
        if run.origin is None:  # the device's clock does not time the host's part of a call
            rows = rows[rows["clock"] != "device"]
        return cls(
            run=run,
            study=study,
            every=every,
            rows=rows,
            pairs=pairs(run, medians(run, study)),
            copies=memory_copies(run),
        )

    @property
    def timed(self) -> Frame:
        """Rows of this study that have a time, on all clocks, also of operations without data.

        Leaves out points whose data were wrong and points that were not measured.
        """
        rows = self.every[self.every["study"] == self.study]
        return rows[rows["verified"].ne("false") & rows["median_s"].gt(0)]

    @cached_property
    def boards(self) -> Mapping[str, Board | None]:
        """Board of each device by address; None for hardware that names no board."""
        return {device.address: boards.of_device(device.properties) for device in self.run.devices}

    @property
    def confidence(self) -> float:
        """Confidence of each interval of the run."""
        return self.run.settings.confidence

    def simultaneous(self, comparisons: int) -> float:
        """Confidence of each of ``comparisons`` intervals that one answer judges simultaneously."""
        return simultaneous(self.confidence, comparisons)

    def judge(self, ratio: Interval) -> Judgement:
        """Judges a ratio of times; differences below the run's precision are not relevant."""
        return judge(ratio, relevant(self.run.settings.precision))

    def is_reported(self, device: str) -> bool:
        """Whether findings name the device; a plain memory copy is only a reference for devices."""
        return device not in self.copies or set(self.rows["device"]) <= self.copies


def studies_in(run: Run) -> list[str]:
    """Names of the studies that were requested for a run or that its points belong to."""
    return list(dict.fromkeys([*run.studies, *(point.study for point in run.points)]))


def answers_to(study: str, run: Run, summary: Frame) -> list[Answer]:
    """Answers to the questions of one study; empty where the study is not installed."""
    declared = studies.registry().get(study)
    if declared is None:
        return []
    context = AnalysisContext.of(run, summary, study, declared.columns)
    return [question(context) for question in declared.analysis().questions]


def answers(run: Run, summary: Frame | None = None) -> list[Answer]:
    """Answers to the questions of all studies of a run."""
    rows = summarise(run) if summary is None else summary
    return [answer for study in studies_in(run) for answer in answers_to(study, run, rows)]
