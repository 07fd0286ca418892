"""The devices of a run: those that were asked for, and what is known of those that are not here."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from isthmus.backends import by_scheme
from isthmus.errors import NoDeviceError, UsageError
from isthmus.measure import discovery, protocol
from isthmus.measure.address import Address
from isthmus.measure.runner import Watcher
from isthmus.measure.supervisor import Asked, Worker, WorkerDiedError, WorkerRefusedError
from isthmus.results.run_file import DeviceRecord
from isthmus.system import environment

if TYPE_CHECKING:
    from isthmus.measure.joint import RankGroup


def _record(found: discovery.Found) -> DeviceRecord:
    described = found.description
    pci = described.properties.get("pci_address", "")
    return DeviceRecord(
        address=found.address,
        backend=found.backend.name,
        real=found.real,
        simulated=described.simulated,
        name=described.name,
        platform=described.platform,
        api=described.api,
        max_buffer_bytes=described.max_buffer_bytes,
        memory_bytes=described.memory_bytes,
        properties=described.properties,
        link=environment.pcie_link(pci) if pci else {},
        environment=dict(found.candidate.environment),
    )


def opened(one: discovery.Found) -> discovery.Found:
    """The device as it describes itself once it is open: options may change what it can do.

    Raises UsageError for a wrong option, NoDeviceError where the device cannot be had.
    """
    if not (one.options or one.backend.run_options_of(one.description)):
        return one
    with Worker(one.candidate.environment) as worker:
        return opened_by(worker, one)


def opened_by(worker: Asked, one: discovery.Found) -> discovery.Found:
    """The same, by a worker that has the environment of its candidate."""
    try:
        answer = worker.ask(one.open_request())
    except (WorkerRefusedError, WorkerDiedError) as error:
        if isinstance(error, WorkerRefusedError) and error.usage:
            raise UsageError(f"device '{one.address}': {error}") from error
        raise NoDeviceError(f"'{one.address}' cannot be used: {error}") from error
    assert isinstance(answer, protocol.Opened)
    return dataclasses.replace(one, description=answer.device)


def complain(what: str, records: Sequence[DeviceRecord], watcher: Watcher) -> None:
    """Raises UsageError, unless a device that is not here may have been meant: then it is told."""
    if not any(record.error for record in records):
        raise UsageError(what)
    watcher.say(what)


def find(
    addresses: Sequence[str], options: Mapping[str, str], watcher: Watcher
) -> tuple[list[discovery.Found], list[DeviceRecord]]:
    """Devices of these addresses, or all real ones; those that cannot be had as records.

    What nobody asked for by name and cannot be had is told and left out.
    """
    known = {} if addresses else {one.address: one for one in discovery.everything_real()}
    here: list[discovery.Found] = []
    records: list[DeviceRecord] = []
    taken: set[str] = set()
    errors: list[str] = []
    for address in dict.fromkeys(addresses or known):
        try:
            one = (known.get(address) or discovery.resolve(address)).with_run_options(options)
            taken |= one.run_options.keys()
            one = opened(one)
        except NoDeviceError as error:
            errors.append(str(error))
            if addresses:
                parsed = Address.parse(address)
                backend = by_scheme(parsed.scheme)
                real = backend.expects_hardware(parsed)
                records.append(
                    DeviceRecord(address=address, backend=backend.name, real=real, error=str(error))
                )
        else:
            here.append(one)
            records.append(_record(one))
    if not here:
        raise NoDeviceError("; ".join(errors) or "no device is here")
    for error_text in errors:
        watcher.say(error_text)
    _complain_of_options(options.keys() - taken, records, watcher)
    return here, records


def find_in_group(
    group: RankGroup, options: Mapping[str, str], watcher: Watcher
) -> tuple[list[discovery.Found], list[DeviceRecord]]:
    """What the ranks' devices are together, and a record of each where they differ."""
    found = group.find(options)
    others = {member.address: member for member in group.members}
    others.pop(found.address, None)
    records = [_record(one) for one in (found, *others.values())]
    taken = {name for member in group.members for name in member.run_options}
    _complain_of_options(options.keys() - taken, records, watcher)
    return [found], records


def _complain_of_options(
    names: Iterable[str], records: Sequence[DeviceRecord], watcher: Watcher
) -> None:
    for name in names:
        complain(f"--{name.replace('_', '-')}: no device of this run takes it", records, watcher)
