"""Makes a folder that looks like an installation of XRT, but has our shim in place of XRT's."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from isthmus.system import private, xrt
from isthmus_emulation.shims import own_shim

HW_EMU = "hw_emu"
MODE = "XCL_EMULATION_MODE"
"""Variable by which XRT chooses the name of the shim that it loads; unset on a board."""


def root(installation: xrt.Installation) -> Path:
    """Returns the folder for variable ``XILINX_XRT``, and makes it if it is missing.

    The folder holds our shim under the names of a board's shim and of the emulation's, and links to
    all other libraries. Each library also has a link without a version in its name, which Python
    hosts open; distributions install that name only with the headers. Raises NoDeviceError if our
    shim does not know the version of XRT.
    """
    shim = own_shim(installation)
    digest = hashlib.sha256(repr((installation.libraries, shim)).encode())
    path = private.folder("xrt", f"card-{digest.hexdigest()[:16]}")
    folder = path / "lib"
    folder.mkdir(mode=0o700, exist_ok=True)
    for mode in (xrt.HARDWARE, HW_EMU):
        _link(folder / f"lib{xrt.MODES[mode]}.so.2", shim)
    for pattern in ("libxrt*.so.*", "libxilinxopencl.so.*", "xrt"):
        for library in installation.libraries.glob(pattern):
            _link(folder / library.name, library)
    for library in folder.glob("lib*.so.2"):
        _link(library.with_suffix(""), Path(library.name))
    return path


def _link(link: Path, target: Path) -> None:
    """Makes a link unless a file of its name exists."""
    if not link.exists() and not link.is_symlink():
        with contextlib.suppress(FileExistsError):  # another process made it first
            link.symlink_to(target)
