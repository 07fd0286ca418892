"""Runs commands so that a person sees how far they are, and why they failed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

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
    """Runs a command below one line of progress; returns why it failed, nothing if it did not.

    The line ends with what the command says last, of a build how far it is. Where there is no
    terminal that is a line of its own now and then.
    """
    begin = reported = time.monotonic()
    live = sys.stdout.isatty()
    room = shutil.get_terminal_size().columns - len(title) - 6
    last: deque[str] = deque(maxlen=LINES_KEPT)
    at = ""
    print(f"{title} ...", end="", flush=True)
    with subprocess.Popen(
        list(command),
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
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
    print(f" {outcome}" if reported == begin else f"\n  {outcome}", flush=True)
    return _why(process.returncode, last, keep_quiet=keep_quiet)


def _why(status: int, last: Iterable[str], *, keep_quiet: bool) -> str:
    """Why a command failed, nothing if it did not, from the last lines that it wrote."""
    if status == 0:
        return ""
    lines = list(last)
    if not keep_quiet:
        print("\n".join(f"  | {line}" for line in lines), flush=True)
    return next((line for line in reversed(lines) if line), f"exit status {status}")


def beside(title: str, command: Sequence[str]) -> Callable[..., str]:
    """Starts a command that runs beside others; returns what waits for it, as ``why_not`` does."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            list(command), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        kept = os.dup(output.fileno())

    def wait(*, keep_quiet: bool = True) -> str:
        print(f"{title} ...", end="", flush=True)
        print(" done" if process.wait() == 0 else " failed", flush=True)
        with os.fdopen(kept, errors="replace") as output:
            output.seek(0)
            last = [line.rstrip() for line in deque(output, LINES_KEPT)]
        return _why(process.returncode, last, keep_quiet=keep_quiet)

    return wait
