"""Describes the backend `null`: operations take the time in the address, to test the engine."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.address import Address
from isthmus.backends import BackendDescription
from isthmus.candidates import Candidate
from isthmus.descriptions import DeviceDescription


class Null(BackendDescription):
    """``null:20ns`` costs 20 ns a call; options make it vary, drift, fail or corrupt data.

    ``offset_cost=5us``: additional time to send an offload's operands that begin within a page.
    """

    name = "null"
    summary = "a chosen cost and no device: tests the engine"
    schemes = ("null",)
    by_default = False

    def candidates(self, scheme: str) -> Sequence[Candidate]:
        return (Candidate("built in", hardware=False, built_in=True),)

    def options(self, address: Address) -> dict[str, str]:
        cost = {"cost": address.selector} if address.selector else {}
        return {**cost, **super().options(address)}

    def matches(
        self, address: Address, devices: Sequence[DeviceDescription]
    ) -> Sequence[DeviceDescription]:
        return devices[:1]

    def address_of(self, scheme: str, device: DeviceDescription) -> str:
        return scheme


BACKEND = Null()
