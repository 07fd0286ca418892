"""Makes Verilator's model of a Verilog kernel, and finds its ports of AXI and AXI4-Stream."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from isthmus.errors import IsthmusError, UsageError
from isthmus_emulation.xclbin import Kernel
from isthmus_emulation.xclbin.sizes import word_bytes

SUFFIXES = (".sv", ".v")
RUNTIME = ("verilated.cpp", "verilated_threads.cpp")
"""Sources of Verilator that each model is linked with."""
_PORT = re.compile(r"VL_(IN|OUT)(?:8|16|64|W)?\(&(\w+),(\d+),(\d+)")
_RENAMED = "__sym__"
"""Verilator's prefix for reserved names of signals, such as ``interrupt``."""
_SHOWN_LINES = 12
_WIDEST_BITS = 512
_WIDEST_STREAM_BITS = 4096
_HANDSHAKE = ("tvalid", "tready", "tdata")
SIDEBAND = ("tlast", "tkeep", "tstrb", "tuser", "tid", "tdest")
"""Sideband signals of a stream, in the order of ap_axi_sdata.h."""
# The order is that of the structures in card/rtl/bench/pins.hpp, as C++ initialisers require.
# Signals in brackets are optional.
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
class Stream:
    """A module's AXI4-Stream port; signals have the names of AXI in lower case."""

    name: str
    """Name of the port: ``s_axis_in``, or ``in_r`` for ports ``in_r_TDATA``, ..."""
    reads: bool
    """Whether the module reads the stream; else it writes."""
    pins: Mapping[str, str]
    """Name of each signal in Verilator's model."""
    bits: Mapping[str, int]

    @property
    def word_bytes(self) -> int:
        """Bytes of data in a word of the stream."""
        return self.bits["tdata"] // 8


@dataclass(frozen=True)
class Master:
    """The channels for reading, or those for writing, of a module's AXI4 port."""

    name: str
    """Name of the port, such as ``m_axi_gmem``."""
    reads: bool
    pins: Pins


@dataclass(frozen=True)
class Module:
    """The ports of a kernel's module, each pin with its name in Verilator's model."""

    control: Pins
    masters: list[Master]
    names: tuple[str, ...]
    """Names of all AXI4 ports of the module."""
    address_bits: int
    """Address bits of the port for control registers."""
    second: tuple[str, ...]
    """Pins of a second clock, if there is any: ``ap_clk_2``, ``ap_rst_n_2``."""
    streams: tuple[Stream, ...] = ()


def verilate(source: Path, top: str, folder: Path, others: Sequence[Path] = ()) -> Path:
    """Makes a module's model in ``folder``, with the class Vkernel; returns Verilator's headers.

    Verilator looks for other modules beside ``source`` and in ``others``. Raises IsthmusError if
    Verilator is missing or refuses the module.
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
        [verilator, "--getenv", "VERILATOR_ROOT"],
        capture_output=True,
        text=True,
        check=True,
        errors="replace",
    )
    return Path(root.stdout.strip()) / "include"


def module(header: str, source: Path) -> Module:
    """Reads the ports from the header Vkernel.h; raises UsageError if no kernel has such ports."""
    ports = _PORT.findall(header)
    bits = {name: int(high) - int(low) + 1 for _, name, high, low in ports}
    inputs = {name for direction, name, _, _ in ports if direction == "IN"}
    left = {name.lower().removeprefix(_RENAMED): name for name in bits}
    left.pop("interrupt", None)
    for name in ("ap_clk", "ap_rst_n"):
        if name not in bits:
            raise UsageError(f"{source} has no port {name}, which every kernel has")
        left.pop(name)
    second = tuple(name for name in ("ap_clk_2", "ap_rst_n_2") if left.pop(name, None) == name)
    groups, streams = _bundles(left, source)
    there = groups.pop("s_axi_control", {})
    control = _pins(there, _CONTROL, source, "s_axi_control") if there else []
    masters = []
    for group, signals in groups.items():
        for reads, wanted, first in ((True, _READ, "arvalid"), (False, _WRITE, "awvalid")):
            if first in signals:
                pins = _pins(signals, wanted, source, group)
                masters.append(Master(group, reads, pins))
                width = bits[dict(pins)["rdata" if reads else "wdata"]]
                if width > _WIDEST_BITS or width & (width - 1) or width % 8:
                    raise UsageError(f"{source}: {group} has {width} bits; 8 to 512 are known")
        all_pins = f"{_READ} {_WRITE}".replace("[", "").replace("]", "").split()
        if unknown := sorted(signals.keys() - _IGNORED_PINS - {*all_pins}):
            raise UsageError(f"{source}: {group} is AXI4, which has no {unknown[0]}")
    return Module(
        control, masters, tuple(groups), bits[dict(control)["awaddr"]] if control else 0, second,
        tuple(_stream(group, signals, bits, inputs, source) for group, signals in streams.items()),
    )  # fmt: skip


def check(module: Module, kernel: Kernel, source: Path) -> None:
    """Raises UsageError if a kernel's description and its module do not fit together."""
    if kernel.control not in {"ap_ctrl_hs", "ap_ctrl_chain", "ap_ctrl_none"}:
        raise UsageError(
            f"{source}: no kernel in Verilog has the control {kernel.control}; known are "
            "ap_ctrl_hs, ap_ctrl_chain and ap_ctrl_none"
        )
    registered = [a for a in kernel.arguments if a.qualifier != "stream"]
    if kernel.control == "ap_ctrl_none" and (module.masters or registered or not module.streams):
        raise UsageError(f"{source}: a kernel with control = 'ap_ctrl_none' has streams alone here")
    if kernel.control != "ap_ctrl_none" and not module.control:
        raise UsageError(
            f"{source} has no ports s_axi_control_*; a kernel without them has streams alone, and "
            "control = 'ap_ctrl_none' in its description"
        )
    for argument in registered:
        port = (argument.port or "").lower()
        if port not in {*module.names, "m_axi_gmem", "s_axi_control", ""}:
            raise UsageError(
                f"{source} has no port {argument.port}, which the description gives argument "
                f"{argument.name}; it has {', '.join(module.names) or 'no masters'}"
            )
        end = (argument.offset or 0) + (argument.size or 0)
        if end > 1 << module.address_bits:
            raise UsageError(
                f"{source}: argument {argument.name} ends at {end:#x}, beyond the "
                f"{module.address_bits} bits of s_axi_control_awaddr"
            )


def numbered(module: Module, kernel: Kernel, source: Path) -> list[tuple[int, Stream]]:
    """Returns each stream with the number of its argument.

    A stream belongs to the argument that names its port in the description, else to the argument of
    its name. The port of ``in`` may be ``in``, ``s_axis_in``, ``m_axis_in`` or, as Vitis HLS calls
    the port, ``in_r``. Raises UsageError for a stream without an argument, for an argument without
    a stream, and for words of another width than the type's.
    """
    left = {stream.name: stream for stream in module.streams}
    pairs = []
    for number, argument in enumerate(kernel.arguments):
        if argument.qualifier == "stream":
            name = argument.name.lower()
            names = [f"s_axis_{name}", f"m_axis_{name}", name, f"{name}_r"]
            port = (argument.port or "").lower()
            fits = (
                [port]
                if port in left
                else [module_port for module_port in names if module_port in left]
            )
            if len(fits) != 1:
                raise UsageError(
                    f"{source}: which stream is argument {argument.name}? "
                    f"Say port = '...' in the description; there are {', '.join(left) or 'none'}"
                )
            stream = left.pop(fits[0])
            said = word_bytes(argument.type)
            if said not in {None, stream.word_bytes}:
                raise UsageError(
                    f"{source}: {stream.name}_tdata has {stream.bits['tdata']} bits, but in the "
                    f"description argument {argument.name} has words of {said} bytes "
                    f"({argument.type}): change one of them"
                )
            pairs.append((number, stream))
    if left:
        raise UsageError(
            f"{source} has the stream {next(iter(left))}, which is no argument in the description"
        )
    return pairs


def offered(module: Module) -> list[tuple[str, str, str, list[str]]]:
    """Returns channels on which the module offers data: protocol, valid, ready and other pins."""
    channels = [
        ("AXI4-Stream", stream.pins["tvalid"], stream.pins["tready"],
         [stream.pins[signal] for signal in ("tdata", *SIDEBAND) if signal in stream.pins])
        for stream in module.streams if not stream.reads
    ]  # fmt: skip
    for master in module.masters:
        for channel in ("ar",) if master.reads else ("aw", "w"):
            named = {name: pin for name, pin in master.pins if name.startswith(channel)}
            valid, ready = named.pop(f"{channel}valid"), named.pop(f"{channel}ready")
            channels.append(("AXI4", valid, ready, list(named.values())))
    return channels


def _bundles(
    ports: Mapping[str, str], source: Path
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Returns the AXI ports and the streams by name, each with its signals."""
    groups: dict[str, dict[str, str]] = {}
    streams: dict[str, dict[str, str]] = {}
    stray = []
    for name, kept in ports.items():
        group, _, signal = name.rpartition("_")
        if group == "s_axi_control" or group.startswith("m_axi_"):
            groups.setdefault(group, {})[signal] = kept
        elif group and signal in {*_HANDSHAKE, *SIDEBAND}:
            streams.setdefault(group, {})[signal] = kept
        else:
            stray.append(kept)
    if stray:
        what = "port" if len(stray) == 1 else "ports"
        raise UsageError(
            f"{source}: no kernel has the {what} {', '.join(stray)}; known are ap_clk, ap_rst_n, "
            "ap_clk_2, ap_rst_n_2, interrupt, s_axi_control_*, m_axi_NAME_* and, of streams, "
            f"NAME_{', _'.join((*_HANDSHAKE, *SIDEBAND))}"
        )
    return groups, streams


def _stream(
    name: str, pins: Mapping[str, str], bits: Mapping[str, int], inputs: Set[str], source: Path
) -> Stream:
    if missing := next((signal for signal in _HANDSHAKE if signal not in pins), None):
        raise UsageError(f"{source} lacks the port {name}_{missing}")
    # Direction of most ports; if half of the ports have each direction, that of the data.
    as_read = {signal: (kept in inputs) ^ (signal == "tready") for signal, kept in pins.items()}
    votes = [as_read["tdata"], *(2 * list(as_read.values()))]
    reads = 2 * sum(votes) > len(votes)
    if wrong := next((signal for signal, read in as_read.items() if read != reads), None):
        is_now = "input" if pins[wrong] in inputs else "output"
        raise UsageError(
            f"{source}: {name}_{wrong} is an {is_now}; all other ports of {name} say that the "
            f"kernel {'reads' if reads else 'writes'} it"
        )
    widths = {signal: bits[kept] for signal, kept in pins.items()}
    data = widths["tdata"]
    if data % 8 or data > _WIDEST_STREAM_BITS:
        raise UsageError(
            f"{source}: {name}_tdata has {data} bits; whole bytes are known, up to "
            f"{_WIDEST_STREAM_BITS} bits"
        )
    one_each = {"tvalid": 1, "tready": 1, "tlast": 1, "tkeep": data // 8, "tstrb": data // 8}
    for signal, width in one_each.items():
        if widths.get(signal, width) != width:
            raise UsageError(f"{source}: {name}_{signal} has {widths[signal]} bits, not {width}")
    return Stream(name, reads, pins, widths)


def _pins(signals: Mapping[str, str], wanted: str, source: Path, group: str) -> Pins:
    pins = []
    for word in wanted.split():
        name = word.strip("[]")
        if name in signals:
            pins.append((name, signals[name]))
        elif name == word:
            raise UsageError(f"{source} lacks the port {group}_{name}")
    return pins
