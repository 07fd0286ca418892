"""Finds the devices of this machine, and the device that an address means.

A separate worker probes each candidate that loads a vendor's library, because such a library may
crash its process.
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
from isthmus.text import did_you_mean

_PROBE_SILENCE_S = 30.0


@dataclass(frozen=True)
class FoundDevice:
    """A device of this machine, with all that a worker needs to open it."""

    address: str
    backend: BackendDescription
    candidate: Candidate
    description: DeviceDescription
    run_options: Mapping[str, str] = field(default_factory=dict)
    """Options of the run that this device accepts."""
    others: tuple[str, ...] = ()
    """Addresses of devices of the same kind: see ``BackendDescription.others_of``."""
    beside: str = ""
    """Address of another API of the same hardware (``subject``) that the run measures fully; empty
    if the run measures this device fully."""
    like: str = ""
    """Address of the run's first device of the same kind, which alone gets the full curve; empty
    for this first device."""
    added: bool = False
    """Whether the run added this device unasked, to time the software of an API without a card."""

    @property
    def real(self) -> bool:
        """Whether the device is hardware, neither null nor emulated."""
        return self.candidate.hardware and not self.backend.emulates(self.description)

    @property
    def scheme(self) -> str:
        """First part of the device's address, which names the API: ``cuda``, ``xrt``."""
        return Address.parse(self.address).scheme

    @property
    def pci_address(self) -> str:
        """Address of the device's PCIe function in lower case; empty if unknown."""
        return self.description.properties.get("pci_address", "").lower()

    @property
    def accelerates(self) -> bool:
        """Whether the device is real, has a runtime, and is not this machine's processor."""
        kind = self.description.properties.get("type", "")
        emulated = self.backend.emulates(self.description)
        return self.backend.has_runtime and kind != "cpu" and not emulated

    @property
    def subject(self) -> str:
        """The hardware behind the device: a PCIe function or ``processor``; empty: unknown.

        Several devices, each of another runtime, may have the same subject.
        """
        if self.accelerates:
            return self.pci_address
        of_processor = self.description.properties.get("type") == "cpu"
        return "processor" if self.backend.has_runtime and self.real and of_processor else ""

    @property
    def direct_memory(self) -> str:
        """Kind of host memory that a real PCIe device accesses without a copy by its driver.

        Empty if no such kind is known, and for devices that are emulated or not on PCIe.
        """
        is_pcie = self.real and self.description.properties.get("pci_address")
        return self.backend.fastest_memory if is_pcie else ""

    @cached_property
    def options(self) -> dict[str, str]:
        """Options for the backend's library, from the run and the address."""
        return {**self.run_options, **self.backend.options(Address.parse(self.address))}

    def with_run_options(self, requested: Mapping[str, str]) -> FoundDevice:
        """A copy of the device with those of the ``requested`` options that it accepts."""
        accepted = {option.name for option in self.backend.run_options_of(self.description)}
        taken = {k: v for k, v in requested.items() if k in accepted}
        return replace(self, run_options=taken)

    def open_request(self) -> protocol.OpenDevice:
        """The first request to the device's worker: to open the device."""
        described = self.description
        place = place_of(described.properties)
        return protocol.OpenDevice(str(self.backend.library), described.id, self.options, place)

    def worker(
        self, binding: Binding = UNBOUND, references: int = -1
    ) -> AbstractContextManager[Responder]:
        """A context manager that starts a fresh worker; see ``WorkerProcess`` for the arguments."""
        return WorkerProcess(self.candidate.environment, binding=binding, references=references)


@dataclass(frozen=True)
class Survey:
    """What discovery found for one backend: devices, and reasons why others cannot be used."""

    backend: BackendDescription
    devices: list[FoundDevice]
    problems: list[Problem]


class SharedWorker(ExitStack):
    """A worker that serves all backends without a vendor's library, since each start takes time.

    The process starts with the first request or ``start``, and ends with the thread that started
    it. If the process has died, the next request starts a new one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._worker: WorkerProcess | None = None
        self._lock = Lock()

    def start(self) -> WorkerProcess:
        """Starts the worker unless it runs."""
        self._worker = self._worker or self.enter_context(
            WorkerProcess({}, silence_s=_PROBE_SILENCE_S)
        )
        return self._worker

    def ask(self, request: protocol.Request) -> protocol.Answer:
        """See ``Responder.ask``."""
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
        return Problem(
            f"{candidate.label}: {error}", "repair or remove the library or file that it names"
        )
    assert isinstance(answer, protocol.Devices)
    if not answer.devices:
        cure = "check that its library exists and loads; see the library's documentation"
        return Problem(f"{candidate.label}: offers no device", cure)
    return answer.devices


def _probe_all(
    backend: BackendDescription, candidates: Sequence[Candidate], shared: SharedWorker | None
) -> list[list[Probed] | Problem]:
    """Probes all candidates of a backend at the same time; returns devices or problem of each."""

    def probe(candidate: Candidate) -> list[Probed] | Problem:
        offered = _probe(backend, candidate, shared)
        if isinstance(offered, Problem):
            return offered
        return [Probed(candidate, description) for description in offered]

    if len(candidates) == 1:
        return [probe(candidates[0])]
    if shared and any(candidate.built_in for candidate in candidates):
        shared.start()  # in this thread: the worker would end with a thread of the pool
    with ThreadPoolExecutor() as pool:
        return list(pool.map(probe, candidates))


def survey(backend: BackendDescription, shared: SharedWorker | None = None) -> Survey:
    """Devices of one backend, each with the shortest address that selects it alone.

    The ``shared`` worker probes candidates that load no vendor's library, because starts are slow.
    """
    problems: list[Problem] = []
    candidates: list[tuple[str, Candidate]] = []
    for scheme in backend.schemes:
        try:
            problems += backend.problems(scheme)
            candidates += [(scheme, candidate) for candidate in backend.candidates(scheme)]
        except IsthmusError as error:  # go on: the backend's other schemes may have devices
            problems.append(
                Problem(str(error), "repair or remove the library or file that it names")
            )
    groups: dict[tuple[str, str], list[Probed]] = {}
    probes = _probe_all(backend, [candidate for _, candidate in candidates], shared)
    for (scheme, candidate), probed in zip(candidates, probes, strict=True):
        if isinstance(probed, Problem):
            problems.append(probed)
        else:
            groups.setdefault((scheme, candidate.mode), []).extend(probed)
    devices = [
        FoundDevice(
            address, backend, probed_device.candidate, probed_device.description,
            others=tuple(backend.others_of(scheme, probed_device.description)),
        )
        for (scheme, mode), group in groups.items()
        for address, probed_device in selection.addresses(backend, scheme, mode, group)
    ]  # fmt: skip
    return Survey(backend, devices, problems)


def surveys() -> list[Survey]:
    """What discovery found on this machine, for each backend."""
    with SharedWorker() as shared, ThreadPoolExecutor() as pool:
        shared.start()
        return list(pool.map(partial(survey, shared=shared), registry().values()))


def real_devices() -> list[FoundDevice]:
    """The devices of ``isthmus run`` without ``--device``: each hardware device once for each API.

    Two libraries may offer the same device (two PoCLs, or a driver that is named twice). Devices
    are the same if their PCI addresses agree, or their platforms if they have no PCI address. If
    the machine has an accelerator, processors with an OpenCL runtime are left out.
    """
    first: dict[tuple[str, str], Candidate] = {}
    devices: list[FoundDevice] = []
    for survey_of_backend in surveys():
        for device in survey_of_backend.devices:
            same = survey_of_backend.backend.name, device.pci_address or device.description.platform
            wanted = device.real and survey_of_backend.backend.by_default
            if wanted and first.setdefault(same, device.candidate) == device.candidate:
                devices.append(device)
                if survey_of_backend.backend.only_first_device:
                    break
    if any(device.accelerates for device in devices):
        devices = [
            survey_of_backendice
            for survey_of_backendice in devices
            if survey_of_backendice.accelerates or not survey_of_backendice.backend.has_runtime
        ]
    return grouped(devices)


def grouped(devices: Sequence[FoundDevice]) -> list[FoundDevice]:
    """The devices with ``beside`` set: a card's other APIs name its own API there and come last.

    Of several runtimes on this machine's processor, the first counts as its own API.
    """
    primary: dict[str, FoundDevice] = {}
    for device in sorted(devices, key=_by_api):
        if device.subject:
            primary.setdefault(device.subject, device)
    result: list[FoundDevice] = []
    for device in devices:
        first = primary.get(device.subject)
        beside = first.address if first and first is not device else ""
        result.append(replace(device, beside=beside))
    return sorted(result, key=lambda device: bool(device.beside))


def _by_api(device: FoundDevice) -> tuple[bool, int]:
    """Sort key: a vendor's own API first, then a backend's schemes in their order."""
    return not device.backend.own_api, device.backend.schemes.index(device.scheme)


def may_be_here(text: str) -> bool:
    """Whether this machine has the libraries for an address; does not look for the device."""
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

    Args:
        text: The address.
        turn: Number of a rank. If an address selects several devices of one kind, rank n gets the
            device with number n modulo their number. None: such an address is ambiguous.
        shared: Probes the candidates that load no vendor's library.
        before: Identity of the device that an earlier run had at this address: this device is
            returned, even if it has another number now.

    Raises:
        UsageError: No device can have this address, or several devices have it.
        NoSuchDeviceError: Only other devices of its kind are here.
        NoDeviceError: No device of its kind is here, or not the device of ``before``.

    """
    address = Address.parse(text)
    backend = by_scheme(address.scheme)
    for option in backend.run_options:
        # Refuse it: the run file would store the permission as part of the address.
        if option.permission and option.name in address.options:
            raise UsageError(
                f"device '{text}': permissions are options of the command: {option.flag}"
            )
    if address.mode and address.mode.partition("=")[0] not in backend.modes:
        raise UsageError(f"device '{text}': {backend.name} has no mode '@{address.mode}'")
    problems = [p for p in backend.problems(address.scheme) if p.mode in {None, address.mode}]
    probed: list[Probed] = []
    for offered in _probe_for(backend, address, shared, all_of_them=before is not None):
        if isinstance(offered, Problem):
            problems.append(offered)
        else:
            probed += offered
    selected = selection.select(backend, address, probed)
    if before is not None:
        selected = selection.as_before(before, selected, probed)
        turn = None if before.place else turn
    chosen = selection.one_of(backend, address, selected, probed, turn)
    if chosen is not None:
        return FoundDevice(text, backend, chosen.candidate, chosen.description)
    names = selection.addresses(backend, address.scheme, address.mode, probed)
    addresses = [name for name, _ in names]
    if before is not None and before.place and addresses:
        raise NoDeviceError(
            f"'{text}': the run measured {before.name} at {before.place}, which is not here; "
            f"here: {', '.join(addresses)}"
        )
    if addresses and address.selector not in backend.aliases:
        raise NoSuchDeviceError(
            f"no device '{text}'; {did_you_mean(text, addresses)}here: {', '.join(addresses)}"
        )
    why = "; ".join(f"{p.what} ({p.cure})" for p in problems)
    alternatives = f"; here: {', '.join(addresses)}" if addresses else ""
    raise NoDeviceError(f"'{text}' is not here{': ' + why if why else ''}{alternatives}")


def _probe_for(
    backend: BackendDescription,
    address: Address,
    shared: SharedWorker | None,
    *,
    all_of_them: bool,
) -> Iterator[list[Probed] | Problem]:
    """Yields devices or problem of each candidate that an address may mean.

    With ``all_of_them``, for an id or a name, it probes all candidates, so that ``resolve`` notices
    an ambiguous address. For an alias or an empty selector it stops at the first candidate with
    such a device, because starting a runtime takes time.
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
        (offered,) = _probe_all(backend, [candidate], shared)
        yield offered
        if not isinstance(offered, Problem) and selection.select(backend, address, offered):
            break
