"""Checks that compare what was read before a run with what was read after it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as replace_fields

from isthmus import backends, checks
from isthmus.checks import Result
from isthmus.system import environment
from planted import FAULTS, on_board


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"speed": 2.5}, "2.5 GT/s (16 before the run); slot and card can 16"),
        ({"lanes": 4}, "x4 (x16 before the run); slot and card have x16"),
    ],
)
def test_a_link_that_trains_down_during_the_run_is_judged_as_it_became(
    changes: dict[str, float], found: str, tmp_path: Path
) -> None:
    scene = on_board(3)
    later = replace(scene.card, port=replace(scene.card.port, **changes))  # type: ignore[arg-type]
    above = [replace(later.above[0], **changes), *later.above[1:]]  # type: ignore[arg-type]
    later = replace(later, above=above)
    name = "link_speed" if "speed" in changes else "link_width"
    told = replace(scene, after=later).results(tmp_path / "down")[name]
    assert (told.state, told.found, told.changed) == ("bad", found, True)
    told = replace(scene, card=later, after=scene.card).results(tmp_path / "up")[name]
    assert (told.state, told.changed) == ("bad", True)
    assert "after the run" in told.found
    assert not replace(scene, card=later, after=later).results(tmp_path / "same")[name].changed


def test_a_few_packets_sent_again_are_a_note(tmp_path: Path) -> None:
    scene = on_board(3)
    few = FAULTS["errors grow"][1](scene)
    for count, state in ((3, "unknown"), (900, "bad")):
        assert few.after
        port = replace(few.after.port, correctable={"BadTLP": count})
        after = replace(few.after, port=port)
        told = replace(few, after=after).results(tmp_path / str(count))["errors"]
        assert told.state == state
    failed = replace(few.after.port, correctable={"BadTLP": 3}, uncorrectable={"CmpltTO": 1})
    told = replace(few, after=replace(few.after, port=failed)).results(tmp_path / "f")["errors"]
    assert (told.state, "BadTLP +1" in told.found) == ("bad", True)


def of_gpu(name: str, folder: Path, **after: str) -> Result:
    """What a check of CUDA's says of a run: before it, nothing slowed the GPU, nor was sent again.

    ``after``: the properties that were read when it had ended.
    """
    facts = on_board(1).facts(folder)
    assert facts.device
    before = {"slowed_by": "none", "pcie_replays": "5"}
    record = replace_fields(facts.device, properties=before, properties_after=after)
    own = backends.registry()["cuda"].checks
    results = checks.of_device(replace(facts, device=record, recorded=True), own)
    return next(one for one in results if one.check == name)


@pytest.mark.parametrize(
    ("after", "state", "changed"),
    [("thermal slowdown", "bad", True), ("none", "good", False), (None, "unknown", False)],
)
def test_a_gpu_that_is_throttled_after_its_run_is_named(
    after: str | None, state: str, changed: bool, tmp_path: Path
) -> None:
    told = of_gpu("throttling", tmp_path, **({} if after is None else {"slowed_by": after}))
    assert (told.state, told.changed) == (state, changed)


@pytest.mark.parametrize(("after", "state"), [("5", "good"), ("8", "unknown"), ("900", "bad")])
def test_replays_of_a_gpu_are_those_of_its_run(after: str, state: str, tmp_path: Path) -> None:
    told = of_gpu("pcie_replays", tmp_path, pcie_replays=after)
    assert told.state == state
    assert "during the run" in told.found


def test_counters_of_heat_are_summed_over_processors(tmp_path: Path) -> None:
    assert "throttled_before" not in environment.counters("before", tmp_path)
    for cpu, count in ((0, 3), (1, 4)):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle"
        folder.mkdir(parents=True)
        (folder / "core_throttle_count").write_text(f"{count}\n")
    assert environment.counters("after", tmp_path)["throttled_after"] == 7
