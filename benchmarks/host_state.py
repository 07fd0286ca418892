"""Counts how often a run's intervals hold the level of its repetitions, without and with the model.

Without arguments it judges simulated runs, whose host state is known, and stored sets of
repetitions. For run files of repetitions it prints the coverage of their intervals, and the pairs
in which ``compare`` finds a difference.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import msgspec
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from host_states import (
    STATES,
    Measured,
    coverage,
    intervals,
    names,
    of_repetitions,
    planted,
    stored,
)  # fmt: skip
from isthmus.analysis.changes import Side, compare
from isthmus.analysis.summary import estimate, summarise
from isthmus.results import run_file
from isthmus.results.journal import key_of
from isthmus.results.run_file import Run
from isthmus.statistics import Interval, location

SETS = {
    "with references": "2026-11-27-h100-twelve-runs",
    "without": "2026-11-27-h100-twelve-runs-without",
}
LATER_SETS = {
    "H200, ten runs": "2026-11-28-h200-ten-runs",
    "PoCL, ten runs without other work": "2026-11-28-pocl-idle",
    "PoCL, ten runs beside two busy loops": "2026-11-28-pocl-busy",
}
"""Stored sets of repetitions that were measured after the weights of the slow parts were chosen."""
PAIRS = 20


def simulated(runs: int) -> None:
    """Prints how often intervals of simulated runs hold the true level over all states."""
    print("| state | processes | references | by processes alone | with the model |")
    print("|---|---|---|---|---|")
    for name in STATES:
        for processes in (12, 24):
            for references in (False, True):
                alone, model = coverage(name, runs, processes, references=references)
                shown = "yes" if references else "no"
                print(f"| {name} | {processes} | {shown} | {alone:.1%} | {model:.1%} |", flush=True)


def repetitions() -> None:
    """Prints how often intervals of stored runs hold the median of all runs of their set."""
    twelve = {f"H100, twelve runs, {title}": name for title, name in SETS.items()}
    for title, name in {**twelve, **LATER_SETS}.items():
        found = of_repetitions(stored(name))
        figures = ", ".join(f"{key} {value:.3f}" for key, value in found.items())
        print(f"{title}: {figures}")


def ratios() -> None:
    """Prints coverage and width of ratios of pageable over pinned times within stored runs.

    It takes ratios whose rows have two processes in common, and ratios with six.
    """
    print("| set | processes | ratios | how | held | half-width |")
    print("|---|--:|--:|---|--:|--:|")
    for title, name in SETS.items():
        runs = stored(name)
        rows = names(name)
        pairs = [
            (rows.index(one), rows.index(one.replace("pinned", "pageable")))
            for one in rows
            if "pinned" in one
        ]
        tables = [_ratios(run, pairs) for run in runs]
        middles = np.median([[one[TWO_ROWS].value for one, _ in table] for table in tables], axis=0)
        for least in (2, 6):
            kept = [
                (intervals, middle)
                for table in tables
                for (intervals, common), middle in zip(table, middles, strict=True)
                if common >= least
            ]
            for how in HOW:
                held = np.mean([of[how].low <= middle <= of[how].high for of, middle in kept])
                width = np.median([of[how].high - of[how].low for of, _ in kept]) / 2
                print(f"| {title} | {least} | {len(kept)} | {how} | {held:.1%} | {width:.1%} |")


TWO_ROWS = "two rows, by processes alone"
HOW = (TWO_ROWS, "two rows, as shown", "process by process")


def _ratios(
    run: Measured, pairs: Sequence[tuple[int, int]]
) -> list[tuple[dict[str, Interval], int]]:
    """Logarithms of ratios of two rows, in three ways, and number of processes that both have."""
    rows = [[one.logarithm() for one in row] for row in intervals(run)]
    found = []
    for below, above in pairs:
        (alone, shown), (other, other_shown) = rows[above], rows[below]
        logs, others = run.rows[above].logs, run.rows[below].logs
        apart = [logs[number] - others[number] for number in logs if number in others]
        ways = (alone.minus(other), shown.minus(other_shown), location(apart))
        found.append((dict(zip(HOW, ways, strict=True)), len(apart)))
    return found


def changes() -> None:
    """Prints how often ``compare`` finds planted changes of host and link."""
    for host, link in ((1.0, 1.0), (1.1, 1.0), (1.1, 1.03), (1.1, 1.05), (1.1, 1.1)):
        found = other = explained = 0
        for seed in range(PAIRS):
            base, new = planted(seed, host=host, link=link)
            result = compare(Side("a", [base]), Side("b", [new]))
            of_link = {one.key for one in result.link}
            slower = result.of("slower")
            found += any(one.key in of_link for one in slower)
            other += any(one.key not in of_link for one in slower)
            explained += bool(result.explained) and not slower
        print(f"Host x{host}, link x{link}: link slower in {found} of {PAIRS}, other series in "
              f"{other}, host alone in {explained}")  # fmt: skip


def files(paths: list[Path]) -> None:
    """Prints coverage for run files of repetitions, and pairs of runs that seem to differ.

    It judges only points that several processes measured in each run.
    """
    runs = [run_file.load(path) for path in paths]
    alone, model = [], []
    for run in runs:
        rows = summarise(run)
        measured = [one for one in run.points if len(one.reruns) > 1]
        alone.append({key_of(one): estimate(one.reruns)[:3] for one in measured})
        kept = rows[(rows["clock"] == "host") & rows["samples"].gt(0)]
        shown = kept[["median_s", "ci_low_s", "ci_high_s"]].rows()
        points = (key_of(one) for one in run.points if one.reruns)
        found = dict(zip(points, shown, strict=True))
        model.append({key: found[key] for key in alone[-1]})
    common = [key for key in alone[0] if all(key in one for one in alone)]
    for title, table in (("by processes alone", alone), ("with the model", model)):
        values = np.array([[one[key] for key in common] for one in table], dtype=np.float64)
        middle = np.median(values[..., 0], axis=0)
        held = (values[..., 1] <= middle) & (middle <= values[..., 2])
        width = np.median(np.log(values[..., 2] / values[..., 1])) / 2
        print(f"{title}: {held.sum()} of {held.size} hold the grand median ({held.mean():.1%}), "
              f"median half-width {width:.1%}")  # fmt: skip
    for as_measured in (True, False):
        differ = [_differ(a, b, as_measured=as_measured) for a, b in combinations(runs, 2)]
        how = "as measured" if as_measured else "host taken off"
        print(f"{how}: {sum(differ)} of {len(differ)} pairs have a difference")


def _differ(base: Run, new: Run, *, as_measured: bool) -> bool:
    """Whether ``compare`` finds any series slower or faster, with no allowance for guests."""
    bare = [
        msgspec.structs.replace(run, environment={**run.environment, "virtualised": False})
        for run in (base, new)
    ]
    result = compare(Side("a", bare[:1]), Side("b", bare[1:]), as_measured=as_measured)
    return bool(result.of("slower") or result.of("faster"))


def main() -> None:
    """Prints the tables for simulated and stored runs, or for the run files in the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="run files of repetitions")
    parser.add_argument("--runs", type=int, default=300, help="simulated runs of each state")
    arguments = parser.parse_args()
    if arguments.files:
        files(arguments.files)
        return
    simulated(arguments.runs)
    repetitions()
    ratios()
    changes()


if __name__ == "__main__":
    main()
