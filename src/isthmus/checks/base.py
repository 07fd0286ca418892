"""What a check is, what it judges, and what it says."""

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
NOT_RECORDED = "this run file does not have it"
NOT_SHOWN = "the system does not show it"
PORT_ASLEEP = "a port above the device is suspended"
ASLEEP = "the device is suspended; it wakes when it is used"


FEW_REPLAYS = 10
"""Packets sent again in a run that cost no rate: each takes microseconds."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a check found."""

    check: str = ""
    state: State
    found: str
    cause: str = ""
    """The likeliest first."""
    cure: str = ""
    command: str = ""
    """Shows what was found, pasted into a shell."""
    lesser: str = ""
    """The trained link where the card can have more: ``x8 of x16``; also of unknown results."""
    changed: bool = False
    """Whether it came or went during the run, so that times of the run differ by it."""


@dataclass(frozen=True)
class Facts:
    """What is known of a machine and of one of its devices: now, or from a stored run."""

    host: Mapping[str, Any]
    """As ``system.environment.host`` and the run file have it."""
    device: DeviceRecord | None = None
    cpus: Sequence[int] = ()
    """Processors that the measuring processes may use."""
    memory_node: int | None = None
    """The only node that their memory is from; None: any."""
    measured_s: float = 0.0
    """Wall time of the run; 0: nothing was measured."""
    recorded: bool = False
    """Whether the facts are from a run file: properties of a device are those before its run."""

    @property
    def virtual(self) -> bool:
        """Whether a hypervisor is between."""
        return bool(self.host.get("virtualised"))

    @property
    def crosses(self) -> bool:
        """Whether the device is behind a PCIe function that is known."""
        return self._function is not None

    @property
    def _function(self) -> Function | None:
        if self.device is None or not self.device.real:
            return None
        return self.device.pci or pci.of_attributes(self.device.link)

    @property
    def function(self) -> Function:
        """The device's PCIe function; only for checks with ``of="pci"``.

        Other checks may be asked of a device without one.
        """
        assert self._function is not None
        return self._function

    @property
    def port(self) -> Port:
        """The device's own end."""
        return self.function.device

    @property
    def is_gpu(self) -> bool:
        """Whether it is a display controller: those slow their links while they idle."""
        return self.port.class_code.startswith(_DISPLAY)

    @property
    def after(self) -> Function | None:
        """The function after the run; None where nothing was measured."""
        return self.device.pci_after if self.device else None

    def least(self, of: Callable[[Link], float | None]) -> tuple[float | None, str]:
        """The less of a figure of the device's link before and after the run, and the other one.

        The other one as words, "16 before the run"; empty where the two agree or one is not known.
        """
        readings = (next(one.links(), None) if one else None for one in (self.function, self.after))
        before, after = (link and of(link) for link in readings)
        if before is None or after is None or before == after:
            return before, ""
        if after < before:
            return after, f"{before:g} before the run"
        return before, f"{after:g} after the run"

    def unread(self, port: Port | None = None) -> Result:
        """Unknown, with the reason: what a port's configuration space did not give.

        ``port``: the device's own where it is left out.
        """
        port = port or self.port
        if port.asleep and port is not self.port:
            return Result(state="unknown", found=PORT_ASLEEP)
        if self.device and self.device.pci and not self.function.asleep and not port.readable:
            return Result(state="unknown", found=NEEDS_ROOT, command=as_root(self.device.address))
        return self.unseen()

    def unseen(self) -> Result:
        """Unknown, with the reason: what sysfs does not show to anybody."""
        if self.device is not None and self.device.pci is None:
            return Result(state="unknown", found=NOT_RECORDED)
        if self.crosses and self.function.asleep:
            return Result(state="unknown", found=ASLEEP)
        return Result(state="unknown", found=HIDDEN if self.virtual else NOT_SHOWN)

    @staticmethod
    def of_run(run: Run, device: DeviceRecord | None = None) -> Facts:
        """What a run file has."""
        return Facts(
            host=run.environment,
            device=device,
            cpus=run.settings.cpus or run.environment.get("usable_cpus", ()),
            memory_node=run.settings.numa_node,
            recorded=True,
            measured_s=run.took_s,
        )


@dataclass(frozen=True)
class Check:
    """One question about a machine or a device. Pure."""

    name: str
    question: str
    judge: Callable[[Facts], Result | None]
    """None: the question does not arise."""
    of: Literal["machine", "device", "pci"] = "pci"
    """``pci``: of devices behind a PCIe function that is known."""
    place: int = 99
    """Of likely causes of a low rate, the likeliest first."""
    fault: str = ""
    """A bad result in a few words, where it can make large copies slow."""
    lowers_limit: bool = False
    """Whether a bad result means a lower limit of the link than card and slot allow."""


def as_root(address: str) -> str:
    """A command that judges a device as root. ``sudo`` does not search the PATH of its user."""
    called = program()
    found = f"$(which {called})" if called == "isthmus" else called
    return f"sudo {found} doctor {quoted(address)}"


def sysfs(port: Port, name: str) -> str:
    """A command that shows what files of sysfs say of a function."""
    show = "grep ." if "*" in name else "cat"
    return f"{show} /sys/bus/pci/devices/{port.address}/{name}"


def registers(port: Port, name: str, *, root: bool = True) -> str:
    """A command that shows a register of a function; ``root``: only root can read it."""
    show = "sudo lspci -vvs" if root else "lspci -vs"
    return f"{show} {port.address} | grep {name}"
