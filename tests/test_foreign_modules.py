"""No process of a command imports modules from the working folder or PYTHONPATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import typer.main

from conftest import LIMIT_S, slow
from isthmus import cli, module_path

ISTHMUS = str(Path(sys.executable).with_name("isthmus"))
RUN = ("run", "transfer", "--device", "null", "--bytes", "1", "--operation", "write",
       "--reruns", "2", "--budget", "5")  # fmt: skip
COMMANDS: dict[str, tuple[str, ...]] = {
    "devices": ("devices",),
    "doctor": ("doctor",),
    "run": (*RUN, "--out", "again.json"),
    "repeat": ("repeat", "run.json", "--out", "repeated.json"),
    "show": ("show", "run.json"),
    "report": ("report", "run.json", "--out", "page"),
    "export": ("export", "run.json", "--out", "rows.csv"),
    "compare": ("compare", "run.json", "run.json"),
    "import": ("import", "run.json", "--out", "imported.json"),
    "fleet": ("fleet", "."),
    "judge": ("judge", "run.json"),
    "cite": ("cite", "run.json"),
    "advise": ("advise", "4Ki", "--device", "null", "--budget", "3"),
    "reproduce": ("reproduce", "mmio/read-latency"),
    "anonymise": ("anonymise", "run.json", "--out", "anonymous.json"),
    "model": ("model", "pcie"),
    "card": ("card", "boards"),
    "xclbin": ("xclbin", "--help"),
}
"""A command line for each command, which may fail, but does its work until then."""

WITHOUT_FOLDER = ("-P",) if sys.version_info >= (3, 11) else ("-I",)
Foreign = Callable[..., list[str]]
SOURCES = Path(cli.__file__).parents[2]


def _loaded(*names: str) -> set[str]:
    """Modules that a Python process has loaded once it has imported these."""
    program = f"import sys, {', '.join(names)}; print(*sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", program], cwd="/", check=True, capture_output=True, text=True
    ).stdout
    return {name.partition(".")[0] for name in told.split()}


@pytest.fixture
def foreign(tmp_path: Path) -> Foreign:
    """Runs commands in a folder of foreign modules; returns the names of those that ran."""
    subprocess.run(
        [ISTHMUS, *RUN, "--out", "run.json"], cwd=tmp_path, check=True, capture_output=True
    )
    marks = tmp_path / "marks"
    marks.mkdir()
    names = {*sys.stdlib_module_names, *packages_distributions(), "sitecustomize"} - {"sys"}
    for name in filter(str.isidentifier, names):  # files of some packages are listed by path
        (tmp_path / f"{name}.py").write_text(
            f"open({str(marks)!r} + '/{name}', 'w').close()\n", encoding="utf-8"
        )

    def run(
        *words: str,
        must_work: bool = False,
        unless: set[str] | None = None,
        where: Path = tmp_path,
        **environment: str,
    ) -> list[str]:
        for name in unless or ():
            (tmp_path / f"{name}.py").unlink(missing_ok=True)
        done = subprocess.run(
            words, cwd=where, env={**os.environ, **environment}, capture_output=True, text=True,
            check=False, timeout=LIMIT_S,
        )  # fmt: skip
        assert not must_work or done.returncode == 0, done.stderr
        return sorted(mark.name for mark in marks.iterdir())

    return run


def test_every_command_is_tried() -> None:
    group = typer.main.get_command(cli.app)
    assert COMMANDS.keys() == group.commands.keys()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "name", ["devices", "repeat", *slow(*sorted(COMMANDS.keys() - {"devices", "repeat"}))]
)
def test_a_command_runs_no_module_of_the_working_folder(foreign: Foreign, name: str) -> None:
    assert foreign(ISTHMUS, *COMMANDS[name]) == []


def test_the_folder_would_be_searched_by_python_itself(foreign: Foreign) -> None:
    assert foreign(sys.executable, "-m", "typer", "--help"), "else nothing is shown here"


def test_python_m_runs_no_module_of_the_working_folder(foreign: Foreign) -> None:
    """But those that Python itself imports before any module of Isthmus."""
    before = _loaded("runpy")
    assert foreign(sys.executable, "-m", "isthmus", "devices", must_work=True, unless=before) == []


def test_a_command_runs_no_module_of_python_path(foreign: Foreign, tmp_path: Path) -> None:
    """But those that Python itself and the console script import before any module of Isthmus."""
    before = _loaded("re", "runpy") | {"sitecustomize", "usercustomize"}
    elsewhere = {"where": Path("/"), "PYTHONPATH": str(tmp_path)}
    assert foreign(ISTHMUS, "devices", must_work=True, unless=before, **elsewhere) == []


def test_the_module_path_has_isthmus_and_not_the_working_folder_beside_it(
    foreign: Foreign, tmp_path: Path
) -> None:
    """An empty name in PYTHONPATH stands for the working folder."""
    before = _loaded("re", "runpy") | {"sitecustomize", "usercustomize"}
    (tmp_path / "kept").mkdir()
    path = f"{SOURCES}{os.pathsep}kept{os.pathsep}"
    for words in (ISTHMUS,), (sys.executable, "-m", "isthmus"):
        marks = foreign(*words, "devices", must_work=True, unless=before, PYTHONPATH=path)
        assert marks == []
    told = subprocess.run(
        [sys.executable, "-c", "import isthmus.__main__, sys; print(*sys.path, sep='\\n')"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, check=True, capture_output=True,
        text=True,
    ).stdout.splitlines()  # fmt: skip
    assert str(SOURCES) in told
    assert str(tmp_path / "kept") in told
    assert str(tmp_path) not in told


def test_what_is_installed_from_the_working_folder_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editable installation adds its folder behind the standard library."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path, str(tmp_path)])
    before = sys.path[1:]
    assert module_path.guard() == [str(tmp_path)]
    assert sys.path == before


def test_a_module_of_a_stranger_that_python_loaded_is_loaded_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secrets.py").write_text("foreign = True\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "secrets", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    import secrets

    assert hasattr(secrets, "foreign")
    module_path.guard()
    import secrets

    assert not hasattr(secrets, "foreign")


def test_a_worker_runs_no_module_of_python_path(foreign: Foreign, tmp_path: Path) -> None:
    """The command itself is a Python program that its user starts; it reads PYTHONPATH.

    A Python that reads such a PYTHONPATH does not even start: its ``encodings`` is foreign.
    """
    start = (
        "import os; from isthmus.measure import discovery; "
        f"os.environ['PYTHONPATH'] = {str(tmp_path)!r}; discovery.resolve('null')"
    )
    assert foreign(sys.executable, *WITHOUT_FOLDER, "-c", start, must_work=True) == []


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun here")
def test_a_rank_runs_no_module_of_the_working_folder(foreign: Foreign) -> None:
    one = ("--allow-run-as-root", "--oversubscribe", "-n", "1")
    measured = ("run", "beff", "--device", "host", "--bytes", "1", "--budget", "3")
    ranks = ("mpirun", *one, ISTHMUS, *measured, "--out", "b.json")
    assert foreign(*ranks, must_work=True) == []


@pytest.mark.emulation
def test_an_emulated_card_runs_no_module_of_the_working_folder(foreign: Foreign) -> None:
    assert foreign(ISTHMUS, "card", "exec", "--board", "u250", "--", "true") == []
