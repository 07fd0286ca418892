"""Advice on how to move data: which way, how certain, and what it says where it does not know."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Command
from isthmus.analysis.advice import Curve, Way, Ways
from isthmus.analysis.summary import summarise
from isthmus.errors import UsageError
from isthmus.results import run_file
from isthmus.results.run_file import Point
from isthmus.statistics import Interval, exact
from isthmus.units import parse_seconds
from synthetic import Law, point, run

SIZES = [4**i for i in range(14)]
KINDS = {"null:a": ["pageable", "aligned", "pinned"]}
PLAIN, PINNED = Way("null:a", "copy", "pageable", 1), Way("null:a", "copy", "pinned", 1)
SLOW, FAST = Law(5e-6, 5e9), Law(10e-6, 25e9)
"""Plain memory starts sooner, pinned memory goes on faster: equal at 31 KiB."""


def points(
    laws: Mapping[tuple[str, int], Law],
    sizes: Sequence[int] = SIZES,
    *,
    noise: float = 0.0,
    processes: int = 12,
    seed: int = 1,
    operation: str = "write",
    **changes: Any,
) -> list[Point]:
    """Points of ways, by kind of memory and depth; the law is that of all bytes together."""
    random = np.random.default_rng(seed)
    return [
        point(
            "null:a", operation, size,
            [[law(size * depth) * math.exp(noise * random.standard_normal())] * 3
             for _ in range(processes)],
            memory=memory, axes={"depth": depth, "bank": 0}, **changes,
        )
        for (memory, depth), law in laws.items()
        for size in sizes
    ]  # fmt: skip


def ways(of: Sequence[Point], direction: str = "h2d", once: int = 0) -> Ways:
    return Ways.of(summarise(run(of)), direction, KINDS, once=once)


def test_each_device_has_its_own_first_bank() -> None:
    """A card whose design uses memory 32 alone is no worse for another card's memory 0."""
    here = points({("pageable", 1): SLOW})
    there = [
        msgspec.structs.replace(one, device="null:b", axes={"depth": 1, "bank": bank})
        for one in points({("pageable", 1): FAST})
        for bank in (32, 33)
    ]
    every = Ways.of(summarise(run([*here, *there])), "h2d", {**KINDS, "null:b": ["pageable"]})
    assert {way.device for way in every.curves} == {"null:a", "null:b"}
    assert every.advise(1 << 26).best.way.device == "null:b"
    maps = [
        msgspec.structs.replace(one, device=device, operation=operation, axes={"bank": bank})
        for device, bank in (("null:a", 0), ("null:b", 32))
        for operation in ("map", "unmap")
        for one in points({("pageable", 1): SLOW})
    ]
    mapped = Ways.of(summarise(run([*here, *there, *maps])), "h2d", KINDS)
    assert {way.device for way in mapped.curves if way.call == "map"} == {"null:a", "null:b"}


@pytest.mark.parametrize(("size", "best"), [(4096, PLAIN), (1 << 20, PINNED), (3_000_000, PINNED)])
def test_the_faster_way_is_advised_on_either_side(size: int, best: Way) -> None:
    found = ways(points({("pageable", 1): SLOW, ("pinned", 1): FAST}, noise=0.01)).advise(size)
    assert found.best.way == best
    law = {PLAIN: SLOW, PINNED: FAST}[best]
    assert found.best.time.low <= law(size) <= found.best.time.high
    assert found.naive
    assert found.gain
    assert found.gain.low <= SLOW(size) / law(size) <= found.gain.high


def test_the_table_changes_where_the_ways_cross() -> None:
    known = ways(points({("pageable", 1): SLOW, ("pinned", 1): FAST}))
    assert [(size, one.way) for size, one in known.crossovers()] == [(1, PLAIN), (65536, PINNED)]
    by_size = dict(known.crossovers())
    now = PLAIN
    for size in SIZES:
        now = by_size[size].way if size in by_size else now
        assert known.advise(size).best.way == now, "table and answer agree"


def test_of_ways_as_fast_the_simplest_is_advised() -> None:
    """Equal ways whose times are known well: chance does not make another one look better."""
    laws = {("pageable", 1): SLOW, ("pinned", 1): SLOW, ("pageable", 4): SLOW}
    for seed in range(20):
        found = ways(points(laws, noise=0.01, seed=seed)).advise(1 << 20)
        assert found.best.way == PLAIN
        assert len(found.alike) >= 2, "nothing is certainly slower"


def test_the_likeliest_is_advised_where_nothing_is_certain() -> None:
    """Processes that scatter by 30 %: which of two is faster is open, and the estimate decides."""
    laws = {("pageable", 1): Law(0.0, 5e9), ("pinned", 1): Law(0.0, 6e9)}
    found = ways(points(laws, noise=0.3, processes=6, seed=3)).advise(1 << 20)
    assert {one.way for one in found.alike} == {PLAIN, PINNED}
    assert found.best.way == found.fastest.way
    assert found.slower.value == 1


def test_fewer_transfers_in_flight_are_simpler_than_another_memory() -> None:
    laws = {("pageable", 1): SLOW, ("pinned", 1): FAST, ("pageable", 4): FAST}
    found = ways(points(laws)).advise(1 << 20)
    assert [one.way for one in found.alike] == [PINNED, Way("null:a", "copy", "pageable", 4)]
    deep = ways(points({("pageable", 1): SLOW, ("pageable", 4): FAST})).advise((1 << 20) + 1)
    assert deep.best.way.chunk((1 << 20) + 1) == (1 << 18) + 1, "four chunks hold all bytes"


def test_a_wanted_time_is_kept_by_the_simplest_way_that_does_it_for_certain() -> None:
    known = ways(points({("pageable", 1): SLOW, ("pinned", 1): FAST}, noise=0.01))
    size = 1 << 20
    enough = known.advise(size, wanted_s=1.2 * SLOW(size))
    assert (enough.best.way, enough.met, enough.fastest.way) == (PLAIN, "yes", PINNED)
    assert enough.slower.low > 4
    assert known.advise(size, wanted_s=0.9 * SLOW(size)).best.way == PINNED
    assert known.advise(size, wanted_s=0.5 * FAST(size)).met == "no"
    assert known.advise(size, wanted_s=known.advise(size).best.time.value).met == "unknown"


def test_sizes_beyond_what_was_measured_are_refused() -> None:
    known = ways(points({("pageable", 1): SLOW}))
    assert known.advise(SIZES[-1]).between is None
    assert known.advise(SIZES[-1] - 5).between is None, "less than one part in a thousand away"
    assert known.advise(5000).between == (4096, 16384)
    with pytest.raises(UsageError, match="256Mi is beyond what was measured: 1 to 64Mi"):
        known.advise(256 << 20)


def test_of_two_sizes_nothing_is_known_about_those_between() -> None:
    laws = {("pageable", 1): SLOW, ("pinned", 1): FAST}
    found = ways(points(laws, [1 << 16, 1 << 20])).advise(1 << 18)
    assert found.fastest.way == PINNED
    assert not found.fastest.time.known
    assert found.best.way == PINNED, "the estimate decides"
    assert found.gain
    assert not found.gain.known, "and nothing is certain"


@given(
    st.floats(-4.0, 4.0), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0), st.integers(66_000, 261_000)
)
def test_one_bend_is_within_the_interval(
    where: float, before: float, after: float, size: int
) -> None:
    """Wherever it is: between the two sizes around, or beside them."""
    bend = 17 + where

    def time(at: int) -> float:
        log = math.log2(at) - bend
        return float(2 ** ((before if log < 0 else after) * log))

    sizes = [1 << power for power in (10, 12, 14, 16, 18, 20, 22, 24)]
    figure = Curve({one: exact(time(one)) for one in sizes}).at(size)
    assert figure
    assert figure.low * (1 - 1e-9) <= time(size) <= figure.high * (1 + 1e-9)


def test_what_bends_both_curves_does_not_blur_their_ratio() -> None:
    """A cache: times jump between two sizes, and the better way stays 20 % ahead."""
    of = []
    for memory, factor in (("pageable", 1.2), ("pinned", 1.0)):
        for size in SIZES:
            time = factor * size / (20e9 if size < 1 << 20 else 5e9)
            of.append(point("null:a", "write", size, [[time] * 3] * 12, memory=memory))
    found = ways(of).advise(600_000)
    assert found.best.time.high > 2 * found.best.time.low, "the time itself is not well known"
    assert found.best.way == PINNED
    assert found.gain == pytest.approx((1.2, 1.2, 1.2, 0.95), rel=1e-4)


def test_maps_count_both_halves() -> None:
    of = points({("pageable", 1): Law(100e-6, 1e9)}, operation="read")
    of += points({("alloc_host", 1): Law(20e-6, 1e15)}, operation="map")
    of += points({("alloc_host", 1): Law(30e-6, 1e15)}, operation="unmap")
    found = ways(of, "d2h").advise(1 << 20)
    assert (found.best.way.call, found.best.way.memory) == ("map", "alloc_host")
    assert found.best.time.value == pytest.approx(50e-6, rel=1e-3)


def test_what_is_not_trusted_does_not_count() -> None:
    best = Law(1e-6, 1e12)
    good = points({("pageable", 1): SLOW})
    wrong = points({("pinned", 1): best}, rerun_changes={"verified": "false"})
    assert list(ways(good + wrong).curves) == [PLAIN]
    with pytest.raises(UsageError, match="no copy h2d of null:a was seen to arrive"):
        ways(wrong)


def test_times_of_two_clocks_are_not_compared() -> None:
    of = points({("pageable", 1): SLOW})
    of += [
        point("b", "write", size, [[FAST(size)]], rerun_changes={"clock": "simulated"})
        for size in SIZES
    ]
    with pytest.raises(UsageError, match=r"clocks host and simulated .*--device"):
        ways(of)


def allocation(memory: str, size: int, phases: Mapping[str, float], handover: str) -> list[Point]:
    axes = {"elements": size // 4, "handover": handover, "relative_offset": 0}
    return [
        point("null:a", name, size, [[seconds]] * 6, study="allocation", memory=memory, axes=axes)
        for name, seconds in phases.items()
    ]


def test_memory_that_is_used_once_has_to_be_allocated_first() -> None:
    size = 1 << 20
    moved = points({("pageable", 1): SLOW, ("pinned", 1): FAST, ("aligned", 1): FAST})
    plain = allocation("pageable", size, {"allocate": 30e-6, "populate": 200e-6}, "copy")
    pinned = allocation("pinned", size, {"allocate": 3e-3, "populate": 100e-6, "map": 3e-6}, "")
    given_away = allocation("aligned", size, {"allocate": 1e-6, "populate": 1e-6}, "user_pointer")
    assert ways(moved).advise(size).best.way.memory == "aligned"

    counted = ways(moved + plain + pinned + given_away, once=size).advise(size)
    assert counted.best.way == PLAIN
    assert counted.counted
    assert counted.best.time.value == pytest.approx(SLOW(size) + 10e-6 + 100e-6, rel=1e-3)
    assert counted.fastest.way == PLAIN
    assert counted.unknown == ["aligned"], "its runtime did not copy from it"
    dear = next(o for o in ways(moved + plain + pinned, once=size).at(size) if o.way == PINNED)
    assert dear.time.value == pytest.approx(FAST(size) + 1e-3 + 50e-6 + 1e-6, rel=1e-3)

    for without in (moved, moved + pinned):
        unknown = ways(without, once=size).advise(size)
        assert (unknown.best.way, unknown.counted) == (PLAIN, False)
        assert {"aligned", "pinned"} == set(unknown.unknown)
    elsewhere = ways(moved + plain + pinned, once=4 * size).advise(4 * size)
    assert not elsewhere.counted, "measured at another size"


def test_one_process_alone_makes_no_small_difference_certain() -> None:
    """Sizes scatter more than the samples of one process: that is its processes' scatter."""
    random = np.random.default_rng(3)
    of = [
        point("null:a", "write", size,
              [[law(size) * math.exp(0.1 * random.standard_normal())] * 30], memory=memory)
        for memory, law in (("pageable", SLOW), ("pinned", SLOW))
        for size in SIZES
    ]  # fmt: skip
    known = ways(of)
    found = [known.advise(size) for size in SIZES[1:-1]]
    assert all(one.within for one in found)
    open_ = [{PLAIN, PINNED} == {option.way for option in one.alike} for one in found]
    assert sum(open_) >= len(found) - 1


def test_intervals_of_exact_figures_are_exact() -> None:
    curve = Curve({size: Interval(float(size), size, size) for size in SIZES})
    figure = curve.at(5000)
    assert figure
    assert figure[:3] == pytest.approx((5000, 5000, 5000)), (
        "a straight line is interpolated exactly"
    )


@pytest.mark.parametrize(("text", "seconds"), [("5ms", 5e-3), ("1.5s", 1.5), ("20us", 20e-6)])
def test_times_are_read_with_their_unit(text: str, seconds: float) -> None:
    assert parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["5", "ms", "0s", "-1s", "1e3s", "5 ms"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no time above 0"):
        parse_seconds(text)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run file of two ways, in which pinned memory is five times as fast at 1 MiB."""
    laws = {("pageable", 1): SLOW, ("pinned", 1): FAST}
    path = tmp_path_factory.mktemp("runs") / "run.json"
    run_file.save(run(points(laws, noise=0.01)), path)
    return path


def test_the_answer_is_the_first_line(isthmus: Command, stored: Path) -> None:
    ended = isthmus("advise", "2Mi", str(stored))
    first, *rest = ended.stdout.splitlines()
    assert ended.returncode == 0
    assert first.startswith("2Mi to the device: pinned memory, whole, on null:a: ")
    assert "The naive way, pageable memory, whole, takes " in ended.stdout
    assert "Estimated between measured sizes 1Mi and 4Mi." in rest
    assert any(line.split()[0] == "64Ki" and "pinned" in line for line in rest if line)
    assert len(rest) < 25
    # A command stands on one line, with the folder of this checkout, which may be a long path.
    shown = [re.sub(r"\S+/isthmus(?= )", "isthmus", line) for line in rest]
    assert all(len(line) < 80 for line in shown)


def test_the_command_that_measures_has_the_deadline_as_people_write_it(
    isthmus: Command, stored: Path
) -> None:
    told = isthmus("advise", "3000000", str(stored), "--deadline", "0.15ms").stdout
    assert "--deadline 150us" in " ".join(told.split())


def test_a_missed_deadline_ends_with_3(isthmus: Command, stored: Path) -> None:
    assert isthmus("advise", "1Mi", str(stored), "--deadline", "1ms").returncode == 0
    missed = isthmus("advise", "1Mi", str(stored), "--deadline", "10us")
    assert missed.returncode == 3
    assert "no measured way keeps it" in missed.stdout.replace("\n ", "")
    assert isthmus("advise", "1Mi", str(stored), "--rate", "4").returncode == 0
    assert isthmus("advise", "1Mi", str(stored), "--rate", "400").returncode == 3


def test_json_has_the_same(isthmus: Command, stored: Path) -> None:
    data = json.loads(isthmus("advise", "1Mi", str(stored), "--json").stdout)
    assert data["best"]["way"] == {
        "device": "null:a",
        "call": "copy",
        "memory": "pinned",
        "depth": 1,
    }
    assert data["best"]["api"] == "opencl"
    assert data["best"]["chunk_bytes"] == 1 << 20
    assert data["gain"]["low"] < SLOW(1 << 20) / FAST(1 << 20) < data["gain"]["high"]
    assert [one["bytes"] for one in data["crossovers"]] == [1, 65536]


def test_memory_used_once_is_said_to_be_unknown(isthmus: Command, stored: Path) -> None:
    ended = isthmus("advise", "1Mi", str(stored), "--once")
    text = " ".join(ended.stdout.split())
    assert "What the first use of memory costs was not measured for this size" in text
    command = next(line for line in ended.stdout.splitlines() if line.startswith("Measure it: "))
    assert "--elements 262144 --memory pageable,pinned" in command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["1Mi"], "name a run file, or --device"),
        (["1Mi", "RUN", "--direction", "up"], "no direction 'up'"),
        (["1Mi", "RUN", "--rate", "1", "--deadline", "1ms"], "give --rate or --deadline"),
        (["1Mi", "RUN", "--device", "b"], "no device 'b' in these runs"),
        (["1Gi", "RUN"], "1Gi is beyond what was measured"),
        (["1Mi", "RUN", "--direction", "d2h"], "no copies d2h were measured"),
        (["1Mi", "RUN", "--code"], "no code for null:a"),
    ],
)
def test_what_cannot_be_answered_is_told(
    isthmus: Command, stored: Path, arguments: list[str], said: str
) -> None:
    ended = isthmus("advise", *(str(stored) if one == "RUN" else one for one in arguments))
    assert ended.returncode == 2
    assert said in ended.stderr
    assert not ended.stdout


def test_a_device_is_measured_for_its_size(isthmus: Command) -> None:
    ended = isthmus("advise", "1000000", "--device", "card:u250", "--json", "--out", "kept.json")
    assert ended.returncode == 0, ended.stderr
    data = json.loads(ended.stdout)
    assert (data["clock"], data["between"]) == ("simulated", None)
    again = isthmus("advise", "1000000", "kept.json", "--json")
    assert json.loads(again.stdout) == data
    assert "out" not in isthmus("advise", "1000000", "kept.json").stderr


def test_a_simulated_copy_counts_what_the_api_copies_first() -> None:
    """``bo.write`` copies into its buffer before the card's own transfer, which alone is simulated.

    A run file does not know how fast the host copied: such memory is left out then.
    """
    laws = {("pageable", 1): FAST, ("pinned", 1): FAST}
    moved = [
        point("null:a", "write", size, [[law(size)]], memory=memory,
              axes={"depth": 1, "bank": 0}, rerun_changes={"clock": "simulated"})
        for (memory, _), law in laws.items() for size in SIZES[5:]
    ]  # fmt: skip
    rows, copied = summarise(run(moved)), {"null:a": {"pageable"}}
    size = SIZES[-1]
    assert Ways.of(rows, "h2d", KINDS).advise(size).best.way == PLAIN, "as it is without a copy"

    def copy(count: int) -> Interval:
        return exact(count / 6e9)

    found = Ways.of(rows, "h2d", KINDS, copied=copied, host_copy=copy).advise(size)
    assert (found.best.way, found.with_copies) == (PINNED, True)
    assert found.gain
    assert found.gain.value == pytest.approx(1 + copy(size).value / FAST(size), rel=1e-3)
    alone = Ways.of(rows, "h2d", KINDS, copied=copied).advise(size)
    assert (alone.best.way, alone.copied) == (PINNED, ["pageable"])
    with pytest.raises(UsageError, match="without the copy that the API makes first"):
        Ways.of(rows, "h2d", KINDS, copied={"null:a": {"pageable", "pinned"}})


def test_simulated_first_use_is_counted(isthmus: Command) -> None:
    ended = isthmus("advise", "1Mi", "--device", "card:u200", "--once", "--json")
    assert ended.returncode == 0, ended.stderr
    once = json.loads(ended.stdout)
    reused = json.loads(isthmus("advise", "1Mi", "--device", "card:u200", "--json").stdout)
    assert once["counted"]
    assert once["best"]["time"]["value"] > reused["best"]["time"]["value"]


def test_pocl_is_measured_and_its_program_runs(isthmus: Command, pocl: str) -> None:
    ended = isthmus("advise", "64Ki", "--device", pocl, "--budget", "10", "--out", "run.json")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("64Ki to the device: ")
    code = isthmus("advise", "64Ki", "run.json", "--code").stdout
    assert code.startswith("// 64Ki to the device: ")
    assert "int main()" in code


def test_bends_that_no_residual_beside_shows_are_mostly_within() -> None:
    """Ratios of two ways with three bends each, known at five sizes: 300 curves, seeded."""
    random = np.random.default_rng(5)
    sizes = [1 << power for power in (8, 12, 16, 20, 24)]
    held, wide = 0, []
    for _ in range(300):
        bends = np.sort(random.uniform(8, 24, 3))
        slopes = random.normal(0, 0.1, 4)

        def ratio(size: float, bends: np.ndarray = bends, slopes: np.ndarray = slopes) -> float:
            at = np.clip(math.log2(size), [8, *bends], [*bends, 24]) - [8, *bends]
            return float(2 ** (slopes @ at))

        size = int(2 ** random.uniform(8.5, 23.5))
        found = Curve({one: exact(ratio(one)) for one in sizes}, ratios=True).at(size)
        assert found
        held += found.low * (1 - 1e-9) <= ratio(size) <= found.high * (1 + 1e-9)
        wide.append(math.sqrt(found.high / found.low))
    assert held >= 0.95 * 300
    assert float(np.median(wide)) < 2
