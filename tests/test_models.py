from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Command
from isthmus import boards
from isthmus.boards import Board
from isthmus.cli import model_figures
from isthmus.errors import UsageError
from isthmus.models import Model, dma, host_memory, littles_law, mmio, registry, serial
from isthmus.models.base import Figure, Option
from isthmus.models.pcie import Link, link_of, path_of


def test_known_links() -> None:
    assert Link(5.0, 8).raw == pytest.approx(4.0e9)
    assert Link(8.0, 16).raw == pytest.approx(15.754e9, rel=1e-4)
    assert Link(32.0, 16).raw == pytest.approx(63.0e9, rel=1e-3)
    assert Link(32.0, 16).payload() == pytest.approx(57.6e9, rel=1e-3)


def test_what_sysfs_says() -> None:
    said = {"current_link_speed": "16.0 GT/s PCIe", "current_link_width": "8"}
    assert link_of(said) == Link(16.0, 8)
    idle = {"current_link_speed": "2.5 GT/s PCIe", "max_link_speed": "32.0 GT/s PCIe"}
    assert link_of({**idle, "current_link_width": "16"}) == Link(32.0, 16)
    assert link_of({}) is None
    assert link_of({"current_link_speed": "Unknown", "current_link_width": "0"}) is None


def test_the_wire_in_closed_form() -> None:
    """Byte by byte: gen2 x8 takes 0.25 ns for each, and 88 of them for a 64 B store."""
    path = path_of(boards.load("stratix4-gen2x8"))
    assert path.write_s(64) == pytest.approx(88 * 0.25e-9 * (1 + 4 / 1538))
    assert path.completions_s(512) == pytest.approx((512 + 4 * 20) * path.byte_s)
    narrow = path_of(boards.load("stratix4-gen2x8", {"link.address_bits": "32"}))
    assert narrow.write_s(64) == pytest.approx(84 / 88 * path.write_s(64))


@given(
    generation=st.sampled_from([1, 2, 3, 4, 5, 6]),
    lanes=st.sampled_from([1, 2, 4, 8, 16]),
    payload=st.sampled_from([128, 256, 512, 1024]),
    straddle=st.booleans(),
)
def test_no_rate_beats_the_raw_link(
    generation: int, lanes: int, payload: int, straddle: bool
) -> None:
    over = {
        "link.generation": str(generation), "link.lanes": str(lanes),
        "link.max_payload_bytes": str(payload), "link.straddle": str(straddle).lower(),
    }  # fmt: skip
    board = boards.load("generic-gen4x8", over)
    path = path_of(board)
    assert path.both() < path.writes() < path.link.raw
    assert path.reads() < path.link.raw
    assert path.bus_rate() < path.bus_bytes * path.bus_hertz
    for kernel in host_memory.KERNELS:
        # A copy's figure counts both directions.
        assert host_memory.bandwidth(board, kernel, 1 << 20) < path.link.raw * (
            2 if kernel == "copy" else 1
        )
    for direction in dma.DIRECTIONS:
        assert dma.rate(board, direction) <= path.link.raw


def test_the_parts_of_a_transfer_add_up() -> None:
    board = boards.load("u250")
    for direction in dma.DIRECTIONS:
        parts = {one.quantity: one.value for one in dma.predict(board, {"bytes": 4 << 20})}
        fixed, rate = parts[f"{direction} fixed cost"], parts[f"{direction} rate"]
        assert parts[f"{direction} time"] == pytest.approx(fixed + (4 << 20) / rate)


@pytest.mark.parametrize(
    ("changed", "limits"),
    [
        ({"link.lanes": "1"}, ("link", "link")),
        ({"dma.tags": "4"}, ("tags", "posted credits")),
        ({"memory.bandwidth_Bps": "1e9"}, ("bank", "bank")),
    ],
)
def test_a_rate_names_its_limit(changed: dict[str, str], limits: tuple[str, str]) -> None:
    figures = dma.predict(boards.named("u250", changed), {})
    notes = [one.note for one in figures if one.quantity.endswith(" rate")]
    assert notes == [f"limit: {name}" for name in limits]


def test_more_never_costs_less() -> None:
    board = boards.load("u250")
    for direction in dma.DIRECTIONS:
        times = [dma.transfer_s(board, direction, 1 << i) for i in range(31)]
        assert times == sorted(times)
    for devices in (1, 8):
        rates = [serial.bandwidth(boards.load("520n"), 1 << i, devices) for i in range(22)]
        assert rates == sorted(rates)
    card = boards.load("stratix4-gen2x8")
    loads = [mmio.load_s(card, width) for width in (1, 2, 4, 8, 16, 32, 64)]
    assert loads == sorted(loads)
    assert mmio.load_s(card, sram=True) > mmio.load_s(card)


def test_misses_slow_host_memory_down() -> None:
    board = boards.load("u250")
    cached = boards.load(
        "u250", {"host.cache_read_bytes": str(1 << 30), "host.cache_write_bytes": str(1 << 30)}
    )
    for kernel in host_memory.KERNELS:
        small, large = 1 << 20, 256 << 20
        assert host_memory.bandwidth(board, kernel, large) < host_memory.bandwidth(
            board, kernel, 2 << 20
        )
        doubled = host_memory.sweep_s(cached, kernel, large) - host_memory.sweep_s(
            cached, kernel, large // 2
        )
        again = host_memory.sweep_s(cached, kernel, 2 * small) - host_memory.sweep_s(
            cached, kernel, small
        )
        assert doubled / (large // 2) == pytest.approx(again / small)


def test_the_published_constants_give_the_published_model() -> None:
    """520 ns, no stretch: the 4.07 GB/s that came with the measurement, on its sizes."""
    board = boards.load("520n", {"serial.latency_ns": "520", "serial.stretch": "1"})
    assert serial.b_eff(board, 1, serial.SIZES["published"]) == pytest.approx(4.07e9, rel=2e-3)
    assert serial.b_eff(board, 1, serial.SIZES["definition"]) == pytest.approx(3.89e9, rel=2e-3)


def test_kernels_that_send_and_take_at_once_are_twice_as_fast() -> None:
    """The source prints 8.17 GB/s for a pair of them; its own formula and sizes give 8.139."""
    stated = {"serial.latency_ns": "520", "serial.stretch": "1", "serial.hop_ns": "0"}
    board = boards.load("520n", {**stated, "serial.in_turn": "false"})
    pair = serial.b_eff(board, 1, serial.SIZES["published"])
    assert pair == pytest.approx(8.139e9, rel=1e-4)
    assert pair == pytest.approx(2 * serial.b_eff(
        boards.load("520n", stated), 1, serial.SIZES["published"]))  # fmt: skip
    for pairs in (2, 4):
        assert serial.b_eff(board, pairs, serial.SIZES["published"]) == pytest.approx(pairs * pair)


def test_the_crossover_is_where_both_take_as_long() -> None:
    board = boards.load("stratix4-gen2x8")
    size = mmio.crossover_bytes(board)
    assert mmio.streaming_s(board, size) == pytest.approx(dma.transfer_s(board, "d2h", size))
    assert mmio.streaming_s(board, size / 2) < dma.transfer_s(board, "d2h", size / 2)
    assert mmio.streaming_s(board, size * 2) > dma.transfer_s(board, "d2h", size * 2)


def test_littles_law_both_ways() -> None:
    assert littles_law.in_flight(littles_law.rate(32, 512, 1.3e-6), 1.3e-6) == pytest.approx(
        32 * 512
    )


@pytest.mark.parametrize("name", [m.name for m in registry().values()])
def test_every_model_answers_as_its_table_says(name: str, isthmus: Command) -> None:
    data = json.loads(isthmus("model", name, "--json").stdout)
    assert data["figures"]
    assert all(0 < figure["value"] < float("inf") for figure in data["figures"])
    usage = isthmus("model", name, "--help").stdout
    table = isthmus("model", name).stdout
    assert len(table.splitlines()) == len(data["figures"]) + 2
    for option in registry()[name].options:
        assert f"--{option.name}" in usage
        if option.default is not None:
            assert data["inputs"][option.name] == option.default


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model", "nope"], "unknown model 'nope'"),
        (["model", "pcie", "--lanes", "3"], "link.lanes=3"),
        (["model", "pcie", "--lanes"], "'--lanes' requires an argument"),
        (["model", "pcie", "--lane", "8"], "No such option: --lane"),
        (["model", "pcie", "--lanes=8", "--lanes=4"], "--lanes is given twice"),
        (["model", "beff", "--devices", "-1"], "must be above 0"),
        (["model", "beff", "--devices", "two"], "no number"),
        (["model", "beff", "--board", "u250"], "has no [serial]"),
        (["model", "validate", "--format", "pdf"], "unknown format 'pdf'"),
        (["card", "boards", "nope"], "unknown board 'nope'"),
        (["card", "boards", "u250,link.lanes"], "is not KEY=VALUE"),
    ],
)
def test_errors_are_one_line_and_exit_2(
    arguments: list[str], message: str, isthmus: Command
) -> None:
    done = isthmus(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_card_boards_prints_what_is_known(isthmus: Command) -> None:
    assert [line.split()[0] for line in isthmus("card", "boards").stdout.splitlines()] == (
        boards.names()
    )
    data = json.loads(isthmus("card", "boards", "u250,link.lanes=8", "--json").stdout)
    lanes = next(p for p in data["parameters"] if p["parameter"] == "link.lanes")
    assert (lanes["value"], lanes["kind"]) == (8, "chosen")
    text = isthmus("card", "boards", "u250").stdout
    assert all(name in text for name in boards.load("u250").settings)


def test_what_if_on_the_command_line(isthmus: Command) -> None:
    def raw(*arguments: str) -> float:
        figures = json.loads(isthmus("model", "pcie", "--json", *arguments).stdout)["figures"]
        return next(float(f["value"]) for f in figures if f["quantity"] == "raw")

    assert raw("--gen", "4", "--lanes", "8") == pytest.approx(Link(16.0, 8).raw)
    assert raw("--board", "u250,link.lanes=8") == pytest.approx(Link(8.0, 8).raw)
    assert raw("--board=u250") == pytest.approx(Link(8.0, 16).raw)


def test_a_formula_without_a_board() -> None:
    options = (Option("bytes", "B", "size", 64.0), Option("hops", "", "on the way", 2.0))

    def crossing(_board: Board, inputs: Mapping[str, float]) -> list[Figure]:
        return [Figure("on the wire", inputs["bytes"] * inputs["hops"], "B")]

    model = Model("hops", "bytes on all hops", crossing, options=options)
    table = model_figures.answer(model, {"bytes": "1Ki"})
    assert table.startswith("hops: bytes on all hops\n")
    assert "2048 B" in table
    assert json.loads(model_figures.answer(model, {}, as_json=True))["figures"][0]["value"] == 128
    forgot = Model("lanes", "of a link", lambda b, _: [Figure("lanes", b.number("link.lanes"), "")])
    with pytest.raises(UsageError, match=r"board 'none' has no \[link\]"):
        model_figures.answer(forgot, {})
    with pytest.raises(ValueError, match="board it does not take"):
        Model("x", "y", crossing, options=(Option("lanes", "", "z", parameter="link.lanes"),))
