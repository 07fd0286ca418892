"""Provokes faults during real runs and counts what is lost, wrong or left over: ``make faults``.

Each trial is ``isthmus run`` in a folder, a temporary folder and with a lock of its own. A fault
strikes; where the run can go on, ``--resume`` ends it. Then the trial is judged:

- lost: a result that the journal had, or that was said to be kept, is not in the run file; or a
  point has neither results nor a reason;
- wrong: a traceback, a message of more than one line, a file that cannot be read, corrupted data
  that were called verified, a run called complete with points missing;
- left: processes, files, sockets or shared memory that stay behind.

``.venv/bin/python tools/faults.py [--short] [NAME ...]`` prints the table that
``benchmarks/RESULTS.md`` keeps.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes.util
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

ROOT = Path(__file__).parents[1]
LIMIT_S = 120.0
"""Far beyond what a trial takes: what hangs gets there."""
POINTS = ("--bytes", "1,4Ki", "--operation", "write,read", "--reruns", "3", "--budget", "60")
_IMPATIENT = (
    "from isthmus.measure.supervisor import WorkerProcess as W; "
    "W.__init__.__kwdefaults__['silence_s'] = 2.0; from isthmus.cli import main; main()"
)
"""The command, with 2 s in place of 60 until a silent worker is killed."""


def _shared_memory() -> set[str]:
    """Names of shared memory, but that of MPI's ranks: no trial starts any."""
    ours = (one.name for one in Path("/dev/shm").iterdir() if "_segment." not in one.name)
    return set(ours)


@dataclass
class Trial:
    """One run that a fault strikes, and what was found wrong with it."""

    device: str = "null:20us"
    options: tuple[str, ...] = POINTS
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[int, int] = field(default_factory=dict)
    impatient: bool = False
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    folder: Path = Path()
    code: int = 0
    said: str = ""
    ended_s: float = 0.0
    """Seconds from the end of ``wait`` to that of the process."""

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
        """The run's journal."""
        return journal.path_of(self.out)

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        """Starts the run; ``more``: arguments in place of devices and points."""
        arguments = more or ("--device", self.device, *self.options)
        program = ["-c", _IMPATIENT] if self.impatient else ["-m", "isthmus"]
        lock = {"ISTHMUS_LOCK": str(self.root / "lock"), "TMPDIR": str(self.temporary)}

        def limit() -> None:
            for kind, value in self.limits.items():
                resource.setrlimit(kind, (value, value))

        return subprocess.Popen(
            [sys.executable, *program, "run", "transfer", *arguments, "--out", str(self.out)],
            env={**os.environ, **lock, **self.environment}, preexec_fn=limit,  # noqa: PLW1509
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip

    def processes(self) -> list[psutil.Process]:
        """What the trial started and still runs."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                mine = process.environ().get("TMPDIR") == str(self.temporary)
                if mine and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def wait_for(self, entries: int, process: subprocess.Popen[bytes]) -> bool:
        """Waits until the journal has so many results; False where the run ended before."""
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
        """Goes on with the run, without the fault."""
        self.environment, self.limits = {}, {}
        self.run("--resume")
        if self.code:
            self.wrong.append(f"--resume ends with {self.code}: {self.said[-200:]}")

    def results(self) -> list[journal.Entry]:
        """Whole results in the journal, else in the run file."""
        with contextlib.suppress(IsthmusError):
            return [one for one in journal.read(self.log)[1] if one.rerun]
        with contextlib.suppress(IsthmusError):
            return journal.entries_of(run_file.load(self.out).points)
        return []

    def judge(self, before: list[journal.Entry], *, complete: bool = True) -> None:
        """Compares the run file with the results of before, and looks for what is left."""
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
        """Looks for processes, files, sockets and shared memory that are left."""
        deadline = time.monotonic() + 10
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.left += [f"process {one.pid}" for one in self.processes()]
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
    """Registers a fault: a generator of judged trials, fewer where its argument is true."""

    def register(function: Fault) -> Fault:
        FAULTS[title] = function
        return function

    return register


def _few(short: bool, values: range) -> list[int]:
    return list(values)[:: max(1, len(values) // 2)] if short else list(values)


def _device_fault(kind: str, repetitions: range, short: bool, **options: bool) -> Iterator[Trial]:
    for repetition in _few(short, repetitions):
        with Trial(f"null:1ms,{kind}={repetition}", **options) as trial:  # type: ignore[arg-type]
            trial.run()
            if trial.code not in {0, 1}:
                trial.wrong.append(f"exit {trial.code}")
            failed = run_file.load(trial.out)
            if trial.code == 1 and not any(point.error for point in failed.points):
                trial.wrong.append("exit 1, and no point says why")
            trial.judge([], complete=False)
            yield trial


@fault("device fails at its n-th repetition")
def _(short: bool) -> Iterator[Trial]:
    yield from _device_fault("fail", range(1, 17), short)


@fault("device is lost at its n-th repetition")
def _(short: bool) -> Iterator[Trial]:
    yield from _device_fault("lose", range(1, 17), short)


@fault("runtime crashes at the n-th repetition")
def _(short: bool) -> Iterator[Trial]:
    yield from _device_fault("crash", range(1, 17), short)


@fault("device hangs at its n-th repetition (limit 2 s for 60 s)")
def _(short: bool) -> Iterator[Trial]:
    yield from _device_fault("hang", range(1, 2 if short else 8), False, impatient=True)


@fault("data dropped, doubled, moved or early in every n-th transfer")
def _(short: bool) -> Iterator[Trial]:
    moves = ("drop", "duplicate", "reorder", "nothing", "early")
    for move in moves[:2] if short else moves:
        for every in (1,) if short else (1, 2, 3):
            device = f"null:100us,move={move},every={every}"
            with Trial(device, ("--bytes", "64Ki", *POINTS[2:])) as trial:
                trial.run()
                run = run_file.load(trial.out)
                # A repetition that the fault leaves out may be the one that is checked.
                if every == 1 and any(r.verified != "false" for p in run.points for r in p.reruns):
                    trial.wrong.append(f"{move} was called verified")
                if every == 1 and trial.code != 1:
                    trial.wrong.append(f"corrupted data, exit {trial.code}")
                trial.judge([], complete=False)
                yield trial


def _struck(strike: Callable[[Trial, subprocess.Popen[bytes]], None], entries: int) -> Trial:
    """A trial whose run is struck once its journal has so many results, then resumed."""
    with Trial() as trial:
        process = trial.start()
        if trial.wait_for(entries, process):
            strike(trial, process)
        trial.end(process)
        before = trial.results()
        if trial.code or run_file.load(trial.out).status != "complete":
            trial.resume()
        trial.judge(before)
    return trial


def _kill_worker(_: Trial, process: subprocess.Popen[bytes]) -> None:
    for child in psutil.Process(process.pid).children():
        with contextlib.suppress(psutil.Error):
            child.kill()


@fault("worker killed (-9) after n results")
def _(short: bool) -> Iterator[Trial]:
    for entries in _few(short, range(12)):
        yield _struck(_kill_worker, entries)


@fault("runner killed (-9) after n results, resumed")
def _(short: bool) -> Iterator[Trial]:
    for entries in _few(short, range(12)):
        yield _struck(lambda _, process: process.kill(), entries)


@fault("runner terminated (SIGTERM) after n results, resumed")
def _(short: bool) -> Iterator[Trial]:
    for entries in _few(short, range(12)):
        yield _struck(lambda _, process: process.terminate(), entries)


def _stop(seconds: float, *, worker: bool) -> Callable[[Trial, subprocess.Popen[bytes]], None]:
    def strike(_: Trial, process: subprocess.Popen[bytes]) -> None:
        runner = psutil.Process(process.pid)
        for one in runner.children() if worker else [runner]:
            with contextlib.suppress(psutil.Error):
                one.suspend()
                time.sleep(seconds)
                one.resume()

    return strike


@fault("runner or worker stopped (SIGSTOP) for 30 s")
def _(short: bool) -> Iterator[Trial]:
    for worker in (False, True):
        yield _struck(_stop(1.0 if short else 30.0, worker=worker), 3)


@fault("output folder removed after n results")
def _(short: bool) -> Iterator[Trial]:
    for entries in _few(short, range(0, 12, 2)):
        with Trial() as trial:
            process = trial.start()
            if trial.wait_for(entries, process):
                shutil.rmtree(trial.folder)
            trial.end(process)
            _judge_kept(trial, "No such file or directory")
            yield trial


@fault("output appears while the run goes on")
def _(short: bool) -> Iterator[Trial]:
    for entries in _few(short, range(0, 12, 4)):
        with Trial() as trial:
            process = trial.start()
            if trial.wait_for(entries, process):
                trial.out.write_text("precious")
            trial.end(process)
            if trial.out.read_text() != "precious":
                trial.lost.append("a file of somebody else")
            _judge_kept(trial, "nothing is overwritten")
            yield trial


def _judge_kept(trial: Trial, why: str) -> None:
    """The run is in the temporary folder, whole, and the last line says where."""
    kept = [*trial.temporary.glob(f"isthmus-{os.getuid()}/kept/*.json")]
    last = trial.said.splitlines()[-1] if trial.said else ""
    if len(kept) != 1 or str(kept[0]) not in last or why not in last or trial.code != 1:
        trial.wrong.append(f"exit {trial.code}: {last}")
        trial.tidy({"run.json"})
        return
    trial.tidy({"run.json"})
    if run_file.load(kept[0]).status == "interrupted":
        before = journal.entries_of(run_file.load(kept[0]).points)
        trial.out, trial.folder = kept[0], kept[0].parent
        trial.resume()
        trial.judge(before)
    elif any(len(point.reruns) != 3 for point in run_file.load(kept[0]).points):
        trial.lost.append("results")


@fault("no file may grow beyond n KiB (as with a full disk), resumed")
def _(short: bool) -> Iterator[Trial]:
    for size in _few(short, range(1, 64, 3)):
        with Trial(limits={resource.RLIMIT_FSIZE: size << 10}) as trial:
            trial.run()
            before = trial.results()
            if trial.log.exists():
                if "go on with --resume" not in trial.said.splitlines()[-1]:
                    trial.wrong.append(f"no way on: {trial.said[-200:]}")
                trial.resume()
                trial.judge(before)
            elif not trial.code:  # there was room for all of it
                trial.judge(before)
            else:  # not even the head of the journal: nothing was measured
                trial.tidy(set())
            yield trial


@fault("disk full: n KiB are there")
def _(short: bool) -> Iterator[Trial]:
    for size in () if os.geteuid() else _few(short, range(4, 80, 8)):
        with Trial() as trial:
            folder = trial.folder
            mount = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(folder)]
            if subprocess.run(mount, check=False, capture_output=True).returncode:
                return  # a container may not mount
            try:
                trial.run()
                if not trial.out.exists():
                    _judge_kept(trial, "No space left on device")
            finally:
                subprocess.run(["umount", str(folder)], check=True)
            yield trial


@fault("limit of n open files")
def _(short: bool) -> Iterator[Trial]:
    for count in _few(short, range(6, 18)):
        yield _limited({resource.RLIMIT_NOFILE: count})


@fault("limit of n MiB of address space")
def _(short: bool) -> Iterator[Trial]:
    for size in _few(short, range(100, 800, 100)):
        yield _limited({resource.RLIMIT_AS: size << 20})


def _limited(limits: Mapping[int, int]) -> Trial:
    with Trial(limits=limits) as trial:
        trial.run()
        if trial.code:
            if not trial.said.splitlines()[-1:] or "isthmus" not in trial.said:
                trial.wrong.append(f"no line says why: {trial.said[-200:]}")
            before = trial.results()
            if trial.log.exists() or trial.out.exists():
                trial.resume()
                trial.judge(before)
            else:
                trial.tidy(set())
        else:
            trial.judge([])
    return trial


@fault("n-th call of OpenCL returns an error")
def _(short: bool) -> Iterator[Trial]:
    installed = ctypes.util.find_library("OpenCL")
    places = [Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib64"), Path("/usr/lib")]
    loader = next(
        (path / str(installed) for path in places if (path / str(installed)).exists()), None
    )
    if loader is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        build = ["g++", "-std=c++20", "-O1", "-fPIC", "-shared",
                 "-I", "cpp/backends/opencl", "-I", "cpp/include", "tests/faulty_opencl/faulty.cpp",
                 "-o", f"{folder}/libOpenCL.so.1", "-ldl"]  # fmt: skip
        subprocess.run(build, check=True, cwd=ROOT)
        options = ("--bytes", "4Ki", "--operation", "write,read", "--reruns", "1", "--depth", "1",
                   "--memory", "pageable,alloc_host", "--budget", "10")  # fmt: skip
        for call in (1, 40, 75, 90) if short else (*range(1, 100), *range(100, 400, 20)):
            environment = {
                "LD_LIBRARY_PATH": folder,
                "ISTHMUS_FAULTY_LOADER": str(loader),
                "ISTHMUS_FAULTY_CALL": str(call),
                "ISTHMUS_FAULTY_LOG": f"{folder}/{call}",
            }
            with Trial("opencl:pocl", options, environment) as trial:
                trial.run()
                if not Path(folder, str(call)).exists():
                    trial.wrong.append(f"call {call} was not reached")
                if not trial.out.exists():
                    if trial.code not in {1, 2, 4} or "isthmus: " not in trial.said:
                        trial.wrong.append(f"exit {trial.code}: {trial.said[-200:]}")
                    trial.tidy(set())
                else:
                    run = run_file.load(trial.out)
                    if any(r.verified == "false" for p in run.points for r in p.reruns):
                        trial.wrong.append("an error of a call is taken for wrong data")
                    trial.judge([], complete=False)
                yield trial


def campaign(names: list[str], *, short: bool) -> Iterator[tuple[str, list[Trial]]]:
    """The trials of each fault, or of those whose title contains one of the names."""
    for title, function in FAULTS.items():
        if not names or any(name in title for name in names):
            yield title, list(function(short))


def main() -> int:
    """Prints the table; ends with 1 where anything was lost, wrong or left."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="few trials of each fault")
    parser.add_argument("names", nargs="*", help="only faults whose title contains one of these")
    given = parser.parse_args()
    bad = 0
    print(
        "| fault | tried | lost | wrong | left over | longest end, s |\n|---|--:|--:|--:|--:|--:|"
    )
    for title, trials in campaign(given.names, short=given.short):
        lost, wrong, left = (
            [f"{n}: {text}" for n, trial in enumerate(trials) for text in getattr(trial, kind)]
            for kind in ("lost", "wrong", "left")
        )
        longest = max((trial.ended_s for trial in trials), default=0.0)
        counts = f"{len(trials)} | {len(lost)} | {len(wrong)} | {len(left)} | {longest:.1f}"
        print(f"| {title} | {counts} |", flush=True)
        for text in (*lost, *wrong, *left):
            print(f"  {title}: {text}", file=sys.stderr, flush=True)
        bad += len(lost) + len(wrong) + len(left)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
