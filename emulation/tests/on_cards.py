"""Programs that use emulated cards, compiled and run: what the tests of them share."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import Command, made_once
from isthmus import emulation
from isthmus.errors import NoDeviceError

SOURCES = Path(__file__).parent / "programs"
LIBRARIES = {
    "native": ["xrt_coreutil", "uuid", "pthread"],
    "lifecycle": ["xrt_coreutil", "uuid", "pthread"],
    "waits": ["xrt_coreutil", "uuid", "pthread"],
    "crossing": ["xrt_coreutil", "uuid", "pthread"],
    "queues": ["xilinxopencl", "xrt_coreutil", "uuid", "pthread"],
    "opencl": ["xilinxopencl", "pthread"],
    "opencl_loader": [":libOpenCL.so.1", "pthread"],
}


@dataclass(frozen=True)
class Ran:
    code: int
    output: str
    errors: list[str]

    @property
    def figures(self) -> dict[str, float]:
        """What the program measured; XRT prints in front of it, also without a new line."""
        data: dict[str, float] = json.loads(self.output[self.output.index('{"') :])
        return data


Run = Callable[..., Ran]


@pytest.fixture(scope="session")
def emulated() -> None:
    """Skips where there is no XRT."""
    try:
        emulation.prepare(["u250"]).close()
    except NoDeviceError as error:
        pytest.skip(f"no XRT behind which a card is emulated: {error}")


@pytest.fixture(scope="session")
def programs(run_isthmus: Command) -> Path:
    """A folder with the compiled programs and the card's xclbins."""
    compiler = os.environ.get("CXX", "c++")

    def make(folder: Path) -> None:
        for name, libraries in LIBRARIES.items():
            source = SOURCES / f"{name.partition('_')[0]}.cpp"
            made = subprocess.run(
                [compiler, "-std=c++20", "-O1", "-w", "-I/usr/include/xrt", source,
                 "-o", folder / name, *(f"-l{library}" for library in libraries)],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if name == "opencl_loader" and "cannot find" in made.stderr:
                continue
            if "No such file" in made.stderr or "cannot find" in made.stderr:
                pytest.skip(f"cannot build a program for XRT: {made.stderr.splitlines()[0]}")
            assert made.returncode == 0, made.stderr
        for mode in ("hw", "hw_emu"):
            made = run_isthmus("card", "xclbin", "--mode", mode, "-o", f"{mode}.xclbin", cwd=folder)
            assert made.returncode == 0, made.stderr

    return made_once("programs", make)


@pytest.fixture
def card_exec(isthmus: Command) -> Run:
    def run(*arguments: object) -> Ran:
        ended = isthmus("card", "exec", *map(str, arguments))
        assert "Traceback" not in ended.stderr
        return Ran(ended.returncode, ended.stdout, ended.stderr.splitlines())

    return run
