"""Rows of a run as CSV, JSON and Parquet."""

from __future__ import annotations

import gzip
import importlib.util
import io
import json
import math
import re
import sys
from pathlib import Path

import pandas as pd
import pytest

import isthmus as package
from conftest import Command
from isthmus.analysis.loaded import samples_of
from isthmus.analysis.summary import summarise
from isthmus.analysis.typed import typed, with_run
from isthmus.frames import Frame
from isthmus.reporters.export import FORMATS as EXPORTS

STORED = (
    Path(__file__).parents[1] / "benchmarks" / "results" / "2026-11-22-h200x4-beff-large.json.gz"
)
has_pyarrow = importlib.util.find_spec("pyarrow") is not None


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_bytes(gzip.decompress(STORED.read_bytes()))
    return path


def test_a_hyphen_is_stdout_and_never_a_file(run: Path, isthmus: Command, tmp_path: Path) -> None:
    told = isthmus("export", str(run), "--out", "-", "--format", "json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)[0]["study"] == "beff"
    for words in (("anonymise", str(run)), ("run", "transfer", "--device", "null")):
        refused = isthmus(*words, "--out", "-")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "name another file" in refused.stderr
    assert not (tmp_path / "-").exists()


def read(path: Path) -> pd.DataFrame:
    if path.suffix == ".json":
        return pd.DataFrame(json.loads(path.read_text("utf-8")))
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


def equal(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert list(found.columns) == list(expected.columns)
    assert len(found) == len(expected) > 0
    for name in expected:
        ours, theirs = expected[name], found[name]
        if pd.api.types.is_float_dtype(ours):
            assert theirs.astype(float).to_numpy() == pytest.approx(ours.to_numpy(), nan_ok=True)
        else:
            texts = [
                [
                    "" if pd.isna(v) else str(v).lower().removesuffix(".0").replace("t", " ")
                    for v in values
                ]
                for values in (theirs.astype(object), ours.astype(object))
            ]
            assert texts[0] == texts[1], name


FORMATS = [
    "csv",
    "json",
    pytest.param(
        "parquet",
        marks=[pytest.mark.slow, pytest.mark.skipif(not has_pyarrow, reason="no pyarrow here")],
    ),
]


@pytest.mark.parametrize("form", FORMATS)
def test_files_have_the_rows_of_the_frame(form: str, run: Path, isthmus: Command) -> None:
    ran = isthmus("export", "run.json", "--out", f"rows.{form}")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"rows.{form}\n"
    equal(read(run.with_name(f"rows.{form}")), package.load(run).frame())
    assert isthmus("export", "run.json", "--out", "all", "--format", form, "--samples"
                   ).returncode == 0  # fmt: skip
    run.with_name("all").rename(run.with_name(f"all.{form}"))
    equal(read(run.with_name(f"all.{form}")), package.load(run).samples())


def has_types(rows: pd.DataFrame) -> None:
    """Numbers are numbers, yes and no booleans, texts categories, dates timestamps in UTC."""
    kinds = pd.api.types
    for name, column in rows.items():
        if name == "started":
            assert isinstance(column.dtype, pd.DatetimeTZDtype)
            assert str(column.dtype.tz) == "UTC"
        elif name == "converged":
            assert kinds.is_bool_dtype(column.dtype), name
        elif name in {"bytes", "samples", "reruns", "rerun", "index", "ranks"}:
            assert kinds.is_integer_dtype(column.dtype), name
        elif str(name).endswith(("_s", "_Bps", "_share", "seconds")):
            assert kinds.is_float_dtype(column.dtype), name
        elif name in {"host", "device", "device_name", "operation", "clock", "flags", "verified"}:
            assert isinstance(column.dtype, pd.CategoricalDtype), name
        assert column.dtype != object, name


@pytest.mark.parametrize("samples", [False, True], ids=["rows", "samples"])
def test_pandas_has_a_type_for_each_column(samples: bool, run: Path) -> None:
    loaded = package.load(run)
    rows = loaded.samples() if samples else loaded.frame()
    has_types(rows)
    assert set(rows["host"]) == {loaded.environment.get("host", "")}
    assert set(rows["device_name"]) == {one.name for one in loaded.run.devices} & set(
        rows["device_name"]
    )
    assert rows["device_name"].str.len().gt(0).all()
    assert set(rows["started"]) == {pd.Timestamp(loaded.run.started)}
    if has_pyarrow:
        typed_rows = rows.reset_index(drop=True)
        file = io.BytesIO(EXPORTS["parquet"](with_run(
            samples_of(loaded.run) if samples else summarise(loaded.run), loaded.run
        )))  # fmt: skip
        again = pd.read_parquet(file)
        has_types(again)
        assert list(again.columns) == list(typed_rows.columns)
        schema = pyarrow_schema(file)
        assert re.fullmatch(r"timestamp\[.s, tz=UTC\]", schema["started"])
        assert schema["bytes"] == "int64"
        assert schema["host"].startswith("dictionary<values=")
        if not samples:
            assert schema["converged"] == "bool"
            assert schema["median_s"] == "double"


def pyarrow_schema(file: io.BytesIO) -> dict[str, str]:
    from pyarrow import parquet

    file.seek(0)
    return {field.name: str(field.type) for field in parquet.read_schema(file)}


def test_columns_of_mixed_and_missing_values_have_a_type() -> None:
    rows = typed(Frame({
        "device": ["a", "b", "a"], "depth": [1.0, math.nan, 2.0], "sizes": ["", 1, math.nan],
        "known": [True, math.nan, False], "half": [0.5, 1.0, math.nan], "seconds": [1.0, 2.0, 3.0],
        "started": ["2026-11-27T10:00:00+02:00", "", "no date"],
    }))  # fmt: skip
    assert {name: str(kind) for name, kind in rows.dtypes.items()} == {
        "device": "category", "depth": "Int64", "sizes": "category", "known": "boolean",
        "half": "float64", "seconds": "float64", "started": str(rows["started"].dtype),
    }  # fmt: skip
    assert rows["sizes"].tolist()[:2] == ["", "1"]
    assert rows["depth"].isna().tolist() == [False, True, False]
    assert rows["started"][0] == pd.Timestamp("2026-11-27T08:00:00Z")
    assert rows["started"].isna().tolist() == [False, True, True]


def test_nothing_is_overwritten_and_formats_are_known(run: Path, isthmus: Command) -> None:
    run.with_name("rows.csv").write_text("mine")
    refused = isthmus("export", "run.json", "--out", "rows.csv")
    assert refused.returncode == 2
    assert "nothing is overwritten" in refused.stderr
    assert run.with_name("rows.csv").read_text() == "mine"
    unknown = isthmus("export", "run.json", "--out", "rows.cvs")
    assert unknown.returncode == 2
    assert "unknown format 'cvs'; did you mean csv? known: csv, json, parquet" in unknown.stderr
    nowhere = isthmus("export", "run.json", "--out", "none/rows.csv")
    assert nowhere.returncode == 1
    assert "cannot write none/rows.csv" in nowhere.stderr


def test_without_pyarrow_one_line_names_the_package(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from isthmus import cli

    monkeypatch.setitem(sys.modules, "pyarrow", None)  # an import then fails
    out = run.with_name("rows.parquet")
    monkeypatch.setattr(sys, "argv", ["isthmus", "export", str(run), "--out", str(out)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said == "isthmus: pyarrow is not installed: pip install 'isthmus[parquet]'\n"
    assert not run.with_name("rows.parquet").exists()
