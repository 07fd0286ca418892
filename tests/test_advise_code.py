"""The programs that ``isthmus advise --code`` prints: compiled, and run where there is a device."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from conftest import Command, slow
from isthmus.analysis.advice import Advice, Option, Way
from isthmus.cli.advise import program
from isthmus.errors import UsageError
from isthmus.measure.devices import record_of
from isthmus.measure.discovery import resolve
from isthmus.results.run_file import DeviceRecord
from isthmus.statistics import exact

SIZE = 100_003
"""Bytes that do not divide into equal chunks."""
GPU = DeviceRecord(
    address="cuda:0", backend="cuda", real=True, properties={"pci_address": "0000:01:00.0"}
)  # fmt: skip


def rendered(record: DeviceRecord, call: str, memory: str, depth: int, direction: str) -> str:
    best = Option(Way(record.address, call, memory, depth), exact(1e-3))  # type: ignore[arg-type]
    found = Advice(
        best=best, fastest=best, slower=exact(1.0), alike=[best], naive=None, gain=None, met="",
        crossovers=[], clock="host", counted=False, elsewhere=[], unknown=[], between=None,
        within=False,
    )  # fmt: skip
    return program(found, record, SIZE, direction)


def compiled(text: str, folder: Path, *options: str) -> Path:
    """The program; the test is skipped where what it needs to be built is not here."""
    source = folder / "advised.cpp"
    source.write_text(text, encoding="utf-8")
    compiler = os.environ.get("CXX", "c++")
    made = subprocess.run(
        [compiler, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", str(source),
         "-o", str(folder / "advised"), *options],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "No such file" in made.stderr or "cannot find" in made.stderr:
        pytest.skip(f"cannot build the program: {made.stderr.splitlines()[0]}")
    assert made.returncode == 0, made.stderr
    return folder / "advised"


def ran(command: Sequence[object], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, **environment}, start_new_session=True,
    )  # fmt: skip


OPENCL = [
    ("copy", "pageable", 1, "h2d"), ("copy", "aligned", 4, "d2h"), ("copy", "hugepage", 4, "h2d"),
    ("copy", "alloc_host", 1, "d2h"), ("map", "alloc_host", 1, "h2d"),
    ("map", "alloc_host", 1, "d2h"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "memory", "depth", "direction"), OPENCL)
def test_opencl_programs_move_the_data(
    pocl: str, tmp_path: Path, call: str, memory: str, depth: int, direction: str
) -> None:
    found = resolve(pocl)
    text = rendered(record_of(found), call, memory, depth, direction)
    made = compiled(text, tmp_path, "-l:libOpenCL.so.1")
    ended = ran([made], **found.candidate.environment)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"{SIZE} bytes, ")


def test_a_program_notices_data_that_do_not_arrive(pocl: str, tmp_path: Path) -> None:
    found = resolve(pocl)
    text = rendered(record_of(found), "copy", "pageable", 4, "h2d")
    begin = "std::size_t at = 0;"
    assert begin in text
    made = compiled(text.replace(begin, "std::size_t at = chunk;"), tmp_path, "-l:libOpenCL.so.1")
    ended = ran([made], **found.candidate.environment)
    assert (ended.returncode, ended.stderr) == (1, "wrong data\n")


XRT = [
    ("alloc_host", 4, "d2h"),
    *slow(("pageable", 1, "h2d"), ("use_host_ptr", 4, "h2d"), ("hugepage", 1, "d2h")),
]


@pytest.mark.emulation
@pytest.mark.parametrize(("memory", "depth", "direction"), XRT)
def test_xrt_programs_move_the_data_to_an_emulated_card(
    isthmus: Command, tmp_path: Path, memory: str, depth: int, direction: str
) -> None:
    record = DeviceRecord(address="xrt:0", backend="xrt", real=True)
    text = rendered(record, "copy", memory, depth, direction)
    (tmp_path / "advised.cpp").write_text(text, encoding="utf-8")
    build = next(line for line in text.splitlines() if line.startswith("// Build: "))
    subprocess.run(build.removeprefix("// Build: "), shell=True, cwd=tmp_path, check=True)
    assert isthmus("card", "xclbin", "-o", "card.xclbin").returncode == 0
    ended = isthmus("card", "exec", "--board", "u250", "--", "./a.out", "card.xclbin")
    assert ended.returncode == 0, ended.stderr
    assert any(line.startswith(f"{SIZE} bytes, ") for line in ended.stdout.splitlines())


def cuda_headers() -> str:
    """Folder of CUDA's headers: a toolkit's, else those of PyPI; the test is skipped without."""
    places = [Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))]
    if nvcc := shutil.which("nvcc"):
        places.append(Path(nvcc).resolve().parents[1])
    places += Path(sysconfig.get_path("purelib"), "nvidia").glob("cu*")
    found = (place / "include" for place in places)
    there = next((folder for folder in found if (folder / "cuda_runtime.h").exists()), None)
    if there is None:
        pytest.skip("no CUDA headers here: make test-all, or name a toolkit in CUDA_HOME")
    return str(there)


CUDA = (
    "pageable", "aligned", "hugepage", "pinned", "registered", "write_combined", "mapped", "managed"
)  # fmt: skip


@pytest.mark.slow
def test_cuda_programs_compile(tmp_path: Path) -> None:
    headers = cuda_headers()
    for memory, depth, direction in itertools.product(CUDA, (1, 4), ("h2d", "d2h")):
        text = rendered(GPU, "copy", memory, depth, direction)
        assert compiled(text, tmp_path, "-I", headers, "-fsyntax-only")


@pytest.mark.parametrize("backend", ["opencl", "xrt", "cuda"])
def test_what_cannot_be_written_is_refused(backend: str) -> None:
    record = msgspec.structs.replace(GPU, backend=backend)
    with pytest.raises(UsageError, match="no code for offset64 memory"):
        rendered(record, "copy", "offset64", 1, "h2d")
    with pytest.raises(UsageError, match="no API to call"):
        rendered(msgspec.structs.replace(record, backend="host"), "copy", "pageable", 1, "h2d")


def test_names_of_a_run_file_stay_names() -> None:
    """A run file may come from somebody else: what it names becomes no code."""
    name = 'x");\nsystem("true");//\\'
    record = msgspec.structs.replace(
        GPU, backend="opencl", address="opencl:\n#include <x>\\", name=name, platform=name
    )
    text = rendered(record, "copy", "pageable", 1, "h2d")
    first, second = text.splitlines()[:2]
    assert "#include <x>" in first
    assert not first.endswith("\\")
    assert second.startswith("// Build:")
    assert "system(" not in text
