"""Describes the backend `mmio`: the processor's loads and stores to any PCI function."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from isthmus.backends import BackendDescription
from isthmus.candidates import Candidate, Problem
from isthmus.run_options import REGISTERS


class Mmio(BackendDescription):
    """``pci:0000:03:00.0``, ``pci:03:00.0``; accesses only BARs of --registers and --memory."""

    name = "mmio"
    summary = "loads and stores of the processor to PCI devices"
    schemes = ("pci",)
    flags = MappingProxyType({"virtualised": "measured inside a virtual machine"})
    api_names = MappingProxyType({"mmio": "PCIe"})
    has_runtime = False
    run_options = REGISTERS
    only_first_device = True
    named_exactly = True

    def candidates(self, scheme: str) -> Sequence[Candidate]:
        if not self.library.exists():
            return ()
        return (Candidate("sysfs", built_in=True),)

    def problems(self, scheme: str) -> Sequence[Problem]:
        if self.library.exists():
            return ()
        return (Problem("its instructions are those of x86-64 under Linux", "use such a machine"),)


BACKEND = Mmio()
