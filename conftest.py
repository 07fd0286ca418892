"""What several tests need: the command as a user runs it, and devices that are here."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import itertools
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess

import psutil
import pytest
from hypothesis import settings

from isthmus import xrt_emulation
from isthmus.system.memory import available_bytes
from prepared import Prepared

IN_CI = "CI" in os.environ
settings.register_profile(
    "isthmus", deadline=None, derandomize=IN_CI, max_examples=50 if IN_CI else 30
)
settings.load_profile("isthmus")
"""No example has a time limit: machines are shared. CI tries more, and the same every time."""

Command = Callable[..., CompletedProcess[str]]
LIMIT_S = 600.0
"""Far beyond what anything takes, on a loaded machine too: only what hangs gets there."""
TOGETHER = {
    "test_emulation.py", "test_hostile_files.py", "test_mmio_guest.py", "test_nccl.py",
    "test_page.py", "test_recipes.py", "test_run_file.py", "test_terminal.py",
    "test_validation.py", "test_vitis_kernels.py",
}  # fmt: skip
"""Files whose tests share what takes seconds to make: one process runs all of such a file."""
MEMORY = Path("/dev/shm")
MEMORY_BYTES = 4 << 30
"""Tests write there if so much is free: tens of thousands of files keep a disk's journal busy."""
PER_SESSION = "ISTHMUS_TEST_FOLDER"
OF_EMULATION = Path(__file__).parent / "emulation" / "tests"
"""All tests in this folder have the marker ``emulation``; others may have it too."""


class WithoutEmulation(pytest.Module):
    """A file of tests that cannot be imported without the emulation: it is skipped as one."""

    def collect(self) -> list[pytest.Item]:
        """Says why."""
        pytest.skip(xrt_emulation.why_absent())


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> object:
    """Leaves the emulation's tests out where it is not installed."""
    if OF_EMULATION not in module_path.parents or not xrt_emulation.why_absent():
        return None
    return WithoutEmulation.from_parent(parent, path=module_path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the emulation's tests, and skips what is marked so where it is not installed.

    Slow tests come first, so that at the end no process is left with a long one.
    """
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    for item in items:
        if OF_EMULATION in item.path.parents:
            item.add_marker(pytest.mark.emulation)
        if item.get_closest_marker("emulation") and xrt_emulation.why_absent():
            item.add_marker(pytest.mark.skip(reason=xrt_emulation.why_absent()))


def _scratch() -> str:
    """Where tests write: memory, if there is enough and programs start from it; else TMPDIR."""
    if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK | os.X_OK):
        free = min(shutil.disk_usage(MEMORY).free, available_bytes())
        if free >= MEMORY_BYTES and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
            return str(MEMORY)
    return tempfile.gettempdir()


def pytest_configure(config: pytest.Config) -> None:
    """Gives the session, and each process of it, folders that no other Isthmus uses."""
    if not hasattr(config, "workerinput"):
        # Sockets lie in such folders, and their names have 108 bytes: a long TMPDIR is too long.
        scratch = _scratch()
        os.environ[PER_SESSION] = tempfile.mkdtemp(prefix="isthmus-tests-", dir=scratch)
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", scratch)  # what failed is kept
    session = Path(os.environ[PER_SESSION])
    own = session / os.environ.get("PYTEST_XDIST_WORKER", "main")
    own.mkdir()
    # Nothing is kept from one session to the next, and what one process compiles all may use.
    os.environ.update(TMPDIR=str(own), POCL_CACHE_DIR=str(session / "pocl"))
    os.environ["ISTHMUS_LOCK"] = str(own / "measuring.lock")
    # Workers start by the hundred: what they import is compiled once.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Nothing here is large: threads of BLAS would only fight for processors. So would ranks that
    # wait, for Open MPI looks for messages without a pause: they are to yield.
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMPI_MCA_mpi_yield_when_idle="1")
    tempfile.tempdir = None


def pytest_collection_finish() -> None:
    """What is there now stays to the end: nobody need look for garbage in it."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two processes for each processor: half of the time a test waits for another process."""
    return 2 * len(os.sched_getaffinity(0))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Spreads single tests over the processes, but keeps together what shares something."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file if Path(file).name in TOGETHER else nodeid

    return Scheduling(config, log)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Removes the session's folder."""
    gc.unfreeze()  # nanobind would report as leaked what is never collected
    if not hasattr(config, "workerinput") and (session := os.environ.pop(PER_SESSION, "")):
        shutil.rmtree(session, ignore_errors=True)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says last what was not tested, and why."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    if reasons:
        terminalreporter.section(f"{len(skipped)} skipped")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:5}  {reason}")


_numbers = itertools.count()


@pytest.fixture(autouse=True)
def _own_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests do not wait for a measurement beside them: no figure of theirs counts."""
    monkeypatch.setenv("ISTHMUS_LOCK", f"{os.environ['TMPDIR']}/measuring-{next(_numbers)}.lock")


def _processes_left() -> list[str]:
    """What processes that tests started still run, known by the folder that only they have."""
    left = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("TMPDIR") == os.environ["TMPDIR"]:
                left.append(shlex.join(process.cmdline()))
    return [command for command in left if command and "resource_tracker" not in command]


@pytest.fixture(autouse=True, scope="session")
def _no_process_is_left() -> Iterator[None]:
    """One that goes on would take the processors from all tests after it."""
    yield
    deadline = time.monotonic() + LIMIT_S / 10
    while _processes_left() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _processes_left()


@pytest.fixture(scope="session")
def prepared() -> Iterator[Prepared]:
    """What the next two run commands with."""
    process = Prepared()
    yield process
    process.close()


@pytest.fixture(scope="session")
def path(prepared: Prepared) -> str:
    """``PATH`` of shells in which ``isthmus`` is this one."""
    return os.pathsep.join(
        (str(prepared.folder), str(Path(sys.executable).parent), os.environ["PATH"])
    )


@pytest.fixture(scope="session")
def run_isthmus(prepared: Prepared) -> Command:
    """Runs ``isthmus ARGS`` in the folder ``cwd`` and returns how it ended and what it printed."""

    def run(
        *arguments: str, cwd: Path, env: dict[str, str] | None = None, timeout: float = LIMIT_S
    ) -> CompletedProcess[str]:
        return prepared.run(arguments, cwd, {**os.environ, **(env or {})}, timeout)

    return run


def slow(*cases: object) -> list[object]:
    """Cases of a parametrised test, each a value or a tuple of values, with the marker ``slow``."""
    values = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*each, marks=pytest.mark.slow) for each in values]


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """A folder that all processes of these tests share: the first makes it, the others wait."""
    folder = Path(os.environ[PER_SESSION]) / name
    made = folder / "made"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            made.touch()
    return folder


@pytest.fixture
def isthmus(run_isthmus: Command, tmp_path: Path) -> Command:
    """The same in a folder of the test's own."""
    return partial(run_isthmus, cwd=tmp_path)


@pytest.fixture(scope="session")
def pocl() -> str:
    """Address of an OpenCL device that is really here; without one the test is skipped."""
    from isthmus.errors import IsthmusError
    from isthmus.measure.discovery import resolve

    try:
        return resolve("opencl:pocl").address
    except IsthmusError as error:
        pytest.skip(f"no PoCL here: {error}")
