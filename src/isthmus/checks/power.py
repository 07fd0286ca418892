"""Check whether a device is in a low-power state."""

from __future__ import annotations

from isthmus.checks.base import ASLEEP, Check, Facts, Result, sysfs

_LOW = {"D1", "D2", "D3hot", "D3cold"}


def judge(facts: Facts) -> Result | None:
    """Bad if the device is in a low-power state although the kernel has not suspended it."""
    function = facts.function
    command = sysfs(function.device, "power_state")
    if facts.device and facts.device.pci is None:
        return facts.unseen()
    if function.runtime_status == "suspended":
        return Result(
            state="unknown",
            found=ASLEEP,
            cure="write on to power/control in the same folder, as root",
            command=sysfs(function.device, "power/runtime_status"),
        )
    if function.runtime_status == "error" or function.power_state in _LOW:
        return Result(
            state="bad",
            found=f"{function.power_state or 'an error'} though it is not suspended",
            cause="its driver is missing or did not wake it",
            cure="reload its driver, or restart the machine",
            command=command,
        )
    if function.power_state != "D0":
        return facts.unseen()
    return Result(state="good", found="D0", command=command)


CHECK = Check(
    "power_state", "Is the device awake?", judge, place=13, fault="a device in a low-power state"
)
