"""Errors that end a command with one line and a documented exit code."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

GATE_FAILED = 3
"""Exit code of a command that finished, and found the fault that it looks for."""
GATE_UNDECIDED = 5
"""Exit code of a gate that can neither pass nor fail, because the data are too uncertain."""


BUSY = 6
"""Exit code of a command with ``--no-wait`` while another Isthmus measures on this machine."""


class IsthmusError(Exception):
    """Something failed; the message is one line that says what to do."""

    exit_code = 1

    def __init__(self, message: str = "", *, detail: str = "") -> None:
        """``detail``: lines of another program, e.g. a compiler, which are shown unchanged."""
        super().__init__(message)
        self.detail = detail


class UsageError(IsthmusError):
    """The user named something that does not exist, or gave an invalid value."""

    exit_code = 2


class NoSuchDeviceError(UsageError):
    """No device here has the given address, but other devices of its kind are here."""


class NoDeviceError(IsthmusError):
    """No device of this machine can do what was requested."""

    exit_code = 4


class BusyError(IsthmusError):
    """Another Isthmus measures on this machine, and the user chose not to wait."""

    exit_code = BUSY


@contextlib.contextmanager
def analysing(subject: object) -> Iterator[None]:
    """A context in which an exception of the analysis becomes a UsageError with the files' names.

    Reading a run file checks the types of its values. The values can still contradict each other:
    a file may have size 0 for every point, for example.
    """
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageError(
            f"{subject}: cannot be analysed, as its values contradict each other "
            f"({type(error).__name__}: {' '.join(str(error).split())[:200]}; --verbose shows where)"
        ) from error
