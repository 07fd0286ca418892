"""What an API's software costs by itself: against runs whose truth is known."""

from __future__ import annotations

import msgspec
import pytest

from isthmus.analysis.answers import answers
from isthmus.results.run_file import DeviceRecord, Run
from synthetic import Law, answer, point, run, transfer_run


def nothing_behind(reruns: int = 3) -> Run:
    """Native calls of 15 ns and OpenCL's of 30 us, which also copies 10 GB/s."""
    laws = {"xocl:0@noop": Law(30e-6, 10e9), "xrt:0@noop": Law(15e-9, 1e18)}
    changes = {"rerun_changes": {"verified": "na"}}
    points = [
        point(device, operation, size, [[law(size)] * 50] * reruns, **changes)
        for device, law in laws.items()
        for operation in ("read", "write")
        for size in (1, 4096, 1 << 26)
    ]
    points += [point("xocl:0@noop", "map", 1, [[20e-6] * 50] * reruns, **changes)]
    properties = {"keeps_data": "no"}
    devices = [
        DeviceRecord(address=a, backend="xrt", real=False, properties=properties) for a in laws
    ]
    return run(points, devices=devices)


@pytest.mark.parametrize("reruns", [1, 3])
def test_software_of_an_api_is_compared_where_nothing_is_behind_it(reruns):
    result = answer(nothing_behind(reruns), "api_software")
    table = result.table.set_index(["operation", "over"])
    small = table.loc[("read", "1 to 4Ki")]
    assert {small["device"], small["reference"]} == {"xocl:0@noop", "xrt:0@noop"}
    assert sorted([small["call_s"], small["reference_call_s"]]) == pytest.approx(
        [15e-9, 30.2e-6], rel=0.01
    )
    assert max(small["time_ratio"], 1 / small["time_ratio"]) == pytest.approx(2013, rel=0.01)
    assert bool(small["within"]) == (reruns == 1)
    large = table.loc[("write", "64Mi")]
    assert max(large["call_s"], large["reference_call_s"]) == pytest.approx(6.74e-3, rel=0.01)
    assert table.loc[("map", "1")]["reference"] == ""


def test_software_of_an_api_is_in_no_other_answer_and_of_hardware_there_is_none():
    texts = {result.name for result in answers(nothing_behind()) if result.has_rows}
    assert texts == {"api_software"}
    assert not answer(transfer_run({"a": {"read": Law(5e-6, 8e9)}}, [64]), "api_software").has_rows


def test_one_api_with_nothing_behind_it_is_told_by_itself():
    whole = nothing_behind()
    single = msgspec.structs.replace(
        whole, points=[p for p in whole.points if p.device == "xrt:0@noop"]
    )
    table = answer(single, "api_software").table.set_index(["operation", "over"])
    row = table.loc[("read", "1 to 4Ki")]
    assert (row["device"], row["reference"]) == ("xrt:0@noop", "")
    assert row["call_s"] == pytest.approx(15e-9, rel=0.01)
