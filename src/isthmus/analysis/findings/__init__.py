"""Collects the findings of studies as data, which terminal, page, files and Python show alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, plain
from isthmus.analysis.sentences import say
from isthmus.units import shown, span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.analysis.context import RunContext
    from isthmus.results.run_file import Run

__all__ = ["MOST_HEADLINES", "Finding", "findings", "plain", "written"]
_WIDE = 10.0
"""Largest ratio of an interval's ends that is shown: a wider figure says little."""


def findings(run: Run | RunContext) -> list[Finding]:
    """Returns findings of the studies of a run, each study's headlines first."""
    from isthmus import studies  # noqa: PLC0415 - slow to load, like the next ones
    from isthmus.analysis.context import RunContext  # noqa: PLC0415
    from isthmus.analysis.findings.verdicts import verdicts  # noqa: PLC0415

    of_run = RunContext.of(run)
    results: list[Finding] = []
    declared = (studies.registry().get(name) for name in of_run.studies)
    for study in sorted(filter(None, declared), key=lambda study: study.place):
        make = study.analysis().findings
        if make is not None:
            of_study = list(make(of_run.of_study(study.name, study.columns)))
            of_study.sort(key=lambda finding: not finding.headline)
            results += of_study
    return list(map(written, _headed_by(list(verdicts(of_run.run, of_run.summary)), results)))


def written(finding: Finding) -> Finding:
    """The finding with its sentence, and its figure, interval and share as texts."""
    values: dict[str, Any] = {}
    if finding.template:
        values["sentence"] = say(finding.template, **finding.values)
    if finding.share is not None:
        values["percent"] = f"{100 * finding.share:.0f} %"
    if finding.interval is not None:
        value, low, high, _ = finding.interval
        ends = span(value, low, high, finding.unit)
        values |= {"figure": shown(value, finding.unit), "span": ends}
        wide = bool(ends) and high > _WIDE * low > 0
        values |= {"too_wide": wide, "certainty": "processes differ" if wide else ends}
    return msgspec.structs.replace(finding, **values)


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
