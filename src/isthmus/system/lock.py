"""Holds the machine's measuring lock, since two simultaneous measurements disturb each other."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from isthmus.errors import BusyError, IsthmusError

_held: set[Path] = set()
"""Paths of the lock files that this process holds."""


def exclusive(
    say: Callable[[str], None],
    *,
    no_wait: bool = False,
    before_waiting: Callable[[], None] = lambda: None,
) -> contextlib.AbstractContextManager[None]:
    """A context that holds the lock; while it waits, it reports the process that holds the lock.

    With ``no_wait`` it raises BusyError instead of waiting. If another process holds the lock, it
    first calls ``before_waiting``, which raises an error if waiting is useless.
    """

    def wait(holder: str) -> None:
        before_waiting()
        message = f"another Isthmus measures here (process {holder})"
        if no_wait:
            raise BusyError(f"{message}: try again later, or leave out --no-wait to wait for it")
        say(f"{message}: waiting (--no-wait to give up instead)")

    return measuring(wait)


@contextlib.contextmanager
def if_free(say: Callable[[str], None]) -> Iterator[None]:
    """A context that holds the lock if it is free.

    Otherwise it calls ``say`` with the id of the process that holds the lock, and goes on without.
    """
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(measuring(_refuse))
        except _HeldError as error:
            say(str(error))
        yield


class _HeldError(Exception):
    """Another process holds the lock; the message is the id of that process."""


def _refuse(holder: str) -> None:
    raise _HeldError(holder)


@contextlib.contextmanager
def measuring(wait: Callable[[str], None]) -> Iterator[None]:
    """A context that holds the lock; it waits if another process holds the lock.

    Before it waits, it calls ``wait`` with the id of that process. If this process already holds
    the lock, it goes on at once. ``ISTHMUS_LOCK`` names another lock file, for tests.
    """
    path = Path(os.environ.get("ISTHMUS_LOCK") or "/tmp/isthmus-measuring.lock")
    if path in _held:
        yield
        return
    with _open(path) as file:
        announced = False
        while not _try(file):
            if not announced:
                file.seek(0)
                wait(file.read(20).strip() or "unknown")
                announced = True
            time.sleep(0.2)
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        _held.add(path)
        try:
            yield
        finally:
            _held.discard(path)


@contextlib.contextmanager
def _open(path: Path) -> Iterator[TextIO]:
    # All users need write access, because any user may hold the lock next. Open before creating: in
    # a sticky folder the kernel refuses O_CREAT for another user's file (fs.protected_regular).
    # O_NOFOLLOW and O_NONBLOCK: another user may have placed a link or a pipe there, which would
    # lead to another file or block this process.
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        descriptor = os.open(path, flags | os.O_CREAT, 0o666)
    except OSError as error:
        raise IsthmusError(f"cannot lock {path}: {error.strerror}; remove it") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        os.close(descriptor)
        raise IsthmusError(f"cannot lock {path}: it is no plain file, or has two names; remove it")
    with contextlib.suppress(PermissionError):
        os.fchmod(descriptor, 0o666)
    with os.fdopen(descriptor, "r+") as file:
        yield file


def _try(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
