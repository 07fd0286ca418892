"""Descriptions of backends: what the runner needs before it loads a backend's library.

A backend is one folder, ``cpp/backends/NAME``: the C++ behind the engine's interface and this
description of it, ``NAME.py``, which ends up here as ``isthmus.backends.NAME`` and defines
``BACKEND``. Other packages add theirs through the entry point group ``isthmus.backends``.
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
from isthmus.text import nearest

if TYPE_CHECKING:
    from isthmus.address import Address

LIBRARIES = built.FOLDER / "backends"
_SHORT_PCI_ADDRESS = re.compile(r"[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
"""A PCI address as lspci writes it where the machine has one domain only."""
_POSITION = re.compile(r"[0-9.:]+|(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
"""A number, an id such as ``0:1`` or a PCI address: never looked for in names, which have versions.
"""


@dataclass(frozen=True)
class CardSoftware:
    """What an API computes for a program on an emulated card; seconds: usual, least, most.

    Measured by programs of ``isthmus advise --job --code`` of 64 B, 64 KiB and 4 MiB an item under
    ``isthmus card exec``: time with the program's computing less ``--clock card``. They depend on
    the machine, and on what else it does (benchmarks/RESULTS.md).
    """

    scheme: str
    """Of the API's address: SCHEME:0@card=BOARD."""
    name: str
    """How people write the API."""
    transfer_s: tuple[float, float, float]
    """Of a transfer from mapped memory."""
    kernel_s: tuple[float, float, float]
    """Of a kernel's start and the wait for its end."""
    copied: str = "pageable"
    """Memory of the program, from which the API copies first."""
    mapped: str = "alloc_host"
    """Memory of the API's buffers, from which it need not copy."""
    mapped_call: str = "copy"
    """``call`` of ways with mapped memory: what the API's template takes."""
    has_host_only: bool = False
    """Whether the template has buffers that stay on the host, where kernels reach them."""


class Described(Protocol):
    """A device that is here, or a run file's record of one."""

    @property
    def properties(self) -> Mapping[str, str]:
        """What its backend says of it."""


class BackendDescription(ABC):
    """Name, addresses and ways to load a backend. Loads no vendor library itself."""

    name: str
    summary: str
    schemes: tuple[str, ...]
    """First parts of the addresses of this backend's devices."""
    run_options: tuple[RunOption, ...] = ()
    """Options of ``isthmus run`` for devices of this backend."""
    flags: Mapping[str, str] = MappingProxyType({})
    """Flags that its operations give their rows (``Operation::remarks``), and what each means."""
    memory_calls: Mapping[str, str] = MappingProxyType({})
    """Calls by which a program gets each kind of memory, simplest first: what a finding advises."""
    naive_memory = "pageable"
    """Kind of memory that a program has without asking: ``isthmus advise`` compares with it."""
    code_template = ""
    """File beside the description, for Jinja2: a program that moves data as ``isthmus advise``
    says (``cli.advise.program``)."""
    job_template = ""
    """The same for a program that runs a job (``isthmus advise --job --code``)."""
    card_software: CardSoftware | None = None
    """What its API adds on an emulated card; None where it drives none."""
    copied_memory: frozenset[str] = frozenset()
    """Kinds of memory from which the API copies first where the clock is simulated: the simulated
    time lacks that copy, which the program makes."""
    fastest_memory = ""
    """Kind of memory that the copy engines of its devices reach without a bounce copy."""
    map_advice = "map in place of a copy"
    """What to do where mapping a buffer is faster than copying it."""
    checks: tuple[Check, ...] = ()
    """What ``isthmus doctor`` checks of its devices alone."""
    own_api = True
    """Whether its API is made for its devices alone; else a standard that several vendors follow.

    Where both reach a device, a run measures the device by its own API, and the standard's cost
    beside it."""
    by_default = True
    """Whether ``isthmus run`` without ``--device`` measures this backend's hardware."""
    only_first_device = False
    """Whether that run measures its first device only: the others are to be named."""
    named_exactly = False
    """Whether an address must have the id or PCI address of a device, so that none that was not
    named is accessed."""
    api_names: Mapping[str, str] = MappingProxyType({})
    """The run file's ``api`` of its devices, and how people write each."""
    has_runtime = True
    """Whether a runtime stands between a program and its devices; else the processor itself copies,
    loads and stores."""
    changing: tuple[str, ...] = ()
    """Properties of a device that a run may change: they are read again when it has ended."""
    links_property = ""
    """Property of a device: bytes a second and direction of all its links to devices like it."""
    aliases: Mapping[str, str] = MappingProxyType({})
    """Short selectors, each with the part of a platform's or device's name that it selects."""
    modes: tuple[str, ...] = ()
    """Allowed parts after ``@`` in an address."""
    candidate_keys: tuple[str, ...] = ()
    """Address options that choose a candidate and are not passed on to the library."""

    @staticmethod
    def memory_Bps(properties: Mapping[str, str]) -> float:  # noqa: ARG004, N802 - a unit
        """Bytes a second of a device's own memory, by its properties; NaN if they do not say."""
        return math.nan

    @staticmethod
    def emulates(device: DeviceDescription) -> bool:  # noqa: ARG004
        """Whether a device is software that behaves like a card: its figures are no hardware's."""
        return False

    @property
    def library(self) -> Path:
        """Shared object of the backend."""
        return LIBRARIES / f"libisthmus_{self.name}.so"

    @abstractmethod
    def candidates(self, scheme: str) -> Sequence[Candidate]:
        """Ways to load the backend for a scheme here, the preferred first; empty if none."""

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
        """The id of a device, as addresses of this scheme write it."""
        return device.id

    def address_of(self, scheme: str, device: DeviceDescription) -> str:
        """A short address of this device; another device may have the same."""
        alias = next((a for a, part in self.aliases.items() if _is_named(device, part)), None)
        return f"{scheme}:{alias or self.id_in(scheme, device)}"

    def expects_hardware(self, address: Address) -> bool:
        """Whether an address names hardware, decided without looking for the device."""
        return self.by_default and not address.mode

    def software_alone(self, address: Address) -> str:  # noqa: ARG002
        """Of an emulated card: the address at which its API has no card behind it.

        Empty where there is none.
        """
        return ""

    def others_of(self, scheme: str, device: DeviceDescription) -> Sequence[str]:  # noqa: ARG002
        """Addresses of further devices of the same kind that need no discovery: emulated boards."""
        return ()

    def meant_by(self, text: str) -> str:  # noqa: ARG002
        """The address that a text without a scheme probably means; empty if none."""
        return ""

    def matches(
        self, address: Address, devices: Sequence[DeviceDescription]
    ) -> Sequence[DeviceDescription]:
        """The devices that an address selects: several where it is ambiguous.

        Without a selector the first device. Else the devices with this id, else those with this
        PCI address or UUID, else those of this alias, else those with this part of a name.
        """
        wanted = address.selector.lower()
        if not wanted:
            return [] if self.named_exactly else devices[:1]
        ids = [d for d in devices if wanted in (d.id.lower(), self.id_in(address.scheme, d))]
        if ids:
            return ids
        place = f"0000:{wanted}" if _SHORT_PCI_ADDRESS.fullmatch(wanted) else wanted
        known = ("pci_address", "uuid")
        places = [d for d in devices if place in (d.properties.get(k, "").lower() for k in known)]
        if places or self.named_exactly or _POSITION.fullmatch(wanted):
            return places
        part = self.aliases.get(address.selector, wanted)
        return [device for device in devices if _is_named(device, part)]


def _is_named(device: DeviceDescription, part: str) -> bool:
    """Whether a text is a part of a device's platform or name."""
    return part.lower() in f"{device.platform}\n{device.name}".lower()


@cache
def registry() -> Mapping[str, BackendDescription]:
    """All backends by name: those installed with Isthmus, then those of other packages."""
    names = sorted(path.stem for path in LIBRARIES.glob("[!_]*.py"))
    own = {name: importlib.import_module(f"{__name__}.{name}").BACKEND for name in names}
    return Registry(own, __name__)


def of(name: str) -> BackendDescription | type[BackendDescription]:
    """The backend of this name; where it is not installed here, what all have by default."""
    return registry().get(name, BackendDescription)


def api_names() -> Mapping[str, str]:
    """How people write each ``api`` of the run file, as far as somebody says."""
    names = {api: name for b in registry().values() for api, name in b.api_names.items()}
    return {"mpi": "MPI", **names}


def run_options() -> Mapping[str, RunOption]:
    """The options that backends declare, by name; several backends may declare the same option."""
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
