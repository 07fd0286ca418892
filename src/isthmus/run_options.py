"""Options of ``isthmus run`` that backends declare, and those that several of them share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunOption:
    """One option of the command line, handed to the backend's library for its devices."""

    name: str
    """Name for the library; ``allow_program`` is written ``--allow-program``."""
    help: str
    """Description for ``isthmus run --help``."""
    permission: bool = False
    """Whether the option is a switch that allows a harmful action. It holds for one command only: a
    run file, which may come from somebody else, cannot set it."""
    form: str = ""
    """Regular expression of its values, for an option that has the name of a study's axis: a value
    of another form is the axis's."""

    @property
    def flag(self) -> str:
        """As it is written on the command line."""
        return flag(self.name)


def flag(name: str) -> str:
    """An option or axis of this name as it is written on the command line."""
    return f"--{name.replace('_', '-')}"


BITSTREAM = (
    RunOption("xclbin", "bitstream for FPGA cards: a file, or loaded for the one that is there"),
    RunOption("allow_program", "allow the card to be programmed with it", permission=True),
)
"""Options of backends whose devices are programmed with a file."""

REGISTERS = (
    RunOption(
        "registers",
        "registers to access: BAR:OFFSET[+BYTES] on PCI, KERNEL:OFFSET[+BYTES] of a kernel",
    ),
    RunOption("memory", "memory of the device to access, in the same form", form=r".*:.*"),
    RunOption(
        "allow_loads", "allow loads of --registers: they can have side effects", permission=True
    ),
    RunOption("allow_writes", "allow --memory to be overwritten", permission=True),
)
"""Options of backends that access registers or memory of a device, which may have side effects."""
