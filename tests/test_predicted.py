"""What the curve of a series predicts for each of its points, in tables and on the page."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import pytest

from conftest import Command
from isthmus.analysis.summary import summarise
from isthmus.reporters import by_name
from isthmus.reporters.html import page
from isthmus.results import run_file
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.statistics.fits import curve
from synthetic import Law, point, run

SIZES = [4**i for i in range(4, 14)]
LAW, LATER = Law(5e-6, 5e9), Law(60e-6, 20e9)
"""Two ways of a runtime; the second begins at 256 KiB."""


def changing(size: int) -> float:
    return (LAW if size < 1 << 18 else LATER)(size)


def series(scatter: float = 0.01, memory: str = "pageable") -> Run:
    """Writes of all sizes whose times scatter; six processes that agree."""
    random = np.random.default_rng(1)
    points = []
    for size in SIZES:
        seconds = changing(size) * math.exp(scatter * random.standard_normal())
        points.append(point("a", "write", size, [[seconds] * 6] * 6, memory=memory))
    return run(points, devices=[DeviceRecord(address="a", backend="a", real=True)])


def test_each_point_stands_beside_what_its_curve_predicts() -> None:
    rows = summarise(series())
    assert rows["model_s"].tolist() == pytest.approx([changing(size) for size in SIZES], rel=0.05)
    inside = [
        low <= seconds <= high
        for low, seconds, high in zip(
            rows["model_low_s"], rows["median_s"], rows["model_high_s"], strict=True
        )
    ]
    assert sum(inside) >= len(SIZES) - 1
    width = np.asarray(rows["model_high_s"].values) / np.asarray(rows["model_low_s"].values) - 1
    assert width.max() < 0.2, "about five times the scatter of 1 %"


def test_a_series_that_no_curve_fits_predicts_nothing() -> None:
    rows = summarise(series(scatter=0.8))
    assert all(map(math.isnan, rows["model_s"]))
    short = series()
    short.points[:] = short.points[:5]
    assert all(map(math.isnan, summarise(short)["model_s"])), "of five sizes nothing is told"


def test_a_further_measurement_is_in_the_interval() -> None:
    random = np.random.default_rng(2)
    sizes = np.asarray(SIZES, dtype=float)
    held = trials = 0
    for _ in range(300):
        first, more = (
            np.asarray([LAW(size) for size in SIZES])
            * np.exp(0.03 * random.standard_normal(len(SIZES)))
            for _ in range(2)
        )
        fitted = curve(sizes.tolist(), first.tolist(), most_breaks=0)
        assert fitted
        ends = [fitted.predicted(size) for size in SIZES]
        held += sum(e.low <= t <= e.high for e, t in zip(ends, more, strict=True))
        trials += len(SIZES)
    assert 0.93 <= held / trials <= 0.97


def test_tables_and_page_show_the_prediction(isthmus: Command, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    run_file.save(series(), file)
    row = next(csv.DictReader(io.StringIO(isthmus("show", str(file), "--format", "csv").stdout)))
    assert float(row["model_low_s"]) < float(row["model_s"]) < float(row["model_high_s"])
    table = by_name("md").render(series())
    assert "| model | interval |" in table
    index = page.write([("run.json", series())], tmp_path / "page")
    assert "its curve says" in index.read_text()
    plotted = next(csv.DictReader((tmp_path / "page/plots/transfer-rate.csv").open()))
    assert float(plotted["model_low"]) < float(plotted["model"]) < float(plotted["model_high"])
