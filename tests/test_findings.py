"""What studies find: the same data everywhere, in sentences of few and plain words."""

from __future__ import annotations

import gzip
import math
import re
import string
from pathlib import Path

import msgspec
import pytest

from isthmus.analysis.findings import MOST_HEADLINES, Finding, findings
from isthmus.analysis.findings.devices import difference_in_words
from isthmus.analysis.findings.transfer import WAYS
from isthmus.analysis.sentences import LONGEST, NAMES, TEMPLATES, say
from isthmus.models.serial import SIZES as SIZES_BY_SET
from isthmus.reporters import summary
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.statistics import Interval
from isthmus.text import cut_middle
from synthetic import Law, point, run, transfer_run

BANNED = (
    "within one process", "told", "warm", "certainly", "not hardware", "remainder", "rerun",
    "for certain", "unasked", "behind your back", "law", "as published", "the published's",
    "more in the table", "cannot tell", "resolved", "crossing", "populate", "handover", "voice",
)  # fmt: skip
"""Words of ours that no reader knows, or that a sentence stumbled over."""
NEGATION = re.compile(r"\b(?:no|not|none|never|nothing|neither|nor|without|cannot)\b")
FAST, SLOW = Law(5e-6, 8e9), Law(15e-6, 2e9)
SIZES = [1, 4096, 1 << 20, 1 << 26]
LINK = {
    "max_link_speed": "8.0 GT/s PCIe", "current_link_width": "16", "max_payload_bytes": "256",
}  # fmt: skip


def headlines(of: Run) -> list[Finding]:
    return [one for one in findings(of) if one.headline]


def fields(template: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(template) if name]


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_are_short_plain_and_negate_once(name: str) -> None:
    template = TEMPLATES[name]
    assert template.endswith(".")
    assert len(template) <= LONGEST
    for word in BANNED:
        assert not re.search(rf"\b{word}\b", template.lower()), word
    assert len(NEGATION.findall(template.lower())) <= 1
    usual = {
        "what": max(WAYS.values(), key=len), "size": "256Mi", "largest": "256Mi", "count": "51",
        "channel": "staged", "width": "8", "lines": "150", "instruction": "movntdqa",
        "reference": "memcpy", "percent": "an unknown factor", "operation": "write",
        "lesser": "; x8 of x16", "share": "100 %",
    }  # fmt: skip
    values = {
        field: usual.get(field, "x" * 60 if field in NAMES else "99.9 GB/s")
        for field in fields(template)
    }
    said = say(name, **values)
    assert len(said) <= LONGEST, "long names give way"
    assert "{" not in said


def test_a_sentence_needs_all_its_values() -> None:
    with pytest.raises(KeyError):
        say("latency", what="copy")


@pytest.mark.parametrize("most", [12, 13, 20, 40])
def test_names_lose_their_middle(most: int) -> None:
    name = "card:u250,link.lanes=8,link.generation=4"
    short = cut_middle(name, most)
    assert len(short) <= most
    assert short[:3] == name[:3]
    assert short[-3:] == name[-3:]


@pytest.mark.parametrize("most", [24, 28, 31, 34])
def test_labels_are_cut_between_words(most: int) -> None:
    name = "cache line to another core and back, aligned"
    head, _, tail = cut_middle(name, most).partition("...")
    assert len(head) + 3 + len(tail) <= most
    words = re.findall(r"\w+", name)
    assert re.findall(r"\w+", head) == words[: len(head.split())]
    assert re.findall(r"\w+", tail) == words[-len(re.findall(r"\w+", tail)) :]


def test_figures_are_shown_with_their_interval_and_unit() -> None:
    plain = headlines(transfer_run({"a": {"write": FAST}}, SIZES))[0]
    assert plain.interval is not None
    assert plain.figure == f"{plain.interval.value / 1e9:.2f} GB/s"
    low, high = map(float, plain.span.split(" to "))
    assert low <= plain.interval.value / 1e9 <= high


def test_transfer_tells_a_rate_each_way_at_the_largest_size_and_latency() -> None:
    measured = transfer_run({"a": {"write": FAST, "read": SLOW}}, SIZES)
    results = headlines(measured)
    assert len(results) <= MOST_HEADLINES
    assert [(one.operation, one.bytes, one.unit) for one in results] == [
        ("write", 1 << 26, "B/s"), ("read", 1 << 26, "B/s"), ("write", 4096, "s"),
    ]  # fmt: skip
    assert results[0].interval is not None
    assert results[0].interval.value == pytest.approx((1 << 26) / FAST(1 << 26), rel=0.02)
    assert results[2].interval is not None
    assert results[2].interval.value == pytest.approx(FAST(4096), rel=0.02)


@pytest.mark.parametrize(("between", "advised"), [(0.001, True), (0.9, False)])
def test_mapping_is_advised_where_it_is_certainly_faster(between: float, advised: bool) -> None:
    laws = {"opencl:x": {"read": SLOW, "map": FAST, "unmap": FAST}}
    results = findings(transfer_run(laws, SIZES, reruns=6, between=between, seed=3))
    found = next(one for one in results if one.subject.startswith("map over copy"))
    assert found.interval
    assert found.interval.value > 1.2, "or it is no finding at all"
    assert found.verdict == ("faster" if advised else "undecided")
    assert ("map buffers" in found.sentence) == advised
    assert (found.remark == "map buffers") == advised
    assert ("clEnqueueMapBuffer" in str(found.action)) == advised
    if not advised:
        assert "not decided" in found.sentence


def test_a_rate_is_a_share_of_the_link_it_crosses() -> None:
    device = DeviceRecord(address="a", backend="a", real=True, link=LINK, api="opencl")
    measured = transfer_run({"a": {"write": FAST}}, SIZES, devices=[device])
    rate = headlines(measured)[0]
    assert rate.reference is not None
    assert (rate.reference.kind, rate.reference.name) == ("limit", "link")
    assert rate.reference.value == pytest.approx(8e9 * 128 / 130 * 16 / 8 * 256 / 280)
    assert rate.share == pytest.approx(rate.interval.value / rate.reference.value)
    assert rate.verdict == "poor"
    assert f"{100 * rate.share:.0f} % of the link" in rate.sentence


@pytest.mark.parametrize(
    ("sizes", "units", "advised"), [([64], ["s"], ""), ([64, 4 << 20], ["B/s", "s"], "4Mi:256Mi")]
)
def test_a_run_of_small_copies_has_no_rate_as_its_headline(
    sizes: list[int], units: list[str], advised: str
) -> None:
    device = DeviceRecord(address="null", backend="null", real=True, link=LINK, api="opencl")
    measured = transfer_run({"null": {"write": FAST}}, sizes, devices=[device])
    results = headlines(measured)
    assert [one.unit for one in results] == units
    assert advised in str(results[0].action)
    (rate,) = (one for one in findings(measured) if one.unit == "B/s" and one.bytes == sizes[-1])
    assert advised or "--bytes 1Mi:256Mi" in str(rate.action), "not over sizes below the plateau"


def test_without_a_link_a_rate_is_a_share_of_memcpy() -> None:
    laws = {"host": {"write": Law(1e-7, 10e9)}, "a": {"write": Law(1e-7, 9e9)}}
    rate = headlines(transfer_run(laws, SIZES, apis={"host": "host"}))[0]
    assert (rate.device, rate.reference.kind) == ("a", "memcpy")
    assert rate.share == pytest.approx(0.9, rel=0.02)
    assert rate.verdict == "good"


def _kinds(**laws: Law) -> Run:
    return run(
        [
            point("cuda:0", "write", size, [[law(size) * f] * 25 for f in (1, 1.01, 0.99) * 2],
                  memory=kind, api="cuda")
            for kind, law in laws.items()
            for size in SIZES
        ]
    )  # fmt: skip


def test_the_better_memory_is_named_with_the_call_that_gives_it() -> None:
    results = headlines(_kinds(pageable=SLOW, registered=FAST, pinned=FAST))
    (change,) = (one for one in results if one.unit == "1")
    assert change.verdict == "faster"
    assert change.action == "cudaHostAlloc"
    assert change.sentence.startswith("Pinned memory is 4.00 times as fast as pageable")


def test_memory_that_makes_no_difference_is_said_as_a_bound() -> None:
    (change,) = (one for one in findings(_kinds(pageable=FAST, pinned=FAST)) if one.unit == "1")
    assert change.verdict == "same"
    assert re.search(r"no difference: [0-9.]+ % at most", change.sentence)
    wild = _kinds(pageable=FAST, pinned=Law(FAST.alpha_s, FAST.beta_Bps * 0.99))
    (undecided,) = (one for one in findings(wild) if one.unit == "1")
    assert undecided.verdict in {"same", "undecided"}


def test_memory_that_is_slower_than_the_usual_is_not_called_alike() -> None:
    (finding,) = (
        one for one in findings(_kinds(pageable=FAST, registered=SLOW)) if one.unit == "1"
    )
    assert finding.verdict == "slower"
    assert finding.sentence.startswith("No kind of memory is faster than pageable")
    assert not finding.action


def test_what_is_hardly_known_is_held_against_nothing() -> None:
    points = [
        point("host", "write", 1 << 26, [[1e-2 * f] * 25 for f in (1, 9, 3)], api="host"),
        point("a", "write", 1 << 26, [[1e-2 * f] * 25 for f in (1, 1.01, 0.99)]),
    ]
    (finding,) = (one for one in findings(run(points)) if one.device == "a" and one.unit == "B/s")
    assert finding.reference is None
    assert finding.share is None


def test_a_peak_in_cache_is_named_as_such() -> None:
    points = [
        point("a", "read", size, [[size / rate] * 25] * 3)
        for size, rate in ((4096, 1e9), (1 << 20, 9e9), (1 << 26, 3e9))
    ]
    results = findings(run(points))
    assert next(one for one in results if one.headline).bytes == 1 << 26
    (peak,) = (one for one in results if "peak" in one.quantity)
    assert "fit in a cache" in peak.sentence
    assert not peak.headline


def test_a_model_says_what_it_leaves_out() -> None:
    points = [
        point("card:u250", "write", size, [[FAST(size)]], memory=kind, api="card",
              rerun_changes={"clock": "simulated"})
        for size in SIZES
        for kind in ("aligned", "offset64", "pinned")
    ]  # fmt: skip
    device = DeviceRecord(
        address="card:u250", backend="card", real=False, simulated=True, api="card"
    )
    results = findings(run(points, devices=[device]))
    assert not [one for one in results if one.verdict == "same"]
    (left_out,) = (one for one in results if one.interval is None)
    assert "model" in left_out.sentence
    assert str(left_out.action) == "isthmus run allocation --device card:u250"
    assert all("model" in one.subject for one in results)


PARTIAL = {
    "no points": run([]),
    "one point": run([point("a", "read", 64, [[1e-6] * 25] * 3)]),
    "one sample": run([point(d, "read", 64, [[1e-6]]) for d in "ab"]),
    "no samples": run([point(d, "read", 64, [[]]) for d in "ab"]),
    "failed": run([point(d, "read", 64, [], error="gone") for d in "ab"]),
    "zero times": run([point(d, "read", s, [[0.0] * 25]) for d in "ab" for s in SIZES]),
    "no size": run([point(d, "launch", 0, [[1e-6] * 25], memory="") for d in "ab"]),
    "other study": run([point("a", "bandwidth", 64, [[1e-6] * 25], study="elsewhere")]),
    "no device list": run([point(d, "read", 64, [[1e-6] * 25] * 2) for d in "ab"], devices=[]),
    "no axes": run([point(d, "read", 64, [[1e-6] * 25] * 2, axes={}) for d in "ab"]),
}


WITHOUT_FINDINGS = {"no points", "no samples", "failed", "zero times", "other study"}


@pytest.mark.parametrize("name", PARTIAL)
def test_partial_runs_have_findings_that_hold(name: str) -> None:
    found = findings(PARTIAL[name])
    assert bool(found) == (name not in WITHOUT_FINDINGS)
    for one in found:
        assert len(one.sentence) <= LONGEST
        assert not re.search(r"\b(?:nan|inf)\b", one.sentence + one.figure + one.span)
        assert one.interval is None or math.isfinite(one.interval.value)
        assert msgspec.json.encode(one.sentence)


def stored(name: str) -> Run:
    path = Path(__file__).parents[1] / "benchmarks" / "results" / f"{name}.json.gz"
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=Run)


def test_allocation_answers_for_one_use_and_for_many_and_names_the_call() -> None:
    results = findings(stored("2026-11-22-h100-allocation"))
    for device in ("cuda:0", "opencl:nvidia"):
        of_device = [one for one in results if one.device == device]
        for quantity in ("memory for one use", "memory for many uses"):
            (advice,) = (one for one in of_device if one.quantity == quantity)
            assert advice.verdict == "faster"
            assert "(" in advice.action or advice.action.startswith("cl")
            assert advice.figure in advice.sentence
    first, again = (one for one in results if one.headline and "offload" in one.quantity)
    assert first.sentence.startswith("No: the CPU needs")
    assert again.sentence.startswith("Yes, if repeated")
    assert again.reference is not None
    assert again.interval is not None
    assert again.interval.value < again.reference.value


def test_another_api_differs_only_beyond_its_interval() -> None:
    measured = stored("2026-11-27-h100-quick")
    (api,) = (one for one in findings(measured) if one.beside)
    assert (api.device, api.beside) == ("opencl:nvidia", "cuda:0")
    assert api.interval is not None
    assert api.interval.low < 0 < api.interval.high
    assert "the same latency within 475 ns" in api.sentence
    assert api.sentence in summary.lines(measured)
    for value, said in ((6.0e-6, "6.00 us more latency"), (-6.0e-6, "6.00 us less latency")):
        assert difference_in_words(Interval(value, value - 1e-6, value + 1e-6, 0.95)) == said


def test_devices_that_are_alike_share_a_finding() -> None:
    laws = {f"cuda:{n}": {"write": FAST} for n in range(8)}
    alike = transfer_run(laws, SIZES)
    devices = [msgspec.structs.replace(one, name="one product") for one in alike.devices]
    (rate,) = (
        one
        for one in findings(msgspec.structs.replace(alike, devices=devices))
        if one.headline and one.operation == "write" and one.devices > 1 and one.unit == "B/s"
    )
    assert rate.devices == 8
    assert rate.sentence.startswith("8 x one product: copy to device")


def test_b_eff_has_its_interval_and_links_their_share() -> None:
    heads = headlines(stored("2026-11-22-h200x2-beff"))
    b_eff, gain, largest, _ = heads
    assert (
        gain.sentence == "Channel cuda has 5.55 times the b_eff of nccl (cuda:0+cuda:1, 2 ranks)."
    )
    assert gain.interval is not None
    assert gain.interval.low > 5
    assert b_eff.operation == "b_eff"
    assert b_eff.interval is not None
    assert b_eff.interval.low < b_eff.interval.value < b_eff.interval.high
    assert largest.reference is not None
    assert largest.reference.kind == "limit"
    assert 0 < (largest.share or 0) < 1


@pytest.mark.parametrize("single", [True, False])
def test_one_rank_without_a_network_is_no_headline(single: bool) -> None:
    axes = {
        "channel": "mpi",
        "ranks": 1 if single else 2,
        "topology": "ring",
        "sizes": "definition",
    }
    points = [
        point("host", "exchange", size, [[1e-6 + size / 1e9] * 25] * 6, study="beff", axes=axes,
              api="host", rerun_changes={"remarks": ["to_itself"] if single else []})
        for size in SIZES_BY_SET["definition"]
    ]  # fmt: skip
    results = findings(run(points))
    assert any("b_eff" in one.quantity for one in results)
    assert any(one.headline for one in results) != single


def test_the_latency_is_that_of_a_size_without_a_rate() -> None:
    """A size above 4 KiB was told where 1 B was measured, as it is nearer by its logarithm."""
    for sizes, size in (((1, 64 << 10), 1), ((1, 4096, 64 << 10), 4096), ((8192, 64 << 10), 8192)):
        laws = {"opencl:x": {"write": Law(1e-5, 1e10)}}
        (latency,) = [
            one
            for one in findings(transfer_run(laws, (*sizes, 1 << 24)))
            if one.remark == "latency" and one.headline
        ]
        assert latency.bytes == size
