"""The page of two runs: what changed comes first, with the figures that the command prints."""

from __future__ import annotations

import gzip
import re
from html import unescape
from pathlib import Path

import msgspec
import pandas as pd
import pytest

from conftest import Command
from isthmus.analysis.changes import Side, compare
from isthmus.analysis.flags import disturbed
from isthmus.analysis.summary import summarise
from isthmus.reporters import change_words, comparison
from isthmus.reporters.html import write_page
from isthmus.reporters.summary import lines
from isthmus.results.noise import Noise
from isthmus.results.run_file import Run
from synthetic import Law, transfer_run

SIZES = (64, 4096, 1 << 20, 1 << 24)
RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"


def measured(slower: float = 1.0, seed: int = 1) -> Run:
    laws = {"read": Law(10e-6, 10e9), "write": Law(10e-6 * slower, 10e9 / slower)}
    environment = {"host": "bench", "cpu": "Some CPU", "kernel": f"6.{seed}"}
    return transfer_run({"opencl:x": laws}, SIZES, reruns=12, seed=seed, environment=environment)


def section(text: str) -> str:
    return unescape(text.partition('<section id="change">')[2].partition("</section>")[0])


def test_what_changed_comes_first_as_the_command_says_it(tmp_path: Path) -> None:
    runs = [("old.json", measured()), ("new.json", measured(1.3, seed=2))]
    text = unescape(write_page(runs, tmp_path).read_text("utf-8"))
    result = compare(*(Side(name[:3], [run]) for name, run in runs))
    slower = result.of("slower")
    assert len(slower) == 2
    answer = comparison.verdict(result)[0]
    assert answer.startswith("new against old: slower in 2 of 4 series")
    assert f'<p class="verdict">{answer}</p>' in text
    first = text.partition("<figure")[0]
    tiles = re.findall(r"<b>(.*?)</b> % time <small>(.*?)</small>", first)
    assert tiles == [change_words.percents(one) for one in slower]
    for one in slower:
        assert f"slower: {change_words.values(one)}" in first
    changed = section(text)
    for remark in comparison.remarks(result):
        assert f"<li>{remark}</li>" in changed
    assert changed.index("Each series (4)") < changed.index("What differs in the environment (1)")
    assert "<td>kernel<td>6.1<td>6.2<td>may explain it" in changed
    assert "Every point (8)" in changed
    assert text.index('<section id="change">') < text.index('<section id="transfer">')
    series = set(pd.read_csv(tmp_path / "plots" / "transfer-rate.csv")["series"])
    assert series == {"old, OpenCL", "new, OpenCL"}


def test_what_did_not_change_leaves_the_tiles_to_the_findings(tmp_path: Path) -> None:
    runs = [("old.json", measured()), ("new.json", measured(seed=2))]
    text = write_page(runs, tmp_path).read_text("utf-8")
    assert "nothing changed by more than 2.0 %" in text
    assert "% time" not in text.partition("<figure")[0]
    tiles = text.partition('<ul class="tiles">')[2].partition("</ul>")[0]
    assert re.findall(r"opencl:x, (old|new)", tiles) == ["old", "new", "old", "new"]


def test_runs_of_a_study_without_a_common_point_say_why(tmp_path: Path) -> None:
    other = transfer_run({"opencl:x": {"launch": Law(1e-5, 1e10), "read": Law(1e-5, 1e10)}}, (7, 9))
    text = write_page([("a.json", measured()), ("b.json", other)], tmp_path).read_text("utf-8")
    (reason,) = re.findall('class="state">Not compared: (.*?)</p>', text)
    assert reason.startswith("a (")
    assert reason.endswith(" have no size in common")
    assert 'id="change"' not in text


def test_three_runs_and_runs_of_different_studies_are_not_compared(tmp_path: Path) -> None:
    three = [(f"{seed}.json", measured(seed=seed)) for seed in (1, 2, 3)]
    other = msgspec.structs.replace(
        three[1][1],
        studies=["own"],
        points=[msgspec.structs.replace(p, study="own") for p in three[1][1].points],
    )
    for number, runs in enumerate((three, [three[0], ("own.json", other)])):
        text = write_page(runs, tmp_path / str(number)).read_text("utf-8")
        assert 'id="change"' not in text
        assert "Not compared" not in text


@pytest.mark.slow
def test_stored_runs_of_two_gpus_are_one_page(run_isthmus: Command, tmp_path: Path) -> None:
    for name in ("h100", "h200"):
        packed = (RESULTS / f"2026-11-22-{name}-transfer.json.gz").read_bytes()
        (tmp_path / f"{name}.json").write_bytes(gzip.decompress(packed))
    ran = run_isthmus("report", "h100.json", "h200.json", "--out", "page", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    text = unescape((tmp_path / "page" / "index.html").read_text("utf-8"))
    assert "h200 against h100: no certain change. 56 of 56 are undecided (1 process)." in text
    assert "<td>name<td>NVIDIA H100 80GB HBM3<td>NVIDIA H200" in section(text)
    assert "<td>cuda:0<td>write<td>aligned" in section(text)
    assert len(text.encode()) < 2_500_000


@pytest.mark.slow
def test_two_boards_keep_their_names_and_no_rate_exceeds_its_link(
    run_isthmus: Command, tmp_path: Path
) -> None:
    for name, device in (("wide", "card:u250"), ("narrow", "card:u250,link.lanes=8")):
        ran = run_isthmus("run", "transfer", "--device", device, "--quick", "--out",
                          f"{name}.json", cwd=tmp_path)  # fmt: skip
        assert ran.returncode == 0, ran.stderr
    ran = run_isthmus("report", "wide.json", "narrow.json", "--out", "page", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    text = unescape((tmp_path / "page" / "index.html").read_text("utf-8"))
    assert "<h1>U250 (model) and card:u250,link.lanes=8 (model)</h1>" in text
    assert "link limit 12.8 GB/s" in text
    assert "link limit 7.3 GB/s" in text
    shares = [int(share) for share in re.findall(r"(\d+) % of the link", text)]
    assert shares
    assert max(shares) <= 100
    assert "card:u250,link.lanes=8 is compared with card:u250." in section(text)


def test_screen_and_page_tell_the_same_share_of_disturbed_rows(tmp_path: Path) -> None:
    """The page counted rows without a sample, too."""
    run = measured()
    noisy = [
        msgspec.structs.replace(
            p, reruns=[msgspec.structs.replace(r, noise=Noise(steal_s=1.0)) for r in p.reruns]
        )
        if i < 1
        else msgspec.structs.replace(p, reruns=[] if i < 4 else p.reruns)
        for i, p in enumerate(run.points)
    ]
    run = msgspec.structs.replace(run, points=noisy, status="budget")
    flags = summarise(run)
    count, of = disturbed(flags)
    assert (count, of) == (1, len(run.points) - 3)
    share = f"{100 * count / of:.0f} %"
    assert f"{share} disturbed" in " ".join(" ".join(lines(run)).split())
    text = unescape(write_page([("a.json", run)], tmp_path).read_text("utf-8"))
    assert f"{share} of the rows disturbed" in text
