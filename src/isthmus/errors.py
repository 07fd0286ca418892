"""Errors that end a command with one line and a known exit code."""

from __future__ import annotations

GATE_FAILED = 3
"""Exit code of a command that did its work and found what it was to guard against."""


class IsthmusError(Exception):
    """Something failed; the message is one line that says what to do."""

    exit_code = 1


class UsageError(IsthmusError):
    """The user named something that does not exist, or gave an invalid value."""

    exit_code = 2


class NoDeviceError(IsthmusError):
    """No device of this machine can do what was requested."""

    exit_code = 4
