"""Describes the backend `card`: cards emulated in the worker, with real data, simulated time."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from isthmus import boards
from isthmus.address import Address
from isthmus.backends import BackendDescription
from isthmus.candidates import Candidate
from isthmus.descriptions import DeviceDescription
from isthmus.errors import UsageError


class Card(BackendDescription):
    """``card:u250``, ``card:u250,link.lanes=8``, ``card:my_board.toml,fast_forward=no``."""

    name = "card"
    summary = "emulated cards in simulated time"
    schemes = ("card",)
    flags = MappingProxyType(
        {
            "fast_forward": "what repeats was skipped; the simulated time is exact all the same",
            "merged_stores": "the processor gathered stores: fewer packets than instructions",
            "speculated": (
                "loads were served by a line fetched ahead: no access of the device's own"
            ),
            "what_if": (
                "a kind of mapping that no driver grants: simulated to see what it would give"
            ),
        }
    )
    memory_calls = MappingProxyType(
        {
            "aligned": "posix_memalign(4096) + CL_MEM_USE_HOST_PTR",
            "pinned": "CL_MEM_ALLOC_HOST_PTR in OpenCL, xrt::bo in XRT",
        }
    )
    naive_memory = "aligned"
    by_default = False

    def candidates(self, scheme: str) -> Sequence[Candidate]:
        return (Candidate("built in", hardware=False, built_in=True),)

    def options(self, address: Address) -> dict[str, str]:
        """Returns the board's parameters and the backend's options, whose names contain no dot."""
        if not address.selector:
            raise UsageError(f"name a board: card:{', card:'.join(boards.names())}")
        options = super().options(address)
        own = {key: value for key, value in options.items() if "." not in key}
        changes = {key: value for key, value in options.items() if "." in key}
        return {**boards.resolve(address.selector, changes), **own}

    def matches(
        self, address: Address, devices: Sequence[DeviceDescription]
    ) -> Sequence[DeviceDescription]:
        return devices[:1]  # one stands for all boards

    def address_of(self, scheme: str, device: DeviceDescription) -> str:
        return f"{scheme}:{boards.names()[0]}"

    def others_of(self, scheme: str, device: DeviceDescription) -> Sequence[str]:
        return [f"{scheme}:{name}" for name in boards.names()[1:]]

    def meant_by(self, text: str) -> str:
        return f"{self.name}:{text}" if text in boards.names() else ""


BACKEND = Card()
