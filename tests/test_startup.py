"""What commands load: modules are counted, for seconds depend on the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PLOTS = {"altair", "vl_convert", "jinja2"}
ARRAYS = {"numpy", "pandas", "scipy"}
MEASURING = {"isthmus._core", "isthmus.measure", "isthmus.studies", "psutil", "msgspec"}
CONSOLE = {"rich.console", "rich.table"}

TELL = """
import atexit, json, sys
told, *sys.argv = sys.argv[1:]
atexit.register(lambda: open(told, "w").write(json.dumps(list(sys.modules))))
from isthmus.cli import main
main()
"""


def loaded_by(folder: Path, *command: str) -> set[str]:
    """Modules that a command has loaded when it ends."""
    file = folder / "modules.json"
    done = subprocess.run(
        [sys.executable, "-c", TELL, str(file), "isthmus", *command],
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("command", "unwanted", "most"),
    [
        (["--help"], PLOTS | ARRAYS | MEASURING | CONSOLE | {"isthmus.boards"}, 230),
        (["run", "--help"], PLOTS | ARRAYS | CONSOLE, 520),
        (["show", "--help"], PLOTS | ARRAYS | MEASURING | CONSOLE, 380),
        (
            ["model", "pcie", "--gen", "4", "--lanes", "8"],
            PLOTS | ARRAYS | CONSOLE | {"isthmus._core", "isthmus.measure", "psutil"},
            420,
        ),
        (["reproduce"], PLOTS | ARRAYS | CONSOLE | {"isthmus._core", "isthmus.studies"}, 500),
        (["devices"], PLOTS | ARRAYS | {"isthmus.analysis"}, 540),
    ],
)
def test_a_command_loads_only_what_it_needs(
    tmp_path: Path, command: list[str], unwanted: set[str], most: int
) -> None:
    loaded = loaded_by(tmp_path, *command)
    assert not unwanted & loaded
    assert len(loaded) <= most
