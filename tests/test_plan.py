"""What is measured where the user names little."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from isthmus.measure.discovery import FoundDevice, resolve
from isthmus.measure.plan import Layer, plan, plan_run
from isthmus.studies import by_name


@pytest.fixture(scope="module")
def processor() -> FoundDevice:
    """OpenCL on the processor: it has no PCIe address."""
    return resolve("opencl:pocl")


def on_pcie(device: FoundDevice) -> FoundDevice:
    """The same device as if it were a card."""
    properties = {**device.description.properties, "pci_address": "0000:03:00.0"}
    described = msgspec.structs.replace(device.description, properties=properties)
    return replace(device, description=described)


def kinds(device: FoundDevice, **given: list[str]) -> set[str]:
    study = by_name("transfer")
    tasks = plan(study, device, {"operation": ["write"], **given}).tasks
    return {task.memory for task in tasks}


def test_a_card_is_measured_with_its_fastest_memory_beside_the_usual_one(
    processor: FoundDevice,
) -> None:
    assert kinds(processor) == {"aligned"}
    assert kinds(on_pcie(processor)) == {"aligned", "alloc_host"}
    assert kinds(on_pcie(processor), memory=["pageable"]) == {"pageable"}


def test_an_emulated_card_has_no_second_kind(processor: FoundDevice) -> None:
    card = on_pcie(processor)
    emulated = replace(card, candidate=replace(card.candidate, hardware=False))
    assert kinds(emulated) == {"aligned"}


def test_the_first_of_alike_devices_has_a_curve_and_the_second_has_headlines(
    processor: FoundDevice,
) -> None:
    """No clock takes part, so that this holds on a machine of any speed."""
    second = replace(processor, address="opencl:second", like=processor.address)
    placed, _ = plan_run([(by_name("transfer"), {})], [processor, second])
    layers = {
        one.address: {task.layer for device, task in placed if device is one}
        for one in (processor, second)
    }
    assert layers[processor.address] >= {Layer.HEADLINES, Layer.CURVE}
    assert Layer.HEADLINES in layers[second.address]
    assert Layer.CURVE not in layers[second.address]
