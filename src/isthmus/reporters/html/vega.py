"""Draws in a process of its own: Vega in V8 and resvg are native code, and a crash ends a process.

``Vega`` is this side, ``serve`` the other. A request is a list of a function of vl_convert and its
arguments, an answer a list of its result and an error; both are MessagePack behind their length.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.util import find_spec
from types import TracebackType
from typing import IO, Any

import msgspec

from isthmus import interpreter
from isthmus.errors import IsthmusError

ANSWER_S = 120.0
"""Longest wait for one drawing: the largest plot of 20 000 points takes some seconds."""
_LIBRARY = "vl_convert"
_END_S = 5.0
"""Time in which the process ends once nobody asks any more; then it is killed."""
_LENGTH = struct.Struct("!Q")
_PIECE_BYTES = 1 << 20
_SMALLEST = '{"data": {"values": [{}]}, "mark": "point"}'


class NotDrawnError(IsthmusError):
    """A drawing that the library could not make."""


class Vega:
    """The process that draws. It starts when this is made, and again after a crash.

    Raises ModuleNotFoundError where the library is not installed.
    """

    def __init__(self) -> None:
        if find_spec(_LIBRARY) is None:
            raise ModuleNotFoundError(f"No module named '{_LIBRARY}'", name=_LIBRARY)
        self._process = self._started()

    def __enter__(self) -> Vega:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def svg(self, specification: Mapping[str, Any], theme: Mapping[str, Any]) -> str:
        """The drawing of a specification in Vega-Lite. Raises NotDrawnError."""
        text = msgspec.json.encode(specification).decode()
        return str(self._ask("vegalite_to_svg", text, {"config": theme}))

    def pdf(self, svg: str) -> bytes:
        """A drawing as PDF. Raises NotDrawnError."""
        return bytes(self._ask("svg_to_pdf", svg, {}))

    def png(self, svg: str, scale: float) -> bytes:
        """A drawing as PNG. Raises NotDrawnError."""
        return bytes(self._ask("svg_to_png", svg, {"scale": scale}))

    def _ask(self, function: str, text: str, options: Mapping[str, Any]) -> Any:
        request = msgspec.msgpack.encode([function, text, options])
        requests, answers = self._process.stdin, self._process.stdout
        assert requests
        assert answers
        try:
            requests.write(_LENGTH.pack(len(request)) + request)
            requests.flush()
            result, error = msgspec.msgpack.decode(_received(answers, time.monotonic() + ANSWER_S))
        except (OSError, EOFError, TimeoutError) as failure:
            why = self._end(at_once=isinstance(failure, TimeoutError))
            self._process = self._started()
            raise NotDrawnError(f"the library that draws {why}") from failure
        if error:
            raise NotDrawnError(error)
        return result

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            interpreter.command("isthmus.reporters.html.vega"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip

    def _end(self, *, at_once: bool = False) -> str:
        """Ends the process, and says how it ended."""
        assert self._process.stdout
        if at_once:
            self._process.kill()
        try:
            self._process.communicate(timeout=_END_S)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        code = self._process.returncode
        if at_once:
            return f"was stuck for {ANSWER_S:.0f} s"
        return f"crashed ({signal.Signals(-code).name})" if code < 0 else f"ended with code {code}"


def _received(stream: IO[bytes], ends: float) -> bytes:
    """The next message of a stream; raises EOFError at its end, TimeoutError at a time."""
    (length,) = _LENGTH.unpack(_bytes(stream, _LENGTH.size, ends))
    return _bytes(stream, length, ends)


def _bytes(stream: IO[bytes], count: int, ends: float) -> bytes:
    got = bytearray()
    while len(got) < count:
        ready, _, _ = select.select([stream], [], [], max(0.0, ends - time.monotonic()))
        if not ready:
            raise TimeoutError
        piece = os.read(stream.fileno(), min(_PIECE_BYTES, count - len(got)))
        if not piece:
            raise EOFError
        got += piece
    return bytes(got)


def serve() -> None:
    """Answers until the other side closes the pipe."""
    import vl_convert  # noqa: PLC0415 - the side that asks does not load it

    vl_convert.vegalite_to_svg(_SMALLEST)  # V8 starts while the other side still computes
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while head := requests.read(_LENGTH.size):
        function, text, options = msgspec.msgpack.decode(requests.read(*_LENGTH.unpack(head)))
        try:
            answer = [getattr(vl_convert, function)(text, **options), ""]
        except Exception as error:
            answer = [None, str(error).partition("\n")[0]]
        message = msgspec.msgpack.encode(answer)
        answers.write(_LENGTH.pack(len(message)) + message)
        answers.flush()


if __name__ == "__main__":
    serve()
