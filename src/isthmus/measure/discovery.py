"""Which devices are here, and which one an address means.

What loads a vendor's library is probed by a worker of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from threading import Lock

from isthmus.backends import BackendDescription, Candidate, Problem, by_scheme, registry
from isthmus.errors import IsthmusError, NoDeviceError, UsageError
from isthmus.measure import protocol
from isthmus.measure.address import Address
from isthmus.measure.supervisor import Worker
from isthmus.suggestion import nearest

_PROBE_SILENCE_S = 30.0


@dataclass(frozen=True)
class Found:
    """A device and how to reach it."""

    address: str
    backend: BackendDescription
    candidate: Candidate
    description: protocol.DeviceDescription
    run_options: Mapping[str, str] = field(default_factory=dict)
    """Options of the run that this device takes."""
    others: tuple[str, ...] = ()
    """Addresses of the same kind: see ``BackendDescription.others_of``."""

    @property
    def real(self) -> bool:
        """Whether its figures are those of hardware."""
        return self.candidate.hardware

    @cached_property
    def options(self) -> dict[str, str]:
        """Options for the backend's library, from the run and the address."""
        return {**self.run_options, **self.backend.options(Address.parse(self.address))}

    def with_run_options(self, given: Mapping[str, str]) -> Found:
        """The same device, opened with those options of the run that it takes."""
        known = {option.name for option in self.backend.run_options_of(self.description)}
        taken = {k: v for k, v in given.items() if k in known}
        return replace(self, run_options=taken)

    def open_request(self) -> protocol.Open:
        """What its worker is asked first."""
        return protocol.Open(str(self.backend.library), self.description.id, self.options)


@dataclass(frozen=True)
class Survey:
    """One backend on this machine."""

    backend: BackendDescription
    found: list[Found]
    problems: list[Problem]


class _Shared:
    """A worker that several threads ask in turn: starting one takes longer than its answers."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._turn = Lock()

    def ask(self, request: protocol.Request) -> protocol.Answer:
        with self._turn:
            return self._worker.ask(request)


def _probe(
    backend: BackendDescription, candidate: Candidate, shared: _Shared | None = None
) -> list[protocol.DeviceDescription] | Problem:
    request = protocol.ListDevices(str(backend.library))
    try:
        if shared and candidate.built_in:
            answer = shared.ask(request)
        else:
            with Worker(candidate.environment, silence_s=_PROBE_SILENCE_S) as worker:
                answer = worker.ask(request)
    except IsthmusError as error:
        return Problem(f"{candidate.label}: {error}", "mend or remove what it names")
    assert isinstance(answer, protocol.Devices)
    if not answer.devices:
        cure = "see whether what it names exists and loads, and its documentation"
        return Problem(f"{candidate.label}: offers no device", cure)
    return answer.devices


def survey(backend: BackendDescription, shared: _Shared | None = None) -> Survey:
    """Devices of one backend; each gets the shortest address that nobody before it has.

    ``shared`` answers for what is built in.
    """
    found: dict[str, Found] = {}
    problems: list[Problem] = []
    ways: list[tuple[str, Candidate]] = []
    for scheme in backend.schemes:
        try:
            problems += backend.problems(scheme)
            ways += [(scheme, way) for way in backend.candidates(scheme)]
        except IsthmusError as error:  # what is wrong with one is nothing to the others
            problems.append(Problem(str(error), "mend or remove what it names"))
    with ThreadPoolExecutor() as pool:
        probes = list(pool.map(lambda way: _probe(backend, way[1], shared), ways))
    for (scheme, candidate), probed in zip(ways, probes, strict=True):
        if isinstance(probed, Problem):
            problems.append(probed)
            continue
        mode = f"@{candidate.mode}" if candidate.mode else ""
        for device in probed:
            address = backend.address_of(scheme, device)
            if address + mode in found:
                keys = (f"{key}={value}" for key, value in candidate.keys.items())
                address = ",".join([f"{scheme}:{device.id}", *keys])
            address += mode
            others = tuple(backend.others_of(scheme, device))
            known = Found(address, backend, candidate, device, others=others)
            found.setdefault(address, known)
    return Survey(backend, list(found.values()), problems)


def surveys() -> list[Survey]:
    """All backends on this machine."""
    with Worker({}, silence_s=_PROBE_SILENCE_S) as worker, ThreadPoolExecutor() as pool:
        return list(pool.map(partial(survey, shared=_Shared(worker)), registry().values()))


def everything_real() -> list[Found]:
    """What ``isthmus run`` measures when no device is named: each real device once.

    A device that two libraries offer (two PoCLs, one driver named twice) is the same one where PCI
    address, or without one the platform, agree.
    """
    first: dict[tuple[str, str], Candidate] = {}
    devices: list[Found] = []
    for here in surveys():
        for found in here.found:
            bus = found.description.properties.get("pci_address", "")
            same = (here.backend.name, bus or found.description.platform)
            wanted = found.real and here.backend.by_default
            if wanted and first.setdefault(same, found.candidate) == found.candidate:
                devices.append(found)
                if here.backend.first_alone:
                    break
    return devices


def _probed(
    backend: BackendDescription, candidates: Sequence[Candidate]
) -> Iterator[tuple[Candidate, list[protocol.DeviceDescription] | Problem]]:
    for candidate in candidates:
        yield candidate, _probe(backend, candidate)


def _alike(
    match: protocol.DeviceDescription,
    address: Address,
    probed: Sequence[protocol.DeviceDescription],
) -> list[protocol.DeviceDescription]:
    """Devices of the same kind as one that matches an address, unless that says which."""
    if match.id == address.selector:
        return [match]
    kind = (match.platform, match.name)
    return [one for one in probed if (one.platform, one.name) == kind] or [match]


def resolve(text: str, turn: int = 0) -> Found:
    """Device that an address means; of several of a kind, the one whose turn it is.

    Raises UsageError where the address names nothing that could be, NoDeviceError where it names
    something that is not here.
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
    for candidate, probed in _probed(backend, candidates):
        if isinstance(probed, Problem):
            problems.append(probed)
            continue
        match = backend.match(address, probed)
        if match is not None:
            alike = _alike(match, address, probed)
            return Found(text, backend, candidate, alike[turn % len(alike)])
        here += [backend.address_of(address.scheme, device) for device in probed]
    if here and address.selector not in backend.aliases:
        known = dict.fromkeys(here)
        raise UsageError(f"no device '{text}'; {nearest(text, known)}here: {', '.join(known)}")
    why = "; ".join(f"{p.what} ({p.cure})" for p in problems)
    others = f"; here: {', '.join(dict.fromkeys(here))}" if here else ""
    raise NoDeviceError(f"'{text}' is not here{': ' + why if why else ''}{others}")
