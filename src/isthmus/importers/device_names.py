"""Finds out by a device's printed name whether it is a processor or a GPU within a processor."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["cpu", "integrated", "unknown"]
_PROCESSOR = re.compile(
    r"EPYC|Xeon|Ryzen|Core\(TM\)|Celeron|Pentium|Processor|\bCPU\b|Threadripper|Opteron|"
    r"\bpthread-|^cpu\b",
    re.IGNORECASE,
)
"""Matches names of processors, including PoCL's: ``pthread-AMD EPYC``, ``cpu-haswell-...``."""
_INTEGRATED = re.compile(
    r"Intel(?:\(R\)|®)? (?:\w+ )?(?:U?HD|Iris)\b|\bIris(?:\(R\)|®)? |\bMali-|\bAdreno\b|"
    r"\bApple M\d|Radeon\(?T?M?\)? (?:Vega \d+ )?Graphics\b|Radeon \d{3}M\b",
    re.IGNORECASE,
)
"""Matches names of GPUs that are part of a processor and share its memory."""


def kind(name: str) -> Kind:
    """``cpu`` for a processor, ``integrated`` for a GPU within a processor, else ``unknown``."""
    if _INTEGRATED.search(name):
        return "integrated"
    return "cpu" if _PROCESSOR.search(name) else "unknown"
