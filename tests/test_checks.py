"""Checks that compare what was read before a run with what was read after it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

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
