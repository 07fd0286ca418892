"""The backend ``toy``: its library lies beside this file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from isthmus.backends import BackendDescription
from isthmus.candidates import Candidate
from isthmus.descriptions import DeviceDescription


class Toy(BackendDescription):
    """``toy``, the only device."""

    name = "toy"
    summary = "buffers of the host, for tests"
    schemes = ("toy",)
    api_names = MappingProxyType({"toy": "Toy"})
    library = Path(__file__).with_name("libisthmus_toy.so")

    def candidates(self, scheme: str) -> Sequence[Candidate]:
        return (Candidate("built in", hardware=False, built_in=True),)

    def address_of(self, scheme: str, device: DeviceDescription) -> str:
        return scheme


BACKEND = Toy()
