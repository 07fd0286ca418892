"""Which of the devices that were found an address selects."""

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
    """What tells a device from others, however the devices of the machine are numbered."""

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
    """The devices that an address selects: none, one, or several where it is ambiguous.

    ``probed``: devices of candidates for the mode of the address, preferred candidates first.
    """
    keys = {k: v for k, v in address.options.items() if k in backend.candidate_keys}
    here = [one for one in probed if keys.items() <= one.candidate.keys.items()]
    matched = backend.matches(address, [one.description for one in here])
    return _distinct([one for one in here if any(one.description is m for m in matched)])


def _distinct(found: Sequence[Probed]) -> Sequence[Probed]:
    """The devices without those that an earlier candidate offers, too.

    Devices of two candidates are the same where their places agree; without a place, where their
    platforms do. Two installations of one OpenCL runtime are an example.
    """
    first: dict[str, Candidate] = {}
    return [
        one
        for one in found
        if first.setdefault(one.identity.place or one.identity.platform, one.candidate)
        is one.candidate
    ]


def addresses(
    backend: BackendDescription, scheme: str, mode: str, probed: Sequence[Probed]
) -> Iterator[tuple[str, Probed]]:
    """Each device with the shortest address that selects it alone.

    A device without such an address is left out: an earlier candidate offers the same device.
    """
    suffix = f"@{mode}" if mode else ""
    for one in probed:
        for text in _written(backend, scheme, one):
            selected = select(backend, Address.parse(text + suffix), probed)
            if len(selected) == 1 and selected[0] is one:
                yield text + suffix, one
                break


def _written(backend: BackendDescription, scheme: str, one: Probed) -> Iterator[str]:
    """Addresses of a device without its mode, the shortest first."""
    yield backend.address_of(scheme, one.description)
    by_id = f"{scheme}:{backend.id_in(scheme, one.description)}"
    yield by_id
    yield ",".join([by_id, *(f"{key}={value}" for key, value in one.candidate.keys.items())])


def one_of(
    backend: BackendDescription,
    address: Address,
    selected: Sequence[Probed],
    probed: Sequence[Probed],
    turn: int | None,
) -> Probed | None:
    """The device to use of those that an address selects; None where it selects none.

    ``turn``: number of a rank. Ranks share out devices of the same kind, cyclically. Raises
    UsageError for an ambiguous address.
    """
    if not selected:
        return None
    kind = _kind(selected[0])
    if turn is not None:
        if not address.selector:  # the first device, and the others of its kind
            selected = [one for one in probed if _kind(one) == kind]
        if {_kind(one) for one in selected} == {kind}:
            return selected[turn % len(selected)]
    if len(selected) == 1:
        return selected[0]
    listed = "; ".join(
        " ".join(filter(None, (text, one.description.name, one.identity.place)))
        for text, one in addresses(backend, address.scheme, address.mode, probed)
        if any(one is other for other in selected)
    )
    raise UsageError(
        f"device '{address.text}' is ambiguous: {len(selected)} devices match; name one: {listed}"
    )


def _kind(one: Probed) -> tuple[str, str, str]:
    return one.candidate.label, one.description.platform, one.description.name


def as_before(
    before: Identity, selected: Sequence[Probed], probed: Sequence[Probed]
) -> Sequence[Probed]:
    """The devices that a run may have measured, whatever their numbers are now; none: not here.

    ``selected``: what the address of the run selects now.
    """
    if not before.place:
        alike = [one for one in selected if one.identity == before]
        return alike or selected
    same = [one for one in probed if one.identity.place == before.place]
    return [one for one in selected if any(one is other for other in same)] or _distinct(same)
