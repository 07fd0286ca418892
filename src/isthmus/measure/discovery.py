"""Finds the devices of this machine, and the device of an address.

Each candidate that loads a vendor's library is probed in a separate worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from threading import Lock

from isthmus.backends import BackendDescription, Candidate, Problem, by_scheme, registry
from isthmus.errors import IsthmusError, NoDeviceError, NoSuchDeviceError, UsageError
from isthmus.measure import protocol
from isthmus.measure.address import Address
from isthmus.measure.supervisor import WorkerDiedError, WorkerProcess
from isthmus.text import nearest

_PROBE_SILENCE_S = 30.0


@dataclass(frozen=True)
class FoundDevice:
    """A device and how to reach it."""

    address: str
    backend: BackendDescription
    candidate: Candidate
    description: protocol.DeviceDescription
    run_options: Mapping[str, str] = field(default_factory=dict)
    """Options of the run that this device accepts."""
    others: tuple[str, ...] = ()
    """Addresses of the same kind: see ``BackendDescription.others_of``."""
    beside: str = ""
    """Address by which a run measures the same card fully; empty: this device's own."""

    @property
    def real(self) -> bool:
        """Whether its measurements are of hardware."""
        return self.candidate.hardware

    @property
    def scheme(self) -> str:
        """First part of its address."""
        return Address.parse(self.address).scheme

    @property
    def pci_address(self) -> str:
        """Its PCIe function, in lower case; empty where that is not known."""
        return self.description.properties.get("pci_address", "").lower()

    @property
    def accelerates(self) -> bool:
        """Whether it is a device with a runtime that is none of this machine's processors."""
        kind = self.description.properties.get("type", "")
        return self.backend.has_runtime and kind != "cpu"

    @property
    def direct_memory(self) -> str:
        """Kind of host memory that a real PCIe device reaches without a copy by its driver.

        Empty where no such kind is known, and for what is no PCIe device.
        """
        is_pcie = self.real and self.description.properties.get("pci_address")
        return self.backend.fastest_memory if is_pcie else ""

    @cached_property
    def options(self) -> dict[str, str]:
        """Options for the backend's library, from the run and the address."""
        return {**self.run_options, **self.backend.options(Address.parse(self.address))}

    def with_run_options(self, given: Mapping[str, str]) -> FoundDevice:
        """The same device with those options of the run that it accepts."""
        known = {option.name for option in self.backend.run_options_of(self.description)}
        taken = {k: v for k, v in given.items() if k in known}
        return replace(self, run_options=taken)

    def open_request(self) -> protocol.OpenDevice:
        """The first request to its worker."""
        return protocol.OpenDevice(str(self.backend.library), self.description.id, self.options)


@dataclass(frozen=True)
class Survey:
    """One backend on this machine."""

    backend: BackendDescription
    devices: list[FoundDevice]
    problems: list[Problem]


class SharedWorker(ExitStack):
    """A worker for backends that load no vendor's library: starting one takes longer than answers.

    It starts at the first question, unless told before, and dies with the thread that started it.
    One that died is followed by a new one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._worker: WorkerProcess | None = None
        self._lock = Lock()

    def start(self) -> WorkerProcess:
        """Starts the worker, if none is there."""
        self._worker = self._worker or self.enter_context(
            WorkerProcess({}, silence_s=_PROBE_SILENCE_S)
        )
        return self._worker

    def ask(self, request: protocol.Request) -> protocol.Answer:
        """See Responder."""
        with self._lock:
            try:
                return self.start().ask(request)
            except WorkerDiedError:
                self._worker = None
                raise


def _probe(
    backend: BackendDescription, candidate: Candidate, shared: SharedWorker | None = None
) -> list[protocol.DeviceDescription] | Problem:
    request = protocol.ListDevices(str(backend.library))
    try:
        if shared and candidate.built_in:
            answer = shared.ask(request)
        else:
            with WorkerProcess(candidate.environment, silence_s=_PROBE_SILENCE_S) as worker:
                answer = worker.ask(request)
    except IsthmusError as error:
        return Problem(f"{candidate.label}: {error}", "mend or remove what it names")
    assert isinstance(answer, protocol.Devices)
    if not answer.devices:
        cure = "see whether what it names exists and loads, and its documentation"
        return Problem(f"{candidate.label}: offers no device", cure)
    return answer.devices


def survey(backend: BackendDescription, shared: SharedWorker | None = None) -> Survey:
    """Devices of one backend, each with the shortest address that no earlier one has.

    ``shared`` probes the candidates that load no library of a vendor: starting a worker takes
    longer than its answers.
    """
    devices: dict[str, FoundDevice] = {}
    problems: list[Problem] = []
    candidates: list[tuple[str, Candidate]] = []
    for scheme in backend.schemes:
        try:
            problems += backend.problems(scheme)
            candidates += [(scheme, one) for one in backend.candidates(scheme)]
        except IsthmusError as error:  # the other schemes may still have devices
            problems.append(Problem(str(error), "mend or remove what it names"))
    with ThreadPoolExecutor() as pool:
        probes = list(pool.map(lambda one: _probe(backend, one[1], shared), candidates))
    for (scheme, candidate), probed in zip(candidates, probes, strict=True):
        if isinstance(probed, Problem):
            problems.append(probed)
            continue
        mode = f"@{candidate.mode}" if candidate.mode else ""
        for device in probed:
            address = backend.address_of(scheme, device)
            if address + mode in devices:
                keys = (f"{key}={value}" for key, value in candidate.keys.items())
                address = ",".join([f"{scheme}:{device.id}", *keys])
            address += mode
            others = tuple(backend.others_of(scheme, device))
            new = FoundDevice(address, backend, candidate, device, others=others)
            devices.setdefault(address, new)
    return Survey(backend, list(devices.values()), problems)


def surveys() -> list[Survey]:
    """All backends on this machine."""
    with SharedWorker() as shared, ThreadPoolExecutor() as pool:
        shared.start()
        return list(pool.map(partial(survey, shared=shared), registry().values()))


def real_devices() -> list[FoundDevice]:
    """The devices of ``isthmus run`` without ``--device``: each hardware device once an API.

    A device that two libraries offer (two PoCLs, one driver named twice) is the same one where PCI
    address, or without one the platform, agree. Processors with an OpenCL runtime are left out
    where an accelerator is here.
    """
    first: dict[tuple[str, str], Candidate] = {}
    devices: list[FoundDevice] = []
    for one in surveys():
        for device in one.devices:
            same = one.backend.name, device.pci_address or device.description.platform
            wanted = device.real and one.backend.by_default
            if wanted and first.setdefault(same, device.candidate) == device.candidate:
                devices.append(device)
                if one.backend.only_first_device:
                    break
    if any(device.accelerates for device in devices):
        devices = [one for one in devices if one.accelerates or not one.backend.has_runtime]
    return grouped(devices)


def grouped(devices: Sequence[FoundDevice]) -> list[FoundDevice]:
    """The devices, each card's own API before the other APIs that reach the same PCIe function."""
    primary: dict[str, FoundDevice] = {}
    for device in sorted(devices, key=_by_api):
        if device.accelerates and device.pci_address:
            primary.setdefault(device.pci_address, device)
    result: list[FoundDevice] = []
    for device in devices:
        known = primary.get(device.pci_address) if device.accelerates else None
        beside = known.address if known and known is not device else ""
        result.append(replace(device, beside=beside))
    return sorted(result, key=lambda device: bool(device.beside))


def _by_api(device: FoundDevice) -> tuple[bool, int]:
    """Sort key: a vendor's own API first, then a backend's schemes in their order."""
    return not device.backend.own_api, device.backend.schemes.index(device.scheme)


def may_be_here(text: str) -> bool:
    """Whether this machine has the libraries for an address; the device itself is not opened."""
    address = Address.parse(text)
    try:
        return bool(by_scheme(address.scheme).candidates_for(address))
    except IsthmusError:
        return False


def _same_kind(
    match: protocol.DeviceDescription,
    address: Address,
    probed: Sequence[protocol.DeviceDescription],
) -> list[protocol.DeviceDescription]:
    """Devices of the same kind as the match of an address, unless the address selects one."""
    if match.id == address.selector:
        return [match]
    kind = (match.platform, match.name)
    return [one for one in probed if (one.platform, one.name) == kind] or [match]


def resolve(text: str, turn: int = 0, shared: SharedWorker | None = None) -> FoundDevice:
    """The device of an address; of several of the same kind, number ``turn``, cyclically.

    ``shared`` probes the candidates that load no library of a vendor.
    Raises UsageError where no device can have this address, NoSuchDeviceError where only others of
    its kind are here, NoDeviceError where none is.
    """
    address = Address.parse(text)
    backend = by_scheme(address.scheme)
    for option in backend.run_options:
        if option.permission and option.name in address.options:  # it may come from a run file
            raise UsageError(
                f"device '{text}': permissions are options of the command: {option.flag}"
            )
    if address.mode and address.mode.partition("=")[0] not in backend.modes:
        raise UsageError(f"device '{text}': {backend.name} has no mode '@{address.mode}'")
    keys = {k: v for k, v in address.options.items() if k in backend.candidate_keys}
    candidates = [
        candidate
        for candidate in backend.candidates_for(address)
        if all(candidate.keys.get(key) == value for key, value in keys.items())
    ]
    here: list[str] = []
    problems = [p for p in backend.problems(address.scheme) if p.mode in {None, address.mode}]
    for candidate in candidates:
        probed = _probe(backend, candidate, shared)
        if isinstance(probed, Problem):
            problems.append(probed)
            continue
        match = backend.match(address, probed)
        if match is not None:
            rivals = _same_kind(match, address, probed)
            return FoundDevice(text, backend, candidate, rivals[turn % len(rivals)])
        here += [backend.address_of(address.scheme, device) for device in probed]
    if here and address.selector not in backend.aliases:
        known = dict.fromkeys(here)
        raise NoSuchDeviceError(
            f"no device '{text}'; {nearest(text, known)}here: {', '.join(known)}"
        )
    why = "; ".join(f"{p.what} ({p.cure})" for p in problems)
    others = f"; here: {', '.join(dict.fromkeys(here))}" if here else ""
    raise NoDeviceError(f"'{text}' is not here{': ' + why if why else ''}{others}")
