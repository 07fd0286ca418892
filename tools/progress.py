"""Runs commands with their progress on one line, and prints the output of those that fail."""

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

LINES_KEPT = 60  # last lines of a failed command's output that are printed
PLAIN_EVERY_S = 10.0
PLAIN_COLUMNS = 100
HOW_FAR = re.compile(r"\[ *(\d+%|\d+/\d+)\]")  # begins a line of CMake's makefiles or Ninja


def run(title: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> bool:
    """Runs a command with its progress on one line; prints the end of its output if it fails."""
    return not why_not(title, command, environment, keep_quiet=False)


def why_not(
    title: str,
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    keep_quiet: bool = True,
) -> str:
    """Runs a command with its progress on one line; returns why it failed, empty if it passed."""
    return follow(title, start(command, environment), keep_quiet=keep_quiet)


def start(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Starts a command whose output ``follow`` reads later.

    The command pauses when its unread output fills a pipe: 1 MiB, or 64 KiB if the system allows no
    more.
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
    """Waits for a command that ``start`` started; returns its failure as ``why_not`` does.

    One line shows the progress: the command's last line, or for a build its percentage. Without a
    terminal, a new line is printed now and then.

    Args:
        title: Begin of the line.
        process: The started command.
        keep_quiet: Do not print the output of a command that failed.
        began: When the command started, by ``time.monotonic()``; None: now.

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
                continue  # the line is a compiler's message, no progress
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
