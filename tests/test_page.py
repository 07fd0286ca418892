"""The page: its text and its files, of runs of all kinds."""

from __future__ import annotations

import itertools
import re
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from isthmus import published
from isthmus.errors import IsthmusError, UsageError
from isthmus.reporters.html import layout, write_page
from isthmus.results import run_file
from isthmus.results.run_file import Run
from pages import HOSTILE, SIZES, Seen, whole, without_scripts
from synthetic import Law, answer, point, run, transfer_run


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    return write_page([("run.json", whole())], tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def text(page) -> str:
    return page.read_text(encoding="utf-8")


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
    drawn = {name: colour for name, colour in layout.LIGHT.items() if name != "ground"}
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
