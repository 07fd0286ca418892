"""Finds the installed XRT: libraries, version, boards, and usable modes.

XRT loads a shim from ``$XILINX_XRT/lib``, a library that accesses a board or emulates it. XRT reads
``XCL_EMULATION_MODE`` when it loads and chooses the shim by it, so that a process has one mode.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from isthmus.candidates import Candidate, Problem
from isthmus.errors import IsthmusError
from isthmus.system import private
from isthmus.system.files import is_there, text

if TYPE_CHECKING:
    from isthmus.address import Address

HARDWARE = ""
"""Name of the mode that uses boards: the empty name."""
NOOP = "noop"
EMULATIONS = ("hw_emu", "sw_emu")
CARD = "card"
"""Mode of Isthmus's emulated card: ``xrt:0@card=BOARD``."""
MODES: Mapping[str, str] = MappingProxyType(
    {HARDWARE: "xrt_core", NOOP: "xrt_noop", "hw_emu": "xrt_hwemu", "sw_emu": "xrt_swemu"}
)
"""Modes of XRT, each with the name of its shim's library."""
NATIVE = "xrt_coreutil"
OPENCL = "xilinxopencl"

_VENDORS_FOLDER = Path("/opt/xilinx")
_DRIVERS = ("xocl", "zocl", "zocl-drm")
_BUSES = Path("/sys/bus")
_VENDOR_ID = "0x10ee"
_ACCELERATOR_CLASS = "0x12"
GET_IT = "apt-get install libxrt-dev uuid-dev, or AMD's package"


class Obstacle(NamedTuple):
    """A reason why XRT, a mode or a board cannot be used, and the remedy."""

    what: str
    cure: str


def _places() -> list[Path]:
    """Folders to search for XRT's libraries: ``$XILINX_XRT/lib`` if set, else the usual folders."""
    chosen = os.environ.get("XILINX_XRT")
    if chosen:
        return [Path(chosen) / "lib"]
    # Not sysconfig, which fills its table at first use: before Python 3.13 a second thread finds
    # the table empty, and several threads query backends.
    multiarch = getattr(sys.implementation, "_multiarch", "")
    usual = (f"/usr/lib/{multiarch}", "/usr/lib64", "/usr/local/lib", "/usr/lib")
    return [_VENDORS_FOLDER / "xrt" / "lib", *map(Path, dict.fromkeys(usual))]


@dataclass(frozen=True)
class Installation:
    """An installation of XRT: the folder with its libraries."""

    libraries: Path

    def library(self, name: str) -> Path | None:
        """Path of a library as XRT would open it; None if it is missing.

        Raises IsthmusError if the system cannot say whether it exists.
        """
        path = self.libraries / f"lib{name}.so.2"  # XRT's versions are 2.x
        return path if is_there(path) else None

    @property
    def version(self) -> str:
        """Version of XRT, from the name of the file to which the library's links lead."""
        library = self.library(NATIVE)
        match = re.search(r"\.so\.([\d.]+)$", library.resolve().name) if library else None
        return match[1] if match else "of unknown version"

    @property
    def name(self) -> str:
        """Version and folder of this XRT for messages."""
        return f"XRT {self.version} in {self.libraries}"

    def root(self) -> Path:
        """Value of ``XILINX_XRT``: the installation, or a folder with the same structure."""
        chosen = os.environ.get("XILINX_XRT")
        if chosen:
            return Path(chosen)
        if self.libraries.name == "lib" and (self.libraries / "xrt").is_dir():
            return self.libraries.parent
        digest = hashlib.sha256(str(self.libraries).encode()).hexdigest()[:16]
        root = private.folder("xrt", digest)
        link = root / "lib"
        if not link.exists():
            with contextlib.suppress(FileExistsError):  # another process has made the link
                link.symlink_to(self.libraries)
        return root

    def environment(self, mode: str, user: str) -> dict[str, str]:
        """Environment variables for a process that uses this XRT in a mode.

        ``user``: part of the user name that XRT's emulations get, to keep them apart.
        """
        path = os.environ.get("LD_LIBRARY_PATH")
        variables = {
            "XILINX_XRT": str(self.root()),
            "LD_LIBRARY_PATH": f"{self.libraries}:{path}" if path else str(self.libraries),
            # Name a file: otherwise XRT reads xrt.ini in the working folder, which changes times.
            "XRT_INI_PATH": os.environ.get("XRT_INI_PATH") or str(_no_settings()),
        }
        if mode != HARDWARE:
            variables["XCL_EMULATION_MODE"] = mode
        if mode in EMULATIONS:
            # The emulations put the user name in names of sockets: make it unique. Their files go
            # to a private folder.
            variables["USER"] = f"isthmus-{user}-{os.getpid()}"
            variables["SDACCEL_EM_RUN_DIR"] = str(private.folder("xrt", "emulation"))
        return variables

    def obstacle(self, mode: str) -> Obstacle | None:
        """Why a mode cannot be used; None if no reason is known."""
        shim = MODES[mode]
        if self.library(shim) is None:
            newer = "; newer versions no longer bring it" if mode == NOOP else ""
            return Obstacle(
                f"no lib{shim}{newer}",
                "name an installation that has it in XILINX_XRT",
            )
        if mode == HARDWARE:
            return _no_board()
        if mode in EMULATIONS and not Path(os.environ.get("XILINX_VITIS", "/nowhere")).is_dir():
            return Obstacle(
                f"no @{mode}: XILINX_VITIS names no folder, and the simulation comes with Vitis",
                "source settings64.sh of a Vitis installation",
            )
        return None


def _no_settings() -> Path:
    path = private.folder("xrt") / "empty.ini"
    return path if path.exists() else private.write(path, b"")


def candidates(
    installation: Installation,
    scheme: str,
    noop_binary: Callable[[], Path | None],
    what: str = "",
    **environment: str,
) -> list[Candidate]:
    """Makes a candidate for each mode that can work here.

    ``environment``: variables to add to the mode's environment. ``noop_binary``: makes the
    bitstream by which the API is timed without a card, and returns its path, or None.
    """
    return [
        Candidate(
            label=f"{installation.name}{what}{f' @{mode}' if mode else ''}",
            environment={
                **installation.environment(mode, scheme),
                **bitstreams(mode, noop_binary() if mode == NOOP else None),
                **environment,
            },
            mode=mode,
            hardware=mode == HARDWARE,
        )
        for mode in MODES
        if installation.obstacle(mode) is None
    ]


def problems(installation: Installation) -> list[Problem]:
    """Reasons why modes of this XRT cannot be used, for each mode with an obstacle."""
    return [
        Problem(f"{installation.name}: {obstacle.what}", obstacle.cure, mode=mode)
        for mode in MODES
        if (obstacle := installation.obstacle(mode)) is not None
    ]


def find() -> Installation | None:
    """The installed XRT; None if there is none.

    Raises IsthmusError if no XRT is found and some folder is not readable.
    """
    unknown: IsthmusError | None = None
    for place in _places():
        installation = Installation(place)
        try:
            if installation.library(NATIVE) is not None:
                return installation
        except IsthmusError as error:
            unknown = unknown or error
    if unknown:
        raise unknown
    return None


def absent() -> Obstacle:
    """The obstacle to report if no XRT is installed."""
    chosen = os.environ.get("XILINX_XRT")
    if chosen:
        return Obstacle(
            f"XILINX_XRT is {chosen}, and no lib{NATIVE} is in its lib folder",
            "unset it, or name an installation of XRT",
        )
    return Obstacle(f"no XRT: no lib{NATIVE} in {', '.join(map(str, _places()))}", GET_IT)


def boards() -> list[str]:
    """PCI addresses of the devices whose driver is one of XRT's."""
    return sorted(
        {
            device.name
            for driver in _DRIVERS
            for device in _BUSES.glob(f"*/drivers/{driver}/*")
            if device.is_symlink() and device.name != "module"
        }
    )


def unserved_boards() -> list[str]:
    """PCI addresses of AMD's accelerator cards that no driver serves."""
    return sorted(
        device.name
        for device in (_BUSES / "pci" / "devices").glob("*")
        if text(device / "vendor") == _VENDOR_ID
        and text(device / "class").startswith(_ACCELERATOR_CLASS)
        and not (device / "driver").exists()
    )


def _no_board() -> Obstacle | None:
    if os.environ.get("XCL_EMULATION_MODE") is not None:
        return Obstacle("XCL_EMULATION_MODE is set, which hides boards", "unset it")
    if boards():
        return None
    unserved = unserved_boards()
    if unserved:
        return Obstacle(
            f"no driver serves the board at {', '.join(unserved)}",
            "install XRT's driver (AMD's xrt package builds xocl and xclmgmt) and load it",
        )
    return Obstacle(
        "no board: XRT's driver serves no device",
        f"with a board, install and load its driver; without, measure the API alone: @{NOOP}",
    )


def validation_xclbins() -> list[Path]:
    """Bitstreams by which installed platforms validate their boards."""
    files: list[Path] = []
    for folder in ("dsa", "firmware"):
        for name in ("bandwidth", "verify"):
            files += sorted((_VENDORS_FOLDER / folder).glob(f"**/test/{name}.xclbin"))
    return files


def software_alone(address: Address) -> str:
    """For an emulated card under XRT: the address that times the API without a card; else empty."""
    emulated = address.mode.partition("=")[0] == CARD
    return f"{address.scheme}:{address.selector or 0}@{NOOP}" if emulated else ""


def bitstreams(mode: str, default: Path | None = None) -> dict[str, str]:
    """Environment variables with the bitstreams that a backend may load without permission.

    In modes without hardware it may load any bitstream, since nothing can be damaged; ``default``
    is the bitstream that it loads unless the user names another.
    """
    if mode == HARDWARE:
        files = ":".join(map(str, validation_xclbins()))
        # Set to empty: a variable of the user's shell must not cause a board to be programmed.
        return {
            "ISTHMUS_VALIDATION_BINARIES": files,
            "ISTHMUS_DEFAULT_BINARY": "",
            "ISTHMUS_MAY_PROGRAM": "",
        }
    return {"ISTHMUS_MAY_PROGRAM": "yes", "ISTHMUS_DEFAULT_BINARY": str(default or "")}
