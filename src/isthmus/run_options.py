"""Options of ``isthmus run`` that backends declare, and options that several backends share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunOption:
    """An option of the command line, which the backend's library receives for its devices."""

    name: str
    """Name in the library; ``allow_program`` becomes ``--allow-program``."""
    help: str
    """Description for ``isthmus run --help``."""
    permission: bool = False
    """Whether the option is a switch that allows a harmful action. It applies to one command only:
    a run file, which may come from another person, cannot set it."""
    form: str = ""
    """Regular expression of its values, if a study's axis has the same name: other values belong to
    the axis."""

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return flag(self.name)


def flag(name: str) -> str:
    """The form of an option or axis on the command line."""
    return f"--{name.replace('_', '-')}"


BITSTREAM = (
    RunOption("xclbin", "bitstream for FPGA cards: a file, or 'loaded' for the loaded bitstream"),
    RunOption("allow_program", "allow the card to be programmed with it", permission=True),
)
"""Options of backends whose devices load a bitstream."""

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
"""Options of backends that access registers or memory of a device, with possible side effects."""
