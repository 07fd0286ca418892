"""The study ``allocation``: phases that add up, right sums, right signs, and no false alarm."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest

import synthetic
from conftest import Command, slow
from isthmus.analysis.context import answers
from isthmus.analysis.findings import findings
from isthmus.analysis.summary import summarise
from isthmus.answers import Answer
from isthmus.results import run_file
from isthmus.results.noise import Noise
from isthmus.results.run_file import Run, Samples
from isthmus.studies.allocation import ACCELERATOR, OPERATIONS

ELEMENTS = 6 << 20
SMALL = ("--axis", "elements=64Ki", "--axis", "memory=aligned,pageable,offset1")


def measured(isthmus: Command, folder: Path, *arguments: str) -> Run:
    # A fixed number of processes ends by itself: a busy machine must not leave any out.
    ample = ("--budget", "600") if "--reruns" in arguments and "--budget" not in arguments else ()
    done = isthmus("run", "allocation", *arguments, *ample, "--out", "run.json")
    assert done.returncode == 0, done.stderr
    return run_file.load(folder / "run.json")


def repetitions(run: Run) -> dict[tuple[object, ...], dict[str, int]]:
    """Ticks by phase of every repetition."""
    result: dict[tuple[object, ...], dict[str, int]] = defaultdict(dict)
    for point in run.points:
        for rerun in point.reruns:
            key = (point.device, point.memory, *point.axes.values(), rerun.rerun)
            result[key][point.operation] = rerun.clocks["host"].ticks[0]
    return result


def adds_up(ticks: Mapping[str, int]) -> bool:
    return sum(ticks.get(name, 0) for name in (*ACCELERATOR, "remainder")) == ticks["total"]


def test_phases_exclude_one_another_and_add_up_in_every_repetition(
    isthmus: Command, tmp_path: Path
) -> None:
    run = measured(isthmus, tmp_path, "--device", "null,cost=1ms", *SMALL, "--reruns", "2")
    result = repetitions(run)
    assert len(result) == 3 * 2
    assert all(adds_up(ticks) for ticks in result.values())
    assert min(ticks["remainder"] / ticks["total"] for ticks in result.values()) < 0.02
    assert {r.verified for p in run.points for r in p.reruns} == {"na"}
    # Nobody's sums: the adds in software were not asked for.
    assert {p.operation for p in run.points if p.reruns} == {*ACCELERATOR, "remainder", "total"}


@pytest.mark.parametrize(
    "kinds", ["aligned,alloc_host", *slow("aligned,offset1,mmap,new64,alloc_host")]
)
def test_an_offload_on_pocl_from_several_kinds_of_memory(
    isthmus: Command, tmp_path: Path, pocl: str, kinds: str
) -> None:
    run = measured(
        isthmus, tmp_path, "--device", pocl, "--axis", "elements=1Mi", "--axis", f"memory={kinds}",
        "--axis", "handover=user_pointer,copy", "--axis", "relative_offset=0,64", "--reruns", "1",
    )  # fmt: skip
    assert all(r.verified == "true" for p in run.points for r in p.reruns)
    cases = {(p.memory, *p.axes.values()) for p in run.points}
    apart = kinds.count(",")  # all but the runtime's own memory
    assert len(cases) == apart * 2 * 2 + 1, "the runtime's own memory has no offset and no copy"
    ways = {p.axes["handover"] for p in run.points if p.operation == "map"}
    assert ways == {"user_pointer", ""}, "what is copied is not mapped"
    for point in run.points:
        rerun = point.reruns[0]
        usual = (point.axes["handover"], point.axes["relative_offset"]) == ("user_pointer", 0)
        once = {"initialise", "program_device"}
        if point.memory != "aligned" or not usual:  # in turn with what is aligned
            once |= {"software_vadd", "software_vadd_simd"}
        assert len(rerun.clocks["host"].warm_ticks) == (0 if point.operation in once else 3)
    result = repetitions(run)
    assert all(adds_up(ticks) for ticks in result.values())
    # Of the least disturbed one: the machine may have done something else in between.
    assert min(ticks["remainder"] / ticks["total"] for ticks in result.values()) < 0.02


def test_the_host_alone_adds_in_software(isthmus: Command, tmp_path: Path) -> None:
    run = measured(isthmus, tmp_path, "--device", "host", *SMALL, "--reruns", "2")
    assert {p.operation for p in run.points} == {
        "allocate", "populate", "software_vadd", "software_vadd_simd",
    }  # fmt: skip
    assert all(r.verified == "true" for p in run.points for r in p.reruns)


def test_programming_the_emulated_board_takes_the_seconds_that_its_parameter_says(
    isthmus: Command, tmp_path: Path
) -> None:
    """The tutorial's example 0 starts in 1625 ms with programming: 1363 ms more than without."""
    run = measured(isthmus, tmp_path, "--device", "card:u200,offload.program_ns=1363e6", *SMALL)
    times = {p.operation: p.reruns[0].seconds("simulated")[0] for p in run.points if p.reruns}
    assert times["program_device"] == pytest.approx(1.363)
    assert times["total"] > times["program_device"] + times["initialise"]


def test_wrong_sums_are_found(isthmus: Command, tmp_path: Path) -> None:
    done = isthmus("run", "allocation", "--device", "null,move=nothing", *SMALL, "--reruns", "1",
                   "--out", "run.json")  # fmt: skip
    assert done.returncode == 1
    run = run_file.load(tmp_path / "run.json")
    assert {r.verified for p in run.points for r in p.reruns} == {"false"}
    assert "wrong sums" in run.points[0].reruns[0].fault


def test_what_the_machine_does_not_allow_is_skipped_with_its_cure(
    isthmus: Command, tmp_path: Path
) -> None:
    free = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
    if free.exists() and int(free.read_text()) > 0:
        pytest.skip("huge pages are set aside here")
    done = isthmus("run", "allocation", "--device", "host", "--axis", "elements=64Ki", "--axis",
                   "memory=hugetlb,aligned", "--reruns", "1", "--out", "run.json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "sysctl vm.nr_hugepages" in done.stderr
    run = run_file.load(tmp_path / "run.json")
    texts = {p.memory: p.skipped for p in run.points}
    assert "huge pages" in texts["hugetlb"]
    assert not texts["aligned"]
    flags = summarise(run).to_pandas().set_index("memory")["flags"]
    assert set(flags["hugetlb"]) == {"skipped"}
    assert "Not measured: hugetlb (" in isthmus("show", "run.json").stdout


def test_a_worker_that_dies_costs_its_own_kind_only(isthmus: Command, tmp_path: Path) -> None:
    done = isthmus("run", "allocation", "--device", "null,crash=3", "--device", "host", *SMALL,
                   "--reruns", "1", "--out", "run.json")  # fmt: skip
    assert done.returncode == 1
    run = run_file.load(tmp_path / "run.json")
    assert all("SIGSEGV" in p.error for p in run.points if p.device.startswith("null"))
    assert all(p.reruns for p in run.points if p.device == "host")


def test_a_quick_run_ends_after_a_few_repetitions_and_goes_on(
    isthmus: Command, tmp_path: Path
) -> None:
    few = ("--axis", "elements=1Ki", "--axis", "memory=aligned", "--precision", "1e-9")
    run = measured(isthmus, tmp_path, "--device", "null", "--quick", *few)
    assert {len(p.reruns) for p in run.points if p.operation == "total"} == {3}
    rows = summarise(run).to_pandas().set_index("operation")
    assert rows.loc["total", "samples"] == 3
    assert rows.loc["total", "ci_low_s"] <= rows.loc["total", "median_s"]
    resumed = isthmus("run", "allocation", "--resume", "--out", "run.json")
    assert resumed.returncode == 0, resumed.stderr
    again = run_file.load(tmp_path / "run.json")
    assert [p.reruns for p in again.points] == [p.reruns for p in run.points]


def test_simulated_phases_are_taken_once(isthmus: Command, tmp_path: Path) -> None:
    run = measured(isthmus, tmp_path, "--device", "null,clock=simulated,cost=1us", *SMALL)
    rows = summarise(run).to_pandas()
    assert set(rows[rows["samples"] > 0]["clock"]) == {"simulated"}
    totals = rows[rows["operation"] == "total"]
    assert totals["median_s"].tolist() == pytest.approx([len(ACCELERATOR) * 1e-6] * 3)
    assert set(totals["samples"]) == {1}


def test_sizes_are_counted_in_elements(isthmus: Command, tmp_path: Path) -> None:
    run = measured(isthmus, tmp_path, "--device", "null", "--elements", "1Ki:4Ki", "--memory",
                   "aligned", "--reruns", "1")  # fmt: skip
    assert {(p.axes["elements"], p.bytes) for p in run.points} == {
        (1024, 4096), (2048, 8192), (4096, 16384),
    }  # fmt: skip
    for arguments, text in {
        ("--bytes", "4Ki"): "no axis 'bytes'",
        ("--memory", "velvet"): "no memory kind 'velvet'",
        ("--axis", "operation=read"): "no operation 'read'",
    }.items():
        refused = isthmus("run", "allocation", "--device", "null", *arguments)
        assert (refused.returncode, text in refused.stderr) == (2, True), refused.stderr


def offload_run(
    kinds: Mapping[str, Mapping[str, float]],
    *,
    count: int = 12,
    spread: float = 0.01,
    faults: Mapping[tuple[str, str], int] | None = None,
    elements: int = ELEMENTS,
    seed: int = 1,
) -> Run:
    """A run whose phases take what is said, times noise that all phases of a repetition share."""
    random = np.random.default_rng(seed)
    points = []
    for memory, seconds in kinds.items():
        noise = np.exp(spread * random.standard_normal(count))
        whole = {**seconds, "remainder": 1e-6}
        whole["total"] = sum(whole[p] for p in (*ACCELERATOR, "remainder") if p in whole)
        for operation in OPERATIONS:
            if operation in whole:
                made = synthetic.point(
                    "opencl:bench", operation, 4 * elements,
                    [[whole[operation] * factor] for factor in noise],
                    study="allocation", memory=memory, moved_bytes=0,
                    axes={"elements": elements, "handover": "user_pointer", "relative_offset": 0},
                    rerun_changes={
                        "state": "once", "intervals": 0,
                        "noise": Noise(minor_faults=(faults or {}).get((memory, operation), 0)),
                    },
                )  # fmt: skip
                points.append(made)
    return synthetic.run(points)


def answer_to(run: Run, name: str) -> Answer:
    return synthetic.answer(run, name)


def tutorial() -> Run:
    table = synthetic.log("aligned_allocation_u200").set_index("phase") / 1e3
    kinds = {
        memory: table[f"{column}_ms"].dropna().to_dict()
        for memory, column in (("pageable", "unaligned"), ("aligned", "aligned"))
    }
    return offload_run(kinds, spread=0.0)


def test_published_phases_give_the_published_differences_with_their_right_signs() -> None:
    host = answer_to(tutorial(), "host").table
    host = host[host["reference"] == "software_vadd"].set_index("memory")
    for memory, total, algorithm in (
        ("pageable", -418.26, -170.86), ("aligned", -330.94, -74.63),
    ):  # fmt: skip
        assert 1e3 * host.loc[memory, "total_delta_s"] == pytest.approx(total, abs=0.01)
        assert 1e3 * host.loc[memory, "algorithm_delta_s"] == pytest.approx(algorithm, abs=0.01)
    deltas = answer_to(tutorial(), "deltas").table
    between = deltas[(deltas["memory"] == "aligned") & (deltas["reference"] == "pageable")]
    by_phase = 1e3 * between.set_index("operation")["delta_s"]
    assert by_phase["map"] == pytest.approx(-55.553, abs=1e-3)
    assert by_phase["migrate_to_device"] == pytest.approx(-18.214, abs=1e-3)
    assert by_phase["read_back"] == pytest.approx(-22.408, abs=1e-3)
    (row,) = answer_to(tutorial(), "advice").table.itertuples()
    assert (row.memory, row.reference) == ("aligned", "pageable")
    assert row.low_delta_s > 0


PHASES = {
    "initialise": 0.05, "program_device": 0.02, "allocate": 2e-5, "populate": 0.02, "map": 1e-5,
    "migrate_to_device": 1e-4, "migrate_to_device_wait": 1e-5, "set_arguments": 3e-6,
    "kernel_enqueue": 2e-5, "kernel_run": 0.01, "read_back": 4e-5,
    "software_vadd": 0.014, "software_vadd_simd": 0.012,
}  # fmt: skip


@pytest.mark.parametrize("seed", [*range(4), *slow(*range(4, 20))])
def test_no_false_alarm_where_nothing_differs(seed: int) -> None:
    same = dict.fromkeys(("aligned", "pageable", "offset1", "offset64", "offset2048"), PHASES)
    run = offload_run(same, spread=0.02, seed=seed, count=24)
    coarse = msgspec.structs.replace(run.settings, precision=0.05)
    run = msgspec.structs.replace(run, settings=coarse)
    tables = {answer.name: answer.table.to_pandas() for answer in answers(run)}
    assert len(tables["offsets"]) == 3
    assert (tables["offsets"]["low_ratio"] > 1 / 1.05).all()
    assert (tables["offsets"]["high_ratio"] < 1.05).all()
    for name, difference in (("deltas", "delta_s"), ("offsets", "delta_s"), ("advice", "delta_s"),
                             ("copies", "beyond_best_s")):  # fmt: skip
        ends = tables[name][f"low_{difference}"], tables[name][f"high_{difference}"]
        assert (ends[0] <= 0).all(), name
        assert (ends[1] >= 0).all(), name
    assert set(tables["copies"]["finding"]) <= {"no copy", "moved"}
    results = findings(run)
    assert [one.verdict for one in results if "memory for" in one.quantity] == ["same", "same"]
    assert not [one for one in results if one.quantity == "begin within a page"]


def test_advice_counts_all_that_either_kind_takes() -> None:
    """What one kind alone has to do was left out: 31.3 ms were told where 18.2 ms were true."""
    copied = {name: time for name, time in PHASES.items() if name != "map"}
    kinds = {
        "pageable": {**copied, "read_back": 40e-3},
        "registered": {**PHASES, "map": 13e-3, "read_back": 9e-3},
    }
    result = answer_to(offload_run(kinds), "advice")
    assert result.table["memory"].tolist() == ["registered"]
    assert result.table["delta_s"][0] == pytest.approx(18e-3, rel=0.1)


def test_the_worst_offset_is_found() -> None:
    slow = {**PHASES, "migrate_to_device": 5e-3}
    kinds = {"aligned": PHASES, "offset1": PHASES, "offset64": slow, "offset2048": PHASES}
    run = offload_run(kinds)
    table = answer_to(run, "offsets").table.set_index("memory")
    assert table["delta_s"].idxmax() == "offset64"
    assert table.loc["offset64", "delta_s"] == pytest.approx(4.9e-3, rel=0.1)
    assert (table["low_delta_s"] > 0).to_dict() == {
        "offset1": False, "offset64": True, "offset2048": False,
    }  # fmt: skip
    (finding,) = [one for one in findings(run) if one.quantity == "begin within a page"]
    assert finding.memory == "offset64"


def test_too_few_repetitions_tell_nothing() -> None:
    kinds = {"aligned": PHASES, "offset64": {**PHASES, "kernel_run": 0.02}}
    run = offload_run(kinds, count=1)
    for name, difference in (("deltas", "delta_s"), ("host", "total_delta_s")):
        table = answer_to(run, name).table
        assert len(table)
        assert table[[f"low_{difference}", f"high_{difference}"]].isna().all(axis=None)


def test_copies_are_known_by_fresh_pages_and_by_time() -> None:
    bounced = {**PHASES, "read_back": 8e-3}
    kinds = {"aligned": PHASES, "pageable": bounced, "alloc_host": PHASES}
    pages = 4 * ELEMENTS // 4096
    run = offload_run(kinds, faults={("alloc_host", "migrate_to_device_wait"): 2 * pages})
    table = answer_to(run, "copies").table.set_index(["memory", "operation"])["finding"]
    assert table["alloc_host", "migrate"] == (
        "first touch of 2 fresh vectors (a copy's destination, or the pages themselves)"
    )
    assert table["pageable", "read_back"] == "a further pass over the data"
    assert table["aligned", "map"] == "no copy"


def test_break_even_of_swept_sizes() -> None:
    def sized(elements: int) -> list[run_file.Point]:
        device = {**PHASES, "kernel_run": 5e-3 + 1e-10 * elements}
        device["software_vadd_simd"] = 1e-9 * elements
        return offload_run({"aligned": device}, elements=elements).points

    points = [point for power in range(18, 27) for point in sized(1 << power)]
    result = answer_to(synthetic.run(points), "break_even")
    row = result.table.iloc[0]
    assert (row["slower_to"], row["faster_from"]) == (4 << 20, 8 << 20)
    assert row["host_slope_s"] == pytest.approx(1e-9, rel=0.1)


def test_what_follows_in_a_process_is_told_apart_from_the_first() -> None:
    run = offload_run({"aligned": PHASES})
    warmed = []
    for point in run.points:
        reruns = []
        for rerun in point.reruns:
            first = rerun.clocks["host"]
            warm = [first.ticks[0] // 10] * 3 if point.operation != "initialise" else []
            later = Samples(first.ticks, first.seconds_per_tick, first.ticks[0], warm)
            reruns.append(msgspec.structs.replace(rerun, clocks={"host": later}))
        warmed.append(msgspec.structs.replace(point, reruns=reruns))
    table = answer_to(synthetic.run(warmed), "phases").table.set_index("use")
    assert table.loc["again", "kernel_s"] == pytest.approx(0.1 * table.loc["first", "kernel_s"])
    assert np.isnan(table.loc["again", "start_s"]) or table.loc["again", "start_s"] < 3e-3
    row = summarise(synthetic.run(warmed)).to_pandas().set_index("operation").loc["map"]
    assert row["cold_s"] == pytest.approx(row["median_s"], rel=0.05)


def test_run_files_keep_what_followed(isthmus: Command, tmp_path: Path) -> None:
    run = measured(isthmus, tmp_path, "--device", "host", "--elements", "1Ki", "--memory",
                   "aligned", "--reruns", "1")  # fmt: skip
    raw = json.loads((tmp_path / "run.json").read_text())
    kept = raw["points"][0]["reruns"][0]["clocks"]["host"]["warm_ticks"]
    assert kept == run.points[0].reruns[0].clocks["host"].warm_ticks
    assert len(kept) == 63
