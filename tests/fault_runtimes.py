"""Faults of vendors' runtimes, of the date and of a control group, for ``tests/faults.py``.

The runtimes are the real ones, or the stand-ins of tests. A shared object made here
(``tests/faulty_runtimes``) intercepts the calls of each runtime and makes the n-th call fail.
"""

from __future__ import annotations

import contextlib
import ctypes.util
import os
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path

from fault_trial import POINTS, Trial, fault, few
from isthmus.backends import registry
from isthmus.results import run_file

ROOT = Path(__file__).parents[1]
FAULTY = ROOT / "tests" / "faulty_runtimes"
_ONCE = ("--bytes", "4Ki", "--operation", "write,read", "--reruns", "1", "--depth", "1",
         "--budget", "10")  # fmt: skip
_GROUPS = Path("/sys/fs/cgroup")


def _library(folder: Path, name: str, *sources: Path, include: tuple[Path, ...] = ()) -> str:
    """Builds a shared object from these sources; returns its path."""
    flags = [word for path in (*include, FAULTY, folder) for word in ("-I", str(path))]
    build = ["g++", "-std=c++20", "-O1", "-fPIC", "-shared", "-w", *flags, *map(str, sources),
             "-o", str(folder / name), "-ldl"]  # fmt: skip
    subprocess.run(build, check=True)
    return str(folder / name)


def _installed(name: str) -> Path | None:
    """Path of an installed library; None if it is not installed."""
    file = str(ctypes.util.find_library(name))
    places = [Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib64"), Path("/usr/lib")]
    return next((path / file for path in places if (path / file).exists()), None)


@contextlib.contextmanager
def _opencl() -> Iterator[dict[str, str]]:
    """Variables that load a faulty loader before the installed one; empty if none is installed."""
    loader = _installed("OpenCL")
    with tempfile.TemporaryDirectory() as folder:
        if loader is None:
            yield {}
            return
        interface = (ROOT / "cpp" / "backends" / "opencl", ROOT / "cpp" / "include")
        _library(Path(folder), "libOpenCL.so.1", FAULTY / "opencl.cpp", include=interface)
        yield {
            "LD_LIBRARY_PATH": folder,
            "ISTHMUS_FAULTY_LIBRARY": str(loader),
            "ISTHMUS_FAULTY_LOG": f"{folder}/log",
        }


@contextlib.contextmanager
def _cuda() -> Iterator[dict[str, str]]:
    """Variables that load a faulty driver before the stand-in of tests."""
    stand_in = ROOT / "tests" / "gpu_stand_in"
    interface = (ROOT / "cpp" / "backends" / "cuda",)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        yield {
            "ISTHMUS_CUDA_DRIVER": _library(
                folder, "libcuda.so.1", FAULTY / "cuda.cpp", include=interface
            ),
            "ISTHMUS_FAULTY_LIBRARY": _library(
                folder, "libstandin.so", stand_in / "cuda.cpp", stand_in / "unsupported.cpp",
                include=interface,
            ),
            "ISTHMUS_FAULTY_LOG": f"{folder}/log",
        }  # fmt: skip


@contextlib.contextmanager
def _xrt() -> Iterator[dict[str, str]]:
    """Variables that load a faulty library before XRT's; empty without XRT."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        backend = registry().get("xrt")
        if backend is None or not backend.library.exists() or _installed("xrt_coreutil") is None:
            yield {}
            return
        caller = backend.library.with_name("libisthmus_xrt_native.so")
        listed = subprocess.run(
            ["nm", "-D", "--undefined-only", "--format=just-symbols", caller],
            check=True, capture_output=True, text=True,
        ).stdout.split()  # fmt: skip
        calls = [
            f"ISTHMUS_XRT_CALL({name})"
            for name in listed
            if name.startswith(("_ZN3xrt", "_ZNK3xrt"))
        ]
        (folder / "symbols.inc").write_text("\n".join(calls))
        yield {
            "LD_PRELOAD": _library(folder, "libfaulty_xrt.so", FAULTY / "xrt.cpp"),
            "ISTHMUS_FAULTY_LIBRARY": "libxrt_coreutil.so.2",
            "ISTHMUS_FAULTY_LOG": f"{folder}/log",
        }


def _failing(
    device: str, options: tuple[str, ...], variables: dict[str, str], calls: Iterable[int]
) -> Iterator[Trial]:
    """Yields a trial for each call to fail; ends when a run makes fewer calls."""
    reached = 0
    for call in calls if variables else ():
        log = Path(variables["ISTHMUS_FAULTY_LOG"])
        log.unlink(missing_ok=True)
        environment = {**variables, "ISTHMUS_FAULTY_CALL": str(call)}
        with Trial(device, options, environment) as trial:
            trial.run()
            if not log.exists() and reached:
                return
            reached += 1
            if not log.exists():
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


@fault("n-th call of OpenCL returns an error")
def _(short: bool) -> Iterator[Trial]:
    calls = (1, 40, 75, 90) if short else (*range(1, 100), *range(100, 400, 20))
    options = (*_ONCE, "--memory", "pageable,alloc_host")
    with _opencl() as variables:
        yield from _failing("opencl:pocl", options, variables, calls)


@fault("n-th call of CUDA returns an error (stand-in of a driver)")
def _(short: bool) -> Iterator[Trial]:
    calls = (1, 20, 40) if short else (*range(1, 100), *range(100, 400, 20))
    with _cuda() as variables:
        yield from _failing("cuda:0", (*_ONCE, "--memory", "pageable"), variables, calls)


@fault("n-th call of XRT throws (without a card, noop)")
def _(short: bool) -> Iterator[Trial]:
    calls = (1, 20, 40) if short else (*range(1, 100), *range(100, 400, 20))
    with _xrt() as variables:
        yield from _failing("xrt:0@noop", _ONCE, variables, calls)


@fault("n-th call of XRT throws (emulated card)")
def _(short: bool) -> Iterator[Trial]:
    calls = (1, 20, 40) if short else range(1, 100)
    with _xrt() as variables:
        yield from _failing("xrt:0@card=u250", _ONCE, variables, calls)


@fault("OpenCL flips one bit in each buffer that it reads")
def _(short: bool) -> Iterator[Trial]:
    with _opencl() as variables:
        for size in ("1", "4Ki", "1Mi")[: 1 if short else 3] if variables else ():
            options = ("--bytes", size, *_ONCE[2:], "--memory", "pageable,alloc_host")
            environment = {**variables, "ISTHMUS_FAULTY_FLIP": "1"}
            with Trial("opencl:pocl", options, environment) as trial:
                trial.run()
                run = run_file.load(trial.out)
                # The fault changes only reads; checks of large writes map the buffer instead.
                read = [r for p in run.points if p.operation == "read" for r in p.reruns]
                if trial.code != 1 or not read or any(r.verified != "false" for r in read):
                    trial.wrong.append(f"flipped bits were called verified, exit {trial.code}")
                trial.judge([], complete=False)
                yield trial


@fault("the date steps by a day, forth and back, at each reading")
def _(short: bool) -> Iterator[Trial]:
    with tempfile.TemporaryDirectory() as folder:
        preloaded = {"LD_PRELOAD": _library(Path(folder), "libclock.so", FAULTY / "clock.cpp")}
        for device in ("null:20us", "host", "null:1ms")[: 1 if short else 3]:
            with Trial(device, environment=preloaded) as trial:
                began = time.monotonic()
                trial.run()
                took = time.monotonic() - began
                trial.judge([])
                run = run_file.load(trial.out)
                started = datetime.fromisoformat(run.started.replace("Z", "+00:00"))
                if abs((datetime.now(timezone.utc) - started).total_seconds()) < 80_000:
                    trial.wrong.append("the date did not step: nothing was tried")
                spent = [rerun.measured_s for point in run.points for rerun in point.reruns]
                if not 0 < run.took_s <= took or max(spent) > took or min(spent) < 0:
                    trial.wrong.append(f"{run.took_s} s for {took} s; points {max(spent)} s")
                yield trial


@contextlib.contextmanager
def _group(limit: int) -> Iterator[Path | None]:
    """A control group with so many bytes of memory; None if it cannot be made."""
    first = (_GROUPS / "memory" / "memory.limit_in_bytes").exists()
    folder = _GROUPS / ("memory" if first else "") / f"isthmus-fault-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        yield None
        return
    try:
        file = folder / ("memory.limit_in_bytes" if first else "memory.max")
        try:
            file.write_text(str(limit))
        except OSError:  # the system has no memory controller
            yield None
        else:
            yield folder
    finally:
        for _ in range(100):  # a killed process leaves the group a little later
            with contextlib.suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.1)


@fault("control group of n MiB of memory (the kernel kills who is beyond), resumed")
def _(short: bool) -> Iterator[Trial]:
    sizes = few(short, range(10, 130, 10))
    for size in sizes:
        with _group(size << 20) as group:
            if group is None:
                return
            options = ("--bytes", "4Ki,16Mi", *POINTS[2:])
            with Trial("host", options, group=group) as trial:
                trial.run()
                before = trial.results()
                if trial.log.exists() or trial.out.exists():
                    trial.resume()
                    trial.judge(before)
                else:
                    trial.tidy(set())
                yield trial
