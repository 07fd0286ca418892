"""The models against what others measured: the fits redone, the aims, and the docs' table."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import synthetic
from isthmus import boards
from isthmus.boards.board import Setting
from isthmus.cli import app
from isthmus.validation import fitting, residuals
from isthmus.validation.points import AS_EVENTS, all_points

HOST_MEMORY = [f"host memory, U250, {kernel}" for kernel in ("read", "write", "both")]
DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))


@pytest.fixture(scope="module")
def validation() -> residuals.Validation:
    return residuals.validate()


@pytest.mark.slow
def test_the_boards_say_what_the_fits_give() -> None:
    for one in fitting.refit():
        assert one.in_file == pytest.approx(one.fitted, rel=5e-3), one.parameter


BY_PROGRAMS = {
    "kernel.write_gap_cycles", "driver.launch_ns",
    "driver.first_launch_ns", "driver.launch_interval_ns",
}  # fmt: skip
"""Fitted to what programs show on an emulated card (benchmarks/programs.py)."""


def written_in(setting: Setting, board: str) -> bool:
    """Whether a setting stands in the board's own file, not in one that it includes."""
    return Path(setting.file).stem == Path(board).stem


def test_every_fitted_parameter_has_its_fit() -> None:
    said = {
        (board, name, setting.calibration)
        for board in {*boards.names(), *(fit.board for fit in fitting.fits())}
        for name, setting in boards.load(board).settings.items()
        if setting.kind == "fitted" and name not in BY_PROGRAMS and written_in(setting, board)
    }
    assert said == {(f.board, name, f.calibration) for f in fitting.fits() for name in f.start}
    assert {p.row.fit for p in all_points()} - {""} == {f.calibration for f in fitting.fits()}


def test_a_fit_finds_other_figures_too() -> None:
    """Figures made with known parameters give those parameters back."""
    fit = next(f for f in fitting.fits() if "serial.stretch" in f.start)
    board = boards.load("520n")
    truth = board.with_values({"serial.latency_ns": 700.0, "serial.stretch": 1.2})
    points = [
        dataclasses.replace(p, row=dataclasses.replace(p.row, published=p.predict(truth)))
        for p in all_points()
        if p.series == "b_eff, 1 x 520N"
    ]
    solved = fitting.solve(board, fit.start, points)
    assert solved.number("serial.latency_ns") == pytest.approx(700.0, rel=1e-6)
    assert solved.number("serial.stretch") == pytest.approx(1.2, rel=1e-6)


@pytest.mark.slow
def test_no_published_figure_is_left_out(validation: residuals.Validation) -> None:
    count = {s.series: s.points for s in validation.series}
    assert sum(n for s, n in count.items() if s.startswith("host memory")) == 2 * 51
    assert sum(n for s, n in count.items() if s.startswith("b_eff")) == 4 * (21 + 1)
    peaks = synthetic.log("opencl_xrt_peaks")
    assert count["transfer peaks, F1, read as GB/s"] == (peaks.target == "hw").sum()
    assert count["transfer peaks, F1, read as GiB/s"] == (peaks.target == "hw").sum()


def test_the_mean_of_the_sizes_is_what_was_stated() -> None:
    for name, stated in (("b_eff_520n_1fpga", 3.95057e9), ("b_eff_520n_8fpga", 31.3237e9)):
        assert synthetic.log(name)["bandwidth_Bps"].mean() == pytest.approx(stated, rel=1e-5)


@pytest.mark.slow
def test_aims(validation: residuals.Validation) -> None:
    met: Mapping[str, bool] = {aim.aim: aim.met for aim in validation.aims}
    assert met["MMIO latencies and write bandwidth"]
    assert met["transfer peaks, the better reading"]
    missed = {aim.aim: aim.misses for aim in validation.aims if not aim.met}
    for how in ("", AS_EVENTS):
        assert len(missed.get(f"b_eff per size{how}", ())) <= 3
        assert len(missed.get(f"host memory, all 51 points{how}", ())) <= 2
        series = {one + how for one in HOST_MEMORY}
        assert fitting.rms([r.residual for r in validation.rows if r.series in series]) <= 0.03
    rings = [r.residual for r in validation.rows if r.series.startswith("b_eff")]
    assert abs(fitting.worst(rings)) <= 0.006


@pytest.mark.slow
def test_held_out_points_are_not_far_worse(validation: residuals.Validation) -> None:
    assert {h.series for h in validation.held_out} >= {"b_eff, 1 x 520N", "host memory, U250, read"}
    for one in validation.held_out:
        assert one.fitted_rms / 2 < one.held_out_rms < 0.05
        assert one.fitted_points == one.held_out_points - 1
    texts = fitting.held_out_texts(validation.held_out)
    assert len(texts) == 2
    for file, text in texts.items():
        assert file.read_text(encoding="utf-8") == text
    known = fitting.known_held_out(boards.load("u250"), "hostmem")
    assert {one.series for one in known} == {series + AS_EVENTS for series in HOST_MEMORY}
    assert not fitting.known_held_out(boards.load("u250"), "transfer")


@pytest.mark.slow
def test_constants_lie_in_intervals_that_have_what_is_in_the_file_near(
    validation: residuals.Validation,
) -> None:
    constants = {one.parameter: one for one in validation.constants}
    assert {"serial.latency_ns", "serial.stretch", "serial.hop_ns"} <= set(constants)
    for one in constants.values():
        assert one.low < one.value < one.high
        assert abs(one.in_file - one.value) < 4 * (one.high - one.value), one.parameter


def test_a_parameter_that_may_be_0_is_undetermined() -> None:
    """An interval of a time from below 0 says only that the curves do not fix it."""
    known = fitting.Constant("u250", "a", 700.0, 650.0, 750.0, 700.0, "ns", "curve")
    open_ = known._replace(parameter="b", low=-31083.0, high=97833.0)
    assert known.determined
    assert not open_.determined
    one = residuals.Validation([], [], [], [known, open_], [])
    (line,) = (text for text in residuals.render(one, "md").splitlines() if "| b |" in text)
    assert line.startswith("| u250 | b | undetermined | -31083 to 97833 | 700 |")
    (line,) = (text for text in residuals.render(one, "md").splitlines() if "| a |" in text)
    assert line.startswith("| u250 | a | 700 | 650 to 750 |")
    flags = [row["determined"] for row in json.loads(residuals.render(one, "json"))["constants"]]
    assert flags == [True, False]


@pytest.mark.slow
def test_formats(
    validation: residuals.Validation,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(residuals, "validate", lambda: validation)
    app(["model", "validate"], standalone_mode=False)
    assert capsys.readouterr().out == residuals.render(validation, "table")
    rows = list(csv.DictReader(io.StringIO(residuals.render(validation, "csv"))))
    data = json.loads(residuals.render(validation, "json"))
    assert len(rows) == len(data["points"]) == len(validation.rows)
    assert {row["kind"] for row in rows} <= {"fitted", "predicted", "alike", "after the fact"}
    assert all(row.point in residuals.render(validation, "md") for row in validation.rows)
    lines = residuals.render(validation, "table").splitlines()
    assert all(aim.aim in "".join(lines) for aim in validation.aims)
    assert len(lines) < 80
    assert max(map(len, lines)) < 180


@pytest.mark.slow
def test_the_docs_have_what_is_printed_now(validation: residuals.Validation) -> None:
    import model_docs

    for page, parts in model_docs.parts(validation).items():
        text = (DOCS / page).read_text(encoding="utf-8")
        assert model_docs.updated(text, parts) == text
