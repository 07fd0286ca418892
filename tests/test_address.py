from __future__ import annotations

import pytest

from isthmus.address import Address
from isthmus.errors import UsageError


def test_all_parts() -> None:
    address = Address.parse("card:u250,link.lanes=8,seed=2@mode=x")
    assert (address.scheme, address.selector, address.mode) == ("card", "u250", "mode=x")
    assert address.options == {"link.lanes": "8", "seed": "2"}


def test_selector_keeps_its_colons() -> None:
    assert Address.parse("pci:0000:03:00.0").selector == "0000:03:00.0"


@pytest.mark.parametrize("text", ["", ":x", "a:", "a,b", "a,b=", "a,=b", "a@", "a,b=1,b=2"])
def test_malformed(text: str) -> None:
    with pytest.raises(UsageError):
        Address.parse(text)
