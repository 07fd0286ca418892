"""The processes in which most tests run commands do what those do that a shell starts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from conftest import LIMIT_S, Command
from prepared import Prepared

ONE = ("run", "transfer", "--device", "card:u250", "--bytes", "64", "--operation", "write")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--verbose", "nonsense"),
        (*ONE, "--out", "missing/run.json"),
        ("show", "run.json", "--format", "csv"),
        ("devices", "--json"),
        pytest.param(("xclbin", "dump", "missing.xclbin"), marks=pytest.mark.emulation),
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in (
                ("--help",),
                ("run", "--help"),
                ("show", "run.json"),
                ("report", "run.json", "--out", "page"),
                ("model", "pcie"),
                ("card", "boards"),
            )
        ),
    ],
)
def test_a_command_ends_as_one_that_was_started_anew(
    isthmus: Command, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    if "run.json" in arguments:
        assert isthmus(*ONE, "--out", "run.json").returncode == 0
    done = isthmus(*arguments)
    shutil.rmtree(tmp_path / "page", ignore_errors=True)
    anew = subprocess.run(
        [Path(sys.executable).with_name("isthmus"), *arguments],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "--verbose" in arguments:  # files and lines above the command's own differ
        assert "Traceback" in done.stderr
        assert "Traceback" in anew.stderr
        done.stderr, anew.stderr = (one.stderr.splitlines()[-1] for one in (done, anew))
    assert (done.returncode, done.stdout, done.stderr) == (
        anew.returncode, anew.stdout, anew.stderr
    )  # fmt: skip


def test_environment_and_folder_are_its_own(isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "vendors").mkdir()
    (tmp_path / "vendors" / "mine.icd").write_text("/nowhere/libmine.so\n")
    done = isthmus("devices", env={"OCL_ICD_VENDORS": "vendors"}).stdout
    assert "/nowhere/libmine.so" in done
    assert "/nowhere/libmine.so" not in isthmus("devices").stdout


LINES = """
cd there && isthmus show ../run.json --format csv | head -2 | cut -d, -f1-4
isthmus show ../run.json > out; echo $?; wc -l out
isthmus nonsense 2>&1 > out | tail -1; echo ${PIPESTATUS[0]}
! OCL_ICD_VENDORS=$PWD isthmus run transfer --device opencl:pocl --out pocl.json 2>&1; ls
isthmus show /dev/stdin --format md < ../run.json
"""


@pytest.mark.slow
def test_a_shell_cannot_tell_which_isthmus_it_starts(
    isthmus: Command, path: str, tmp_path: Path
) -> None:
    assert isthmus(*ONE, "--out", "run.json").returncode == 0

    def said(path: str) -> str:
        shutil.rmtree(tmp_path / "there", ignore_errors=True)
        (tmp_path / "there").mkdir()
        return subprocess.run(
            ["bash", "-c", LINES], cwd=tmp_path, env={**os.environ, "PATH": path}, check=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ).stdout  # fmt: skip

    rest = path.partition(os.pathsep)[2]
    assert shutil.which("isthmus", path=path) != shutil.which("isthmus", path=rest)
    assert said(path) == said(rest)


def test_one_that_takes_too_long_is_killed(isthmus: Command, tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        isthmus("run", "transfer", "--device", "null:20us", "--precision", "0.00001", "--out",
                "run.json", timeout=1)  # fmt: skip
    deadline = time.monotonic() + LIMIT_S
    while any(works_in(process, tmp_path) for process in psutil.process_iter()):
        assert time.monotonic() < deadline, "the command or its worker goes on"
        time.sleep(0.05)


def test_commands_end_with_who_asked_for_them(tmp_path: Path) -> None:
    prepared = Prepared()
    endless = ("run", "transfer", "--device", "null:20us", "--precision", "0.00001")
    with ThreadPoolExecutor() as pool:
        done = pool.submit(prepared.run, endless, tmp_path, os.environ, LIMIT_S)
        while not any(works_in(process, tmp_path) for process in psutil.process_iter()):
            assert not done.done()
        prepared.close()
        assert done.result().returncode == -signal.SIGKILL


def works_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return process.cwd() == str(folder)
    except psutil.Error:  # it has ended
        return False
