"""``lspci -vv``: capability and state of PCIe links, for the limit of what another log measured."""

from __future__ import annotations

import re
from dataclasses import dataclass

from isthmus.importers.base import Importer, LinkFact, Log

_DEVICE = re.compile(r"\s*((?:[\da-f]{4}:)?[\da-f]{2}:[\da-f]{2}\.[\da-f]) (.+?)$", re.IGNORECASE)
_LINK = re.compile(r"\s*(LnkCap|LnkSta):.*?Speed (\S+?)GT/s[^,]*, Width x(\d+)")
_PAYLOAD = re.compile(r"\s*MaxPayload (\d+) bytes, MaxReadReq (\d+) bytes")
_KERNEL = re.compile(r"pci (\S+): ([\d.]+) Gb/s available PCIe bandwidth, limited by ([\d.]+) GT/s "
                     r"PCIe x(\d+) link at (\S+)")  # fmt: skip
_GENERATIONS = {"2.5": 1, "5": 2, "5.0": 2, "8": 3, "8.0": 3, "16": 4, "16.0": 4, "32": 5,
                "32.0": 5, "64": 6, "64.0": 6}  # fmt: skip
_BRIDGE = re.compile(r"PCI bridge|Host bridge|Root Port|Switch", re.IGNORECASE)
_COMMAND = re.compile(r".*\blspci\b.*? -s ?((?:[\da-f]{4}:)?[\da-f]{2}:[\da-f]{2}(?:\.[\da-f])?)\b",
                      re.IGNORECASE)  # fmt: skip
_OTHER = re.compile(
    r"(?:Ethernet|Network|Infiniband|Fabric|Non-Volatile memory|SATA|SCSI|RAID bus|Serial Attached|"
    r"USB|Audio|IDE|SD Host|IOMMU|System peripheral|Communication|Wireless|Mass storage|Bridge|"
    r"Encryption|Non-Essential)[^:]*:|VGA[^:]*: (?:ASPEED|Matrox)",
    re.IGNORECASE,
)
"""Classes of devices that are no accelerators, and displays of service processors."""
_FPGA = re.compile(r"Xilinx|Altera|Achronix|FPGA", re.IGNORECASE)
"""Vendors whose designs take any class."""
_IDLES = re.compile(r"NVIDIA|VGA|3D controller|AMD/ATI", re.IGNORECASE)


@dataclass
class _Found:
    address: str = ""
    name: str = ""
    capable: tuple[int, int] | None = None
    payload: int = 0


def read(text: str) -> Log:
    """The links of all devices that are no bridges."""
    links: list[LinkFact] = []
    names: dict[str, None] = {}
    one = _Found()
    for line, row in enumerate(text.splitlines(), 1):
        if found := _DEVICE.match(row):
            one = _Found(found[1], found[2])
        elif found := _COMMAND.match(row):
            one = _Found(found[1])
        elif found := _PAYLOAD.match(row):
            one.payload = int(found[1])
        elif found := _LINK.match(row):
            generation = _GENERATIONS.get(found[2], 0)
            if found[1] == "LnkCap":
                one.capable = generation, int(found[3])
            elif generation and int(found[3]) and not _BRIDGE.search(one.name):
                if one.name:
                    names[one.name] = None
                links.append(LinkFact(
                    line, generation, int(found[3]), "LnkSta", one.address, one.capable,
                    one.payload, bool(_IDLES.search(one.name)), accelerator=_may_be(one.name),
                ))  # fmt: skip
        elif found := _KERNEL.search(row):
            generation = _GENERATIONS.get(found[3], 0)
            if generation:
                links.append(LinkFact(line, generation, int(found[4]), "kernel log", found[1]))
    return Log(tool="lspci", links=links, names=list(names))


def _may_be(name: str) -> bool:
    """Whether a name, which has the class first, may be that of an accelerator."""
    return not _OTHER.match(name) or _FPGA.search(name) is not None


IMPORTER = Importer(
    "lspci", "lspci -vv", lambda text: re.search(
        r"^\s*LnkSta:.*Speed", text, re.MULTILINE
    ) is not None or _KERNEL.search(text) is not None, read, has_rates=False,
)  # fmt: skip
