"""Citations: BibTeX of Isthmus and of sources, and the paragraph on the method."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
import yaml

from conftest import Command, slow
from isthmus import published
from isthmus.reporters import citation
from isthmus.results import run_file
from isthmus.results.run_file import DeviceRecord, Run
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


def test_the_paragraph_has_the_figures_of_the_run(tmp_path: Path, isthmus: Command) -> None:
    path = stored("h100-transfer", tmp_path)
    run = run_file.load(path)
    text = " ".join(isthmus("cite", str(path)).stdout.split())
    samples = sum(
        len(clock.ticks) for p in run.points for r in p.reruns for clock in r.clocks.values()
    )
    with_samples = sum(bool(point.reruns) for point in run.points)
    for part in (
        "We measured transfer with Isthmus 0.1.0 (commit 568cae4) on a virtual machine",
        "kernel 6.18.44-fc-v657-gpu",
        "cuda:0 is NVIDIA H100 80GB HBM3, PCIe gen5 x16, driver 580.159.04",
        f"{with_samples} of 568 points were measured, each in 1 process",
        f"({samples} in all)",
        "95 % confidence intervals within the one process",
        "wanted precision of 2.0 %",
        "clock tsc (resolution 0.952 ns)",
        "The run ended when its time was up.",
    ):
        assert part in text
    assert "@software{isthmus," in text
    assert "version = {0.1.0 568cae4}" in text


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
    study: str, card: str, source: str, isthmus: Command
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
    assert data["methods"].endswith("points.")
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


def test_processes_are_said_to_be_the_sample() -> None:
    text = citation.methods(measured())
    assert (
        "2 points were measured, each in 7 processes with 5 samples a process (70 in all)" in text
    )
    assert "over processes, which are the sample" in text
    assert "Moved data were verified in 2 points." in text


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
    text = citation.methods(run([point("pci:0000:03:00.0", "register_load", 4, [[1e-6] * 5])],
                                devices=[bare]))  # fmt: skip
    assert "driver" not in text
    with_one = DeviceRecord(address="a", backend="pci", real=True, properties={"driver": "xclmgmt"})
    assert "driver xclmgmt" in citation.methods(run([], devices=[with_one]))
