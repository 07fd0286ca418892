"""Unknown versions of XRT and glibc are refused, and what is relied on is there."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import isthmus_emulation
from conftest import LIMIT_S, Command
from isthmus.errors import NoDeviceError
from isthmus.system import xrt
from isthmus_emulation import elf
from isthmus_emulation.requirements import GLIBC, Requirement, glibc_version
from isthmus_emulation.session import CLOCK
from isthmus_emulation.shims import own_shim

PAGE = Path(__file__).parents[2] / "docs" / "emulation.md"
SINCE_LATER_XRT = {"_ZNK3xrt3run5wait2ERKNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE"}
"""Functions that XRT 2.13 lacks: nobody calls them there."""
OTHER_GLIBC = r"""
#include <cstring>
#include <unistd.h>
extern "C" size_t confstr(int name, char* into, size_t size) noexcept {
  const char* told = name == _CS_GNU_LIBC_VERSION ? VERSION : "";
  if (size > 0) {
    std::strncpy(into, told, size - 1);
    into[size - 1] = 0;
  }
  return std::strlen(told) + 1;
}
"""


@pytest.fixture
def here() -> xrt.Installation:
    try:
        isthmus_emulation.prepare(["u250"]).close()
    except NoDeviceError as error:
        pytest.skip(f"no XRT behind which a card is emulated: {error}")
    installed = xrt.find()
    assert installed
    return installed


@pytest.mark.parametrize(
    ("requirement", "version"),
    [(GLIBC, "2.30"), (GLIBC, "2.42")],
)
def test_known_versions_are_taken(requirement: Requirement, version: str) -> None:
    requirement.check(version)


@pytest.mark.parametrize(
    ("requirement", "version"),
    [(GLIBC, version) for version in ("2.29", "2.43", "3.36", "of unknown version", "")],
)
def test_unknown_versions_are_refused(requirement: Requirement, version: str) -> None:
    with pytest.raises(NoDeviceError) as refused:
        requirement.check(version)
    said = str(refused.value)
    assert f"here is {requirement.library} {version}: {requirement.cure}" in said
    assert "\n" not in said


def another_version(of: xrt.Installation, version: str, root: Path) -> dict[str, str]:
    """XRT says its version in the name of a file: the same XRT with another one."""
    folder = root / "xrt" / "lib"
    folder.mkdir(parents=True)
    for library in of.libraries.glob("libx*.so*"):
        (folder / library.name).symlink_to(library)
    (folder / "libxrt_coreutil.so.2").unlink()
    native = of.library(xrt.NATIVE)
    assert native
    shutil.copy(native.resolve(), folder / f"libxrt_coreutil.so.{version}")
    (folder / "libxrt_coreutil.so.2").symlink_to(f"libxrt_coreutil.so.{version}")
    return {"XILINX_XRT": str(folder.parent)}


def test_another_xrt_is_refused(here: xrt.Installation, isthmus: Command, tmp_path: Path) -> None:
    other = another_version(here, "2.99.0", tmp_path)
    commands = [("card", "exec", "--clock", "wall", "--", "touch", "ran")]
    devices = [f"{scheme}:0@card=u250" for scheme in ("xrt", "xocl")]
    commands += [("run", "transfer", "--quick", "--device", device) for device in devices]
    for command in commands:
        refused = isthmus(*command, env=other)
        assert refused.returncode == 4, refused.stderr
        assert re.search(r"knows XRT 2\.13, .*here is XRT 2\.99\.0: ", refused.stderr)
        assert len(refused.stderr.splitlines()) == 1
    assert not (tmp_path / "ran").exists()


@pytest.mark.usefixtures("here")
def test_another_glibc_is_refused_unless_clocks_are_left_alone(tmp_path: Path) -> None:
    """A library in front of glibc gives another answer to whoever asks for the version."""
    (tmp_path / "other.cpp").write_text(OTHER_GLIBC)

    def card_exec(version: str, *options: str) -> subprocess.CompletedProcess[str]:
        other = tmp_path / f"{version}.so"
        define = f'-DVERSION="glibc {version}"'
        compile_it = ["g++", "-shared", "-fPIC", define, tmp_path / "other.cpp", "-o", other]
        subprocess.run(compile_it, check=True)
        return subprocess.run(
            [sys.executable, "-m", "isthmus", "card", "exec", *options, "--", "touch", "ran"],
            cwd=tmp_path, env={**os.environ, "LD_PRELOAD": str(other)}, capture_output=True,
            text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip

    refused = card_exec("2.99")
    assert refused.returncode == 4, refused.stderr
    assert refused.stderr == (
        "isthmus: the virtual clock knows glibc 2.30 to 2.42, here is glibc 2.99: "
        "use --clock wall\n"
    )
    assert not (tmp_path / "ran").exists()
    assert card_exec("2.99", "--clock", "wall").returncode == 0
    assert (tmp_path / "ran").exists()
    never_run = card_exec("2.40")
    assert never_run.returncode == 0, never_run.stderr
    assert (
        "isthmus: the virtual clock was tested with glibc 2.36, not with glibc 2.40, "
        "which is here: check its results\n"
    ) in never_run.stderr
    assert "was tested with" not in card_exec("2.36").stderr


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("clock", ["virtual", "wall"])
def test_the_library_with_the_clock_is_preloaded(isthmus: Command, clock: str) -> None:
    ask = ("--", "sh", "-c", "echo preloaded=$LD_PRELOAD")
    ran = isthmus("card", "exec", "--clock", clock, *ask)
    assert ran.stdout == f"preloaded={CLOCK}\n"


def test_the_version_is_that_of_the_library_that_is_loaded() -> None:
    ask = ctypes.CDLL(None).gnu_get_libc_version
    ask.restype = ctypes.c_char_p
    assert glibc_version() == ask().decode()


def test_the_page_names_what_the_clock_replaces_and_glibc_has_it_all() -> None:
    """A symbol that glibc lacks would be called at address 0."""
    if not CLOCK.exists():
        pytest.skip("Isthmus was built without its virtual clock")
    symbols = elf.symbols(CLOCK.read_bytes())
    defined = {name for name, symbol in symbols.items() if symbol.section}
    replaced = {name for name in defined if not name.startswith("isthmus_")}
    of_xrt = {name for name in replaced if re.match(r"xrt|_ZNK?\d+xrt", name)}
    of_opencl = {name for name in replaced if re.match("cl[A-Z]", name)}
    text = PAGE.read_text("utf-8")
    assert all(f"`{name}`" in text for name in of_xrt | of_opencl)
    installed = xrt.find()
    if installed is not None and (coreutil := installed.library(xrt.NATIVE)) is not None:
        there = set(elf.symbols(coreutil.read_bytes()))
        assert of_xrt >= SINCE_LATER_XRT
        assert of_xrt - there - SINCE_LATER_XRT == set()
    replaced -= of_xrt | of_opencl
    of_cpp = {name for name in replaced if name.startswith("_Z")}
    runtime = ctypes.CDLL("libstdc++.so.6")
    assert all(hasattr(runtime, name) for name in of_cpp)
    replaced -= of_cpp
    libc = ctypes.CDLL(None)
    assert {name for name in replaced if not hasattr(libc, name)} == set()
    (row,) = re.findall(r"^\| functions replaced \|(.*?)\|", text, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == replaced


def test_our_shim_is_refused_where_xrt_has_other_functions(
    here: xrt.Installation, tmp_path: Path
) -> None:
    assert own_shim(here).exists()
    for version, said in {
        "2.17.319": "our shim knows XRT 2.13, 2.16, 2.18, 2.23, here is XRT 2.17.319",
        "2.13.0": "was built with other functions",
        "2.18.179": "was built with other functions",
        "2.23.244": "was built with other functions",
    }.items():
        (tmp_path / f"libxrt_coreutil.so.{version}").touch()
        link = tmp_path / "libxrt_coreutil.so.2"
        link.unlink(missing_ok=True)
        link.symlink_to(f"libxrt_coreutil.so.{version}")
        with pytest.raises(NoDeviceError, match=re.escape(said)) as refused:
            own_shim(xrt.Installation(tmp_path))
        assert "\n" not in str(refused.value)
