"""The study beff: the emulated card's ring against what was published, and what a run answers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import synthetic
from isthmus import _core, boards
from isthmus.analysis.summary import summarise
from isthmus.backends import registry
from isthmus.errors import UsageError
from isthmus.models import serial
from isthmus.reporters.html import charts
from isthmus.results.run_file import DeviceRecord, Point, Run, load
from isthmus.studies import by_name
from synthetic import answer, point, run

Isthmus = Callable[..., CompletedProcess[str]]
Rows = list[dict[str, str]]


def measure(isthmus: Isthmus, out: Path, *options: str, ends: int = 0) -> tuple[Run, Rows]:
    done = isthmus("run", "beff", *options, "--out", str(out))
    assert done.returncode == ends, done.stderr
    shown = isthmus("show", str(out), "--format", "csv").stdout
    return load(out), list(csv.DictReader(io.StringIO(shown)))


@pytest.mark.parametrize(("ranks", "log"), [(1, "b_eff_520n_1fpga"), (8, "b_eff_520n_8fpga")])
def test_every_size_is_within_a_hundredth_of_the_published_log(
    ranks: int, log: str, isthmus: Isthmus, tmp_path: Path
) -> None:
    whole, rows = measure(
        isthmus, tmp_path / "run.json", "--device", "card:520n", "--sizes", "published",
        "--ranks", str(ranks),
    )  # fmt: skip
    theirs = synthetic.log(log).set_index("message_bytes")
    exchanges = [row for row in rows if row["operation"] == "exchange"]
    assert [int(row["bytes"]) for row in exchanges] == theirs.index.tolist()
    for row in exchanges:
        known = theirs.loc[int(row["bytes"])]
        moved = 2 * ranks * int(row["bytes"]) * known["looplength"]
        assert float(row["bandwidth_Bps"]) == pytest.approx(moved / known["transfer_s"], rel=0.01)
        assert float(row["transfer_s"]) == pytest.approx(known["transfer_s"], rel=0.01)
        assert (row["ranks"], row["looplength"]) == (str(ranks), "16384")
        assert (row["channel"], row["sizes"], row["clock"]) == ("card", "published", "simulated")
        assert (row["verified"], row["flags"]) == ("true", "fast_forward")
    (mean,) = (row for row in rows if row["operation"] == "b_eff")
    each = [float(row["bandwidth_Bps"]) for row in exchanges]
    assert float(mean["bandwidth_Bps"]) == pytest.approx(np.mean(each), rel=1e-12)
    assert (mean["sizes"], mean["ranks"], mean["median_s"]) == ("published", str(ranks), "")
    table = answer(whole, "by_size").table
    assert table["published_residual"].abs().max() < 0.01
    assert table["model_residual"].abs().max() < 1e-6
    assert 0.49 < table["limit_share"].max() < 0.5


def test_4096_ranks_are_simulated_by_their_image(isthmus: Isthmus, tmp_path: Path) -> None:
    many, rows = measure(
        isthmus, tmp_path / "4096.json", "--device", "card:520n", "--ranks", "4096"
    )
    few, _ = measure(isthmus, tmp_path / "8.json", "--device", "card:520n", "--ranks", "8")
    assert len(many.points) == len(serial.SIZES["definition"])
    assert {row["flags"] for row in rows} == {"fast_forward"}
    for of_many, of_few in zip(many.points, few.points, strict=True):
        assert of_many.reruns[0].clocks == of_few.reruns[0].clocks
        assert of_many.moved_bytes == 512 * of_few.moved_bytes


def test_what_a_full_simulation_gives_is_the_same(isthmus: Isthmus, tmp_path: Path) -> None:
    chosen = ("--bytes", "1,4Ki", "--ranks", "9", "--looplength", "40", "--depth", "3")
    quick, _ = measure(isthmus, tmp_path / "quick.json", "--device", "card:520n", *chosen)
    full, rows = measure(
        isthmus, tmp_path / "full.json", "--device", "card:520n,fast_forward=no", *chosen
    )
    for one, other in zip(quick.points, full.points, strict=True):
        assert one.reruns[0].clocks == other.reruns[0].clocks
    assert {(row["flags"], row["sizes"], row["depth"]) for row in rows} == {("", "own", "3")}


def test_too_many_ranks_are_told_once(isthmus: Isthmus) -> None:
    done = isthmus("run", "beff", "--device", "card:520n", "--ranks", "1000000")
    assert done.returncode == 2
    assert "takes no ranks 1000000: at most 65536" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sizes", "all"), "no sizes 'all'; known: definition, published"),
        (("--sizes", "published", "--bytes", "1"), "give --bytes or --sizes"),
        (("--channel", "pigeon"), "has no channel pigeon: it has card"),
    ],
)
def test_wrong_words_are_told(options: Sequence[str], message: str, isthmus: Isthmus) -> None:
    done = isthmus("run", "beff", "--device", "card:520n", *options)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_flipped_bit_is_found_and_told(isthmus: Isthmus, tmp_path: Path) -> None:
    whole, rows = measure(
        isthmus, tmp_path / "run.json", "--device", "card:520n,faults.flip_message=20001",
        "--ranks", "2", ends=1,
    )  # fmt: skip
    assert {row["verified"] for row in rows} == {"false"}
    assert not any(row["operation"] == "b_eff" for row in rows)
    texts = {rerun.fault for p in whole.points for rerun in p.reruns}
    assert all("message 20001 from card 0 to card 1, of which it flipped a bit" in f for f in texts)
    assert answer(whole, "b_eff").table.empty


def test_a_card_without_serial_channels_has_no_ring(isthmus: Isthmus) -> None:
    done = isthmus("run", "beff", "--device", "card:u250", "--bytes", "1")
    assert done.returncode == 2
    assert "nothing to measure" in done.stderr


@settings(max_examples=60)
@given(
    size=st.integers(1, 200_000),
    depth=st.integers(1, 4096),
    devices=st.integers(1, 40),
    steps=st.integers(1, 20_000),
    late=st.sampled_from([0, 1500]),
)
def test_events_and_closed_form_agree(
    size: int, depth: int, devices: int, steps: int, late: int
) -> None:
    board = boards.load("520n", {"serial.barrier_ns": str(late), "serial.start_ns": str(2 * late)})
    backend = _core.load_backend(str(registry()["card"].library))
    axes = {"ranks": str(devices), "looplength": str(steps), "depth": str(depth)}
    series = _core.Series(backend.open("", board.flat()), "exchange", size, "device", axes)
    block = series.measure(0.0)
    assert (block.fault, block.batch) == ("", steps)
    shape = board.with_values({"serial.depth": float(depth)})
    model = serial.exchange_s(shape, size, devices, steps)
    assert block.parts[0].simulated_fs[0] * 1e-15 == pytest.approx(model, rel=1e-5)


def test_links_on_one_wire_cost_at_least_what_the_closed_form_says() -> None:
    board = boards.load("520n", {"serial.sharing": "8"})
    single = serial.exchange_s(boards.load("520n"), 1 << 20, 64)
    assert serial.exchange_s(board, 1 << 20, 64) == pytest.approx(4 * single, rel=0.01)
    backend = _core.load_backend(str(registry()["card"].library))
    axes = {"ranks": "64", "looplength": "1000"}
    series = _core.Series(backend.open("", board.flat()), "exchange", 1 << 18, "device", axes)
    seconds = series.measure(0.0).parts[0].simulated_fs[0] * 1e-15
    assert seconds >= serial.exchange_s(board, 1 << 18, 64, 1000)
    assert seconds == pytest.approx(serial.exchange_s(board, 1 << 18, 64, 1000), rel=0.02)


def test_sets_of_sizes() -> None:
    study = by_name("beff")
    definition, published = ({"sizes": name} for name in ("definition", "published"))
    of = {name: list(sizes) for name, sizes in serial.SIZES.items()}
    assert study.sizes({}) == [(definition, of["definition"])]
    both = study.parse({"sizes": "published,definition"})
    assert study.sizes(both) == [
        (published, of["published"]), (definition, of["definition"]),
    ]  # fmt: skip
    own = study.parse({"bytes": "1,4Ki"})
    assert study.sizes(own) == [({"sizes": "own"}, [1, 4096])]


def test_sizes_of_studies_without_sets() -> None:
    transfer, allocation = by_name("transfer"), by_name("allocation")
    ((columns, every),) = transfer.sizes({})
    assert columns == {}
    assert every == [1 << n for n in range(32)]
    first = [1, 16, 256, 4 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
    assert transfer.size_axis.first == first
    assert transfer.sizes(transfer.parse({"bytes": "3"})) == [({}, [3])]
    assert allocation.sizes(allocation.parse({"elements": "5"})) == [({}, [20])]


def test_sizes_are_given_once() -> None:
    study = by_name("beff")
    with pytest.raises(UsageError, match="both choose"):
        study.parse({"sizes": "published", "bytes": "1"})


def _mpi(
    rates: Sequence[float], *, sizes: Sequence[int] = serial.SIZES["definition"], **changes: Any
) -> list[Point]:
    """Exchanges among ranks of which each has its own rate, over samples that scatter."""
    scatter = np.exp(0.05 * np.random.default_rng(3).standard_normal(25))
    axes = {
        "channel": "mpi", "ranks": len(rates), "rank": "", "looplength": "",
        "sizes": "definition", "topology": "ring", "depth": "",
    }  # fmt: skip

    def one(operation: str, size: int, rate: float, sent: int, **own: int) -> Point:
        step = 1e-6 + sent / rate
        each = {"rerun_changes": {"batch": 7}}
        made = point(
            "host", operation, size, [list(7 * step * scatter)] * 3, study="beff", api="mpi",
            moved_bytes=sent, axes={**axes, **own}, **each,
        )  # fmt: skip
        return msgspec.structs.replace(made, **changes)

    points = []
    for size in sizes:
        total = 2 * size * len(rates)
        points.append(one("exchange", size, len(rates) * min(rates), total))
        points += [
            one("exchange_rank", size, rate, 2 * size, rank=r) for r, rate in enumerate(rates)
        ]
    return points


def test_a_measured_run_has_the_rate_of_each_rank_and_the_best_of_all() -> None:
    measured = run(_mpi([4e9, 4e9, 1e9, 2e9, 4e9]))
    table = answer(measured, "slowest").table.set_index("rank")
    assert table.index.tolist() == [0, 1, 2, 3, 4]
    others = table.drop(2)
    assert (table.loc[2, "high_rank_Bps"] < others["low_rank_Bps"]).all(), "surely the slowest"
    alike = answer(run(_mpi([4e9, 4e9, 4e9])), "slowest").table
    assert alike["high_rank_Bps"].min() >= alike["low_rank_Bps"].max(), "none surely is"
    assert alike["median_ratio"].tolist() == pytest.approx([1, 1, 1], rel=0.05)
    summary = summarise(measured).to_pandas()
    (b_eff,) = summary[summary["operation"] == "b_eff"]["bandwidth_Bps"]
    exchanges = summary[summary["operation"] == "exchange"]
    moved = exchanges["bandwidth_Bps"] * exchanges["median_s"]
    assert b_eff == pytest.approx((moved / exchanges["min_s"]).mean())
    assert set(exchanges["looplength"]) == {7}
    assert exchanges["transfer_s"].tolist() == pytest.approx((7 * exchanges["median_s"]).tolist())
    row = answer(measured, "b_eff").table.iloc[0]
    assert row["low_b_eff_Bps"] <= row["b_eff_Bps"] == b_eff <= row["high_b_eff_Bps"]
    law = answer(measured, "constants").table.iloc[0]
    assert law["latency_s"] == pytest.approx(0.5e-6, rel=0.1)
    assert law["low_latency_s"] <= law["latency_s"] <= law["high_latency_s"]


def test_sizes_that_other_processes_visited_have_their_b_eff() -> None:
    def later(of: Point) -> Point:
        if of.bytes > 64:
            return of
        others = [msgspec.structs.replace(r, rerun=r.rerun + 100) for r in of.reruns]
        return msgspec.structs.replace(of, reruns=others)

    points = _mpi([4e9, 4e9])
    joint, apart = (
        answer(run(some), "b_eff").table.iloc[0] for some in (points, list(map(later, points)))
    )
    for name in ("low_b_eff_Bps", "b_eff_Bps", "high_b_eff_Bps"):
        assert apart[name] == joint[name] > 0


def test_half_a_set_is_no_b_eff() -> None:
    partial = run(_mpi([4e9, 4e9], sizes=serial.SIZES["definition"][:-1]))
    assert "b_eff" not in set(summarise(partial).to_pandas()["operation"])
    assert answer(partial, "b_eff").table.empty
    assert not answer(partial, "by_size").table.empty


def test_times_that_do_not_grow_have_no_rate() -> None:
    flat = run(_mpi([1e18, 1e18], sizes=(1, 2, 4)))
    assert np.isinf(answer(flat, "constants").table["wire_Bps"]).all()


def test_scaling_compares_numbers_of_ranks() -> None:
    both = run([*_mpi([4e9, 4e9]), *_mpi([2e9, 2e9, 2e9, 2e9])])
    result = answer(both, "scaling")
    assert result.table["ranks"].tolist() == [2, 4]
    assert 0.5 <= result.table["kept_share"].iloc[1] < 1
    assert result.table["kept_share"].iloc[0] == 1


@pytest.mark.parametrize("board", ["520n", "u250"])
def test_held_out_errors_are_told_for_the_published_board_only(board: str) -> None:
    study, operation = {"520n": ("beff", "exchange"), "u250": ("hostmem", "read_bandwidth")}[board]
    address = f"card:{board}"

    def on(flat: dict[str, str]) -> Run:
        record = DeviceRecord(
            address=address, backend="card", real=False, simulated=True, properties=flat
        )
        axes = {"target": "host", "iterations": 1024, "channel": "card", "ranks": 1}
        points = [
            point(address, operation, 4096, [[1e-6]], study=study, api="card", axes=axes,
                  moved_bytes=8192, rerun_changes={"clock": "simulated"})
        ]  # fmt: skip
        return msgspec.structs.replace(run(points), devices=[record], studies=[study])

    known = boards.load(board).flat()
    result = answer(on(known), "held_out")
    assert result.table["held_out_points"].min() >= 8
    assert 0 < result.table["held_out_rms_share"].max() < 0.05
    changed = boards.load(board, {"link.lanes": "4"}).flat()
    assert answer(on(changed), "held_out").table.empty


LINKS_BPS = 18 * 26.562e9


def _on_gpus(laws: dict[str, tuple[float, float]], ranks: int, **properties: str) -> Run:
    """Ranks with a GPU each; a step over a channel takes alpha, and 2 L bytes of a rank at beta."""
    sizes = serial.SIZES["definition"]
    apis = {"cuda": "cuda", "nccl": "nccl", "staged": "cuda"}
    axes = {"ranks": ranks, "rank": "", "looplength": "", "sizes": "definition",
            "topology": "ring", "depth": ""}  # fmt: skip
    random = np.random.default_rng(5)
    points = [
        point(
            "cuda:0+cuda:1", "exchange", size,
            [[(alpha + 2 * size / beta) * x for x in np.exp(0.01 * random.standard_normal(25))]],
            study="beff", api=apis[channel], memory="aligned" if channel == "staged" else "device",
            moved_bytes=2 * size * ranks, axes={**axes, "channel": channel},
        )
        for channel, (alpha, beta) in laws.items()
        for size in sizes
    ]  # fmt: skip
    records = [
        DeviceRecord(address=address, backend="cuda", real=True, properties=properties)
        for address in ("cuda:0+cuda:1", "cuda:0", "cuda:1")
    ]
    return run(points, devices=records)


GPU_CHANNELS = {"cuda": (3e-6, 0.98 * LINKS_BPS), "nccl": (12e-6, 0.97 * LINKS_BPS),
                "staged": (40e-6, 10e9)}  # fmt: skip


def test_ranks_that_share_a_gpu_cross_no_link() -> None:
    measured = _on_gpus(GPU_CHANNELS, 2, nvlink_Bps=str(LINKS_BPS))
    for ids, judged in ((("0", "1"), True), (("0", "0"), False)):
        ranks = [{"rank": n, "host": "here", "id": one} for n, one in enumerate(ids)]
        on = msgspec.structs.replace(measured, environment={"ranks": ranks})
        assert ("limit_share" in answer(on, "by_size").table) == judged


@pytest.mark.parametrize("ranks", [2, 4])
def test_gpus_are_judged_by_what_their_links_carry(ranks: int) -> None:
    measured = _on_gpus(GPU_CHANNELS, ranks, nvlink_Bps=str(LINKS_BPS))
    table = answer(measured, "by_size").table
    assert set(table["channel"]) == set(GPU_CHANNELS)
    for row in table.itertuples():
        alpha, beta = GPU_CHANNELS[row.channel]
        rate = 2 * row.bytes / (alpha + 2 * row.bytes / beta)
        by_link = rate / LINKS_BPS if row.channel != "staged" else np.nan  # through the host
        assert row.limit_share == pytest.approx(by_link, rel=0.05, nan_ok=True)
    summary = summarise(measured).to_pandas()
    assert {"cuda", "nccl"} <= set(summary[summary["operation"] == "b_eff"]["api"])


def test_no_share_is_told_without_a_limit() -> None:
    assert "limit_share" not in answer(_on_gpus(GPU_CHANNELS, 2), "by_size").table
    single = _on_gpus(GPU_CHANNELS, 1, nvlink_Bps=str(LINKS_BPS))
    assert "limit_share" not in answer(single, "by_size").table  # nothing leaves the GPU
    both = _on_gpus(GPU_CHANNELS, 2, nvlink_Bps=str(LINKS_BPS))
    unknown = msgspec.structs.replace(both.devices[2], properties={})
    mixed = msgspec.structs.replace(both, devices=[*both.devices[:2], unknown])
    assert "limit_share" not in answer(mixed, "by_size").table


def test_channels_are_compared_size_by_size() -> None:
    result = answer(_on_gpus(GPU_CHANNELS, 2), "channels")
    assert len(result.table) == 3 * len(serial.SIZES["definition"])
    assert (result.table["low_time_ratio"] <= result.table["time_ratio"]).all()
    assert (result.table["time_ratio"] <= result.table["high_time_ratio"]).all()
    (one_byte,) = result.table.query("channel == 'nccl' and reference == 'cuda' and bytes == 1")[
        "time_ratio"
    ]
    assert one_byte == pytest.approx(4, rel=0.05)
    only = _on_gpus({"nccl": GPU_CHANNELS["nccl"]}, 2)
    assert answer(only, "channels").table.empty


def test_a_plot_has_every_channel_over_the_size_of_a_message() -> None:
    measured = _on_gpus(GPU_CHANNELS, 2)
    drawn = charts.figures("beff", [charts.Source("x", measured)], charts.Palette())
    assert [figure.name for figure in drawn] == ["beff-rate"]
    spec = str(drawn[0].draw(0, 720))
    assert "size of a message" in spec
    assert all(f"'{label}'" in spec for label in ("CUDA", "NCCL", "CUDA, staged"))


def test_messages_between_two_are_told_as_latency_and_bandwidth() -> None:
    def messages(operation: str, size: int, seconds: float, moved: int, **axes: int) -> Point:
        measured = point(
            "host", operation, size, [[seconds * (1 + n % 3 / 100)] * 25 for n in (0, 1, 2)]
        )
        return msgspec.structs.replace(
            measured, study="beff", api="mpi", moved_bytes=moved,
            axes={"channel": "mpi", "ranks": 4, **axes},
        )  # fmt: skip

    whole = run([
        *(messages("pingpong", size, 2e-6 + size * 2e-9, 4 * size) for size in (64, 4096)),
        *(messages("window", size, 1e-3, 2 * 64 * size, depth=64) for size in (64, 4096)),
    ])  # fmt: skip
    result = answer(whole, "messages")
    rows = result.table.set_index(["operation", "bytes"])
    middle = 1.01 * (2e-6 + 64 * 2e-9) / 2
    assert rows.loc[("pingpong", 64), "latency_s"] == pytest.approx(middle, rel=1e-3)
    assert rows.loc[("window", 4096), "pair_Bps"] == pytest.approx(64 * 4096 / 1.01e-3, rel=1e-3)
    assert rows["low_pair_Bps"].dropna().le(rows["pair_Bps"].dropna()).all()
