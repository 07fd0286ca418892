"""What the runner must know of a backend before its library is loaded.

A backend is one folder, ``cpp/backends/NAME``: the C++ behind the engine's interface and this
description of it, ``NAME.py``, which ends up here as ``isthmus.backends.NAME`` and defines
``BACKEND``. Other packages add theirs through the entry point group ``isthmus.backends``.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from isthmus.checks.base import Check
from isthmus.errors import UsageError
from isthmus.run_options import RunOption
from isthmus.system import built
from isthmus.text import nearest

if TYPE_CHECKING:
    from isthmus.measure.address import Address
    from isthmus.measure.protocol import DeviceDescription

LIBRARIES = built.FOLDER / "backends"


@dataclass(frozen=True)
class Candidate:
    """One way to load a backend: the environment that its worker gets."""

    label: str
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    keys: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Address options that choose between candidates, e.g. which ``.icd`` file."""
    mode: str = ""
    """What an address must say after ``@`` to get this candidate."""
    hardware: bool = True
    """False where what is timed is no hardware: software alone, or an emulated card."""
    built_in: bool = False
    """Loads nobody else's library: one worker can list the devices of several such backends."""


@dataclass(frozen=True)
class Problem:
    """Something here that does not work, and how to mend it."""

    what: str
    cure: str
    mode: str | None = None
    """The mode of an address that it concerns; None: all."""


class BackendDescription(ABC):
    """Name, addresses and ways to load a backend. Loads no vendor library itself."""

    name: str
    summary: str
    schemes: tuple[str, ...]
    """First part of the addresses that this backend answers to."""
    run_options: tuple[RunOption, ...] = ()
    """Options of ``isthmus run`` that its devices take."""
    flags: Mapping[str, str] = MappingProxyType({})
    """Flags that its operations give their rows (``Operation::remarks``), and what each means."""
    memory_calls: Mapping[str, str] = MappingProxyType({})
    """Calls by which a program gets each kind of memory: what a finding advises."""
    fastest_memory = ""
    """Kind of memory that the copy engines of its devices reach without a bounce copy."""
    map_advice = "map in place of a copy"
    """What to do where mapping a buffer is faster than copying it."""
    checks: tuple[Check, ...] = ()
    """What ``isthmus doctor`` checks of its devices alone."""
    by_default = True
    """Whether ``isthmus run`` without ``--device`` measures its hardware."""
    only_first_device = False
    """Whether that run measures its first device only: the others are to be named."""
    api_names: Mapping[str, str] = MappingProxyType({})
    """The run file's ``api`` of its devices, and how people write each."""
    has_runtime = True
    """Whether a runtime stands between a program and its devices; else the processor itself copies,
    loads and stores."""
    links_property = ""
    """Property of a device: bytes a second and direction of all its links to devices like it."""
    aliases: Mapping[str, str] = MappingProxyType({})
    """Short selectors, and the part of a platform's or device's name that each stands for."""
    modes: tuple[str, ...] = ()
    """What may follow ``@`` in an address."""
    candidate_keys: tuple[str, ...] = ()
    """Address options that choose a candidate and are not passed on to the library."""

    @property
    def library(self) -> Path:
        """Shared object of the backend."""
        return LIBRARIES / f"libisthmus_{self.name}.so"

    @abstractmethod
    def candidates(self, scheme: str) -> Sequence[Candidate]:
        """Ways to load the backend for a scheme here, the preferred first; empty if none."""

    def candidates_for(self, address: Address) -> Sequence[Candidate]:
        """Those that have the mode of an address."""
        return [c for c in self.candidates(address.scheme) if c.mode == address.mode]

    def problems(self, scheme: str) -> Sequence[Problem]:  # noqa: ARG002
        """What stands in the way of (more) devices of a scheme here."""
        return ()

    def run_options_of(self, device: DeviceDescription) -> tuple[RunOption, ...]:  # noqa: ARG002
        """Those of ``run_options`` that this device takes."""
        return self.run_options

    def options(self, address: Address) -> dict[str, str]:
        """Options for the library, from an address."""
        return {k: v for k, v in address.options.items() if k not in self.candidate_keys}

    def address_of(self, scheme: str, device: DeviceDescription) -> str:
        """Shortest address by which ``match`` finds this device."""
        for alias, part in self.aliases.items():
            if part.lower() in f"{device.platform}\n{device.name}".lower():
                return f"{scheme}:{alias}"
        return f"{scheme}:{device.id}"

    def expects_hardware(self, address: Address) -> bool:
        """Whether an address should be that of hardware, before it is known to be here."""
        return self.by_default and not address.mode

    def others_of(self, scheme: str, device: DeviceDescription) -> Sequence[str]:  # noqa: ARG002
        """Addresses that stand for other devices of the same kind, which nobody has to find."""
        return ()

    def meant_by(self, text: str) -> str:  # noqa: ARG002
        """Address that somebody may have meant who wrote this without a scheme; empty: none."""
        return ""

    def match(
        self, address: Address, devices: Sequence[DeviceDescription]
    ) -> DeviceDescription | None:
        """Device that the address selects: the first, or by id, alias, or part of a name."""
        if not address.selector:
            return devices[0] if devices else None
        wanted = self.aliases.get(address.selector, address.selector).lower()
        for device in devices:
            if (
                address.selector == device.id
                or wanted in f"{device.platform}\n{device.name}".lower()
            ):
                return device
        return None


@cache
def registry() -> Mapping[str, BackendDescription]:
    """All backends by name: those installed with Isthmus, then those of other packages."""
    backends: dict[str, BackendDescription] = {}
    for name in sorted(path.stem for path in LIBRARIES.glob("[!_]*.py")):
        backends[name] = importlib.import_module(f"{__name__}.{name}").BACKEND
    for entry in importlib.metadata.entry_points(group="isthmus.backends"):
        backends.setdefault(entry.name, entry.load())
    return MappingProxyType(backends)


def of(name: str) -> BackendDescription | type[BackendDescription]:
    """The backend of this name; where it is not installed here, what all have by default."""
    return registry().get(name, BackendDescription)


def api_names() -> Mapping[str, str]:
    """How people write each ``api`` of the run file, as far as somebody says."""
    told = {api: name for b in registry().values() for api, name in b.api_names.items()}
    return {"mpi": "MPI", **told}


def run_options() -> Mapping[str, RunOption]:
    """The options that backends declare, by name; backends that share one share its name."""
    return {option.name: option for b in registry().values() for option in b.run_options}


def by_scheme(scheme: str) -> BackendDescription:
    """Backend that answers to the first part of an address."""
    for backend in registry().values():
        if scheme in backend.schemes:
            return backend
    known = sorted(s for backend in registry().values() for s in backend.schemes)
    meant = next(filter(None, (b.meant_by(scheme) for b in registry().values())), "")
    instead = f"did you mean {meant}? " if meant else nearest(scheme, known)
    raise UsageError(f"unknown backend '{scheme}'; {instead}known: {', '.join(known)}")
