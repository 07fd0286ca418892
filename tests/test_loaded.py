"""Run files in Python, as docs/python.md shows them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import isthmus as package
from conftest import Command
from isthmus.errors import UsageError
from isthmus.reporters import by_name

DOCS = Path(__file__).parents[1] / "docs" / "python.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, run_isthmus: Command) -> Path:
    folder = tmp_path_factory.mktemp("loaded")
    for name, device in (("first", "card:u250"), ("second", "card:u250,link.lanes=8")):
        ran = run_isthmus(
            "run", "transfer", "--device", device, "--bytes", "4Ki,16Mi", "--operation",
            "read,write", "--out", f"{name}.json", cwd=folder,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
    return folder


def test_the_examples_of_the_docs_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert len(names["writes"]) == 2
    printed = capsys.readouterr().out
    assert names["first"].findings[0].sentence in printed
    assert re.search(r"write 16Mi 1\.[67]\d times as long", printed)
    assert "link.lanes" in printed


def test_the_frame_is_what_csv_shows(folder: Path) -> None:
    loaded = package.load(folder / "first.json")
    text = by_name("csv").render(loaded.run)
    assert [*text.splitlines()[0].split(","), "host", "device_name", "started"] == list(
        loaded.frame().columns
    )
    assert len(text.splitlines()) == 1 + len(loaded.frame())
    changed = loaded.frame()
    changed["bytes"] = 0
    assert loaded.frame()["bytes"].gt(0).all(), "a copy each time"


def test_samples_are_all_that_were_taken(folder: Path) -> None:
    loaded = package.load(str(folder / "first.json"))
    samples = loaded.samples()
    taken = sum(
        len(one.ticks) for p in loaded.run.points for r in p.reruns for one in r.clocks.values()
    )
    assert len(samples) == taken > 0
    medians = samples.groupby(["operation", "bytes"], observed=True)["seconds"].median()
    rows = loaded.frame().set_index(["operation", "bytes"])["median_s"]
    assert medians.to_dict() == pytest.approx(rows.to_dict())


def test_another_file_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(UsageError, match="not a run file"):
        package.load(tmp_path / "x.json")
