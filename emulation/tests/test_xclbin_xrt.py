"""The real XRT opens what Isthmus writes: its noop shim needs no card."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import LIMIT_S
from isthmus_emulation import xclbin

PROGRAM = """
import ctypes, sys

lib = ctypes.CDLL("libxrt_coreutil.so.2")
for name in ("xrtDeviceOpen", "xrtPLKernelOpen", "xrtRunOpen", "xrtBOAllocUserPtr", "xrtBOAlloc"):
    getattr(lib, name).restype = ctypes.c_void_p
device = ctypes.c_void_p(lib.xrtDeviceOpen(0))
uuid = (ctypes.c_ubyte * 16)()
print(lib.xrtDeviceLoadXclbinFile(device, sys.argv[1].encode()))
print(lib.xrtDeviceGetXclbinUUID(device, uuid), bytes(uuid).hex())
for bank in 0, 1, 2:
    size, flags = ctypes.c_size_t(1 << 20), ctypes.c_uint64(0)
    buffer = ctypes.c_void_p(lib.xrtBOAlloc(device, size, flags, ctypes.c_uint32(bank)))
    print(bool(buffer), lib.xrtBOSync(buffer, 0, size, ctypes.c_size_t(0)))
    lib.xrtBOFree(buffer)
kernel = ctypes.c_void_p(lib.xrtPLKernelOpen(device, uuid, b"isthmus_empty"))
run = ctypes.c_void_p(lib.xrtRunOpen(kernel))
print(lib.xrtRunStart(run), lib.xrtRunWait(run))
vadd = ctypes.c_void_p(lib.xrtPLKernelOpen(device, uuid, b"vadd:{vadd_1}"))
print([lib.xrtKernelArgGroupId(vadd, i) for i in range(3)],
      [lib.xrtKernelArgOffset(vadd, i) for i in range(4)], flush=True)
"""
COMPLETED = 4
"""``ERT_CMD_STATE_COMPLETED``"""


def test_xrt_opens_it(tmp_path: Path) -> None:
    folders = [*Path("/usr/lib").glob("*-linux-gnu"), Path("/opt/xilinx/xrt/lib")]
    libraries = next((f for f in folders if (f / "libxrt_noop.so.2").exists()), None)
    if libraries is None:
        pytest.skip("XRT and its noop shim are not here")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/lib").symlink_to(libraries)
    file = xclbin.transfer_default()
    xclbin.save(file, tmp_path / "it.xclbin")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "it.xclbin"],
        cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        # XRT ends its whole process group when something fails.
        start_new_session=True,
        env={
            **os.environ,
            "XCL_EMULATION_MODE": "noop",
            "XILINX_XRT": str(tmp_path / "root"),
            "LD_LIBRARY_PATH": str(libraries),
        },
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "0",
        f"0 {file.header.uuid.hex}",
        *["True 0"] * 3,
        f"0 {COMPLETED}",
        "[0, 0, 0] [16, 28, 40, 52]",
    ], done.stderr
