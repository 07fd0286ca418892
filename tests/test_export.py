"""Rows of a run as CSV, JSON and Parquet."""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from pathlib import Path

import pandas as pd
import pytest

import isthmus as package
from conftest import Command

STORED = (
    Path(__file__).parents[1] / "benchmarks" / "results" / "2026-11-22-h200x4-beff-large.json.gz"
)
has_pyarrow = importlib.util.find_spec("pyarrow") is not None


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_bytes(gzip.decompress(STORED.read_bytes()))
    return path


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
                ["" if pd.isna(v) else str(v).lower().removesuffix(".0") for v in values]
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

    found = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "pyarrow" else found(name)
    )
    out = run.with_name("rows.parquet")
    monkeypatch.setattr(sys, "argv", ["isthmus", "export", str(run), "--out", str(out)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "isthmus: Parquet needs pyarrow: pip install pyarrow\n"
    assert not run.with_name("rows.parquet").exists()
