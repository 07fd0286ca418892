"""Selects devices by an address."""

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
    """A device that is here, or a run file's record of a device."""

    @property
    def name(self) -> str: ...
    @property
    def platform(self) -> str: ...
    @property
    def properties(self) -> Mapping[str, str]: ...


@dataclass(frozen=True)
class Identity:
    """Identity of a device, which does not depend on the numbering of devices."""

    name: str
    platform: str
    place: str
    """See ``place_of``."""

    @classmethod
    def of(cls, device: _Described) -> Identity:
        """The identity of a device."""
        return cls(device.name, device.platform, place_of(device.properties))

    @classmethod
    def of_rank(cls, rank: Mapping[str, Any]) -> Identity:
        """The identity of the device of a rank, as ``as_of_rank`` wrote it into a run file."""
        return cls(*(str(rank.get(key, "")) for key in ("name", "platform", "place")))

    def as_of_rank(self) -> dict[str, str]:
        """The identity for the run file of several ranks."""
        return {"name": self.name, "platform": self.platform, "place": self.place}


@dataclass(frozen=True)
class Probed:
    """A device that a candidate offers."""

    candidate: Candidate
    description: DeviceDescription

    @property
    def identity(self) -> Identity:
        """See ``Identity``."""
        return Identity.of(self.description)


def select(
    backend: BackendDescription, address: Address, probed: Sequence[Probed]
) -> Sequence[Probed]:
    """The devices that an address selects: none, one, or several if it is ambiguous.

    ``probed``: devices of candidates for the mode of the address, preferred candidates first.
    """
    keys = {k: v for k, v in address.options.items() if k in backend.candidate_keys}
    candidates = [device for device in probed if keys.items() <= device.candidate.keys.items()]
    matched = backend.matches(address, [device.description for device in candidates])
    return _distinct(
        [device for device in candidates if any(device.description is m for m in matched)]
    )


def _distinct(devices: Sequence[Probed]) -> Sequence[Probed]:
    """The devices without duplicates from later candidates.

    Devices of two candidates are the same if their places agree, or without places their platforms:
    for example two installations of one OpenCL runtime.
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

    A device without such an address is skipped: an earlier candidate offers the same device.
    """
    suffix = f"@{mode}" if mode else ""
    for device in probed:
        for text in _written(backend, scheme, device):
            selected = select(backend, Address.parse(text + suffix), probed)
            if len(selected) == 1 and selected[0] is device:
                yield text + suffix, device
                break


def _written(backend: BackendDescription, scheme: str, device: Probed) -> Iterator[str]:
    """Yields addresses of a device without its mode, the shortest first."""
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
    """The selected device to use; None if none is selected.

    ``turn`` is the number of a rank: ranks share devices of the same kind, cyclically. Raises
    UsageError for an ambiguous address.
    """
    if not selected:
        return None
    kind = _kind(selected[0])
    if turn is not None:
        if not address.selector:  # the first device, and all of its kind
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
    """The devices that may be the device of an earlier run, whatever their numbers are now.

    ``selected``: the devices that the address of the run selects now. Empty if the device is not
    here.
    """
    if not before.place:
        alike = [device for device in selected if device.identity == before]
        return alike or selected
    same = [device for device in probed if device.identity.place == before.place]
    return [device for device in selected if any(device is other for other in same)] or _distinct(
        same
    )
