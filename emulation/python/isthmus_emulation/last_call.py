"""Reports the last call of a program that a signal ended, and the command for a debugger.

``card exec`` preloads a library into the program. The library notes each call of XRT or OpenCL in a
file of the session, in place of the call before (``emulation/clock/last_call.cpp``).
"""

from __future__ import annotations

import signal
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from isthmus.program import invocation
from isthmus_emulation.session import Session

_HEADER = struct.Struct("<IIII3Q128s")
_VERSION = 1
_FORM_BYTES = 96
_KILLED = 128  # shells exit with 128 + N after a death by signal N
_FATAL = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
"""Signals that a program's own faults cause."""


@dataclass(frozen=True)
class LastCall:
    """The last call that a process made into XRT or OpenCL."""

    program: int
    thread: int
    text: str
    """The call with its arguments: ``xrt::run::set_arg(2, buffer of 4096 bytes) of kernel scale``.
    """


@dataclass(frozen=True)
class Death:
    """A program's death by a signal of ``_FATAL``."""

    signal: signal.Signals
    call: LastCall | None
    """Last call; None if the program called neither XRT nor OpenCL."""
    kernel_runs: int
    """Number of kernel runs that the program started."""
    unfinished: int
    """Number of kernel runs whose end the program has not seen."""


def death(session: Session, code: int) -> Death | None:
    """Returns facts on the program's death; None if its exit code is no signal of ``_FATAL``."""
    number = next(
        (signal_number for signal_number in _FATAL if signal_number == code - _KILLED), None
    )
    if number is None:
        return None
    used = session.used()
    return Death(
        number,
        _newest(session.directory),
        sum(slot.kernels for slot in used),
        sum(slot.busy for slot in used),
    )


def sentence(death: Death, options: Sequence[str], command: Sequence[str]) -> str:
    """Returns the line for the user; ``options``: options of ``card exec`` for the program."""
    what = f"the program ended by {death.signal.name} ({signal.strsignal(death.signal)})"
    last = "it made no call of XRT or OpenCL"
    if death.call is not None:
        last = f"its last call was {death.call.text}, in thread {death.call.thread}"
    kernels = f"kernel runs: {death.kernel_runs}, of which {death.unfinished} not seen to end"
    debugger = ("gdb", "-ex", "run", "-ex", "bt", "--args", *command)
    again = invocation("card", "exec", *options, "--", *debugger)
    return f"{what}; {last}; {kernels}. To see where: {again}"


def _newest(folder: Path) -> LastCall | None:
    """Returns the last call in the session's newest file; each process writes one file."""
    files = sorted(folder.glob("last_call.*"), key=lambda file: file.stat().st_mtime_ns)
    return _read(files[-1]) if files else None


def _read(file: Path) -> LastCall | None:
    data = file.read_bytes()
    if len(data) < _HEADER.size:
        return None
    version, forms, call, thread, *numbers, text = _HEADER.unpack_from(data)
    if version != _VERSION or not 0 < call <= forms:
        return None
    begin = _HEADER.size + (call - 1) * _FORM_BYTES
    form = _text(data[begin : begin + _FORM_BYTES])
    return LastCall(
        int(file.suffix.removeprefix(".")), thread, form.format(*numbers, text=_text(text))
    )


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")
