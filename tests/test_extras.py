"""Commands without the extras: what measures and compares works, others say what to install."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

EXTRAS = (
    "jinja2", "markupsafe", "mpi4py", "pandas", "pyarrow", "pyopencl", "scipy",
    "vl_convert",
)  # fmt: skip
BLOCK = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def bare(tmp_path: Path) -> Run:
    """Runs ``isthmus``, and its workers, as if no extra were installed."""
    blocker = tmp_path / "blocker"
    blocker.mkdir()
    (blocker / "sitecustomize.py").write_text(BLOCK, encoding="utf-8")

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "isthmus", *command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(blocker), "ISTHMUS_LOCK": str(tmp_path / "lock")},
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
        )

    return run


@pytest.mark.slow
def test_measuring_and_comparing_need_no_extra(bare: Run) -> None:
    few = ("--device", "null:10us", "--bytes", "4Ki", "--reruns", "3", "--operation", "read")
    for name in ("a.json", "b.json"):
        done = bare("run", "transfer", *few, "--out", name)
        assert done.returncode == 0, done.stderr
    assert "null:10us" in bare("show", "a.json", "--format", "csv").stdout
    assert bare("show", "a.json").returncode == 0
    assert bare("compare", "a.json", "b.json").returncode == 0
    judged = bare("doctor", "null", "--json")
    assert judged.returncode in {0, 3}, judged.stderr
    assert '"machine"' in judged.stdout


@pytest.mark.parametrize(
    ("command", "extra"), [(["report", "a.json"], "report"), (["model", "fit"], "fit")]
)
def test_what_needs_an_extra_names_it(bare: Run, command: list[str], extra: str) -> None:
    few = ("--device", "null:10us", "--bytes", "4Ki", "--reruns", "1", "--operation", "read")
    assert bare("run", "transfer", *few, "--out", "a.json").returncode == 0
    done = bare(*command)
    assert (done.returncode, done.stdout) == (2, "")
    said = rf"isthmus: \w+ is not installed: pip install 'isthmus\[{extra}\]'\n"
    assert re.fullmatch(said, done.stderr)


def test_each_module_of_the_extras_is_named_by_one() -> None:
    from isthmus.cli import _extra

    assert {module: _extra(module) for module in EXTRAS if module != "markupsafe"} == {
        "jinja2": "report", "vl_convert": "report", "scipy": "fit",
        "mpi4py": "mpi", "pandas": "report", "pyarrow": "parquet", "pyopencl": "pocl",
    }  # fmt: skip
    assert not _extra("numpy")
    assert metadata.version("isthmus")
