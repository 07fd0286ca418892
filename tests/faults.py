"""Provokes faults during real runs and counts their effects: ``make faults``.

Each trial is an ``isthmus run`` with its own folder, temporary folder and lock. It has one fault.
If the run can be resumed, ``--resume`` completes it. Then the trial is judged:

- lost: the run file lacks a result that the journal had, or that was reported as kept; or a point
  has neither results nor a reason;
- wrong: a traceback, a message of more than one line, a file that cannot be read, corrupted data
  that were called verified, a run called complete with points missing;
- left: processes, files, sockets or shared memory that remain after the run.

``.venv/bin/python tests/faults.py [--short] [NAME ...]`` prints the table that
``benchmarks/RESULTS.md`` keeps.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping

import psutil

import fault_runtimes  # noqa: F401 - registers its faults
from fault_trial import FAULTS, POINTS, Trial, fault, few
from isthmus.results import journal, run_file


def _device_fault(kind: str, repetitions: range, short: bool, **options: bool) -> Iterator[Trial]:
    for repetition in few(short, repetitions):
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
                # With a larger step the check may see only repetitions without the fault.
                if every == 1 and any(r.verified != "false" for p in run.points for r in p.reruns):
                    trial.wrong.append(f"{move} was called verified")
                if every == 1 and trial.code != 1:
                    trial.wrong.append(f"corrupted data, exit {trial.code}")
                trial.judge([], complete=False)
                yield trial


def _struck(strike: Callable[[Trial, subprocess.Popen[bytes]], None], entries: int) -> Trial:
    """A trial whose run gets the fault once its journal has so many results, then is resumed."""
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
    for entries in few(short, range(12)):
        yield _struck(_kill_worker, entries)


@fault("runner killed (-9) after n results, resumed")
def _(short: bool) -> Iterator[Trial]:
    for entries in few(short, range(12)):
        yield _struck(lambda _, process: process.kill(), entries)


@fault("runner terminated (SIGTERM) after n results, resumed")
def _(short: bool) -> Iterator[Trial]:
    for entries in few(short, range(12)):
        yield _struck(lambda _, process: process.terminate(), entries)


def _kill_leader(trial: Trial, _: subprocess.Popen[bytes]) -> None:
    """Kills the process of the runner, which rank 0 starts."""
    for process in trial.processes():
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            if "run" in words and "isthmus" in words and words[0] == sys.executable:
                process.kill()


@fault("leader of two ranks of MPI killed (-9) after n results, resumed")
def _(short: bool) -> Iterator[Trial]:
    program = shutil.which("orterun") or shutil.which("prterun")
    launcher = (str(program), "--oversubscribe", "--bind-to", "none", "-n", "2")
    options = ("--bytes", "1,8,64", "--precision", "0.9", "--budget", "600")
    for entries in few(short, range(0, 6, 2)) if program else ():
        with Trial("host", options, study="beff", launcher=launcher) as trial:
            process = trial.start()
            struck = trial.wait_for(entries, process)
            if struck:
                _kill_leader(trial, process)
            trial.end(process)
            before = trial.results()
            if not struck or not trial.code:
                trial.wrong.append("no leader was killed")
            if "go on with --resume" not in trial.said:
                trial.wrong.append(f"no way on: {trial.said[-200:]}")
            trial.resume()
            trial.judge(before, complete=False)  # a run with ranks has one process for each rank
            if run_file.load(trial.out).status != "complete":
                trial.wrong.append("the resumed run is not complete")
            yield trial


def _stop(seconds: float, *, worker: bool) -> Callable[[Trial, subprocess.Popen[bytes]], None]:
    def strike(_: Trial, process: subprocess.Popen[bytes]) -> None:
        runner = psutil.Process(process.pid)
        for stopped in runner.children() if worker else [runner]:
            with contextlib.suppress(psutil.Error):
                stopped.suspend()
                time.sleep(seconds)
                stopped.resume()

    return strike


@fault("runner or worker stopped (SIGSTOP) for 30 s")
def _(short: bool) -> Iterator[Trial]:
    for worker in (False, True):
        yield _struck(_stop(1.0 if short else 30.0, worker=worker), 3)


@fault("output folder removed after n results")
def _(short: bool) -> Iterator[Trial]:
    for entries in few(short, range(0, 12, 2)):
        with Trial() as trial:
            process = trial.start()
            if trial.wait_for(entries, process):
                shutil.rmtree(trial.folder)
            trial.end(process)
            _judge_kept(trial, "No such file or directory")
            yield trial


@fault("output appears while the run goes on")
def _(short: bool) -> Iterator[Trial]:
    for entries in few(short, range(0, 12, 4)):
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
    """Checks that the temporary folder holds the whole run, and the last line names the file."""
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
    for size in few(short, range(1, 64, 3)):
        with Trial(limits={resource.RLIMIT_FSIZE: size << 10}) as trial:
            trial.run()
            before = trial.results()
            if trial.log.exists():
                if "go on with --resume" not in trial.said.splitlines()[-1]:
                    trial.wrong.append(f"no way on: {trial.said[-200:]}")
                trial.resume()
                trial.judge(before)
            elif not trial.code:  # the whole run fitted
                trial.judge(before)
            else:  # even the journal's first line did not fit: nothing was measured
                trial.tidy(set())
            yield trial


@fault("disk full: n KiB are there")
def _(short: bool) -> Iterator[Trial]:
    for size in () if os.geteuid() else few(short, range(4, 80, 8)):
        with Trial() as trial:
            folder = trial.folder
            mount = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(folder)]
            if subprocess.run(mount, check=False, capture_output=True).returncode:
                return  # for example, a container may not mount
            try:
                trial.run()
                if not trial.out.exists():
                    _judge_kept(trial, "No space left on device")
            finally:
                subprocess.run(["umount", str(folder)], check=True)
            yield trial


@fault("limit of n open files")
def _(short: bool) -> Iterator[Trial]:
    for count in few(short, range(6, 18)):
        yield _limited({resource.RLIMIT_NOFILE: count})


@fault("limit of n MiB of address space")
def _(short: bool) -> Iterator[Trial]:
    for size in few(short, range(100, 800, 100)):
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


def campaign(names: list[str], *, short: bool) -> Iterator[tuple[str, list[Trial]]]:
    """Yields each fault with its trials; with names, only faults whose title contains a name."""
    for title, function in FAULTS.items():
        if not names or any(name in title for name in names):
            yield title, list(function(short))


def main() -> int:
    """Prints the table; ends with 1 if anything was lost, wrong or left behind."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="few trials of each fault")
    parser.add_argument("names", nargs="*", help="only faults whose title contains one of these")
    arguments = parser.parse_args()
    bad = 0
    print(
        "| fault | tried | lost | wrong | left over | longest end, s |\n|---|--:|--:|--:|--:|--:|"
    )
    for title, trials in campaign(arguments.names, short=arguments.short):
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
