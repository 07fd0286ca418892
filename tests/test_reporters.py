"""Each format, read back."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import types

import msgspec
import numpy as np
import pandas as pd
import pytest

from isthmus import reporters
from isthmus.analysis.changes import Side, compare
from isthmus.analysis.summary import COLUMNS, summarise
from isthmus.errors import UsageError
from isthmus.frames import Frame
from isthmus.reporters import cells, comparison
from isthmus.reporters.html import write_page
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.statistics import over_processes
from isthmus.units import printable
from isthmus.written import csv_text
from synthetic import Law, point, rerun, run, transfer_run

HOSTILE = 'a|b,"c"\n<script>alert(1)</script>\x1b[31m[bold]`x`\u202e'
RUN = transfer_run(
    {
        "opencl:a": {"read": Law(15e-6, 8e9), "write": Law(12e-6, 8e9)},
        "b": {"read": Law(5e-6, 8e9)},
    },
    [1, 4096, 1 << 20, 2 << 30],
)
BROKEN = run(
    [
        point("a", "read", 1 << 20, [[1e-3] * 25] * 2),
        point("a", "read", 2 << 20, [[1e-3] * 25], rerun_changes={"verified": "false"}),
        point("a", "write", 1 << 20, [], error="gone"),
        point("a", "launch", 0, [[2e-6] * 25], memory="", moved_bytes=0, axes={"bank": 0}),
    ],
    status="interrupted",
)
EMPTY = run([])


def rendered(name: str, of: Run, **options) -> str:
    return reporters.by_name(name).render(of, **options)


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_registry_has_what_is_in_the_folder_and_what_others_bring(monkeypatch):
    assert set(reporters.registry()) >= {"summary", "table", "csv", "json", "md"}
    other = reporters.Reporter("yaml", "", lambda _: "text")
    entry = types.SimpleNamespace(name="yaml", load=lambda: other)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry] if group else [])
    reporters.registry.cache_clear()
    try:
        assert reporters.by_name("yaml").render(RUN) == "text"
        with pytest.raises(UsageError, match=r"unknown format 'xml'; known: .*csv.*yaml"):
            reporters.by_name("xml")
    finally:
        reporters.registry.cache_clear()


@pytest.mark.parametrize("name", ["summary", "table", "csv", "json", "md"])
@pytest.mark.parametrize("of", [RUN, BROKEN, EMPTY], ids=["whole", "broken", "empty"])
def test_every_format_ends_its_last_line(name, of):
    text = rendered(name, of)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert not re.search(r"\bnan\b", text, re.IGNORECASE)


# csv


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
def test_no_cell_of_csv_is_a_formula(start, tmp_path):
    device = f"{start}HYPERLINK(A1)"
    hostile = transfer_run(
        {device: {"read": Law(1e-6, 1e9)}, "b": {"read": Law(2e-6, 1e9)}}, [1, 2]
    )
    texts = [rendered("csv", hostile), rendered("csv", hostile, samples=True)]
    sides = [Side(name, [hostile]) for name in ("a", "b")]
    texts.append(comparison.FORMATS["csv"](compare(*sides), None))
    for text in texts:
        assert {row["device"] for row in read_csv(text)} == {f"'{printable(device)}", "b"}
    write_page([(f"{name}.json", hostile) for name in (f"{start}1+x", "b")], tmp_path)
    drawn = (tmp_path / "plots" / "transfer-rate.csv").read_text("utf-8")
    assert any(row["series"].startswith(f"'{printable(start)}") for row in read_csv(drawn))
    for row in read_csv(drawn):
        assert not row["series"].startswith(start)


def test_numbers_of_csv_stay_numbers():
    rows = [[-1.5, "-1.5", "+2e-9", "-", "-rm", 3]]
    assert csv_text(["=a"], rows) == "'=a\n-1.5,-1.5,+2e-9,'-,'-rm,3\n"


def test_csv_has_the_contracts_columns_then_the_axes():
    header = rendered("csv", RUN).splitlines()[0]
    assert header == ",".join([*COLUMNS, "depth", "bank"])
    assert rendered("csv", EMPTY) == ",".join(COLUMNS) + "\n"


def test_csv_keeps_full_precision_and_plain_values():
    rows = read_csv(rendered("csv", RUN))
    summary = summarise(RUN).to_pandas()
    assert len(rows) == len(summary) == 12
    for row, truth in zip(rows, summary.to_dict("records"), strict=True):
        assert row["bytes"] == str(truth["bytes"])
        assert float(row["median_s"]) == truth["median_s"]
        assert float(row["bandwidth_Bps"]) == truth["bandwidth_Bps"]
        assert row["verified"] == "true"
        assert row["converged"] in {"true", "false"}
        assert row["depth"] == "1"


def test_csv_round_trips_through_pandas():
    back = pd.read_csv(io.StringIO(rendered("csv", RUN)), keep_default_na=False)
    for name in ("median_s", "ci_low_s", "max_s", "bytes", "samples", "depth"):
        np.testing.assert_array_equal(back[name], summarise(RUN).to_pandas()[name])


def test_csv_leaves_missing_figures_empty_and_axes_whole():
    rows = read_csv(rendered("csv", BROKEN))
    failed = next(row for row in rows if row["operation"] == "write")
    assert [failed[name] for name in ("median_s", "cold_s", "bandwidth_Bps")] == ["", "", ""]
    assert (failed["samples"], failed["converged"], failed["flags"]) == ("0", "false", "failed")
    launch = next(row for row in rows if row["operation"] == "launch")
    assert (launch["bytes"], launch["depth"], launch["bank"]) == ("0", "", "0")
    assert launch["bandwidth_Bps"] == ""
    assert {row["verified"] for row in rows} == {"true", "false", "na"}


def test_csv_samples_are_the_raw_ones_per_repetition():
    first = rerun(0, [2e-6, 4e-6, 6e-6], batch=2)
    second = rerun(1, [8e-6], clock="device")
    measured = msgspec.structs.replace(point("a", "read", 64, []), reruns=[first, second])
    rows = read_csv(rendered("csv", run([measured]), samples=True))
    assert list(rows[0]) == [
        "study", "device", "api", "operation", "memory", "bytes", "direction", "initiator",
        "rerun", "index", "clock", "seconds", "batch", "depth", "bank",
    ]  # fmt: skip
    samples = [(r["rerun"], r["index"], r["clock"], r["batch"]) for r in rows]
    assert samples == [
        ("0", "0", "host", "2"), ("0", "1", "host", "2"), ("0", "2", "host", "2"),
        ("1", "0", "device", "1"),
    ]  # fmt: skip
    assert [float(r["seconds"]) for r in rows] == pytest.approx([1e-6, 2e-6, 3e-6, 8e-6])


# json


def test_json_rows_are_the_csvs():
    rows = json.loads(rendered("json", BROKEN))["points"]
    texts = read_csv(rendered("csv", BROKEN))
    assert len(rows) == len(texts) == 4
    for row, text in zip(rows, texts, strict=True):
        assert list(row) == list(text)
        for name, value in row.items():
            shown = "" if value is None else str(value).lower() if value in (True, False) else value
            if isinstance(value, float):
                assert float(text[name]) == value
            elif name not in {"bytes", "samples", "reruns", "depth", "bank"}:
                assert text[name] == shown
            else:
                assert text[name] == ("" if value is None else str(value))


def test_json_samples_stand_beside_their_row():
    rows = json.loads(rendered("json", RUN, samples=True))["points"]
    for row in rows:
        assert [series["rerun"] for series in row["seconds"]] == [0, 1, 2]
        assert sum(len(series["seconds"]) for series in row["seconds"]) == row["samples"]
        medians = [float(np.median(series["seconds"])) for series in row["seconds"]]
        assert over_processes(medians).value == pytest.approx(row["median_s"])
    broken = json.loads(rendered("json", BROKEN, samples=True))["points"]
    assert next(row for row in broken if row["operation"] == "write")["seconds"] == []


def test_json_of_a_run_without_points_has_empty_lists():
    assert json.loads(rendered("json", EMPTY)) == {"findings": [], "curves": [], "points": []}


# For people


@pytest.mark.parametrize("name", ["table", "md"])
def test_texts_show_sizes_and_units(name):
    text = rendered(name, RUN)
    assert all(size in text for size in ("4Ki", "1Mi", "2Gi"))
    assert " us" in text
    assert "GB/s" in text


def test_a_narrow_terminal_goes_without_columns_and_says_which(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = rendered("table", RUN).splitlines()
    assert max(map(len, lines)) <= 80
    (text,) = (line for line in lines if line.startswith("left out in 80 columns: "))
    gone = text.partition(": ")[2].partition(" (")[0].split(", ")
    headings = next(line for line in lines if "median" in line)
    assert gone
    assert not any(f" {name} " in f" {headings} " for name in gone)


@pytest.mark.parametrize("name", ["table", "md"])
def test_texts_explain_the_flags_they_show(name):
    text = rendered(name, BROKEN)
    assert "interrupted" in text.splitlines()[0]
    assert "the device or its worker failed" in text


@pytest.mark.parametrize("name", ["table", "md"])
def test_texts_refuse_samples(name):
    with pytest.raises(UsageError, match=f"format '{name}' shows no samples; csv, json can"):
        reporters.by_name(name, samples=True)


@pytest.mark.parametrize("name", ["table", "md"])
@pytest.mark.parametrize("several", [1, 2])
def test_devices_that_are_no_hardware_say_so(name, several, monkeypatch):
    monkeypatch.setenv("COLUMNS", "240")
    measured = [point("card:x", "read", 64 << i, [[1e-6] * 25]) for i in range(several)]
    device = DeviceRecord(address="card:x", backend="card", real=False)
    assert "card:x (not hardware)" in rendered(name, run(measured, devices=[device]))


def test_hostile_names_change_no_format(monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    hostile = transfer_run({HOSTILE: {"read": Law(1e-6, 1e9)}, "b": {"read": Law(2e-6, 1e9)}}, [1])
    assert [row["device"] for row in read_csv(rendered("csv", hostile))] == [
        printable(HOSTILE),
        "b",
    ]
    points = json.loads(rendered("json", hostile))["points"]
    assert [row["device"] for row in points] == [HOSTILE, "b"]
    table, md = rendered("table", hostile), rendered("md", hostile)
    for text in (table, md):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "[bold]" in table, "no markup of the terminal's"
    rows = [line for line in md.splitlines() if line.startswith("|")]
    assert len({line.replace(r"\|", "").count("|") for line in rows}) == 1
    assert "<script" not in md.replace(r"\<", "")


@pytest.mark.parametrize("columns", [40, 100, 200])
def test_terminal_table_cuts_no_figure_short(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = rendered("table", RUN)
    assert sum(line.startswith((" opencl:a ", " b ")) for line in text.splitlines()) == 12
    for name in ("median_s", "bandwidth_Bps", "bytes"):
        for value in summarise(RUN).to_pandas()[name]:
            assert re.search(rf" {cells.cell(name, value)}(?: |$)", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("median_s", 1.62e-5, "16.2 us"),
        ("median_s", math.nan, ""),
        ("ci_high_s", math.inf, "unbounded"),
        ("bandwidth_Bps", 12.34e9, "12.3 GB/s"),
        ("bytes", 2 << 30, "2Gi"),
        ("bytes", 0, "0"),
        ("worst_residual", -0.034, "-3.4 %"),
        ("share", 0.834, "83 %"),
        ("converged", np.bool_(False), "no"),
        ("samples", 75, "75"),
        ("memory", None, ""),
        ("device", "a\tb", r"a\tb"),
    ],
)
def test_cells_say_their_unit(name, value, text):
    assert cells.cell(name, value) == text


def test_intervals_are_one_column_and_say_what_they_speak_for():
    frame = Frame(
        {
            "device": ["a", "b"],
            "alpha_s": [1e-6, 1e-3],
            "low_alpha_s": [0.9e-6, math.nan],
            "high_alpha_s": [1.1e-6, 2e-3],
            "within": [True, False],
            "published_Bps": [12.5e9, math.nan],
            "note": ["", ""],
        }
    )
    table = cells.table(frame, {"b": "b (not hardware)"})
    assert table.headings == ["device", "alpha", "interval", "published"], (
        "an empty one is left out"
    )
    assert table.rows == [
        ["a", "1.00 us", "900 ns to 1.10 us (within)", "12.5 GB/s"],
        ["b (not hardware)", "1.00 ms", "", ""],
    ]
