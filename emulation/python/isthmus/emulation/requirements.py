"""The versions of XRT and glibc that the emulation works with; it refuses all others.

The emulation relies on internals of both, which docs/emulation.md lists. With an untested version
times could be wrong without any error, so such versions are refused.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from isthmus.errors import NoDeviceError


@dataclass(frozen=True)
class Requirement:
    """A library that the emulation relies on, its supported versions, and a remedy."""

    library: str
    use: str
    """The part of the emulation that relies on the library."""
    first: tuple[int, int]
    last: tuple[int, int]
    cure: str

    def knows(self, version: str) -> bool:
        """Whether the version, ``2.36`` or ``2.13.0``, is in the range."""
        match = re.match(r"(\d+)\.(\d+)", version)
        return match is not None and self.first <= (int(match[1]), int(match[2])) <= self.last

    def check(self, version: str) -> None:
        """Raises NoDeviceError unless the version is in the range."""
        if self.knows(version):
            return
        first, last = (".".join(map(str, end)) for end in (self.first, self.last))
        raise NoDeviceError(
            f"{self.use} knows {self.library} {first} to {last}, here is {self.library} {version}: "
            f"{self.cure}"
        )


XRT = Requirement(
    "XRT", "the emulated card", (2, 13), (2, 26), "name another installation in XILINX_XRT"
)
GLIBC = Requirement("glibc", "the virtual clock", (2, 30), (2, 42), "use --clock wall")


def glibc_version() -> str:
    """Version of the C library of this process, as it says itself."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except ValueError:  # another C library does not have the question
        return "of unknown version"
    return version if name == "glibc" else "of unknown version"
