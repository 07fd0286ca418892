from __future__ import annotations

import pytest

from isthmus.models.pcie import Link, link_of


def test_known_links() -> None:
    assert Link(5.0, 8).raw == pytest.approx(4.0e9)
    assert Link(8.0, 16).raw == pytest.approx(15.754e9, rel=1e-4)
    assert Link(32.0, 16).raw == pytest.approx(63.0e9, rel=1e-3)
    assert Link(32.0, 16).payload() == pytest.approx(57.6e9, rel=1e-3)


def test_what_sysfs_says() -> None:
    said = {"current_link_speed": "16.0 GT/s PCIe", "current_link_width": "8"}
    assert link_of(said) == Link(16.0, 8)
    idle = {"current_link_speed": "2.5 GT/s PCIe", "max_link_speed": "32.0 GT/s PCIe"}
    assert link_of({**idle, "current_link_width": "16"}) == Link(32.0, 16)
    assert link_of({}) is None
    assert link_of({"current_link_speed": "Unknown", "current_link_width": "0"}) is None
