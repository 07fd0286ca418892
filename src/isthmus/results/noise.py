"""Type of the disturbances that the machine caused during a measurement."""

from __future__ import annotations

import msgspec


class Noise(msgspec.Struct, frozen=True, gc=False):
    """Disturbances that the machine caused during a measurement: see ``Probe`` of the engine."""

    steal_s: float = 0.0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    minor_faults: int = 0
    major_faults: int = 0

    def __add__(self, other: Noise) -> Noise:
        return Noise(*(getattr(self, f) + getattr(other, f) for f in self.__struct_fields__))
