"""What Isthmus prints: nothing that a terminal obeys comes from a file, and data stay data."""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from conftest import LIMIT_S, Command
from isthmus import output
from isthmus.results import run_file
from isthmus.results.run_file import Run
from isthmus.units import printable
from isthmus.written import csv_text, json_text
from synthetic import Law, transfer_run
from terminals import on_terminal
from test_documented_commands import isthmus as command_line

EVIL = "x\x1b]0;t\x07\x9b31m\x00\x7f\u202egnp\u2066\u200b\ue000\U000e0041\r\ny\t"
"""Control characters of ECMA-48 in 7 and 8 bits, bidirectional ones, and what shows nothing."""
SGR = re.compile(r"\x1b\[[0-9;]*m")
"""Colours, which are our own."""


def hostile() -> Run:
    """A run whose every name is hostile, and whose findings, errors and remarks quote them."""
    device = f"null:{EVIL}"
    laws = {device: {"write": Law(1e-6, 1e9), f"{EVIL}": Law(1e-6, 1e9)}}
    run = transfer_run(laws, [4096, 1 << 20])
    axes = {EVIL: EVIL, "depth": 1}
    points = [
        msgspec.structs.replace(
            point, axes={**axes, "depth": n}, memory=EVIL, api=EVIL, error=EVIL, skipped=EVIL,
            reruns=[
                msgspec.structs.replace(rerun, remarks=[EVIL], fault=EVIL)
                for rerun in point.reruns
            ],
        )
        for n, point in enumerate(run.points)
    ]  # fmt: skip
    record = msgspec.structs.replace(
        run.devices[0], name=EVIL, platform=EVIL, error=EVIL, properties={EVIL: EVIL}
    )
    other = msgspec.structs.replace(record, address=f"host:{EVIL}", error="", backend=EVIL)
    return msgspec.structs.replace(
        run, points=points, devices=[record, other], studies=["transfer", EVIL], started=EVIL,
        environment={"host": EVIL, EVIL: [EVIL]},
        software=msgspec.structs.replace(run.software, version=EVIL, command=["isthmus", EVIL]),
    )  # fmt: skip


COMMANDS = [
    ["show", "RUN"], ["show", "RUN", "--points"], ["show", "RUN", "--format", "md"],
    ["show", "RUN", "--format", "csv"], ["show", "RUN", "--format", "json"],
    ["show", "RUN", "--samples", "--format", "csv"],
    ["show", "RUN", "--samples", "--format", "json"],
    ["show", "RUN", "--study", "x"], ["show", "RUN", "--format", EVIL],
    *(["compare", "RUN", "RUN", "--format", form]
      for form in ("summary", "table", "md", "json", "junit", "csv")),
    *(["fleet", ".", "--format", form]
      for form in ("summary", "list", "nodes", "json", "junit", "prometheus")),
    ["cite", "RUN"], ["cite", "RUN", "--format", "bibtex"], ["cite", "RUN", "--format", "json"],
    ["doctor", "--run", "RUN"], ["doctor", "--run", "RUN", "--json"],
    ["advise", "4Ki", "RUN"], ["advise", "4Ki", "RUN", "--json"],
    ["repeat", "RUN", "--out", "new.json"], ["run", "transfer", "--resume", "--out", "RUN"],
    ["run", EVIL.replace("\x00", "")], ["show", "RUN", "--operation", "x"],
    ["anonymise", "RUN", "--out", "RUN"], ["import", "RUN", "--verbose"],
    ["run", "transfer", "--device", f"null,{EVIL}=1".replace("\x00", "")],
]  # fmt: skip
"""Every command that reads a run file, in every format, and errors that quote the user's words."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile")
    run_file.save(hostile(), path / "run.json")
    return path


def named(line: list[str]) -> list[str]:
    return ["run.json" if word == "RUN" else word.replace("\x00", "") for word in line]


@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: ascii(" ".join(line))[:40])
def test_no_character_of_a_file_steers_a_terminal(
    run_isthmus: Command, folder: Path, line: list[str]
) -> None:
    done = run_isthmus(*named(line), cwd=folder)
    for text in (done.stdout, done.stderr):
        for printed in text.split("\n"):
            assert printed.replace("\t", "").isprintable(), ascii(printed)
    form = line[-1].removeprefix("--")
    if done.returncode in {0, 3} and form == "json":
        text = strings(json.loads(done.stdout))
        assert (printable(EVIL) if line[0] == "cite" else EVIL) in text, "cite writes prose"
    if done.returncode in {0, 3} and form == "csv":
        rows = list(csv.reader(io.StringIO(done.stdout)))
        assert len(rows) > 1
        assert {len(row) for row in rows} == {len(rows[0])}
        assert len(done.stdout.splitlines()) == len(rows)
        assert any(printable(EVIL) in cell for cell in rows[1])
    if form == "junit":
        assert ElementTree.fromstring(done.stdout) is not None


def strings(data: object) -> str:
    """All strings in data, keys too."""
    if isinstance(data, dict):
        return "".join(f"{key}{strings(value)}" for key, value in data.items())
    if isinstance(data, list):
        return "".join(map(strings, data))
    return str(data)


@pytest.mark.parametrize(
    "line", [["show", "RUN"], ["show", "RUN", "--points"], ["compare", "RUN", "RUN", "--points"],
             ["doctor", "--run", "RUN"]],
)  # fmt: skip
def test_a_terminal_gets_no_control_characters_but_our_own_colours(
    folder: Path, line: list[str]
) -> None:
    shown = on_terminal(named(line), folder, columns=120)
    for printed in SGR.sub("", shown).split("\r\n"):
        assert printed.isprintable(), ascii(printed)
    assert r"\x1b]0;t" in shown.replace("\r\n", "").replace(" ", "")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_exported_files_can_be_looked_at(run_isthmus: Command, folder: Path, form: str) -> None:
    done = run_isthmus("export", "run.json", "--out", f"rows.{form}", cwd=folder)
    assert done.returncode == 0, done.stderr
    text = (folder / f"rows.{form}").read_text("utf-8")
    assert all(line.isprintable() for line in text.split("\n"))


def test_json_is_the_same_data() -> None:
    data = {EVIL: [EVIL, "\U0001f600 \xa0 \ufeff", {"a": 1.5}]}
    text = json_text(data)
    assert json.loads(text) == data
    assert msgspec.json.decode(text) == data
    assert all(line.isprintable() for line in text.split("\n"))


def test_a_cell_is_one_cell_of_one_line() -> None:
    text = csv_text(["a", EVIL], [[f'={EVIL}",', 1.5]])
    heading, row = csv.reader(io.StringIO(text))
    assert heading == ["a", printable(EVIL)]
    assert row == [f"'={printable(EVIL)}\",", "1.5"]


def test_only_one_module_prints() -> None:
    """Also by another way than ``print``, which the linter knows."""
    root = Path(output.__file__).parent
    for file in [*root.rglob("*.py"), *(root.parents[1] / "emulation" / "python").rglob("*.py")]:
        if file.name == "output.py":
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in {"write", "writelines"}:
                assert ast.unparse(node.value) not in {"sys.stdout", "sys.stderr"}, file


def test_help_of_every_command_is_printable() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "isthmus", "--help"], check=True, capture_output=True, text=True,
        timeout=LIMIT_S, env={**os.environ, "PYTHONSAFEPATH": "1"},
    )  # fmt: skip
    assert all(line.isprintable() for line in done.stdout.split("\n"))
    assert command_line().commands
