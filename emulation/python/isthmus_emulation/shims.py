"""Finds our shim for the installed version of XRT, and refuses other versions.

XRT and a shim share classes with virtual functions. emulation/shim/interface.hpp declares the order
of these functions for each version.
"""

from __future__ import annotations

import re
from pathlib import Path

from isthmus.errors import NoDeviceError
from isthmus.system import xrt
from isthmus_emulation import elf
from isthmus_emulation.compiler import PARTS

_DEVICE, _SYSTEM = "_ZTVN8xrt_core6deviceE", "_ZTVN8xrt_core6systemE"
_TABLES = {
    "2.13": {_DEVICE: 584, _SYSTEM: 112},
    "2.16": {_DEVICE: 400, _SYSTEM: 104},
    "2.18": {_DEVICE: 512, _SYSTEM: 96},
    "2.23": {_DEVICE: 536, _SYSTEM: 96},
}
"""Known versions of XRT, with the bytes of libxrt_coreutil's tables of virtual functions."""


def own_shim(installation: xrt.Installation) -> Path:
    """Returns our shim for the installed version of XRT.

    Raises NoDeviceError for an unknown version, and for an XRT whose tables of virtual functions
    have other sizes than our shim expects.
    """
    number = re.match(r"\d+\.\d+", installation.version)
    version = number[0] if number else ""
    if version not in _TABLES:
        raise NoDeviceError(
            f"our shim knows XRT {', '.join(_TABLES)}, here is XRT {installation.version}: "
            "name another installation in XILINX_XRT"
        )
    own = PARTS / "shim" / version / "libxrt_core.so.2"
    if not own.exists():
        raise NoDeviceError(f"Isthmus was built without its shim for XRT {version}")
    native = installation.library(xrt.NATIVE)
    try:
        symbols = elf.symbols(native.read_bytes()) if native else {}
    except ValueError:
        symbols = {}
    sizes = {name: symbols[name].size for name in (_DEVICE, _SYSTEM) if name in symbols}
    if sizes != _TABLES[version]:
        raise NoDeviceError(
            f"{installation.name} was built with other functions than the XRT {version} that our "
            "shim knows: name another installation in XILINX_XRT"
        )
    return own
