"""Type of the options of ``isthmus run`` that backends declare, and those that backends share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunOption:
    """An option of the command line that a backend's library gets for its devices."""

    name: str
    """Name by which the library gets the option; ``allow_program`` is ``--allow-program`` for the
    user."""
    help: str
    """Description for ``isthmus run --help``."""
    permission: bool = False
    """Whether the option is a switch that allows a harmful action. It applies to one command only:
    a run file, which may come from another person, cannot set it."""
    form: str = ""
    """Regular expression that the option's values match, if an axis of a study has the same name.
    Values that do not match belong to the axis. Empty: no axis has the name."""

    @property
    def flag(self) -> str:
        """The option as the user types it: ``--allow-program``."""
        return flag(self.name)


def flag(name: str) -> str:
    """An option or axis as the user types it: two hyphens, and hyphens for underscores."""
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
