"""Finds the kind of a device by its printed name."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["cpu", "integrated", "unknown"]
_PROCESSOR = re.compile(
    r"EPYC|Xeon|Ryzen|Core\(TM\)|Celeron|Pentium|Processor|\bCPU\b|Threadripper|Opteron|"
    r"\bpthread-|^cpu\b",
    re.IGNORECASE,
)
"""Names of processors, also those of PoCL: ``pthread-AMD EPYC``, ``cpu-haswell-...``."""
_INTEGRATED = re.compile(
    r"Intel(?:\(R\)|®)? (?:\w+ )?(?:U?HD|Iris)\b|\bIris(?:\(R\)|®)? |\bMali-|\bAdreno\b|"
    r"\bApple M\d|Radeon\(?T?M?\)? (?:Vega \d+ )?Graphics\b|Radeon \d{3}M\b",
    re.IGNORECASE,
)
"""Names of GPUs within a processor, which share its memory."""


def kind(name: str) -> Kind:
    """``cpu``, or ``integrated`` for a GPU within one; ``unknown`` for any other device."""
    if _INTEGRATED.search(name):
        return "integrated"
    return "cpu" if _PROCESSOR.search(name) else "unknown"
