"""The commands of docs/kernels.md and the recipe for continuous integration, run as they stand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from on_cards import IN_VERILOG, emulated, trace_of

from conftest import LIMIT_S

__all__ = ["emulated"]  # fixture
pytestmark = pytest.mark.usefixtures("emulated")
ROOT = Path(__file__).resolve().parents[2]


def block(page: str, mark: str) -> str:
    """The shell commands of a page that have this text in them."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    (found,) = (one for one in blocks if mark in one)
    return str(found)


def done(
    script: str, folder: Path, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-euc", script, "script", *arguments], cwd=folder, check=False, text=True,
        capture_output=True, timeout=LIMIT_S, env={**os.environ, "PATH": path, **variables},
    )  # fmt: skip


@pytest.mark.parametrize(
    "mark",
    ["new 'void scale", pytest.param("--verilog", marks=[IN_VERILOG, pytest.mark.slow])],
)
def test_the_commands_lead_from_an_empty_folder_to_a_pass(mark: str, tmp_path: Path) -> None:
    ended = done(block("kernels.md", mark), tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "PASS" in ended.stdout


def test_kernels_that_a_stream_connects_are_built_and_run_as_told(tmp_path: Path) -> None:
    gallery = ROOT / "kernels" / "gallery"
    shutil.copytree(gallery / "chain", tmp_path / "chain")
    shutil.copy(gallery / "on_card.hpp", tmp_path)
    ended = done(block("kernels.md", "chain/chain.toml"), tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "PASS" in ended.stdout


def test_the_gallerys_table_has_every_kernel() -> None:
    folders = {path.name for path in (ROOT / "kernels" / "gallery").iterdir() if path.is_dir()}
    table = (ROOT / "docs" / "kernels.md").read_text("utf-8").partition("## A gallery")[2]
    assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == folders


@pytest.mark.parametrize(("budget", "code"), [("100ms", 0), ("1us", 3)])
@pytest.mark.slow
def test_the_recipe_judges_a_program_and_leaves_its_results(
    budget: str, code: int, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "kernels" / "gallery", tmp_path / "gallery")
    script = block("recipes.md", "# on-card.sh")
    ended = done(script, tmp_path, "gallery/scale", BUDGET=budget)
    assert ended.returncode == code, ended.stderr
    suite = ElementTree.parse(tmp_path / "scale.xml").getroot()
    assert suite.get("failures") == str(int(code != 0))
    kinds = {event.get("cat") for event in trace_of(tmp_path / "scale.trace.json")}
    assert {"write", "kernel", "read"} <= kinds
