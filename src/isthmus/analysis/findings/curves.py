"""Findings on time over size: the curve of each series, and the parts of a small copy's time.

``ways`` are operations in words; others are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from isthmus.analysis import wording
from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings import common
from isthmus.analysis.findings.finding import Finding, shown, span
from isthmus.analysis.fits import AlphaBeta
from isthmus.analysis.predicted import LEAST_SIZES
from isthmus.analysis.sentences import LONGEST, say
from isthmus.analysis.speeds import curves
from isthmus.analysis.split import splits
from isthmus.statistics import Interval
from isthmus.units import format_size


def of_splits(context: AnalysisContext, ways: Mapping[str, str]) -> Iterator[Finding]:
    """The largest part or two of a small copy's time, where its parts are known."""
    for one in splits(context):
        row, what = one.row, ways[str(one.row.operation)]
        parts = [f"{shown(seconds, 's')} {part}" for part, seconds in one.largest[:2]]
        named, size = common.title(context, str(row.device)), format_size(int(row.bytes))
        named += ", estimate" * (row.clock == "hybrid")
        yield Finding(
            study=context.study, subject=named, quantity=f"{what}, {size}, {one.largest[0][0]}",
            interval=Interval(one.largest[0][1], math.nan, math.nan), unit="s", evidence="split",
            remark=f"of {shown(one.seconds, 's')}", share=one.largest[0][1] / one.seconds,
            sentence=say(
                "split", what=what, size=size, time=shown(one.seconds, "s"),
                parts=" and ".join(parts), who=named,
            ),
            **common.point_of(row),
        )  # fmt: skip


def of_curves(context: AnalysisContext, ways: Mapping[str, str]) -> Iterator[Finding]:
    """Time over bytes of each series, one for each way of the runtime; or that no curve fits."""
    for (device, _, operation, *_), rows, fitted in curves(context):
        few = sum(line.points for line in fitted.lines) < LEAST_SIZES
        if few or operation not in ways or not context.is_reported(device):
            continue
        row = common.at_largest(rows)
        what, named = ways[operation], common.who(context, row)
        shared = {"study": context.study, "subject": named, **common.point_of(row)}
        if not fitted.fits:
            yield Finding(
                quantity=f"{what}, time over size", interval=None, unit="", remark="no curve fits",
                evidence="fits",
                sentence=say(
                    "curve_none", what=what, percent=wording.percent(fitted.rms), who=named
                ),
                **shared,
            )  # fmt: skip
            continue
        for line in fitted.lines:
            small, large = (wording.size(size) for size in (line.smallest, line.largest))
            yield Finding(
                quantity=f"{what}, start-up time, {small} to {large}", interval=line.alpha,
                unit="s", remark="start-up", sentence=_curve(what, line, named, len(fitted.lines)),
                evidence="fits", **(shared | {"bytes": 0}),
            )  # fmt: skip


def _curve(what: str, line: AlphaBeta, named: str, of: int) -> str:
    """A line as a sentence, with the intervals of its figures as far as there is room."""
    values = {"what": what, "who": named}
    values |= {"size": wording.size(line.smallest), "largest": wording.size(line.largest)}
    kind = "curve_between" if of > 1 else "curve"
    if not math.isfinite(line.beta.high):
        kind = "curve_constant"
    elif not line.alpha.low > 0:
        kind = "curve_rate"
    texts = []
    for with_interval in (True, False):
        time, per = line.alpha, line.beta.times(1e-9)
        values["time"], values["per"] = shown(time.value, "s"), f"{wording.number(per.value)} B"
        if with_interval:
            values["time"] += f" ({span(time, 's')})" if span(time, "s") else ""
            values["per"] += f" ({span(per, 'B')})" if span(per, "B") else ""
        texts.append(say(kind, **values))
    return next((text for text in texts if len(text) <= LONGEST), texts[-1])
