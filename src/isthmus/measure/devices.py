"""Opens the devices of a run and makes their records for the run file."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from isthmus import backends
from isthmus.address import Address
from isthmus.backends import by_scheme
from isthmus.errors import IsthmusError, NoDeviceError, UsageError
from isthmus.measure import discovery, protocol
from isthmus.measure.discovery import FoundDevice, SharedWorker
from isthmus.measure.runner import Watcher
from isthmus.measure.selection import Identity
from isthmus.measure.supervisor import Responder, WorkerDiedError, WorkerRefusedError
from isthmus.models.pcie import Link
from isthmus.results.run_file import DeviceRecord
from isthmus.run_options import flag
from isthmus.system import pci

if TYPE_CHECKING:
    from isthmus.measure.joint import RankGroup


@dataclass(frozen=True)
class _Earlier:
    """The devices that an earlier run had, by address."""

    devices: Mapping[str, Identity] = dataclasses.field(default_factory=dict)
    must_be_here: bool = True
    """Whether a device counts as missing if only another device has its address now."""


_earlier: ContextVar[_Earlier] = ContextVar("_earlier", default=_Earlier())  # noqa: B039 - frozen


@contextlib.contextmanager
def of_earlier(records: Iterable[DeviceRecord], *, must_be_here: bool) -> Iterator[None]:
    """Within this context, an address means the device that an earlier run had at the address.

    UUID or PCI address identify the device, because numbers change when a board is added. If only
    another device has the address now, ``must_be_here`` makes the earlier device count as missing.
    Without it the run opens the other device, and the watcher shows a message.
    """
    identities = {
        record.address: Identity.of(record)
        for record in records
        if record.name and not record.error
    }
    token = _earlier.set(_Earlier(identities, must_be_here))
    try:
        yield
    finally:
        _earlier.reset(token)


def _resolved(address: str, shared: SharedWorker, watcher: Watcher) -> FoundDevice:
    """The device of an address; inside ``of_earlier`` the device that the earlier run had there."""
    earlier = _earlier.get()
    before = earlier.devices.get(address)
    try:
        return discovery.resolve(address, shared=shared, before=before)
    except NoDeviceError as error:
        if before is None or earlier.must_be_here:
            raise
        device = discovery.resolve(address, shared=shared)
        watcher.say(f"{error}; this run measures {device.description.name} instead")
        return device


def software_of(addresses: Iterable[str]) -> list[str]:
    """Addresses at which a run times the software of each API without a card, for comparison.

    Empty unless ``addresses`` are emulated cards that at least two APIs reach. Raises UsageError
    for an address that belongs to no backend.
    """
    parsed = map(Address.parse, addresses)
    software = dict.fromkeys(
        by_scheme(address.scheme).software_alone(address) for address in parsed
    )
    software.pop("", None)
    return list(software) if len(software) > 1 else []


def record_of(device: FoundDevice) -> DeviceRecord:
    """Makes a device's record for the run file, and reads its PCIe function for it."""
    described = device.description
    address = described.properties.get("pci_address", "")
    function = pci.read(address) if address and device.real else None
    return msgspec.convert(
        {
            **msgspec.structs.asdict(described),
            "address": device.address,
            "backend": device.backend.name,
            "real": device.real,
            "link": link_attributes(function) if function else {},
            "pci": function,
            "environment": dict(device.candidate.environment),
            "added": device.added,
        },
        DeviceRecord,
    )


def read_again(record: DeviceRecord) -> DeviceRecord:
    """A copy of a device's record with PCIe function and changing properties as they are now.

    A fresh worker reads the properties; the record stays without them if the worker fails.
    """
    after = {}
    changing = backends.of(record.backend).changing
    if changing and not record.error:
        with contextlib.suppress(IsthmusError, OSError):
            device = discovery.resolve(record.address, before=Identity.of(record))
            properties = device.description.properties
            after = {name: properties[name] for name in changing if name in properties}
    function = pci.read(record.pci.device.address) if record.pci else None
    return msgspec.structs.replace(record, pci_after=function, properties_after=after)


def link_attributes(function: pci.Function) -> dict[str, str]:
    """Attributes of a PCIe function: its link by sysfs's names, MPS, MRRS, IOMMU group, NUMA node.

    ``path_link`` is the slowest link on the way to the root, by its lanes and the speed that both
    ends support.
    """
    device = function.device
    speeds = {"current_link_speed": device.speed, "max_link_speed": device.most_speed}
    attributes = {name: f"{speed} GT/s PCIe" for name, speed in speeds.items() if speed is not None}
    counts = {
        "current_link_width": device.lanes,
        "max_link_width": device.most_lanes,
        "max_payload_bytes": device.payload,
        "max_read_request_bytes": device.read_request,
        "numa_node": function.numa_node,
    }
    attributes |= {name: str(count) for name, count in counts.items() if count is not None}
    if function.iommu_group:
        attributes["iommu_group"] = function.iommu_group
    links = [
        Link(speed, link.lanes)
        for link in function.links()
        if (speed := link.most_speed or link.speed) and link.lanes
    ]
    if links:
        narrowest = min(links, key=lambda link: link.raw)
        attributes["path_link_speed"] = f"{narrowest.gigatransfers} GT/s PCIe"
        attributes["path_link_width"] = str(narrowest.lanes)
    return {"address": device.address, **attributes} if attributes else {}


def _record_of_missing(address: str, error: NoDeviceError) -> DeviceRecord:
    parsed = Address.parse(address)
    backend = by_scheme(parsed.scheme)
    real = backend.expects_hardware(parsed)
    return DeviceRecord(address=address, backend=backend.name, real=real, error=str(error))


def open_device(device: FoundDevice, shared: SharedWorker) -> FoundDevice:
    """Opens a device and returns its description, which options may change.

    The ``shared`` worker opens devices of backends that load no vendor's library. Raises UsageError
    for a wrong option, NoDeviceError if the device cannot be used.
    """
    if not (device.options or device.backend.run_options_of(device.description)):
        return device
    if device.candidate.built_in:
        return open_in(shared, device)
    with device.worker() as worker:
        return open_in(worker, device)


def open_in(worker: Responder | SharedWorker, device: FoundDevice) -> FoundDevice:
    """Opens a device like ``open_device``, in a worker that already has its environment."""
    try:
        answer = worker.ask(device.open_request())
    except (WorkerRefusedError, WorkerDiedError) as error:
        if isinstance(error, WorkerRefusedError) and error.usage:
            raise UsageError(f"device '{device.address}': {error}") from error
        raise NoDeviceError(f"'{device.address}' cannot be used: {error}") from error
    assert isinstance(answer, protocol.Opened)
    return dataclasses.replace(device, description=answer.device)


def refuse_or_warn(message: str, records: Sequence[DeviceRecord], watcher: Watcher) -> None:
    """Reports that no open device of the run can meet a request.

    Raises UsageError with ``message`` if every device is open. If a device is missing, it might
    meet the request, so that the watcher only shows the message as a warning.
    """
    if not any(record.error for record in records):
        raise UsageError(message)
    watcher.say(message)


def refuse_absent(addresses: Sequence[str]) -> None:
    """Raises NoDeviceError if none of these devices is here, UsageError for a wrong address."""
    errors = []
    earlier = _earlier.get()
    identities = earlier.devices if earlier.must_be_here else {}
    with SharedWorker() as shared:
        for address in addresses:
            try:
                discovery.resolve(address, shared=shared, before=identities.get(address))
            except NoDeviceError as error:
                errors.append(str(error))
            else:
                return
    if errors:
        raise NoDeviceError("; ".join(errors))


def devices_of(
    addresses: Sequence[str],
    options: Mapping[str, str],
    watcher: Watcher,
    *,
    software: bool = False,
) -> tuple[list[FoundDevice], list[DeviceRecord]]:
    """Opens the devices of these addresses, or all real devices; returns them and their records.

    ``software``: whether to add the devices of ``software_of``. A named device that cannot be used
    gets a record with its error. An unnamed or added device is left out. The watcher shows both
    errors. Raises UsageError for an option that no device accepts, NoDeviceError if no device
    remains.
    """
    added = software_of(addresses) if software else ()
    real = {} if addresses else {device.address: device for device in discovery.real_devices()}
    devices: list[FoundDevice] = []
    records: list[DeviceRecord] = []
    taken: set[str] = set()
    errors: list[str] = []
    with SharedWorker() as shared:
        for address in dict.fromkeys([*(addresses or real), *added]):
            is_added = address in added and address not in addresses
            try:
                resolved = real.get(address) or _resolved(address, shared, watcher)
                device = resolved.with_run_options(options)
                taken |= device.run_options.keys()
                device = dataclasses.replace(open_device(device, shared), added=is_added)
            except NoDeviceError as error:
                errors.append(str(error))
                if addresses and not is_added:
                    records.append(_record_of_missing(address, error))
            else:
                devices.append(device)
                records.append(record_of(device))
    if not devices:
        raise NoDeviceError("; ".join(errors) or "no device is here")
    for error_text in errors:
        watcher.say(error_text)
    _check_options(options.keys() - taken, records, watcher)
    return devices if addresses else _alike(devices, records), records


def _alike(devices: Sequence[FoundDevice], records: Sequence[DeviceRecord]) -> list[FoundDevice]:
    """The devices, where each accelerator has the address of the first of its kind in ``like``."""
    first: dict[tuple[str, ...], str] = {}
    result = []
    for device, record in zip(devices, records, strict=True):
        like = ""
        if device.accelerates and not device.beside:
            first_address = first.setdefault(record.kind, device.address)
            like = first_address if first_address != device.address else ""
        result.append(dataclasses.replace(device, like=like))
    return result


def joint_device(
    group: RankGroup, options: Mapping[str, str], watcher: Watcher
) -> tuple[list[FoundDevice], list[DeviceRecord]]:
    """Opens the devices of all ranks as one joint device.

    Returns that device, its record, and a record of each different device of a rank. Raises
    UsageError for an option that no device accepts, NoDeviceError if a rank has no device.
    """
    device = group.open_devices(options)
    members = {member.address: member for member in group.members}
    members.pop(device.address, None)
    records = [record_of(member) for member in (device, *members.values())]
    taken = {name for member in group.members for name in member.run_options}
    _check_options(options.keys() - taken, records, watcher)
    return [device], records


def _check_options(
    untaken: Iterable[str], records: Sequence[DeviceRecord], watcher: Watcher
) -> None:
    """Refuses options of the run that no device accepts: see ``refuse_or_warn``."""
    for name in untaken:
        refuse_or_warn(f"{flag(name)}: no device of this run takes it", records, watcher)
