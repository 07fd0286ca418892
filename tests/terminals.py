"""A terminal of any width for a command."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

from conftest import LIMIT_S

_LINES = 50


def on_terminal(
    words: Sequence[str], cwd: Path, columns: int, *, codes: Sequence[int] = (0,), **env: str
) -> str:
    """What ``isthmus WORDS``, which ends with one of ``codes``, prints on a terminal.

    The terminal itself says its width: ``COLUMNS`` is not set.
    """
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(
        [Path(sys.executable).with_name("isthmus"), *words], cwd=cwd,
        stdin=its, stdout=its, stderr=its, env={**environment, "TERM": "xterm-256color", **env},
    ) as command:  # fmt: skip
        os.close(its)
        told = b""
        try:
            while more := os.read(ours, 4096):
                told += more
        except OSError:  # nobody writes to it any more
            pass
        assert command.wait(LIMIT_S) in codes, told.decode()
    os.close(ours)
    return told.decode()
