"""Run files and journals from strangers: each ends with one line and exit code 2, or is shown."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import Command
from isthmus.analysis.loaded import LoadedRun
from isthmus.errors import UsageError
from isthmus.results import journal, run_file

SCRIPT = "<script>alert(1)</script>"
Document = dict[str, Any]


@pytest.fixture(scope="module")
def document(run_isthmus: Command, tmp_path_factory: pytest.TempPathFactory) -> Document:
    """A real run of two studies, as the objects of its JSON."""
    folder = tmp_path_factory.mktemp("run")
    for study, more in (("transfer", ["--bytes", "1,4Ki"]), ("allocation", ["--elements", "1Ki"])):
        done = run_isthmus("run", study, "--device", "null:5us,clock=simulated", "--quick", *more,
                           "--out", f"{study}.json", cwd=folder)  # fmt: skip
        assert done.returncode == 0, done.stderr
    done = run_isthmus("run", "transfer", "--device", "null:5us", "--quick", "--bytes", "1,4Ki",
                       "--operation", "write", "--out", "host.json", cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs = [json.loads((folder / f"{n}.json").read_text()) for n in
            ("transfer", "allocation", "host")]  # fmt: skip
    merged: Document = runs[0]
    for other in runs[1:]:
        merged["points"] += other["points"]
        merged["devices"] += other["devices"]
    merged["studies"] = ["transfer", "allocation"]
    return merged


def _changed(document: Document, change: Callable[[Document], object]) -> bytes:
    changed = copy.deepcopy(document)
    change(changed)
    return json.dumps(changed).encode()


def _rerun(document: Document) -> Document:
    rerun: Document = document["points"][-1]["reruns"][0]
    return rerun


def _samples(document: Document) -> Document:
    samples: Document = _rerun(document)["clocks"]["host"]
    return samples


@pytest.mark.parametrize(
    "change",
    [
        lambda d: _rerun(d).update(batch=0),
        lambda d: _rerun(d).update(batch=-1),
        lambda d: _rerun(d).update(measured_s=-1),
        lambda d: _samples(d).update(ticks=[10**400]),
        lambda d: _samples(d).update(ticks=[1, 2], empty_ticks=[1]),
        lambda d: _samples(d).update(seconds_per_tick=0),
        lambda d: _samples(d).update(seconds_per_tick=1e308),
        lambda d: d["points"][0].update(bytes=-1),
        lambda d: d["points"][0].update(moved_bytes=10**30),
        lambda d: d["points"][0].update(axes={"depth": 10**30}),
        lambda d: d["points"][0].update(direction="x" * 100_000),
        lambda d: d["settings"].update(confidence=1.0),
        lambda d: d.update(environment={"x": ["y" * 1000] * 2000}),
        lambda d: d.update(schema="isthmus.run/" + "9" * 100_000),
        lambda d: d.update(points=[{**d["points"][0], "reruns": []}] * 100_001),
    ],
)
def test_impossible_values_are_refused_in_one_short_line(
    document: Document, tmp_path: Path, change: Callable[[Document], object]
) -> None:
    path = tmp_path / "hostile.json"
    path.write_bytes(_changed(document, change))
    with pytest.raises(UsageError) as error:
        run_file.load(path)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < len(str(path)) + 400


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    nested = b"[" * 200_000 + b"]" * 200_000
    path.write_bytes(b'{"schema": "isthmus.run/1", "environment": ' + nested + b"}")
    with pytest.raises(UsageError, match="not a run file"):
        run_file.load(path)
    journal.path_of(path).write_bytes(path.read_bytes())
    with pytest.raises(UsageError, match="not a journal"):
        journal.read(journal.path_of(path))


@pytest.mark.parametrize("size", [1 << 30, 1 << 40])
def test_a_file_that_would_fill_the_memory_is_not_read(tmp_path: Path, size: int) -> None:
    path = tmp_path / "sparse.json"
    with path.open("wb") as file:
        try:
            os.truncate(file.fileno(), size)
        except OSError:
            pytest.skip("this file system has no files of that size")
    with pytest.raises(UsageError, match="larger than"):
        run_file.load(path)
    with pytest.raises(UsageError, match="larger than"):
        journal.read(path)


_LEAVES = st.one_of(
    st.none(), st.booleans(), st.text(max_size=20), st.just(SCRIPT), st.just("\x1b[31m\n"),
    st.sampled_from([-1, 0, 1, 2**62, -(2**62), 2**64, 10**400, 1e308, 5e-324, -0.5, 1e999]),
    st.just([]), st.just({}), st.just([[1]]), st.just({"a": {"b": [None]}}),
)  # fmt: skip


def _places(value: object, place: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
    inner = (
        value.items() if isinstance(value, dict)
        else enumerate(value[:3]) if isinstance(value, list)
        else ()
    )  # fmt: skip
    return [place, *(one for key, child in inner for one in _places(child, (*place, key)))]


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_value_anywhere_is_summarised_or_refused(
    data: st.DataObject, document: Document, tmp_path: Path
) -> None:
    """Rows and findings come of it, or a UsageError; nothing else is raised."""
    changed = copy.deepcopy(document)
    places = [place for place in _places(changed) if place]
    for place in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3)):
        target: Any = changed
        try:
            for key in place[:-1]:
                target = target[key]
            if data.draw(st.integers(0, 9)):
                # A copy: what a later change puts into it must not come back in the next draw.
                target[place[-1]] = copy.deepcopy(data.draw(_LEAVES))
            else:
                del target[place[-1]]
        except (KeyError, IndexError, TypeError):
            continue  # what was there before has been replaced
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(changed))
    with contextlib.suppress(UsageError):
        loaded = LoadedRun(path)
        assert isinstance(loaded.frame(), pd.DataFrame)
        assert isinstance(loaded.findings, list)
        assert isinstance(loaded.answers, list)


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(cut=st.integers(0, 10**6), flips=st.lists(st.tuples(st.integers(0), st.integers(0, 255))))
def test_a_damaged_journal_keeps_what_is_before_the_damage(
    cut: int, flips: list[tuple[int, int]], document: Document, tmp_path: Path
) -> None:
    run = msgspec.convert(document, run_file.Run)
    entries = journal.entries_of(run.points)
    lines = [
        msgspec.json.encode(one) for one in (msgspec.structs.replace(run, points=[]), *entries)
    ]
    data = bytearray(b"\n".join(lines) + b"\n")
    end = cut % (len(data) + 1)
    first = min([end, *(at % len(data) for at, _ in flips)])
    for at, value in flips:
        data[at % len(data)] = value
    path = tmp_path / "run.json.journal"
    path.write_bytes(data[:end])
    whole = bytes(data[:first]).count(b"\n") - 1
    try:
        read, found = journal.read(path)
    except UsageError:
        assert whole < 0 or first < len(lines[0])
    else:
        assert read.studies is not None
        intact = max(whole, 0)
        assert found[:intact] == entries[:intact]


def test_no_text_of_a_file_becomes_script_or_steers_a_terminal(
    document: Document, isthmus: Command, tmp_path: Path
) -> None:
    """Each string of the file that may be any, with markup and with a terminal's escape."""
    free = {
        "name",
        "platform",
        "fault",
        "error",
        "skipped",
        "reason",
        "source",
        "hostname",
        "model",
    }

    def planted(value: object, key: object = "") -> object:
        if isinstance(value, dict):
            return {k: planted(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [planted(v, key) for v in value]
        return f"{value}{SCRIPT}\x1b[31m" if isinstance(value, str) and key in free else value

    (tmp_path / "planted.json").write_text(json.dumps(planted(document)))
    assert isthmus("report", "planted.json", "--out", "page").returncode == 0
    page = (tmp_path / "page" / "index.html").read_text()
    assert "<script>alert" not in page
    for command in (
        ["show"],
        ["show", "--points"],
        ["show", "--format", "md"],
        ["doctor", "--run"],
    ):
        done = isthmus(*command, "planted.json")
        assert done.returncode in {0, 3}, done.stderr
        assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "change",
    [
        lambda d: [point.update(bytes=0) for point in d["points"]],
        lambda d: [point["axes"].update(elements="many") for point in d["points"]],
        lambda d: [
            samples.update(ticks=[-5] * len(samples["ticks"]), empty_ticks=[])
            for point in d["points"]
            for rerun in point["reruns"]
            for samples in rerun["clocks"].values()
        ],
        lambda d: [
            samples.update(seconds_per_tick=5e-324)
            for point in d["points"]
            for rerun in point["reruns"]
            for samples in rerun["clocks"].values()
        ],
    ],
)
def test_values_that_contradict_each_other_are_no_traceback(
    document: Document, isthmus: Command, tmp_path: Path, change: Callable[[Document], object]
) -> None:
    (tmp_path / "odd.json").write_bytes(_changed(document, change))
    commands = [
        ["show"], ["show", "--format", "json"], ["compare", "odd.json"], ["fleet"],
        ["advise", "4Ki"], ["report", "--out", "page"], ["doctor", "--run"],
    ]  # fmt: skip
    for command in commands:
        done = isthmus(*command, "odd.json")
        assert done.returncode in {0, 2, 3, 5}, (command, done.stderr)
        assert done.stderr.count("\n") <= 1


def _grown(count: int, reruns: int) -> Callable[[Document], object]:
    def change(d: Document) -> None:
        last = d["points"][-1]
        one = {**last, "reruns": last["reruns"][:reruns]}
        d.update(points=[{**one, "bytes": n + 1} for n in range(count)])

    return change


@pytest.mark.slow
def test_a_page_of_many_points_is_drawn(
    document: Document, isthmus: Command, tmp_path: Path
) -> None:
    (tmp_path / "many.json").write_bytes(_changed(document, _grown(5500, reruns=1)))
    assert isthmus("report", "many.json", "--out", "page").returncode == 0


def test_a_page_of_very_many_points_is_refused(
    document: Document, isthmus: Command, tmp_path: Path
) -> None:
    (tmp_path / "more.json").write_bytes(_changed(document, _grown(20_001, reruns=0)))
    refused = isthmus("report", "more.json", "--out", "more")
    assert refused.returncode == 2
    assert "a page shows at most 20000" in refused.stderr


def test_figures_of_the_largest_values_end(document: Document, tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_bytes(
        _changed(
            document,
            lambda d: [
                samples.update(ticks=[1 << 62] * len(samples["ticks"]), seconds_per_tick=1.0)
                for point in d["points"]
                for rerun in point["reruns"]
                for samples in rerun["clocks"].values()
            ],
        )
    )
    frame = LoadedRun(path).frame()
    assert frame["median_s"].dropna().map(math.isfinite).all()
