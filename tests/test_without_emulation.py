"""Isthmus without the package isthmus-emulation, and what the two packages share.

Where that package is installed, it is hidden from the commands.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import isthmus as package
from conftest import LIMIT_S
from isthmus.backends import by_scheme
from isthmus.system import xrt
from isthmus.xrt_emulation import ABSENT

ROOT = Path(__file__).parents[1]
HIDDEN = """
import sys
sys.modules["isthmus_emulation"] = None
from isthmus.cli import main
main()
"""
OTHER_VERSION = """
import isthmus
isthmus.__version__ = "0.0.9"
from isthmus.cli import main
main()
"""


def without(
    folder: Path, *arguments: str, program: str = HIDDEN
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        ("card", "exec", "--board", "u250", "--", "touch", "made"),
        ("card", "xclbin", "--kernels", "vadd", "-o", "made"),
        ("card", "include"),
        ("card", "kernel", "build", "made.cpp", "--no-estimate"),
        ("xclbin", "write", "-o", "made", "--mode", "hw"),
        ("xclbin", "dump", "card.xclbin", "--json"),
        *(
            ("run", "transfer", "--device", f"{scheme}:0@card=u250", "--quick", "--out", "made")
            for scheme in ("xrt", "xocl")
        ),
    ],
)
def test_what_needs_it_is_refused_with_the_cure(tmp_path: Path, command: tuple[str, ...]) -> None:
    if command[0] == "run" and (xrt.find() is None or not by_scheme("xrt").library.exists()):
        pytest.skip("XRT is not here")
    refused = without(tmp_path, *command)
    assert (refused.returncode, refused.stdout, refused.stderr) == (4, "", f"isthmus: {ABSENT}\n")
    assert not (tmp_path / "made").exists()


def test_all_else_works(tmp_path: Path) -> None:
    for command in (
        ("devices",),
        ("card", "boards", "u250"),
        ("run", "transfer", "--device", "card:u250", "--bytes", "64", "--out", "run.json"),
    ):
        done = without(tmp_path, *command)
        assert done.returncode == 0, done.stderr
        assert ABSENT not in done.stdout + done.stderr


@pytest.mark.emulation
def test_an_emulation_of_another_version_is_refused_and_all_else_works(tmp_path: Path) -> None:
    refused = without(tmp_path, "card", "include", program=OTHER_VERSION)
    reason = (
        f"isthmus 0.0.9 does not work with isthmus-emulation {package.__version__}: "
        "pip install --upgrade 'isthmus[emulation]'"
    )
    assert (refused.returncode, refused.stdout, refused.stderr) == (4, "", f"isthmus: {reason}\n")
    boards = without(tmp_path, "card", "boards", "u250", program=OTHER_VERSION)
    assert (boards.returncode, boards.stderr) == (0, "")


def test_both_packages_have_the_same_version() -> None:
    main = (ROOT / "pyproject.toml").read_text("utf-8")
    other = (ROOT / "emulation" / "pyproject.toml").read_text("utf-8")
    init = ROOT / "emulation" / "python" / "isthmus_emulation" / "__init__.py"
    version = re.escape(package.__version__)
    assert re.search(rf'^emulation = \["isthmus-emulation=={version}"\]$', main, re.M)
    assert re.search(rf'^dependencies = \["isthmus=={version}"\]$', other, re.M)
    assert re.search(rf'^__version__ = "{version}"$', init.read_text("utf-8"), re.M)


INCLUDED = re.compile(r'#include [<"]([^">]+)[">]')


def included(*folders: str) -> set[str]:
    """What the C and C++ sources in folders of the repository include."""
    files = (
        file
        for name in folders
        for pattern in ("*.[ch]pp", "*.[ch]")
        for file in (ROOT / name).rglob(pattern)
    )
    return {name for file in files for name in INCLUDED.findall(file.read_text("utf-8"))}


def test_the_packages_include_what_the_interface_of_the_card_model_names() -> None:
    """docs/card.md has the headers, and which package includes each."""
    text = (ROOT / "docs" / "card.md").read_text("utf-8")
    section = text.partition("## As a library\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|.*\| (x?) ?\| (x?) ?\|$", section, re.M)
    named = [(re.findall(r"`(\w+\.hpp)`", headers), *marks) for headers, *marks in rows]
    card = {f"isthmus/card/{file.name}" for file in (ROOT / "card/include/isthmus/card").iterdir()}
    for place, folders in (
        (1, ["cpp"]),
        (2, [f"emulation/{name}" for name in ("xrt", "clock", "shim")]),
    ):
        wanted = {f"isthmus/card/{name}" for row in named if row[place] for name in row[0]}
        assert included(*folders) & card == wanted


def test_they_share_two_public_headers() -> None:
    """The emulation's sdist needs no others of cpp/include."""
    public = {f"isthmus/{file.name}" for file in (ROOT / "cpp/include/isthmus").iterdir()}
    shared = included("card/include", "card/src", "card/rtl/bench", "emulation") & public
    assert shared == {"isthmus/numbers.hpp", "isthmus/card_page.hpp"}


def test_nothing_else_reaches_into_it() -> None:
    """In Python by isthmus.xrt_emulation alone, in C++ by isthmus/emulated_card.hpp."""
    imported = re.compile(r"isthmus_emulation\b")
    reaching = set()
    for file in (*(ROOT / "src").rglob("*.py"), *(ROOT / "cpp" / "backends").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            if any(imported.match(name) for name in names):
                reaching.add(file.relative_to(ROOT).as_posix())
    assert reaching == {"src/isthmus/xrt_emulation.py"}
    room = ROOT / "emulation" / "xrt" / "include"
    theirs = {file.relative_to(room).as_posix() for file in room.rglob("*.h*")}
    assert theirs
    names = included("cpp", "card")
    assert not [name for name in names if name in theirs or "emulation/" in name]
