"""What the time of a small transfer is spent on."""

from __future__ import annotations

import pytest

from isthmus import boards
from isthmus.analysis.findings import findings
from isthmus.models import dma
from isthmus.results.run_file import DeviceRecord, Run
from synthetic import Law, answer, point, run, transfer_run

SIZES = [1, 4096, 1 << 20]


def parts_of(of: Run, device: str) -> dict[str, float]:
    table = answer(of, "split").table
    return dict(table[table["device"] == device][["part", "part_s"]].itertuples(index=False))


def card(operation: str, board: boards.Board) -> Run:
    record = DeviceRecord(
        address="card:x", backend="card", real=False, simulated=True, properties=board.flat()
    )
    seconds = dma.transfer_s(board, "h2d" if operation == "write" else "d2h", 4096)
    only = point("card:x", operation, 4096, [[seconds]], rerun_changes={"clock": "simulated"})
    return run([only], devices=[record])


@pytest.mark.parametrize("operation", ["read", "write"])
@pytest.mark.parametrize("completion", ["poll", "interrupt"])
def test_an_emulated_card_knows_its_parts(operation: str, completion: str) -> None:
    board = boards.load("u250", {"dma.completion": completion})
    parts = parts_of(card(operation, board), "card:x")
    driver = board.seconds("dma.submit_ns") + board.seconds("dma.finish_ns")
    assert parts["driver"] == pytest.approx(driver)
    notice = "polling" if completion == "poll" else "interrupt"
    assert parts[notice] == pytest.approx(board.seconds(f"host.{notice}_ns"))
    whole = dma.transfer_s(board, "h2d" if operation == "write" else "d2h", 4096)
    assert sum(parts.values()) == pytest.approx(whole)
    assert 2 * board.seconds("link.latency_ns") < parts["link and memory"] < whole / 2


def test_beside_a_plain_copy_the_rest_is_software() -> None:
    laws = {"host": {"write": Law(1e-7, 10e9)}, "opencl:a": {"write": Law(20e-6, 10e9)}}
    measured = transfer_run(laws, SIZES, apis={"host": "host"})
    parts = parts_of(measured, "opencl:a")
    assert parts["software of OpenCL"] == pytest.approx(19.9e-6, rel=0.02)
    assert parts["the copy itself"] == pytest.approx(0.51e-6, rel=0.05)
    (said,) = [one.sentence for one in findings(measured) if one.evidence == "split"]
    assert "us software of OpenCL" in said


def test_above_nothing_the_same_calls_are_the_software() -> None:
    devices = [
        DeviceRecord(address="xrt:0@noop", backend="xrt", real=False,
                     properties={"keeps_data": "no"}),
        DeviceRecord(address="xrt:0", backend="xrt", real=True),
    ]  # fmt: skip
    points = [
        point(device.address, "write", 4096, [[seconds] * 25] * 3, api="xrt",
              rerun_changes={"verified": verified})
        for device, seconds, verified in zip(devices, (2e-6, 12e-6), ("na", "true"), strict=True)
    ]  # fmt: skip
    parts = parts_of(run(points, devices=devices), "xrt:0")
    assert parts == pytest.approx({"software of XRT": 2e-6, "driver, link and device": 10e-6})


def test_nothing_is_told_where_nothing_is_known() -> None:
    assert answer(transfer_run({"a": {"write": Law(1e-5, 1e10)}}, SIZES), "split").table.empty
