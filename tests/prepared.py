"""A process that has loaded Isthmus, and whose forks run commands: a start costs no imports.

Each command is a process of its own, with its own environment, folder and session, as if a shell
had started it; only what the imports would do is done already. ``test_prepared.py`` holds it
against commands that are started anew.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

_LONGEST_REQUEST = 1 << 20
_STARTED_AS_PROGRAMS = ("isthmus.__main__", "isthmus.measure.worker", "isthmus.measure.rank")


class Prepared:
    """The process from the tests' side."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip

    def run(
        self, arguments: tuple[str, ...], cwd: Path, env: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Runs ``isthmus ARGUMENTS``; as ``subprocess.run`` does that captures all as text."""
        request = json.dumps({"arguments": arguments, "cwd": str(cwd), "env": dict(env)}).encode()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        files = [os.memfd_create(name) for name in ("out", "err")]
        try:
            with ours, theirs:
                socket.send_fds(self._control, [request], [theirs.fileno(), *files])
                theirs.close()
                child = _number(ours)
                ours.settimeout(timeout)
                try:
                    status = _number(ours)
                except TimeoutError:
                    os.killpg(child, signal.SIGKILL)
                    raise subprocess.TimeoutExpired(list(arguments), timeout) from None
            out, err = (Path(f"/proc/self/fd/{file}").read_text(encoding="utf-8") for file in files)
        finally:
            for file in files:
                os.close(file)
        code = os.waitstatus_to_exitcode(status)
        return subprocess.CompletedProcess(["isthmus", *arguments], code, out, err)

    def close(self) -> None:
        """Ends the process; commands have ended before."""
        self._control.close()
        self._process.wait()


def _number(peer: socket.socket) -> int:
    said = array.array("q", peer.recv(8))
    assert said, "the prepared process is gone"
    return said[0]


def _say(peer: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):  # nobody waits any more
        peer.send(array.array("q", [number]))


def _load() -> None:
    """Loads all that commands load when they are asked for it."""
    import isthmus
    from isthmus import cli, published
    from isthmus.system import built

    for name in ("pandas", "scipy.optimize", "altair", "rich.console", "rich.table"):
        importlib.import_module(name)
    # Sources, and what the build installed beside the compiled parts.
    for root in {Path(isthmus.__file__).parent, built.FOLDER}:
        for file in root.rglob("*.py"):
            path = file.relative_to(root.parent).with_suffix("")
            name = ".".join(path.parts).removesuffix(".__init__")
            if name not in _STARTED_AS_PROGRAMS:
                importlib.import_module(name)
    published.sources()  # all of its files are this package's
    # Libraries load parts of themselves when they are first used.
    importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    altair, pandas = sys.modules["altair"], sys.modules["pandas"]
    altair.Chart(pandas.DataFrame({"x": [1]})).mark_point().encode(x="x").to_dict()
    with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
        cli.app(["show", "--nonsense"])


def _run(request: bytes, out: int, err: int) -> None:
    """Turns this process into a command; does not return."""
    from isthmus import cli

    request_ = json.loads(request)
    os.setsid()
    os.chdir(request_["cwd"])
    os.environ.clear()
    os.environ.update(request_["env"])
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.argv = [str(Path(sys.executable).with_name("isthmus")), *request_["arguments"]]
    try:
        cli.main()
    except SystemExit as ended:
        _end(ended.code if isinstance(ended.code, int) else 1)


def _end(code: int) -> NoReturn:
    """As at every end of Python, but the modules are not taken apart: that takes its time."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _serve(control: socket.socket) -> None:
    # Nobody asks how those ended that wait for commands.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, given, _, _ = socket.recv_fds(control, _LONGEST_REQUEST, 3)
        if not request:
            return
        if os.fork():
            for file in given:
                os.close(file)
            continue
        control.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        peer = socket.socket(fileno=given[0])
        child = os.fork()
        if not child:
            peer.close()
            _run(request, *given[1:])
        _say(peer, child)
        _say(peer, os.waitpid(child, 0)[1])
        os._exit(0)


if __name__ == "__main__":
    _load()
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    _end(0)
