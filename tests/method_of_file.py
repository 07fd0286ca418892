"""What the paragraph of ``isthmus cite`` must say, recomputed from the JSON of a run file.

Nothing here uses Isthmus' own estimates: another reader of the file would compute this.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Set
from datetime import datetime
from typing import Any

import numpy as np

STUDENT = {2: 12.7062, 3: 4.30265, 4: 3.18245, 5: 2.77645}
"""97.5 % quantile of Student's t, for numbers of processes; degrees of freedom are one less."""
GENERATIONS = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}
"""Of PCI Express, by GT/s."""
JSON = dict[str, Any]


def seconds(rerun: JSON, clock: str) -> np.ndarray:
    samples = rerun["clocks"][clock]
    taken = np.array(samples["ticks"]) * samples["seconds_per_tick"]
    if clock != "host":
        return taken
    empty: Any = rerun["intervals"] * rerun["clock"]["empty_pair_s"]
    if samples.get("empty_ticks"):
        empty = np.array(samples["empty_ticks"]) * samples["seconds_per_tick"]
    return np.maximum(taken - empty, 0) / rerun["batch"]


def rows_of(run: JSON) -> list[tuple[JSON, str, list[JSON]]]:
    """Point, clock, and the reruns with samples on it; of an emulated card its own clock."""
    cards = {device["address"] for device in run["devices"] if device.get("simulated")}
    found = []
    for point in run["points"]:
        for clock in ("host", "device", "simulated"):
            reruns = [r for r in point["reruns"] if r["clocks"].get(clock, {}).get("ticks")]
            if reruns and (point["device"] not in cards or clock == "simulated"):
                found.append((point, clock, reruns))
    return found


def half_width(medians: list[float], resolution: float) -> float:
    """Of Wilcoxon's or Student's 95 % interval of the logarithms, relative to the estimate."""
    logs = np.log(sorted(medians))
    count = len(logs)
    means = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(logs, 2))
    value = float(np.median(means))
    if count >= 6:
        sums = np.zeros(1)
        for rank in range(1, count + 1):  # all 2^count sums of signed ranks
            sums = np.concatenate([sums, sums + rank])
        shares = np.cumsum(np.bincount(sums.astype(int))) / len(sums)
        rank = int(np.searchsorted(shares, 0.025, side="right")) - 1
        low, high = means[rank], means[-1 - rank]
    else:
        width = STUDENT[count] * logs.std(ddof=1) / math.sqrt(count)
        low, high = min(logs.mean() - width, value), max(logs.mean() + width, value)
    value, low, high = (math.exp(x) if x < 700 else math.inf for x in (value, low, high))
    low, high = max(min(low, value - resolution / 2), 0), max(high, value + resolution / 2)
    return max(value - low, high - value) / value


def outer_rank(count: int, confidence: float) -> int:
    """Largest k for which the k-th smallest and largest hold the median with this probability."""
    tail, k = 0.0, 0
    while True:
        tail += math.exp(math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
                         - count * math.log(2))  # fmt: skip
        if 1 - 2 * tail < confidence or k >= count // 2:
            return k
        k += 1


def drifts(times: np.ndarray, precision: float) -> bool:
    if len(times) < 24:
        return False
    third = len(times) // 3
    first, last = np.sort(times[:third]), np.sort(times[-third:])
    k = max(outer_rank(third, 0.999), 1)
    apart = first[third - k] < last[k - 1] or last[third - k] < first[k - 1]
    moved = abs(np.median(last) - np.median(first)) > precision * np.median(times)
    return bool(apart and moved)


def resolution(rerun: JSON, clock: str) -> float:
    if clock == "host":
        return max(rerun["intervals"], 1) * rerun["clock"]["resolution_s"] / rerun["batch"]
    steps = np.diff(np.unique(seconds(rerun, clock)))
    return float(steps[steps > 0].min()) if (steps > 0).any() else 0.0


def span(values: Iterable[float], form: Any = str) -> str:
    known = list(values)
    low, high = form(min(known)), form(max(known))
    return low if low == high else f"{low} to {high}"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"


def rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def size(count: int) -> str:
    power = 0
    while count % 1024 == 0 and power < 4:
        count, power = count // 1024, power + 1
    return f"{count} {('', 'Ki', 'Mi', 'Gi', 'Ti')[power]}B"


def time(value: float) -> str:
    """With three digits, in the unit in which these are 1 to 999."""
    shown = float(f"{value:.3g}")
    scale, unit = next(((s, u) for s, u in ((1, "s"), (1e-3, "ms"), (1e-6, "us")) if shown >= s),
                       (1e-9, "ns"))  # fmt: skip
    digits = 2 - math.floor(math.log10(float(f"{value / scale:.3g}"))) if value else 0
    return f"{value / scale:.{min(max(digits, 0), 3)}f} {unit}"


def phrases(
    run: JSON, ends: dict[int, float] | None = None, of_state: Set[int] = frozenset()
) -> list[str]:
    """Every part of the paragraph that has a number, as the file has it.

    Args:
        run: The run file.
        ends: Half-widths by the row's place, of a run whose intervals include the machine's state.
        of_state: Places of the rows whose intervals include it.
    """
    return [*_about(run), *_plan(run), *_sampling(run), *_estimators(run, ends),
            *_noise(run, ends or {}, of_state), *_checks(run)]  # fmt: skip


def _about(run: JSON) -> list[str]:
    software, environment = run["software"], run["environment"]
    commit = f" (commit {software['commit'][:12]})" if software.get("commit") else ""
    found = [f"Isthmus {software['version']}{commit} on"]
    found += [environment[name] for name in ("cpu", "distribution") if environment.get(name)]
    found += [f"kernel {environment['kernel']}"] if environment.get("kernel") else []
    if bound := run["settings"].get("cpus"):
        found.append(f"bound to processors {', '.join(map(str, bound))}")
    began, took = datetime.fromisoformat(run["started"]), _took_s(run)
    load, processors = environment.get("load_average"), environment.get("logical_cpus")
    on = f" on {processors} processors" if processors else ""
    before = f" after a load average of {load[0]:.2f}{on}" if load else ""
    found.append(f"began on {began:%Y-%m-%d} at {began:%H:%M} UTC{before} and took {time(took)}.")
    linked = [_device(one) for one in run["devices"] if _link(one)]
    for one in dict.fromkeys(map(_device, run["devices"])):
        if one in linked or not linked:
            found.append(f" {one}.")
    found += [one["address"] for one in run["devices"] if re.search(r"\d", one["address"])]
    if cards := sorted(one["address"] for one in run["devices"] if one.get("simulated")):
        found.append(f"Times of {' and '.join(cards)} are those of the model's clock.")
    return found


def _device(device: JSON) -> str:
    if device.get("error"):
        return "a device that could not be measured"
    known = {**device.get("properties", {}), **device.get("link", {})}
    driver = known.get("driver_version") or known.get("driver")
    kind = "simulated by a model of the board" if device.get("simulated") else (
        "" if device["real"] else "not hardware"
    )  # fmt: skip
    parts = [device.get("name") or device["address"],
             _link(device),
             f"driver {driver}" if driver else "", device.get("platform"), kind]  # fmt: skip
    return ", ".join(filter(None, parts))


def _took_s(run: JSON) -> float:
    began, ended = (datetime.fromisoformat(run[name]) for name in ("started", "finished"))
    return float(run.get("duration_s") or (ended - began).total_seconds())


def _link(device: JSON) -> str:
    known = device.get("link", {})
    speed = known.get("path_link_speed") or known.get("max_link_speed") or ""
    lanes = known.get("path_link_width") or known.get("current_link_width")
    generation = GENERATIONS.get(speed.partition(" ")[0])
    return f"PCIe gen{generation} x{lanes}" if generation and lanes else ""


def _plan(run: JSON) -> list[str]:
    points, counted = run["points"], {id(point) for point, *_ in rows_of(run)}
    planned = f"{len(points)} planned point{'s' if len(points) > 1 else ''}"
    seed = f"(seed {run['settings']['seed']})"
    devices = len(run["devices"])
    turns = f", by turns on {devices} devices" if devices > 1 else ""
    subject = planned if len(counted) == len(points) else f"{len(counted)} of {planned}"
    were = "was" if len(counted) == 1 else "were"
    found = [f"{subject} {were} measured in random order {seed}{turns}: ", *_what(run)]
    without = [point for point in points if id(point) not in counted]
    if without:
        failed = sum(bool(point.get("error")) for point in without)
        skipped = sum(bool(point.get("skipped")) and not point.get("error") for point in without)
        why = {"failed": failed, "cannot be measured there": skipped,
               "not reached": len(without) - failed - skipped}  # fmt: skip
        reasons = ", ".join(f"{count} {reason}" for reason, count in why.items() if count)
        have = "points have" if len(without) > 1 else "point has"
        found.append(f"{len(without)} {have} no samples ({reasons}).")
    if more := sum(one["points"] for one in run.get("left_out") or ()):
        found.append(f"{more} further point{'s' if more > 1 else ''} of the studies")
    return found


def _what(run: JSON) -> list[str]:
    """Operations by direction, kinds of memory, and sizes, of what was measured."""
    counted = list({id(point): point for point, *_ in rows_of(run)}.values())
    named: dict[str, list[str]] = {}
    for point in counted:
        of = named.setdefault(point["direction"], [])
        of += [point["operation"]] if point["operation"] not in of else []
    ways = {"h2d": " (host to device)", "d2h": " (device to host)", "both": " (both directions)"}
    texts = [f"{_first(names, 3)}{ways.get(way, '')}" for way, names in named.items()]
    memories = list(dict.fromkeys(point["memory"] for point in counted if point["memory"]))
    texts += [f"memory: {_first(memories, 6)}"] if memories else []
    moving = [point["bytes"] for point in counted if point["bytes"]]
    if moving:
        ends = span([min(moving), max(moving)], size)
        texts.append(f"sizes: {ends} (rates in GB/s are 10^9 bytes a second)")
    return [f"Operations: {'; '.join(texts)}."]


def _first(names: list[str], most: int) -> str:
    shown = [*names[:most], f"{len(names) - most} more"] if len(names) > most + 1 else names
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _sampling(run: JSON) -> list[str]:
    by_point: dict[int, tuple[JSON, list[str]]] = {}
    for point, clock, _ in rows_of(run):
        by_point.setdefault(id(point), (point, []))[1].append(clock)
    each, twice = [], 0
    for point, clocks in by_point.values():
        for rerun in point["reruns"]:
            counts = [len(rerun["clocks"][c]["ticks"]) for c in clocks if c in rerun["clocks"]]
            each += [max(counts)] if counts else []
            twice += min(counts) if len(counts) > 1 else 0
    processes = [len({r["rerun"] for r in point["reruns"]}) for point, _ in by_point.values()]
    batch = [r["batch"] for point, _ in by_point.values() for r in point["reruns"]]
    word = "process" if max(processes) == 1 else "processes"
    samples = "sample" if max(each) == 1 else "samples"
    found = [f"{span(processes)} {word} with {span(each)} {samples} a process, "
             f"{sum(each)} in all."]  # fmt: skip
    if max(batch) > 1 and any(clock == "host" for _, clock, _ in rows_of(run)):
        found.append(f"; the mean of {span(batch)} repetitions.")
    if twice:
        found.append(f"timed {twice} sample")
    return found


def _estimators(run: JSON, ends: dict[int, float] | None) -> list[str]:
    settings, measured = run["settings"], rows_of(run)
    assert settings["confidence"] == 0.95
    kinds, reached, without, several = Counter[str](), 0, 0, []
    for place, (_, clock, reruns) in enumerate(measured):
        medians = [float(np.median(seconds(rerun, clock))) for rerun in reruns]
        if len(reruns) == 1:
            count = len(seconds(reruns[0], clock))
            kind = "exact" if clock == "simulated" and count == 1 else "one"
            without += kind == "one" and clock != "simulated" and 1 - 2.0 ** (1 - count) < 0.95
        else:
            several.append(len(reruns))
            kind = "zero" if min(medians) <= 0 else "ranked" if len(reruns) > 5 else "few"
            if ends is not None:
                reached += ends[place] <= settings["precision"]
            elif kind != "zero":
                step = max(resolution(rerun, clock) for rerun in reruns)
                reached += half_width(medians, step) <= settings["precision"]
        kinds[kind] += 1
    level, found = "95 %", list[str]()
    if several:
        word = "process" if max(several) == 1 else "processes"
        names = {
            "ranked": "Wilcoxon's signed ranks",
            "few": "Student's t",
            "zero": "order statistics for times of 0, whose figure is the median",
        }
        parts = [f"{name} ({kinds[kind]})" for kind, name in names.items() if kinds[kind]]
        listed = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
        have = "has" if len(several) == 1 else "have"
        figure = (
            "Hodges-Lehmann estimates over logarithms of the processes' medians "
            "(Hodges and Lehmann 1963)"
            if kinds["ranked"] + kinds["few"]
            else "medians of the processes' medians"
        )
        found += [
            f"Of {rows(len(measured))} (a point on a clock), {len(several)} {have} "
            f"{span(several)} {word}, the level of repetition (Kalibera and Jones 2013): "
            f"{figure} with {level} intervals, each row by itself, by {listed}. "
            f"{reached} reached the wanted precision of {percent(settings['precision'])}.",
        ]
    if kinds["one"]:
        less = f" ({without} lack samples for it)" if without else ""
        have = "has" if kinds["one"] == 1 else "have"
        found.append(
            f"{rows(kinds['one'])} {have} one process: the median of its samples with the {level} "
            f"interval of order statistics{less}, which does not speak for other processes."
        )
    if kinds["exact"]:
        found.append(f"Times of {rows(kinds['exact'])} are simulated")
    if on_device := sum(clock == "device" for _, clock, _ in measured):
        verb = "is" if on_device == 1 else "are"
        found.append(f"{rows(on_device)} {verb} on the device's own clock")
    return found


def _varies(reruns: list[JSON], clock: str, precision: float, shown: float | None) -> bool:
    """Whether the host's state alone keeps a row's shown interval from the precision."""
    if shown is None or len(reruns) == 1:
        return False
    medians = [float(np.median(seconds(rerun, clock))) for rerun in reruns]
    alone = half_width(medians, max(resolution(rerun, clock) for rerun in reruns))
    return alone <= precision < shown


def _noise(run: JSON, ends: dict[int, float], of_state: Set[int]) -> list[str]:
    found = []
    environment, precision = run["environment"], run["settings"]["precision"]
    processors = environment.get("logical_cpus") or 1
    if all(device.get("simulated") for device in run["devices"]):
        return found
    measured = rows_of(run)
    disturbed = sum(
        clock != "simulated"
        and (
            (
                _varies(reruns, clock, precision, ends.get(place))
                if place in of_state
                else any(drifts(seconds(rerun, clock), precision) for rerun in reruns)
            )
            or any(r["noise"]["steal_s"] > 0.01 * r["measured_s"] * processors for r in reruns)
        )
        for place, (_, clock, reruns) in enumerate(measured)
    )
    share = percent(disturbed / len(measured))
    found.append(f"disturbed {disturbed} of {rows(len(measured))} ({share}).")
    reruns = [rerun for point in run["points"] for rerun in point["reruns"]]
    stolen = sum(rerun["noise"]["steal_s"] for rerun in reruns)
    share_of_time = stolen / sum(rerun["measured_s"] for rerun in reruns) / processors
    of = "processor time"
    if {"busy_before_s", "busy_after_s"} <= environment.keys():
        busy, took = (environment[f"{name}_after_s"] - environment[f"{name}_before_s"]
                      for name in ("busy", "steal"))  # fmt: skip
        share_of_time, of = took / max(busy, took, 1e-9), "busy time"
    elif "steal_before_s" in environment:
        took = environment["steal_after_s"] - environment["steal_before_s"]
        share_of_time = took / _took_s(run) / processors
    if share_of_time >= 0.0005:
        found.append(f"A hypervisor took {percent(share_of_time)} of the {of}.")
    return found


def _checks(run: JSON) -> list[str]:
    counted = {id(point): point for point, *_ in rows_of(run)}.values()
    states = [{rerun["verified"] for rerun in point["reruns"]} for point in counted]
    right, wrong = states.count({"true"}), sum("false" in state for state in states)
    text = f"Moved data were verified in {right} point{'' if right == 1 else 's'}"
    text += f"; those of {wrong} were wrong and are left out" if wrong else ""
    rest = len(states) - right - wrong
    text += f"; in {rest} nothing could be verified" if rest else ""
    found = [f"{text}."]
    cards = {device["address"] for device in run["devices"] if device.get("simulated")}
    reruns = [r for point in counted if point["device"] not in cards for r in point["reruns"]]
    for source in {rerun["clock"]["source"] for rerun in reruns}:
        clocks = [rerun["clock"] for rerun in reruns if rerun["clock"]["source"] == source]
        found.append(
            f"{source} (resolution {span((c['resolution_s'] for c in clocks), time)}), less the "
            f"{span((c['empty_pair_s'] for c in clocks), time)} of two readings"
        )
    return found


def without(text: str, parts: Iterable[str]) -> str:
    """The text without these parts, each of which must be in it."""
    for part in parts:
        assert part in text, f"{part!r} is not in {text!r}"
        text = text.replace(part, "", 1)
    return text


def numbers_left(text: str) -> list[str]:
    """Sentences that still have a digit."""
    return [one for one in re.split(r"(?<=\.) ", text) if re.search(r"\d", one)]
