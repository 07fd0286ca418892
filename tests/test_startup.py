"""What commands load: modules are counted, for seconds depend on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from isthmus.cli import app
from isthmus.command import App

PLOTS = {"vl_convert", "jinja2"}
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


TELL_OF_WORKER = """
import atexit, json, runpy, sys
told, *sys.argv = sys.argv[1:]
atexit.register(lambda: open(told, "w").write(json.dumps([n for n, m in sys.modules.items() if m])))
runpy.run_module("isthmus.measure.worker", run_name="__main__")
"""


def loaded_by(folder: Path, *command: str, program: str = TELL) -> set[str]:
    """Modules that a command has loaded when it ends."""
    file = folder / "modules.json"
    done = subprocess.run(
        [sys.executable, "-c", program, str(file), "isthmus", *command],
        stdin=subprocess.DEVNULL,
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
    assert not (unwanted | {"pydantic"}) & loaded
    assert len(loaded) <= most


def test_a_worker_loads_only_what_it_needs(tmp_path: Path) -> None:
    """Workers start by the dozen in each run."""
    loaded = loaded_by(tmp_path, str(os.getpid()), "0", "1", "-1", program=TELL_OF_WORKER)
    unwanted = {"typing_extensions", "inspect", "dataclasses", "pathlib", "isthmus.errors"}
    assert not unwanted & loaded
    assert len(loaded) <= 120


def test_only_the_named_command_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[list[str]] = []

    def noted(one: App) -> object:
        made.append([info.name for info in (*one.registered_commands, *one.registered_groups)])
        return lambda *_, **__: None

    monkeypatch.setattr(typer.main, "get_command", noted)
    for line in ("show x.json", "card boards", "--help", "nonsense", "--x cite"):
        app(line.split())
    assert made[:2] == [["show"], ["card"]]
    assert made[4] == ["cite"]
    assert made[2] == made[3]
    assert {"show", "card", "cite"} < set(made[2])
