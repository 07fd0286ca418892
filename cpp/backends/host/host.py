"""Describes the backend `host`: copies within host memory, which no transfer to it exceeds."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.backends import BackendDescription
from isthmus.candidates import Candidate
from isthmus.descriptions import DeviceDescription


class Host(BackendDescription):
    """``host`` (memcpy) and ``host:nontemporal`` (stores that bypass the caches)."""

    name = "host"
    summary = "memory copied by the processor: the ceiling"
    schemes = ("host",)
    has_runtime = False

    def candidates(self, scheme: str) -> Sequence[Candidate]:
        return (Candidate("built in", built_in=True),)

    def address_of(self, scheme: str, device: DeviceDescription) -> str:
        return scheme if device.id == "plain" else f"{scheme}:{device.id}"


BACKEND = Host()
