"""Reads PCIe links of GPUs from ``nvidia-smi -q`` and from the CSV of ``--query-gpu``.

A link limits the rates in logs of other programs on the same machine.
"""

from __future__ import annotations

import csv
import re

from isthmus.importers.base import Importer, LinkFact, Log

_GPU = re.compile(r"\s*GPU ([\da-fA-F]{4,8}:[\da-fA-F:.]+)\s*$")
_NAME = re.compile(r"\s*Product Name\s*: (.+)")
_GENERATION, _WIDTH = re.compile(r"\s*PCIe Generation\s*$"), re.compile(r"\s*Link Width\s*$")
_CURRENT = re.compile(r"\s*(Device )?Current\s*: (\d+)x?\s*$")
_NUMBER = re.compile(r"\s*Max\s*: (\d+)x?\s*$")
_HEADER = re.compile(r"^.*pcie\.link\.(?:gen|width).*$", re.MULTILINE)


def read(text: str) -> Log:
    """Reads the links of all GPUs in an output of nvidia-smi."""
    if _GENERATION.search(text) is None and not re.search(r"PCIe Generation", text):
        return _of_query(text)
    links: list[LinkFact] = []
    names: dict[str, None] = {}
    address, field = "", ""
    values: dict[str, tuple[int, int]] = {}
    for line, row in enumerate(text.splitlines(), 1):
        if gpu := _GPU.match(row):
            address, values = gpu[1], {}
        elif name := _NAME.match(row):
            names[name[1].strip()] = None
        elif re.match(r"\s*PCIe Generation\s*$", row):
            field = "generation"
        elif _WIDTH.match(row):
            field = "width"
        elif field and (most := _NUMBER.match(row)):
            values[f"max {field}"] = line, int(most[1])
        elif field and (now := _CURRENT.match(row)) and not now[1]:
            values[field] = line, int(now[2])
            if {"generation", "width"} <= values.keys():
                links.append(_fact(values, address))
                field, values = "", {}
        elif field and not re.match(r"\s*(?:Device|GPU|Host|Max|Current)", row):
            field = field if field == "generation" and "Link" in row else ""
    return Log(tool="nvidia-smi", links=links, names=list(names))


def _fact(values: dict[str, tuple[int, int]], address: str) -> LinkFact:
    """Makes the fact of a GPU's link; an idle GPU lowers the generation but keeps all lanes."""
    line, now = values["generation"]
    most = values.get("max generation", (0, now))[1]
    width = values["width"][1]
    capable = most, values.get("max width", (0, width))[1]
    return LinkFact(line, now, width, "nvidia-smi", address, capable, idle=now < most)


def _of_query(text: str) -> Log:
    """Reads the output of ``--query-gpu=pcie.link.gen.current,... --format=csv``."""
    links, names, columns = [], dict[str, None](), list[str]()
    for line, row in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in next(csv.reader([row]), [])]
        if any("pcie.link" in cell for cell in cells):
            columns = [cell.partition(" ")[0] for cell in cells]
        elif columns and len(cells) == len(columns):
            values = dict(zip(columns, cells, strict=True))
            numbers = {key: int(value) for key, value in values.items() if value.isdecimal()}
            name = values.get("name", "")
            if name:
                names[name] = None
            now = numbers.get("pcie.link.gen.current") or numbers.get("pcie.link.gen.gpucurrent")
            most = numbers.get("pcie.link.gen.max") or now
            width = numbers.get("pcie.link.width.current") or numbers.get("pcie.link.width.max")
            if (now or most) and width:
                links.append(LinkFact(
                    line, now or most or 0, width, "nvidia-smi", values.get("pci.bus_id", ""),
                    (most or 0, numbers.get("pcie.link.width.max", width)),
                    idle=bool(now and most and now < most),
                ))  # fmt: skip
    return Log(tool="nvidia-smi", links=links, names=list(names))


IMPORTER = Importer(
    "nvidia_smi", "nvidia-smi -q", lambda text: (
        re.search(r"^\s*PCIe Generation\s*$", text, re.MULTILINE) is not None
        or _HEADER.search(text) is not None
    ), read, has_rates=False,
)  # fmt: skip
