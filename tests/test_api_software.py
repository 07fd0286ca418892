"""What an API's software costs by itself: against runs whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import msgspec
import numpy as np
import pytest

from isthmus.analysis.context import RunContext, answers
from isthmus.analysis.findings import Finding, findings, written
from isthmus.analysis.findings.transfer import of_apis
from isthmus.analysis.hybrid import estimated
from isthmus.measure.devices import software_of
from isthmus.results.run_file import DeviceRecord, Run, Samples
from isthmus.studies import by_name
from synthetic import Law, answer, point, rerun, run, transfer_run


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


CARD_S = 15e-6
APIS = {"xrt": 5e-6, "opencl": 25e-6}
SMALL = (1, 64, 4096)


def above_a_card(boards: Sequence[str] = ("f1", "f1"), apart: float = 0.0) -> Run:
    """XRT and OpenCL above emulated cards of 15 us, with their software of 5 us and 25 us.

    ``apart``: by which share each process's software takes more time than the one before.
    """
    points, devices = [], []
    for (api, software), board in zip(APIS.items(), boards, strict=True):
        addresses = (f"{api}:0@card={board}", f"{api}:0@noop")
        for operation, size in product(("read", "write"), SMALL):
            known = {"api": api, "memory": f"{api}'s own"}
            card = {"clock": "simulated", "clocks": {"simulated": Samples([1], CARD_S, None)}}
            points.append(
                point(addresses[0], operation, size, [[CARD_S]], rerun_changes=card, **known)
            )
            seconds = [[software * (1 + apart * process)] * 25 for process in range(5)]
            none = {"verified": "na"}
            points.append(
                point(addresses[1], operation, size, seconds, rerun_changes=none, **known)
            )
        for address, simulated in zip(addresses, (True, False), strict=True):
            properties = {"emulated_card": board} if simulated else {"keeps_data": "no"}
            devices.append(
                DeviceRecord(
                    address=address, backend=api, real=False, simulated=simulated, api=api,
                    properties=properties,
                )
            )  # fmt: skip
    return run(points, devices=devices)


def test_two_apis_above_one_card_are_compared_by_software_plus_card():
    measured = above_a_card()
    table = answer(measured, "api_shares").table
    assert table[["operation", "bytes"]].to_numpy().tolist() == [
        [operation, size] for operation in ("read", "write") for size in SMALL
    ]
    assert table["time_ratio"].tolist() == pytest.approx([20 / 40] * 6, rel=1e-3)
    assert set(table["device"]) == {"xrt:0@card=f1"}  # the faster over the other
    heads = [one for one in findings(measured) if one.clock == "hybrid" and one.headline]
    assert [one.sentence for one in heads] == [
        "Copy to host, 1 to 4Ki: XRT takes 50 % of OpenCL's time (50 to 50 %).",
        "Copy to device, 1 to 4Ki: XRT takes 50 % of OpenCL's time (50 to 50 %).",
    ]
    by_size = [one for one in findings(measured) if one.evidence == "api_shares" and one.bytes]
    sizes = [one.bytes for one in by_size if one.clock == "hybrid"]
    assert sizes == [*SMALL, *SMALL]


def test_the_interval_of_a_share_covers_its_processes():
    """5 us and 25 us grow to 7 us and 35 us: 20 over 40 becomes 22 over 50."""
    table = answer(above_a_card(apart=0.1), "api_shares").table
    for one in table.itertuples():
        assert 22 / 50 <= one.time_ratio <= 20 / 40
        assert one.low_time_ratio < 0.45
        assert one.high_time_ratio > 0.49


def equal_apis(seed: int, between: float) -> Run:
    """Two APIs whose software takes 15 us, and scatters by ``between`` from process to process."""
    random = np.random.default_rng(seed)
    whole = above_a_card()
    points = [
        p
        if p.reruns[0].clocks.keys() == {"simulated"}
        else msgspec.structs.replace(
            p,
            reruns=[
                rerun(i, [15e-6 * factor] * 25, verified="na")
                for i, factor in enumerate(np.exp(between * random.standard_normal(5)))
            ],
        )
        for p in whole.points
    ]
    return msgspec.structs.replace(whole, points=points)


def of_shares(measured: Run) -> list[Finding]:
    context = RunContext.of(measured).of_study("transfer")
    return [written(one) for one in of_apis(context, estimated(context).table)]


def test_equal_apis_are_told_apart_in_at_most_one_run_of_twenty():
    """Of all sizes and operations of a run together, with a spread of 10 % between processes."""
    claims = [
        any(one.verdict in {"faster", "slower"} for one in of_shares(equal_apis(seed, 0.1)))
        for seed in range(60)
    ]
    assert sum(claims) <= 3


def test_equal_times_of_apis_are_called_the_same():
    every = of_shares(equal_apis(1, 1e-4))
    assert {one.verdict for one in every} == {"same"}
    assert {one.sentence.partition(": ")[2] for one in every} <= {
        f"{one} and {other} are alike, within {percent} %."
        for one, other in (("XRT", "OpenCL"), ("OpenCL", "XRT"))
        for percent in ("0.0", "0.1")
    }
    assert all(one.interval and one.interval.confidence > 0.998 for one in every)


def test_a_size_at_which_the_faster_api_is_slower_says_so():
    whole = above_a_card()
    points = [
        msgspec.structs.replace(p, reruns=[rerun(i, [45e-6] * 25, verified="na") for i in range(5)])
        if p.device == "xrt:0@noop" and p.bytes == SMALL[-1]
        else p
        for p in whole.points
    ]
    one = next(
        one
        for one in of_shares(msgspec.structs.replace(whole, points=points))
        if one.bytes == SMALL[-1]
    )
    assert one.verdict == "slower"
    assert one.sentence == "Copy to host, 4Ki: XRT takes 150 % of OpenCL's time (150 to 150 %)."


def test_a_share_of_one_process_says_so():
    whole = above_a_card()
    single = [msgspec.structs.replace(p, reruns=p.reruns[:1]) for p in whole.points]
    first, *_ = findings(msgspec.structs.replace(whole, points=single))
    assert first.sentence.startswith("Copy to host, 1 to 4Ki: XRT takes 50 % of OpenCL's time")
    assert "nan" not in first.sentence


def test_apis_above_different_cards_are_not_compared():
    assert not answer(above_a_card(("f1", "u250")), "api_shares").has_rows


def test_software_is_added_for_two_apis_on_emulated_cards_only():
    both = ["xrt:0@card=u250", "xocl:0@card=u250"]
    assert software_of(both) == ["xrt:0@noop", "xocl:0@noop"]
    assert software_of([both[0], "card:u250"]) == []
    assert software_of([both[0], "xrt:0@card=f1-vu9p"]) == []
    assert software_of(["xrt:0", "xocl:0", "opencl:pocl"]) == []


def test_software_is_measured_where_the_run_has_small_copies():
    transfer = by_name("transfer")
    assert transfer.of_software({"bytes": [64, 1 << 20]})["bytes"] == [64]
    assert transfer.of_software({})["bytes"] == [1, 16, 256, 4096, 65536]
    assert transfer.of_software({"bytes": [1 << 20]}) is None
    assert transfer.of_software({"operation": ["launch"]}) is None
    assert by_name("hostmem").of_software({}) is None
