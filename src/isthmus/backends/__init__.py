"""Descriptions of backends: what the runner needs before it loads a backend's library.

A backend is a folder, ``cpp/backends/NAME``, with C++ for the engine's interface and a description,
``NAME.py``. The description is installed as ``isthmus.backends.NAME`` and defines ``BACKEND``.
Other packages add backends through the entry point group ``isthmus.backends``.
"""

from __future__ import annotations

import importlib
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from isthmus import built
from isthmus.candidates import Candidate, Problem
from isthmus.checks.base import Check
from isthmus.descriptions import DeviceDescription
from isthmus.errors import UsageError
from isthmus.registration import Registry
from isthmus.run_options import RunOption
from isthmus.text import did_you_mean

if TYPE_CHECKING:
    from isthmus.address import Address

LIBRARIES = built.FOLDER / "backends"
_SHORT_PCI_ADDRESS = re.compile(r"[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
"""A PCI address in lspci's form for a machine with a single domain."""
_POSITION = re.compile(r"[0-9.:]+|(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
"""A number, an id such as ``0:1`` or a PCI address: not searched in names, which contain versions.
"""


@dataclass(frozen=True)
class CardSoftware:
    """Processor time of an API for a program on an emulated card, in seconds: usual, least, most.

    Measured by programs of ``isthmus advise --job --code`` with 64 B, 64 KiB and 4 MiB an item
    under ``isthmus card exec``: time including the program's computing, less the time with
    ``--clock card``. The times depend on the machine and its load (benchmarks/RESULTS.md).
    """

    scheme: str
    """Scheme of the API's address, SCHEME:0@card=BOARD."""
    name: str
    """Usual spelling of the API."""
    transfer_s: tuple[float, float, float]
    """Time of a transfer from mapped memory."""
    kernel_s: tuple[float, float, float]
    """Time of a kernel's start and of the wait for its end."""
    copied: str = "pageable"
    """Kind of the program's memory from which the API copies first."""
    mapped: str = "alloc_host"
    """Kind of the API's buffers from which it does not copy."""
    mapped_call: str = "copy"
    """``call`` of ways with mapped memory, for the API's template."""
    has_host_only: bool = False
    """Whether the template has buffers in host memory that kernels access."""


class Described(Protocol):
    """A device that is here, or a run file's record of a device."""

    @property
    def properties(self) -> Mapping[str, str]:
        """Properties from its backend."""


class BackendDescription(ABC):
    """Name, addresses and ways to load a backend. Does not load the vendor's library."""

    name: str
    summary: str
    schemes: tuple[str, ...]
    """First parts of the addresses of this backend's devices."""
    run_options: tuple[RunOption, ...] = ()
    """Options of ``isthmus run`` for devices of this backend."""
    flags: Mapping[str, str] = MappingProxyType({})
    """Flags of its operations on rows (``Operation::remarks``), with their meanings."""
    memory_calls: Mapping[str, str] = MappingProxyType({})
    """Calls by which a program allocates each kind of memory, simplest first, for advice in
    findings."""
    naive_memory = "pageable"
    """Kind of a program's ordinary memory, with which ``isthmus advise`` compares."""
    code_template = ""
    """File beside the description, a Jinja2 template: a program that moves data as ``isthmus
    advise`` says (``cli.advise.program``)."""
    job_template = ""
    """Template of a program that runs a job (``isthmus advise --job --code``)."""
    card_software: CardSoftware | None = None
    """Time that its API adds on an emulated card; None if it drives none."""
    copied_memory: frozenset[str] = frozenset()
    """Kinds of memory from which the API copies first on a simulated clock: the simulated time
    lacks this copy, which the program makes."""
    fastest_memory = ""
    """Kind of memory that its devices' copy engines access without a bounce copy."""
    map_advice = "map in place of a copy"
    """Advice if mapping a buffer is faster than copying it."""
    checks: tuple[Check, ...] = ()
    """Checks of ``isthmus doctor`` for its devices only."""
    own_api = True
    """Whether its API is made for its devices alone, rather than a standard of several vendors. If
    both reach a device, a run measures the device by its own API, and the standard's cost beside
    it."""
    by_default = True
    """Whether ``isthmus run`` without ``--device`` measures this backend's hardware."""
    only_first_device = False
    """Whether that run measures only its first device; the user must name the others."""
    named_exactly = False
    """Whether an address must contain a device's id or PCI address, so that no other device is
    accessed."""
    api_names: Mapping[str, str] = MappingProxyType({})
    """Values of ``api`` in the run file for its devices, with their usual spelling."""
    has_runtime = True
    """Whether a runtime stands between a program and its devices. Otherwise the processor itself
    copies, loads and stores."""
    changing: tuple[str, ...] = ()
    """Properties of a device that a run may change: they are read again after it."""
    links_property = ""
    """Property of a device: total bytes per second and direction of its links to alike devices."""
    aliases: Mapping[str, str] = MappingProxyType({})
    """Short selectors, each with the part of a platform's or device's name that it matches."""
    modes: tuple[str, ...] = ()
    """Allowed modes: parts after ``@`` in an address."""
    candidate_keys: tuple[str, ...] = ()
    """Address options that choose a candidate; the library does not get them."""

    @staticmethod
    def memory_Bps(properties: Mapping[str, str]) -> float:  # noqa: ARG004, N802 - a unit
        """Bytes per second of a device's own memory, from its properties; NaN if unknown."""
        return math.nan

    @staticmethod
    def emulates(device: DeviceDescription) -> bool:  # noqa: ARG004
        """Whether a device is software that emulates a card: its figures are not hardware's."""
        return False

    @property
    def library(self) -> Path:
        """Shared object of the backend."""
        return LIBRARIES / f"libisthmus_{self.name}.so"

    @abstractmethod
    def candidates(self, scheme: str) -> Sequence[Candidate]:
        """Ways to load the backend for a scheme here, the preferred way first; empty if none."""

    def candidates_for(self, address: Address) -> Sequence[Candidate]:
        """Candidates for the mode of an address."""
        return [c for c in self.candidates(address.scheme) if c.mode == address.mode]

    def problems(self, scheme: str) -> Sequence[Problem]:  # noqa: ARG002
        """Reasons why devices of a scheme cannot be used here."""
        return ()

    def run_options_of(self, device: Described) -> tuple[RunOption, ...]:  # noqa: ARG002
        """The options of ``run_options`` that this device accepts."""
        return self.run_options

    def options(self, address: Address) -> dict[str, str]:
        """Options for the library, from an address."""
        return {k: v for k, v in address.options.items() if k not in self.candidate_keys}

    def id_in(self, scheme: str, device: DeviceDescription) -> str:  # noqa: ARG002
        """The id of a device in addresses of this scheme."""
        return device.id

    def address_of(self, scheme: str, device: DeviceDescription) -> str:
        """A short address of this device, which other devices may share."""
        alias = next((a for a, part in self.aliases.items() if _is_named(device, part)), None)
        return f"{scheme}:{alias or self.id_in(scheme, device)}"

    def expects_hardware(self, address: Address) -> bool:
        """Whether an address means hardware; does not search the device."""
        return self.by_default and not address.mode

    def software_alone(self, address: Address) -> str:  # noqa: ARG002
        """For an emulated card: the address of its API without a card; empty if there is none."""
        return ""

    def others_of(self, scheme: str, device: DeviceDescription) -> Sequence[str]:  # noqa: ARG002
        """Addresses of further devices of the same kind that need no discovery: emulated boards."""
        return ()

    def meant_by(self, text: str) -> str:  # noqa: ARG002
        """The address that the user probably meant by a text without a scheme; empty if none."""
        return ""

    def matches(
        self, address: Address, devices: Sequence[DeviceDescription]
    ) -> Sequence[DeviceDescription]:
        """The devices that an address selects: several if it is ambiguous.

        Without a selector, the first device. Otherwise the devices with this id; if there are none,
        those with this PCI address or UUID, then this alias, then this part of a name.
        """
        wanted = address.selector.lower()
        if not wanted:
            return [] if self.named_exactly else devices[:1]
        ids = [d for d in devices if wanted in (d.id.lower(), self.id_in(address.scheme, d))]
        if ids:
            return ids
        place = f"0000:{wanted}" if _SHORT_PCI_ADDRESS.fullmatch(wanted) else wanted
        keys = ("pci_address", "uuid")
        places = [d for d in devices if place in (d.properties.get(k, "").lower() for k in keys)]
        if places or self.named_exactly or _POSITION.fullmatch(wanted):
            return places
        part = self.aliases.get(address.selector, wanted)
        return [device for device in devices if _is_named(device, part)]


def _is_named(device: DeviceDescription, part: str) -> bool:
    """Whether a text is part of a device's platform or name."""
    return part.lower() in f"{device.platform}\n{device.name}".lower()


@cache
def registry() -> Mapping[str, BackendDescription]:
    """All backends by name: those installed with Isthmus, then those of other packages."""
    names = sorted(path.stem for path in LIBRARIES.glob("[!_]*.py"))
    own = {name: importlib.import_module(f"{__name__}.{name}").BACKEND for name in names}
    return Registry(own, __name__)


def of(name: str) -> BackendDescription | type[BackendDescription]:
    """The backend of this name; if it is not installed here, the base class with its defaults."""
    return registry().get(name, BackendDescription)


def api_names() -> Mapping[str, str]:
    """Usual spelling of each ``api`` of the run file, as far as backends declare it."""
    names = {api: name for b in registry().values() for api, name in b.api_names.items()}
    return {"mpi": "MPI", **names}


def run_options() -> Mapping[str, RunOption]:
    """The options that backends declare, by name; several backends may declare the same option."""
    return {option.name: option for b in registry().values() for option in b.run_options}


def by_scheme(scheme: str) -> BackendDescription:
    """Backend of an address's scheme. Raises UsageError for an unknown scheme."""
    for backend in registry().values():
        if scheme in backend.schemes:
            return backend
    schemes = sorted(s for backend in registry().values() for s in backend.schemes)
    meant = next(filter(None, (b.meant_by(scheme) for b in registry().values())), "")
    instead = f"did you mean {meant}? " if meant else did_you_mean(scheme, schemes)
    raise UsageError(f"unknown backend '{scheme}'; {instead}known: {', '.join(schemes)}")
