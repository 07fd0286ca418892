"""The CUDA backend: what can be checked anywhere, and everything it does where a GPU is."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from conftest import LIMIT_S, Command
from isthmus.backends import registry
from isthmus.errors import IsthmusError
from isthmus.measure import protocol
from isthmus.measure.address import Address
from isthmus.measure.discovery import FoundDevice, resolve
from isthmus.measure.protocol import DeviceDescription
from isthmus.measure.supervisor import WorkerProcess, WorkerRefusedError
from isthmus.studies.hostmem import KERNELS as SWEEPS
from isthmus.studies.transfer import ON_REQUEST, OPERATIONS

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "cpp" / "backends" / "cuda"
KERNELS = ROOT / "kernels" / "cuda"
COPIES = "read,write,read_rw,write_rw,bidirectional"
LATENCIES = {"launch", "graph_launch"}


@pytest.fixture(scope="session")
def gpu() -> FoundDevice:
    """A GPU that is really here; without one the test is skipped."""
    try:
        return resolve("cuda:0")
    except IsthmusError as error:
        pytest.skip(f"no CUDA device here: {error}")


# Anywhere


@pytest.mark.parametrize("source", sorted(KERNELS.glob("*.cu")), ids=lambda source: source.stem)
def test_the_ptx_was_made_from_the_sources(source: Path) -> None:
    made_from = source.with_suffix(".ptx").read_text().splitlines()[0].split()[-1]
    sources = source.read_bytes() + (KERNELS / "device.cuh").read_bytes()
    assert made_from == hashlib.sha256(sources).hexdigest(), "stale: make -C kernels/cuda"


def test_the_ptx_has_every_kernel_that_the_backend_asks_for_and_runs_on_old_drivers() -> None:
    texts = [source.read_text() for source in sorted(KERNELS.glob("*.ptx"))]
    names = {name for file in SOURCES.glob("*.cpp")
             for name in re.findall(r'"(isthmus_\w+|vadd)"', file.read_text())}  # fmt: skip
    entry = re.compile(r"^\.visible \.entry (\w+)\(", re.MULTILINE)
    assert names == {name for text in texts for name in entry.findall(text)}
    assert all(".version 6.3" in text and ".target sm_70" in text for text in texts)


def test_a_missing_driver_is_named_with_its_cure(isthmus: Command, tmp_path: Path) -> None:
    env = {"ISTHMUS_CUDA_DRIVER": str(tmp_path / "libcuda.so.1")}
    ended = isthmus("run", "transfer", "--device", "cuda", "--out", "run.json", env=env)
    assert ended.returncode == 4
    assert "no CUDA driver" in ended.stderr
    assert "install NVIDIA's driver" in ended.stderr


def library(folder: Path, *, without: str = "") -> Path:
    """A libcuda whose every call says that there is no device."""
    names = re.findall(r"^  X\(\w+, (\w+),", (SOURCES / "api.hpp").read_text(), re.MULTILINE)
    assert {"cuInit", "cuMemcpyHtoDAsync_v2"} <= set(names)
    text = ('int cuGetErrorName(int, const char** to) { *to = "CUDA_ERROR_NO_DEVICE"; return 0; }'
            + "".join(f"int {name}() {{ return 100; }}\n"
                      for name in names if name not in ("cuGetErrorName", without)))  # fmt: skip
    (folder / "cuda.cpp").write_text('extern "C" {' + text + "}")
    made = folder / "libcuda.so.1"
    command = ["c++", "-shared", "-fPIC", "-o", str(made), str(folder / "cuda.cpp")]
    subprocess.run(command, check=True)
    return made


def test_a_driver_without_a_device_says_what_to_look_at(isthmus: Command, tmp_path: Path) -> None:
    env = {"ISTHMUS_CUDA_DRIVER": str(library(tmp_path))}
    ended = isthmus("run", "transfer", "--device", "cuda:0", "--out", "run.json", env=env)
    assert ended.returncode == 4
    assert "cuInit: CUDA_ERROR_NO_DEVICE (100)" in ended.stderr
    assert "nvidia-smi" in ended.stderr


def test_a_driver_that_is_too_old_says_so(isthmus: Command, tmp_path: Path) -> None:
    made = library(tmp_path, without="cuGraphInstantiateWithFlags")
    ended = isthmus("devices", env={"ISTHMUS_CUDA_DRIVER": str(made)})
    assert ended.returncode == 0
    text = " ".join(ended.stdout.split())
    assert "lacks cuGraphInstantiateWithFlags: the driver is too old" in text


def test_without_a_driver_there_is_no_candidate_but_a_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = registry()["cuda"]
    monkeypatch.setattr(sys.modules[type(backend).__module__], "driver", lambda: None)
    assert not backend.candidates("cuda")
    assert "install" in backend.problems("cuda")[0].cure


def test_devices_count_as_nvidia_smi_does_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = registry()["cuda"]
    monkeypatch.setenv("ISTHMUS_CUDA_DRIVER", "libcuda.so.1")
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    assert backend.candidates("cuda")[0].environment["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST")
    assert "CUDA_DEVICE_ORDER" not in backend.candidates("cuda")[0].environment


def described(index: int) -> DeviceDescription:
    return DeviceDescription(
        id=str(index), name="NVIDIA H100 80GB HBM3", platform="NVIDIA CUDA 12.4", api="cuda",
        max_buffer_bytes=1, memory_bytes=1, memory_kinds=["aligned"], operations=[],
        properties={"pci_address": f"0000:{index + 1}8:00.0", "uuid": f"GPU-0{index}"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("address", "index"),
    [("cuda", 0), ("cuda:1", 1), ("cuda:0000:28:00.0", 1), ("cuda:gpu-01", 1), ("cuda:h100", 0),
     ("cuda:3", None), ("cuda:a100", None), ("cuda:1,peer=0", 1)],
)  # fmt: skip
def test_selectors(address: str, index: int | None) -> None:
    backend = registry()["cuda"]
    result = backend.match(Address.parse(address), [described(0), described(1)])
    assert (result and result.id) == (None if index is None else str(index))


# Where a GPU is


def rows(isthmus: Command, *arguments: str, study: str = "transfer") -> list[dict[str, str]]:
    ran = isthmus("run", study, "--device", "cuda:0", *arguments, "--precision", "0.5",
                  "--reruns", "1", "--out", "run.json")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    shown = isthmus("show", "run.json", "--format", "csv")
    return list(csv.DictReader(io.StringIO(shown.stdout)))


def kinds_of(gpu: FoundDevice) -> list[str]:
    return gpu.description.memory_kinds


def test_every_operation_is_measured_and_verified(isthmus: Command, gpu: FoundDevice) -> None:
    single = [operation for operation in gpu.description.operations if not operation.joint]
    can = {part.name for operation in single for part in operation.parts} - set(SWEEPS)
    assert can <= set(OPERATIONS + ON_REQUEST)
    points = rows(isthmus, "--axis", "bytes=1,4097,16Mi", "--axis", f"operation={','.join(can)}")
    assert {row["operation"] for row in points} == can
    for row in points:
        assert row["verified"] == ("na" if row["operation"] in LATENCIES else "true"), row
        assert int(row["samples"]) >= 25, row
    with_device_clock = {row["operation"] for row in points if row["clock"] == "device"}
    assert with_device_clock == can & {
        "kernel_read", "kernel_write", "copy_sm_write", "copy_sm_read", "pointer_chase",
    }  # fmt: skip


def test_a_run_that_names_no_operation_keeps_to_the_usual_ones(
    isthmus: Command, gpu: FoundDevice
) -> None:
    assert gpu.address == "cuda:0"
    points = rows(isthmus, "--axis", "bytes=4Ki")
    assert {row["operation"] for row in points} == set(OPERATIONS) - {"map", "unmap"}


def test_every_kind_of_host_memory_is_verified(isthmus: Command, gpu: FoundDevice) -> None:
    kinds = [*kinds_of(gpu), "offset1", "offset64"]
    assert {"pinned", "registered", "write_combined", "mapped", "managed"} <= set(kinds)
    points = rows(isthmus, "--axis", "bytes=1,65Ki,8Mi", "--axis", f"operation={COPIES},stream",
                 "--axis", f"memory={','.join(kinds)}")  # fmt: skip
    assert {row["memory"] for row in points} == set(kinds)
    assert len(points) == 6 * 3 * len(kinds)
    assert {row["verified"] for row in points} == {"true"}


def test_kernels_reach_mapped_host_memory_slower_than_their_own(
    isthmus: Command, gpu: FoundDevice
) -> None:
    assert "mapped" in kinds_of(gpu)
    points = rows(isthmus, "--axis", "bytes=16Mi", "--axis", "memory=device,mapped",
                 "--axis", "operation=kernel_read,kernel_write,pointer_chase")  # fmt: skip
    device = {(row["operation"], row["memory"]): float(row["median_s"])
              for row in points if row["clock"] == "device"}  # fmt: skip
    assert len(device) == 6
    for operation in ("kernel_read", "kernel_write", "pointer_chase"):
        assert device[operation, "device"] < device[operation, "mapped"]


def test_queue_depths_move_that_many_times_the_bytes(isthmus: Command, gpu: FoundDevice) -> None:
    assert gpu.description.id == "0"
    points = rows(isthmus, "--axis", "bytes=64Ki", "--axis", "operation=read,write",
                 "--axis", "memory=pinned", "--axis", "depth=1,8")  # fmt: skip
    assert sorted(row["depth"] for row in points) == ["1", "1", "8", "8"]
    for row in points:
        moved = float(row["bandwidth_Bps"]) * float(row["median_s"])
        assert moved == pytest.approx(65536 * int(row["depth"]))


def test_kernels_sweep_over_host_and_device_memory(isthmus: Command, gpu: FoundDevice) -> None:
    assert gpu.description.id == "0"
    arguments = ["--bytes", "1,4097,16Mi", "--iterations", "1,4", "--out", "hostmem.json"]
    ended = isthmus("run", "hostmem", "--device", "cuda:0", "--quick", *arguments)
    assert ended.returncode == 0, ended.stderr
    shown = isthmus("show", "hostmem.json", "--format", "csv").stdout
    points = list(csv.DictReader(io.StringIO(shown)))
    assert {(row["target"], row["memory"]) for row in points} == {
        ("host", "mapped"), ("device", "device"),
    }  # fmt: skip
    assert {row["verified"] for row in points} == {"true"}
    for row in points:
        if row["target"] == "host":
            assert "above_link_limit" not in row["flags"]  # each sweep crossed the link


def test_a_gpu_alone_exchanges_messages_with_itself(isthmus: Command, gpu: FoundDevice) -> None:
    assert gpu.address == "cuda:0"
    points = rows(isthmus, "--channel", "cuda,staged", "--axis", "bytes=1,100,400Ki,256Mi",
                 "--budget", "240", study="beff")  # fmt: skip
    exchanges = [row for row in points if row["operation"] == "exchange"]
    ways = Counter((row["channel"], row["memory"]) for row in exchanges)
    assert ways == {("cuda", "device"): 4, ("staged", "aligned"): 4, ("staged", "pinned"): 4}
    for row in exchanges:
        flags = row["flags"].split(";")
        assert row["verified"] == "true"
        assert "to_itself" in flags
        assert ("copy_engines" in flags) == (
            row["channel"] == "cuda" and row["bytes"] == str(256 << 20)
        )


def test_wrong_options_are_usage_errors(isthmus: Command, gpu: FoundDevice) -> None:
    for address in (f"{gpu.address},peer=0", f"{gpu.address},peer=many", "cuda:0,colour=red"):
        ended = isthmus("run", "transfer", "--device", address, "--out", "run.json")
        assert ended.returncode == 2, ended.stderr


def test_too_little_memory_is_told_and_costs_nothing_else(gpu: FoundDevice) -> None:
    criterion = protocol.Criterion(0.5, 0.95, 1.0)

    def measured(size: int) -> protocol.Answer:
        return worker.ask(protocol.Measure("kernel_write", size, "device", {}, criterion, 1.0))

    with WorkerProcess(gpu.candidate.environment) as worker:
        worker.ask(gpu.open_request())
        with pytest.raises(WorkerRefusedError, match=r"OUT_OF_MEMORY \(2\): .*smaller"):
            measured(2 * gpu.description.memory_bytes)
        assert isinstance(measured(4096), protocol.Measured)


LOSE_THE_DEVICE = r"""
import ctypes, os, sys
from isthmus import _core
device = _core.load_backend(sys.argv[1]).open("0")
cuda = ctypes.CDLL(os.environ["ISTHMUS_CUDA_DRIVER"])
ptx = b'''.version 6.3
.target sm_70
.address_size 64
.visible .entry stray() { .reg .b64 %a; mov.u64 %a, 64; st.global.u64 [%a], %a; ret; }
'''
module, function = ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuModuleLoadData(ctypes.byref(module), ptx) == 0
assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"stray") == 0
assert cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
options = _core.SeriesOptions()
try:
    _core.Series(device, "write", 4096, "aligned", {}, options).measure(0.1)
except _core.DeviceLostError as error:
    print(error, flush=True)
os._exit(0)
"""


def test_a_lost_device_is_recognised(gpu: FoundDevice) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LOSE_THE_DEVICE, str(gpu.backend.library)],
        env={**os.environ, **gpu.candidate.environment},
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert "device lost: " in ended.stdout, ended.stderr
    assert "CUDA_ERROR_ILLEGAL_ADDRESS (700)" in ended.stdout


def test_copies_between_two_gpus(isthmus: Command, gpu: FoundDevice) -> None:
    if "peer" not in gpu.description.properties:
        pytest.skip("one GPU only")
    points = rows(isthmus, "--axis", "bytes=1,70001,64Mi", "--axis", "depth=1,4",
                 "--axis", "operation=peer_write,peer_read")  # fmt: skip
    assert len(points) == 12
    assert {row["verified"] for row in points} == {"true"}
