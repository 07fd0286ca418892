"""Kinds of memory that take turns in one process: what is said of them is right often enough."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

import synthetic
from conftest import Command, slow
from isthmus import _core
from isthmus.analysis.offloads import Case, Comparison, cases, contrast
from isthmus.measure.jobs import Job
from isthmus.measure.plan import Task
from isthmus.measure.visit import reference_of
from isthmus.results import run_file
from isthmus.results.run_file import Run, Samples

ELEMENTS = 16384
KINDS = ("aligned", "offset64")
PRECISION = 0.05


def turns(seed: int, *, ratio: float, processes: int, spread: float) -> Case:
    """One kind whose processes differ by 30 %, and whose turns have a long tail to one side."""
    random = np.random.default_rng(seed)
    result = {}
    for process in range(processes):
        speed = 1e-4 * np.exp(0.3 * random.standard_normal())
        own = ratio * np.exp(spread * random.standard_normal())  # what this process makes of it
        tails = speed * (1.0 + 0.1 * random.pareto(1.5, (2, 31)))
        result[process] = own * tails[0], tails[1]
    return Case("opencl:bench", "offset64", "user_pointer", 0, ELEMENTS, {}, {}, result, {}, False)


REFERENCE = Case("opencl:bench", "aligned", "user_pointer", 0, ELEMENTS, {}, {}, {}, {}, False)


def compared(case: Case, reference: Case = REFERENCE) -> Comparison:
    return contrast(case, reference, 0.95, 0.95, PRECISION, warm=True)


@pytest.mark.parametrize("processes", [6, 12, 24])
def test_the_interval_of_the_ratio_covers_as_often_as_it_says(processes: int) -> None:
    trials = 1000
    covered = 0
    for seed in range(trials):
        relative = compared(turns(seed, ratio=1.2, processes=processes, spread=0.04)).ratio
        covered += relative.low <= 1.2 <= relative.high
    assert 0.93 <= covered / trials <= 0.98


@pytest.mark.parametrize(("ratio", "most"), [(1.0 + PRECISION, 0.05), (1.1, 0.001), (1.0, 1.0)])
def test_what_differs_is_rarely_said_not_to(ratio: float, most: float) -> None:
    trials = 400
    estimates = [
        compared(turns(seed, ratio=ratio, processes=12, spread=0.03)) for seed in range(trials)
    ]
    assert sum(one.judgement == "same" for one in estimates) / trials <= most
    if ratio == 1.0:  # and what does not is mostly told apart from what does
        assert sum(one.judgement == "same" for one in estimates) / trials >= 0.9
        assert sum(one.judgement in {"slower", "faster"} for one in estimates) / trials <= 0.01


def measured(isthmus: Command, folder: Path, device: str) -> Run:
    done = isthmus(
        "run", "allocation", "--device", device, "--elements", str(ELEMENTS), "--memory",
        ",".join(KINDS), "--reruns", "6", "--out", "run.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return run_file.load(folder / "run.json")


def test_what_offsets_cost_is_found_and_named(isthmus: Command, tmp_path: Path) -> None:
    run = measured(isthmus, tmp_path, "null:20us,offset_cost=200us")
    by_kind = {case.memory: case for case in cases(run)}
    assert not by_kind["aligned"].pairs
    assert {len(own) for own, _ in by_kind["offset64"].pairs.values()} == {63}
    estimate = compared(by_kind["offset64"], by_kind["aligned"])
    assert estimate.judgement == "slower"
    assert estimate.ratio.value > 1.5
    (row,) = synthetic.answer(run, "offsets").table.itertuples()
    assert row.memory == "offset64"
    assert 0 < row.low_delta_s <= row.delta_s


def test_every_process_of_a_kind_has_turns_with_the_reference(
    isthmus: Command, tmp_path: Path
) -> None:
    run = measured(isthmus, tmp_path, "null:20us")
    by_kind = {case.memory: case for case in cases(run)}
    assert not by_kind["aligned"].pairs
    turns_of = by_kind["offset64"].pairs
    assert len(turns_of) == 6
    assert all(own.shape == other.shape == (63,) for own, other in turns_of.values())
    assert all((own > 0).all() and (other > 0).all() for own, other in turns_of.values())
    relative = compared(by_kind["offset64"], by_kind["aligned"]).ratio
    assert 0 < relative.low <= relative.value <= relative.high


@pytest.mark.parametrize("failure", ["crash=1000", *slow("fail=1000")])
def test_a_reference_that_fails_costs_no_other_kind_its_points(
    isthmus: Command, tmp_path: Path, failure: str
) -> None:
    # 64 offloads of nine phases each stay below this call, and with a reference's they do not.
    run = measured(isthmus, tmp_path, f"null:20us,{failure}")
    assert {(point.memory, point.error) for point in run.points} == {(kind, "") for kind in KINDS}
    measured_by = {p.memory: len(p.reruns) for p in run.points if p.operation == "total"}
    assert measured_by == dict.fromkeys(KINDS, 6)
    assert not any(case.pairs for case in cases(run))


def job(memory: str, *, address: str = "host", study: str = "allocation", offset: int = 0) -> Job:
    point = synthetic.point(address, "total", 4 * ELEMENTS, [[1.0]], study=study, memory=memory)
    task = Task("offload", 4 * ELEMENTS, memory, {"relative_offset": offset}, {0: point})
    return Job(SimpleNamespace(address=address), task)  # type: ignore[arg-type]


def test_the_reference_is_a_kind_that_works() -> None:
    aligned, other = job("aligned"), job("offset64")
    strangers = [job("aligned", address="null"), job("aligned", offset=64), job("mmap")]
    jobs = [other, *strangers, aligned]
    assert reference_of(other, jobs) is aligned
    assert reference_of(aligned, jobs) is None
    assert reference_of(job("offset64", study="transfer"), jobs) is None
    aligned.skipped = "not here"
    assert reference_of(other, jobs) is None
    aligned.skipped, aligned.error = "", "worker died"
    assert reference_of(other, jobs) is None


def test_without_the_reference_beside_it_processes_are_compared(
    isthmus: Command, tmp_path: Path
) -> None:
    run = measured(isthmus, tmp_path, "null:20us")
    points = [
        msgspec.structs.replace(
            point,
            reruns=[
                msgspec.structs.replace(
                    rerun,
                    clocks={
                        "host": Samples(
                            rerun.clocks["host"].ticks, rerun.clocks["host"].seconds_per_tick
                        )
                    },
                )
                for rerun in point.reruns
            ],
        )
        for point in run.points
    ]
    bare = synthetic.run(points)
    assert not any(case.pairs for case in cases(bare))
    (row,) = synthetic.answer(bare, "offsets").table.itertuples()
    assert row.repetitions == 6
    assert 0 < row.low_ratio <= row.ratio <= row.high_ratio


def test_what_the_study_knows_and_a_device_lacks_is_left_out(
    isthmus: Command, tmp_path: Path
) -> None:
    done = isthmus("run", "allocation", "--device", "host", "--elements", "1Ki", "--memory",
                   "aligned,p2p", "--reruns", "1", "--out", "run.json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "host has no memory kind 'p2p'" in done.stderr
    assert {p.memory for p in run_file.load(tmp_path / "run.json").points} == {"aligned"}
    ended = isthmus("run", "allocation", "--device", "host", "--memory", "p2p")
    assert ended.returncode in {2, 4}
    assert "nothing to measure: host has no memory kind 'p2p'" in ended.stderr


def test_a_node_is_refused_where_there_is_no_choice(isthmus: Command, tmp_path: Path) -> None:
    nodes = _core.memory_nodes()
    done = isthmus("run", "allocation", "--device", "host", "--elements", "1Ki", "--memory",
                   "aligned,node0", "--reruns", "1", "--out", "run.json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    points = run_file.load(tmp_path / "run.json").points
    on_node = [point for point in points if point.memory == "node0"]
    if len(nodes) == 1:
        assert {point.skipped for point in on_node} == {"this machine has one NUMA node"}
    else:
        texts = {point.skipped for point in on_node}
        assert texts == {""} or "cannot be placed" in texts.pop()  # a container may forbid it
