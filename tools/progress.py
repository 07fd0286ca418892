"""Runs commands so that a person sees how far they are, and why they failed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence

LINES_KEPT = 60  # of a failed command's output
PLAIN_EVERY_S = 10.0
PLAIN_COLUMNS = 100
HOW_FAR = re.compile(r"\[ *(\d+%|\d+/\d+)\]")  # as CMake's makefiles and Ninja begin a line


def run(title: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> bool:
    """Runs a command below one line of progress; a failure shows the end of its output."""
    return not why_not(title, command, environment, keep_quiet=False)


def why_not(
    title: str,
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    keep_quiet: bool = True,
) -> str:
    """Runs a command below one line of progress; returns why it failed, nothing if it did not."""
    return follow(title, start(command, environment), keep_quiet=keep_quiet)


def start(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Starts a command, to be followed later.

    It pauses where its output fills a pipe before that: 1 MiB, or 64 KiB where no more is allowed.
    """
    process = subprocess.Popen(
        list(command),
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if process.stdout:
        with contextlib.suppress(OSError):
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 1 << 20)
    return process


def follow(
    title: str,
    process: subprocess.Popen[str],
    *,
    keep_quiet: bool = True,
    began: float | None = None,
) -> str:
    """Waits for what ``start`` started, below one line of progress; returns as ``why_not`` does.

    ``began``: when that was, by ``time.monotonic()``; else now.
    The line ends with what the command says last, of a build how far it is. Where there is no
    terminal that is a line of its own now and then.
    """
    reported = first = time.monotonic()
    begin = first if began is None else began
    live = sys.stdout.isatty()
    room = shutil.get_terminal_size().columns - len(title) - 6
    last: deque[str] = deque(maxlen=LINES_KEPT)
    at = ""
    print(f"{title} ...", end="", flush=True)
    with process:
        for line in process.stdout or ():
            last.append(line.rstrip())
            far = HOW_FAR.search(line)
            if HOW_FAR.match(at) and not far:
                continue  # a compiler's remark
            at = line[far.start() :].strip() if far else line.strip()
            now = time.monotonic()
            if live and room > 0:
                print(f"\r\033[K{title} ... {at[:room]}", end="", flush=True)
            elif not live and now - reported >= PLAIN_EVERY_S:
                reported = now
                print(f"\n  {now - begin:.0f} s: {at[:PLAIN_COLUMNS]}", end="", flush=True)
    if live:
        print(f"\r\033[K{title} ...", end="")
    outcome = f"{time.monotonic() - begin:.0f} s" if process.returncode == 0 else "failed"
    print(f" {outcome}" if reported == first else f"\n  {outcome}", flush=True)
    if process.returncode == 0:
        return ""
    if not keep_quiet:
        print("\n".join(f"  | {line}" for line in last), flush=True)
    return next((line for line in reversed(last) if line), f"exit status {process.returncode}")
