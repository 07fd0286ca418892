"""A run with one fault, and what it lost, did wrong or left behind (``tests/faults.py``)."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from isthmus.errors import IsthmusError
from isthmus.results import journal, run_file

LIMIT_S = 120.0
"""Seconds; far more than a trial takes, so only a trial that hangs takes as long."""
POINTS = ("--bytes", "1,4Ki", "--operation", "write,read", "--reruns", "3", "--budget", "60")
_IMPATIENT = (
    "from isthmus.measure.supervisor import WorkerProcess as W; "
    "W.__init__.__kwdefaults__['silence_s'] = 2.0; from isthmus.cli import main; main()"
)
"""The command, changed to kill a silent worker after 2 s instead of 60 s."""


_AS_ROOT = {
    name: "1"
    for kind in ("OMPI", "PRTE")
    for name in (f"{kind}_ALLOW_RUN_AS_ROOT", f"{kind}_ALLOW_RUN_AS_ROOT_CONFIRM")
}
"""Variables that let launchers of MPI run as root."""


def few(short: bool, values: range) -> list[int]:
    """All values, or three of them if ``short``."""
    return list(values)[:: max(1, len(values) // 2)] if short else list(values)


def _shared_memory() -> set[str]:
    """Names of shared memory, except that of MPI's ranks."""
    files = (path.name for path in Path("/dev/shm").iterdir() if path.is_file())
    return {name for name in files if "_segment." not in name}


@dataclass
class Trial:
    """A run with one fault, and the errors found in it."""

    device: str = "null:20us"
    options: tuple[str, ...] = POINTS
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[int, int] = field(default_factory=dict)
    impatient: bool = False
    group: Path | None = None
    """Control group that the run joins."""
    study: str = "transfer"
    launcher: tuple[str, ...] = ()
    """Command that starts the run's ranks; empty: no MPI."""
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    folder: Path = Path()
    code: int = 0
    said: str = ""
    ended_s: float = 0.0
    """Seconds from the call of ``end`` to the end of the process."""

    def __enter__(self) -> Trial:
        self.root = Path(tempfile.mkdtemp(prefix="isthmus-fault-", dir="/tmp"))
        self.folder, self.temporary = self.root / "out", self.root / "tmp"
        self.folder.mkdir()
        self.temporary.mkdir()
        self.out = self.folder / "run.json"
        self._shared = _shared_memory()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.kill()
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def log(self) -> Path:
        """Path of the run's journal."""
        return journal.path_of(self.out)

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        """Starts the run; ``more`` replaces the arguments for devices and points."""
        arguments = more or ("--device", self.device, *self.options)
        program = ["-c", _IMPATIENT] if self.impatient else ["-m", "isthmus"]
        lock = {"ISTHMUS_LOCK": str(self.root / "lock"), "TMPDIR": str(self.temporary)}

        def limit() -> None:
            if self.group:
                (self.group / "cgroup.procs").write_text(str(os.getpid()))
            for kind, value in self.limits.items():
                resource.setrlimit(kind, (value, value))

        return subprocess.Popen(
            [
                *self.launcher, sys.executable, *program, "run", self.study, *arguments,
                "--out", str(self.out),
            ],
            env={**os.environ, **_AS_ROOT, **lock, **self.environment}, preexec_fn=limit,  # noqa: PLW1509
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip

    def processes(self) -> list[psutil.Process]:
        """Processes that the trial started and that still run."""
        processes = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                mine = process.environ().get("TMPDIR") == str(self.temporary)
                if mine and process.status() != psutil.STATUS_ZOMBIE:
                    processes.append(process)
        return processes

    def wait_for(self, entries: int, process: subprocess.Popen[bytes]) -> bool:
        """Waits until the journal has so many results; False if the run ends before that."""
        while process.poll() is None:
            with contextlib.suppress(OSError):
                if self.log.read_bytes().count(b"\n") > entries:
                    return True
            time.sleep(0.005)
        return False

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Waits for the end of the run."""
        began = time.monotonic()
        try:
            _, said = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.wrong.append(f"still runs after {LIMIT_S:.0f} s")
            process.kill()
            _, said = process.communicate()
        self.ended_s = max(self.ended_s, time.monotonic() - began)
        self.code, self.said = process.returncode, said.decode()
        if "Traceback" in self.said or self.code not in {0, 1, 2, 4, -signal.SIGKILL}:
            self.wrong.append(f"ended with {self.code}: {self.said[-300:]}")

    def run(self, *more: str) -> None:
        """Runs to the end."""
        self.end(self.start(*more))

    def resume(self) -> None:
        """Resumes the run, without the fault."""
        self.environment, self.limits, self.group = {}, {}, None
        self.run("--resume")
        if self.code:
            self.wrong.append(f"--resume ends with {self.code}: {self.said[-200:]}")

    def results(self) -> list[journal.Entry]:
        """Complete results in the journal; without a journal, those in the run file."""
        with contextlib.suppress(IsthmusError):
            return [entry for entry in journal.read(self.log)[1] if entry.rerun]
        with contextlib.suppress(IsthmusError):
            return journal.entries_of(run_file.load(self.out).points)
        return []

    def judge(self, before: list[journal.Entry], *, complete: bool = True) -> None:
        """Compares the run file with the earlier results, and looks for leftovers."""
        try:
            run = run_file.load(self.out)
        except IsthmusError as error:
            self.wrong.append(str(error))
        else:
            here = {
                (journal.key_of(point), rerun.rerun): rerun
                for point in run.points
                for rerun in point.reruns
            }
            for entry in before:
                number = entry.rerun.rerun if entry.rerun else -1
                if here.get((journal.key_of(entry.point), number)) != entry.rerun:
                    self.lost.append(f"{entry.point.operation} {entry.point.bytes}")
            bare = [p for p in run.points if not (p.reruns or p.error or p.skipped)]
            if bare and run.status == "complete":
                self.lost.append(f"{len(bare)} points have neither results nor a reason")
            if complete and (
                run.status != "complete" or any(len(p.reruns) != 3 for p in run.points)
            ):
                self.wrong.append(f"the resumed run is {run.status} or lacks processes")
        self.tidy({self.out.name})

    def tidy(self, files: set[str]) -> None:
        """Looks for leftovers: processes, files, sockets and shared memory."""
        deadline = time.monotonic() + 10
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.left += [f"process {process.pid}" for process in self.processes()]
        here = {path.name for path in self.folder.iterdir()} if self.folder.is_dir() else set()
        self.left += sorted(here - files)
        self.left += [
            str(path.relative_to(self.temporary))
            for path in self.temporary.rglob("*")
            if not path.is_dir() and f"isthmus-{os.getuid()}" not in path.parts
        ]
        self.left += sorted(_shared_memory() - self._shared)


Fault = Callable[[bool], Iterator[Trial]]
FAULTS: dict[str, Fault] = {}


def fault(title: str) -> Callable[[Fault], Fault]:
    """Registers a fault: a generator of judged trials; it yields fewer if its argument is true."""

    def register(function: Fault) -> Fault:
        FAULTS[title] = function
        return function

    return register
