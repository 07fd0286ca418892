"""Reports in JUnit's XML, which continuous integration reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from isthmus.units import printable


class Case(NamedTuple):
    """One test of a report."""

    group: str
    name: str
    kind: str
    """Result: ``failure``, ``error``, ``skipped``, or empty for a passed test."""
    message: str


def junit(suite: str, cases: Sequence[Case], seconds: float | None = None) -> str:
    """The XML text of a report with one suite; ``seconds`` is the duration of the suite."""
    kinds = [case.kind for case in cases]
    root = ElementTree.Element(
        "testsuite",
        name=suite,
        tests=str(len(cases)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped=str(kinds.count("skipped")),
    )
    if seconds is not None:
        root.set("time", f"{seconds:.3f}")
    for case in cases:
        group, name, message = map(printable, (case.group, case.name, case.message))
        element = ElementTree.SubElement(root, "testcase", classname=f"isthmus.{group}", name=name)
        if case.kind:
            ElementTree.SubElement(element, case.kind, message=message)
        elif message:
            ElementTree.SubElement(element, "system-out").text = message
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
