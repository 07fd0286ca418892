"""Lists the contents of an xclbin as data for programs and as text for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from isthmus.columns import columns
from isthmus.units import format_size
from isthmus_emulation.xclbin.container import Xclbin
from isthmus_emulation.xclbin.fields import name_of
from isthmus_emulation.xclbin.kinds import ClockType, Control, IpType, MemoryType, Mode, SectionKind
from isthmus_emulation.xclbin.tables import Connection, Ip, Memory

_NO_ADDRESS = (1 << 64) - 1


def as_data(xclbin: Xclbin) -> dict[str, Any]:
    """Returns all known contents of a file for JSON; sizes in bytes, numbers by their names.

    Raises UsageError, with the section's name, if a section is damaged.
    """
    header, ips = xclbin.header, xclbin.ips
    return {
        "header": {
            "platform": header.platform,
            "mode": name_of(Mode, header.mode),
            "version": ".".join(map(str, header.version)),
            "uuid": str(header.uuid),
            "timestamp": header.timestamp,
            "feature_rom": str(header.feature_rom) if header.feature_rom.int else None,
            "feature_rom_timestamp": header.feature_rom_timestamp,
            "action_mask": header.action_mask,
            "debug_file": header.debug_file,
            "signed": header.signature_length > 0,
        },
        "sections": [
            {"kind": name_of(SectionKind, s.kind), "name": s.name, "size": len(s.data)}
            for s in xclbin.sections
        ],
        "trailer_size": len(xclbin.trailer),
        "memories": [_memory(memory) for memory in xclbin.memories],
        "groups": [_memory(memory) for memory in xclbin.groups],
        "ips": [_ip(ip) for ip in ips],
        "connections": _connections(xclbin.connections, ips, xclbin.memories),
        "group_connections": _connections(xclbin.group_connections, ips, xclbin.groups),
        "clocks": [
            {"name": c.name, "type": name_of(ClockType, c.type), "mhz": c.mhz}
            for c in xclbin.clocks
        ],
        "kernels": [msgspec.to_builtins(kernel) for kernel in xclbin.kernels],
        "build": xclbin.build,
        "key_values": xclbin.key_values,
    }


def as_text(xclbin: Xclbin) -> str:
    """Returns the main contents as text; control characters in names are escaped."""
    data = as_data(xclbin)
    header = data["header"]
    parts = [
        _table(
            "header",
            [
                [name, _hex(value) if name == "action_mask" else str(value)]
                for name, value in header.items()
                if value
            ],
        ),
        _table("sections", [[s["kind"], s["name"], s["size"]] for s in data["sections"]]),
        _table("memories", [_memory_cells(memory) for memory in data["memories"]]),
    ]
    if data["groups"] != data["memories"]:
        parts.append(_table("groups", [_memory_cells(memory) for memory in data["groups"]]))
    parts.append(
        _table(
            "ips", [[i["name"], i["type"], _hex(i["address"]), i["control"]] for i in data["ips"]]
        )
    )
    for name in ("connections", "group_connections"):
        if name == "connections" or data[name] != data["connections"]:
            cells = [[c["ip"], f"argument {c['argument']}", c["memory"]] for c in data[name]]
            parts.append(_table(name, cells))
    parts.append(
        _table("clocks", [[c["name"], c["type"], f"{c['mhz']} MHz"] for c in data["clocks"]])
    )
    for kernel in data["kernels"]:
        places = [f"{i['name']} at {_hex(i['address'])}" for i in kernel["instances"]]
        title = f"kernel {kernel['name']} ({kernel['control']})"
        parts.append(
            _table(
                f"{title}: {', '.join(places) or 'no instance'}",
                [_argument_cells(argument) for argument in kernel["arguments"]],
            )
        )
    parts.append(_table("key_values", [[k, v] for k, v in data["key_values"].items()]))
    return "\n".join(part for part in parts if part)


def _memory(memory: Memory) -> dict[str, Any]:
    return {
        "name": memory.name,
        "type": name_of(MemoryType, memory.type),
        "used": memory.used,
        "size": memory.size,
        "address": memory.address,
    }


def _ip(ip: Ip) -> dict[str, Any]:
    return {
        "name": ip.name,
        "type": name_of(IpType, ip.type),
        "address": None if ip.address == _NO_ADDRESS else ip.address,
        "control": None if ip.control is None else name_of(Control, ip.control),
        "properties": ip.properties,
    }


def _connections(
    connections: Sequence[Connection], ips: Sequence[Ip], memories: Sequence[Memory]
) -> list[dict[str, Any]]:
    return [
        {
            "ip": _name_at(ips, connection.ip),
            "argument": connection.argument,
            "memory": _name_at(memories, connection.memory),
        }
        for connection in connections
    ]


def _name_at(rows: Sequence[Ip] | Sequence[Memory], row: int) -> str:
    """Returns the name of a row, or the row's number if the file has no such row."""
    return rows[row].name if 0 <= row < len(rows) else str(row)


def _memory_cells(memory: dict[str, Any]) -> list[object]:
    used = "" if memory["used"] else "not used"
    size, address = format_size(memory["size"]), _hex(memory["address"])
    return [memory["name"], memory["type"], size, address, used]


def _argument_cells(argument: dict[str, Any]) -> list[object]:
    index = "-" if argument["index"] is None else argument["index"]
    size = "" if argument["size"] is None else f"{argument['size']} B"
    name, kind, qualifier = argument["name"], argument["type"], argument["qualifier"]
    return [index, name, kind, qualifier, size, _hex(argument["offset"]), argument["port"]]


def _hex(number: int | None) -> str:
    return "none" if number is None else f"{number:#x}"


def _table(title: str, rows: Sequence[Sequence[object]]) -> str:
    """Returns aligned columns below a title; empty without rows, unless the title is a kernel's."""
    if not rows and not title.startswith("kernel "):
        return ""
    cells = [[_printable("" if c is None else str(c)) for c in row] for row in rows]
    numbers = {i for row in rows for i, cell in enumerate(row) if isinstance(cell, int)}
    lines = [_printable(title), *columns(cells, indent="  ", right=numbers)]
    return "\n".join(lines) + "\n"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
