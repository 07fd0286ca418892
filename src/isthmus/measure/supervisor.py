"""Starts worker processes, sends them requests, and kills a worker that is silent for too long."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping

from isthmus import interpreter
from isthmus.errors import IsthmusError
from isthmus.measure import protocol
from isthmus.system.binding import UNBOUND, Binding

SILENCE_S = 60.0
"""Seconds of silence, beyond the time allowed for the work, after which a worker is killed."""

_TEARDOWN_S = 5.0
"""Seconds that a released worker has to end by itself, since a kill during a runtime's teardown can
leave the device in a bad state."""
_POLL_S = 0.005
_STDERR_KEPT = 400


class WorkerDiedError(IsthmusError):
    """A worker ended, or was killed because it was silent."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final
        """Whether no new worker can take the place of the dead one."""


class WorkerRefusedError(IsthmusError):
    """A worker could not execute a request; its process still runs."""

    def __init__(self, failed: protocol.Failed) -> None:
        super().__init__(failed.message)
        self.usage, self.unavailable = failed.usage, failed.unavailable


class Responder:
    """Interface of what answers requests about a device: a worker, or all ranks together."""

    def ask(self, request: protocol.Request, allowed_s: float = 0.0) -> protocol.Answer:
        """Sends a request and waits for its answer.

        ``allowed_s``: seconds for the work itself; the answer may take ``SILENCE_S`` longer. Raises
        WorkerDiedError or WorkerRefusedError.
        """
        raise NotImplementedError

    def release(self) -> None:
        """Tells the responder that no request follows, so that its worker begins to end."""

    def end(self) -> object:
        """Releases the responder and waits until its worker has ended."""


class WorkerProcess(Responder):
    """A worker: a process that serves one device by ``worker.DeviceServer``.

    Used as a context manager, it ends the process at the end of the context.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        binding: Binding = UNBOUND,
        references: int = -1,
        silence_s: float = SILENCE_S,
    ) -> None:
        """Starts the process.

        ``references``: descriptor of the memory file that the process copies to time the host's
        speed; negative: the process creates a file.
        """
        self._silence_s = silence_s
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        request_read, request_write = os.pipe()
        answer_read, answer_write = os.pipe()
        try:
            self._process = subprocess.Popen(
                interpreter.command(
                    "isthmus.measure.worker",
                    os.getpid(),
                    request_read,
                    answer_write,
                    references,
                    *([] if binding.numa_node is None else [binding.numa_node]),
                ),
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=self._stderr,
                stderr=self._stderr,
                pass_fds=(request_read, answer_write, *([references] if references >= 0 else [])),
                start_new_session=True,
            )
        finally:
            os.close(request_read)
            os.close(answer_write)
        self._requests = os.fdopen(request_write, "wb")
        self._answers = answer_read
        if binding.cpus:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(self._process.pid, binding.cpus)

    @property
    def pid(self) -> int:
        """Id of the worker's process."""
        return self._process.pid

    def ask(self, request: protocol.Request, allowed_s: float = 0.0) -> protocol.Answer:
        """See Responder."""
        asked = time.monotonic()
        try:
            protocol.send(self._requests, request)
        except (OSError, ValueError):  # ValueError if the pipe is closed already
            self._raise_died("ended")
        most_s = allowed_s + self._silence_s
        answer = protocol.receive_answer(lambda size: self._read(size, asked, most_s))
        if isinstance(answer, protocol.Failed):
            raise WorkerRefusedError(answer)
        return answer

    def _read(self, size: int, asked: float, most_s: float) -> bytes:
        data = b""
        while len(data) < size:
            left_s = max(0.0, asked + most_s - time.monotonic())
            ready, _, _ = select.select([self._answers], [], [], left_s)
            if not ready:
                silent_s = time.monotonic() - asked
                self._raise_died(f"was silent for {silent_s:.0f} s and was killed", patience_s=0.0)
            piece = os.read(self._answers, size - len(data))
            if not piece:
                self._raise_died("ended")
            data += piece
        return data

    def _raise_died(self, how: str, patience_s: float = _TEARDOWN_S) -> None:
        code = self.end(patience_s)
        if how == "ended" and code < 0:
            how = f"died by {signal.Signals(-code).name}"
        elif how == "ended":
            how = f"ended with exit code {code}"
        line = self._last_stderr_line()
        raise WorkerDiedError(f"its worker {how}" + (f"; it last said: {line}" if line else ""))

    def _last_stderr_line(self) -> str:
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - _STDERR_KEPT))
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""

    def release(self) -> None:
        """See Responder."""
        with contextlib.suppress(OSError):
            self._requests.close()

    def end(self, patience_s: float = _TEARDOWN_S) -> int:
        """Ends the process and all processes of its session; returns its exit code.

        The process has ``patience_s`` seconds to end by itself. Then its process group is killed,
        including processes that a runtime left running.
        """
        self.release()
        if self._process.returncode is None:
            deadline = time.monotonic() + patience_s
            while not self._has_ended() and time.monotonic() < deadline:
                time.sleep(_POLL_S)
            # Kill before reaping, because no other process can have the id before that.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait()

    def _has_ended(self) -> bool:
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, options) is not None

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        with contextlib.suppress(OSError):
            os.close(self._answers)
        self._stderr.close()
