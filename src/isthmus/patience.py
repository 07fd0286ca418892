"""A limit for the time in which a text of a stranger is read."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from isthmus.errors import UsageError

READING_S = 30.0
"""Processor time for one text: outputs of 15 MiB take less than 8 s. To search a line for a pattern
can take the square of its length."""


@contextlib.contextmanager
def limited(what: str) -> Iterator[None]:
    """A context that ends with UsageError when it has taken ``READING_S`` of processor time.

    Searches for patterns end, too: they look for signals. Outside the main thread, which alone gets
    signals, there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise UsageError(f"{what}: not read within {READING_S:.0f} s, so no output of a benchmark")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, READING_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
