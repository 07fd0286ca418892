"""A plot that cannot be drawn costs that plot alone."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import Command
from isthmus.reporters.html import page, vega, write_page
from isthmus.reporters.html.charts import figures
from isthmus.reporters.html.layout import THEME
from isthmus.results import run_file
from isthmus.results.run_file import Run
from synthetic import Law, transfer_run

CONTROLS = "\x00\x01\x07\x1b\x7f\x9b\u202e\u2028\ufffe\uffff"
"""The library that measures texts aborts the process at some of them."""
LAWS = {"write": Law(1e-6, 1e9), "read": Law(1e-6, 1e9)}
TITLED = {"data": {"values": [{"x": 1}]}, "mark": "point", "title": "a"}


def hostile() -> Run:
    """Two devices and kinds of memory, whose names are in every text of their plots."""
    devices = (f"opencl:a{CONTROLS}", f"cuda:b{CONTROLS}")
    run = transfer_run(dict.fromkeys(devices, LAWS), [64, 4096, 1 << 20])
    changed = [
        msgspec.structs.replace(point, axes={**point.axes, CONTROLS: CONTROLS})
        for point in run.points
    ]
    other = [
        msgspec.structs.replace(
            point, study="x", operation=point.operation + CONTROLS, memory=point.memory + CONTROLS
        )
        for point in changed
    ]
    return msgspec.structs.replace(run, points=[*changed, *other], studies=["transfer", "x"])


def test_control_characters_are_drawn_as_escapes(run_isthmus: Command, tmp_path: Path) -> None:
    run_file.save(hostile(), tmp_path / "run.json")
    done = run_isthmus("report", "run.json", "--out", "page", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "page" / "index.html").read_text("utf-8")
    assert "This plot is missing" not in text
    drawn = list((tmp_path / "page" / "plots").iterdir())
    assert {file.suffix for file in drawn} == {".svg", ".pdf", ".png", ".csv"}
    for file in drawn:
        assert file.stat().st_size > 0
        if file.suffix in {".svg", ".csv"}:
            assert r"\x1b" in file.read_text("utf-8")
            assert all(line.isprintable() for line in file.read_text("utf-8").split("\n"))


def test_a_plot_that_is_refused_costs_that_plot_and_the_page_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(name: str, *more: Any) -> list[Any]:
        if name != "x":
            return figures(name, *more)
        first, *others = figures(name, *more)
        return [
            dataclasses.replace(first, draw=lambda *_: {"mark": "no such mark"}, title="Breaks"),
            *others,
        ]

    monkeypatch.setattr(page, "figures", refused)
    text = write_page([("run.json", hostile())], tmp_path).read_text("utf-8")
    (missing,) = re.findall(r"This plot is missing: (.*)\.</p>", text)
    assert missing
    broken = text[text.index("Breaks</h3>") :]
    assert re.findall(r'href="plots/([^"]*)"', broken[: broken.index("</figure>")])
    for file in re.findall(r'href="plots/([^"]*)"', text):
        assert (tmp_path / "plots" / file).stat().st_size > 0, "no link to a file that is not there"
    assert "<svg" in text, "the other plots are there"


def test_what_the_library_refuses_is_said() -> None:
    with pytest.raises(vega.NotDrawnError, match=r"^\S.*$"):
        vega.svg({"mark": "no such mark", "data": {"url": 1}}, THEME)
    with pytest.raises(vega.NotDrawnError):
        vega.pdf("<svg")
    drawing = vega.svg(TITLED, THEME)
    assert vega.pdf(drawing).startswith(b"%PDF")
    assert vega.png(drawing, 1.0).startswith(b"\x89PNG")
