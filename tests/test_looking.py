"""What is not there, and what nobody could look for, are told apart."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Command
from isthmus.backends import registry
from isthmus.errors import IsthmusError
from isthmus.measure.discovery import survey
from isthmus.system import files, xrt

SLOW_TABLE = """
import sysconfig, threading, time
filled = sysconfig._init_posix
def slowly(table):
    time.sleep(1)
    filled(table)
sysconfig._init_posix = slowly
from isthmus.system import xrt
places = []
def look():
    places.append(xrt._places())
threads = [threading.Thread(target=look) for _ in range(2)]
for one in threads:
    one.start()
for one in threads:
    one.join()
print(places[0] == places[1])
"""
"""Backends look for XRT in threads. What they know of the system must not be half there."""


def test_threads_that_look_at_once_look_in_the_same_places() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SLOW_TABLE], env={**os.environ, "XILINX_XRT": ""}, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == "True\n"


def test_the_systems_own_folder_is_looked_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XILINX_XRT", raising=False)
    told = subprocess.run(
        [sys.executable, "-c", "import sysconfig; print(sysconfig.get_config_var('MULTIARCH'))"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    assert Path("/usr/lib", told) in xrt._places()


@pytest.fixture
def endless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which nobody can look: its link leads to itself."""
    folder = tmp_path / "lib"
    folder.symlink_to(folder)
    monkeypatch.setenv("XILINX_XRT", str(tmp_path))
    return folder


def test_xrt_that_nobody_can_look_for_is_not_called_missing(endless: Path) -> None:
    with pytest.raises(IsthmusError, match=f"cannot look for {endless}/libxrt_coreutil"):
        xrt.find()


def test_devices_says_why_it_could_not_look(endless: Path, isthmus: Command) -> None:
    said = " ".join(isthmus("devices").stdout.split())
    assert f"cannot look for {endless}/libxrt_coreutil.so.2: Too many levels" in said
    assert "no XRT" not in said


def test_an_icd_file_that_cannot_be_read_is_not_called_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder.icd").mkdir()
    (tmp_path / "empty.icd").touch()
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    told = [problem.what for problem in survey(registry()["opencl"]).problems]
    assert f"{tmp_path}/folder.icd: Is a directory" in told
    assert f"{tmp_path}/empty.icd names no library" in told


def _not_startable(*_: object, **__: object) -> None:
    raise OSError(24, "Too many open files")


def test_libraries_are_not_missing_where_nobody_could_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    files._known_libraries.cache_clear()
    with monkeypatch.context() as context:
        context.setattr(subprocess, "run", _not_startable)
        with pytest.raises(IsthmusError, match=r"cannot look for libraries.*Too many open"):
            files.has_library("libOpenCL.so.1")
    assert files.has_library("libc.so.6")
    assert not files.has_library("libnothing.so.7")


@pytest.mark.parametrize("look", [files.is_there, files.has_library])
def test_a_library_of_the_users_folder_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Callable[..., bool]
) -> None:
    library = tmp_path / "libmine.so.3"
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    name = library if look is files.is_there else library.name
    assert not look(name)
    library.touch()
    assert look(name)


def test_what_a_driver_writes_may_be_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "label").write_bytes(b"Intel\xae card\n")
    assert files.text(tmp_path / "label") == "Intel\ufffd card"
    assert files.text(tmp_path / "missing") == ""
