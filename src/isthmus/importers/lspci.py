"""Reads PCIe links from ``lspci -vv``: supported and current speed and lanes.

A link limits the rates in logs of other programs on the same machine.
"""

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
"""Matches classes of devices that are no accelerators, and display controllers of service
processors."""
_FPGA = re.compile(r"Xilinx|Altera|Achronix|FPGA", re.IGNORECASE)
"""Matches vendors of FPGAs, which may be accelerators whatever their class."""
_IDLES = re.compile(r"NVIDIA|VGA|3D controller|AMD/ATI", re.IGNORECASE)


@dataclass
class _Device:
    address: str = ""
    name: str = ""
    capable: tuple[int, int] | None = None
    payload: int = 0


def read(text: str) -> Log:
    """Reads the links of all devices except bridges."""
    links: list[LinkFact] = []
    names: dict[str, None] = {}
    now = _Device()
    for line, row in enumerate(text.splitlines(), 1):
        if match := _DEVICE.match(row):
            now = _Device(match[1], match[2])
        elif match := _COMMAND.match(row):
            now = _Device(match[1])
        elif match := _PAYLOAD.match(row):
            now.payload = int(match[1])
        elif match := _LINK.match(row):
            generation = _GENERATIONS.get(match[2], 0)
            if match[1] == "LnkCap":
                now.capable = generation, int(match[3])
            elif generation and int(match[3]) and not _BRIDGE.search(now.name):
                if now.name:
                    names[now.name] = None
                links.append(LinkFact(
                    line, generation, int(match[3]), "LnkSta", now.address, now.capable,
                    now.payload, bool(_IDLES.search(now.name)), accelerator=_accelerates(now.name),
                ))  # fmt: skip
        elif match := _KERNEL.search(row):
            generation = _GENERATIONS.get(match[3], 0)
            if generation:
                links.append(LinkFact(line, generation, int(match[4]), "kernel log", match[1]))
    return Log(tool="lspci", links=links, names=list(names))


def _accelerates(name: str) -> bool:
    """Whether a device may be an accelerator; ``name`` begins with its class."""
    return not _OTHER.match(name) or _FPGA.search(name) is not None


IMPORTER = Importer(
    "lspci", "lspci -vv", lambda text: re.search(
        r"^\s*LnkSta:.*Speed", text, re.MULTILINE
    ) is not None or _KERNEL.search(text) is not None, read, has_rates=False,
)  # fmt: skip
