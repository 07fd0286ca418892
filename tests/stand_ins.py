"""Fixtures that build libraries which stand in for vendors' libraries and show several devices."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from isthmus.errors import IsthmusError
from isthmus.measure.discovery import resolve

STAND_INS = Path(__file__).parent
CUDA = STAND_INS.parent / "cpp" / "backends" / "cuda"


def made(target: Path, *words: str | Path) -> str:
    """A library of these sources."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("no C++ compiler here")
    command = [compiler, "-std=c++20", "-O0", "-shared", "-fPIC", "-w", *words, "-o", target]
    subprocess.run(list(map(str, command)), check=True)
    return str(target)


@pytest.fixture(scope="module")
def gpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables that name a driver of four GPUs."""
    sources = [STAND_INS / "gpu_stand_in" / name for name in ("cuda.cpp", "unsupported.cpp")]
    driver = made(tmp_path_factory.mktemp("gpus") / "libcuda.so.1", f"-I{CUDA}", *sources)
    return {"ISTHMUS_CUDA_DRIVER": driver}


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables that put a library before XRT's which shows four boards."""
    headers = next((path for path in (Path("/usr/include/xrt"), Path("/opt/xilinx/xrt/include"))
                    if path.exists()), None)  # fmt: skip
    try:
        resolve("xrt:0@noop")
    except IsthmusError as error:
        pytest.skip(f"no XRT with a noop shim here: {error}")
    if headers is None:
        pytest.skip("XRT's headers are not here")
    source = STAND_INS / "board_stand_in" / "xrt.cpp"
    library = made(tmp_path_factory.mktemp("boards") / "libboards.so", f"-I{headers}", source)
    return {"LD_PRELOAD": library}
