"""When workers time the references of the host's own speed, so that it costs little time."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from isthmus.measure import protocol
from isthmus.measure.supervisor import Responder, WorkerRefusedError
from isthmus.results.run_file import HostReading

SHARE = 0.015
"""Largest share of a run's time for readings, but the first reading, which takes the memory.

After a reading of c seconds the next reading waits c / SHARE seconds. Measured shares: 0.65 to
0.95 % of runs of 20 and 30 s, 2.5 % of a run of 1.7 s (``benchmarks/RESULTS.md``)."""


@dataclass
class HostSpeed:
    """Reads the host's speed after visits, through the worker that has just measured."""

    run_began: float
    """Start of the run (``Run.started``) in the clock's seconds."""
    clock: Callable[[], float] = time.monotonic
    spent_s: float = field(default=0.0, init=False)
    """Seconds that all readings took."""
    _next: float = field(default=-math.inf, init=False)
    _is_first: bool = field(default=True, init=False)
    _memory: int | None = field(default=None, init=False)

    def memory(self) -> int:
        """The file in memory that the references of all workers use; negative: there is none."""
        if self._memory is None:
            self._memory = -1
            with suppress(OSError):  # each worker then has a file of its own
                self._memory = os.memfd_create("isthmus-references")
        return self._memory

    def close(self) -> None:
        """Gives the memory back, once no worker starts any more."""
        if self._memory is not None and self._memory >= 0:
            os.close(self._memory)
        self._memory = None

    def since_start(self) -> float:
        """Seconds from the start of the run to now, in whole microseconds."""
        return round(max(self.clock() - self.run_began, 0.0), 6)

    def readings(self, worker: Responder) -> list[HostReading]:
        """A reading by a worker; none before it is time for one, or where memory is short.

        Raises WorkerDiedError.
        """
        began = self.clock()
        if began < self._next:
            return []
        speed = None
        with suppress(WorkerRefusedError):  # no memory for the copy: the point is measured anyway
            speed = worker.ask(protocol.ReadHostSpeed())
        took_s = self.clock() - began
        self.spent_s += took_s
        if not self._is_first:  # which takes the memory, too: up to 0.1 s, once in a run
            self._next = began + took_s / SHARE
        self._is_first = False
        if not isinstance(speed, protocol.HostSpeed):
            return []
        at_s = self.since_start()
        return [HostReading(at_s, speed.system_call_s, speed.copy_s, speed.arithmetic_s)]
