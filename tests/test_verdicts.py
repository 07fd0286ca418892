"""The verdict on a device: from checks and times, with causes ranked, and nothing invented."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from msgspec import structs

from isthmus.analysis.findings import Finding, finding, findings, written
from isthmus.analysis.findings.verdicts import verdicts
from isthmus.analysis.summary import summarise
from isthmus.reporters import summary
from isthmus.results.run_file import DeviceRecord, Point, Run
from planted import FAULTS, healthy, on_board
from synthetic import point, run

LINK = {
    "max_link_speed": "16.0 GT/s PCIe", "current_link_width": "16", "max_payload_bytes": "256",
}  # fmt: skip
LIMIT = 28.8e9
SIZES = (4096, 1 << 24)
VERDICTS = ("normal", "below", "impossible", "unknown")
Noise = Callable[[int], np.ndarray]


def even(seed: int) -> np.ndarray:
    return np.exp(0.005 * np.random.default_rng(seed).standard_normal(25))


def crowded(seed: int) -> np.ndarray:
    """A neighbour that takes half of the link for most of the time."""
    return even(seed) * np.where(np.random.default_rng(seed).random(25) < 0.6, 2.0, 1.0)


def copies(
    rate: float, memory: str = "pinned", noise: Noise = even, sizes: tuple[int, ...] = SIZES
) -> list[Point]:
    """Copies in both directions at this rate, after 10 us."""
    return [
        point("cuda:a", operation, size,
              [list(1e-5 * even(i) + size / rate * noise(i)) for i in range(6)], memory=memory)
        for operation in ("write", "read")
        for size in sizes
    ]  # fmt: skip


def measured(*points: Point, **device: object) -> Run:
    known = {"address": "cuda:a", "backend": "a", "real": True, "link": LINK, **device}
    return run(list(points), devices=[DeviceRecord(**known)])  # type: ignore[arg-type]


def verdict(of: Run) -> Finding:
    (one,) = [one for one in findings(of) if one.verdict in VERDICTS]
    return one


def causes(of: Run | Finding) -> list[str]:
    """Causes as data: "check governor", "bounce aligned", "other_user"."""
    one = of if isinstance(of, Finding) else verdict(of)
    return [f"{cause.kind} {cause.check or cause.of}".strip() for cause in one.causes]


def test_a_link_in_full_use_is_normal() -> None:
    one = verdict(measured(*copies(0.95 * LIMIT), *copies(0.93 * LIMIT, "aligned")))
    assert (one.verdict, one.causes, one.headline) == ("normal", [], False)
    assert one.share == pytest.approx(0.93, abs=0.03)


def test_the_first_screen_says_what_is_normal_unless_something_is_wrong() -> None:
    both = [*copies(0.95 * LIMIT), *copies(0.2 * LIMIT, "aligned")]
    sentence = verdict(measured(*both)).sentence
    assert sentence.startswith("Normal: ")
    assert sentence in " ".join(summary.lines(measured(*both)))
    assert "Normal" not in summary.text(measured(*copies(0.3 * LIMIT, "aligned")))


def test_a_low_rate_of_ordinary_memory_alone_asks_for_pinned_memory() -> None:
    low = measured(*copies(0.3 * LIMIT, "aligned"), backend="cuda")
    one = verdict(low)
    assert (one.verdict, one.headline) == ("below", True)
    assert causes(low) == ["bounce aligned"]
    assert str(one.action) == "isthmus run transfer --device cuda:a --memory aligned,pinned"


def test_the_copy_of_ordinary_memory_explains_more_than_a_bad_check_does(tmp_path: Path) -> None:
    """As on an H100 of a virtual machine: 12 % of the link, beside a fault of the processors."""
    facts = FAULTS["powersave"][1](on_board(2)).facts(tmp_path)
    assert facts.device
    device = structs.replace(facts.device, backend="cuda")
    low = run(copies(0.12 * LIMIT, "aligned"), devices=[device], environment=dict(facts.host))
    first, *others = causes(low)
    assert first == "bounce aligned"
    assert others == ["check governor"]
    assert (
        str(verdict(low).action) == "isthmus run transfer --device cuda:a --memory aligned,pinned"
    )


def test_a_link_that_kernels_fill_is_normal() -> None:
    low = [*copies(0.12 * LIMIT, "aligned")]
    kernels = [
        structs.replace(p, study="hostmem", operation=f"{p.operation}_bandwidth")
        for p in copies(0.95 * LIMIT, "mapped")
    ]
    link = {**LINK, "address": "0000:01:00.0"}
    both = measured(*low, *kernels, backend="cuda", link=link)
    found = {one.study: one for one in map(written, verdicts(both, summarise(both)))}
    assert {one.verdict for one in found.values()} == {"normal"}
    assert found["transfer"].sentence.startswith("Normal: cuda:a (hostmem) reaches 9")


def test_ordinary_memory_that_is_slower_is_named_and_the_link_is_normal() -> None:
    both = measured(*copies(0.95 * LIMIT), *copies(0.5 * LIMIT, "aligned"))
    one = verdict(both)
    assert one.verdict == "normal"
    assert causes(both) == ["bounce aligned"]
    assert "pinned memory" in one.causes[0].evidence


def test_a_best_sample_far_above_the_median_is_another_user() -> None:
    shared = measured(*copies(0.95 * LIMIT, noise=crowded))
    assert verdict(shared).verdict == "below"
    assert causes(shared) == ["other_user"]
    assert "best sample" in verdict(shared).causes[0].evidence


def test_a_steady_low_rate_without_a_bad_check_names_no_single_cause() -> None:
    slow = measured(*copies(0.4 * LIMIT))
    assert verdict(slow).verdict == "unknown"
    assert causes(slow) == ["device_or_user"]
    assert verdict(measured(*copies(0.7 * LIMIT))).verdict == "normal"  # many an engine's best


@pytest.mark.parametrize("fault", ["x8 of x16", "MPS 128", "errors grow", "IOMMU translates"])
def test_checks_come_before_what_the_times_show(fault: str, tmp_path: Path) -> None:
    facts = FAULTS[fault][1](on_board(2)).facts(tmp_path)
    assert facts.device
    shared = run(
        copies(0.45 * LIMIT, noise=crowded), devices=[facts.device], environment=dict(facts.host)
    )
    first, second = verdict(shared).causes
    assert first.check == FAULTS[fault][0]
    assert second.kind == "other_user"
    assert first.command
    assert second.command


@pytest.mark.parametrize(
    ("points", "cause"),
    [
        (copies(1.2 * 31.6e9), "above_limit"),
        (
            [
                *copies(0.9 * LIMIT),
                point("cuda:a", "bidirectional", 1 << 24, [[2 * SIZES[1] / 60e9] * 25] * 6,
                      memory="pinned"),
            ],
            "above_sum",
        ),
        (
            [point("cuda:a", "write", 1 << 24, [[1e-3] * 25] * 6,
                   rerun_changes={"verified": "false"})],
            "not_arrived",
        ),
    ],
)  # fmt: skip
def test_figures_that_cannot_be_true_are_named(points: list[Point], cause: str) -> None:
    one = verdict(measured(*points))
    assert (one.verdict, one.headline) == ("impossible", True)
    assert cause in causes(one)


def test_caches_of_a_processor_are_no_impossible_figures() -> None:
    """As of OpenCL on a processor, whose kernels copied no byte over a link."""
    both = [
        *copies(3e9),
        *(structs.replace(p, operation="bidirectional", direction="both",
                          moved_bytes=2 * p.moved_bytes) for p in copies(9e9)[:2]),
    ]  # fmt: skip
    rows = summarise(measured(*both)).to_pandas()
    assert rows["flags"].str.contains("above_sum").any()
    assert verdict(measured(*both)).verdict == "impossible"
    alone = measured(*both, link={}, real=False)
    assert not summarise(alone)["flags"].str.contains("above_sum").any()
    assert not list(verdicts(alone, summarise(alone)))


def test_nothing_is_decided_without_a_large_copy_or_a_known_link() -> None:
    assert causes(measured(*copies(0.9 * LIMIT, sizes=(4096,)))) == ["no_large_copy"]
    hidden = measured(*copies(0.9 * LIMIT), link={"address": "0000:03:00.0"})
    assert causes(hidden) == ["hidden_link"]
    assert verdict(hidden).verdict == "unknown"


@pytest.mark.parametrize("seed", range(0, 100, 5))
def test_a_healthy_machine_at_its_link_has_no_finding(seed: int, tmp_path: Path) -> None:
    facts = healthy(seed).facts(tmp_path)
    assert facts.device
    probe = run(copies(1e9), devices=[facts.device], environment=dict(facts.host))
    limit = verdict(probe).reference
    assert limit
    full = run(copies(0.9 * limit.value), devices=[facts.device], environment=dict(facts.host))
    assert verdict(full).verdict == "normal"
    assert not verdict(full).causes


def one_card(*, full: float, low: float, memory: str = "pageable") -> Run:
    """A card by two APIs: ``a`` copies from pinned memory, ``b`` from this kind, which scatters.

    ``full`` and ``low``: of the link. Both are steady in small copies.
    """
    first = copies(full * LIMIT)
    second = [
        structs.replace(p, device="opencl:b", api="opencl")
        for p in copies(low * LIMIT, memory, noise=crowded)
    ]
    link = {**LINK, "address": "0000:00:06.0"}
    devices = [
        DeviceRecord(address=name, backend=backend, real=True, link=link)
        for name, backend in (("cuda:a", "cuda"), ("opencl:b", "opencl"))
    ]
    return run([*first, *second], devices=devices)


def verdict_on(of: Run, device: str) -> Finding:
    return next(one for one in findings(of) if one.verdict in VERDICTS and one.device == device)


def test_scatter_of_ordinary_memory_is_no_other_user() -> None:
    low = measured(*copies(0.3 * LIMIT, "pageable", noise=crowded), backend="cuda")
    assert causes(low) == ["bounce pageable"]
    both = measured(
        *copies(0.7 * LIMIT), *copies(0.75 * LIMIT, "pageable", noise=crowded), backend="cuda"
    )
    assert "other_user" not in causes(both)


def test_another_user_is_seen_in_pinned_memory_also_where_ordinary_memory_is_faster() -> None:
    both = measured(
        *copies(0.9 * LIMIT, noise=crowded), *copies(1.0 * LIMIT, "pageable", noise=crowded)
    )
    assert "other_user" in causes(both)


def test_a_link_that_another_api_fills_is_normal() -> None:
    """As on an H100: 95 % by CUDA from pinned memory, 12 to 19 % by OpenCL from ordinary memory."""
    one = verdict_on(one_card(full=0.97, low=0.2), "opencl:b")
    assert (one.verdict, one.headline) == ("normal", False)
    assert causes(one) == ["bounce pageable"]
    assert str(one.action) == "isthmus run transfer --device opencl:b --memory pageable,alloc_host"
    assert one.sentence.startswith("Normal: cuda:a reaches 9")
    pinned = verdict_on(one_card(full=0.97, low=0.4, memory="alloc_host"), "opencl:b")
    assert pinned.verdict == "normal"
    assert causes(pinned) == ["api"]


def test_words_of_causes_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [
        measured(*copies(0.4 * LIMIT)),
        measured(*copies(0.95 * LIMIT, noise=crowded)),
        measured(*copies(0.95 * LIMIT), *copies(0.5 * LIMIT, "aligned")),
    ]
    said = [verdict(of) for of in runs]
    monkeypatch.setattr(finding, "CAUSES", dict.fromkeys(finding.CAUSES, "something"))
    again = [verdict(of) for of in runs]
    assert [one.verdict for one in again] == ["unknown", "below", "normal"]
    assert list(map(causes, again)) == list(map(causes, said))
    assert again[2].sentence == said[2].sentence, "its template names the kind of memory"


def test_each_cause_has_words_and_its_kind_in_json() -> None:
    assert set(get_args(finding.CauseKind)) == set(finding.CAUSES)
    (cause,) = finding.plain(verdict(measured(*copies(0.3 * LIMIT, "aligned"))))["causes"]
    assert cause["kind"] == "device_or_user"
    assert cause["name"] == finding.CAUSES["device_or_user"]


def test_the_first_screen_tells_a_verdict_with_its_cause() -> None:
    shared = summary.text(measured(*copies(0.95 * LIMIT, noise=crowded)))
    (row,) = [line for line in shared.splitlines() if "  use of the link" in line]
    assert row.endswith(" %, another user of the link")
    wrong = summary.text(measured(*copies(1.2 * 31.6e9)))
    assert "use of the link                   faster than the link can be\n" in wrong


def test_a_link_that_no_api_fills_is_not_normal() -> None:
    low = one_card(full=0.4, low=0.4, memory="alloc_host")
    assert verdict_on(low, "cuda:a").verdict == "unknown"
    assert (
        verdict_on(low, "opencl:b").verdict == "below"
    )  # its best samples are far above its medians
    alone = one_card(full=0.97, low=0.4, memory="alloc_host")
    apart = [
        structs.replace(d, link={**LINK, "address": f"0000:0{i}:00.0"})
        for i, d in enumerate(alone.devices)
    ]
    assert verdict_on(structs.replace(alone, devices=apart), "opencl:b").verdict == "below"
