"""What the machine did to a measurement meanwhile."""

from __future__ import annotations

import msgspec


class Noise(msgspec.Struct, frozen=True, gc=False):
    """Disturbances by the machine during a measurement; see the engine's Probe."""

    steal_s: float = 0.0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    minor_faults: int = 0
    major_faults: int = 0

    def __add__(self, other: Noise) -> Noise:
        return Noise(*(getattr(self, f) + getattr(other, f) for f in self.__struct_fields__))
