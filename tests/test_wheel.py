"""Sdists and wheels: what is in them, and what the libraries link.

What is compiled is looked at as set-up made it; `make wheel` builds whole wheels from the sdists.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import zipfile
import zlib
from importlib import metadata
from pathlib import Path

import pytest

import isthmus
from isthmus import backends

ROOT = Path(__file__).parents[1]
LIBRARIES = {
    "libisthmus", "libc", "libgcc_s", "libm", "libstdc++", "libpthread", "libdl", "ld-linux-x86-64",
}  # fmt: skip
"""What any machine with the wheel's glibc has, and the engine."""
MOST_BYTES = 15e6
NOT_IN_SDIST = (".ci", "benchmarks/results", "emulation")
"""Beside the images of the documentation."""


def installed(package: str = "isthmus") -> dict[str, Path]:
    """What set-up compiled and put beside the sources, by the names in a wheel."""
    files = metadata.files(package) or []
    return {str(file): Path(str(file.locate())) for file in files if file.parts[0] == package}


def made_of(project: Path, folder: Path) -> tuple[set[str], Path]:
    """Names in a project's sdist, and the wheel made from it without what is compiled."""
    if importlib.util.find_spec("build") is None:
        pytest.skip("make wheel installs what builds it")
    environment = {**os.environ, "SKBUILD_WHEEL_CMAKE": "false", "SKBUILD_WHEEL_PY_API": "py3"}
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, project]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        sources = {name.partition("/")[2] for name in file.getnames()}
    (wheel,) = folder.glob("*.whl")
    return sources, wheel


def tracked(*folders: str) -> set[str]:
    """Names of the files that git keeps there."""
    listed = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return set(listed.stdout.splitlines())


@pytest.mark.slow
def test_sdist_and_wheel_have_what_commands_need(tmp_path: Path) -> None:
    sources, wheel = made_of(ROOT, tmp_path)
    left_out = tracked(*NOT_IN_SDIST) | {name for name in tracked("docs") if name.endswith(".png")}
    assert tracked() - sources == left_out

    with zipfile.ZipFile(wheel) as parts:
        names = set(parts.namelist()) | set(installed())
    places = {"src/isthmus/": "isthmus/", "card/boards/": "isthmus/boards/"}
    wanted = set()
    for path in tracked("kernels", "schemas", "src/isthmus", "card/boards"):
        place = next((of for of in places if path.startswith(of)), "")
        wanted.add(f"{places.get(place, 'isthmus/')}{path.removeprefix(place)}")
    wanted |= {f"isthmus/backends/libisthmus_{name}.so" for name in backends.registry()}
    wanted |= {"isthmus/libisthmus.so", "isthmus/CITATION.cff"}
    assert not {name for name in wanted - names if not name.endswith(".gitignore")}
    compiled = sum(len(zlib.compress(path.read_bytes())) for path in installed().values())
    assert wheel.stat().st_size + compiled < MOST_BYTES
    assert wheel.name.startswith(f"isthmus-{isthmus.__version__}-")


@pytest.mark.slow
def test_the_emulation_has_an_sdist_and_a_wheel_of_its_own(tmp_path: Path) -> None:
    sources, wheel = made_of(ROOT / "emulation", tmp_path)
    links = {"emulation/card", "emulation/cmake", "emulation/cpp/include"}
    own = tracked("emulation") - tracked("emulation/tests") - links
    assert {name.removeprefix("emulation/") for name in own} <= sources
    linked = tracked("cmake/options.cmake", "cpp/include", "card/include", "card/src")
    assert linked | tracked("card/rtl/bench") <= sources
    python = "emulation/python/"
    with zipfile.ZipFile(wheel) as parts:
        assert {name.removeprefix(python) for name in own if name.startswith(python)} <= set(
            parts.namelist()
        )
    assert wheel.name.startswith(f"isthmus_emulation-{isthmus.__version__}-py3-none-")


@pytest.mark.emulation
def test_no_library_of_the_emulation_links_a_vendors_but_the_shims_which_xrt_loads() -> None:
    objects = [path for name, path in installed("isthmus_emulation").items() if ".so" in name]
    assert len(objects) == 5
    for path in objects:
        of_xrt = {"libxrt_coreutil"} if path.name == "libxrt_core.so.2" else set()
        assert needed(path) <= LIBRARIES | of_xrt, path.name


def needed(path: Path) -> set[str]:
    """Libraries that a shared object is linked with."""
    shown = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True)
    return set(re.findall(r"NEEDED.*\[([^.\]]+)", shown.stdout))


def test_no_library_links_a_vendors() -> None:
    objects = [path for name, path in installed().items() if name.endswith(".so")]
    assert len(objects) > len(backends.registry())
    for path in objects:
        assert needed(path) <= LIBRARIES, path.name
