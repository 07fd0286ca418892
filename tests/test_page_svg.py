"""Drawings have the names of strangers as text, and nothing that runs or is loaded."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from isthmus.reporters.html import write_page
from synthetic import Law, transfer_run

NAMES = [
    "<script>a()</script>", '"><a onload="b">', "<image href=//x>", "]]><style>a{}",
    "url(//s.de/a)",
]  # fmt: skip
"""Short: of long names the middle is left out."""
DRAWN = {"svg", "g", "path", "text", "tspan", "rect", "line", "defs", "clipPath", "circle",
         "linearGradient", "stop", "style", "marker", "title"}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_drawing_is_text(tmp_path: Path, name: str) -> None:
    laws = {name: {"read": Law(1e-6, 1e9)}, "other": {"read": Law(2e-6, 1e9)}}
    hostile = transfer_run(laws, [1 << n for n in range(6, 24, 2)])
    write_page([(f"{name.replace('/', '')}.json", hostile)], tmp_path)
    drawings = list((tmp_path / "plots").glob("*.svg"))
    assert drawings
    shown = False
    for file in drawings:
        elements = list(ElementTree.fromstring(file.read_text("utf-8")).iter())
        shown |= any(name[:6] in (element.text or "") for element in elements)
        for element in elements:
            assert element.tag.rpartition("}")[2] in DRAWN
            for key, value in element.attrib.items():
                assert not key.rpartition("}")[2].startswith(("on", "href"))
                for target in re.findall(r"url\(([^)]*)\)", value):
                    assert key == "aria-label" or target.lstrip("\"'").startswith("#")
    assert shown, "else the name is in no drawing"
    page = (tmp_path / "index.html").read_text("utf-8")
    for markup in ("<script>a()", "<a onload", "<image", "<style>a{}"):
        assert markup not in page
