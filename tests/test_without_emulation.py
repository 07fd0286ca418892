"""Isthmus without the emulation of XRT, as a build with -DISTHMUS_XRT_EMULATION=OFF has it.

Where this build has it, its package is hidden from the commands.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def without(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HIDDEN, *arguments],
        cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        ("card", "exec", "--board", "u250", "--", "touch", "made"),
        ("card", "xclbin", "--kernels", "vadd", "-o", "made"),
        ("card", "include"),
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
    included = re.compile(r'#include [<"]([^">]+)[">]')
    for file in (*(ROOT / "cpp").rglob("*.[ch]pp"), *(ROOT / "card").rglob("*.[ch]pp")):
        names = included.findall(file.read_text("utf-8"))
        assert not [name for name in names if name in theirs or "emulation/" in name], file
