"""Which jobs the next processes visit, and how long. Results are built; no worker is started."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from random import Random
from statistics import NormalDist, stdev
from types import SimpleNamespace

import msgspec
import pytest

import synthetic
from isthmus.analysis.summary import summarise
from isthmus.host_rows import HostRows
from isthmus.measure.jobs import (
    END_IMPRECISE_AFTER,
    OFFLOAD_LOOKS,
    Cost,
    Job,
    can_show,
    may_narrow,
    needed,
    settled,
)
from isthmus.measure.plan import Layer, Task
from isthmus.measure.rounds import Rounds, Standing, usual_budget_s
from isthmus.measure.runner import Answer, Runner
from isthmus.results.journal import PointKey, key_of
from isthmus.results.run_file import HostReading, Rerun, Settings
from isthmus.statistics import LOOKS, over_processes
from isthmus.statistics.host_state import UNKNOWN, Slow
from isthmus.studies.base import Headline
from isthmus.system.binding import Binding

SMALL = 4096
LARGE = 256 << 20


def settings(reruns: int = 0, precision: float = 0.05, *, quick: bool = False) -> Settings:
    return Settings(
        precision=precision, confidence=0.95, reruns=reruns, budget_s=60, seed=1, quick=quick,
        repetitions=reruns,
    )  # fmt: skip


def job(
    size: int = SMALL,
    operation: str = "read",
    device: str = "host",
    *,
    fresh: bool = False,
    memory: str = "aligned",
) -> Job:
    found_device = SimpleNamespace(
        address=device, description=SimpleNamespace(simulated=False), direct_memory="", like=""
    )
    point = synthetic.point(device, operation, size, [])
    return Job(found_device, Task(operation, size, memory, {}, {0: point}, fresh))  # type: ignore[arg-type]


def rounds(jobs: list[Job], of: Settings | None = None, last: Layer = Layer.REST) -> Rounds:
    return Rounds(jobs, of or settings(), last)


def at_size(size: int, says: str = "copy", layer: Layer = Layer.CURVE, device: str = "host") -> Job:
    """A job that answers a headline if its size is on the plateau."""
    one = job(size, device=device)
    task = replace(one.task, headline=Headline(says, "read"), layer=layer)
    return Job(one.device, task)


def visit(one: Job, *medians: float, noise: float = 0.0) -> None:
    """Each a process of its own, with samples that lie so far around its median."""
    for middle in medians:
        number = len(one.processes)
        samples = [middle * (1 + noise * k) for k in (-2, -1, 0, 1, 2)]
        one.add(number, {0: synthetic.rerun(number, samples)})
    one.cost = one.cost or Cost(1e-3, 1e-5)


def test_the_first_round_visits_all_and_what_is_compared_comes_together() -> None:
    jobs = [job(SMALL, f"op{n}", device) for device in ("host", "null") for n in range(8)]
    jobs += [job(SMALL, f"op{n}", "null", memory="pageable") for n in range(8)]
    chosen = rounds(jobs).next_round(60.0)
    assert sorted(map(id, chosen)) == sorted(map(id, jobs))
    operations = [one.task.operation for one in chosen]
    assert all(len(set(operations[n : n + 3])) == 1 for n in range(0, 24, 3))
    again = rounds(jobs).next_round(60.0)
    assert [id(one) for one in again] == [id(one) for one in chosen]
    assert operations != sorted(operations)


def test_the_first_round_leaves_out_what_leaves_no_time_for_the_rounds_after_it() -> None:
    jobs = [job(SMALL, f"op{n}") for n in range(10)]
    expensive = [job(LARGE, f"expensive{n}") for n in range(10)]
    chosen = rounds([*expensive, *jobs]).next_round(9.0)
    assert set(jobs) < set(chosen)
    assert 0 < len(set(expensive) & set(chosen)) < len(expensive)


def test_each_gets_six_processes_and_then_those_that_it_needs() -> None:
    steady, apart, hopeless = job(), job(SMALL, "apart"), job(SMALL, "hopeless")
    plan = rounds([steady, apart, hopeless])
    for one in (steady, apart, hopeless):
        visit(one, 1.0)
        assert needed(one, settings()) == LOOKS[0]
    visit(steady, 1.01, 1.0, 1.0, 0.99, 1.0)
    visit(apart, 1.06, 0.95, 0.95, 1.06, 1.0)
    visit(hopeless, 2.0, 0.5, 2.0, 0.5, 1.0)
    assert settled(steady, settings())
    assert needed(apart, settings()) in LOOKS
    assert needed(hopeless, settings()) == LOOKS[-1]
    plan.start_s["host"] = 1e-6  # starting a process is worth no extra visit
    assert plan.next_round(60.0) == [apart]
    visit(apart, *[1.0] * 24)
    assert settled(apart, settings())
    assert plan.next_round(60.0) == [hopeless]
    visit(hopeless, *[1.0] * 24)
    assert plan.next_round(60.0) == []


def test_a_short_run_makes_most_points_certain() -> None:
    """Processes that differ by 6 %: 60 s for 60 small and 20 large points."""
    random = Random(1)
    jobs = [job(size, f"op{n}") for size in (SMALL, SMALL, SMALL, LARGE) for n in range(20)]
    costs = {one: Cost(2e-3 + 1.5e-9 * one.task.bytes, 2e-5) for one in jobs}
    plan, now, number = rounds(jobs), 0.0, 0
    while chosen := plan.next_round(60.0 - now):
        now += plan.start_s.setdefault("host", 0.5)
        for one in chosen:
            now += costs[one].overhead_s + plan.samples(one) * costs[one].sample_s
            median = math.exp(random.gauss(0.0, 0.06))
            one.add(number, {0: synthetic.rerun(number, [median] * plan.samples(one))})
            one.learn(costs[one])
        number += 1
    small = [one for one in jobs if one.task.bytes == SMALL]
    assert sum(one.half_width(0.95) <= 0.05 for one in small) >= 0.9 * len(small)
    begun = [one for one in jobs if one.processes]
    whole = [one for one in begun if len(one.processes) >= LOOKS[0]]
    assert len(whole) >= 0.9 * len(begun), "few points are left with too few processes"
    assert len(begun) > len(small)


def test_the_number_that_is_needed_gives_the_interval_that_is_wanted() -> None:
    one = job()
    visit(one, 1.0, 1.08, 0.94, 1.05, 0.97, 1.0)
    assert over_processes(one.medians[0, "host"]).half_width > 0.05
    many = int(needed(one, settings()))
    assert half_width_of_normal(one.spread, many) <= 0.05 * 1.1
    assert half_width_of_normal(one.spread, LOOKS[LOOKS.index(many) - 1]) > 0.05


def half_width_of_normal(spread: float, processes: int) -> float:
    """Of processes whose medians lie as normal ones do, on average."""
    shares = [(n + 0.5) / processes for n in range(processes)]
    normal = [NormalDist().inv_cdf(share) for share in shares]
    return over_processes([math.exp(spread * x / stdev(normal)) for x in normal]).half_width


def test_one_outlying_process_does_not_make_a_point_hopeless() -> None:
    one = job()
    visit(one, 1.0, 1.02, 0.99, 1.01, 0.98, 1.6)
    assert one.half_width(0.95) > 0.3
    assert needed(one, settings()) == LOOKS[1]


def test_it_is_looked_at_now_and_then_only() -> None:
    one = job()
    visit(one, *[1.0] * 5)
    assert not settled(one, settings())
    visit(one, 1.0)
    assert settled(one, settings())


def test_a_number_that_was_asked_for_is_kept() -> None:
    one = job()
    visit(one, *[1.0] * 6)
    assert settled(one, settings())
    assert not settled(one, settings(reruns=7))
    visit(one, 3.0)
    assert settled(one, settings(reruns=7))


def test_offloads_need_more_processes_for_each_brings_one_repetition() -> None:
    one = job(fresh=True)
    visit(one, *[1.0] * 6)
    assert not settled(one, settings())
    assert settled(one, settings(quick=True))
    visit(one, *[1.0] * 6)
    assert len(one.processes) == OFFLOAD_LOOKS[0]
    assert settled(one, settings())


def test_a_series_of_zeros_ends_at_once() -> None:
    one = job()
    visit(one, *[0.0] * 6)
    assert settled(one, settings())


def test_what_is_judged_is_what_is_shown_on_a_coarse_clock_as_well() -> None:
    """Steps of 1 ns: what takes 5 ns is known to 10 % at best, by any number of processes."""
    short, longer, apart = job(), job(SMALL, "longer"), job(SMALL, "apart")
    visit(short, *[5e-9] * 6)
    visit(longer, *[50e-9] * 6)
    visit(apart, 4e-9, 5e-9, 6e-9, 7e-9, 5e-9, 4e-9)
    for one in (short, longer, apart):
        point = msgspec.structs.replace(
            one.task.points[0],
            reruns=[synthetic.rerun(n, [s] * 5) for n, s in enumerate(one.medians[0, "host"])],
        )
        (row,) = summarise(synthetic.run([point])).to_pandas().itertuples()
        shown = max(row.ci_high_s - row.median_s, row.median_s - row.ci_low_s) / row.median_s
        assert one.half_width(0.95) == pytest.approx(shown)
        assert row.converged == (one.half_width(0.95) <= synthetic.run([point]).settings.precision)
    assert [round(one.half_width(0.95), 3) for one in (short, longer)] == [0.1, 0.01]
    assert [settled(one, settings()) for one in (short, longer, apart)] == [True, True, False]


def state(half_width: float, *jobs: Job) -> None:
    """What the host's state adds to these jobs."""
    slow = {key_of(one.task.points[0]): Slow(half_width, (), 0.0) for one in jobs}
    for one in jobs:
        one.use_state(slow)


def test_a_job_is_done_where_its_shown_interval_is_precise() -> None:
    """The host's state is in the interval that decides; what it keeps open comes last."""
    steady, followed, hopeless = job(), job(SMALL, "followed"), job(SMALL, "hopeless")
    jobs = [steady, followed, hopeless]
    for one in jobs:
        visit(one, 1.0, 1.02, 0.98, 1.01, 0.99, 1.0)
    assert all(settled(one, settings()) for one in jobs)
    state(0.01, steady)
    state(0.045, followed)
    state(0.06, hopeless)
    assert [settled(one, settings()) for one in jobs] == [True, False, False]
    assert needed(followed, settings()) < LOOKS[-1]
    assert needed(hopeless, settings()) == LOOKS[-1]
    for one in jobs:
        shown = one.shown(0.95)
        assert shown
        assert shown.half_width == pytest.approx(one.half_width(0.95))
        assert one.own_half_width(0.95) < 0.021
    fresh = job(SMALL, "fresh")
    plan = rounds([*jobs, fresh])
    plan.start_s["host"] = 1e-6  # starting a process is worth no extra visit
    assert set(plan.next_round(60.0)) == {fresh, followed}
    visit(fresh, *[1.0] * LOOKS[0])
    visit(followed, *[1.0] * (LOOKS[-1] - LOOKS[0]))
    assert plan.next_round(60.0) == [hopeless], "the time that is left is spread over the run"
    hopeless.open_ended = True
    visit(hopeless, *[1.0] * (END_IMPRECISE_AFTER - LOOKS[0]))
    assert plan.next_round(60.0) == [], "a run without a time limit gives it up"


def host_varies(number: int, seconds: float) -> Rerun:
    """A process with a reading; the host is slower by a tenth in every third one."""
    slower = 1 + 0.1 * (number % 3 == 0)
    reading = HostReading(float(number), 2e-7 * slower, 4e-4 * slower, 7e-6)
    return msgspec.structs.replace(
        synthetic.rerun(number, [seconds * slower] * 5), at_s=float(number), host_speed=[reading]
    )


def test_the_runner_judges_by_the_summary_s_interval() -> None:
    """Results with readings: each job's interval is that of the summary of the same results."""
    jobs = [job(SMALL << n, f"op{n}") for n in range(6)]
    rows = HostRows[PointKey](0.95)
    plan = Rounds(jobs, settings(), Layer.REST, rows)
    points = []
    for place, one in enumerate(jobs):
        reruns = [host_varies(n, 1e-3 * (1 + place + 0.01 * (n * place % 5))) for n in range(9)]
        points.append(msgspec.structs.replace(one.task.points[0], reruns=reruns))
        for n, rerun in enumerate(reruns):
            one.add(n, {0: rerun})
            one.cost = Cost(1e-3, 1e-5)
            rows.add(key_of(one.task.points[0]), one.task.points[0], rerun)
    alone = [one.half_width(0.95) for one in jobs]
    plan.next_round(60.0)
    shown = summarise(synthetic.run(points))
    for one, before, row in zip(jobs, alone, shown.itertuples(), strict=True):
        width = max(row.ci_high_s - row.median_s, row.median_s - row.ci_low_s) / row.median_s
        assert one.half_width(0.95) == pytest.approx(width, rel=1e-6)
        assert one.half_width(0.95) >= before
        assert row.state_share > 0


def test_a_resumed_run_judges_by_the_host_s_state_at_once() -> None:
    """Else its points look precise, and the run says that nothing is left."""
    one, rows = job(), HostRows[PointKey](0.95)
    for n in range(LOOKS[0]):
        rerun = host_varies(n, 1e-3)
        one.add(n, {0: rerun})
        rows.add(key_of(one.task.points[0]), one.task.points[0], rerun)
    alone = one.half_width(0.95)
    of = settings(precision=1.001 * alone)
    assert settled(one, of)
    plan = Rounds([one], of, Layer.REST, rows)
    assert one.half_width(0.95) > of.precision
    assert plan.unfinished == [one]


def test_samples_take_as_long_as_what_is_beside_them() -> None:
    cheap, expensive, costliest = job(), job(LARGE), job(LARGE, "costliest")
    cheap.cost, expensive.cost, costliest.cost = Cost(2e-3, 1e-5), Cost(1.0, 2e-3), Cost(0.1, 1.0)
    plan = rounds([cheap, expensive, costliest])
    assert plan.samples(cheap) == 200
    assert plan.samples(expensive) == 25  # 50 ms
    assert plan.samples(costliest) == 5
    plan.start_s["host"] = 0.03
    plan.next_round(60.0)
    assert plan.samples(cheap) == 1000  # a third of the start is its own
    assert plan.samples(costliest) == 5


def test_the_time_that_is_left_counts_the_start_on_each_device() -> None:
    """The devices of a round open one after another."""
    plan = rounds([job(device="cuda:0"), job(device="cuda:1")])
    plan.start_s.update({"cuda:0": 1.0, "cuda:1": 1.0})
    assert plan.standing(60.0).left_s > 2 * LOOKS[0]


def test_nothing_begins_that_would_have_no_time_after_its_start() -> None:
    plan = rounds([job()])
    plan.start_s["host"] = 2.0
    assert plan.next_round(1.0) == []
    assert plan.next_round(0.0) == []


@pytest.mark.parametrize("quick", [True, False])
def test_a_run_without_a_budget_gets_what_its_points_usually_need(quick: bool) -> None:
    small, large = [job()], [job(), job(LARGE)]
    of = settings(quick=quick)
    assert usual_budget_s(small, of) < usual_budget_s(large, of)
    more = usual_budget_s([job(fresh=True)], settings()), usual_budget_s([job(fresh=True)], of)
    assert more[0] >= more[1]


@pytest.mark.parametrize("apart", [1.05, 1.25])
def test_what_processes_cannot_give_is_said_with_a_cure_that_works(apart: float) -> None:
    messages: list[str] = []
    wide, once = job(), job(SMALL, "once")
    visit(wide, 1e-3, apart * 1e-3)
    visit(once, 1e-3)
    once.processes.add(1)  # a process that brought no sample: there is no interval
    watcher = SimpleNamespace(say=messages.append)
    runner = Runner(  # type: ignore[arg-type]
        [wide, once], settings(), Binding(), watcher, messages.append
    )
    runner.run(until=0.0)
    (message,) = messages
    width = wide.half_width(0.95)
    assert message.startswith("1 of 2 points can be certain to ")
    assert "the same measurement differs by" in message
    advised = re.search(r"--precision ([\d.]+)", message)
    assert (advised is not None) == (width < 1)
    assert advised is None or width <= float(advised[1]) < 1
    assert advised or "--budget" in message


class Noted:
    """A watcher that keeps its messages and answers."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.answers: list[Answer] = []

    def visiting(self, label: str, standing: Standing) -> None:
        pass

    def answered(self, answer: Answer) -> None:
        self.answers.append(answer)

    def say(self, message: str) -> None:
        self.messages.append(message)


@pytest.mark.parametrize(("slow", "lines"), [(1.0, [8]), (1.02, [8]), (2.0, [7, 1])])
def test_alike_devices_are_answered_together_and_one_that_differs_is_named(
    slow: float, lines: list[int]
) -> None:
    jobs = [at_size(SMALL, layer=Layer.HEADLINES, device=f"cuda:{n}") for n in range(9)]
    for one in jobs[1:]:
        one.device.like = "cuda:0"
    noted = Noted()
    runner = Runner(jobs, settings(quick=True), Binding(), noted, lambda _: None)
    visit(jobs[0], 1e-3, 1e-3, 1e-3)
    for one in jobs[1:]:
        visit(one, *[slow * 1e-3 if one is jobs[5] else 1e-3] * 2)
    runner.run(until=0.0)
    own, *others = noted.answers
    assert own.devices == ["cuda:0"]
    assert [len(one.devices) for one in others] == lines
    assert len(lines) == 1 or others[1].devices == ["cuda:5"]


def test_an_error_of_many_devices_is_said_once_and_counted() -> None:
    noted = Noted()
    jobs = [job(device=f"cuda:{n}") for n in range(8)]
    runner = Runner(jobs, settings(), Binding(), noted, lambda _: None)
    for one in jobs:
        runner._fail(one, "CUDA_ERROR (801)")
    runner.run(until=0.0)
    assert noted.messages == [
        "cuda:0 read 4Ki: CUDA_ERROR (801)", "read: 7 further points: CUDA_ERROR (801)",
    ]  # fmt: skip


def test_where_time_is_short_each_study_gets_its_share() -> None:
    """Offloads cost a hundred times what copies do; both are in the first round all the same."""
    copies = [job(SMALL << n % 8, f"op{n}") for n in range(40)]
    offloads = [job(SMALL, "offload", memory=f"kind{n}", fresh=True) for n in range(4)]
    for one in offloads:
        point = msgspec.structs.replace(one.task.points[0], study="allocation")
        one.task = replace(one.task, points={0: point})
        one.learn(Cost(1.0, 0.0))
    plan = rounds([*copies, *offloads], settings(3))
    whole = sum(map(plan.visit_s, copies)) + sum(map(plan.visit_s, offloads))
    chosen = plan.next_round(3 * whole * 0.7)
    assert 0 < len(set(chosen) & set(offloads)) < len(offloads)
    assert 0 < len(set(chosen) & set(copies)) < len(copies)


def test_processes_of_a_curve_are_spread_over_the_run_where_there_is_time() -> None:
    """With time for all points each round visits all; with little, few points become whole."""
    jobs = [job(LARGE, f"op{n}") for n in range(20)]
    plan = rounds(jobs)
    plan.start_s["host"] = 0.1
    for one in jobs:
        one.cost = Cost(0.2, 1e-3)
    for _ in range(LOOKS[0]):
        assert set(plan.next_round(120.0)) == set(jobs)
        for one in jobs:
            visit(one, 1.0)
    assert plan.next_round(120.0) == []
    others = [job(LARGE, f"op{n}") for n in range(20)]
    for one in others:
        one.cost = Cost(0.2, 1e-3)
    assert 0 < len(rounds(others).next_round(20.0)) < len(others)


def test_headlines_come_first_and_the_curve_waits_until_they_are_precise() -> None:
    head, curve = job(), job(SMALL, "other")
    head.layer = Layer.HEADLINES
    plan = rounds([curve, head])
    for _ in range(LOOKS[0]):
        assert plan.next_round(60.0) == [head]
        visit(head, 1.0)
    assert plan.next_round(60.0) == [curve]


def test_a_headline_that_cannot_become_precise_has_its_share_of_the_time() -> None:
    head, curve = job(), job(SMALL, "other")
    head.layer = Layer.HEADLINES
    visit(head, 2.0, 0.5, 2.0, 0.5, 1.0, 1.5)
    plan = rounds([head, curve])
    assert plan.next_round(40.0) == [head], "six processes are not the last word"
    assert plan.next_round(20.0) == [curve]
    visit(curve, *[1.0] * LOOKS[0])
    assert plan.next_round(60.0) == [head], "the time that is left narrows the interval"
    head.open_ended = True
    visit(head, *[2.0, 0.5] * (END_IMPRECISE_AFTER // 2))
    assert plan.next_round(60.0) == [], "a run without a time limit gives it up"


def test_time_that_makes_nothing_precise_goes_to_the_points_with_the_fewest_processes() -> None:
    head, curve = job(), job(SMALL, "other")
    head.layer = Layer.HEADLINES
    visit(head, *[2.0, 0.5] * 6)
    visit(curve, *[2.0, 0.5] * 3)
    plan = rounds([head, curve])
    for _ in range(6):
        assert plan.next_round(20.0) == [curve]
        visit(curve, 2.0 if len(curve.processes) % 2 == 0 else 0.5)
    assert set(plan.next_round(20.0)) == {head, curve}


def test_a_quick_run_leaves_time_for_the_curve() -> None:
    head, curve = job(), job(SMALL, "other")
    head.layer = Layer.HEADLINES
    visit(head, 1.0, 1.03)
    head.cost = Cost(0.1, 0.01)
    quick = settings(quick=True)
    assert rounds([head, curve], quick).next_round(10.0) == [head], "an interval needs a third"
    visit(head, 0.97)
    assert rounds([head, curve], quick).next_round(50.0) == [head]
    assert rounds([head, curve], quick).next_round(10.0) == [curve]
    head.cost = Cost(1e-3, 1e-5)
    both = rounds([head, curve], quick).next_round(10.0)
    assert {*both} == {head, curve}, "a short visit is made beside the curve"


def test_the_first_device_answers_first_and_offloads_come_last() -> None:
    first, second = (job(SMALL, "read", device) for device in ("cuda:0", "cuda:1"))
    ordinary = job(SMALL, "read", "cuda:0", memory="pageable")
    for one in (first, second, ordinary):
        one.device.direct_memory = "pinned"
    offload = job(SMALL, "total", "cuda:0", fresh=True)
    jobs = [offload, ordinary, first, second]
    for one in jobs:
        one.layer = Layer.HEADLINES
    plan = rounds(jobs, settings(quick=True))
    first.task = replace(first.task, memory="pinned")
    second.task = replace(second.task, memory="pinned")
    order = []
    while chosen := plan.next_round(60.0):
        order.append(set(chosen))
        for one in chosen:
            visit(one, 1.0)
    assert order == [{first}] * 3 + [{second, ordinary}] * 3 + [{offload}] * 3


@pytest.mark.parametrize(
    ("rates", "chosen", "plateau"),
    [
        ((16.7, 19.05, 19.75, 19.94, 19.98), 3, True),
        ((10.0, 20.0, 20.0, 20.1, 20.1), 4, True),  # 16 and 64 MiB have too much start-up time
        ((10.0, 20.0, 15.0, 9.0, 9.05), 4, True),  # a cache holds the first two sizes
        ((1.0, 2.0, 4.0, 8.0, 16.0), 4, False),
    ],
)
def test_the_headline_is_at_the_size_from_which_the_rate_stays(
    rates: tuple[float, ...], chosen: int, plateau: bool
) -> None:
    jobs = [at_size((1 << 20) << 2 * n) for n in range(5)]
    plan = rounds(jobs)
    (first,) = plan.next_round(60.0)
    assert first is jobs[0]
    queue, visited = [first], []
    while queue:
        one = queue.pop()
        visited.append(one)
        visit(one, one.task.bytes / rates[jobs.index(one)] / 1e9)
        queue += plan.advance_search(one)
    assert visited == jobs[: chosen + 1]
    assert [one.layer for one in jobs].count(Layer.HEADLINES) == 1
    assert jobs[chosen].layer == Layer.HEADLINES
    assert jobs[chosen].plateau is plateau


def test_an_alike_device_is_measured_at_the_size_that_was_found_for_the_first() -> None:
    sizes = [(1 << 20) << 2 * n for n in range(5)]
    first = [at_size(size, device="cuda:0") for size in sizes]
    like = [at_size(size, device="cuda:1") for size in sizes]
    for one in like:
        one.device.like = "cuda:0"
    plan = rounds([*like, *first])
    assert plan.next_round(60.0) == first[:1]
    for one, rate in zip(first, (16.7, 19.05, 19.75, 19.94), strict=False):
        assert plan.due_layer(one) == Layer.HEADLINES
        visit(one, one.task.bytes / rate)
        plan.advance_search(one)
    visit(first[3], *[first[3].task.bytes / 19.94] * (LOOKS[0] - 1))
    assert plan.next_round(60.0) == [like[3]]
    visit(like[3], like[3].task.bytes / 20.0)
    assert plan.advance_search(like[3]) == []
    assert (like[3].layer, like[3].plateau) == (Layer.HEADLINES, True)


def test_a_first_look_at_a_size_is_as_urgent_as_a_headline() -> None:
    steps = [at_size((1 << 20) << 2 * n, layer=Layer.REST) for n in range(3)]
    assert [rounds(steps).due_layer(one) for one in steps] == [
        Layer.HEADLINES,
        Layer.REST,
        Layer.REST,
    ]


def test_an_answer_is_shown_at_the_first_look_and_measured_on() -> None:
    one = job()
    one.layer = Layer.HEADLINES
    of = settings(quick=True, precision=0.1)
    visit(one, 1.0, 1.01)
    assert not can_show(one, of)
    visit(one, 0.99)
    assert can_show(one, of)
    assert not settled(one, of)
    wide = job()
    wide.layer = Layer.HEADLINES
    visit(wide, 1.0, 1.1, 0.9)
    assert not can_show(wide, of)
    visit(wide, 1.0, 1.1, 0.9)
    assert can_show(wide, of), "the interval of six processes is shown as it is"
    assert may_narrow(wide, of), "and so far only"


def test_no_answer_is_certain_before_the_host_s_state_is_known() -> None:
    """Three processes agree. What the screen shows last decides, with the host's state."""
    head, curve = at_size(SMALL, layer=Layer.HEADLINES), job(LARGE, "other")
    quick, noted = settings(quick=True, precision=0.1), Noted()
    visit(head, 1.0, 1.001, 0.999)
    runner = Runner([head, curve], quick, Binding(), noted, lambda _: None)
    assert settled(head, quick), "a run without references judges by the processes"
    key = key_of(head.task.points[0])
    for unknown in ({key: UNKNOWN}, {key_of(curve.task.points[0]): Slow(0.0, (), 0.0)}):
        head.use_state(unknown)
        assert not settled(head, quick)
        assert not can_show(head, quick)
        assert runner.rounds.next_round(50.0) == [head]
    state(0.001, head)
    assert settled(head, quick)
    runner._answer(head)
    state(0.12, head)
    assert runner.rounds.next_round(50.0) == [head], "it is measured on, before the curve"
    state(0.001, head)
    visit(head, 1.0, 1.0, 1.0)
    runner._answer(head)  # the user has read that
    state(0.12, head)
    runner.run(until=0.0)
    widths = [one.seconds[0].half_width for one in noted.answers]
    assert [one.certainty for one in noted.answers] == ["precise", "host"]
    assert widths == [pytest.approx(0.003, abs=0.002), pytest.approx(0.127, abs=0.01)], (
        "the last line is what the screen shows"
    )


def test_two_readings_do_not_tell_the_host_s_state() -> None:
    rows = HostRows[str](0.95)
    for number in range(4):
        rerun = host_varies(number, 1e-3)
        if number > 1:
            rerun = msgspec.structs.replace(rerun, host_speed=[])
        rows.add("row", synthetic.point("host", "read", SMALL, []), rerun)
    assert rows.slow() == {"row": UNKNOWN}


@pytest.mark.parametrize(("apart", "goes_on"), [(0.2, True), (0.9, False)])
def test_a_headline_beyond_its_share_of_the_precision_goes_on_to_the_precision(
    apart: float, goes_on: bool
) -> None:
    head, curve = at_size(SMALL, layer=Layer.HEADLINES), job(SMALL, "other")
    visit(head, *[math.exp(apart * k) for k in (-1, 0, 1)] * 2)
    quick = settings(quick=True, precision=0.1)
    assert may_narrow(head, quick) == goes_on
    reachable = at_size(LARGE, layer=Layer.HEADLINES)
    visit(reachable, 1.0, 1.1, 0.9)
    chosen = rounds([head, reachable, curve], quick).next_round(50.0)
    assert set(chosen) == ({head, reachable} if goes_on else {reachable})
    noted = Noted()
    runner = Runner([head, curve], quick, Binding(), noted, lambda _: None)
    runner.run(until=0.0)
    visit(head, *[1.0] * 24)
    for _ in range(2):
        runner._answer(head)
    before = "time" if goes_on else "scatter"
    assert [one.certainty for one in noted.answers] == [before, "precise"], "it is said once more"


def test_a_headline_ends_within_the_precision_where_its_share_is_out_of_reach() -> None:
    head = job()
    head.layer = Layer.HEADLINES
    normal = [NormalDist(sigma=0.18).inv_cdf((n + 0.5) / 24) for n in range(24)]
    visit(head, *map(math.exp, normal))
    assert 0.05 < head.half_width(0.95) <= 0.1
    assert settled(head, settings(quick=True, precision=0.1))


def test_an_earlier_session_has_found_the_plateau() -> None:
    jobs = [at_size((1 << 20) << 2 * n) for n in range(4)]
    for one, rate in zip(jobs[:3], (18.0, 20.0, 20.05), strict=True):
        visit(one, *[one.task.bytes / rate / 1e9] * 2)
    plan = rounds(jobs)
    assert jobs[2].layer == Layer.HEADLINES
    assert plan.next_round(60.0) == [jobs[2]]


def test_an_earlier_session_has_ended_a_search_that_takes_too_long() -> None:
    jobs = [at_size((1 << 20) << 2 * n) for n in range(5)]
    for one, seconds in zip(jobs, (0.3, 0.6), strict=False):
        rerun = msgspec.structs.replace(synthetic.rerun(0, [seconds] * 5), measured_s=seconds)
        one.add(0, {0: rerun})
    assert rounds(jobs, settings(quick=True)).next_round(60.0) == [jobs[1]]
    assert (jobs[1].layer, jobs[1].plateau) == (Layer.HEADLINES, False)


def test_the_search_for_a_plateau_ends_before_a_copy_takes_too_long() -> None:
    jobs = [at_size((1 << 20) << 2 * n) for n in range(5)]
    plan = rounds(jobs, settings(quick=True))
    jobs[0].cost = Cost(0.3, 0.0)
    visit(jobs[0], 0.1)
    assert plan.advance_search(jobs[0]) == jobs[1:2], "the first visit loads kernels as well"
    jobs[1].cost = Cost(0.6, 0.0)
    visit(jobs[1], 0.2)
    assert plan.advance_search(jobs[1]) == [], "at four times the size, 1.8 s of 60 s"
    assert jobs[1].layer == Layer.HEADLINES
    assert jobs[1].plateau is False


def curve(times: dict[int, float], unknown: tuple[int, ...]) -> tuple[list[Job], list[Job]]:
    known = [job(size) for size in times]
    for one in known:
        visit(one, *[times[one.task.bytes]] * LOOKS[0])
    rest = [job(size) for size in unknown]
    for one in rest:
        one.layer = Layer.REST
    return known, rest


LAW = {size: 1e-5 + size / 1e10 for size in (1, 256, 65536, 1 << 24, 1 << 28)}
"""Seconds by size for a latency of 10 us, then 10 GB/s: the curve bends at 100 KB."""


def test_sizes_are_added_where_the_curve_bends_and_nowhere_else() -> None:
    known, rest = curve(LAW, (16, 4096, 1 << 18, 1 << 20, 1 << 26))
    added = rounds([*known, *rest], last=Layer.CURVE).next_round(60.0)
    assert {one.task.bytes for one in added} == {4096, 1 << 20}
    straight, between = curve({1 << n: 1e-9 * (1 << n) for n in (4, 12, 20)}, (1 << 8, 1 << 16))
    assert rounds([*straight, *between], last=Layer.CURVE).next_round(60.0) == []


@pytest.mark.parametrize("start_s", [0.0, 0.5])
def test_a_bend_on_a_later_device_of_a_kind_does_not_end_the_run(start_s: float) -> None:
    known, rest = curve(LAW, (4096, 1 << 20))
    head, other = known[-1], job(SMALL, "other")
    head.layer, other.layer = Layer.HEADLINES, Layer.REST
    for one in (*known, *rest):
        one.device.like = "cuda:0"
    plan = rounds([*known, *rest, other])
    plan.start_s["host"] = start_s
    assert set(plan.next_round(60.0)) == set(rest), "its curve is in a later layer"
    assert {one.layer for one in rest} == {Layer.FURTHER}


@pytest.mark.parametrize("start_s", [0.0, 0.5])
def test_a_bend_that_costs_too_much_leaves_the_time_to_other_points(start_s: float) -> None:
    known, rest = curve(LAW, (4096, 1 << 20))
    for one in rest:
        one.cost = Cost(100.0, 0.0)
    other = job(SMALL, "other")
    other.layer = Layer.REST
    plan = rounds([*known, *rest, other])
    plan.start_s["host"] = start_s
    assert plan.next_round(60.0) == [other]


def test_the_start_of_a_worker_counts_once_where_a_curve_bends() -> None:
    known, rest = curve(LAW, (4096, 1 << 20))
    later = job(SMALL, "later")
    later.layer = Layer.REST
    for one in (*rest, later):
        one.cost = Cost(12.0, 0.0)
    plan = rounds([*known, *rest, later])
    plan.start_s["host"] = 25.0
    chosen = plan.next_round(60.0)
    assert chosen, "35 s are left for visits of 12 s"
    assert set(chosen) <= set(rest)


def test_what_a_run_leaves_is_counted_with_the_time_it_needs() -> None:
    done, left = job(), job(SMALL, "other")
    left.layer = Layer.FURTHER
    visit(done, *[1.0] * LOOKS[0])
    plan = rounds([done, left], last=Layer.CURVE)
    assert plan.next_round(60.0) == []
    ((count, seconds),) = plan.left_out().values()
    assert count == 1
    assert seconds == pytest.approx(LOOKS[0] * plan.visit_s(left))


def test_an_early_look_needs_a_quarter_of_the_precision() -> None:
    quick = settings(quick=True, precision=0.1)
    sure, unsure = job(), job()
    for one in (sure, unsure):
        one.layer = Layer.HEADLINES
    visit(sure, 1.0, 1.001, 0.999)
    visit(unsure, 1.0, 1.01, 0.99)
    assert sure.half_width(0.95) < 0.05 / 4 < unsure.half_width(0.95) < 0.05
    assert settled(sure, quick)
    assert not settled(unsure, quick)
