"""The installed XRT: libraries, version, boards, and usable modes.

XRT loads a shim, which accesses a board or emulates it, from ``$XILINX_XRT/lib``. The library reads
``XCL_EMULATION_MODE`` when it loads and chooses the shim, so that a process has one mode.
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
"""The mode without a name: boards."""
NOOP = "noop"
EMULATIONS = ("hw_emu", "sw_emu")
CARD = "card"
"""The part after ``@`` of an address, before ``=BOARD``, for our emulated card."""
MODES: Mapping[str, str] = MappingProxyType(
    {HARDWARE: "xrt_core", NOOP: "xrt_noop", "hw_emu": "xrt_hwemu", "sw_emu": "xrt_swemu"}
)
"""Modes, and the shim of each."""
NATIVE = "xrt_coreutil"
OPENCL = "xilinxopencl"

_VENDORS_FOLDER = Path("/opt/xilinx")
_DRIVERS = ("xocl", "zocl", "zocl-drm")
_BUSES = Path("/sys/bus")
_VENDOR_ID = "0x10ee"
_ACCELERATOR_CLASS = "0x12"
GET_IT = "apt-get install libxrt-dev uuid-dev, or AMD's package"


class Obstacle(NamedTuple):
    """A reason why something cannot be used, and the remedy."""

    what: str
    cure: str


def _places() -> list[Path]:
    """Folders that may hold XRT's libraries: the user's choice, else the usual folders."""
    chosen = os.environ.get("XILINX_XRT")
    if chosen:
        return [Path(chosen) / "lib"]
    # Not from sysconfig, which fills its table at first use: several threads query backends, and
    # before Python 3.13 a second thread finds the table empty.
    multiarch = getattr(sys.implementation, "_multiarch", "")
    usual = (f"/usr/lib/{multiarch}", "/usr/lib64", "/usr/local/lib", "/usr/lib")
    return [_VENDORS_FOLDER / "xrt" / "lib", *map(Path, dict.fromkeys(usual))]


@dataclass(frozen=True)
class Installation:
    """An installation of XRT: the folder with its libraries."""

    libraries: Path

    def library(self, name: str) -> Path | None:
        """Path of a library, as the loader would open it; None if it is missing.

        Raises IsthmusError if the system does not tell.
        """
        path = self.libraries / f"lib{name}.so.2"  # XRT's versions are 2.x
        return path if is_there(path) else None

    @property
    def version(self) -> str:
        """Version, from the name of the file that the links lead to."""
        library = self.library(NATIVE)
        match = re.search(r"\.so\.([\d.]+)$", library.resolve().name) if library else None
        return match[1] if match else "of unknown version"

    @property
    def name(self) -> str:
        """Version and place in a few words."""
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
            with contextlib.suppress(FileExistsError):  # another process was faster
                link.symlink_to(self.libraries)
        return root

    def environment(self, mode: str, user: str) -> dict[str, str]:
        """Environment of a process that uses this XRT in a mode; ``user`` separates emulations."""
        path = os.environ.get("LD_LIBRARY_PATH")
        variables = {
            "XILINX_XRT": str(self.root()),
            "LD_LIBRARY_PATH": f"{self.libraries}:{path}" if path else str(self.libraries),
            # Otherwise an xrt.ini in the working folder could change what is timed.
            "XRT_INI_PATH": os.environ.get("XRT_INI_PATH") or str(_no_settings()),
        }
        if mode != HARDWARE:
            variables["XCL_EMULATION_MODE"] = mode
        if mode in EMULATIONS:
            # The user name is part of socket names; leftover files go to a private folder.
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
    """A candidate for each mode that can work here.

    ``environment`` is added to the mode's environment. ``noop_binary`` creates the bitstream for
    measuring the API alone; None if there is none.
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
    """Reasons why the other modes cannot be used."""
    return [
        Problem(f"{installation.name}: {obstacle.what}", obstacle.cure, mode=mode)
        for mode in MODES
        if (obstacle := installation.obstacle(mode)) is not None
    ]


def find() -> Installation | None:
    """The installation in use; None if there is none.

    Raises IsthmusError if none is found and the system does not tell the contents of some folder.
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
    """The problem to report without an XRT."""
    chosen = os.environ.get("XILINX_XRT")
    if chosen:
        return Obstacle(
            f"XILINX_XRT is {chosen}, and no lib{NATIVE} is in its lib folder",
            "unset it, or name an installation of XRT",
        )
    return Obstacle(f"no XRT: no lib{NATIVE} in {', '.join(map(str, _places()))}", GET_IT)


def boards() -> list[str]:
    """Addresses of the devices that XRT's drivers serve."""
    return sorted(
        {
            device.name
            for driver in _DRIVERS
            for device in _BUSES.glob(f"*/drivers/{driver}/*")
            if device.is_symlink() and device.name != "module"
        }
    )


def unserved_boards() -> list[str]:
    """Addresses of AMD's accelerator cards whose driver is missing."""
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
    """For an emulated card below XRT: the address of the same API without a card; else empty."""
    emulated = address.mode.partition("=")[0] == CARD
    return f"{address.scheme}:{address.selector or 0}@{NOOP}" if emulated else ""


def bitstreams(mode: str, default: Path | None = None) -> dict[str, str]:
    """Environment that lists the bitstreams which a backend may load in a mode without permission.

    Without hardware it may load any bitstream, by default ``default``: nothing can be damaged.
    """
    if mode == HARDWARE:
        files = ":".join(map(str, validation_xclbins()))
        # Empty, so that a variable of the user's shell cannot cause a board to be programmed.
        return {
            "ISTHMUS_VALIDATION_BINARIES": files,
            "ISTHMUS_DEFAULT_BINARY": "",
            "ISTHMUS_MAY_PROGRAM": "",
        }
    return {"ISTHMUS_MAY_PROGRAM": "yes", "ISTHMUS_DEFAULT_BINARY": str(default or "")}
