"""Sdist and wheel: what is in them, and what the libraries link.

What is compiled is looked at as set-up made it; `make nightly` builds a whole wheel from the sdist.
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
NOT_IN_SDIST = (".ci", "benchmarks/results")
"""Beside the images of the documentation."""


def installed() -> dict[str, Path]:
    """What set-up compiled and put beside the sources, by the names in a wheel."""
    files = metadata.files("isthmus") or []
    return {str(file): Path(str(file.locate())) for file in files if file.parts[0] == "isthmus"}


def tracked(*folders: str) -> set[str]:
    """Names of the files that git keeps there."""
    listed = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return set(listed.stdout.splitlines())


@pytest.mark.slow
def test_sdist_and_wheel_have_what_commands_need(tmp_path: Path) -> None:
    if importlib.util.find_spec("build") is None:
        pytest.skip("make wheel installs what builds it")
    # Without what is compiled: that is as set-up compiled it.
    environment = {**os.environ, "SKBUILD_WHEEL_CMAKE": "false", "SKBUILD_WHEEL_PY_API": "py3"}
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, ROOT]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        sources = {name.partition("/")[2] for name in file.getnames()}
    left_out = tracked(*NOT_IN_SDIST) | {name for name in tracked("docs") if name.endswith(".png")}
    assert tracked() - sources == left_out

    (wheel,) = tmp_path.glob("*.whl")
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


def test_no_library_links_a_vendors() -> None:
    objects = [path for name, path in installed().items() if name.endswith(".so")]
    assert len(objects) > len(backends.registry())
    for path in objects:
        shown = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True)
        needed = re.findall(r"NEEDED.*\[([^.\]]+)", shown.stdout)
        assert set(needed) <= LIBRARIES, path.name


def test_recipes_name_the_version_of_the_package() -> None:
    (recipe,) = (ROOT / "packaging" / "easybuild").glob("*.eb")
    text = recipe.read_text(encoding="utf-8")
    assert re.search(r"^version = '(.*)'$", text, re.MULTILINE)[1] == isthmus.__version__  # type: ignore[index]
    assert recipe.name.startswith(f"Isthmus-{isthmus.__version__}-")
