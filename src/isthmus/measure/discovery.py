"""Finds the devices of this machine, and the device of an address.

Each candidate that loads a vendor's library is probed in a separate worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from threading import Lock

from isthmus.address import Address
from isthmus.backends import BackendDescription, by_scheme, registry
from isthmus.candidates import Candidate, Problem
from isthmus.descriptions import DeviceDescription, place_of
from isthmus.errors import IsthmusError, NoDeviceError, NoSuchDeviceError, UsageError
from isthmus.measure import protocol, selection
from isthmus.measure.selection import Identity, Probed
from isthmus.measure.supervisor import Responder, WorkerDiedError, WorkerProcess
from isthmus.system.binding import UNBOUND, Binding
from isthmus.text import nearest

_PROBE_SILENCE_S = 30.0


@dataclass(frozen=True)
class FoundDevice:
    """A device and how to reach it."""

    address: str
    backend: BackendDescription
    candidate: Candidate
    description: DeviceDescription
    run_options: Mapping[str, str] = field(default_factory=dict)
    """Options of the run that this device accepts."""
    others: tuple[str, ...] = ()
    """Addresses of the same kind: see ``BackendDescription.others_of``."""
    beside: str = ""
    """Address by which a run measures the same ``subject`` fully; empty: this device's own."""
    like: str = ""
    """Address of the first device of the same kind, whose curve the run measures; empty: this
    device is the first."""
    added: bool = False
    """Whether the user did not name it: the run times the software of its API alone."""

    @property
    def real(self) -> bool:
        """Whether its measurements are of hardware."""
        return self.candidate.hardware and not self.backend.emulates(self.description)

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
        """Whether it has a runtime, and this machine's processors do not do its work."""
        kind = self.description.properties.get("type", "")
        emulated = self.backend.emulates(self.description)
        return self.backend.has_runtime and kind != "cpu" and not emulated

    @property
    def subject(self) -> str:
        """What it physically is: a PCIe function, or this machine's processor; empty: unknown.

        Of devices with a runtime: several of these may reach the same one.
        """
        if self.accelerates:
            return self.pci_address
        of_processor = self.description.properties.get("type") == "cpu"
        return "processor" if self.backend.has_runtime and self.real and of_processor else ""

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
        described = self.description
        place = place_of(described.properties)
        return protocol.OpenDevice(str(self.backend.library), described.id, self.options, place)

    def worker(
        self, binding: Binding = UNBOUND, references: int = -1
    ) -> AbstractContextManager[Responder]:
        """A fresh worker for it; arguments as those of ``WorkerProcess``."""
        return WorkerProcess(self.candidate.environment, binding=binding, references=references)


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
) -> list[DeviceDescription] | Problem:
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


def _probe_all(
    backend: BackendDescription, candidates: Sequence[Candidate], shared: SharedWorker | None
) -> list[list[Probed] | Problem]:
    """What each candidate offers, probed at the same time."""

    def probe(candidate: Candidate) -> list[Probed] | Problem:
        found = _probe(backend, candidate, shared)
        if isinstance(found, Problem):
            return found
        return [Probed(candidate, description) for description in found]

    if len(candidates) == 1:
        return [probe(candidates[0])]
    if shared and any(candidate.built_in for candidate in candidates):
        shared.start()  # by this thread: a worker dies with the thread that started it
    with ThreadPoolExecutor() as pool:
        return list(pool.map(probe, candidates))


def survey(backend: BackendDescription, shared: SharedWorker | None = None) -> Survey:
    """Devices of one backend, each with the shortest address that selects it alone.

    ``shared`` probes the candidates that load no library of a vendor: starting a worker takes
    longer than its answers.
    """
    problems: list[Problem] = []
    candidates: list[tuple[str, Candidate]] = []
    for scheme in backend.schemes:
        try:
            problems += backend.problems(scheme)
            candidates += [(scheme, one) for one in backend.candidates(scheme)]
        except IsthmusError as error:  # the other schemes may still have devices
            problems.append(Problem(str(error), "mend or remove what it names"))
    groups: dict[tuple[str, str], list[Probed]] = {}
    probes = _probe_all(backend, [candidate for _, candidate in candidates], shared)
    for (scheme, candidate), probed in zip(candidates, probes, strict=True):
        if isinstance(probed, Problem):
            problems.append(probed)
        else:
            groups.setdefault((scheme, candidate.mode), []).extend(probed)
    devices = [
        FoundDevice(
            address, backend, one.candidate, one.description,
            others=tuple(backend.others_of(scheme, one.description)),
        )
        for (scheme, mode), group in groups.items()
        for address, one in selection.addresses(backend, scheme, mode, group)
    ]  # fmt: skip
    return Survey(backend, devices, problems)


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
    """The devices, each card's own API before the other APIs that reach it.

    Likewise the first of several runtimes that compute on this machine's processor.
    """
    primary: dict[str, FoundDevice] = {}
    for device in sorted(devices, key=_by_api):
        if device.subject:
            primary.setdefault(device.subject, device)
    result: list[FoundDevice] = []
    for device in devices:
        known = primary.get(device.subject)
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


def resolve(
    text: str,
    turn: int | None = None,
    shared: SharedWorker | None = None,
    before: Identity | None = None,
) -> FoundDevice:
    """The device of an address.

    ``turn``: number of a rank; where an address selects several devices of the same kind, ranks
    share them out. ``shared`` probes the candidates that load no library of a vendor.
    ``before``: the device that a run had at this address. That device is returned, also where it
    has another number now.

    Raises UsageError where no device can have this address, or several have it, NoSuchDeviceError
    where only others of its kind are here, NoDeviceError where none is, or not the device of
    ``before``.
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
    problems = [p for p in backend.problems(address.scheme) if p.mode in {None, address.mode}]
    probed: list[Probed] = []
    for found in _probe_for(backend, address, shared, all_of_them=before is not None):
        if isinstance(found, Problem):
            problems.append(found)
        else:
            probed += found
    selected = selection.select(backend, address, probed)
    if before is not None:
        selected = selection.as_before(before, selected, probed)
        turn = None if before.place else turn
    one = selection.one_of(backend, address, selected, probed, turn)
    if one is not None:
        return FoundDevice(text, backend, one.candidate, one.description)
    names = selection.addresses(backend, address.scheme, address.mode, probed)
    here = [name for name, _ in names]
    if before is not None and before.place and here:
        raise NoDeviceError(
            f"'{text}': the run measured {before.name} at {before.place}, which is not here; "
            f"here: {', '.join(here)}"
        )
    if here and address.selector not in backend.aliases:
        raise NoSuchDeviceError(f"no device '{text}'; {nearest(text, here)}here: {', '.join(here)}")
    why = "; ".join(f"{p.what} ({p.cure})" for p in problems)
    others = f"; here: {', '.join(here)}" if here else ""
    raise NoDeviceError(f"'{text}' is not here{': ' + why if why else ''}{others}")


def _probe_for(
    backend: BackendDescription,
    address: Address,
    shared: SharedWorker | None,
    *,
    all_of_them: bool,
) -> Iterator[list[Probed] | Problem]:
    """Devices of the candidates that an address may mean.

    Whatever the address selects by an id or a name is looked for in all candidates, so that an
    ambiguous address is noticed. An alias, and an address without a selector, need the first
    candidate that has such a device: starting a runtime takes time.
    """
    keys = {k: v for k, v in address.options.items() if k in backend.candidate_keys}
    candidates = [
        candidate
        for candidate in backend.candidates_for(address)
        if keys.items() <= candidate.keys.items()
    ]
    if all_of_them or (address.selector and address.selector not in backend.aliases):
        yield from _probe_all(backend, candidates, shared)
        return
    for candidate in candidates:
        (found,) = _probe_all(backend, [candidate], shared)
        yield found
        if not isinstance(found, Problem) and selection.select(backend, address, found):
            break
