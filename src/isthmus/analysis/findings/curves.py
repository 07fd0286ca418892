"""Makes findings on time over size: each series' curve, and the parts of a small copy's time.

Functions take ``ways``, words for each operation; operations without words are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings import common
from isthmus.analysis.findings.finding import Finding
from isthmus.analysis.sentences import LONGEST, say
from isthmus.analysis.transfer import curves, splits
from isthmus.statistics import Interval
from isthmus.statistics.fits import LEAST_SIZES, AlphaBeta
from isthmus.units import number, percent, rounded_size, shown, span


def of_splits(context: AnalysisContext, ways: Mapping[str, str]) -> Iterator[Finding]:
    """Yields the one or two largest parts of a small copy's time, where its parts are known."""
    for split in splits(context):
        first, seconds = split.largest[0]
        time = shown(split.seconds, "s")
        parts = " and ".join(f"{shown(of, 's')} {part}" for part, of in split.largest[:2])
        yield common.finding_of(
            context, split.row, "split", f"{{what}}, {{size}}, {first}",
            Interval(seconds, math.nan, math.nan), "s", ways=ways,
            who=common.title(context, split.row.device)
            + ", estimate" * (split.row.clock == "hybrid"),
            values={"time": time, "parts": parts}, evidence="split", remark=f"of {time}",
            share=seconds / split.seconds,
        )  # fmt: skip


def of_curves(context: AnalysisContext, ways: Mapping[str, str]) -> Iterator[Finding]:
    """Yields a finding for each straight part of a series' time over bytes, or if no curve fits."""
    for (device, _, operation, *_), rows, fitted in curves(context):
        few = sum(line.points for line in fitted.lines) < LEAST_SIZES
        if few or operation not in ways or not context.is_reported(device):
            continue
        row = common.at_largest(rows)
        who = common.who(context, row)
        if not fitted.fits:
            yield common.finding_of(
                context, row, "curve_none", "{what}, time over size", None, ways=ways, who=who,
                values={"percent": percent(fitted.rms)}, remark="no curve fits",
                evidence="fits",
            )  # fmt: skip
        for line in fitted.lines if fitted.fits else ():
            small, large = (rounded_size(size) for size in (line.smallest, line.largest))
            yield common.finding_of(
                context, row, "", f"{{what}}, start-up time, {small} to {large}", line.alpha, "s",
                ways=ways, who=who, remark="start-up", evidence="fits", bytes=0,
                sentence=_curve(ways[operation], line, who, len(fitted.lines)),
            )  # fmt: skip


def _curve(what: str, line: AlphaBeta, named: str, of: int) -> str:
    """Writes a line as a sentence, without the figures' intervals if it becomes too long."""
    values = {"what": what, "who": named}
    values |= {"size": rounded_size(line.smallest), "largest": rounded_size(line.largest)}
    kind = "curve_between" if of > 1 else "curve"
    if not math.isfinite(line.beta.high):
        kind = "curve_constant"
    elif not line.alpha.low > 0:
        kind = "curve_rate"
    texts = []
    for with_interval in (True, False):
        time, per = line.alpha, line.beta.times(1e-9)
        values["time"], values["per"] = shown(time.value, "s"), f"{number(per.value)} B"
        if with_interval:
            for name, figure, unit in (("time", time, "s"), ("per", per, "B")):
                ends = span(*figure[:3], unit)
                values[name] += f" ({ends})" if ends else ""
        texts.append(say(kind, **values))
    return next((text for text in texts if len(text) <= LONGEST), texts[-1])
