"""A plot that cannot be drawn costs that plot, whatever the library that draws does."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from conftest import Command
from isthmus.reporters.html import page, vega, write_page
from isthmus.reporters.html.charts import figures
from isthmus.reporters.html.layout import THEME
from isthmus.reporters.html.vega import NotDrawnError, Vega
from isthmus.results import run_file
from isthmus.results.run_file import Run
from synthetic import Law, transfer_run

CONTROLS = "\x00\x01\x07\x1b\x7f\x9b\u202e\u2028\ufffe\uffff"
"""The library that measures texts aborts the process at some of them."""
WhatDraws = Callable[[], list[psutil.Process]]
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
    for module in ("msgspec", "json", "vl_convert", "isthmus", "select", "struct"):
        (tmp_path / f"{module}.py").write_text("open('owned', 'w')")
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
    assert not (tmp_path / "owned").exists(), "the process that draws imports nothing from here"


@pytest.fixture
def what_draws() -> WhatDraws:
    """Processes that draw and that the test has started: the process of other tests stays."""
    others = {child.pid for child in psutil.Process().children()}

    def found() -> list[psutil.Process]:
        drawing = []
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.ZombieProcess):
                if child.pid not in others and vega.__name__ in child.cmdline():
                    drawing.append(child)
        return drawing

    return found


def kill(processes: list[psutil.Process]) -> None:
    """Ends the process that draws as a crash does."""
    assert processes
    for one in processes:
        one.send_signal(signal.SIGABRT)


def test_a_crash_costs_one_plot_and_the_page_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what_draws: WhatDraws
) -> None:
    def crashing(name: str, *more: Any) -> list[Any]:
        if name != "x":
            return figures(name, *more)
        first, *others = figures(name, *more)

        def draw(*_: object) -> dict[str, Any]:
            kill(what_draws())
            return TITLED

        return [dataclasses.replace(first, draw=draw, title="Breaks"), *others]

    monkeypatch.setattr(page, "figures", crashing)
    monkeypatch.setattr(page, "Vega", Vega)
    text = write_page([("run.json", hostile())], tmp_path).read_text("utf-8")
    missing = re.findall(r"This plot is missing: (.*)\.</p>", text)
    assert missing == ["the library that draws crashed (SIGABRT)"]
    broken = text[text.index("Breaks</h3>") :]
    assert re.findall(r'href="plots/([^"]*)"', broken[: broken.index("</figure>")])
    for file in re.findall(r'href="plots/([^"]*)"', text):
        assert (tmp_path / "plots" / file).stat().st_size > 0, "no link to a file that is not there"
    assert "<svg" in text, "the other plots are there"
    assert not what_draws()


def test_the_next_drawing_is_made_by_a_new_process(what_draws: WhatDraws) -> None:
    with Vega() as drawing:
        before = drawing.svg(TITLED, THEME)
        kill(what_draws())
        with pytest.raises(NotDrawnError, match="crashed"):
            drawing.svg(TITLED, THEME)
        assert drawing.svg(TITLED, THEME) == before
        assert drawing.pdf(before).startswith(b"%PDF")
        assert drawing.png(before, 1.0).startswith(b"\x89PNG")


def test_what_the_library_refuses_is_said_and_ends_nothing() -> None:
    with Vega() as drawing:
        with pytest.raises(NotDrawnError, match=r"^\S.*$"):
            drawing.svg({"mark": "no such mark", "data": {"url": 1}}, THEME)
        with pytest.raises(NotDrawnError):
            drawing.pdf("<svg")
        assert "<svg" in drawing.svg(TITLED, THEME)


def test_a_process_that_is_stuck_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    with Vega() as drawing:
        monkeypatch.setattr(vega, "ANSWER_S", 0.0)
        with pytest.raises(NotDrawnError, match="was stuck"):
            drawing.svg(TITLED, THEME)
        monkeypatch.undo()
        assert "<svg" in drawing.svg(TITLED, THEME)
