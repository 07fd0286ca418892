"""Types: a way to load a backend on this machine, and a reason why a device cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Candidate:
    """A way to load a backend, with the environment variables of the worker that loads it."""

    label: str
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    keys: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Address options that choose between candidates, e.g. which ``.icd`` file."""
    mode: str = ""
    """The part after ``@`` in addresses of this candidate."""
    hardware: bool = True
    """False for an emulated card, and for software that is timed without a device."""
    built_in: bool = False
    """Whether the backend loads no vendor's library, so that one worker can serve several such
    backends."""


@dataclass(frozen=True)
class Problem:
    """A reason why a device cannot be used here, and the remedy."""

    what: str
    cure: str
    mode: str | None = None
    """The mode of addresses that have the problem; None: all modes."""
