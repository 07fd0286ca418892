"""``isthmus reproduce``: published figures beside ours, on the emulated card as it really runs."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

import synthetic
from isthmus import published
from isthmus.analysis.reproduction import (
    ReproducedFigure,
    ReproducedRow,
    _beside_others,
    from_model,
    from_run,
    missed_aims,
)
from isthmus.cli import reproduce as cli_reproduce
from isthmus.errors import UsageError
from isthmus.published.source import KINDS, read
from isthmus.statistics import Interval, exact
from isthmus.validation.combining import combined
from isthmus.validation.fitting import HELD_OUT
from isthmus.validation.points import all_points
from synthetic import point, run

SOURCE = """
title = "A ring of two"
by = "Somebody 2025"
board = "520n"

[run.ring]
study = "beff"
device = "card:520n"
memory = "device"
axes = { looplength = "16384" }

[[figure]]
name = "log"
title = "two sizes"

[[figure]]
name = "photograph"
title = "the boards"
because = "a photograph"

[[row]]
figures = "log"
data = "sizes"
item = "{size}"
value = "rate"
unit = "MB/s"
run = "ring"
operation = "exchange"
bytes = "{bytes}"
where = { ranks = "2" }
aim = 0.05
"""
SIZES = "bytes,rate\n64,97\n4096,4\n65536,\n"


def folder(path: Path, source: str = SOURCE) -> Path:
    (path / "source.toml").write_text(source, encoding="utf-8")
    (path / "sizes.csv").write_text(SIZES, encoding="utf-8")
    return path


def test_the_list_has_every_figure_with_its_state(isthmus):
    flat = " ".join(isthmus("reproduce").stdout.split())
    for source in published.sources().values():
        assert source.title in flat
        for figure in source.figures:
            state = f"{figure.state}: {figure.because}" if figure.because else figure.state
            lacks = f"needs {figure.needs}, which is not here"
            shown = [f"{figure.name}: {figure.title} {one}" in flat for one in (state, lacks)]
            assert any(shown[: 2 if figure.needs else 1])
            assert figure.rows or figure.because


def test_a_figure_needs_what_this_machine_lacks_and_nothing_else(isthmus, tmp_path):
    name = "opencl-xrt/small-transfers: XRT takes 1/3 to 1/2 of OpenCL's time"
    for here in ({}, {"XILINX_XRT": str(tmp_path)}):
        said = " ".join(isthmus("reproduce", env=here).stdout.split()).partition(name)[2]
        options = ("--operation", "launch", "--reruns", "1", "--out", f"{len(here)}.json")
        device = isthmus("run", "transfer", "--device", "xrt:0@noop", *options, env=here)
        lacks = said.removeprefix(" for small transfers on hardware ").startswith("needs XRT, ")
        assert lacks == (device.returncode == 4)


def test_the_words_that_say_how_are_explained_where_they_appear(isthmus, tmp_path):
    said = isthmus("reproduce", "mmio/streaming-loads", "--out", str(tmp_path)).stdout
    assert "after the fact = an input was chosen after this figure was known" in said
    assert "fitted =" not in said
    flat = " ".join(isthmus("reproduce").stdout.split())
    assert all(f"{word} = {meaning}" in flat for word, meaning in KINDS.items())


@pytest.mark.slow
def test_gib_are_said_in_the_unit_of_run_too(isthmus, tmp_path):
    said = isthmus("reproduce", "host-memory/maximum", "--out", str(tmp_path)).stdout
    assert "23.355 GiB/s" in said
    assert "1 GiB/s is 1.0737 GB/s, the unit of isthmus run" in said


def test_a_gate_without_figures_is_refused(isthmus):
    done = isthmus("reproduce", "--gate")
    assert done.returncode == 2
    assert "which figures?" in done.stderr


def test_what_a_device_cannot_give_is_said_and_the_rest_is_shown(isthmus, tmp_path):
    done = isthmus("reproduce", "opencl-xrt/small-transfers", "--device", "host")
    assert done.returncode == 4
    assert "leave --device out" in done.stderr
    both = isthmus("reproduce", "b_eff", "--device", "card:u200", "--out", str(tmp_path))
    assert both.returncode == 2
    assert "beff needs channels to other devices: not on card:u200" in both.stderr
    (tmp_path / "file").touch()
    no_folder = isthmus("reproduce", "b_eff/520n", "--out", str(tmp_path / "file"))
    assert no_folder.returncode == 2
    assert "is a file; name a folder" in no_folder.stderr


def test_rows_of_one_item_are_told_apart_and_aims_want_all_of_a_series():
    (figure,) = published.chosen("host-memory/u250")
    rows = [ReproducedRow(row, exact(1.1 * row.published), "simulated") for row in figure.rows]
    result = ReproducedFigure(figure, tuple(rows))
    assert len(set(result.names)) == len(rows)
    sources = published.sources().values()
    missed = missed_aims([result], sources)
    assert "host-memory/u250, read, 512Ki: +10 % (aim: within 6 %)" in missed
    assert any(text.endswith("10 % rms (aim: 3 %)") for text in missed)
    rows[0] = ReproducedRow(figure.rows[0], None, "not measured")
    assert not any(
        "rms" in text for text in missed_aims([ReproducedFigure(figure, tuple(rows))], sources)
    )


def test_no_published_number_is_left_out():
    rows = [row for source in published.sources().values() for row in source.rows]
    shown = [row for row in rows if row.figures]
    files = Path(published.__file__).parent.glob("*/*.csv")
    counts = {file.stem: len(synthetic.log(file.stem)) for file in files if file.name != HELD_OUT}
    assert min(counts.values()) > 0
    # Two readings of the unit; the second stands in the residual table only.
    assert {row.unit for row in rows if not row.figures} == {"GB/s"}
    shown_rows = {name: sum(row.source == name for row in shown) for name in published.sources()}
    assert shown_rows["host-memory"] == 3 * counts["host_memory_bw_u250_gen3x16"] + 3
    assert shown_rows["b_eff"] == counts["b_eff_520n_1fpga"] + counts["b_eff_520n_8fpga"] + 2 + 5
    assert shown_rows["aligned-allocation"] == 2 * counts["aligned_allocation_u200"] + 1 + 10
    peaks = synthetic.log("opencl_xrt_peaks")
    assert peaks["peak_GBps"].max() == 11.908
    on_hardware = peaks[peaks["target"] == "hw"]
    past_the_peak = on_hardware["operation"].str.startswith("write").sum()
    assert shown_rows["opencl-xrt"] == len(on_hardware) + past_the_peak + 6
    assert {row.how for row in rows} == set(KINDS)


def test_the_residual_table_is_made_of_the_same_rows():
    rows = {
        (row.series, row.item): row.published
        for source in published.sources().values()
        for row in source.rows
        if row.series
    }
    points = {
        (p.series.removesuffix(", as events"), p.row.item): p.row.published for p in all_points()
    }
    assert points == rows


def test_figures_stand_beside_ours_and_a_run_file_is_written(isthmus, tmp_path):
    done = isthmus("reproduce", "mmio/read-latency", "--out", str(tmp_path / "runs"))
    (line,) = (line for line in done.stdout.splitlines() if "load of SRAM" in line)
    assert "507.35 ns" in line
    assert "fitted" in line
    (file,) = (tmp_path / "runs").glob("*.json")
    assert f"report runs/{file.name}" in done.stdout
    run = json.loads(file.read_text(encoding="utf-8"))
    assert run["studies"] == ["mmio"]
    axes = {"width": 8, "instruction": "mov", "fence": "lfence", "pipelined": "no"}
    (point,) = (
        p for p in run["points"] if p["operation"] == "bar_memory_load" and p["bytes"] == 8
        and p["memory"] == "bar_wc" and p["axes"].items() >= axes.items()
    )  # fmt: skip
    ns = point["reruns"][0]["clocks"]["simulated"]
    assert f"{ns['ticks'][0] * ns['seconds_per_tick'] * 1e9:.5g} ns" in line


def test_what_no_study_gives_comes_from_the_closed_form(isthmus, tmp_path):
    done = isthmus("reproduce", "b_eff/comparison", "--out", str(tmp_path))
    (line,) = (line for line in done.stdout.splitlines() if "in turn  " in line)
    assert "reproduced" in line
    assert "4.07 GB/s" in line
    ended = isthmus("reproduce", "mmio/concurrency")
    assert "42 lines" in ended.stdout
    assert len([*tmp_path.iterdir()]) == 1, "nothing is measured for the second"


def test_the_gate_says_whether_an_aim_was_missed(isthmus, tmp_path):
    met = isthmus("reproduce", "b_eff/520n", "--gate", "--out", str(tmp_path))
    assert met.returncode == 0
    assert "Missed" not in met.stdout
    missed = isthmus("reproduce", "b_eff/520n-8", "--gate", "--out", str(tmp_path))
    assert missed.returncode == 3
    assert "b_eff/520n-8, 256: -0.591 % (aim: within 0.5 %)" in missed.stdout
    assert isthmus("reproduce", "b_eff/520n-8", "--out", str(tmp_path)).returncode == 0


def test_another_device_is_measured_and_said_to_be(isthmus, tmp_path):
    done = isthmus(
        "reproduce", "opencl-xrt/figure-9", "--device", "card:u250", "--out", str(tmp_path)
    )
    line = next(line for line in done.stdout.splitlines() if "xrt write rw" in line)
    assert line.endswith("simulated")


def test_measured_rows_have_their_interval_and_missing_points_a_reason(isthmus, tmp_path):
    """The host has no kernel to enqueue; what it has is measured in several processes."""
    done = isthmus(
        "reproduce", "aligned-allocation/u200", "--device", "host", "--quick",
        "--out", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    heads = next(line for line in lines if line.startswith("  item "))
    ends = heads.index("interval"), heads.index("residual")
    measured = [line for line in lines if "  measured: " in line]
    assert measured
    for line in measured:
        here = float(line[: ends[0]].split()[-2])
        low, high = (float(end) for end in line[slice(*ends)].split(" to "))
        assert low <= here <= high
        assert low < high
        assert re.search(r"(%|cannot tell) \([+-][\d.]+ to [+-][\d.]+\)", line), line
    flat = " ".join(done.stdout.split())
    assert "not measured: the run has no kernel_run with memory " in flat


def test_what_a_row_makes_of_points_has_the_interval_of_them_all():
    (row, *_) = published.chosen("aligned-allocation/differences")[0].rows
    least = Interval(3.0, 2.0, 4.0), Interval(1.0, 0.5, 1.5)
    result = dict(zip(("aligned", "pageable"), least, strict=True))
    here = combined(row, lambda term: result[term.where["memory"]])
    width = 1.25**0.5
    assert here == pytest.approx((2e3, 1e3 * (2 - width), 1e3 * (2 + width), 0.95))
    twice = replace(row, minus=(), plus=(row.plus[0], row.plus[0]))
    assert combined(twice, lambda _: least[0]) == pytest.approx((6e3, 4e3, 8e3, 0.95))
    over = replace(row, minus=(), over=row.minus, unit="ratio")
    low, high = combined(over, lambda term: result[term.where["memory"]])[1:3]
    assert 2.0 / 1.5 < low < 3.0 < high < 4.0 / 0.5
    most = replace(row, plus=(*row.plus, *row.minus), minus=(), combine="max")
    assert combined(most, lambda term: result[term.where["memory"]]) == least[0].times(1e3)
    one = combined(row, lambda _: Interval(1.0, float("nan"), float("nan")))
    assert not one.known


def test_a_row_of_several_points_is_computed_process_by_process():
    """What slows all of a process cancels in a ratio of its points, and adds up in a sum."""
    (row, *_) = published.chosen("opencl-xrt/constant-rate")[0].rows
    sizes = [term.bytes for term in row.terms]
    slow = [1.0, 1.1, 0.9, 1.2, 0.8, 1.05]

    def measured(*numbers):
        """Points of both sizes, with the numbers of their processes."""
        points = [
            point("xrt:0", "write", size, [[one * size / 1e10] * 5 for one in slow])
            for size in sizes
        ]
        return run(
            [
                msgspec.structs.replace(
                    one,
                    reruns=[msgspec.structs.replace(r, rerun=n + r.rerun) for r in one.reruns],
                )
                for one, n in zip(points, numbers, strict=True)
            ]
        )

    (paired,) = from_run([row], measured(0, 0), "xrt:0")
    assert paired.interval == pytest.approx((100.0, 100.0, 100.0, 0.95))
    (apart,) = from_run([row], measured(0, 6), "xrt:0")
    assert apart.interval.low < 85
    assert apart.interval.high > 115
    total = replace(row, plus=row.terms, over=(), unit="s", rate=False)
    (paired,) = from_run([total], measured(0, 0), "xrt:0")
    (apart,) = from_run([total], measured(0, 6), "xrt:0")
    assert paired.interval.value == pytest.approx(apart.interval.value)
    assert paired.interval.half_width > 1.1 * apart.interval.half_width


def test_an_interval_that_holds_both_answers_tells_nothing():
    (row, *_) = published.chosen("opencl-xrt/small-transfers")[0].rows  # 1/3 to 1/2

    def shown(value, low, high):
        one = ReproducedRow(row, Interval(value, low, high), "hybrid")
        return cli_reproduce.residual(one), one.decisive

    assert shown(0.61, 0.60, 0.62) == ("+22.00 % (+20.0 to +24.0)", True)
    assert shown(0.45, 0.40, 0.51) == ("+0.00 % (+0.0 to +2.0)", True)
    assert shown(0.54, 0.30, 0.70) == ("cannot tell (-10.0 to +40.0)", False)
    assert shown(0.54, 0.49, 0.62) == ("cannot tell (+0.0 to +24.0)", False)
    assert shown(0.30, 0.10, 0.32) == ("-9.99 % (-70.0 to -4.0)", True)
    assert shown(0.45, 0.45, 0.45) == ("+0.00 %", True)  # exact
    assert shown(0.45, math.nan, math.nan) == ("+0.00 %", True)
    busy = ReproducedRow(row, Interval(0.61, 0.60, 0.62), "hybrid", busy=True)
    assert cli_reproduce.residual(busy) == "cannot tell (+20.0 to +24.0)"
    aimed = replace(row, aim=0.01)
    assert not ReproducedRow(aimed, Interval(0.54, 0.3, 0.7), "hybrid").missed
    assert ReproducedRow(aimed, Interval(0.61, 0.60, 0.62), "hybrid").missed


@pytest.mark.parametrize(("load", "busy"), [(0.9, False), (1.0, True), (14.0, True)])
def test_software_that_shares_its_processors_tells_nothing(load, busy):
    (row, *_) = published.chosen("opencl-xrt/small-transfers")[0].rows
    machine = run([], environment={"load_average": [load, 0.0, 0.0], "logical_cpus": 2})
    one = _beside_others(ReproducedRow(row, Interval(0.61, 0.60, 0.62), "hybrid"), machine)
    assert (one.busy, one.decisive) == (busy, not busy)
    assert (f"load average {load:.1f}, processors: 2" in one.reason) == busy
    simulated = ReproducedRow(row, exact(0.61), "simulated")
    assert _beside_others(simulated, machine) == simulated


def test_software_that_hands_work_to_threads_is_bound_to_one_processor(tmp_path):
    """Else a thread may be woken on another processor, which takes five times as long."""
    settings = cli_reproduce._Settings(None, tmp_path, False, None, {})
    for name, bound in (("small-transfers", 1), ("figure-9", 0)):
        rows = published.chosen(f"opencl-xrt/{name}")[0].rows
        request = cli_reproduce._request("opencl-xrt/any", rows[0].run, rows, settings)
        assert len(request.binding.cpus) == bound


@pytest.mark.slow
def test_small_transfers_are_a_hybrid_and_need_xrt(isthmus, tmp_path):
    """The range that the source states is no single number: inside it the residual is 0."""
    options = ("reproduce", "opencl-xrt/small-transfers", "--out", str(tmp_path / "runs"))
    without = isthmus(*options, env={"XILINX_XRT": str(tmp_path)})
    lines = [line for line in without.stdout.splitlines() if "XRT over OpenCL" in line]
    assert len(lines) == 6
    assert all(line.endswith("not measured") for line in lines)
    flat = " ".join(without.stdout.split())
    assert flat.count(f"XILINX_XRT is {tmp_path}, and no libxrt_coreutil") == 1
    assert "not measured: 'xrt:0@card=f1-vu9p' is not here: " in flat
    assert "name an installation of XRT" in flat
    (row, *_) = published.chosen("opencl-xrt/small-transfers")[0].rows
    assert row.residual(0.4) == 0
    assert row.residual(0.6) == pytest.approx(0.2)
    assert row.residual(0.1) == pytest.approx(0.1 / 0.3333 - 1)
    done = isthmus(*options)
    lines = [line for line in done.stdout.splitlines() if "XRT over OpenCL" in line]
    if "hybrid" not in lines[0]:
        pytest.skip("no XRT here")
    for line in lines:
        here, low, _, high, *_ = line.split(" to 0.5 ")[1].split()
        assert 0.1 < float(here) < 1
        assert float(low) < float(here) < float(high)
    (file,) = (tmp_path / "runs").glob("*.json")
    assert len(json.loads(file.read_text("utf-8"))["settings"]["cpus"]) == 1


def test_a_folder_of_somebody_elses(tmp_path, monkeypatch):
    """Found by its package's entry point, as an installed package has it."""
    (tmp_path / "data").mkdir()
    folder(tmp_path / "data")
    (tmp_path / "rings.py").write_text(
        "from pathlib import Path\nFOLDER = Path(__file__).parent / 'data'\n", encoding="utf-8"
    )
    package = tmp_path / "rings-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Name: rings\nVersion: 1\n", encoding="utf-8")
    (package / "entry_points.txt").write_text(
        "[isthmus.published]\ntwo = rings:FOLDER\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    published.sources.cache_clear()
    try:
        figures = published.chosen("two")
    finally:
        published.sources.cache_clear()
    assert [figure.name for figure in figures] == ["two/log", "two/photograph"]
    assert [(row.item, row.published) for row in figures[0].rows] == [("64", 97.0), ("4Ki", 4.0)]
    assert [figure.state for figure in figures] == ["predicted", "not modelled"]


@pytest.mark.parametrize(
    ("text", "instead", "says"),
    [
        ('unit = "MB/s"', "", "'unit' is missing"),
        ('run = "ring"', 'run = "rink"', "'rink' is missing"),
        ('figures = "log"', 'figures = "lock"', "lock"),
        ('because = "a photograph"', "", "neither rows nor a reason"),
        ("aim = 0.05", 'kind = "guessed"', "'guessed' is none of"),
        ('bytes = "{bytes}"', 'bytes = "{size}"', "size"),
    ],
)
def test_a_description_that_cannot_be_is_said_in_one_line(tmp_path, text, instead, says):
    with pytest.raises(UsageError) as error:
        read("two", folder(tmp_path, SOURCE.replace(text, instead)))
    assert str(tmp_path / "source.toml") in str(error.value)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_unknown_names_get_the_nearest(isthmus):
    done = isthmus("reproduce", "mmio/read-latenzy")
    assert done.returncode == 2
    assert "did you mean mmio/read-latency?" in done.stderr


def seconds_of(row):
    """What the closed form gives: a time, or of a rate the time of the row's bytes."""
    figure = from_model(row).value * row.scale
    size = row.plus[0].bytes if row.rate and row.plus else None
    return size / figure if size else figure


@pytest.mark.parametrize("name", published.sources())
def test_predicted_is_said_of_no_figure_that_the_fit_has_for_its_neighbour(name):
    """One time or one rate for both: the fit saw it, if not this figure."""
    rows = [r for r in published.sources()[name].rows if r.model and len(r.terms) < 3 and r.series]
    fitted = [row for row in rows if row.how == "fitted"]
    seen = [(f.rate, {from_model(f).value * f.scale, seconds_of(f)}) for f in fitted]
    judged = [row for row in rows if row.how in {"predicted", "alike"} and len(row.plus) <= 1]
    if not rows:
        pytest.skip(f"{name}: no row has both a model and a series")
    assert judged or len(fitted) == len(rows)
    for row in judged:
        ours = {from_model(row).value * row.scale, seconds_of(row)}
        same = any(
            rate == row.rate and any(abs(a / b - 1) < 0.01 for a in ours for b in theirs)
            for rate, theirs in seen
        )
        assert row.how == ("alike" if same else "predicted"), row.item
