"""Reads, makes and writes xclbin files, which describe a card to XRT, without vendor's tools."""

from isthmus_emulation.xclbin.container import Header, Section, Xclbin, load, read, save
from isthmus_emulation.xclbin.design import TRANSFER, Bank, Design, Timer, transfer_default
from isthmus_emulation.xclbin.kinds import ClockType, Control, IpType, MemoryType, Mode, SectionKind
from isthmus_emulation.xclbin.metadata import Argument, Instance, Kernel, Port
from isthmus_emulation.xclbin.tables import Clock, Connection, Ip, Memory

__all__ = [
    "TRANSFER",
    "Argument",
    "Bank",
    "Clock",
    "ClockType",
    "Connection",
    "Control",
    "Design",
    "Header",
    "Instance",
    "Ip",
    "IpType",
    "Kernel",
    "Memory",
    "MemoryType",
    "Mode",
    "Port",
    "Section",
    "SectionKind",
    "Timer",
    "Xclbin",
    "load",
    "read",
    "save",
    "transfer_default",
]
