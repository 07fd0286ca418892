"""The page: its text, its files, and what a browser makes of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import altair as alt
import msgspec
import pytest

from conftest import LIMIT_S
from isthmus.analysis.summary import summarise
from isthmus.errors import IsthmusError, UsageError
from isthmus.reporters.html import charts, write_page
from isthmus.results.run_file import DeviceRecord, Run
from synthetic import Law, point, run, transfer_run

HOSTILE = '"><script>alert(1)</script><img src=http://example.invalid/x onerror=alert(2)>'
SIZES = [1, 4096, 1 << 20, 2 << 30]


def whole() -> Run:
    """Two contenders, one with published figures, a memory copy, and an emulated card."""
    slow, fast, copy = Law(15e-6, 8e9), Law(5e-6, 8e9), Law(1e-7, 12e9)
    laws = {"host": {"read": copy}, HOSTILE: {"read": slow}, "xrt:0": {"read": fast}}
    measured = transfer_run(laws, SIZES, apis={"host": "host", "xrt:0": "xrt"})
    card = [
        point("card:x", "read", size, [[fast(size)] * 3], rerun_changes={"clock": "simulated"})
        for size in SIZES
    ]
    lost = point("xrt:0", "write", 64, [[1e-6] * 25], rerun_changes={"verified": "false"})
    device = DeviceRecord(address="card:x", backend="card", real=False)
    return msgspec.structs.replace(
        measured,
        points=[*measured.points, *card, lost],
        devices=[*measured.devices, device],
        environment={"host": "bench", "cpu": HOSTILE, "numa_nodes": {"node0": "0-3"}},
    )


class Seen(HTMLParser):
    """What a parser finds in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self._open.append(tag)

    def handle_data(self, data):
        if self._open:
            self.texts[self._open[-1]] = self.texts.get(self._open[-1], "") + data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    return write_page([("run.json", whole())], tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def text(page) -> str:
    return page.read_text(encoding="utf-8")


def without_scripts(text: str) -> str:
    return re.sub(r"<script\b.*?</script>", "", text, flags=re.DOTALL)


# Text and files


def test_title_is_stable_and_says_which_run(text):
    assert "<title>Isthmus: transfer on bench, 2025-01-01</title>" in text


def test_plots_lie_beside_the_page_and_are_linked(page, text):
    linked = {link["href"] for link in Seen(text).all("a") if "download" in link}
    files = {f"plots/{path.name}" for path in (page.parent / "plots").iterdir()}
    assert linked == files
    stems = {Path(name).stem for name in files}
    assert {f"{stem}.svg" for stem in stems} | {f"{stem}.png" for stem in stems} == {
        Path(name).name for name in files
    }
    assert stems == {
        "run-1-transfer-read-bandwidth",
        "run-1-transfer-read-time",
        "run-1-transfer-write-time",
        "run-1-transfer-read-ratio",
    }
    for path in (page.parent / "plots").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG\r\n")
    svg = (page.parent / "plots" / "run-1-transfer-read-bandwidth.svg").read_text("utf-8")
    assert "published, AWS F1 VU9P: xrt" in svg
    assert svg.count("mark-line") >= 4


def test_nothing_is_loaded_from_anywhere(text):
    seen = Seen(text)
    for tag, attributes in seen.tags:
        for name in ("src", "srcset", "data", "action", "poster"):
            assert name not in attributes, tag
        if tag == "link":
            assert attributes["href"].startswith("data:")
        if tag == "a":
            assert attributes["href"].startswith(("plots/", "#"))
    policy = next(m["content"] for m in seen.all("meta") if "content-security" in str(m).lower())
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "@import" not in text
    assert "url(" not in seen.texts["style"]


def test_names_from_the_run_file_stay_text(text):
    assert HOSTILE not in text
    assert "&lt;script&gt;alert(1)" in without_scripts(text)
    assert not Seen(text).all("img")
    kinds = [script.get("type", "") for script in Seen(text).all("script")]
    assert kinds.count("") == 2, "the library's and the page's own"


def test_text_answers_first_and_labels_what_is_no_hardware(text):
    body = without_scripts(text)
    assert body.index("In short") < body.index("Peaks") < body.index("Bandwidth and time")
    assert "times as long as" in body
    assert "Not hardware: card:x" in body
    assert "card:x (not hardware)" in body
    assert "in 1 the data did not arrive" in body
    assert "does not say whether GB or GiB" in body
    assert "isthmus run transfer" in body


def test_published_figures_are_drawn_only_where_they_fit():
    def series(api: str, operation: str) -> list[str]:
        measured = transfer_run({"d": {operation: Law(1e-6, 1e9)}}, SIZES, apis={"d": api})
        found = charts.figures(measured, summarise(measured), "transfer", "x")
        values = json.dumps(found[0].spec)
        return sorted(set(re.findall(r'"published, AWS F1 VU9P: (\w+)"', values)))

    assert series("opencl", "read") == ["opencl"]
    assert series("xrt", "write_rw") == ["xrt"]
    assert series("cuda", "read") == []
    assert series("xrt", "map") == []


def test_specifications_follow_vega_lites_schema():
    measured = whole()
    for figure in charts.figures(measured, summarise(measured), "transfer", "x"):
        alt.Chart.from_dict(figure.spec, validate=True)
        assert figure.spec["width"] == charts.WIDTH


def test_a_series_keeps_its_colour_in_every_plot():
    measured = whole()
    colours: dict[str, set[str]] = {}
    for figure in charts.figures(measured, summarise(measured), "transfer", "x"):
        for layer in figure.spec["layer"] if figure.kind != "ratio" else []:
            if layer["mark"]["type"] == "line":
                scale = layer["encoding"]["color"]["scale"]
                for name, colour in zip(scale["domain"], scale["range"], strict=True):
                    colours.setdefault(name, set()).add(colour)
    assert len(colours) == 4
    assert all(len(found) == 1 for found in colours.values())


# Runs of all kinds


def many_points() -> Run:
    laws = {f"d{i}": {f"op{i}-{j}": Law(1e-6, 1e9) for j in range(2)} for i in range(2)}
    sizes = [1 + 7 * i for i in range(500)]
    return transfer_run(laws, sizes, samples=2, reruns=1)


UNUSUAL = {
    "no points": (run([]), "This run holds no points."),
    "interrupted": (
        run([point("a", "read", 64, [[1e-6] * 25])], status="interrupted"),
        "This run was interrupted",
    ),
    "out of time": (run([point("a", "read", 64, [[1e-6]])], status="budget"), "time was up"),
    "failed": (
        run([point("a", "read", 64, [], error="cable <cut>")]),
        "Failed: a: cable &lt;cut&gt;",
    ),
    "other study": (
        run([point("a", "bandwidth", 64, [[1e-6] * 25], study="elsewhere")]),
        "<details open>\n<summary>All points (1 rows)",
    ),
    "pairs without an interval": (
        run([point(device, "read", 64, [[1e-6]]) for device in ("a", "b")]),
        "All points (2 rows)",
    ),
    "2000 points": (many_points(), "All points (2000 rows)"),
    "zero times": (run([point("a", "read", 64, [[0.0] * 25])]), "All points (1 rows)"),
}


@pytest.mark.parametrize(("measured", "told"), UNUSUAL.values(), ids=UNUSUAL.keys())
def test_unusual_runs_get_a_page(measured, told, tmp_path):
    page = write_page([("run.json", measured)], tmp_path / "deep" / "er")
    assert told in page.read_text(encoding="utf-8")


def test_several_runs_are_sections_with_plots_of_their_own(tmp_path):
    one = run([point("a", "read", size, [[1e-6] * 25]) for size in SIZES])
    text = write_page([("a.json", one), ("b.json", one)], tmp_path).read_text(encoding="utf-8")
    assert "<title>Isthmus: 2 runs: a.json, b.json</title>" in text
    assert [s["id"] for s in Seen(text).all("section") if "id" in s] == ["run-1", "run-2"]
    assert len(list((tmp_path / "plots").glob("*-read-time.svg"))) == 2


def test_only_pages_of_ours_are_replaced(tmp_path):
    write_page([("a.json", run([]))], tmp_path)
    page = write_page([("b.json", run([]))], tmp_path)
    assert "b.json" not in page.read_text(encoding="utf-8"), "one run needs no name"
    page.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="no page of Isthmus"):
        write_page([("a.json", run([]))], tmp_path)
    assert page.read_text(encoding="utf-8") == "mine"


def test_a_folder_that_cannot_be_written_is_said_in_one_line(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(IsthmusError, match=r"cannot write .*file"):
        write_page([("a.json", run([]))], tmp_path / "file")


# In a browser

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium here to draw the page")


class Visit(NamedTuple):
    """What a browser did with a page."""

    document: str
    console: list[str]
    requests: list[str]
    """Addresses that the page, not the browser itself, asked for, files aside."""


def visit(page: Path, profile: Path, *options: str) -> Visit:
    log = profile / "net.json"
    command = [
        str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
        f"--user-data-dir={profile}", "--host-resolver-rules=MAP * ~NOTFOUND",
        "--disable-background-networking", "--enable-logging=stderr", f"--log-net-log={log}",
        "--virtual-time-budget=60000", *options, "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=LIMIT_S, check=True
    )
    events = json.loads(log.read_text("utf-8"))
    start = events["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    return Visit(
        done.stdout,
        [line for line in done.stderr.splitlines() if "CONSOLE" in line],
        [
            event["params"]["url"]
            for event in events["events"]
            if event["type"] == start
            and "url" in event.get("params", {})
            and event["params"].get("initiator") != "not an origin"
            and not event["params"]["url"].startswith("file:")
        ],
    )


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("width", [1280, 400])
def test_browser_draws_every_plot_and_asks_nobody(page, text, tmp_path, width):
    seen = visit(page, tmp_path, f"--window-size={width},2000")
    assert seen.console == []
    assert seen.requests == []
    document = Seen(seen.document)
    assert "<title>Isthmus: transfer on bench, 2025-01-01</title>" in seen.document
    plots = [figure for figure in document.all("figure") if "data-plot" in figure]
    assert len(plots) == len(Seen(text).all("figure")) == 4
    assert [plot["data-drawn"] for plot in plots] == ["yes"] * 4
    drawn = re.findall(r"<figure.*?</figure>", seen.document, flags=re.DOTALL)
    for figure in drawn:
        assert len(re.findall(r'<path aria-label="[^"]*size', figure)) >= 1, "points"
        assert re.search(r'class="mark-line[^>]*>\s*<path[^>]* d="M', figure), "lines"


@pytest.mark.slow
@needs_browser
def test_browser_check_notices_what_it_looks_for(tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<title>x</title><img src="http://example.invalid/a.png"><script>missing()</script>',
        encoding="utf-8",
    )
    seen = visit(bad, tmp_path)
    assert any("missing is not defined" in line for line in seen.console)
    assert seen.requests == ["http://example.invalid/a.png"]
