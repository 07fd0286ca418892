"""Counts how often intervals hold the true value, and how often equal things are found to differ.

Without arguments it simulates runs. Some of them draw the times of their processes from measured
processes in ``results/``. With run files it compares the processes of even number with the
processes of odd number at each point: both halves measured the same.
"""

from __future__ import annotations

import argparse
import gzip
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from scipy.special import stdtrit
from scipy.stats import binom

from isthmus import statistics
from isthmus.analysis.summary import measured_on
from isthmus.measure.jobs import EARLY_SHARE, QUICK_LOOKS
from isthmus.results.run_file import Run
from isthmus.statistics import Interval, enough, judge, over_processes, simultaneous

RECORDED = Path(__file__).parent / "results" / "2026-11-22-h100-allocation.json.gz"
COUNTS = (3, 4, 5, 6, 8, 12, 16, 30)
MOST = statistics.LOOKS[-1]
SPREAD = 0.05
SEVERAL = 12
RAMP = np.linspace(0.0, 2 * SPREAD, MOST)
Logs = Callable[[np.random.Generator, int], np.ndarray]


def student(logs: Sequence[float]) -> tuple[float, float]:
    """Ends of Student's 95 % interval of the mean."""
    count = len(logs)
    half = stdtrit(count - 1, 0.975) * np.std(logs, ddof=1) / math.sqrt(count)
    return float(np.mean(logs) - half), float(np.mean(logs) + half)


def order(logs: Sequence[float]) -> tuple[float, float]:
    """Ends of the 95 % interval by order statistics around the median.

    Too few values get Student's interval.
    """
    count = len(logs)
    rank = int(binom.ppf(0.025, count, 0.5))
    rank -= binom.cdf(rank, count, 0.5) > 0.025
    if rank < 0:
        return student(logs)
    ordered = sorted(logs)
    return ordered[rank], ordered[-1 - rank]


def signed_ranks(logs: Sequence[float]) -> tuple[float, float]:
    """Ends of Isthmus's interval, by signed ranks: ``statistics.location``."""
    estimate = statistics.location(logs)
    return estimate.low, estimate.high


def recorded() -> np.ndarray:
    """Logarithms of times of an H100's processes, less the median of their point.

    They are scaled so that each point has the spread ``SPREAD``, by its median absolute deviation.
    """
    run = msgspec.json.decode(gzip.decompress(RECORDED.read_bytes()), type=Run)
    result = []
    for point in run.points:
        seconds = [float(np.median(r.seconds("host"))) for r in measured_on(point, "host")]
        if len(seconds) >= 9 and min(seconds) > 1e-6:
            logs = np.log(seconds) - np.median(np.log(seconds))
            scale = 1.4826 * np.median(np.abs(logs))
            if scale > 0:
                result.append(SPREAD * logs / scale)
    return np.concatenate(result)


def shapes(named: str) -> dict[str, tuple[Logs, Callable[[int], float]]]:
    """Ways in which processes may differ, by name; only names that contain ``named``.

    A way is a function that draws logarithms of times, and a function that gives their true centre
    for a number of processes.
    """

    def normal(random: np.random.Generator, count: int) -> np.ndarray:
        return SPREAD * random.standard_normal(count)

    def outliers(random: np.random.Generator, count: int) -> np.ndarray:
        slow = random.random(count) < 0.1
        return normal(random, count) + slow * random.uniform(0.2, 0.7, count)

    def two_kinds(random: np.random.Generator, count: int) -> np.ndarray:
        return 0.3 * normal(random, count) + 2 * SPREAD * (random.random(count) < 0.3)

    def drift(random: np.random.Generator, count: int) -> np.ndarray:
        return normal(random, count) + RAMP[:count]

    def disturbed(random: np.random.Generator, count: int) -> np.ndarray:
        slow = random.random(count) < 0.05
        return drift(random, count) + slow * random.uniform(0.1, 0.4, count)

    pool = recorded()
    several = {
        "normal": normal,
        "heavy tails (t, 3)": lambda random, count: SPREAD * random.standard_t(3, count),
        "one in ten 20 to 100 % slower": outliers,
        "two kinds, 70 and 30 %": two_kinds,
        "drift by twice the spread": drift,
        "drift, and one in twenty 10 to 50 % slower": disturbed,
        "as recorded (H100)": lambda random, count: random.choice(pool, count),
    }
    several = {name: logs for name, logs in several.items() if named in name}
    random = np.random.default_rng(0)
    result: dict[str, Callable[[int], float]] = {}
    for name, logs in several.items():
        drifts = name.startswith("drift")
        some = [logs(random, 1)[0] for _ in range(100_000)] if drifts else logs(random, 400_000)
        middle = float(np.median(some))
        result[name] = (
            (lambda count, middle=middle: middle + float(np.mean(RAMP[:count])))
            if drifts
            else (lambda _, middle=middle: middle)
        )
    return {name: (several[name], centre) for name, centre in result.items()}


def estimators(trials: int, named: str) -> None:
    """Prints coverage and width of three kinds of intervals, by number of processes."""
    print("\n### Estimators: coverage in % / median half-width over the spread\n")
    print("| processes differ as | interval |", " | ".join(map(str, COUNTS)), "|")
    print("|---|---|" + "---|" * len(COUNTS))
    for name, (logs, centre) in shapes(named).items():
        for title, ends_of in (
            ("Student of the logarithms", student),
            ("signed ranks of the logarithms", signed_ranks),
            ("order statistics", order),
        ):
            cells = []
            for count in COUNTS:
                random = np.random.default_rng(count)
                ends = np.array([ends_of(logs(random, count).tolist()) for _ in range(trials)])
                truth = centre(count)
                held = np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
                width = np.median(ends[:, 1] - ends[:, 0]) / 2 / SPREAD
                cells.append(f"{100 * held:.1f} / {width:.2f}")
            print(f"| {name} | {title} | {' | '.join(cells)} |", flush=True)


def stopping(trials: int, named: str) -> None:
    """Prints the coverage of intervals if processes are added until the interval is narrow."""
    print("\n### Added until precise, 3 to 30: coverage in % (mean number of processes)\n")
    precisions = (3.0, 2.0, 1.0, 0.7, 0.5)
    text = " | ".join(f"precision {p:g} x spread" for p in precisions)
    print(f"| processes differ as | looks | {text} |\n|---|---|" + "---|" * len(precisions))

    def each(medians: Sequence[float], precision: float) -> bool:
        return len(medians) >= 3 and over_processes(medians).half_width <= precision

    def looked(medians: Sequence[float], precision: float) -> bool:
        return enough(len(medians), lambda: over_processes(medians).half_width, precision)

    def early(share: float) -> Callable[[Sequence[float], float], bool]:
        """Makes the stopping rule of a quick run's headlines.

        With fewer than six processes the interval must be within ``share`` of the precision.
        """

        def ends(medians: Sequence[float], precision: float) -> bool:
            wanted = precision * (share if len(medians) < statistics.LOOKS[0] else 1.0)
            half_width = over_processes(medians).half_width
            return enough(len(medians), lambda: half_width, wanted, QUICK_LOOKS)

        return ends

    for name, (logs, centre) in shapes(named).items():
        for title, ends in (
            ("after each", each),
            (f"{statistics.LOOKS}", looked),
            (f"{QUICK_LOOKS}", early(1.0)),
            (f"{QUICK_LOOKS}, {EARLY_SHARE:g} of the precision before 6", early(EARLY_SHARE)),
        ):
            cells = []
            for precision in precisions:
                random = np.random.default_rng(11)
                held, used = 0, 0
                for _ in range(trials):
                    medians = np.exp(logs(random, MOST)).tolist()
                    count = next(
                        (n for n in range(3, MOST) if ends(medians[:n], precision * SPREAD)), MOST
                    )
                    estimate = over_processes(medians[:count])
                    truth = math.exp(centre(count))
                    held += estimate.low <= truth <= estimate.high
                    used += count
                cells.append(f"{100 * held / trials:.1f} ({used / trials:.1f})")
            print(f"| {name} | {title} | {' | '.join(cells)} |", flush=True)


def comparisons(trials: int, named: str) -> None:
    """Prints how often ratios of equal times, formed process by process, seem to differ from 1."""
    print(f"\n### Ratios, alone and {SEVERAL} at once, 12 processes, nothing differs\n")
    print("| processes differ as | ratio holds 1, % | of several each holds 1 (corrected), % "
          "| runs with any difference told, % |\n|---|---|---|---|")  # fmt: skip
    level = simultaneous(0.95, SEVERAL)
    for name, (logs, _) in shapes(named).items():
        random = np.random.default_rng(13)
        single_holds, all_hold, alarms = 0, 0, 0
        for _ in range(trials):
            machine = 0.3 * random.standard_normal(12)  # part by which each process slows both
            result: list[Interval] = []
            for _ in range(SEVERAL):
                one, other = (np.exp(machine + logs(random, 12)) for _ in range(2))
                result.append(over_processes((one / other).tolist(), level))
            single = over_processes((one / other).tolist())
            single_holds += single.low <= 1 <= single.high
            all_hold += all(ratio.low <= 1 <= ratio.high for ratio in result)
            alarms += any(judge(ratio, 0.02) in {"slower", "faster"} for ratio in result)
        shares = (f"{100 * count / trials:.1f}" for count in (single_holds, all_hold, alarms))
        print(f"| {name} | {' | '.join(shares)} |", flush=True)


def halves(run: Run) -> Iterator[list[float]]:
    """Yields for each point: ratios of neighbouring processes' times, even number over odd."""
    for point in run.points:
        measured = sorted(measured_on(point, "host"), key=lambda rerun: rerun.rerun)
        seconds = [float(np.median(rerun.seconds("host"))) for rerun in measured]
        if len(seconds) >= 6 and min(seconds) > max(r.resolution_s("host") for r in measured):
            turns = zip(seconds[::2], seconds[1::2], strict=False)
            yield [a / b if i % 2 else b / a for i, (a, b) in enumerate(turns)]


def itself(path: Path, trials: int) -> None:
    """Prints how often pairs of processes in a recorded run seem to differ.

    In each trial but the first, chance decides which process of a pair is the numerator.
    """
    data = path.read_bytes()
    run = msgspec.json.decode(gzip.decompress(data) if path.suffix == ".gz" else data, type=Run)
    points = list(halves(run))
    level = simultaneous(0.95, len(points))
    random = np.random.default_rng(17)
    single, after = [], 0
    for trial in range(trials):
        # Trial 0 has the recorded ratios. Later trials invert each ratio or not, by chance, since
        # both processes of a pair measured the same.
        turned = [
            [r if trial == 0 or random.random() < 0.5 else 1 / r for r in ratios]
            for ratios in points
        ]
        smallest = statistics.relevant(run.settings.precision)
        estimates = [over_processes(ratios) for ratios in turned]
        single.append(np.mean([not one.low <= 1 <= one.high for one in estimates]))
        after += any(
            judge(over_processes(ratios, level), smallest) in {"slower", "faster"}
            for ratios in turned
        )
        if trial == 0:
            recorded_after = after
    print(
        f"| {' '.join(run.software.command[1:])} | {len(points)} | "
        f"{np.median([len(ratios) for ratios in points]):.0f} | {100 * single[0]:.1f} | "
        f"{100 * np.mean(single):.1f} | {'yes' if recorded_after else 'no'} | "
        f"{100 * after / trials:.1f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path, help="run files of 12 or more processes")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--part", choices=["estimators", "stopping", "comparisons"])
    parser.add_argument("--shape", default="", help="what is in the name of how processes differ")
    chosen = parser.parse_args()
    if chosen.runs:
        print("| run | points | pairs of processes | points called different, uncorrected, "
              "% | the same, pairs turned by chance, % | any told, corrected | runs with "
              "any told, turned by chance, % |\n|---|---|---|---|---|---|---|")  # fmt: skip
        for path in chosen.runs:
            itself(path, chosen.trials)
        return
    for part in (estimators, stopping, comparisons):
        if chosen.part in {None, part.__name__}:
            part(chosen.trials, chosen.shape)


if __name__ == "__main__":
    main()
