"""The shim of our own for the installed version of XRT; other versions are refused.

XRT and a shim share the tables of virtual functions of their classes, which
emulation/shim/interface.hpp declares for each version.
"""

from __future__ import annotations

import re
from pathlib import Path

from isthmus import built
from isthmus.emulation import elf
from isthmus.errors import NoDeviceError
from isthmus.system import xrt

_DEVICE, _SYSTEM = "_ZTVN8xrt_core6deviceE", "_ZTVN8xrt_core6systemE"
_TABLES = {
    "2.13": {_DEVICE: 584, _SYSTEM: 112},
    "2.16": {_DEVICE: 400, _SYSTEM: 104},
    "2.18": {_DEVICE: 512, _SYSTEM: 96},
    "2.23": {_DEVICE: 536, _SYSTEM: 96},
}
"""Versions that our shim knows, and the bytes of libxrt_coreutil's tables in each."""


def own_shim(installation: xrt.Installation) -> Path:
    """The shim of our own for the installed version of XRT.

    Raises NoDeviceError where there is none for that version, or where XRT was built otherwise: the
    sizes of its tables of virtual functions are compared with those that our shim has.
    """
    number = re.match(r"\d+\.\d+", installation.version)
    version = number[0] if number else ""
    if version not in _TABLES:
        raise NoDeviceError(
            f"our shim knows XRT {', '.join(_TABLES)}, here is XRT {installation.version}: "
            "name another installation in XILINX_XRT"
        )
    own = built.FOLDER / "emulation" / "shim" / version / "libxrt_core.so.2"
    if not own.exists():
        raise NoDeviceError("Isthmus was built without its own shim for XRT: leave out --shim")
    native = installation.library(xrt.NATIVE)
    try:
        symbols = elf.Library(native.read_bytes()).symbols if native else {}
    except ValueError:
        symbols = {}
    sizes = {name: symbols[name].size for name in (_DEVICE, _SYSTEM) if name in symbols}
    if sizes != _TABLES[version]:
        raise NoDeviceError(
            f"{installation.name} was built with other functions than the XRT {version} that our "
            "shim knows: name another installation in XILINX_XRT"
        )
    return own
