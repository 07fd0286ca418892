"""Describes backend ``cuda``: NVIDIA GPUs, used only through the driver's API."""

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
"""Folders with the driver's library outside of the loader's path: under Windows (WSL) and in some
containers."""


def driver() -> str | None:
    """The driver's library: the user's choice, else the system's; None if there is none."""
    chosen = os.environ.get("ISTHMUS_CUDA_DRIVER")
    if chosen:
        return chosen
    if has_library(_NAME):
        return _NAME
    unusual = (folder / _NAME for folder in _UNUSUAL_PLACES)
    return next((str(file) for file in unusual if is_there(file)), None)


def nccl() -> str | None:
    """Path of NCCL's library: the user's choice, else that of an installed wheel.

    None if the backend should load the system's library by its name.
    """
    chosen = os.environ.get("ISTHMUS_NCCL")
    if chosen:
        return chosen
    try:
        wheel = importlib.util.find_spec("nvidia.nccl")
    except (ImportError, ValueError):  # no wheel of NCCL, or another package has its name
        return None
    folders = (wheel.submodule_search_locations or ()) if wheel else ()
    candidates = [Path(folder) / "lib" / "libnccl.so.2" for folder in folders]
    return next((str(file) for file in candidates if is_there(file)), None)


def _of(facts: Facts) -> str:
    """Option of nvidia-smi that names the GPU by its PCI address, which was checked before."""
    return f" -i {facts.port.address}" if facts.crosses else ""


def _throttling(facts: Facts) -> Result | None:
    """Bad if heat or a power limit lower the GPU's clock now, or lowered it right after a run."""
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
    """Bad if the GPU sent many packets again during a run; unknown if only the total is known."""
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
    """Values of a device's property before and after a run; empty if unknown."""
    device = facts.device
    before, after = (device.properties, device.properties_after) if device else ({}, {})
    return before.get(name, ""), after.get(name, "")


class Cuda(BackendDescription):
    """Backend of NVIDIA GPUs: ``cuda:0`` has the number that nvidia-smi shows.

    The selector may also be a PCI address, a UUID, or part of the name.
    """

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
        """Bytes per second of a GPU's memory: two transfers per clock, each as wide as the bus."""
        texts = (properties.get(name, "nan") for name in ("memory_clock_kHz", "memory_bus_bits"))
        kilohertz, bits = map(float, texts)
        return 2 * kilohertz * 1e3 * bits / 8

    def candidates(self, scheme: str) -> Sequence[Candidate]:
        driver_path = driver()
        if driver_path is None:
            return ()
        environment = {"ISTHMUS_CUDA_DRIVER": driver_path}
        if "CUDA_DEVICE_ORDER" not in os.environ:  # CUDA by default numbers the fastest GPU first
            environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        if library := nccl():
            environment["ISTHMUS_NCCL"] = library
        if "NCCL_NVLS_ENABLE" not in os.environ:  # off: messages of two GPUs need no multicast
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
