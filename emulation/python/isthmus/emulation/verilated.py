"""Kernels in Verilog: Verilator's model of a module, and its ports as AXI."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from isthmus.errors import IsthmusError, UsageError
from isthmus.xclbin import Kernel

SUFFIXES = (".sv", ".v")
_PORT = re.compile(r"VL_(?:IN|OUT)(?:8|16|64|W)?\(&(\w+),(\d+),(\d+)")
_RENAMED = "__sym__"
"""What Verilator puts before names that it reserves, such as ``interrupt``."""
_SHOWN_LINES = 12
_WIDEST_BITS = 512
# In the order of the structures of card/rtl/bench/pins.hpp, in which C++ initialises them. Without
# those in brackets a kernel works, too.
_CONTROL = (
    "awvalid awready awaddr wvalid wready wdata [wstrb] bvalid bready "
    "arvalid arready araddr rvalid rready rdata"
)
_READ = "arvalid arready araddr [arlen] [arsize] [arid] rvalid rready rdata [rresp] [rlast] [rid]"
_WRITE = (
    "awvalid awready awaddr [awlen] [awsize] [awid] wvalid wready wdata wstrb [wlast] "
    "bvalid bready [bresp] [bid]"
)
_IGNORED_PINS = {
    *(f"{channel}{what}" for channel in ("ar", "aw")
      for what in ("prot", "cache", "lock", "qos", "region", "user", "burst")),
    "ruser", "wuser", "buser", "wid", "rresp", "bresp", "wstrb",
}  # fmt: skip
Pins = list[tuple[str, str]]


@dataclass(frozen=True)
class Module:
    """A module's ports as a kernel's; each pin with its name in Verilator's model."""

    control: Pins
    masters: list[tuple[bool, Pins]]
    """Whether it reads, else it writes."""
    names: tuple[str, ...]
    """Of the masters: ``m_axi_gmem``."""
    address_bits: int
    """Of the control registers."""


def verilate(source: Path, top: str, folder: Path, others: Sequence[Path] = ()) -> Path:
    """Verilator's folder of headers; the model's class is Vkernel, its sources are in ``folder``.

    Modules that ``source`` names are looked for beside it and in ``others``. Raises IsthmusError
    where Verilator is missing or refuses the module.
    """
    verilator = shutil.which("verilator")
    if verilator is None:
        raise IsthmusError("kernels in Verilog need Verilator 5.002 or later: install verilator")
    command = [
        verilator, "--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--no-timing",
        "--output-split", "0", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--Mdir", folder,
        "--prefix", "Vkernel", "--top-module", top, "-y", source.parent,
        *(word for other in others for word in ("-y", other)), source,
    ]  # fmt: skip
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, errors="replace"
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("%Error")]
        shown = "\n".join((lines or done.stderr.splitlines())[:_SHOWN_LINES])
        raise IsthmusError(f"{source}: Verilator refuses it", detail=shown)
    root = subprocess.run(
        [verilator, "--getenv", "VERILATOR_ROOT"], capture_output=True, text=True, check=True
    )
    return Path(root.stdout.strip()) / "include"


def module(header: str, source: Path) -> Module:
    """The ports in Verilator's header Vkernel.h; raises UsageError for ports that no kernel has."""
    bits = {name: int(high) - int(low) + 1 for name, high, low in _PORT.findall(header)}
    left = {name.lower().removeprefix(_RENAMED): name for name in bits}
    left.pop("interrupt", None)
    for name in ("ap_clk", "ap_rst_n"):
        if name not in bits:
            raise UsageError(f"{source} has no port {name}, which every kernel has")
        left.pop(name)
    groups: dict[str, dict[str, str]] = {}
    for name, kept in left.items():
        group, _, signal = name.rpartition("_")
        if group != "s_axi_control" and not group.startswith("m_axi_"):
            raise UsageError(
                f"{source}: no kernel has the port {kept}; known are ap_clk, ap_rst_n, interrupt, "
                "s_axi_control_* and m_axi_NAME_*, streams are not emulated"
            )
        groups.setdefault(group, {})[signal] = kept
    control = _pins(groups.pop("s_axi_control", {}), _CONTROL, source, "s_axi_control")
    masters = []
    for group, signals in groups.items():
        for reads, wanted, first in ((True, _READ, "arvalid"), (False, _WRITE, "awvalid")):
            if first in signals:
                pins = _pins(signals, wanted, source, group)
                masters.append((reads, pins))
                width = bits[dict(pins)["rdata" if reads else "wdata"]]
                if width > _WIDEST_BITS or width & (width - 1) or width % 8:
                    raise UsageError(f"{source}: {group} has {width} bits; 8 to 512 are known")
        known = f"{_READ} {_WRITE}".replace("[", "").replace("]", "").split()
        if unknown := sorted(signals.keys() - _IGNORED_PINS - {*known}):
            raise UsageError(f"{source}: {group} is AXI4, which has no {unknown[0]}")
    return Module(control, masters, tuple(groups), bits[dict(control)["awaddr"]])


def check(found: Module, kernel: Kernel, source: Path) -> None:
    """Raises UsageError where a description and a module do not fit."""
    if kernel.control != "ap_ctrl_hs":
        raise UsageError(f"{source}: kernels in Verilog have the control ap_ctrl_hs here")
    for argument in kernel.arguments:
        port = (argument.port or "").lower()
        if port not in {*found.names, "m_axi_gmem", "s_axi_control", ""}:
            raise UsageError(
                f"{source} has no port {argument.port}, which the description gives argument "
                f"{argument.name}; it has {', '.join(found.names) or 'no masters'}"
            )
        end = (argument.offset or 0) + (argument.size or 0)
        if end > 1 << found.address_bits:
            raise UsageError(
                f"{source}: argument {argument.name} ends at {end:#x}, beyond the "
                f"{found.address_bits} bits of s_axi_control_awaddr"
            )


def _pins(signals: Mapping[str, str], wanted: str, source: Path, group: str) -> Pins:
    pins = []
    for word in wanted.split():
        name = word.strip("[]")
        if name in signals:
            pins.append((name, signals[name]))
        elif name == word:
            raise UsageError(f"{source} lacks the port {group}_{name}")
    return pins
