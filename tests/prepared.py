"""A process that has loaded Isthmus, and whose forks run commands: a start costs no imports.

Each command is a process of its own, with its own environment, folder and session, as if a shell
had started it; only what the imports would do is done already. ``test_prepared.py`` holds it
against commands that are started anew.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

_LONGEST_REQUEST = 1 << 20
_RUN = Path(__file__).parent / "data" / "runs" / "2026-11-22-transfer.json"
_STARTED_AS_PROGRAMS = ("isthmus.__main__", "isthmus.measure.worker", "isthmus.measure.rank")
_PROGRAM = """#!{python} -IS
import _socket, array, marshal, os, sys
peer = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
peer.connect({socket!r})
peer.sendmsg(
    [marshal.dumps((sys.argv, os.getcwd(), dict(os.environ)))],
    [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))],
)
code = marshal.loads(peer.recv(64))
sys.exit(code if code >= 0 else 128 - code)
"""
"""The program ``isthmus`` for shells: it hands on what it was given, and ends as that ends."""


class Prepared:
    """The process from the tests' side. ``folder`` has the program ``isthmus`` for shells."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self._name = str(self.folder / "socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self._name)
            listener.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(listener.fileno())], pass_fds=[listener.fileno()],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        program = self.folder / "isthmus"
        program.write_text(_PROGRAM.format(python=sys.executable, socket=self._name), "utf-8")
        program.chmod(0o755)

    def run(
        self, arguments: tuple[str, ...], cwd: Path, env: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Runs ``isthmus ARGUMENTS``; as ``subprocess.run`` does that captures all as text."""
        command = [str(Path(sys.executable).with_name("isthmus")), *arguments]
        request = marshal.dumps((command, str(cwd), dict(env)))
        nothing = os.open(os.devnull, os.O_RDONLY)
        out, err = (os.memfd_create(name) for name in ("out", "err"))
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
                peer.connect(self._name)
                socket.send_fds(peer, [request], [nothing, out, err])
                peer.settimeout(timeout)
                try:
                    said = peer.recv(64)
                except TimeoutError:
                    raise subprocess.TimeoutExpired(command, timeout) from None
            assert said, "the prepared process is gone"
            texts = [Path(f"/proc/self/fd/{file}").read_text("utf-8") for file in (out, err)]
        finally:
            for file in (nothing, out, err):
                os.close(file)
        return subprocess.CompletedProcess(command, marshal.loads(said), *texts)

    def close(self) -> None:
        """Ends the process; commands have ended before."""
        self._process.communicate()


def _load() -> None:
    """Loads all that commands load when they are asked for it."""
    import isthmus
    from isthmus import built, cli, published, xrt_emulation
    from isthmus.reporters.html import page

    for name in ("pandas", "scipy.optimize", "rich.console", "rich.table"):
        importlib.import_module(name)
    # Sources, what the build installed beside the compiled parts, and the emulation of XRT.
    roots = {Path(isthmus.__file__).parent, built.FOLDER}
    if not xrt_emulation.why_absent():
        roots.add(Path(sys.modules["isthmus_emulation"].__path__[0]))
    for root in roots:
        for file in root.rglob("*.py"):
            path = file.relative_to(root.parent).with_suffix("")
            name = ".".join(path.parts).removesuffix(".__init__")
            if name not in _STARTED_AS_PROGRAMS:
                importlib.import_module(name)
    published.sources()  # all of its files are this package's
    page.template()
    # Libraries load parts of themselves when they are first used.
    importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    for words in (["show", "--nonsense"], ["run", "transfer", "--help"], ["show", str(_RUN)],
                  ["compare", str(_RUN), str(_RUN)]):  # fmt: skip
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.suppress(SystemExit),
        ):
            cli.app(words)


def _run(request: bytes, files: Sequence[int]) -> None:
    """Turns this process into a command; does not return."""
    from isthmus import cli

    sys.argv, cwd, environment = marshal.loads(request)
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
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


def _serve(listener: socket.socket) -> None:
    """Each request becomes a command; one that nobody waits for any more is killed."""
    commands: dict[int, tuple[int, socket.socket]] = {}  # by pidfd, readable once it has ended
    while True:
        peers = [peer for _, peer in commands.values()]
        ready = select.select([sys.stdin, listener, *commands, *peers], [], [])[0]
        over = sys.stdin in ready  # who started this process is gone
        if listener in ready and not over:
            peer, _ = listener.accept()
            request, files, _, _ = socket.recv_fds(peer, _LONGEST_REQUEST, 3)
            child = os.fork()
            if not child:
                for end in (listener, peer, *peers):
                    end.close()
                for ended in commands:
                    os.close(ended)
                _run(request, files)
            for file in files:
                os.close(file)
            commands[os.pidfd_open(child)] = child, peer
        for ended, (child, peer) in list(commands.items()):
            if not over and ended not in ready and peer not in ready:
                continue
            if ended not in ready:
                with contextlib.suppress(ProcessLookupError):  # it has no group of its own yet
                    os.killpg(child, signal.SIGKILL)
                os.kill(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            with contextlib.suppress(OSError):
                peer.send(marshal.dumps(code))
            peer.close()
            os.close(ended)
            del commands[ended]
        if over:
            return


if __name__ == "__main__":
    _load()
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    _end(0)
