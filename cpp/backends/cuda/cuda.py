"""Describes the backend `cuda`: NVIDIA GPUs, through the driver's API alone."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from isthmus.backends import BackendDescription
from isthmus.candidates import Candidate, Problem
from isthmus.checks.base import FEW_REPLAYS, Check, Facts, Result
from isthmus.system.files import has_library, is_there

_NAME = "libcuda.so.1"
_UNUSUAL_PLACES = (Path("/usr/lib/wsl/lib"), Path("/usr/local/nvidia/lib64"))
"""Folders in which Windows' Linux and some containers have the driver's library."""


def driver() -> str | None:
    """Returns the driver's library: the user's choice, else the system's; None without any."""
    chosen = os.environ.get("ISTHMUS_CUDA_DRIVER")
    if chosen:
        return chosen
    if has_library(_NAME):
        return _NAME
    unusual = (folder / _NAME for folder in _UNUSUAL_PLACES)
    return next((str(file) for file in unusual if is_there(file)), None)


def nccl() -> str | None:
    """Returns NCCL's library of the user's choice or of a wheel; None: the system's, by name."""
    chosen = os.environ.get("ISTHMUS_NCCL")
    if chosen:
        return chosen
    try:
        wheel = importlib.util.find_spec("nvidia.nccl")
    except (ImportError, ValueError):  # no wheel of NVIDIA, or another package of that name
        return None
    folders = (wheel.submodule_search_locations or ()) if wheel else ()
    candidates = [Path(folder) / "lib" / "libnccl.so.2" for folder in folders]
    return next((str(file) for file in candidates if is_there(file)), None)


def _of(facts: Facts) -> str:
    """Returns nvidia-smi's option that selects the GPU; the address has been validated."""
    return f" -i {facts.port.address}" if facts.crosses else ""


def _throttling(facts: Facts) -> Result | None:
    """Returns a bad result if heat or power lower the GPU's clock, now or right after a run."""
    before, after = _before_and_after(facts, "slowed_by")
    reasons = after if facts.recorded else before
    command = f"nvidia-smi -q -d PERFORMANCE{_of(facts)}"
    if not reasons:
        found = "the run did not record it" if facts.recorded else "the driver does not tell"
        return Result(state="unknown", found=found, command=command)
    if reasons == "none":
        return Result(state="good", found="nothing slows its clock", command=command)
    return Result(
        state="bad",
        found=f"its clock is low{' after the run' if facts.recorded else ''}: {reasons}",
        cause="heat, or a limit of power that is below what it needs",
        cure="cool it; see its limits with nvidia-smi -q -d POWER,TEMPERATURE",
        command=command,
        changed=facts.recorded and before == "none",
    )


def _replays(facts: Facts) -> Result | None:
    """Returns a bad result if PCIe repeated several packets in a run, else what is known."""
    count, after = _before_and_after(facts, "pcie_replays")
    if not count.isdecimal():
        return None
    command = f"nvidia-smi -q{_of(facts)} | grep Replay"
    if facts.recorded and after.isdecimal():
        grown = int(after) - int(count)
        found = f"{grown} during the run" if grown > 0 else "none during the run"
        if grown <= FEW_REPLAYS:
            return Result(state="good" if grown <= 0 else "unknown", found=found, command=command)
        return Result(
            state="bad",
            found=found,
            cause="contacts, riser or cable: damaged packets are sent again",
            cure="reseat the card, try another slot or riser",
            command=command,
        )
    if facts.recorded:
        found = f"{count} before the run; the number during it is unknown"
        return Result(state="unknown", found=found, command=command)
    if count == "0":
        return Result(state="good", found="none since the GPU's reset", command=command)
    return Result(
        state="unknown",
        found=f"{count} since the GPU's reset; the present rate is unknown",
        cure="look again after a run",
        command=command,
    )


def _before_and_after(facts: Facts, name: str) -> tuple[str, str]:
    """Returns a property of the GPU before and after a run; "" if unknown."""
    device = facts.device
    before, after = (device.properties, device.properties_after) if device else ({}, {})
    return before.get(name, ""), after.get(name, "")


class Cuda(BackendDescription):
    """``cuda:0`` has nvidia-smi's number; also PCI address, UUID, or part of the name."""

    name = "cuda"
    summary = "NVIDIA GPUs, through CUDA's driver API"
    schemes = ("cuda",)
    flags = MappingProxyType(
        {"copy_engines": "the GPUs' copy engines sent the messages, not their processors"}
    )
    code_template = "cuda_advice.cpp.j2"
    memory_calls = MappingProxyType(
        {
            "aligned": "posix_memalign(4096)",
            "hugepage": "mmap + madvise(MADV_HUGEPAGE)",
            "pinned": "cudaHostAlloc",
            "registered": "cudaHostRegister",
            "write_combined": "cudaHostAlloc(cudaHostAllocWriteCombined)",
            "mapped": "cudaHostAlloc(cudaHostAllocMapped)",
            "managed": "cudaMallocManaged",
        }
    )
    fastest_memory = "pinned"
    api_names = MappingProxyType({"cuda": "CUDA", "nccl": "NCCL"})
    links_property = "nvlink_Bps"
    changing = ("slowed_by", "pcie_replays")
    checks = (
        Check("throttling", "Does the GPU keep its clock?", _throttling, of="device", place=14,
              fault="a GPU throttled by heat or power"),
        Check("pcie_replays", "Is no packet sent again?", _replays, of="device", place=15,
              fault="packets sent again"),
    )  # fmt: skip

    @staticmethod
    def memory_Bps(properties: Mapping[str, str]) -> float:  # noqa: N802 - a unit
        """Returns the memory's bytes per second: two transfers a clock, each as wide as the bus."""
        texts = (properties.get(name, "nan") for name in ("memory_clock_kHz", "memory_bus_bits"))
        kilohertz, bits = map(float, texts)
        return 2 * kilohertz * 1e3 * bits / 8

    def candidates(self, scheme: str) -> Sequence[Candidate]:
        driver_path = driver()
        if driver_path is None:
            return ()
        environment = {"ISTHMUS_CUDA_DRIVER": driver_path}
        if "CUDA_DEVICE_ORDER" not in os.environ:  # otherwise the fastest GPU is first
            environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        if library := nccl():
            environment["ISTHMUS_NCCL"] = library
        if "NCCL_NVLS_ENABLE" not in os.environ:  # messages between two GPUs never use multicast
            environment["NCCL_NVLS_ENABLE"] = "0"
        return (Candidate(driver_path, environment=environment),)

    def problems(self, scheme: str) -> Sequence[Problem]:
        if driver() is None:
            return (
                Problem(
                    f"no CUDA driver ({_NAME})",
                    "install NVIDIA's driver; in a container, give it the GPU "
                    "(docker run --gpus all)",
                ),
            )
        return ()


BACKEND = Cuda()
