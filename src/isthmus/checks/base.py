"""Types of checks: ``Check``, the ``Facts`` that it judges, and its ``Result``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from isthmus.program import program, quoted
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.system import pci
from isthmus.system.pci import Function, Link, Port

State = Literal["good", "warning", "bad", "unknown"]
"""Result of a check. ``bad``: a fault of machine, device or setting. ``warning``: a fault that only
one run had. ``unknown``: the facts do not decide."""
_DISPLAY = "03"
NEEDS_ROOT = "only root can read it"
HIDDEN = "the virtual machine hides it"
NOT_RECORDED = "this run file does not contain it"
NOT_SHOWN = "the system does not show it"
PORT_ASLEEP = "a port above the device is suspended"
ASLEEP = "the device is suspended; it wakes when it is used"


FEW_REPLAYS = 10
"""Packets that a link may send again in a run without a lower rate: each costs microseconds."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a check found, with cause and remedy if it found a fault."""

    check: str = ""
    state: State
    found: str
    cause: str = ""
    """Likeliest cause of the fault; empty without a fault."""
    cure: str = ""
    command: str = ""
    """Shell command by which the user sees the judged value."""
    lesser: str = ""
    """Lanes or speed of the link, if slot and card support more: ``x8 of x16``. Unknown results
    have it, too; empty for a full link."""
    changed: bool = False
    """Whether the fault appeared or vanished during the run, so that it changed only some times of
    the run."""


@dataclass(frozen=True)
class Facts:
    """Facts about a machine and one of its devices, read now or from a run file."""

    host: Mapping[str, Any]
    """Facts about the machine from ``system.environment.host``, now or as the run file has them."""
    device: DeviceRecord | None = None
    cpus: Sequence[int] = ()
    """Processors that the measuring processes may use."""
    memory_node: int | None = None
    """NUMA node to which the memory of the measuring processes is bound; None: any node."""
    measured_s: float = 0.0
    """Wall time of the run; 0: nothing was measured."""
    recorded: bool = False
    """Whether the facts come from a run file, whose properties of a device precede the run."""

    @property
    def virtual(self) -> bool:
        """Whether the machine is a virtual machine under a hypervisor."""
        return bool(self.host.get("virtualised"))

    @property
    def crosses(self) -> bool:
        """Whether the device has a PCIe function that Isthmus found."""
        return self._function is not None

    @property
    def _function(self) -> Function | None:
        if self.device is None or not self.device.real:
            return None
        attributes = pci.of_attributes(self.device.link)
        return _lesser(self.device.pci, attributes) if self.device.pci else attributes

    @property
    def function(self) -> Function:
        """The device's PCIe function; only for checks with ``of="pci"``.

        Other checks also run for devices without a PCIe function.
        """
        assert self._function is not None
        return self._function

    @property
    def port(self) -> Port:
        """The device's port: the lower end of the link between slot and device."""
        return self.function.device

    @property
    def is_gpu(self) -> bool:
        """Whether the device is a display controller (GPU), which slows its link while idle."""
        return self.port.class_code.startswith(_DISPLAY)

    @property
    def after(self) -> Function | None:
        """The device's PCIe function as read after the run; None if nothing was measured."""
        return self.device.pci_after if self.device else None

    def least(self, of: Callable[[Link], float | None]) -> tuple[float | None, str]:
        """Compares two readings of the device's link: before and after the run.

        Returns the lower value of ``of``, and the other value as text: "16 before the run". If both
        agree or one is unknown, returns the value before the run and an empty text.
        """
        readings = (
            next(reading.links(), None) if reading else None
            for reading in (self.function, self.after)
        )
        before, after = (link and of(link) for link in readings)
        if before is None or after is None or before == after:
            return before, ""
        if after < before:
            return after, f"{before:g} before the run"
        return before, f"{after:g} after the run"

    def unread(self, port: Port | None = None) -> Result:
        """Makes an unknown result that says why a port's configuration space cannot be read.

        ``port``: by default the device's port.
        """
        port = port or self.port
        if port.asleep and port is not self.port:
            return Result(state="unknown", found=PORT_ASLEEP)
        if self.device and self.device.pci and not self.function.asleep and not port.readable:
            return Result(state="unknown", found=NEEDS_ROOT, command=as_root(self.device.address))
        return self.unseen()

    def unseen(self) -> Result:
        """Makes an unknown result that says why neither a user nor root sees the value in sysfs."""
        if self.device is not None and self.device.pci is None:
            return Result(state="unknown", found=NOT_RECORDED)
        if self.crosses and self.function.asleep:
            return Result(state="unknown", found=ASLEEP)
        return Result(state="unknown", found=HIDDEN if self.virtual else NOT_SHOWN)

    @staticmethod
    def of_run(run: Run, device: DeviceRecord | None = None) -> Facts:
        """Facts that a run file has about its machine and a device."""
        return Facts(
            host=run.environment,
            device=device,
            cpus=run.settings.cpus or run.environment.get("usable_cpus", ()),
            memory_node=run.settings.numa_node,
            recorded=True,
            measured_s=run.took_s,
        )


def _lesser(function: Function, attributes: Function | None) -> Function:
    """The function, with the lanes of ``attributes`` at the device's end if those are fewer.

    A run file has the lanes of the device's port twice: in its function and in the attributes.
    """
    ends = function.path[:1], attributes.path[:1] if attributes else []
    known = [port.lanes for of in ends for port in of if port.lanes]
    if len(known) < 2 or known[0] <= known[1]:
        return function
    port = msgspec.structs.replace(function.path[0], lanes=known[1])
    return msgspec.structs.replace(function, path=[port, *function.path[1:]])


@dataclass(frozen=True)
class Check:
    """A question about a machine or a device. Its answer depends on the facts alone."""

    name: str
    question: str
    judge: Callable[[Facts], Result | None]
    """Answers the question from facts; returns None if the question does not apply."""
    of: Literal["machine", "device", "pci"] = "pci"
    """What the question is about; ``pci``: devices with a known PCIe function."""
    place: int = 99
    """Rank among likely causes of a low rate; the likeliest cause has the smallest number."""
    fault: str = ""
    """Short name of the fault, if a bad result can slow large copies; else empty."""
    lowers_limit: bool = False
    """Whether a bad result lowers the link's limit below that of card and slot."""


def as_root(address: str) -> str:
    """The command by which root judges a device.

    It has the program's path, because ``sudo`` does not search the user's PATH.
    """
    called = program()
    path = f"$(which {called})" if called == "isthmus" else called
    return f"sudo {path} doctor {quoted(address)}"


def sysfs(port: Port, name: str) -> str:
    """The command that shows sysfs files of a port; ``name``: pattern of the files' names."""
    show = "grep ." if "*" in name else "cat"
    return f"{show} /sys/bus/pci/devices/{port.address}/{name}"


def registers(port: Port, name: str, *, root: bool = True) -> str:
    """The lspci command that shows a port's register; ``root``: only root can read the register."""
    show = "sudo lspci -vvs" if root else "lspci -vs"
    return f"{show} {port.address} | grep {name}"
