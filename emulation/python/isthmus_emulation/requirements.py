"""Checks the version of glibc, because the virtual clock works only with known versions.

The clock relies on internals of glibc, which docs/emulation.md lists. With an unknown version times
could be wrong without any error, so it is refused. A version whose sources were read, but which no
test ran, is accepted with a warning.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache

from isthmus.errors import NoDeviceError
from isthmus.output import warn
from isthmus.system import launcher


@dataclass(frozen=True)
class Requirement:
    """A library that the emulation relies on, its supported versions, and a remedy."""

    library: str
    use: str
    """Part of the emulation that needs the library."""
    first: tuple[int, int]
    last: tuple[int, int]
    tested: tuple[int, int]
    cure: str

    def knows(self, version: str) -> bool:
        """Whether the version, such as ``2.36`` or ``2.13.0``, is in the supported range."""
        return self.first <= _number(version) <= self.last

    def check(self, version: str) -> None:
        """Raises NoDeviceError for a version outside of the range; warns of an untested version."""
        first, last, tested = (".".join(map(str, n)) for n in (self.first, self.last, self.tested))
        if self.knows(version):
            if _number(version) != self.tested:
                _warn(
                    f"{self.use} was tested with {self.library} {tested}, not with "
                    f"{self.library} {version}, which is here: check its results"
                )
            return
        supported = first if first == last else f"{first} to {last}"
        raise NoDeviceError(
            f"{self.use} knows {self.library} {supported}, here is {self.library} {version}: "
            f"{self.cure}"
        )


def _number(version: str) -> tuple[int, int]:
    """Returns the first two parts of a version; (0, 0) if the text is no version."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else (0, 0)


@cache
def _warn(text: str) -> None:
    """Prints a warning once in a run: only the first of several ranks prints it."""
    place = launcher.place()
    if place is None or place.rank == 0:
        warn(text)


GLIBC = Requirement(
    "glibc",
    "the virtual clock",
    first=(2, 30),
    last=(2, 42),
    tested=(2, 36),
    cure="use --clock wall",
)


def glibc_version() -> str:
    """Returns the version of this process's C library."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except ValueError:  # another C library lacks the name
        return "of unknown version"
    return version if name == "glibc" else "of unknown version"
