"""The study hostmem: what its answers say of known figures, and real kernels on shared memory."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path

import msgspec
import numpy as np
import pytest

from conftest import Command, slow
from isthmus import boards
from isthmus.analysis.findings import findings
from isthmus.analysis.reproduction import rates
from isthmus.models import host_memory
from isthmus.results.run_file import DeviceRecord, Point, Run
from isthmus.system import xrt
from synthetic import answer, point, run

KERNELS = {"read_bandwidth": "read", "write_bandwidth": "write", "bandwidth": "copy"}
NONE = {"outstanding": "", "burst_bytes": "", "page_bytes": ""}


def kernel(operation: str, size: int, seconds: float, **changes: object) -> Point:
    """One simulated launch over a buffer; other values of its axes as keywords."""
    axes = {"target": "host", "implementation": "model", "iterations": 1024, **NONE}
    axes |= {name: changes.pop(name) for name in list(changes) if name in axes}
    moved = size * int(str(axes["iterations"])) * (2 if operation == "bandwidth" else 1)
    return point(
        "card:u250", operation, size, [[seconds]], study="hostmem", api="card", axes=axes,
        memory="host_only" if axes["target"] == "host" else "device", moved_bytes=moved,
        initiator="kernel", rerun_changes={"clock": "simulated", **changes},
    )  # fmt: skip


def measured(points: list[Point], properties: Mapping[str, str] | None = None) -> Run:
    record = DeviceRecord(
        address="card:u250", backend="card", real=False, simulated=True, api="card",
        properties=dict(boards.resolve("u250") if properties is None else properties),
    )  # fmt: skip
    return msgspec.structs.replace(run(points), devices=[record], studies=["hostmem"])


def rates_of(operation: str) -> dict[int, float]:
    """Bytes a second by size, as published."""
    return rates("hostmem", boards.load("u250"), operation, target="host", iterations=1024)


def log_points(stretch: float = 1.0) -> Iterator[Point]:
    """The published log again, every time stretched."""
    for operation in KERNELS:
        for size, rate in rates_of(operation).items():
            moved = size * 1024 * (2 if operation == "bandwidth" else 1)
            yield kernel(operation, size, stretch * moved / rate)


def test_residuals_against_the_published_log_are_those_of_the_times() -> None:
    result = answer(measured(list(log_points(1.25))), "crossing")
    assert len(result.table) == 51
    assert result.table["published_residual"].tolist() == pytest.approx([1 / 1.25 - 1] * 51)
    assert set(result.table["data"]) == {"PASS"}


def test_residuals_against_the_model_are_zero_where_the_model_is_right() -> None:
    board = boards.load("u250")
    points = []
    for operation, name in KERNELS.items():
        for size in (4096, 1 << 20, 256 << 20):
            moved = size * 1024 * (2 if name == "copy" else 1)
            points.append(kernel(operation, size, moved / host_memory.bandwidth(board, name, size)))
    table = answer(measured(points), "crossing").table
    assert table["model_residual"].abs().max() < 1e-9  # times are kept to a picosecond


def test_wrong_data_are_told_and_count_in_no_peak() -> None:
    right = kernel("read_bandwidth", 4096, 1e-3)
    wrong = kernel("read_bandwidth", 8192, 1e-6, verified="false")
    of = measured([right, wrong])
    assert answer(of, "crossing").table["data"].tolist() == ["PASS", "FAIL"]
    assert answer(of, "peaks").table["bytes"].tolist() == [4096]


def test_a_board_without_a_published_log_gets_no_residual() -> None:
    properties = {**boards.resolve("u200")}
    of = measured([kernel("read_bandwidth", 16 << 20, 10.0)], properties)
    assert "published_residual" not in answer(of, "crossing").table
    assert "limit_share" in answer(of, "crossing").table


def test_concurrent_over_single_is_the_ratio_of_the_bandwidths() -> None:
    points = [
        kernel("read_bandwidth", 1 << 20, 2.0),
        kernel("write_bandwidth", 1 << 20, 4.0),
        kernel("bandwidth", 1 << 20, 2.5),
    ]
    table = answer(measured(points), "concurrent").table
    assert table["gain_ratio"].tolist() == pytest.approx([2 * 2.0 / 2.5])


def test_the_knee_is_where_the_log_has_it() -> None:
    table = answer(measured(list(log_points())), "knee").table.set_index("operation")
    rates = rates_of("bandwidth")
    peak = max(rates, key=rates.__getitem__)
    assert table.loc["bandwidth", "peak_bytes"] == peak
    lost = 1 - rates[256 << 20] / rates[peak]
    assert table.loc["bandwidth", "loss_share"] == pytest.approx(lost)
    assert table.loc["bandwidth", "last_bytes"] < 256 << 20


def test_two_numbers_of_sweeps_tell_the_launch_from_the_sweep() -> None:
    launch, sweep = 30e-6, 7e-6
    points = [
        kernel("read_bandwidth", 65536, launch + n * sweep, iterations=n) for n in (1, 16, 1024)
    ]
    table = answer(measured(points), "without_launch").table
    assert table["launch_s"].tolist() == pytest.approx([launch])
    assert table["without_launch_Bps"].tolist() == pytest.approx([65536 / sweep])


def test_direct_access_against_a_copy_and_card_memory() -> None:
    size = 1 << 20
    copy = point(
        "card:u250", "write", size, [[100e-6]], study="hostmem", api="card", memory="pinned",
        axes={"target": "", "implementation": "", "iterations": 1, **NONE},
        rerun_changes={"clock": "simulated"},
    )  # fmt: skip
    points = [
        kernel("read_bandwidth", size, 1024 * 90e-6),
        kernel("read_bandwidth", size, 1024 * 70e-6, target="device"),
        copy,
    ]
    table = answer(measured(points), "direct").table
    assert table["sweeps_until_copy_wins"].tolist() == pytest.approx([100 / (90 - 70)])
    assert table["direct_time_ratio"].tolist() == pytest.approx([90 / 170])


@pytest.mark.parametrize(
    ("spread", "said"), [(0.0, "Copy first"), (0.9, "not decided")], ids=["certain", "open"]
)
def test_copying_first_is_advised_where_it_is_certainly_faster(spread: float, said: str) -> None:
    """On a card that is real: simulated times are exact."""
    random = np.random.default_rng(2)

    def times(seconds: float) -> list[list[float]]:
        return [[seconds * math.exp(spread * random.standard_normal())] * 3 for _ in range(6)]

    size, axes = 1 << 20, {"implementation": "board", "iterations": 1, **NONE}
    points = [
        point("xrt:0", operation, size, times(seconds), study="hostmem", api="xrt", memory=memory,
              axes={"target": target, **axes})
        for operation, memory, target, seconds in (
            ("read_bandwidth", "host_only", "host", 900e-6),
            ("read_bandwidth", "device", "device", 70e-6),
            ("write", "aligned", "", 100e-6),
        )
    ]  # fmt: skip
    found = [one for one in findings(run(points)) if one.quantity.startswith("work on host")]
    assert [said in one.sentence for one in found] == [True]
    assert (found[0].verdict == "undecided") == bool(spread)


def test_without_copies_nothing_is_said_of_them() -> None:
    points = [
        kernel("read_bandwidth", 4096, 1.0),
        kernel("read_bandwidth", 4096, 0.5, target="device"),
    ]
    assert not answer(measured(points), "direct").has_rows


def test_points_without_the_study_s_axes_are_answered() -> None:
    bare = point("a", "bandwidth", 64, [[1e-6] * 25], study="hostmem", axes={})
    (peak,) = answer(run([bare]), "peaks").table.itertuples()
    assert (peak.bytes, peak.operation) == (64, "bandwidth")
    assert not answer(run([bare]), "crossing").has_rows  # which memory it reached is not known


def rows(isthmus: Command, *arguments: str) -> list[dict[str, str]]:
    done = isthmus("run", "hostmem", "--out", "out.json", "--quick", *arguments)
    assert done.returncode == 0, done.stderr
    shown = isthmus("show", "out.json", "--format", "csv")
    return list(csv.DictReader(io.StringIO(shown.stdout)))


@pytest.mark.parametrize(("sizes", "iterations"), [("4097", "3"), *slow(("1,1Mi", "1,3"))])
def test_opencl_kernels_reach_the_memory_that_the_runtime_shares(
    isthmus: Command, pocl: str, sizes: str, iterations: str
) -> None:
    points = rows(isthmus, "--device", pocl, "--bytes", sizes, "--iterations", iterations)
    assert {row["verified"] for row in points} == {"true"}
    assert {row["target"] for row in points} == {"host", "device"}
    assert {row["implementation"] for row in points} == {"board"}
    for row in points:
        if row["clock"] == "host":
            moved = float(row["bandwidth_Bps"]) * float(row["median_s"])
            both = 2 if row["operation"] == "bandwidth" else 1
            assert moved == pytest.approx(int(row["bytes"]) * int(row["iterations"]) * both)
        crosses = {"read_bandwidth": "h2d", "write_bandwidth": "d2h", "bandwidth": "both"}
        wanted = crosses[row["operation"]] if row["target"] == "host" else ""
        assert (row["direction"], row["initiator"]) == (wanted, "kernel")


def test_the_emulated_card_runs_the_study_as_events_and_as_rtl(isthmus: Command) -> None:
    points = rows(
        isthmus, "--device", "card:u250", "--bytes", "4Ki,64Ki,2Mi",
        "--implementation", "model" if not rtl_here(isthmus) else "model,rtl",
    )  # fmt: skip
    assert {row["verified"] for row in points} == {"true"}
    assert {row["clock"] for row in points} == {"simulated"}
    assert {row["iterations"] for row in points} == {"1024"}
    log = {name: rates_of(name) for name in KERNELS}
    for row in points:
        if row["target"] == "host" and row["implementation"] == "model":
            theirs = log[row["operation"]][int(row["bytes"])]
            assert float(row["bandwidth_Bps"]) == pytest.approx(theirs, rel=0.1)


def rtl_here(isthmus: Command) -> bool:
    return '"rtl"' in isthmus("devices", "--json").stdout


@pytest.mark.emulation
@pytest.mark.skipif(xrt.find() is None, reason="no XRT here")
def test_the_same_study_through_the_real_xrt_on_an_emulated_card(isthmus: Command) -> None:
    sizes = "4Ki,256Ki,2Mi"
    through = rows(isthmus, "--device", "xrt:0@card=u250", "--bytes", sizes)
    direct = isthmus("run", "hostmem", "--device", "card:u250", "--bytes", sizes, "--out", "b.json")
    assert direct.returncode == 0, direct.stderr
    shown = isthmus("show", "b.json", "--format", "csv").stdout
    key = itemgetter("operation", "target", "bytes")
    exact = {key(row): float(row["median_s"]) for row in csv.DictReader(io.StringIO(shown))}
    simulated = [row for row in through if row["clock"] == "simulated"]
    assert len(simulated) == len(exact)
    board = boards.load("u250")
    # A launch there costs the driver's part only: the API's own software is real.
    less = board.seconds("kernel.launch_ns") - board.seconds("driver.launch_ns")
    first = board.seconds("driver.first_launch_ns")  # of the one that is measured first
    late = []
    for row in simulated:
        seconds = float(row["median_s"])
        late.append(seconds > exact[key(row)] - less + first / 2)
        seconds -= first if late[-1] else 0
        assert seconds == pytest.approx(exact[key(row)] - less, rel=1e-3)
        wanted = "na" if row["operation"] == "read_bandwidth" else "true"
        assert row["verified"] == wanted
    assert sum(late) <= 1


@pytest.mark.emulation
@pytest.mark.skipif(xrt.find() is None, reason="no XRT here")
@pytest.mark.parametrize("scheme", ["xrt", "xocl"])
def test_each_buffer_lies_where_its_argument_reaches(
    isthmus: Command, tmp_path: Path, scheme: str
) -> None:
    from isthmus_emulation import kernels

    linked = msgspec.structs.replace(
        kernels.design(KERNELS, boards.load("u250"), "hw_emu"),
        connect={
            "read_bandwidth_1.input0": ("bank1",),
            "write_bandwidth_1.output0": ("bank1",),
            "bandwidth_1.input0": ("bank0",),
            "bandwidth_1.output0": ("bank1",),
        },
    )
    (tmp_path / "apart.xclbin").write_bytes(linked.build().encode())
    points = rows(
        isthmus, "--device", f"{scheme}:0@card=u250", "--xclbin", str(tmp_path / "apart.xclbin"),
        "--bytes", "64Ki", "--target", "device",
    )  # fmt: skip
    verified = {row["operation"]: row["verified"] for row in points if row["clock"] == "simulated"}
    assert verified == {"read_bandwidth": "na", "write_bandwidth": "true", "bandwidth": "true"}


def test_a_card_that_is_not_the_published_one_gets_no_residual(isthmus: Command) -> None:
    for changed in (("card:u250,link.lanes=4",), ("card:u250", "--outstanding", "1")):
        out = f"{len(changed)}.json"
        done = isthmus(
            "run", "hostmem", "--device", *changed, "--bytes", "64Ki", "--target", "host",
            "--out", out,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "has no outstanding" not in done.stderr
        assert "published log" not in done.stdout


def test_copies_that_are_asked_for_are_measured_beside_any_choice(isthmus: Command) -> None:
    points = rows(
        isthmus, "--device", "card:u250", "--bytes", "64Ki", "--target", "host",
        "--implementation", "model", "--operation", "read_bandwidth,write,read",
    )  # fmt: skip
    assert {row["operation"] for row in points} == {"read_bandwidth", "write", "read"}


@pytest.mark.parametrize("fault", ["faults.flip_completion=3", "faults.drop_write=3"])
def test_faults_of_the_card_are_found_and_attributed(isthmus: Command, fault: str) -> None:
    done = isthmus(
        "run", "hostmem", "--device", f"card:u250,{fault}", "--bytes", "64Ki", "--target", "host",
        "--implementation", "model", "--out", "out.json",
    )  # fmt: skip
    assert done.returncode == 1
    shown = json.loads(isthmus("show", "out.json", "--format", "json").stdout)["points"]
    wrong = {row["operation"] for row in shown if row["verified"] == "false"}
    single = "read_bandwidth" if "flip" in fault else "write_bandwidth"
    assert wrong == {single, "bandwidth"}


def test_a_device_that_shares_no_memory_is_told_why(isthmus: Command) -> None:
    done = isthmus("run", "hostmem", "--device", "host", "--quick")
    assert done.returncode == 2
    assert "nothing to measure" in done.stderr


def test_a_board_whose_kernels_reach_no_host_memory_says_so(isthmus: Command) -> None:
    shown = isthmus("run", "hostmem", "--device", "card:f1-vu9p", "--bytes", "4Mi,16Mi").stdout
    assert "No kernel on host memory was measured; on device memory" in shown
    assert re.search(r"^hostmem +kernels read device memory, 16Mi .* of device memory", shown, re.M)


@pytest.mark.parametrize("axis", ["target=disk", "implementation=vhdl"])
def test_values_that_no_device_has_are_told(isthmus: Command, pocl: str, axis: str) -> None:
    done = isthmus("run", "hostmem", "--device", pocl, "--quick", "--axis", axis)
    assert done.returncode == 2
    assert f"has no {axis.replace('=', ' ')}" in done.stderr
