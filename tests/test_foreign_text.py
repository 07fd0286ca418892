"""Names and messages of drivers may have bytes that are no UTF-8."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import Command
from isthmus import _core
from isthmus.measure import protocol
from isthmus.measure.discovery import resolve
from isthmus.measure.supervisor import WorkerProcess, WorkerRefusedError

STAND_INS = Path(__file__).parent
CUDA = STAND_INS.parent / "cpp" / "backends" / "cuda"
NAME = b"Intel\xae \xff\xfe stand-in"
READ = NAME.decode("utf-8", "replace")
ONCE = ("--bytes", "4Ki", "--operation", "write", "--memory", "aligned", "--depth", "1",
        "--precision", "0.9", "--reruns", "1")  # fmt: skip


def made(target: Path, *words: str | Path) -> str:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler here")
    subprocess.run(
        [compiler, "-std=c++20", "-O0", "-shared", "-fPIC", "-w", *words, "-o", target], check=True
    )
    return str(target)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A driver of four GPUs."""
    sources = [STAND_INS / "gpu_stand_in" / name for name in ("cuda.cpp", "unsupported.cpp")]
    return made(tmp_path_factory.mktemp("gpus") / "libcuda.so.1", f"-I{CUDA}", *sources)


@pytest.fixture
def gpus(driver: str) -> dict[str, str]:
    """Variables that make it list four devices of this name."""
    name = NAME.decode("utf-8", "surrogateescape")
    return {"ISTHMUS_CUDA_DRIVER": driver, "STAND_IN_BOARDS": "0123", "STAND_IN_NAME": name}


def test_devices_whose_name_is_no_utf8_are_listed(isthmus: Command, gpus: dict[str, str]) -> None:
    listed = json.loads(isthmus("devices", "--json", env=gpus).stdout)
    (cuda,) = [one for one in listed if one["backend"] == "cuda"]
    assert [device["name"] for device in cuda["devices"]] == [READ] * 4


def test_such_a_device_is_measured(isthmus: Command, gpus: dict[str, str], tmp_path: Path) -> None:
    words = ("transfer", "--device", "cuda:2", *ONCE, "--out", "run.json")
    done = isthmus("run", *words, env=gpus)
    recorded = json.loads((tmp_path / "run.json").read_text("utf-8"))["devices"]
    assert recorded[0]["name"] == READ, done.stderr
    assert done.returncode == 0, done.stderr


def test_names_of_opencl_platforms_and_devices(tmp_path: Path, pocl: str) -> None:
    device = resolve(pocl)
    loader = made(
        tmp_path / "libnames.so", STAND_INS / "opencl_stand_in" / "names.cpp",
        "-Wl,--no-as-needed", "-l:libOpenCL.so.1",
    )  # fmt: skip
    environment = {**device.candidate.environment, "ISTHMUS_OPENCL_LOADER": loader}
    with WorkerProcess(environment) as worker:
        answer = worker.ask(protocol.ListDevices(str(device.backend.library)))
    assert isinstance(answer, protocol.Devices)
    for found in answer.devices:
        assert found.name == "\ufffd" + device.description.name[1:]
        assert found.platform == "\ufffd" + device.description.platform[1:]


@pytest.mark.parametrize(
    ("thrown", "raised"),
    [
        ("isthmus::BackendError", _core.BackendError),
        ("isthmus::UsageError", _core.UsageError),
        ("std::runtime_error", RuntimeError),
    ],
)
def test_a_message_of_a_driver_is_not_lost(
    tmp_path: Path, thrown: str, raised: type[Exception]
) -> None:
    source = tmp_path / "backend.cpp"
    source.write_bytes(
        b'#include "isthmus/backend.hpp"\n'
        b'extern "C" int isthmus_backend_abi() { return isthmus::backend_abi; }\n'
        b'extern "C" isthmus::Backend* isthmus_backend() { throw %s("no board \xae"); }\n'
        % thrown.encode()
    )
    headers = STAND_INS.parent / "cpp" / "include"
    library = made(tmp_path / "libbackend.so", f"-I{headers}", source)
    with pytest.raises(raised, match="no board \ufffd"):
        _core.load_backend(library)
    with WorkerProcess({}) as worker, pytest.raises(WorkerRefusedError, match="no board \ufffd"):
        worker.ask(protocol.ListDevices(library))
