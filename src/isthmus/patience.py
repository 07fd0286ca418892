"""Limits the processor time that reading a stranger's text may take."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from isthmus.errors import UsageError

READING_S = 30.0
"""Most seconds of processor time for one text: outputs of 15 MiB take less than 8 s. A search for a
pattern can take time in the square of a line's length."""


@contextlib.contextmanager
def limited(name: str) -> Iterator[None]:
    """A context that raises UsageError after ``READING_S`` of processor time.

    The limit is a signal, for which pattern searches check, too. Python handles signals only in the
    main thread: in other threads the context has no effect.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise UsageError(
            f"{name}: not read within {READING_S:.0f} s, so it is not a benchmark's output"
        )

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, READING_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
