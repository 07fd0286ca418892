"""The limit of each rate, how it is known, and figures that cannot be true."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from isthmus import boards
from isthmus.analysis.summary import summarise
from isthmus.models.pcie import Link
from isthmus.reporters import by_name
from isthmus.results.run_file import DeviceRecord, Run
from synthetic import Law, point, run, transfer_run

GEN3_X8 = Link(8.0, 8)
LINK = {"max_link_speed": "8.0 GT/s PCIe", "current_link_width": "8", "max_payload_bytes": "128"}
SIZES = [4096, 16 << 20]
CLOSE = (1, 1.001, 0.999) * 2


def measured(rates: dict[str, float], link: dict[str, str], **changes: Any) -> Run:
    device = DeviceRecord(address="a", backend="a", real=True, link=link, **changes)
    one_way = {name: rate / (2 if name == "bidirectional" else 1) for name, rate in rates.items()}
    laws = {"a": {operation: Law(0.0, rate) for operation, rate in one_way.items()}}
    return transfer_run(laws, SIZES, devices=[device])


def only(of: Run) -> Any:
    return next(summarise(of).to_pandas().tail(1).itertuples())


def at(rate: float, operation: str, device: DeviceRecord, **changes: Any) -> Any:
    """The row of a point of 16 MiB at this rate."""
    size = 16 << 20
    seconds = [[size / rate * f] * 25 for f in CLOSE]
    return only(run([point("a", operation, size, seconds, **changes)], devices=[device]))


@pytest.mark.parametrize(("operation", "ways"), [("write", 1), ("read", 1), ("bidirectional", 2)])
def test_a_copy_stands_beside_what_its_link_leaves_for_data(operation: str, ways: int) -> None:
    row = only(measured({operation: 2e9 * ways}, LINK))
    assert row.limit_Bps == pytest.approx(ways * GEN3_X8.payload(128))
    assert row.limit_share == pytest.approx(row.bandwidth_Bps / row.limit_Bps)
    assert (row.limit, row.limit_source) == ("link", "PCIe gen3 x8, MPS 128")


@pytest.mark.parametrize(("operation", "through"), [("bidirectional", 1), ("stream", 2)])
def test_a_bank_of_an_emulated_card_limits_both_directions(operation: str, through: int) -> None:
    """Both directions meet in the bank; a stream's kernel reads and writes it as well."""
    board = boards.load("u250")
    card = DeviceRecord(address="a", backend="card", real=False, properties=board.flat())
    row = at(5e9, operation, card, direction="both")
    assert row.limit == "device memory"
    assert row.limit_Bps == pytest.approx(board.bank_rate() / through)
    assert at(5e9, "write", card).limit == "link"


def test_a_payload_size_that_is_not_known_is_named_as_assumed() -> None:
    row = only(measured({"write": 1e9}, LINK | {"max_payload_bytes": ""}))
    assert row.limit_source == "PCIe gen3 x8, MPS 256 assumed"


def test_the_narrowest_link_on_the_way_limits() -> None:
    narrow = LINK | {"path_link_speed": "5.0 GT/s PCIe", "path_link_width": "4"}
    row = only(measured({"write": 1e9}, narrow))
    assert row.limit_Bps == pytest.approx(Link(5.0, 4).payload(128))


def test_an_emulated_card_stands_beside_its_own_board() -> None:
    board = boards.load("u250", {"link.lanes": "8"})
    card = DeviceRecord(
        address="a", backend="card", real=False, simulated=True, properties=board.flat()
    )
    host = at(5e9, "write", card)
    assert host.limit_Bps == pytest.approx(GEN3_X8.payload(256), rel=0.02)
    assert host.limit_source == "PCIe gen3 x8, MPS 256, MRRS 512, board u250"
    own = at(5e9, "kernel_read", card, initiator="kernel", memory="device")
    refreshing = 350 / 7800
    assert own.limit == "device memory"
    assert own.limit_Bps == pytest.approx((1 - refreshing) * board.number("memory.bandwidth_Bps"))


def test_memory_of_a_gpu_limits_its_kernels_and_links_limit_copies_to_another() -> None:
    gpu = DeviceRecord(
        address="a", backend="cuda", real=True, link=LINK,
        properties={
            "memory_clock_kHz": "2619000", "memory_bus_bits": "5120", "nvlink_Bps": "478e9",
        },
    )  # fmt: skip
    kernel = at(3e12, "kernel_read", gpu, initiator="kernel", memory="device", direction="")
    assert (kernel.limit, kernel.limit_Bps) == ("device memory", pytest.approx(3.352e12, rel=1e-3))
    peer = at(390e9, "peer_write", gpu, memory="device", direction="")
    assert (peer.limit, peer.limit_Bps) == ("links", 478e9)
    assert peer.limit_share == pytest.approx(390 / 478, rel=0.01)


def test_without_any_link_a_plain_copy_of_the_same_size_is_the_limit() -> None:
    laws = {"host": {"write": Law(1e-7, 10e9)}, "a": {"write": Law(1e-7, 5e9)}}
    rows = (
        summarise(transfer_run(laws, SIZES, apis={"host": "host"})).to_pandas().set_index("device")
    )
    assert set(rows.loc["a", "limit"]) == {"memcpy"}
    assert list(rows.loc["a", "limit_Bps"]) == list(rows.loc["host", "bandwidth_Bps"])
    assert rows.loc["host", "limit_Bps"].isna().all()


def test_a_device_of_which_nothing_is_known_has_no_limit() -> None:
    row = only(measured({"write": 1e9}, {}))
    assert np.isnan(row.limit_Bps)
    assert row.limit == ""


@pytest.mark.parametrize(
    ("rates", "flags"),
    [
        ({"write": 0.99 * GEN3_X8.raw}, set()),
        ({"write": 1.02 * GEN3_X8.raw}, {"above_link_limit"}),
        ({"bidirectional": 2.02 * GEN3_X8.raw}, {"above_link_limit"}),
        ({"write": 3e9, "read": 4e9, "bidirectional": 7.5e9}, set()),
        ({"write": 3e9, "read": 4e9, "bidirectional": 8e9}, {"above_sum"}),
    ],
)
def test_figures_that_cannot_be_true_are_flagged(rates: dict[str, float], flags: set[str]) -> None:
    rows = summarise(measured(rates, LINK)).to_pandas()
    last = rows[rows["bytes"] == SIZES[-1]]
    found = {flag for text in last["flags"] for flag in text.split(";")}
    assert found & {"above_link_limit", "above_sum"} == flags


def test_a_direction_that_was_not_measured_makes_no_sum() -> None:
    both = measured({"write": 3e9, "read": 4e9, "bidirectional": 8e9}, LINK)
    points = [
        structs.replace(one, reruns=[]) if one.operation == "read" else one for one in both.points
    ]
    assert (
        not summarise(structs.replace(both, points=points))
        .to_pandas()["flags"]
        .str.contains("above")
        .any()
    )


def test_one_process_is_not_enough_to_call_a_rate_impossible() -> None:
    both = measured({"write": 3e9, "read": 4e9, "bidirectional": 8e9}, LINK)
    points = [structs.replace(one, reruns=one.reruns[:1]) for one in both.points]
    assert (
        not summarise(structs.replace(both, points=points))
        .to_pandas()["flags"]
        .str.contains("above")
        .any()
    )


def test_every_format_shows_the_limit_of_a_rate() -> None:
    of = measured({"write": 2e9}, LINK)
    assert "PCIe gen3 x8, MPS 128" in by_name("csv").render(of)
    assert '"limit_share":0.30' in by_name("json").render(of)
    assert "limit link" in by_name("table").render(of)
    assert "30 %" in by_name("md").render(of)


def shares(*rates: tuple[int, float]) -> list[float]:
    """Shares of the link of one series, by size, for rates in bytes a second."""
    points = [
        point("a", "write", size, [[size / rate * f] * 25 for f in CLOSE]) for size, rate in rates
    ]
    frame = summarise(
        run(points, devices=[DeviceRecord(address="a", backend="a", real=True, link=LINK)])
    )
    return [float(share) for share in frame.sort_values("bytes")["limit_share"]]


@pytest.mark.parametrize(
    ("rates", "of_link"),
    [
        ([(32 << 10, 2e9), (256 << 10, 4e9)], 0),  # it still doubles
        ([(1 << 20, 5e9), (4 << 20, 5.9e9), (16 << 20, 6.1e9), (64 << 20, 6.2e9)], 3),
        ([(1 << 20, 6e9), (8 << 20, 4e9)], 2),  # it falls: latency is not what binds it
        ([(8 << 20, 6e9)], 0),  # nothing says whether a larger copy is faster
        ([(64 << 20, 6e9)], 1),
        ([(4 << 10, 1e9), (64 << 20, 6e9)], 1),
        ([(16 << 20, 4e9), (64 << 20, 6e9)], 0),
    ],
)
def test_a_rate_below_its_plateau_has_no_share_of_the_link(
    rates: list[tuple[int, float]], of_link: int
) -> None:
    known = [not math.isnan(share) for share in shares(*rates)]
    assert known == [False] * (len(rates) - of_link) + [True] * of_link
