"""Fuzzes one target of ``fuzz_targets`` for so many seconds of processor time, in this process.

It keeps inputs that reach new pairs of lines, and changes them further. It prints its report as one
line of JSON. ``tools/fuzz.py`` starts a process for each target.
"""

from __future__ import annotations

import faulthandler
import hashlib
import json
import random
import resource
import signal
import sys
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from fuzz_mutation import Mutator
from fuzz_targets import MOST_SAID, TARGETS, Target, ensure

import isthmus
import isthmus_emulation
from isthmus.errors import IsthmusError

MOST_MEMORY = 2 << 30
SILENT_S = 120.0
"""Wall time in seconds after which the process is ended, even if it handles no signals."""
_OURS = (*isthmus.__path__, *isthmus_emulation.__path__)


class HungError(BaseException):
    """An input took too long; no reader's ``except Exception`` catches it."""


@dataclass
class Report:
    """Results of one target."""

    name: str
    seed: int
    inputs: int = 0
    refused: int = 0
    arcs: int = 0
    """Pairs of lines of Isthmus that ran one after the other."""
    seconds: float = 0.0
    megabytes: int = 0
    """Most memory of the process."""
    found: dict[str, str] = field(default_factory=dict)
    """The file of an input, for each exception and its place."""


class Coverage:
    """Records which lines of Isthmus run directly after which."""

    def __init__(self) -> None:
        self.arcs: set[tuple[CodeType, int, int]] = set()
        self._ours: dict[CodeType, bool] = {}

    def call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        """Trace function of ``sys.settrace``."""
        code = frame.f_code
        ours = self._ours.get(code)
        if ours is None:
            ours = self._ours[code] = code.co_filename.startswith(_OURS)
        if not ours:
            return None
        last, add = 0, self.arcs.add

        def line(inner: FrameType, event: str, _argument: Any) -> Any:
            nonlocal last
            if event == "line":
                add((code, last, inner.f_lineno))
                last = inner.f_lineno
            return line

        return line


class Fuzzer:
    """One target, with its inputs and findings."""

    def __init__(self, target: Target, folder: Path, seed: int) -> None:
        self._target, self._folder = target, folder
        self._random = random.Random(seed)
        self._coverage = Coverage()
        self.report = Report(target.name, seed)
        (folder / "corpus").mkdir(parents=True, exist_ok=True)
        earlier = [path.read_bytes() for path in sorted((folder / "corpus").iterdir())]
        self._inputs = [*target.inputs(), *earlier]
        self._ended = False

    def end(self) -> None:
        """Ends the loop of ``run`` after the current input."""
        self._ended = True

    def run(self, seconds: float) -> Report:
        """Tries all stored inputs, then changed ones until the time is up."""
        began = time.process_time()
        for data in self._inputs:
            self._try(data)
        mutator = Mutator(self._random)
        while not self._ended and time.process_time() - began < seconds:
            # Newer inputs reach lines that older ones do not.
            late = self._inputs[len(self._inputs) // 2 :]
            base = self._random.choice(self._random.choice((self._inputs, late)))
            data = mutator.mutated(base, self._random.choice(self._inputs))
            if self._try(data):
                self._inputs.append(data)
                name = hashlib.sha256(data).hexdigest()[:16]
                (self._folder / "corpus" / name).write_bytes(data)
        self.report.arcs = len(self._coverage.arcs)
        self.report.seconds = time.process_time() - began
        self.report.megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        return self.report

    def _try(self, data: bytes) -> bool:
        """Reads one input; returns whether it reached a new pair of lines."""
        path = self._folder / "input"
        path.write_bytes(data)
        before = len(self._coverage.arcs)
        faulthandler.dump_traceback_later(SILENT_S, exit=True)
        signal.setitimer(signal.ITIMER_PROF, self._target.limit_s)
        try:
            sys.settrace(self._coverage.call)
            try:
                self._target.read(path)
            finally:
                sys.settrace(None)
                signal.setitimer(signal.ITIMER_PROF, 0)
                faulthandler.cancel_dump_traceback_later()
        except IsthmusError as error:
            self.report.refused += 1
            if len(str(error)) > MOST_SAID:
                self._keep(error, data)
        except (Exception, HungError) as error:
            self._keep(error, data)
        self.report.inputs += 1
        return len(self._coverage.arcs) > before

    def _keep(self, error: BaseException, data: bytes) -> None:
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.name != ensure.__name__
        ]
        own = [frame for frame in frames if frame.filename.startswith(_OURS)] or frames
        finding = f"{type(error).__name__} at {Path(own[-1].filename).name}:{own[-1].lineno}"
        if finding in self.report.found:
            return
        file = self._folder / f"found-{hashlib.sha256(data).hexdigest()[:16]}"
        file.write_bytes(data)
        self.report.found[finding] = str(file)
        said = [line[:200] for line in "".join(traceback.format_exception(error)).splitlines()]
        print("\n".join([f"{self._target.name}: {finding}: {file}", *said[-16:]]), file=sys.stderr)


def _hung(_signal: int, _frame: FrameType | None) -> None:
    raise HungError("took too long")


def main(name: str, folder: Path, seconds: float, seed: int) -> None:
    """Fuzzes, and prints the report."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    signal.signal(signal.SIGPROF, _hung)
    fuzzer = Fuzzer(TARGETS[name], folder, seed)
    signal.signal(signal.SIGTERM, lambda *_: fuzzer.end())  # still prints the report
    report = fuzzer.run(seconds)
    faulthandler.cancel_dump_traceback_later()
    print(json.dumps(asdict(report)))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
