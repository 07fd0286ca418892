"""The MMIO backend: loads and stores to any PCI function, by Linux's interfaces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import MappingProxyType

from isthmus.backends import BackendDescription, Candidate, Problem
from isthmus.measure.address import Address
from isthmus.measure.protocol import DeviceDescription
from isthmus.run_options import REGISTERS

_SHORT = re.compile(r"[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
"""An address as lspci writes it where there is one domain only."""


class Mmio(BackendDescription):
    """``pci:0000:03:00.0``, ``pci:03:00.0``; BARs only as --registers and --memory name them."""

    name = "mmio"
    summary = "loads and stores of the processor to PCI devices"
    schemes = ("pci",)
    flags = MappingProxyType({"virtualised": "measured inside a virtual machine"})
    api_names = MappingProxyType({"mmio": "PCIe"})
    has_runtime = False
    run_options = REGISTERS
    only_first_device = True

    def candidates(self, scheme: str) -> Sequence[Candidate]:
        if not self.library.exists():
            return ()
        return (Candidate("sysfs", built_in=True),)

    def problems(self, scheme: str) -> Sequence[Problem]:
        if self.library.exists():
            return ()
        return (Problem("its instructions are those of x86-64 under Linux", "use such a machine"),)

    def match(
        self, address: Address, devices: Sequence[DeviceDescription]
    ) -> DeviceDescription | None:
        """Selects by the complete address only: a device that was not named is never accessed."""
        wanted = address.selector.lower()
        if _SHORT.fullmatch(wanted):
            wanted = f"0000:{wanted}"
        return next((device for device in devices if device.id == wanted), None)


BACKEND = Mmio()
