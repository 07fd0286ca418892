"""A package of somebody else's that adds one of everything: each is one file or one folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import LIMIT_S
from isthmus import built

ROOT = Path(__file__).parents[1]
TOYS = Path(__file__).with_name("toys")
ENTRIES = """
[isthmus.backends]
toy = toy_backend:BACKEND
[isthmus.studies]
hops = toy_study:STUDY
[isthmus.models]
hops = toy_model:MODEL
[isthmus.reporters]
names = toy_reporter:REPORTER
[isthmus.importers]
hops = toy_importer:IMPORTER
[isthmus.published]
toymaker = toy_source:FOLDER
"""
VALIDATED = """
import json
from isthmus import boards
from isthmus.validation import fitting, points
mine = [point for point in points.all_points() if point.series in {"hops", "link"}]
boards = {point.row.board: boards.load(point.row.board) for point in mine}
told = {}
for point in mine:
    told.setdefault(point.series, []).append(round(point.residual(boards[point.row.board]), 9))
(fit,) = (fit for fit in fitting.fits() if fit.calibration.startswith("Toymaker"))
fitted = fitting.solve(boards[fit.board], fit.start, [p for p in mine if p.row.fit])
told["link.latency_ns"] = fitting.rounded("link.latency_ns", fitted.number("link.latency_ns"))
print(json.dumps(told))
"""
"""What ``isthmus model validate`` and ``fit`` do for all sources, in half a minute."""
Toy = Callable[..., subprocess.CompletedProcess[str]]


def with_packages(environment: Path, packages: Path) -> Path:
    """The Python of a new environment that has this environment's packages and those of a folder.

    ``PYTHONPATH`` does not serve: Isthmus imports nothing from there.
    """
    venv.create(environment, symlinks=True)
    (site_packages,) = environment.glob("lib/python*/site-packages")
    folders = [sysconfig.get_path("purelib"), str(packages)]
    lines = [f"import site; site.addsitedir({folder!r})" for folder in folders]
    (site_packages / "all.pth").write_text("\n".join(lines), encoding="utf-8")
    return environment / "bin" / "python"


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """Runs a command where that package is installed."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(TOYS, site, dirs_exist_ok=True)
    (site / "toy_source" / "__init__.py").write_text(
        "from pathlib import Path\nFOLDER = Path(__file__).parent\n", encoding="utf-8"
    )
    information = site / "toys-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Name: toys\nVersion: 1\n", encoding="utf-8")
    (information / "entry_points.txt").write_text(ENTRIES, encoding="utf-8")
    subprocess.run(
        [
            "g++", "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'cpp' / 'include'}",
            site / "toy_backend" / "toy.cpp", "-o", site / "toy_backend" / "libisthmus_toy.so",
            f"-L{built.FOLDER}", "-listhmus",
        ],
        check=True,
    )  # fmt: skip

    python = with_packages(tmp_path_factory.mktemp("environment"), site)
    work = tmp_path_factory.mktemp("work")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = words if words[0] == "-c" else ("-m", "isthmus", *words)
        done = subprocess.run(
            [python, *command], cwd=work, capture_output=True, text=True, check=False,
            timeout=LIMIT_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.mark.slow
def test_a_study_on_a_backend_is_measured_judged_and_reported(toy: Toy) -> None:
    (line,) = (line for line in toy("devices").stdout.splitlines() if line.startswith("toy "))
    assert line.split()[1] == "hops"
    ended = toy("run", "hops", "--device", "toy", "--quick", "--out", "toys.json").stdout
    assert "Copies over" in ended
    run = json.loads(toy("show", "toys.json", "--format", "json").stdout)
    points = [(p["bytes"], p["hops"], p["verified"]) for p in run["points"]]
    assert sorted(points) == [(size, n, "true") for size in (4096, 1 << 20) for n in (1, 4)]
    assert [one["study"] for one in run["findings"]] == ["hops"]
    assert toy("show", "toys.json", "--format", "names").stdout == 2 * "hop 4096\nhop 1048576\n"
    toy("report", "toys.json", "--out", "page")
    toy("-c", "open('hopper.txt', 'w').write('hops 4096 2')")
    assert "copy to device, 4Ki" in toy("import", "hopper.txt", "--out", "hopper.json").stdout
    assert "--hops" in toy("run", "hops", "--help").stdout


@pytest.mark.slow
def test_a_model_and_a_source_are_in_every_list(toy: Toy) -> None:
    assert "4Ki" in toy("model", "hops", "--hops", "2").stdout
    assert "--board" not in toy("model", "hops", "--help").stdout  # it reads no board
    assert "hops " in toy("model").stdout
    assert "toymaker/moved" in toy("reproduce").stdout
    moved = toy("reproduce", "toymaker/moved", "--gate").stdout
    assert moved.count("+0.00 %") == 3
    rate = toy("reproduce", "toymaker/rate", "--device", "toy", "--quick").stdout
    assert "measured: toy" in rate
    assert json.loads(toy("-c", VALIDATED).stdout) == {
        "hops": [0.0, 0.0, 0.0], "link": [0.0], "link.latency_ns": 120.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("group", "command"),
    [
        ("backends", ["devices"]),
        ("reporters", ["show", "x.json", "--format", "odd"]),
        ("published", ["reproduce"]),
    ],
)
def test_a_package_that_cannot_be_loaded_is_named_in_one_line(
    tmp_path: Path, group: str, command: list[str]
) -> None:
    packages = tmp_path / "packages"
    information = packages / "broken-1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Name: broken\nVersion: 1\n", encoding="utf-8")
    entries = f"[isthmus.{group}]\nodd = broken_module:THING\n"
    (information / "entry_points.txt").write_text(entries, encoding="utf-8")
    (packages / "broken_module.py").write_text("raise RuntimeError('two\\nlines')\n")
    python = with_packages(tmp_path / "environment", packages)
    done = subprocess.run(
        [python, "-m", "isthmus", *command], cwd=tmp_path, capture_output=True, text=True,
        timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"package broken registers isthmus.{group} 'odd'" in done.stderr
    assert "repair or uninstall it" in done.stderr


@pytest.mark.slow
def test_a_package_is_not_loaded_by_commands_that_do_not_name_it(tmp_path: Path) -> None:
    def ended(*words: str) -> int:
        return subprocess.run(
            [python, "-m", "isthmus", *words], cwd=tmp_path, capture_output=True,
            timeout=LIMIT_S, check=False,
        ).returncode  # fmt: skip

    packages = tmp_path / "packages"
    information = packages / "spy-1.dist-info"
    information.mkdir(parents=True)
    python = with_packages(tmp_path / "environment", packages)
    (information / "METADATA").write_text("Name: spy\nVersion: 1\n", encoding="utf-8")
    kinds = ("studies", "models", "reporters", "importers", "checks")
    entries = "".join(f"[isthmus.{kind}]\nspy = spy_{kind}:THING\n" for kind in kinds)
    (information / "entry_points.txt").write_text(entries, encoding="utf-8")
    for kind in kinds:
        (packages / f"spy_{kind}.py").write_text(f"open('loaded_{kind}', 'w')\nTHING = None\n")
    output = ROOT / "tests" / "data" / "import" / "osu_bw.txt"
    for command in (
        ["import", str(output), "--out", "run.json"], ["show", "run.json", "--format", "csv"],
        ["show", "run.json"], ["compare", "run.json", "run.json"], ["cite", "run.json"],
        ["anonymise", "run.json", "--out", "free.json"], ["card", "boards"],
    ):  # fmt: skip
        assert ended(*command) == 0
    assert not list(tmp_path.glob("loaded_*"))
    ended("import", str(output), "--format", "spy")
    assert [path.name for path in tmp_path.glob("loaded_*")] == ["loaded_importers"]
