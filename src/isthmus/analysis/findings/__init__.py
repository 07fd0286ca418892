"""Collects the findings of studies as data, which terminal, page, files and Python show alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isthmus.frames import Frame
    from isthmus.results.run_file import Run

__all__ = ["MOST_HEADLINES", "Finding", "findings", "plain"]


def findings(run: Run, summary: Frame | None = None) -> list[Finding]:
    """Returns findings of the studies of a run, each study's headlines first.

    ``summary``: the summary of the run, if already computed.
    """
    from isthmus import studies  # noqa: PLC0415 - slow to load, like the next ones
    from isthmus.analysis.context import AnalysisContext, studies_in  # noqa: PLC0415
    from isthmus.analysis.findings.verdicts import verdicts  # noqa: PLC0415
    from isthmus.analysis.summary import summarise  # noqa: PLC0415

    rows = summarise(run) if summary is None else summary
    results: list[Finding] = []
    declared = (studies.registry().get(name) for name in studies_in(run))
    for study in sorted(filter(None, declared), key=lambda study: study.place):
        make = study.analysis().findings
        if make is not None:
            of_study = list(make(AnalysisContext.of(run, rows, study.name, study.columns)))
            of_study.sort(key=lambda finding: not finding.headline)
            results += of_study
    return written(_headed_by(list(verdicts(run, rows)), results))


def written(findings: Iterable[Finding]) -> list[Finding]:
    """Writes the findings' texts, last of all, from their data."""
    return [finding.written() for finding in findings]


def _headed_by(first: Sequence[Finding], others: Sequence[Finding]) -> list[Finding]:
    """Puts ``first`` before their study's other findings; its last headlines lose their place."""
    results: list[Finding] = []
    for study in dict.fromkeys(finding.study for finding in (*others, *first)):
        of_study = [finding for finding in (*first, *others) if finding.study == study]
        most = max(
            MOST_HEADLINES, sum(finding.headline for finding in others if finding.study == study)
        )
        headlines = [finding for finding in of_study if finding.headline][:most]
        results += headlines
        results += [
            msgspec.structs.replace(finding, headline=False)
            for finding in of_study
            if finding not in headlines
        ]
    return results
