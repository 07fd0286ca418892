"""The page: its text, its files, and what a browser makes of it."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import altair as alt
import msgspec
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LIMIT_S
from isthmus import published
from isthmus.errors import IsthmusError, UsageError
from isthmus.reporters.html import charts, drawing, write_page
from isthmus.results import run_file
from isthmus.results.run_file import DeviceRecord, Run
from synthetic import Law, answer, point, run, transfer_run

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


# A browser

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


PROBE = """
const shown = (e) => e.getClientRects().length > 0;
const box = (e) => {
  const { left, top, right, bottom } = e.getBoundingClientRect();
  return [left, top, right, bottom];
};
const name = (s) => [...document.querySelectorAll(s)].filter(shown).map(box);
const overlaps = [], outside = [];
for (const svg of document.querySelectorAll(".panels svg")) if (shown(svg)) {
  const all = [...svg.querySelectorAll("text")].map((t) => [t.textContent, ...box(t)]);
  const [left, , right] = box(svg);
  for (const [told, l, , r] of all) if (l < left - 1 || r > right + 1) outside.push(told);
  all.forEach((a, i) => all.slice(i + 1).forEach((b) => {
    const same = a.join() === b.join();
    const wide = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
    const high = Math.min(a[4], b[4]) - Math.max(a[2], b[2]);
    if (!same && wide > 1 && high > 3) overlaps.push([a[0], b[0]]);
  }));
}
const canvas = document.querySelector(".canvas");
canvas.focus();
canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
const tip = document.getElementById("tip").textContent;
document.querySelector("[value=linear]")?.click();
const scale = document.querySelector("figure").dataset.scale;
const th = [...document.querySelectorAll("thead th")].find((t) => t.textContent === "value");
th?.querySelector("button").click();
const column = th ? [...th.closest("table").tBodies[0].rows].map(
  (r) => r.cells[th.cellIndex].textContent) : [];
parent.postMessage(JSON.stringify({
  overlaps, outside, tip, scale, column, first: ["h1", ".state", ".verdict", ".tiles li",
    ".canvas", "aside"].map((s) => name(s).slice(0, 4)),
  width: document.documentElement.scrollWidth, height: document.documentElement.scrollHeight,
  seen: [innerWidth, innerHeight], figures: name("figure").length,
}), "*");
"""


FRAME = """
<body style="margin:0"><iframe src="probed.html" style="border:0" width="{}" height="{}"></iframe>
<script>onmessage = (e) => {{
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = e.data;
  document.body.append(out);
}}</script>
"""


def probed(page: Path, profile: Path, wide: int, high: int):
    """What the page looks like at that size, as its elements say, and what the browser logged.

    In a frame, because a window is at least 500 pixels wide.
    """
    text = page.read_text("utf-8")
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    probe = f"<script>{PROBE}</script></body>"
    (page.parent / "probed.html").write_text(free.replace("</body>", probe), "utf-8")
    (page.parent / "frame.html").write_text(FRAME.format(wide, high), "utf-8")
    seen = visit(page.parent / "frame.html", profile, "--window-size=1400,900")
    match = re.search(r'<pre id="probe">(.*?)</pre>', seen.document, re.DOTALL)
    assert match, seen.console
    return json.loads(unescape(match[1])), seen


# Text and files


def test_the_answer_comes_first_and_the_method_last(text):
    body = without_scripts(text)
    order = [
        "<h1>", 'class="state"', 'class="verdict"', 'class="tiles"', "<figure", "What to do",
        'aria-label="Contents"', 'id="transfer"', ": findings", "<details>",
        'id="method"', "Measured with", "All points (",
    ]  # fmt: skip
    places = [body.index(mark) for mark in order]
    assert places == sorted(places)
    assert "simulated" in body
    assert "in 1 the data did not arrive" in body
    assert re.search(r"<title>Isthmus: [^<]*, 2025-01-01</title>", text)


def test_studies_come_in_the_order_of_use(tmp_path):
    names = ["mmio", "own", "beff", "transfer"]
    points = [point("a", "read", size, [[1e-6] * 25], study=n) for n in names for size in SIZES]
    text = write_page([("a", run(points))], tmp_path).read_text("utf-8")
    sections = re.findall(r'<section id="(\w+)"', text)
    assert [name for name in sections if name in names] == ["transfer", "beff", "mmio", "own"]


def test_plots_lie_beside_the_page_in_four_formats(page, text):
    linked = {link["href"] for link in Seen(text).all("a") if "download" in link}
    files = {f"plots/{path.name}" for path in (page.parent / "plots").iterdir()}
    assert linked == files == {f"plots/transfer-rate.{e}" for e in ("svg", "pdf", "png", "csv")}
    starts = {"svg": b"<svg", "pdf": b"%PDF", "png": b"\x89PNG", "csv": b"panel,series,bytes"}
    for ending, start in starts.items():
        content = (page.parent / "plots" / f"transfer-rate.{ending}").read_bytes()
        assert content.startswith(start)
    picture = (page.parent / "plots" / "transfer-rate.svg").read_text("utf-8")
    assert "var(" not in picture, "a file has colours of its own"
    assert "memcpy" in picture
    drawn = pd.read_csv(page.parent / "plots" / "transfer-rate.csv")
    (rate,) = drawn[(drawn["series"] == "memcpy") & (drawn["bytes"] == 1 << 20)]["GB_per_s"]
    assert rate == pytest.approx((1 << 20) / Law(1e-7, 12e9)(1 << 20) / 1e9, rel=0.05)


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
    assert "url(" not in text
    assert len(text.encode()) < 1_500_000


def test_names_from_the_run_file_stay_text(text):
    assert HOSTILE not in text
    assert "&lt;script&gt;alert(1)" in without_scripts(text)
    assert not Seen(text).all("img")
    assert len(Seen(text).all("script")) == 1, "the page's own"


def test_headings_and_regions_are_in_order_and_named(text):
    seen = Seen(text)
    levels = [int(tag[1]) for tag, _ in seen.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    for tag, attributes in seen.tags:
        if tag == "nav" or attributes.get("role") in {"region", "img", "group"}:
            assert attributes["aria-label"]
    ids = [attributes["id"] for _, attributes in seen.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {a["href"][1:] for a in seen.all("a") if a["href"].startswith("#")}
    assert targets <= set(ids)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_text_and_lines_stand_out_in_light_and_dark(text):
    style = Seen(text).texts["style"]
    themes = [
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    ]
    assert len(themes) == 2
    for theme in themes:
        for name in ("ink", "quiet", "accent", *(f"c{i}" for i in range(1, 9))):
            assert contrast(theme[name], theme["ground"]) >= 4.5, name
    drawn = {name: colour for name, colour in drawing.LIGHT.items() if name != "ground"}
    assert {name: themes[0][name] for name in drawn} == drawn


def test_pairs_are_listed_once(tmp_path):
    """The table of differences has each two kinds in both orders; the page shows one of them."""
    axes = {"elements": 1024, "handover": "user_pointer", "relative_offset": 0}
    points = [
        point("d", operation, 4096, [[seconds * factor] for factor in (1, 1.01, 1.02)],
              study="allocation", memory=memory, axes=axes, moved_bytes=0,
              rerun_changes={"state": "once", "intervals": 0})
        for memory, factor in (("aligned", 1.0), ("pinned", 2.0), ("pageable", 3.0))
        for operation, seconds in (("map", 1e-3 * factor), ("total", 3e-3 * factor))
    ]  # fmt: skip
    kinds = answer(run(points), "deltas").table
    assert len(kinds) == 2 * 3 * 3, "map, total and the algorithm, which is the map here"
    text = unescape(write_page([("a", run(points))], tmp_path).read_text("utf-8"))
    table = text.partition("How much does the kind of host memory matter?</summary>")[2]
    body = table.partition("<tbody>")[2].partition("</tbody>")[0]
    assert body.count("<tr>") == len(kinds) / 2


# Plots


def drawn(measured: Run, study: str = "transfer") -> list[drawing.Figure]:
    return charts.figures(study, [charts.Source("x", measured)], charts.Palette())


def texts(figure: drawing.Figure) -> str:
    return json.dumps([figure.draw(i, 360, True) for i in range(figure.panels)])


def test_published_marks_are_of_the_same_board_only():
    def marks(device: str, api: str) -> list[str]:
        measured = transfer_run({device: {"write": Law(1e-6, 1e9)}}, SIZES, apis={device: api})
        names = [DeviceRecord(address=device, backend="x", real=True, name=device, api=api)]
        (figure,) = drawn(msgspec.structs.replace(measured, devices=names))
        drawn_marks = re.findall(r"published, AWS F1[^:]*2024\), (\w+) write, [^:]*: [\d.]+ GiB/s",
                                 texts(figure))  # fmt: skip
        return sorted(set(drawn_marks))

    assert marks("xrt f1-vu9p", "xrt") == ["xrt"]
    assert marks("opencl f1-vu9p", "opencl") == ["opencl"]
    assert marks("xrt u250", "xrt") == []
    assert marks("cuda:0", "cuda") == []


def test_specifications_follow_vega_lites_schema():
    for figure in drawn(whole()):
        for log in (True, False):
            spec = figure.draw(0, 360, log)
            alt.Chart.from_dict(spec, validate=True)
            sides = spec["padding"]
            assert spec["width"] + sides["left"] + sides["right"] == pytest.approx(360)


def test_no_plot_has_a_single_size():
    one = transfer_run({"a": {"read": Law(1e-6, 1e9)}, "b": {"read": Law(1e-6, 2e9)}}, [4096])
    assert drawn(one) == []


def test_a_device_keeps_its_colour_in_every_plot():
    laws = {"a": {"read": Law(1e-6, 1e9)}, "b": {"read": Law(1e-6, 2e9)}}
    measured = transfer_run(laws, SIZES)
    source, palette = charts.Source("x", measured), charts.Palette()
    charts.figures("transfer", [source], palette)
    first = [palette.of(source, name, "opencl") for name in ("a", "b")]
    charts.figures("transfer", [source], palette)
    assert first == [palette.of(source, name, "opencl") for name in ("a", "b")]
    assert len(set(first)) == 2
    assert palette.of(source, "host", "host") not in drawing.COLOURS


def test_model_hardware_and_memory_are_told_apart_without_colour():
    (figure,) = drawn(whole())
    spec = figure.draw(0, 360, True)
    dashes = [layer["mark"].get("strokeDash") for layer in spec["layer"]
              if layer["mark"]["type"] == "line"]  # fmt: skip
    assert dashes == [None, [6, 3]]


def test_only_a_real_copy_of_the_host_is_called_memcpy():
    laws = {name: {"read": Law(1e-6, 1e9)} for name in ("host", "null:20us")}
    measured = transfer_run(laws, SIZES, apis=dict.fromkeys(laws, "host"))
    devices = [msgspec.structs.replace(d, real=d.address == "host") for d in measured.devices]
    source = charts.Source("x", msgspec.structs.replace(measured, devices=devices))
    assert source.label("host") == "memcpy"
    assert source.label("null:20us") == "null:20us"


@given(
    st.lists(st.floats(0, 200), min_size=1, max_size=10),
    st.floats(1, 18),
)
def test_labels_are_moved_apart_and_stay_in_order(places, gap):
    moved = drawing.spread(places, gap, 0, 200)
    order = sorted(range(len(places)), key=places.__getitem__)
    apart = [moved[b] - moved[a] for a, b in itertools.pairwise(order)]
    assert all(distance >= gap - 1e-6 for distance in apart)
    assert all(-1e-6 <= place <= 200 + 1e-6 for place in moved)


def domains(spec: object) -> Iterator[list[float]]:
    """Domains of all horizontal scales in a specification."""
    if isinstance(spec, dict):
        if "domain" in spec.get("x", {}).get("scale", {}):
            yield spec["x"]["scale"]["domain"]
        spec = list(spec.values())
    for part in spec if isinstance(spec, list) else ():
        yield from domains(part)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(1e-9, 1e6), min_size=1, max_size=5),
    st.booleans(),
)
def test_axes_hold_all_values(values, log):
    colour = drawing.LIGHT["c1"]
    dots = [drawing.Dot("a", colour, value, value, value, "", "") for value in values]
    axes = list(domains(drawing.dots(dots)(0, 600, log)))
    assert axes
    for low, high in axes:
        assert low <= min(values) * (1 + 1e-9)
        assert high >= max(values) * (1 - 1e-9)
        assert low < high


@pytest.fixture(scope="module")
def cards(run_isthmus, tmp_path_factory) -> list[tuple[str, Run]]:
    """Each study, as an emulated card shows it."""
    folder = tmp_path_factory.mktemp("cards")
    arguments = {
        "transfer": ("card:f1-vu9p", "--bytes", "1,4Ki,1Mi"),
        "hostmem": ("card:u250", "--bytes", "4Ki,64Ki"),
        "allocation": ("card:u200", "--memory", "aligned,pageable,offset16"),
        "beff": ("card:520n", "--bytes", "1,4Ki,64Ki"),
        "mmio": ("card:stratix4-gen2x8", "--bytes", "8,64,4Ki"),
    }
    for study, (card, *axis) in arguments.items():
        done = run_isthmus(
            "run", study, "--device", card, *axis, "--out", f"{study}.json", cwd=folder
        )
        assert done.returncode == 0, done.stderr
    return [(f"{study}.json", run_file.load(folder / f"{study}.json")) for study in arguments]


def test_each_study_gets_its_plots_and_one_open_table(cards, tmp_path):
    text = write_page(cards, tmp_path).read_text("utf-8")
    plots = {path.stem for path in (tmp_path / "plots").iterdir()}
    assert plots == {
        "transfer-rate", "hostmem-rate", "allocation-phases", "allocation-memory", "beff-rate",
        "allocation-published", "mmio-access", "mmio-size", "mmio-published",
    }  # fmt: skip
    assert text.count("<figure") == len(plots) + 1
    for study in (name.removesuffix(".json") for name, _ in cards):
        section = text[text.index(f'<section id="{study}">') :]
        section = section[: section.index("</section>")]
        both = f"{study}-published" in plots
        assert 1 <= section.count("<figure") <= 2 + both, study
        shown = re.sub(r"<details>.*?</details>", "", section, flags=re.DOTALL)
        assert shown.count("<table>") == 1, study
    for plot, message in (
        ("hostmem-rate", "'s example log), 4 KiB: "), ("transfer-rate", "8.775 GiB/s"),
        ("beff-rate", "64 KiB: 9.0823 GB/s"),
        ("allocation-published", "read back, aligned: 2.479 ms"),
        ("mmio-published", "load of SRAM, 8 B: 507.35 ns"),
    ):  # fmt: skip
        drawn = (tmp_path / "plots" / f"{plot}.svg").read_text("utf-8")
        assert "published, " in drawn
        assert message in drawn, plot
    assert len(text.encode()) < 1_500_000


@needs_browser
@pytest.mark.slow
def test_no_label_of_any_study_lies_on_another(cards, tmp_path):
    page = write_page(cards, tmp_path)
    for wide in (1280, 400):
        result, seen = probed(page, tmp_path / str(wide), wide, 800)
        assert seen.console == []
        assert result["overlaps"] == []
        assert result["outside"] == []
        assert result["width"] <= wide
        assert result["height"] < (1600 if wide > 1000 else 2400) * len(cards)


# Runs of all kinds


def many_points() -> Run:
    laws = {f"d{i}": {f"op{i}-{j}": Law(1e-6, 1e9) for j in range(2)} for i in range(2)}
    sizes = [1 + 7 * i for i in range(500)]
    return transfer_run(laws, sizes, samples=2, reruns=1)


UNUSUAL = {
    "no points": (run([]), "this run holds no points"),
    "interrupted": (
        run([point("a", "read", 64, [[1e-6] * 25])], status="interrupted"),
        "interrupted",
    ),
    "out of time": (run([point("a", "read", 64, [[1e-6]])], status="budget"), "time was up"),
    "failed": (
        run([point("a", "read", 64, [], error="cable <cut>")]),
        "Not measured: a: cable &lt;cut&gt;",
    ),
    "other study": (
        run([point("a", "bandwidth", size, [[1e-6] * 25], study="elsewhere") for size in SIZES]),
        '<section id="elsewhere">',
    ),
    "pairs without an interval": (
        run([point(device, "read", 64, [[1e-6]]) for device in ("a", "b")]),
        "All points (2 rows)",
    ),
    "2000 points": (many_points(), "All points (2,000 rows)"),
    "zero times": (run([point("a", "read", 64, [[0.0] * 25])]), "All points (1 rows)"),
}


@pytest.mark.parametrize(("measured", "message"), UNUSUAL.values(), ids=UNUSUAL.keys())
def test_unusual_runs_get_a_page(measured, message, tmp_path):
    page = write_page([("run.json", measured)], tmp_path / "deep" / "er")
    assert message in page.read_text(encoding="utf-8")


def test_several_runs_of_a_study_overlay_in_its_plots(tmp_path):
    one = transfer_run({"a": {"write": Law(1e-6, 1e9)}}, SIZES)
    two = transfer_run({"a": {"write": Law(1e-6, 3e9)}}, SIZES)
    text = write_page([("old.json", one), ("new.json", two)], tmp_path).read_text("utf-8")
    assert text.count('<section id="transfer">') == 1
    series = set(pd.read_csv(tmp_path / "plots" / "transfer-rate.csv")["series"])
    assert series == {"old, OpenCL", "new, OpenCL"}
    assert text.count("All points (4 rows)") == 2


def test_without_an_accelerator_published_boards_stand_beside_the_emulated_card(tmp_path):
    measured = transfer_run({"host": {"read": Law(1e-7, 1e10)}}, SIZES, apis={"host": "host"})
    text = write_page([("run.json", measured)], tmp_path).read_text("utf-8")
    first = text.index("No accelerator was found")
    assert text.index("<h1>") < first < text.index('class="state"')
    section = unescape(text[text.index('<section id="boards">') :])
    shown = 0
    for source in published.sources().values():
        for row in (row for row in source.rows if row.headline):
            shown += 1
            (cells,) = (line for line in section.splitlines() if f"<td>{row.headline}</td>" in line)
            assert source.by in cells
            assert f"isthmus reproduce {row.source}/{row.figures[0]}" in cells
            residual = re.search(r">([+-][\d.]+) %<", cells)
            assert residual
            assert abs(float(residual[1])) < 6, row.headline
    assert shown


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


def test_the_command_replaces_a_page_only_by_force(isthmus, tmp_path):
    run_file.save(run([]), tmp_path / "run.json")
    assert isthmus("report", "run.json").returncode == 0
    again = isthmus("report", "run.json")
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert isthmus("report", "run.json", "--force").returncode == 0


# In a browser


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
    assert result["scale"] == "linear"


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
@pytest.mark.skipif("ISTHMUS_AXE" not in os.environ, reason="ISTHMUS_AXE names no axe.min.js")
def test_axe_finds_nothing_serious(page, tmp_path):
    axe = Path(os.environ["ISTHMUS_AXE"]).read_text("utf-8")
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
