"""An option that would do nothing is refused with exit code 2, before anything is measured."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import synthetic
from conftest import Command
from isthmus.errors import UsageError
from isthmus.results import run_file
from isthmus.system.binding import binding

RUN = "run.json"
MISSING_NODE = 1023


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a run of an emulated card, whose study has further points to measure."""
    points = [synthetic.point("null", "write", 4096, [[1e-6] * 25])]
    run_file.save(synthetic.run(points), tmp_path / RUN)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("run all --device null --axis bites=4Ki", "no axis 'bites'"),
        ("run all --device null --axis bites=4Ki", "did you mean bytes?"),
        (f"run transfer --resume --out {RUN} --seed 2", "--seed has no effect"),
        (f"run transfer --resume --out {RUN} --seed 1", "--seed has no effect"),
        (f"run transfer --resume --out {RUN} --numa-node 0", "--numa-node has no effect"),
        (f"run transfer --resume --out {RUN} --cpus 0", "--cpus has no effect"),
        (f"run transfer --resume --out {RUN} --device null", "--device has no effect"),
        (f"run transfer --resume --out {RUN} --bytes 1", "--bytes has no effect"),
        (f"run transfer --resume --out {RUN} --axis bytes=1", "--axis has no effect"),
        (f"run transfer --resume --out {RUN} --xclbin a", "--xclbin has no effect"),
        (f"run transfer --resume --out {RUN} --memory 0:0+4Ki", "--memory has no effect"),
        (f"run transfer --resume --out {RUN} --quick --reruns 3", "--quick, --reruns has no"),
        (f"run transfer --device null --cpus 0 --numa-node {MISSING_NODE}", "memory node"),
        ("run transfer --device null --cpus 0 --numa-node 99999", "memory node 99999"),
        ("run transfer --device null --cpus 0 --numa-node=-1", "memory node -1"),
        (f"run transfer --device null --numa-node {MISSING_NODE}", "memory node"),
        ("run transfer --device null --cpus=", "no list of processors"),
        (f"repeat {RUN} --launcher srun", "--launcher has no effect"),
        (f"show {RUN} --points --format csv", "--points has no effect"),
        (f"show {RUN} --points --format summary", "--points has no effect"),
        (f"compare {RUN} {RUN} --points --format json", "--points has no effect"),
        ("doctor --json --all", "--all has no effect"),
        (f"advise 4Ki {RUN} --budget 60", "--budget has no effect"),
        (f"advise 4Ki {RUN} --out kept.json", "--out has no effect"),
        (f"advise 4Ki {RUN} --no-wait", "--no-wait has no effect"),
        (f"advise 4Ki {RUN} --xclbin a --allow-program", "--xclbin, --allow-program has no effect"),
        (f"advise 4Ki {RUN} --code --json", "--json has no effect"),
        ("advise 4Ki --device null --memory pinned", "--memory pinned"),
        ("reproduce --out kept", "which figures?"),
        ("reproduce --xclbin a", "which figures?"),
        ("reproduce b_eff/520n-8 --quick", "--quick has no effect"),
        ("reproduce b_eff/520n-8 --budget 5", "--budget has no effect"),
        ("card boards u250 --json --toml", "--json or --toml"),
        ("model pcie --board u250,link.lanes=8 --lanes 4", "link.lanes is given twice"),
    ],
)  # fmt: skip
def test_an_option_without_effect_is_a_usage_error(
    run_isthmus: Command, folder: Path, line: str, says: str
) -> None:
    before = sorted(folder.iterdir())
    ended = run_isthmus(*line.split(), cwd=folder)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr
    assert sorted(folder.iterdir()) == before, "nothing was begun"


def test_an_axis_of_one_study_alone_is_an_axis_of_all(run_isthmus: Command, folder: Path) -> None:
    card = ("--device", "card:u250", "--operation", "launch")
    ended = run_isthmus("run", "all", *card, "--pipelined", "no", "--out", "x.json", cwd=folder)
    assert "no axis" not in ended.stderr


def test_resume_takes_what_it_uses(run_isthmus: Command, folder: Path) -> None:
    given = ("--out", RUN, "--budget", "60", "--no-wait")
    ended = run_isthmus("run", "transfer", "--resume", *given, cwd=folder)
    assert "has no effect" not in ended.stderr


def test_resume_refuses_a_binding_that_is_not_to_be_had_here(
    run_isthmus: Command, folder: Path
) -> None:
    """The file may come from a larger machine: its workers would die one by one."""
    data = json.loads((folder / RUN).read_text())
    data["settings"] |= {"cpus": [0], "numa_node": MISSING_NODE}
    (folder / RUN).write_text(json.dumps(data))
    ended = run_isthmus("run", "transfer", "--resume", "--out", RUN, cwd=folder)
    assert ended.returncode == 2
    assert f"memory node {MISSING_NODE} is not available here" in ended.stderr


def test_trying_a_memory_node_leaves_the_process_as_it_was() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    listed = ",".join(map(str, cpus))
    policy = Path("/proc/self/numa_maps").read_text().split()[1]
    assert binding(listed, 0) == binding(listed, 0)
    assert binding(listed, 0).cpus == tuple(cpus)
    assert Path("/proc/self/numa_maps").read_text().split()[1] == policy
    with pytest.raises(UsageError):
        binding(None, MISSING_NODE)
