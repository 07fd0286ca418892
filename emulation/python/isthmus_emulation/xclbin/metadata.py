"""Reads and writes text sections: kernels as XML (EMBEDDED_METADATA), and keys as JSON.

The XML's elements and attributes are those that XRT 2.13 and its OpenCL read
(``core/common/xclbin_parser.cpp``); numbers are written in hexadecimal, and read in either form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Literal
from xml.etree import ElementTree

import msgspec

from isthmus.errors import UsageError
from isthmus_emulation.xclbin.kinds import Mode
from isthmus_emulation.xclbin.tables import Clock

# Real sections are far smaller; the tree of a larger text could fill the memory.
_LONGEST_TEXT = 4 << 20
_TARGETS = {Mode.HW: "bitstream", Mode.HW_EMU: "hw_em", Mode.SW_EMU: "csim"}
_DEFAULT_RANGE = 0x10000
_REGISTER_BYTES = 4

Qualifier = Literal["scalar", "global", "constant", "local", "stream"]
QUALIFIERS: tuple[Qualifier, ...] = ("scalar", "global", "constant", "local", "stream")
WorkGroup = tuple[int, int, int]
_WORK = ("group_id", "global_offset", "global_size", "local_size", "work_dim")
_FIRST_WORK = 0x10
_MOST_ITEMS = 4096
"""Most work-items in a group, for a kernel that requires no number."""


class _Described(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Part of a kernel. A value is None if the file lacks it, or until ``Design`` computes it."""

    name: str


class Argument(_Described, frozen=True):
    """An argument of a kernel."""

    type: str
    """Type in C: ``int*``, ``unsigned int``."""
    qualifier: Qualifier | None = None
    size: int | None = None
    """Bytes in the kernel's registers; an address takes 8."""
    offset: int | None = None
    """Bytes from the instance's base address."""
    port: str | None = None
    index: int | None = None
    """Position in a call; None: a call has no such argument."""


class Port(_Described, frozen=True):
    """A port by which a kernel reaches memory or a stream, or is controlled."""

    mode: str = "master"
    type: str = "addressable"
    """Kind of the port: ``addressable`` or ``stream``."""
    range: int = 0xFFFF_FFFF_FFFF_FFFF
    """Bytes that the port can address."""
    data_width: int = 512
    """Width of the port in bits."""


class Instance(_Described, frozen=True):
    """A compute unit: an instance of a kernel at an address."""

    address: int | None = None
    """Address of the instance's registers."""


class Kernel(_Described, frozen=True):
    """A kernel, its arguments, ports and instances."""

    arguments: tuple[Argument, ...] = ()
    instances: tuple[Instance, ...] = ()
    ports: tuple[Port, ...] = ()
    control: str = "ap_ctrl_hs"
    interrupt: bool = True
    auto_restart: bool = False
    """Whether register 0x10 has the number of runs; arguments then lie behind 0x18."""
    work_group: WorkGroup | None = None
    """Work-items of a group that a kernel in OpenCL C requires; 0: any number; None: C++."""
    cycles: str | None = None
    """Cycles of a run: a formula over values, ``n*4 + 120``, or a range, ``n .. n*4``."""
    schedule: str | None = None
    """Name of the report that ``cycles`` come from; None without a report."""

    @property
    def address_range(self) -> int:
        """Returns the bytes of an instance's registers, by its first slave port."""
        return next((p.range for p in self.ports if p.mode == "slave"), _DEFAULT_RANGE)


def work_arguments(kernel: Kernel) -> tuple[Argument, ...]:
    """Returns registers behind the arguments, by which XRT's OpenCL passes the work-items.

    XRT recognises the registers by name; three of one name stand for the three dimensions.
    """
    if kernel.work_group is None:
        return ()
    end = max(((a.offset or 0) + (a.size or 0) for a in kernel.arguments), default=0)
    first = max(end + -end % 8, _FIRST_WORK)
    names = [name for name in _WORK for _ in range(1 if name == "work_dim" else 3)]
    return tuple(
        Argument(name, "size_t", "scalar", size=8, offset=first + 8 * place)
        for place, name in enumerate(names)
    )


def xml_of(
    kernels: Sequence[Kernel], *, platform: str, name: str, mode: Mode, clocks: Sequence[Clock]
) -> bytes:
    """Returns the XML that describes the kernels to XRT; ``name``: the project's name."""
    vendor, _, rest = platform.partition("_")
    board, _, shell = rest.partition("_")
    units = sum(len(kernel.instances) for kernel in kernels)
    project = ElementTree.Element("project", name=name)
    top = _add(project, "platform", vendor=vendor, boardid=board, name=shell, featureRomTime="0")
    _add(top, "version", major="1", minor="0")
    device = _add(top, "device", name="fpga0", fpgaDevice="", addrWidth="0")
    core = _add(
        device, "core", name="OCL_REGION_0", target=_TARGETS[mode], type="clc_region",
        clockFreq="0MHz", numComputeUnits=str(units),
    )  # fmt: skip
    frequencies = _add(core, "kernelClocks")
    for clock in clocks:
        _add(frequencies, "clock", port=clock.name, frequency=f"{clock.mhz}MHz")
    for kernel in kernels:
        _add_kernel(core, kernel)
    ElementTree.indent(project)
    text: bytes = ElementTree.tostring(project, encoding="UTF-8", xml_declaration=True)
    return text


def _add_kernel(core: ElementTree.Element, kernel: Kernel) -> None:
    group = kernel.work_group
    required = (1, 1, 1) if group is None else group
    # XRT takes the first dimension's greatest size for the product of all dimensions.
    greatest = required if any(required) else (_MOST_ITEMS, 0, 0)
    element = _add(
        core, "kernel", name=kernel.name, language="c" if group is None else "clc", attributes="",
        vlnv=f"isthmus:kernel:{kernel.name}:1.0", hwControlProtocol=kernel.control,
        preferredWorkGroupSizeMultiple="0", workGroupSize=str(prod(filter(None, greatest))),
        interrupt="true" if kernel.interrupt else "false",
        countedAutoRestart="1" if kernel.auto_restart else None,
    )  # fmt: skip
    _add(element, "module", name=kernel.name)
    for port in kernel.ports:
        _add(
            element, "port", name=port.name, mode=port.mode, portType=port.type, base="0x0",
            range=_hex(port.range), dataWidth=str(port.data_width),
        )  # fmt: skip
    for argument in (*kernel.arguments, *work_arguments(kernel)):
        qualifier, size = argument.qualifier, _hex(argument.size)
        # XRT's OpenCL writes whole registers: bytes behind the last whole register never arrive.
        whole = None if argument.size is None else -(-argument.size // _REGISTER_BYTES)
        register = None if whole is None else _hex(whole * _REGISTER_BYTES)
        _add(
            element, "arg", name=argument.name, type=argument.type, port=argument.port,
            addressQualifier=None if qualifier is None else str(QUALIFIERS.index(qualifier)),
            id="" if argument.index is None else str(argument.index),
            offset=_hex(argument.offset), size=register, hostOffset="0x0", hostSize=size,
        )  # fmt: skip
    for shape, sizes in (("compileWorkGroupSize", required), ("maxWorkGroupSize", greatest)):
        _add(element, shape, **dict(zip("xyz", map(str, sizes), strict=True)))
    for instance in kernel.instances:
        place = _add(element, "instance", name=instance.name)
        if instance.address is not None:
            _add(place, "addrRemap", base=_hex(instance.address), range=_hex(kernel.address_range))


def _add(parent: ElementTree.Element, tag: str, **attributes: str | None) -> ElementTree.Element:
    said = {name: value for name, value in attributes.items() if value is not None}
    return ElementTree.SubElement(parent, tag, said)


def _hex(number: int | None) -> str | None:
    return None if number is None else f"{number:#x}"


class _Tree(ElementTree.TreeBuilder):
    """A builder of XML trees that refuses document types, whose entities can fill the memory."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:  # noqa: ARG002
        """Refuses the document type, with its document."""
        raise UsageError(f"{self._what} has a document type; none is written there")


def tree_of(xml: bytes, what: str) -> ElementTree.Element:
    """Returns the root of an XML text; raises UsageError, with ``what``, if the text is damaged."""
    parser = ElementTree.XMLParser(target=_Tree(what))
    try:
        parser.feed(xml)
        root: ElementTree.Element = parser.close()
    # LookupError and ValueError: the encoding is unknown, or has several bytes for each letter.
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise UsageError(f"{what} is no XML: {error}") from error
    return root


def kernels_of(xml: bytes) -> tuple[Kernel, ...]:
    """Returns the kernels of an XML section; raises UsageError if it is damaged."""
    text = _short(xml, "embedded_metadata").rstrip(b"\0")
    project = tree_of(text, "section embedded_metadata")
    return tuple(_kernel(element) for element in project.iterfind("platform/device/core/kernel"))


def _kernel(element: ElementTree.Element) -> Kernel:
    name = _text(element, "name")
    return Kernel(
        name=name,
        arguments=tuple(_argument(arg) for arg in element.iterfind("arg")),
        instances=tuple(_instance(instance) for instance in element.iterfind("instance")),
        ports=tuple(_port(port) for port in element.iterfind("port")),
        control=element.get("hwControlProtocol", "ap_ctrl_hs"),
        interrupt=element.get("interrupt") == "true",
        auto_restart=element.get("countedAutoRestart", "0") != "0",
    )


def _argument(element: ElementTree.Element) -> Argument:
    qualifier = _number(element, "addressQualifier")
    if qualifier is not None and qualifier >= len(QUALIFIERS):
        raise UsageError(f"section embedded_metadata has an address qualifier {qualifier}")
    return Argument(
        name=_text(element, "name"),
        type=element.get("type", ""),
        qualifier=None if qualifier is None else QUALIFIERS[qualifier],
        size=_number(element, "hostSize" if element.get("hostSize") else "size"),
        offset=_number(element, "offset"),
        port=element.get("port"),
        index=_number(element, "id"),
    )


def _port(element: ElementTree.Element) -> Port:
    return Port(
        name=_text(element, "name"),
        mode=element.get("mode", ""),
        type=element.get("portType", ""),
        range=_number(element, "range") or 0,
        data_width=_number(element, "dataWidth") or 0,
    )


def _instance(element: ElementTree.Element) -> Instance:
    place = element.find("addrRemap")
    return Instance(_text(element, "name"), None if place is None else _number(place, "base"))


def _text(element: ElementTree.Element, attribute: str) -> str:
    text = element.get(attribute)
    if text is None:
        raise UsageError(f"section embedded_metadata: a {element.tag} has no {attribute}")
    return text


def _number(element: ElementTree.Element, attribute: str) -> int | None:
    text = element.get(attribute, "")
    if not text:
        return None
    try:
        number = int(text, 0)
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 64:
        raise UsageError(
            f"section embedded_metadata: {attribute} of a {element.tag} is {text[:40]!r}"
        )
    return number


def _short(text: bytes, section: str) -> bytes:
    if len(text) > _LONGEST_TEXT:
        raise UsageError(f"section {section} has {len(text)} bytes: too many to be read")
    return text


def json_of(text: bytes, section: str) -> object:
    """Returns the value of a section of JSON; raises UsageError for invalid JSON."""
    try:
        return msgspec.json.decode(_short(text, section).rstrip(b"\0"))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UsageError(f"section {section} is no JSON: {error}") from error


class _KeyValue(msgspec.Struct):
    key: str
    value: str


class _KeyValues(msgspec.Struct):
    key_values: list[_KeyValue] = []


class _KeyValueMetadata(msgspec.Struct):
    keyvalue_metadata: _KeyValues


def json_of_key_values(pairs: Mapping[str, str]) -> bytes:
    """Returns the KEYVALUE_METADATA section of these pairs."""
    listed = [_KeyValue(key, value) for key, value in pairs.items()]
    return msgspec.json.encode(_KeyValueMetadata(_KeyValues(listed)))


def key_values_of(text: bytes) -> dict[str, str]:
    """Returns the pairs of a KEYVALUE_METADATA section; raises UsageError if it is damaged."""
    section = "keyvalue_metadata"
    try:
        metadata = msgspec.convert(json_of(text, section), _KeyValueMetadata)
    except msgspec.ValidationError as error:
        raise UsageError(f"section {section}: {error}") from error
    return {pair.key: pair.value for pair in metadata.keyvalue_metadata.key_values}
