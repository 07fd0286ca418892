"""The versions of XRT and glibc that the emulation works with; it refuses all others.

The emulation relies on internals of both, which docs/emulation.md lists. With an unknown version
times could be wrong without any error, so such versions are refused. A version whose sources were
read, but which no test ran, is taken with a warning.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import cache

from isthmus.errors import NoDeviceError
from isthmus.output import warn
from isthmus.system import launcher


@dataclass(frozen=True)
class Requirement:
    """A library that the emulation relies on, its supported versions, and a remedy."""

    library: str
    use: str
    """The part of the emulation that relies on the library."""
    first: tuple[int, int]
    last: tuple[int, int]
    tested: tuple[int, int]
    cure: str

    def knows(self, version: str) -> bool:
        """Whether the version, ``2.36`` or ``2.13.0``, is in the range."""
        return self.first <= _number(version) <= self.last

    def check(self, version: str) -> None:
        """Raises NoDeviceError unless the version is in the range; tells of one not tested."""
        first, last, tested = (".".join(map(str, n)) for n in (self.first, self.last, self.tested))
        if self.knows(version):
            if _number(version) != self.tested:
                _warn(
                    f"{self.use} was tested with {self.library} {tested}, not with "
                    f"{self.library} {version}, which is here: check its results"
                )
            return
        known = first if first == last else f"{first} to {last}"
        raise NoDeviceError(
            f"{self.use} knows {self.library} {known}, here is {self.library} {version}: "
            f"{self.cure}"
        )


def _number(version: str) -> tuple[int, int]:
    """The first two parts; (0, 0) for what is no version."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else (0, 0)


@cache
def _warn(text: str) -> None:
    """A line to the user, once in a run: of several ranks the first says it."""
    place = launcher.place()
    if place is None or place.rank == 0:
        warn(text)


XRT = Requirement(
    "XRT",
    "the emulated card",
    first=(2, 13),
    last=(2, 26),
    tested=(2, 13),
    cure="name another installation in XILINX_XRT",
)
XRT_IN_TIME = replace(
    XRT,
    use="simulated time",
    last=(2, 13),
    cure=f"{XRT.cure}, or use card exec --clock wall, without --watch, --trace and --max-simulated",
)
"""Newer ones have another scheduler: with 2.16 kernels do not end, and transfers take too long."""
GLIBC = Requirement(
    "glibc",
    "the virtual clock",
    first=(2, 30),
    last=(2, 42),
    tested=(2, 36),
    cure="use --clock wall",
)


def glibc_version() -> str:
    """Version of the C library of this process, as it says itself."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except ValueError:  # another C library does not have the question
        return "of unknown version"
    return version if name == "glibc" else "of unknown version"
