"""Arrays that HLS splits without a pragma keep what pragmas say of their memory."""

from __future__ import annotations

from isthmus_emulation.estimate.splits import split
from isthmus_emulation.estimate.structure import (
    Assign,
    Constant,
    Element,
    Function,
    Storage,
    Variable,
)


def test_each_bank_of_a_split_array_has_the_ports_of_the_array() -> None:
    """``a[0][i] = 7`` with ``BIND_STORAGE ... ram_1p`` makes two banks of one port."""
    write = Assign(Element("a", (Constant(0), Variable("i"))), Constant(7))
    top = Function("top", 1, ("i",), (write,))
    one_port = Storage("ram", ram_ports=1, is_member=True)
    found = split({"top": top}, {"a": one_port}, {"a": (2, 4096)})
    assert found == {
        "a": Storage("ram", banks=2, partitioned=True, ram_ports=1, is_member=True),
    }
