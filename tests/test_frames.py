"""Frames against pandas, whose functions they have: the same operations on the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.frames import Frame, Series, concat
from isthmus.reporters.cells import plain

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["a", "b", "c;d"]),
            "size": st.integers(0, 4),
            "time": st.sampled_from([0.5, 1.0, 2.5, math.nan]),
            "axis": st.sampled_from(["", 1, math.nan]),
            "good": st.booleans(),
        }
    ),
    min_size=1,
    max_size=12,
)


def rows_of(table: Frame | pd.DataFrame) -> list[list[Any]]:
    """Rows as plain values, missing ones None."""
    tuples = table.rows() if isinstance(table, Frame) else table.itertuples(index=False, name=None)
    return [[plain(value) for value in row] for row in tuples]


def values_of(column: Any) -> list[Any]:
    return [plain(value) for value in column]


SAME: dict[str, Callable[[Any], Any]] = {
    "equal": lambda t: t[t["name"] == "a"],
    "different": lambda t: t[t["axis"].ne("")],
    "greater": lambda t: t[t["time"].gt(0.7) & t["good"]],
    "neither": lambda t: t[~((t["time"] <= 1) | t["size"].isin([1, 2]))],
    "between": lambda t: t[t["size"].between(1, 3)],
    "known": lambda t: t[t["time"].notna()],
    "contains": lambda t: t[t["name"].str.contains("b|;")],
    "columns": lambda t: t[["size", "name"]][:3],
    "arithmetic": lambda t: t.assign(rate=t["size"] / t["time"] - 1, new="x"),
    "where": lambda t: t.assign(time=t["time"].where(t["size"] > 1)),
    "fill": lambda t: t.assign(time=t["time"].fillna(7.0)),
    "dropna": lambda t: t.dropna(subset=["time", "axis"]),
    "sort": lambda t: t.iloc[np.argsort(t["size"].to_numpy(), kind="stable")],
}


@pytest.mark.parametrize("name", SAME)
@given(rows=ROWS)
def test_selections_and_columns_are_those_of_pandas(name: str, rows: list[dict[str, Any]]) -> None:
    assert rows_of(SAME[name](Frame(rows))) == rows_of(SAME[name](pd.DataFrame(rows)))


@given(rows=ROWS)
def test_orders_groups_and_pairs_are_those_of_pandas(rows: list[dict[str, Any]]) -> None:
    ours, theirs = Frame(rows), pd.DataFrame(rows)
    by = ["name", "time"]
    assert rows_of(ours.sort_values(by)) == rows_of(theirs.sort_values(by, kind="stable"))
    for last in (False, True):
        kept = theirs.drop_duplicates(by, keep="last" if last else "first")
        assert rows_of(ours.drop_duplicates(by, last=last)) == rows_of(kept)
    for dropna in (True, False):
        groups = list(ours.groupby(by, sort=False, dropna=dropna))
        expected = list(theirs.groupby(by, sort=False, dropna=dropna))
        assert [rows_of(part) for _, part in groups] == [rows_of(part) for _, part in expected]
        assert [part.index.tolist() for _, part in groups] == [
            p.index.tolist() for _, p in expected
        ]
    figures = {key: plain(of.median()) for key, of in ours.groupby("size").column("time").items()}
    medians = theirs.groupby("size")["time"].median()
    assert figures == {key: plain(value) for key, value in medians.items()}
    assert list(figures) == medians.index.tolist()
    spread = ours.groupby("name").spread("time", Series.max)
    assert values_of(spread) == values_of(theirs.groupby("name")["time"].transform("max"))
    merged = ours.merge(ours[:4], on=["name", "size"], suffixes=("", "_of"))
    expected_pairs = theirs.merge(theirs[:4], on=["name", "size"], suffixes=("", "_of"))
    assert merged.columns == expected_pairs.columns.tolist()
    assert rows_of(merged) == rows_of(expected_pairs)
    assert rows_of(concat([ours, ours[["size"]]])) == rows_of(pd.concat([theirs, theirs[["size"]]]))


@given(rows=ROWS)
def test_figures_of_a_column_are_those_of_pandas(rows: list[dict[str, Any]]) -> None:
    ours, theirs = Frame(rows), pd.DataFrame(rows)
    for name in ("size", "time"):
        for figure in ("mean", "median", "min", "max", "nunique", "sum"):
            found, expected = (plain(getattr(table[name], figure)()) for table in (ours, theirs))
            assert found == pytest.approx(expected), (name, figure)
    assert plain(ours["time"].mean(skipna=False)) == pytest.approx(
        plain(theirs["time"].mean(skipna=False))
    )
    if theirs["time"].notna().any():
        assert ours["time"].idxmax() == theirs["time"].idxmax()
        assert ours["time"].idxmin() == theirs["time"].idxmin()
    assert values_of(ours["name"].unique()) == values_of(theirs["name"].unique())
    assert rows_of(ours.to_pandas()) == rows_of(ours)


def test_a_frame_without_rows_has_its_columns() -> None:
    empty = Frame(columns=["size", "name"])
    assert empty.columns == ["size", "name"]
    assert empty.empty
    assert empty[empty["name"] == "a"][empty["size"].to_numpy() > 1].columns == ["size", "name"]
    assert list(empty.groupby("name")) == []
    assert math.isnan(empty["size"].max())


def test_keys_without_an_order_are_groups_as_they_come() -> None:
    frame = Frame({"axis": ["b", 2, math.nan, "b"], "row": [0, 1, 2, 3]})
    groups = [list(rows["row"]) for _, rows in frame.groupby("axis", dropna=False)]
    assert groups == [[0, 3], [1], [2]]
