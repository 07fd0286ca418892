"""What a verdict says of a device whose fault shows in its times, or in part of the facts alone."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from msgspec import structs

from host_states import STORED
from isthmus.analysis.findings import findings, reached
from isthmus.analysis.findings.verdicts import verdicts
from isthmus.analysis.summary import summarise
from isthmus.results.run_file import Point, Run, load
from planted import FAULTS, Scene, on_board
from synthetic import point, run
from test_verdicts import LIMIT, LINK, SIZES, causes, copies, crowded, even, measured, verdict


def facts_of(scene: Scene, folder: Path, points: list[Point]) -> Run:
    """The run of a machine with these points."""
    facts = scene.facts(folder)
    assert facts.device
    return run(points, devices=[facts.device], environment=dict(facts.host),
               finished="2025-01-01T00:00:10Z")  # fmt: skip


def later(rate: float, *, slow: float, first: int, processes: int = 6) -> list[Point]:
    """Copies at this rate, which take ``slow`` times as long from process number ``first`` on."""
    return [
        point("cuda:a", operation, size,
              [list(1e-5 * even(i) + size / rate * even(i) * (slow if i >= first else 1))
               for i in range(processes)],
              memory="pinned")
        for operation in ("write", "read")
        for size in (4096, 1 << 22, 1 << 24)
    ]  # fmt: skip


def test_a_link_that_trained_down_during_the_run_is_no_other_user(tmp_path: Path) -> None:
    scene = FAULTS["trained down during the run"][1](on_board(2))
    of = facts_of(scene, tmp_path, later(0.9 * LIMIT, slow=6, first=3))
    assert causes(of) == ["check link_speed"]
    assert verdict(of).verdict == "below"


@pytest.mark.parametrize(("first", "processes"), [(3, 6), (4, 6), (2, 3)])
def test_a_rate_that_falls_during_the_run_is_named_as_that(first: int, processes: int) -> None:
    of = measured(*later(0.9 * LIMIT, slow=1.6, first=first, processes=processes))
    assert causes(of) == ["falling"]
    assert verdict(of).verdict == "below"
    assert f"process {first + 1}" in verdict(of).causes[0].evidence


def test_a_sample_below_the_clocks_resolution_is_no_best_sample() -> None:
    ticks = list(1e-5 * even(0) + SIZES[1] / (0.5 * LIMIT) * even(0))
    points = [
        point("cuda:a", operation, SIZES[1], [[0.0, *ticks] for _ in range(6)], memory="pinned")
        for operation in ("write", "read")
    ]
    assert verdict(measured(*points)).verdict in {"below", "unknown"}


def test_one_slow_process_of_many_and_a_slow_first_one_are_no_falling_rate() -> None:
    last = measured(*later(0.95 * LIMIT, slow=1.6, first=9, processes=10))
    assert verdict(last).verdict == "normal"
    early = [
        structs.replace(p, reruns=[structs.replace(r, rerun=9 - r.rerun) for r in p.reruns])
        for p in later(0.95 * LIMIT, slow=1.3, first=8, processes=10)
    ]
    assert "falling" not in causes(measured(*early))


def test_a_gpu_that_is_throttled_after_its_run_is_the_cause(tmp_path: Path) -> None:
    facts = on_board(2).facts(tmp_path)
    assert facts.device
    device = structs.replace(
        facts.device, backend="cuda", properties={"slowed_by": "none"},
        properties_after={"slowed_by": "thermal slowdown"},
    )  # fmt: skip
    of = run(later(0.9 * LIMIT, slow=1.6, first=3), devices=[device])
    assert causes(of) == ["check throttling"]
    assert verdict(of).verdict == "below"


def test_stolen_time_explains_times_that_vary(tmp_path: Path) -> None:
    scene = FAULTS["another tenant"][1](on_board(2))
    of = facts_of(scene, tmp_path, copies(0.9 * LIMIT, noise=crowded))
    assert "other_user" not in causes(of)
    assert causes(of)[0] == "check steal"


def test_a_processor_that_is_clocked_low_is_named_but_decides_nothing(tmp_path: Path) -> None:
    """Large copies of pinned memory pass the processor by; small ones wait for it."""
    scene = FAULTS["powersave"][1](on_board(2))
    of = facts_of(scene, tmp_path, copies(0.7 * LIMIT))
    assert verdict(of).verdict == "unknown"
    assert causes(of) == ["check governor"]
    assert "isthmus doctor" in verdict(of).sentence
    as_fast = [*copies(0.7 * LIMIT), *copies(0.71 * LIMIT, "aligned")]
    assert verdict(facts_of(scene, tmp_path / "as fast", as_fast)).verdict == "unknown"
    slow_start = [
        point("cuda:a", operation, size, [list((1e-3 + size / (0.95 * LIMIT)) * even(i))
                                     for i in range(6)], memory="pinned")
        for operation in ("write", "read")
        for size in SIZES
    ]  # fmt: skip
    of = facts_of(scene, tmp_path / "start", slow_start)
    assert (verdict(of).verdict, causes(of)) == ("below", ["check governor"])


def test_a_packet_sent_again_at_full_rate_is_normal(tmp_path: Path) -> None:
    scene = on_board(2)
    assert scene.after
    port = dataclasses.replace(scene.after.port, correctable={"BadTLP": 3})
    scene = dataclasses.replace(scene, after=dataclasses.replace(scene.after, port=port))
    assert verdict(facts_of(scene, tmp_path, copies(0.95 * LIMIT))).verdict == "normal"


def test_small_copies_alone_keep_what_checks_found(tmp_path: Path) -> None:
    small = copies(0.9 * LIMIT, sizes=(2048, 48 << 10))
    narrow = facts_of(FAULTS["x8 of x16"][1](on_board(2)), tmp_path / "a", small)
    assert verdict(narrow).verdict == "below"
    assert causes(narrow) == [
        "check link_width",
        "no_large_copy",
    ]
    assert verdict(narrow).sentence.startswith("This link gives less than it could: fewer lanes")
    slow = facts_of(FAULTS["powersave"][1](on_board(2)), tmp_path / "b", small)
    assert verdict(slow).verdict == "unknown"
    assert causes(slow) == [
        "no_large_copy",
        "check governor",
    ]


def unverified(points: list[Point]) -> list[Point]:
    return [
        structs.replace(p, reruns=[structs.replace(r, verified="na") for r in p.reruns])
        for p in points
    ]


def test_copies_that_were_not_verified_decide_nothing() -> None:
    of = measured(*unverified(copies(0.95 * LIMIT)))
    assert (verdict(of).verdict, causes(of)) == ("unknown", ["unverified"])
    half = measured(*copies(0.95 * LIMIT), *unverified(copies(0.95 * LIMIT, "aligned")))
    assert (verdict(half).verdict, causes(half)) == ("unknown", ["unverified"])


@pytest.mark.parametrize(
    ("seconds", "kind"), [(30e-9, "impossible"), (400e-9, "normal"), (5e-6, "normal")]
)
def test_a_launch_that_took_no_time_did_not_run(seconds: float, kind: str) -> None:
    launch = point(
        "cuda:a", "launch", 0, [list(seconds * even(i)) for i in range(6)], memory="device",
        initiator="kernel", rerun_changes={"verified": "na"},
    )  # fmt: skip
    of = measured(*copies(0.95 * LIMIT), launch)
    assert verdict(of).verdict == kind
    assert ("not_run" in causes(of)) == (kind == "impossible")
    alone = measured(launch, link={}, real=False)
    assert not list(verdicts(alone, summarise(alone)))


@pytest.mark.parametrize(("rate", "kind"), [(None, "impossible"), (8e12, "normal")])
def test_a_kernel_whose_time_does_not_grow_read_nothing(rate: float | None, kind: str) -> None:
    kernels = [
        point("cuda:a", "kernel_read", size,
              [list((4e-6 + (size / rate if rate else 0)) * even(i)) for i in range(6)],
              memory="device", initiator="kernel")
        for size in (4096, 1 << 20, 1 << 27)
    ]  # fmt: skip
    of = measured(*copies(0.95 * LIMIT), *kernels)
    assert verdict(of).verdict == kind
    assert ("moved_nothing" in causes(of)) == (kind == "impossible")


def test_a_limit_that_is_assumed_is_said_to_be() -> None:
    link = {name: value for name, value in LINK.items() if name != "max_payload_bytes"}
    one = verdict(measured(*copies(1.03 * LIMIT), link=link))
    assert one.verdict == "normal"
    assert "what the link leaves for data, MPS 256 assumed (cuda:a)." in one.sentence


GEN3 = {
    "max_link_speed": "8.0 GT/s PCIe", "current_link_width": "16", "max_payload_bytes": "256",
}  # fmt: skip
U250 = "xilinx_u250_gen3x16_xdma_shell_4_1"


def both_ways(write: float, read: float, size: int = 32 << 20) -> list[Point]:
    """Copies at these rates in bytes a second."""
    known = {"write": write, "read": read}
    return copies(1e9, sizes=(4096,)) + [
        point("cuda:a", operation, size, [list(size / rate * even(i)) for i in range(6)],
              memory="pinned")
        for operation, rate in known.items()
    ]  # fmt: skip


def test_a_board_that_is_slower_than_every_known_one_is_below() -> None:
    of = measured(*both_ways(8.4e9, 8.4e9), name=U250, link=GEN3)
    one = verdict(of)
    assert (one.verdict, causes(of)[0]) == ("below", "below_known")
    assert one.sentence.startswith("Below what Alveo and F1 cards give: read 8.4")
    assert "known runs 10.2 GB/s to 13.4 GB/s" in one.sentence
    assert "AMD Vitis runtime tutorial" in one.causes[0].evidence
    assert str(one.action) == "isthmus run transfer --device cuda:a"


def test_one_slow_direction_of_a_known_board_is_enough() -> None:
    of = measured(*both_ways(12e9, 7.6e9), name=U250, link=GEN3)
    assert (verdict(of).verdict, causes(of)) == ("below", ["below_known"])
    assert verdict(of).share == pytest.approx(7.6 / 14.4, abs=0.01)


def test_a_board_as_slow_as_a_known_one_of_its_name_is_normal() -> None:
    of = measured(*both_ways(7.7e9, 10.2e9), name="xilinx_u200_gen3x16_xdma_base_1", link=GEN3)
    assert (verdict(of).verdict, causes(of)) == ("normal", [])
    assert verdict(of).sentence.startswith("Normal for Alveo and F1 cards: write 7.7")
    alike = measured(*both_ways(7.7e9, 10.2e9), name=U250, link=GEN3)
    assert verdict(alike).verdict == "unknown", "no U250 is known to be as slow"
    name = "xilinx_u200_gen3x16_xdma_base_1"
    unseen = measured(*unverified(both_ways(7.7e9, 10.2e9)), name=name, link=GEN3)
    assert (verdict(unseen).verdict, causes(unseen)) == ("unknown", ["unverified"])


@pytest.mark.parametrize(
    "changes",
    [{"name": "a board of mine"}, {"name": "u2500"}, {"link": {**GEN3, "max_link_speed": "32.0"}},
     {"link": LINK | {"max_link_speed": "32.0 GT/s PCIe"}}],
)  # fmt: skip
def test_what_no_known_run_tells_of_is_judged_by_its_link_alone(changes: dict[str, object]) -> None:
    of = measured(*both_ways(8.4e9, 8.4e9), **{"name": U250, "link": GEN3, **changes})
    found = [one for one in findings(of) if one.verdict in {"below", "normal"}]
    assert not found
    assert all("below_known" not in causes(one) for one in findings(of))


def test_copies_that_are_too_short_are_held_against_no_known_run() -> None:
    of = measured(*both_ways(8.4e9, 8.4e9, size=4 << 20), name=U250, link=GEN3)
    assert verdict(of).verdict == "unknown"


def test_no_emulated_board_is_below_a_known_one() -> None:
    of = measured(*both_ways(5e9, 5e9), name="u250", link=GEN3, simulated=True, real=False)
    assert not [one for one in findings(of) if one.verdict == "below"]


@pytest.mark.parametrize(
    "known", reached.table(), ids=lambda one: f"{one.device.name} {one.source[:30]}"
)
def test_no_known_run_is_below_or_undecided(known: reached.KnownRun) -> None:
    speed = f"{known.link.gigatransfers} GT/s PCIe"
    link = {"max_link_speed": speed, "current_link_width": str(known.link.lanes),
            "max_payload_bytes": "256"}  # fmt: skip
    of = measured(
        *both_ways(**known.rates), name=f"a {known.device.words[0].upper()}, here", link=link
    )
    assert verdict(of).verdict == "normal"


def test_a_fault_that_was_found_explains_a_known_board_first(tmp_path: Path) -> None:
    facts = FAULTS["x8 of x16"][1](on_board(2)).facts(tmp_path)
    assert facts.device
    device = structs.replace(facts.device, name=U250)
    of = run(both_ways(4e9, 4e9), devices=[device], environment=dict(facts.host))
    assert causes(of)[0] == "check link_width"
    assert "below_known" not in causes(of)


def test_who_cannot_be_told_from_a_slow_device_learns_what_tells(tmp_path: Path) -> None:
    of = facts_of(on_board(2), tmp_path, both_ways(2e9, 2e9))
    one = verdict(of)
    assert (one.verdict, causes(of)) == ("unknown", ["device_or_user"])
    assert "Compare a later run" in one.sentence
    assert "isthmus fleet" in one.causes[0].evidence
    assert str(one.action) == "isthmus run transfer --device cuda:a"


@pytest.mark.parametrize("way", ["write", "read"])
def test_a_slow_copy_engine_is_below_though_kernels_fill_the_link(way: str) -> None:
    """Copies at 79 % of the link, below every known H100, were called normal."""
    stored = load(STORED / "2026-11-27-h100-quick.json.gz")
    assert verdict_on("cuda:0", stored) == ("normal", [])

    def slower(one: Point) -> Point:
        reruns = []
        for rerun in one.reruns:
            clocks = {name: structs.replace(of, ticks=[round(1.2 * t) for t in of.ticks])
                      for name, of in rerun.clocks.items()}  # fmt: skip
            reruns.append(structs.replace(rerun, clocks=clocks))
        return structs.replace(one, reruns=reruns)

    slow = structs.replace(
        stored,
        points=[
            slower(p) if (p.device, p.operation, p.memory) == ("cuda:0", way, "pinned") else p
            for p in stored.points
        ],
    )
    assert verdict_on("cuda:0", slow) == ("below", ["below_known"])
    assert verdict_on("opencl:nvidia", slow) == verdict_on("opencl:nvidia", stored)


def verdict_on(device: str, of: Run) -> tuple[str, list[str]]:
    """The verdict on a device's copies, and kinds of its causes."""
    (found,) = [
        one
        for one in verdicts(of, summarise(of))
        if one.device == device and one.study == "transfer"
    ]
    return found.verdict, [cause.kind for cause in found.causes]
