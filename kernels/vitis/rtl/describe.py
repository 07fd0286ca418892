"""Says of a kernel in card/rtl what Vitis must know: its kernel.xml, and a top level in Verilog.

    python3 describe.py KERNEL FOLDER        writes KERNEL.xml and KERNEL_top.v into FOLDER

Both follow from KERNEL.sv alone: the arguments from its first line, the rest from its ports.
Vivado packages no top level in SystemVerilog (AMD UG1118, "Top-Level HDL Requirements").
The XML is that of AMD UG1702, "RTL Kernel XML File". Needs no Isthmus, and no package.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

SOURCES = Path(__file__).resolve().parents[3] / "card" / "rtl"
KERNELS = ("read_bandwidth", "write_bandwidth", "bandwidth", "vadd")
FIRST_ARGUMENT, ARGUMENT_STRIDE = 0x10, 12
"""Bytes, as in card/rtl/control_registers.sv: 8 for the argument, 4 left free."""
CONTROL = "s_axi_control"
_EVERYWHERE = hex(2**64 - 1)
_PORT = re.compile(r"^\s*(input|output)\s+logic\s*(?:\[\s*(.+?)\s*:\s*0\s*\])?\s*(\w+)", re.M)
_PARAMETER = re.compile(r"(?:parameter|localparam)\s+int\s+(\w+)\s*=\s*([^,\n/]+)")


class Port(NamedTuple):
    """A port of the kernel's module."""

    direction: str
    bits: int
    name: str


class Kernel(NamedTuple):
    """What its source says of a kernel, at its parameters' defaults."""

    name: str
    arguments: tuple[str, ...]
    ports: tuple[Port, ...]

    def memory_port(self, argument: str) -> str | None:
        """The AXI master behind an argument; None: the argument is a number."""
        name = f"m_axi_{argument}"
        return name if any(port.name.startswith(f"{name}_") for port in self.ports) else None

    def data_bits(self, memory_port: str) -> int:
        """Width of a master's data."""
        return next(
            port.bits
            for port in self.ports
            if port.name in {f"{memory_port}_rdata", f"{memory_port}_wdata"}
        )


def kernel_of(name: str) -> Kernel:
    """Reads a kernel's source. Raises ValueError where it is not written as expected."""
    source = (SOURCES / f"{name}.sv").read_text(encoding="utf-8")
    call = re.match(rf"// {name}\((.*?)\)", source)
    header = re.search(rf"^module {name} #\((.*?)^\) \((.*?)^\);", source, re.M | re.S)
    if call is None or header is None:
        raise ValueError(f"{name}.sv does not begin with a call and a module of that name")
    values: dict[str, int] = {}
    for parameter, value in _PARAMETER.findall(header[1]):
        values[parameter] = _number(value, values)
    ports = tuple(
        Port(direction, _number(high, values) + 1 if high else 1, port)
        for direction, high, port in _PORT.findall(header[2])
    )
    return Kernel(name, tuple(call[1].split(", ")), ports)


def _number(text: str, values: dict[str, int]) -> int:
    """A constant: factors and one term to subtract are all that the sources use."""
    product, _, less = text.partition("-")
    result = 1
    for factor in product.split("*"):
        word = factor.strip()
        result *= values[word] if word in values else int(word)
    return result - int(less or 0)


def xml_of(kernel: Kernel) -> ElementTree.Element:
    """Its kernel.xml."""
    root = ElementTree.Element("root", versionMajor="1", versionMinor="6")
    top = ElementTree.SubElement(
        root, "kernel", name=kernel.name, language="ip_c", attributes="",
        vlnv=f"isthmus:kernel:{kernel.name}:1.0", preferredWorkGroupSizeMultiple="0",
        workGroupSize="1", interrupt="true", hwControlProtocol="ap_ctrl_hs",
    )  # fmt: skip
    ports = ElementTree.SubElement(top, "ports")
    arguments = ElementTree.SubElement(top, "args")
    ElementTree.SubElement(
        ports, "port", name=CONTROL, mode="slave", range="0x1000", dataWidth="32",
        portType="addressable", base="0x0",
    )  # fmt: skip
    for index, argument in enumerate(kernel.arguments):
        master = kernel.memory_port(argument)
        if master:
            ElementTree.SubElement(
                ports, "port", name=master, mode="master", range=_EVERYWHERE,
                dataWidth=str(kernel.data_bits(master)), portType="addressable", base="0x0",
            )  # fmt: skip
        ElementTree.SubElement(
            arguments, "arg", name=argument, addressQualifier="1" if master else "0",
            id=str(index), port=master or CONTROL, size="0x8",
            offset=hex(FIRST_ARGUMENT + ARGUMENT_STRIDE * index),
            type="void*" if master else "long", hostOffset="0x0", hostSize="0x8",
        )  # fmt: skip
    ElementTree.indent(root)
    return root


def top_of(kernel: Kernel) -> str:
    """Plain Verilog around the kernel: the same ports, with numbers for widths."""
    ports = ",\n".join(
        f"    {port.direction} wire [{port.bits - 1}:0] {port.name}"
        if port.bits > 1
        else f"    {port.direction} wire {port.name}"
        for port in kernel.ports
    )
    wires = ",\n".join(f"      .{port.name}({port.name})" for port in kernel.ports)
    return (
        f"// From card/rtl/{kernel.name}.sv, by describe.py.\n"
        f"module {kernel.name}_top (\n{ports}\n);\n"
        f"  {kernel.name} kernel (\n{wires}\n  );\nendmodule\n"
    )


def main(name: str, folder: str) -> None:
    """Writes both files."""
    kernel = kernel_of(name)
    built = Path(folder)
    built.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(xml_of(kernel)).write(
        built / f"{name}.xml", encoding="UTF-8", xml_declaration=True
    )
    (built / f"{name}_top.v").write_text(top_of(kernel), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
