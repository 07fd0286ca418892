"""Citations: BibTeX of Isthmus and of sources, and the paragraph on the method."""

from __future__ import annotations

import gzip
import json
import math
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
import yaml

import method_of_file
from conftest import Command, slow
from host_states import with_host
from isthmus import __version__, published
from isthmus.analysis.summary import summarise
from isthmus.reporters import citation, methods
from isthmus.results import run_file
from isthmus.results.noise import Noise
from isthmus.results.run_file import DeviceRecord, LeftOut, Point, Run
from synthetic import Law, point, run, transfer_run

ROOT = Path(__file__).parents[1]
REQUIRED = {"authors", "cff-version", "message", "title"}
"""By the Citation File Format, version 1.2.0."""


def stored(name: str, folder: Path) -> Path:
    path = folder / f"{name}.json"
    packed = (ROOT / "benchmarks" / "results" / f"2026-11-22-{name}.json.gz").read_bytes()
    path.write_bytes(gzip.decompress(packed))
    return path


def test_the_citation_file_has_what_its_format_requires() -> None:
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    about = citation.parsed(text)
    assert about.keys() >= REQUIRED
    assert about["cff-version"] == "1.2.0"
    assert about["authors"] == [{"name": "The Isthmus developers"}]
    assert "version" not in about  # src/isthmus/__init__.py alone has it
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    assert about["license"] == "Apache-2.0"
    assert citation.citation() == about
    assert yaml.safe_load(text) == about


def checked(path: Path) -> str:
    """The paragraph on a file, each of whose numbers is what the file has."""
    run = run_file.load(path)
    raw = json.loads(path.read_text("utf-8"))
    text, ends, states, of_state = methods.paragraph(run), None, list[str](), set[int]()
    if any(one.reruns and any(r.host_speed for r in one.reruns) for one in run.points):
        ends, states, of_state = with_state(run, raw)
    phrases = method_of_file.phrases(raw, ends, of_state)
    left = method_of_file.numbers_left(method_of_file.without(text, [*phrases, *states]))
    assert not left, left
    return text


def with_state(run: Run, raw: dict[str, Any]) -> tuple[dict[int, float], list[str], set[int]]:
    """The machine's state as ``show`` has it.

    Returns half-widths with the state, by the row's place; what the paragraph says of the state;
    and the places of the rows whose intervals include the state.
    """
    shown = summarise(run)
    places = {}
    for place, (one, clock, _) in enumerate(method_of_file.rows_of(raw)):
        same = shown
        for name in ("study", "device", "operation", "memory", "bytes"):
            same = same[same[name].eq(one[name])]
        for name, value in one["axes"].items():
            same = same[same[name].eq(value)]
        (row,) = same[same["clock"].eq(clock)].itertuples()
        places[place] = row
    ends = {
        place: max(row.ci_high_s - row.median_s, row.median_s - row.ci_low_s) / row.median_s
        for place, row in places.items()
    }
    shares = [row.state_share for row in places.values() if not math.isnan(row.state_share)]
    several = sum(row.reruns > 1 for row in places.values())
    parts, rest = [], several - len(shares)
    if shares:
        readings = len({r["rerun"] for p in raw["points"] for r in p["reruns"]
                        if r.get("host_speed")})  # fmt: skip
        share = method_of_file.percent(statistics.median(shares))
        processes = f"{readings} process{'' if readings == 1 else 'es'}"
        parts = [f"interval of {method_of_file.rows(len(shares))} includes the state",
                 f"state is {share} of the interval's variance",
                 f"host's speed in {processes}."]  # fmt: skip
    if rest and shares:
        parts.append(f"Intervals of {method_of_file.rows(rest)} do not include")
    of_state = {place for place, row in places.items() if not math.isnan(row.state_share)}
    return ends, parts, of_state


STORED = sorted(path for path in (ROOT / "tests" / "data" / "runs").glob("*.json")
                if "imported" not in path.name)  # fmt: skip


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_each_number_of_the_paragraph_is_what_the_file_has(path: Path) -> None:
    checked(path)


@pytest.mark.parametrize("name", ["h100-transfer", *slow("h100-allocation", "h200x4-beff")])
def test_each_number_of_a_long_run_is_what_the_file_has(name: str, tmp_path: Path) -> None:
    checked(stored(name, tmp_path))


def test_what_is_said_of_the_machines_state_is_what_the_file_has(tmp_path: Path) -> None:
    run_file.save(with_host(processes=12, slower=1.5, slow=4), tmp_path / "run.json")
    text = checked(tmp_path / "run.json")
    assert re.search(r"The interval of \d+ rows includes the state of the machine", text)
    assert "readings of the host's speed in 12 processes" in text
    path = ROOT / "tests" / "data" / "runs" / "2026-11-22-transfer.json"  # without readings
    assert "do not include how the machine differs from run to run" not in checked(path)
    assert "do not include" in checked(path.with_name("2026-11-22-hostmem.json"))


def test_a_repetition_that_two_clocks_timed_is_counted_once(
    tmp_path: Path, isthmus: Command
) -> None:
    path = stored("h100-transfer", tmp_path)
    text = " ".join(isthmus("cite", str(path)).stdout.split())
    reruns = [r for point in json.loads(path.read_text())["points"] for r in point["reruns"]]
    host = sum(len(r["clocks"]["host"]["ticks"]) for r in reruns)
    device = sum(len(r["clocks"].get("device", {}).get("ticks", [])) for r in reruns)
    assert f"{host} in all" in text
    assert device
    assert str(host + device) not in text
    assert f"it timed {device} samples as well, each counted once." in text
    for part in (
        "We measured transfer with Isthmus 0.1.0 (commit 568cae4) on a virtual machine",
        "which does not speak for other processes.",
        "A sample is the time from submission to completion of an operation on the host's clock",
        "(host to device)",
        "memory: ",
        "(rates in GB/s are 10^9 bytes a second)",
        "The run ended when its time was up.",
    ):
        assert part in text
    assert "Kalibera" not in text  # one process a point
    assert "@software{isthmus," in text
    assert "version = {0.1.0 568cae4}" in text


def read(operation: str, size: int, medians: list[float], **changes: Any) -> Point:
    """A point of processes with these medians and a scatter of 0.1 %."""
    each = [[m * (1 + 1e-3 * k) for k in range(-12, 13)] for m in medians]
    return point("opencl:x", operation, size, each, **changes)


GENERATED = {
    "processes": [read("read", 64, [1e-6, 1.01e-6, 1.02e-6, 1.005e-6, 1.013e-6, 1.001e-6]),
                  read("read", 128, [1e-6, 1.01e-6, 1.02e-6]), read("read", 256, [1e-6])],
    "missing": [read("read", 64, [1e-6] * 7), read("write", 64, []), read("write", 128, []),
                read("read", 256, [], error="it broke"), read("read", 512, [], skipped="no"),
                read("read", 1 << 20, [1e-3] * 7)],
    "few samples": [point("opencl:x", "read", 64, [[1e-6] * 4])],
    "times of 0": [point("opencl:x", "read", 1, [[0.0] * 5] * 7), read("read", 2, [1e-6] * 7)],
    "drift and steal": [
        point("opencl:x", "read", 64, [[1e-6 + 1e-8 * k for k in range(60)]] * 2),
        read("read", 128, [1e-6] * 6, rerun_changes={"noise": Noise(steal_s=0.5)}),
    ],
    "wrong data": [read("read", 64, [1e-6] * 6, rerun_changes={"verified": "false"}),
                   read("read", 128, [1e-6] * 6, rerun_changes={"verified": "na"}),
                   read("read", 256, [1e-6] * 6)],
}  # fmt: skip


@pytest.mark.parametrize("name", GENERATED)
def test_each_number_of_a_generated_run_is_what_the_file_has(name: str, tmp_path: Path) -> None:
    machine = {"cpu": "A CPU", "logical_cpus": 4, "load_average": [1.5, 2.5, 3.5]}
    if name == "drift and steal":
        machine |= {"busy_before_s": 10.0, "busy_after_s": 30.0,
                    "steal_before_s": 1.0, "steal_after_s": 3.5}  # fmt: skip
    left = [LeftOut(study="transfer", points=3, seconds=9.0)]
    one = run(GENERATED[name], environment=machine, left_out=left)
    run_file.save(one, tmp_path / "run.json")
    text = checked(tmp_path / "run.json")
    assert "3 further points of the studies are left for a longer run." in text
    assert "1.50 on 4 processors" in text
    if name == "drift and steal":
        assert "A hypervisor took 12 % of the busy time." in text, "as isthmus doctor has it"
    if name == "missing":
        assert "4 points have no samples (1 failed, 1 cannot be measured there, 2 not" in text
        assert "Operations: read (device to host)" in text, "only what was measured"
        assert "sizes: 64 B to 1 MiB" in text


def entries(text: str) -> dict[str, dict[str, str]]:
    """Fields of entries by key; fails where braces are not in pairs."""
    found = {}
    for kind, key, body in re.findall(r"@(\w+)\{([\w-]+),\n(.*?)\n\}", text, re.DOTALL):
        assert body.replace(r"\{", "").count("{") == body.replace(r"\}", "").count("}")
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", body, re.MULTILINE))
        found[key] = {"type": kind, **fields}
    return found


@pytest.mark.parametrize(
    ("study", "card", "source"),
    [("mmio", "stratix4-gen2x8", "mmio"), ("beff", "520n", "b_eff"),
     *slow(("hostmem", "u250", "host-memory"), ("transfer", "f1-vu9p", "opencl-xrt"))],
)  # fmt: skip
def test_sources_behind_a_board_are_cited(
    study: str, card: str, source: str, isthmus: Command, tmp_path: Path
) -> None:
    ran = isthmus("run", study, "--device", f"card:{card}", "--quick", "--out", "run.json")
    assert ran.returncode == 0, ran.stderr
    data = json.loads(isthmus("cite", "run.json", "--format", "json").stdout)
    text = isthmus("cite", "run.json", "--format", "bibtex").stdout
    found = entries(text)
    assert list(found) == ["isthmus", *(one["name"] for one in data["sources"])]
    assert source in found
    title = found[source]["title"].replace("\\_", "_")
    assert title == f"{{{published.sources()[source].title}}}"
    assert "simulated by a model of the board" in data["methods"]
    checked(tmp_path / "run.json")
    assert data["isthmus"]["title"].startswith("Isthmus")


def test_every_source_has_an_entry() -> None:
    for name, source in published.sources().items():
        (fields,) = entries(citation._of_source(source)).values()
        assert fields["author"], name
        assert source.title in fields["title"].replace("\\", "")


def measured(**changes: object) -> Run:
    laws = {"opencl:x": {"read": Law(1e-6, 1e9)}}
    return transfer_run(laws, [64, 4096], reruns=7, samples=5, **changes)  # type: ignore[arg-type]


def test_names_of_devices_cannot_break_bibtex_or_the_terminal() -> None:
    hostile = {"cpu": "100% {CPU} & \x1b[2J \\input{x}", "host": "bench"}
    run = measured(environment=hostile)
    assert "\x1b" not in citation.render(run, "text")
    assert citation._tex("50% of {a} & b_c \\ ~") == (
        r"50\% of \{a\} \& b\_c \textbackslash{} \textasciitilde{}"
    )


def test_isthmus_is_cited_without_a_run(isthmus: Command) -> None:
    done = isthmus("cite")
    assert done.returncode == 0, done.stderr
    assert list(entries(done.stdout)) == ["isthmus"]
    assert __version__ in done.stdout
    assert list(json.loads(isthmus("cite", "--format", "json").stdout)) == ["isthmus", "bibtex"]


def test_the_estimator_and_its_level_are_named() -> None:
    one = measured()
    text = methods.paragraph(one)
    assert "2 have 7 processes, the level of repetition (Kalibera and Jones 2013): " in text
    assert "Hodges-Lehmann estimates over logarithms of the processes' medians (Hodges" in text
    assert "95 % intervals, each row by itself, by Wilcoxon's signed ranks (2)." in text
    assert "Moved data were verified in 2 points." in text
    known = entries(citation.render(one, "bibtex"))
    assert known["kalibera2013"]["year"] == "2013"
    assert known["hodges1963"]["pages"] == "598--611"
    alone = entries(citation.render(run(GENERATED["few samples"]), "bibtex"))
    assert list(alone) == ["isthmus"]  # no estimate over processes


def test_bibtex_has_version_and_url(monkeypatch: pytest.MonkeyPatch) -> None:
    about = citation.citation()
    assert "no URL is known" in citation.render(measured(), "bibtex")
    monkeypatch.setattr(citation, "citation", lambda: {**about, "url": "https://example.org/i"})
    text = citation.render(measured(), "bibtex")
    assert entries(text)["isthmus"]["url"] == "https://example.org/i"
    assert entries(text)["isthmus"]["version"] == "0.0 abc"
    assert "no URL" not in text


def test_unknown_formats_are_refused(isthmus: Command, tmp_path: Path) -> None:
    run_file.save(measured(), tmp_path / "run.json")
    refused = isthmus("cite", "run.json", "--format", "bibtx")
    assert refused.returncode == 2
    assert "did you mean bibtex? known: text, bibtex, json" in refused.stderr


def test_the_program_that_measured_is_named_where_figures_were_imported(isthmus: Command) -> None:
    file = str(ROOT / "tests" / "data" / "import" / "xbutil-u250.txt")
    assert isthmus("import", file, "--out", "run.json").returncode == 0
    text = " ".join(isthmus("cite", "run.json").stdout.partition("@")[0].split())
    assert text.startswith(
        "The figures are those of xbutil validate, read from its output xbutil-u250.txt (SHA-256 "
    )
    assert "which measured nothing" in text
    assert "8 points: mean values of that program." in text
    assert "whether the data arrived" in text
    for claimed in ("We measured", "process", "seed", "precision"):
        assert claimed not in text
    repeated = isthmus("repeat", "run.json")
    assert repeated.returncode == 2
    assert "was imported from xbutil validate: run that program again" in repeated.stderr


def test_the_driver_of_a_card_that_has_none_is_left_out() -> None:
    bare = DeviceRecord(address="pci:0000:03:00.0", backend="pci", real=True,
                        properties={"driver": ""})  # fmt: skip
    text = methods.paragraph(run([point("pci:0000:03:00.0", "register_load", 4, [[1e-6] * 5])],
                                devices=[bare]))  # fmt: skip
    assert "driver" not in text
    with_one = DeviceRecord(address="a", backend="pci", real=True, properties={"driver": "xclmgmt"})
    assert "driver xclmgmt" in methods.paragraph(run([], devices=[with_one]))
