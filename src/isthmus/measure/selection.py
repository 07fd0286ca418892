"""Selects devices by an address, and recognises the devices of an earlier run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from isthmus.address import Address
from isthmus.backends import BackendDescription
from isthmus.candidates import Candidate
from isthmus.descriptions import DeviceDescription, place_of
from isthmus.errors import UsageError


class _Described(Protocol):
    """A device of this machine, or a run file's record of a device."""

    @property
    def name(self) -> str: ...
    @property
    def platform(self) -> str: ...
    @property
    def properties(self) -> Mapping[str, str]: ...


@dataclass(frozen=True)
class Identity:
    """What identifies a device, even if devices get other numbers: kind and place."""

    name: str
    platform: str
    place: str
    """UUID or PCI address of the device; empty if unknown: see ``place_of``."""

    @classmethod
    def of(cls, device: _Described) -> Identity:
        """The identity of a device."""
        return cls(device.name, device.platform, place_of(device.properties))

    @classmethod
    def of_rank(cls, rank: Mapping[str, Any]) -> Identity:
        """The identity of a rank's device, from a run file's entry (``as_of_rank``)."""
        return cls(*(str(rank.get(key, "")) for key in ("name", "platform", "place")))

    def as_of_rank(self) -> dict[str, str]:
        """The identity as data for the entry of a rank in the run file."""
        return {"name": self.name, "platform": self.platform, "place": self.place}


@dataclass(frozen=True)
class Probed:
    """A device that a worker found by loading a candidate."""

    candidate: Candidate
    description: DeviceDescription

    @property
    def identity(self) -> Identity:
        """The identity of the device that was found."""
        return Identity.of(self.description)


def select(
    backend: BackendDescription, address: Address, probed: Sequence[Probed]
) -> Sequence[Probed]:
    """The devices that an address selects: none, one, or several if it is ambiguous.

    ``probed``: devices of the candidates that have the address's mode; those of preferred
    candidates come first.
    """
    keys = {k: v for k, v in address.options.items() if k in backend.candidate_keys}
    candidates = [device for device in probed if keys.items() <= device.candidate.keys.items()]
    matched = backend.matches(address, [device.description for device in candidates])
    return _distinct(
        [device for device in candidates if any(device.description is m for m in matched)]
    )


def _distinct(devices: Sequence[Probed]) -> Sequence[Probed]:
    """The devices without those that an earlier candidate offers, too.

    Devices of two candidates are the same if their places agree, or their platforms if they have no
    place. Two installations of an OpenCL runtime are an example.
    """
    first: dict[str, Candidate] = {}
    return [
        device
        for device in devices
        if first.setdefault(device.identity.place or device.identity.platform, device.candidate)
        is device.candidate
    ]


def addresses(
    backend: BackendDescription, scheme: str, mode: str, probed: Sequence[Probed]
) -> Iterator[tuple[str, Probed]]:
    """Yields each device with the shortest address that selects it alone.

    Leaves out a device without such an address, because an earlier candidate offers the same one.
    """
    suffix = f"@{mode}" if mode else ""
    for device in probed:
        for text in _written(backend, scheme, device):
            selected = select(backend, Address.parse(text + suffix), probed)
            if len(selected) == 1 and selected[0] is device:
                yield text + suffix, device
                break


def _written(backend: BackendDescription, scheme: str, device: Probed) -> Iterator[str]:
    """Yields addresses of a device without the part after ``@``, the shortest first."""
    yield backend.address_of(scheme, device.description)
    by_id = f"{scheme}:{backend.id_in(scheme, device.description)}"
    yield by_id
    yield ",".join([by_id, *(f"{key}={value}" for key, value in device.candidate.keys.items())])


def one_of(
    backend: BackendDescription,
    address: Address,
    selected: Sequence[Probed],
    probed: Sequence[Probed],
    turn: int | None,
) -> Probed | None:
    """The one device to use of those that an address selects; None if it selects none.

    ``turn``: number of a rank, or None. Rank n of several gets device n modulo the number of
    selected devices of one kind. Raises UsageError for an ambiguous address.
    """
    if not selected:
        return None
    kind = _kind(selected[0])
    if turn is not None:
        if not address.selector:  # ranks share the first device and all others of its kind
            selected = [device for device in probed if _kind(device) == kind]
        if {_kind(device) for device in selected} == {kind}:
            return selected[turn % len(selected)]
    if len(selected) == 1:
        return selected[0]
    listed = "; ".join(
        " ".join(filter(None, (text, device.description.name, device.identity.place)))
        for text, device in addresses(backend, address.scheme, address.mode, probed)
        if any(device is other for other in selected)
    )
    raise UsageError(
        f"device '{address.text}' is ambiguous: {len(selected)} devices match; name one: {listed}"
    )


def _kind(device: Probed) -> tuple[str, str, str]:
    return device.candidate.label, device.description.platform, device.description.name


def as_before(
    before: Identity, selected: Sequence[Probed], probed: Sequence[Probed]
) -> Sequence[Probed]:
    """The devices that may be the device ``before`` of an earlier run, whatever their numbers now.

    ``selected``: the devices that the earlier run's address selects now. Returns an empty sequence
    if the device is not here.
    """
    if not before.place:
        alike = [device for device in selected if device.identity == before]
        return alike or selected
    same = [device for device in probed if device.identity.place == before.place]
    return [device for device in selected if any(device is other for other in same)] or _distinct(
        same
    )
