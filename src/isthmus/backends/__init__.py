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
"""A PCI address without its domain, ``65:00.0``, as lspci prints it if all domains are 0."""
_POSITION = re.compile(r"[0-9.:]+|(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
"""A selector that is a number, an id such as ``0:1`` or a PCI address.

``matches`` never searches it in names of devices, whose version numbers could match."""


@dataclass(frozen=True)
class CardSoftware:
    """Processor time that an API adds to each call of a program on an emulated card.

    Each time is in seconds: usual, least, most. Source: programs of ``isthmus advise --job --code``
    with 64 B, 64 KiB and 4 MiB an item under ``isthmus card exec``. A time is the difference of two
    runs: with the program's computing, and with ``--clock card``, which leaves the computing out.
    The times depend on the machine and its load (benchmarks/RESULTS.md).
    """

    scheme: str
    """Scheme of the API's address, SCHEME:0@card=BOARD."""
    name: str
    """Usual spelling of the API."""
    transfer_s: tuple[float, float, float]
    """Seconds of a transfer between card and a mapped buffer: usual, least, most."""
    kernel_s: tuple[float, float, float]
    """Seconds of a kernel's start and of the wait for its end together: usual, least, most."""
    copied: str = "pageable"
    """Kind of the program's memory whose data the API first copies to a buffer for DMA."""
    mapped: str = "alloc_host"
    """Kind of the API's own buffers, from which DMA reads without a copy by the API."""
    mapped_call: str = "copy"
    """Value of ``call`` that the API's template gets for transfers of mapped memory."""
    has_host_only: bool = False
    """Whether the API's template can allocate host memory that kernels access directly."""


class Described(Protocol):
    """A device that is here, or a run file's record of a device."""

    @property
    def properties(self) -> Mapping[str, str]:
        """The device's properties by name, as its backend reported them."""


class BackendDescription(ABC):
    """Name, addresses and ways to load a backend. Does not load the vendor's library."""

    name: str
    summary: str
    schemes: tuple[str, ...]
    """First parts of the addresses of this backend's devices."""
    run_options: tuple[RunOption, ...] = ()
    """Options of ``isthmus run`` for devices of this backend."""
    flags: Mapping[str, str] = MappingProxyType({})
    """Flags that the backend's operations set on rows (``Operation::remarks``), each with its
    meaning."""
    memory_calls: Mapping[str, str] = MappingProxyType({})
    """Calls by which a program allocates each kind of memory, simplest first, for advice in
    findings."""
    naive_memory = "pageable"
    """Kind of memory that a program uses without advice: ``isthmus advise`` compares with it."""
    code_template = ""
    """Name of a Jinja2 template beside the description. From it, ``cli.advise.program`` makes the
    program that moves data as ``isthmus advise`` recommends; empty without a template."""
    job_template = ""
    """Name of the Jinja2 template of a program that runs a whole job (``isthmus advise --job
    --code``); empty without a template."""
    card_software: CardSoftware | None = None
    """Time that the backend's API adds on an emulated card; None if it drives no emulated card."""
    copied_memory: frozenset[str] = frozenset()
    """Kinds of memory that the API copies on the processor before a simulated transfer. Simulated
    time lacks this copy, although a program waits for it."""
    fastest_memory = ""
    """Kind of host memory that the devices' copy engines access directly, without a copy to a
    bounce buffer; empty if no kind is known."""
    map_advice = "map in place of a copy"
    """Advice if mapping a buffer is faster than copying it."""
    checks: tuple[Check, ...] = ()
    """Checks that ``isthmus doctor`` makes only for devices of this backend."""
    own_api = True
    """True for an API of one vendor's devices, false for a standard of several vendors. If both
    reach a device, a run measures the device by the vendor's API, and the standard's extra cost."""
    by_default = True
    """Whether ``isthmus run`` without ``--device`` measures this backend's hardware."""
    only_first_device = False
    """Whether ``isthmus run`` without ``--device`` measures only the backend's first device; the
    user must name further devices."""
    named_exactly = False
    """Whether an address must contain a device's id or PCI address, so that no other device is
    accessed."""
    api_names: Mapping[str, str] = MappingProxyType({})
    """Values of ``api`` in the run file for its devices, with their usual spelling."""
    has_runtime = True
    """Whether a runtime stands between a program and its devices. Otherwise the processor itself
    copies, loads and stores."""
    changing: tuple[str, ...] = ()
    """Names of device properties that a run may change: Isthmus reads them again after the run."""
    links_property = ""
    """Name of the device property with the bytes per second, in one direction, of all links to
    devices of the same kind together; empty without such a property."""
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
        """The candidates of the address's scheme that have the address's mode."""
        return [c for c in self.candidates(address.scheme) if c.mode == address.mode]

    def problems(self, scheme: str) -> Sequence[Problem]:  # noqa: ARG002
        """Reasons why devices of a scheme cannot be used here."""
        return ()

    def run_options_of(self, device: Described) -> tuple[RunOption, ...]:  # noqa: ARG002
        """The options of ``run_options`` that this device accepts."""
        return self.run_options

    def options(self, address: Address) -> dict[str, str]:
        """The address's options that the backend's library gets: all but ``candidate_keys``."""
        return {k: v for k, v in address.options.items() if k not in self.candidate_keys}

    def id_in(self, scheme: str, device: DeviceDescription) -> str:  # noqa: ARG002
        """The id of a device in addresses of this scheme."""
        return device.id

    def address_of(self, scheme: str, device: DeviceDescription) -> str:
        """A short address of this device, which other devices may share."""
        alias = next((a for a, part in self.aliases.items() if _is_named(device, part)), None)
        return f"{scheme}:{alias or self.id_in(scheme, device)}"

    def expects_hardware(self, address: Address) -> bool:
        """Whether an address means hardware, by its text alone: no device is searched."""
        return self.by_default and not address.mode

    def software_alone(self, address: Address) -> str:  # noqa: ARG002
        """For an emulated card: address at which the API's software is timed without a card.

        Empty if there is no such address.
        """
        return ""

    def others_of(self, scheme: str, device: DeviceDescription) -> Sequence[str]:  # noqa: ARG002
        """Addresses of further emulated boards, which exist without any discovery."""
        return ()

    def meant_by(self, text: str) -> str:  # noqa: ARG002
        """The address that the user probably meant by a text without a scheme; empty if none."""
        return ""

    def matches(
        self, address: Address, devices: Sequence[DeviceDescription]
    ) -> Sequence[DeviceDescription]:
        """The devices that an address selects: several if the address is ambiguous.

        An empty selector selects the first device, or none with ``named_exactly``. Otherwise
        devices with this id come first, then with this PCI address or UUID, then with a name that
        contains the selector or its alias. ``named_exactly`` excludes names and aliases, and so
        does a selector of digits.
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
    """Whether the device's platform or name contains a text, in any case of letters."""
    return part.lower() in f"{device.platform}\n{device.name}".lower()


@cache
def registry() -> Mapping[str, BackendDescription]:
    """All backends by name: those installed with Isthmus, then those of other packages."""
    names = sorted(path.stem for path in LIBRARIES.glob("[!_]*.py"))
    own = {name: importlib.import_module(f"{__name__}.{name}").BACKEND for name in names}
    return Registry(own, __name__)


def of(name: str) -> BackendDescription | type[BackendDescription]:
    """The backend of this name; the base class with its defaults if it is not installed here."""
    return registry().get(name, BackendDescription)


def api_names() -> Mapping[str, str]:
    """Usual spelling of each value of ``api`` in run files, from all backends, and of MPI."""
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
