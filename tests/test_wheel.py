"""The wheel: what is in it, what it links, and that the installed one works alone."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import isthmus
from isthmus import backends

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import make_wheel  # noqa: E402

LIBRARIES = {
    "libisthmus", "libc", "libgcc_s", "libm", "libstdc++", "libpthread", "libdl", "ld-linux-x86-64",
}  # fmt: skip
"""What any machine with the wheel's glibc has, and the engine."""
MOST_BYTES = 15e6

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the sdist of this tree; not optimised, which takes a quarter of the time less."""
    if importlib.util.find_spec("build") is None:
        pytest.skip("make wheel installs what builds it")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKBUILD_CMAKE_BUILD_TYPE", "None")
        return make_wheel.build(tmp_path_factory.mktemp("wheel"))[1]


def test_the_wheel_has_what_commands_need(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
    kept = subprocess.run(
        ["git", "ls-files", "kernels", "schemas", "src/isthmus", "card/boards"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    places = {"src/isthmus/": "isthmus/", "card/boards/": "isthmus/boards/"}
    wanted = set()
    for path in kept:
        place = next((of for of in places if path.startswith(of)), "")
        wanted.add(f"{places.get(place, 'isthmus/')}{path.removeprefix(place)}")
    wanted |= {f"isthmus/backends/libisthmus_{name}.so" for name in backends.registry()}
    wanted |= {"isthmus/libisthmus.so", "isthmus/CITATION.cff"}
    assert not {name for name in wanted - names if not name.endswith(".gitignore")}
    assert wheel.stat().st_size < MOST_BYTES
    assert wheel.name.startswith(f"isthmus-{isthmus.__version__}-")


def test_no_library_of_the_wheel_links_a_vendors(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path)
    objects = [*tmp_path.rglob("*.so"), *tmp_path.glob("isthmus/emulation/isthmus-card")]
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
