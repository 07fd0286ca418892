"""Runs a program on emulated cards, passes signals on to it, and ends all its processes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

import psutil

from isthmus.errors import UsageError
from isthmus.system import xrt
from isthmus.system.parent import die_with_parent
from isthmus_emulation.session import Session

_PASSED_ON = tuple(
    getattr(signal, f"SIG{name}")
    for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "CONT", "WINCH")
)
_PATIENCE_S = 2.0
_LOOK_S = 0.2
_KILLED = 128  # shells exit with 128 + N after a death by signal N


def run(
    command: Sequence[str], session: Session, *, is_over: Callable[[], bool] | None = None
) -> int:
    """Runs a command in a session to its end; returns its exit code, 128 + N for signal N.

    Calls ``is_over`` several times a second; if that returns true, ends the program (SIGTERM). The
    program gets a process session of its own; processes that remain in it are ended. Raises
    UsageError if the program cannot be started.
    """
    parent = os.getpid()
    prepared = environment(session)
    with _passing_on() as pass_on_to:
        try:
            program = subprocess.Popen(
                command,
                env=prepared,
                start_new_session=True,
                preexec_fn=lambda: die_with_parent(parent),  # noqa: PLW1509 - there is one thread
            )
        except OSError as error:
            raise UsageError(f"cannot run {command[0]}: {error.strerror}") from error
        try:
            pass_on_to(program.pid)
            code = _ended(program, is_over)
        finally:
            _end(program.pid)
    return _KILLED - code if code < 0 else code


def _ended(program: subprocess.Popen[bytes], is_over: Callable[[], bool] | None) -> int:
    """Waits for a program's end; ends the program if ``is_over`` returns true."""
    while is_over is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return program.wait(_LOOK_S)
        if is_over():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                return program.wait(_PATIENCE_S)
            program.kill()
            break
    return program.wait()


def environment(session: Session) -> dict[str, str]:
    """Returns the program's environment: this process' environment with the session's changes."""
    changed = {**os.environ, **session.environment}
    changed["OCL_ICD_VENDORS"] = str(_vendors(session))
    return {
        name: value for name, value in changed.items() if value or name not in session.environment
    }


def _vendors(session: Session) -> Path:
    """Makes a folder for OpenCL's loader that offers AMD's platform; returns the folder.

    The folder also has the platforms of the user's variable, but no other installed platforms: many
    programs take the first platform, and loaders put GPUs and CPUs before accelerators. ocl-icd,
    the loader of most distributions, takes no list of files: a single file in its variable is kept.
    Unreadable files are left out, as loaders do.
    """
    folder = session.directory / "vendors"
    folder.mkdir(exist_ok=True)
    named = os.environ.get("OCL_ICD_VENDORS")
    listed = [Path(named)] if named else []
    for file in listed[0].glob("*.icd") if listed and listed[0].is_dir() else listed:
        readable = file.is_file() and os.access(file, os.R_OK)
        if readable and "xilinx" not in file.read_text("utf-8", "replace"):
            shutil.copy(file, folder)
    library = Path(session.environment["XILINX_XRT"]) / "lib" / f"lib{xrt.OPENCL}.so.2"
    (folder / f"{xrt.OPENCL}.icd").write_text(f"{library}\n", "utf-8")
    return folder


@contextlib.contextmanager
def _passing_on() -> Iterator[Callable[[int], None]]:
    """Passes signals on to a program and its processes while the context lasts, as a terminal does.

    The context's value is a function that takes the program's process group; signals that came
    earlier are then passed on.
    """
    group, early = 0, list[int]()

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if not group:
            early.append(number)
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, number)

    def pass_on_to(started: int) -> None:
        nonlocal group
        group = started
        for number in early:
            pass_on(number, None)

    before: Mapping[signal.Signals, object] = {
        number: signal.signal(number, pass_on) for number in _PASSED_ON
    }
    try:
        yield pass_on_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]


def _end(session_id: int) -> None:
    """Waits for the remaining processes of a session to end, then kills them."""
    for process in _left_after(session_id, _PATIENCE_S):
        with contextlib.suppress(psutil.Error):
            process.kill()
    _left_after(session_id, _PATIENCE_S)  # a busy machine needs time to kill


def _left_after(session_id: int, most_s: float) -> list[psutil.Process]:
    """Waits at most ``most_s`` seconds; returns the processes of a session that still run."""
    deadline = time.monotonic() + most_s
    while (left := _members(session_id)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


def _members(session_id: int) -> list[psutil.Process]:
    members = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(pid) == session_id:
                process = psutil.Process(pid)
                if process.status() != psutil.STATUS_ZOMBIE:
                    members.append(process)
    return members
