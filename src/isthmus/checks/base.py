"""Types of a check, its facts and its result."""

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
"""``bad``: a fault of machine, device or setting. ``warning``: a fault of one run alone."""
_DISPLAY = "03"
NEEDS_ROOT = "only root can read it"
HIDDEN = "the virtual machine hides it"
NOT_RECORDED = "this run file does not contain it"
NOT_SHOWN = "the system does not show it"
PORT_ASLEEP = "a port above the device is suspended"
ASLEEP = "the device is suspended; it wakes when it is used"


FEW_REPLAYS = 10
"""Most packets sent again in a run that do not lower a rate: each takes microseconds."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a check."""

    check: str = ""
    state: State
    found: str
    cause: str = ""
    """Likeliest cause."""
    cure: str = ""
    command: str = ""
    """Shell command that shows the value."""
    lesser: str = ""
    """The trained link if the card supports more: ``x8 of x16``; also for unknown results."""
    changed: bool = False
    """Whether the fault appeared or vanished during the run, so that times of the run differ."""


@dataclass(frozen=True)
class Facts:
    """Facts about a machine and a device of it, read now or from a stored run."""

    host: Mapping[str, Any]
    """Data of ``system.environment.host`` and of the run file."""
    device: DeviceRecord | None = None
    cpus: Sequence[int] = ()
    """Processors that the measuring processes may use."""
    memory_node: int | None = None
    """The only node of their memory; None: any."""
    measured_s: float = 0.0
    """Wall time of the run; 0: nothing was measured."""
    recorded: bool = False
    """Whether the facts come from a run file: properties of a device are then from before its run.
    """

    @property
    def virtual(self) -> bool:
        """Whether a hypervisor runs the machine."""
        return bool(self.host.get("virtualised"))

    @property
    def crosses(self) -> bool:
        """Whether the device is behind a known PCIe function."""
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
        """The device's end of its link."""
        return self.function.device

    @property
    def is_gpu(self) -> bool:
        """Whether it is a display controller, which slows its link while idle."""
        return self.port.class_code.startswith(_DISPLAY)

    @property
    def after(self) -> Function | None:
        """The function after the run; None without a measurement."""
        return self.device.pci_after if self.device else None

    def least(self, of: Callable[[Link], float | None]) -> tuple[float | None, str]:
        """The lower reading of the device's link before and after the run, with the other reading.

        The other reading is text, "16 before the run"; empty if both agree or one is unknown.
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
        """An unknown result, because a port's configuration space is hidden; with the reason.

        ``port`` is by default the device's.
        """
        port = port or self.port
        if port.asleep and port is not self.port:
            return Result(state="unknown", found=PORT_ASLEEP)
        if self.device and self.device.pci and not self.function.asleep and not port.readable:
            return Result(state="unknown", found=NEEDS_ROOT, command=as_root(self.device.address))
        return self.unseen()

    def unseen(self) -> Result:
        """An unknown result, because sysfs hides the value from all users; with the reason."""
        if self.device is not None and self.device.pci is None:
            return Result(state="unknown", found=NOT_RECORDED)
        if self.crosses and self.function.asleep:
            return Result(state="unknown", found=ASLEEP)
        return Result(state="unknown", found=HIDDEN if self.virtual else NOT_SHOWN)

    @staticmethod
    def of_run(run: Run, device: DeviceRecord | None = None) -> Facts:
        """Facts of a run file."""
        return Facts(
            host=run.environment,
            device=device,
            cpus=run.settings.cpus or run.environment.get("usable_cpus", ()),
            memory_node=run.settings.numa_node,
            recorded=True,
            measured_s=run.took_s,
        )


def _lesser(function: Function, attributes: Function | None) -> Function:
    """The function, with as few lanes as the attributes of its link have.

    A run file has the device's end of the link in both.
    """
    ends = function.path[:1], attributes.path[:1] if attributes else []
    known = [port.lanes for of in ends for port in of if port.lanes]
    if len(known) < 2 or known[0] <= known[1]:
        return function
    port = msgspec.structs.replace(function.path[0], lanes=known[1])
    return msgspec.structs.replace(function, path=[port, *function.path[1:]])


@dataclass(frozen=True)
class Check:
    """A question about a machine or a device. Pure."""

    name: str
    question: str
    judge: Callable[[Facts], Result | None]
    """Judges the facts; returns None if the question does not apply."""
    of: Literal["machine", "device", "pci"] = "pci"
    """Subject; ``pci``: devices behind a known PCIe function."""
    place: int = 99
    """Place among likely causes of a low rate, the likeliest first."""
    fault: str = ""
    """Short name of a bad result that can slow large copies."""
    lowers_limit: bool = False
    """Whether a bad result lowers the link's limit below that of card and slot."""


def as_root(address: str) -> str:
    """A command that judges a device as root. ``sudo`` does not search the user's PATH."""
    called = program()
    path = f"$(which {called})" if called == "isthmus" else called
    return f"sudo {path} doctor {quoted(address)}"


def sysfs(port: Port, name: str) -> str:
    """A command that shows files of a function in sysfs."""
    show = "grep ." if "*" in name else "cat"
    return f"{show} /sys/bus/pci/devices/{port.address}/{name}"


def registers(port: Port, name: str, *, root: bool = True) -> str:
    """A command that shows a register of a function; ``root``: whether only root can read it."""
    show = "sudo lspci -vvs" if root else "lspci -vs"
    return f"{show} {port.address} | grep {name}"
