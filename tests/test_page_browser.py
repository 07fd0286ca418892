"""The page in a browser."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

from isthmus.reporters.html import write_page
from pages import SIZES, needs_browser, probed, visit, whole
from synthetic import Law, transfer_run


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    return write_page([("run.json", whole())], tmp_path_factory.mktemp("page"))


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize(("wide", "high"), [(1280, 800), (400, 800)])
def test_first_screen_holds_answer_plot_and_advice(page, tmp_path, wide, high):
    result, seen = probed(page, tmp_path, wide, high)
    assert seen.console == []
    assert seen.requests == []
    assert result["seen"][0] == wide
    assert result["width"] <= wide
    assert result["overlaps"] == []
    assert result["outside"] == []
    assert result["height"] < 5 * high
    heads, *_, plots, advice = result["first"]
    assert len(heads) == 1
    for (_, top, _, bottom), least in ((plots[0], 150), (advice[0], 20)):
        assert min(bottom, high) - top >= least, "of it is on the first screen"
    assert re.search(r", 1 B: [\d.]+ .B/s", result["tip"])


@needs_browser
@pytest.mark.slow
def test_page_is_drawn_under_its_own_policy(page, tmp_path):
    seen = visit(page, tmp_path, "--window-size=1280,800")
    assert seen.console == []
    assert seen.requests == []
    assert '<th scope="col"><button>what</button>' in seen.document, "its script ran"


@needs_browser
@pytest.mark.slow
def test_tables_sort_by_value(page, tmp_path):
    result, _ = probed(page, tmp_path, 1280, 800)
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9}
    values = [
        float(n) * units.get(u, 1.0)
        for n, _, u in (c.partition(" ") for c in result["column"] if c)
    ]
    assert len(values) > 3
    assert values == sorted(values)


@needs_browser
@pytest.mark.slow
def test_axe_finds_nothing_serious(page, tmp_path):
    package = pytest.importorskip("axe_core_python", reason="no axe-core here: make test-all")
    axe = Path(package.__file__).with_name("axe.min.js").read_text("utf-8")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text("utf-8"))
    ask = (
        "axe.run().then((r) => { const p = document.createElement('pre'); p.id = 'probe';"
        "p.textContent = JSON.stringify(r.violations.filter((v) => ['serious', 'critical']"
        ".includes(v.impact)).map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 90))]));"
        "document.body.append(p); });"
    )
    copy = page.parent / "axe.html"
    copy.write_text(
        text.replace("</body>", f"<script>{axe}</script><script>{ask}</script>"), "utf-8"
    )
    seen = visit(copy, tmp_path, "--window-size=1280,800")
    match = re.search(r'<pre id="probe">(.*?)</pre>', seen.document, re.DOTALL)
    assert match
    assert json.loads(unescape(match[1])) == []


@needs_browser
@pytest.mark.slow
def test_browser_check_notices_what_it_looks_for(tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<title>x</title><img src="http://example.invalid/a.png"><script>missing()</script>',
        encoding="utf-8",
    )
    seen = visit(bad, tmp_path)
    assert any("missing is not defined" in line for line in seen.console)
    assert seen.requests == ["http://example.invalid/a.png"]


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("wide", [1280, 400])
def test_two_runs_with_what_changed_fit_without_overlaps(tmp_path, wide):
    runs = [
        (f"{name}.json", transfer_run({"a:x": laws, "b:y": laws}, SIZES, reruns=6, seed=seed))
        for seed, (name, slower) in enumerate((("first-night", 1.0), ("second-night", 1.5)))
        for laws in [{"write": Law(1e-6 * slower, 1e9 / slower), "read": Law(1e-6, 1e9)}]
    ]
    page = write_page(runs, tmp_path / "page")
    result, seen = probed(page, tmp_path, wide, 800)
    assert seen.console == []
    assert result["overlaps"] == []
    assert result["outside"] == []
    assert result["width"] <= wide
    heads, _, verdicts, tiles, *_ = result["first"]
    assert len(heads) == len(verdicts) == 1
    assert len(tiles) == 4, "two sizes of two devices became slower"
