"""The screen that a run ends in: small, the same data as elsewhere, and commands that work."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from conftest import Command
from isthmus.analysis.context import RunContext
from isthmus.analysis.findings import MOST_HEADLINES, findings
from isthmus.analysis.summary import summarise
from isthmus.reporters import by_name, summary
from isthmus.results import run_file
from isthmus.results.run_file import DeviceRecord, Run
from synthetic import Law, point, run, transfer_run

STORED = sorted((Path(__file__).parents[1] / "benchmarks" / "results").glob("*.json.gz"))


def stored(path: Path) -> Run:
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=Run)


@pytest.fixture(scope="module")
def simulated(
    run_isthmus: Command, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """File of a run of a model over all studies, of a few sizes; each model runs once."""
    folder = tmp_path_factory.mktemp("models")

    def of(board: str) -> Path:
        file = folder / f"{board}.json"
        if not file.exists():
            ran = run_isthmus(
                "run", "all", "--device", f"card:{board}", "--bytes", "1,4Ki,1Mi",
                "--out", file.name, cwd=folder,
            )  # fmt: skip
            assert ran.returncode == 0, ran.stderr
        return file

    return of


def commands(lines: list[str]) -> Iterator[str]:
    """Commands that a summary ends in, as a shell gets them."""
    text = "\n".join(lines)
    for match in re.finditer(r"^[A-Z][a-z ]+: +((?:.*\\\n)*.*)$", text, re.MULTILINE):
        if "isthmus" in match[1] and "--" in match[1]:
            yield match[1]


def fits(of: Run, path: str) -> list[str]:
    """Checks the summary of a run and returns it."""
    rows = summarise(of)
    lines = summary.lines(of, Path(path), summary=rows)
    assert len(lines) < summary.LINES, "the file's name comes last"
    assert all(len(line) <= summary.COLUMNS for line in lines)
    heads = [one for one in findings(RunContext.of(of, rows)) if one.headline]
    shown = "\n".join(lines)
    for study in {one.study for one in heads}:
        first = next(one for one in heads if one.study == study)
        assert f"{study:10}" in shown
        assert first.figure in shown, "the headline of each study has a row"
        assert sum(one.study == study for one in heads) <= MOST_HEADLINES
    return lines


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.name.partition(".")[0])
def test_stored_runs_fit_on_one_screen(path: Path) -> None:
    fits(stored(path), "runs/some-run.json")


@pytest.mark.parametrize("board", ["u250", "520n", "u200-tutorial"])
def test_models_fit_on_one_screen(simulated: Callable[[str], Path], board: str) -> None:
    measured = run_file.load(simulated(board))
    lines = fits(measured, f"{board}.json")
    assert "no board was used" in lines[0]
    assert ("needs channels" in "\n".join(lines)) == (board != "520n")


def test_every_command_of_a_summary_works(
    simulated: Callable[[str], Path], isthmus: Command
) -> None:
    file = simulated("520n")
    out = isthmus("show", str(file)).stdout.splitlines()
    printed = list(commands(out))
    assert len(printed) >= 2
    for command in printed:
        words = shlex.split(command.replace("\\\n", " "))
        start = next(i for i, word in enumerate(words) if word in {"run", "show", "report"})
        given = [word for word in words[start:] if word != "--open"]  # there is no browser here
        ended = isthmus(*given)
        assert ended.returncode == 0, (given, ended.stderr)


def test_the_same_findings_are_everywhere(
    simulated: Callable[[str], Path], isthmus: Command
) -> None:
    file = simulated("u250")
    results = findings(run_file.load(file))
    data = json.loads(isthmus("show", str(file), "--format", "json").stdout)["findings"]
    assert [one["sentence"] for one in data] == [one.sentence for one in results]
    for one, plain in zip(results, data, strict=True):
        assert plain["headline"] == one.headline
        assert one.interval is None or plain["interval"]["value"] == one.interval.value
    markdown = isthmus("show", str(file), "--format", "md").stdout.replace("\\", "")
    assert all(one.sentence in markdown for one in results)


def test_what_was_not_measured_is_said_once_with_its_reason() -> None:
    points = [
        point("a", "read", 1 << 20, [[1e-3] * 25] * 6),
        point("a", "read", 1 << 21, [], error="gone"),
        point("a", "write", 1 << 20, [], skipped="it may not", memory="pinned"),
    ]
    gone = DeviceRecord(address="cuda:0", backend="cuda", real=True, error="no driver")
    here = DeviceRecord(address="a", backend="a", real=True, api="opencl")
    measured = run(points, devices=[here, gone], studies=["transfer", "beff"])
    text = " ".join(" ".join(summary.lines(measured)).split())
    for reason in ("beff (needs channels", "cuda:0 (no driver)", "pinned (it may not)"):
        assert text.count(reason) == 1, reason
    assert "1 point (failed)" in text


def test_what_a_finding_says_to_try_can_be_run(isthmus: Command) -> None:
    points = [
        point("host", "write", 4096, [[1e-6 * f] * 25 for f in factors], memory=kind, api="host")
        for kind, factors in (("pageable", (1, 2, 4) * 2), ("aligned", (4, 1, 2) * 2))
    ]
    lines = summary.lines(run(points))
    assert not list(commands(lines)), "without a file there is none"
    (text,) = (c for c in commands(summary.lines(run(points), Path("run.json"))) if " run " in c)
    given = shlex.split(text.replace("\\\n", " "))[1:]
    given[given.index("--budget") + 1] = "2"
    ended = isthmus(*given, "--bytes", "4Ki", "--operation", "write", "--out", "tried.json")
    assert ended.returncode == 0, ended.stderr


def test_a_run_names_what_was_published_of_its_boards(simulated: Callable[[str], Path]) -> None:
    def published(of: Run) -> list[str]:
        lines = summary.lines(of, Path("run.json"))
        return [line.partition(" ")[2].strip() for line in lines if line.startswith("Published:")]

    sources = {"u250": "host-memory", "520n": "b_eff", "u200-tutorial": "aligned-allocation"}
    for board, source in sources.items():
        of = run_file.load(simulated(board))
        assert published(of) == [f"isthmus reproduce {source}"]
    (card,) = of.devices
    changed = {**card.properties, "link.lanes": "4"}
    other = msgspec.structs.replace(of, devices=[msgspec.structs.replace(card, properties=changed)])
    assert not published(other)
    board = DeviceRecord(address="xrt:0", backend="xrt", real=True, name="Alveo U200 xdma")
    real = msgspec.structs.replace(of, devices=[board], points=[])
    assert published(real) == [
        "isthmus reproduce aligned-allocation --device xrt:0",
        "isthmus reproduce xbutil --device xrt:0",
    ]


def test_a_run_that_was_cut_off_says_how_it_goes_on() -> None:
    cut = transfer_run({"a": {"write": Law(1e-6, 1e9)}}, [1, 4096], status="budget")
    (command,) = (c for c in commands(summary.lines(cut, Path("a b.json"))) if "--resume" in c)
    assert "run transfer --resume --out 'a b.json'" in command
    assert not any("--resume" in line for line in summary.lines(cut))


@pytest.mark.parametrize("path", ["run.json", "a/" * 60 + "run.json"])
def test_long_commands_go_on_behind_a_backslash(path: str) -> None:
    lines = summary.lines(transfer_run({"a": {"write": Law(1e-6, 1e9)}}, [1]), Path(path))
    for command in commands(lines):
        assert path in shlex.split(command.replace("\\\n", " "))
    assert all(len(line) <= summary.COLUMNS or path in line for line in lines)


def test_the_program_is_named_as_it_was_called(tmp_path: Path) -> None:
    ask = "from isthmus.program import program; import sys; sys.argv[0] = {!r}; print(program())"

    def name_shown(called: str, **more: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", ask.format(called)], cwd=tmp_path, check=True,
            capture_output=True, text=True, env={**os.environ, **more},
        )  # fmt: skip
        return done.stdout.strip()

    script = tmp_path / "bin" / "isthmus"
    script.parent.mkdir()
    script.touch(mode=0o755)
    assert name_shown("bin/isthmus") == "bin/isthmus"
    assert name_shown(str(script)) == "bin/isthmus"
    assert name_shown(str(script), PATH=f"{script.parent}:{os.environ['PATH']}") == "isthmus"
    assert name_shown("/x/isthmus/__main__.py").endswith("python -m isthmus")


def test_show_takes_a_part_of_a_run(simulated: Callable[[str], Path], isthmus: Command) -> None:
    file = str(simulated("u250"))
    rows = isthmus("show", file, "--operation", "read,write", "--format", "csv").stdout
    assert {line.split(",")[3] for line in rows.splitlines()[1:]} == {"read", "write"}
    table = isthmus("show", file, "--study", "mmio").stdout
    assert "register_load" in table
    assert "read_bandwidth" not in table
    for given, says in (
        (("--study", "tranfser"), "did you mean transfer?"),
        (("--operation", "raed"), "did you mean read?"),
        (("--format", "tabel"), "did you mean table?"),
    ):
        wrong = isthmus("show", file, *given)
        assert wrong.returncode == 2
        assert says in wrong.stderr


def test_the_summary_is_a_format_too() -> None:
    measured = transfer_run({"a": {"write": Law(1e-6, 1e9)}}, [1, 4096])
    assert by_name("summary").render(measured).splitlines() == summary.lines(measured)


def test_a_wide_interval_says_how_wide_it_is() -> None:
    def headline(*factors: float) -> str:
        one = point("a", "write", 1 << 20, [[1e-3 * factor] * 25 for factor in factors])
        (line,) = (line for line in summary.lines(run([one])) if line.startswith("transfer"))
        return line

    assert headline(1, 30, 900).endswith("  processes differ"), "a factor of hundreds says nothing"
    assert re.search(r"1\.0\d+-1\.0\d+$", headline(1, 1.01, 0.99))


def test_a_device_that_the_clock_cannot_time_is_named() -> None:
    times = {"slow": 1e-5, "quick": 0.0}
    points = [point(device, "read", 64, [[t] * 30] * 3) for device, t in times.items()]
    text = " ".join(" ".join(summary.lines(run(points))).split())
    assert "Not measured: quick (all times below the clock's resolution)" in text


def test_commands_make_room_for_the_headlines() -> None:
    """A screen has a row of each direction and study before it has the less useful commands."""
    path = Path("a folder with a long name", "run of today.json")
    (stored,) = (Path(__file__).parents[1] / "benchmarks" / "results").glob("*h100-quick.json.gz")
    run_of_all = run_file.load(stored)
    heads = sum(one.headline for one in findings(run_of_all))
    lines = summary.lines(run_of_all, path)
    assert heads >= 6
    assert len(lines) < summary.LINES
    rows = lines[lines.index("") + 1 :]
    assert rows[1].split()[:3] == ["copy", "to", "host,"]
    assert rows.index("") >= 6
    assert any(line.startswith("Page:") for line in lines)
    assert not any(line.startswith("Points:") for line in lines)
