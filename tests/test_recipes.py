"""The recipes of the documentation, run as they stand there."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
import yaml

from conftest import LIMIT_S, Command
from isthmus.results.run_file import Rerun, Run, load, save
from launchers import AS_ROOT

NOW = datetime.now(timezone.utc)
ROOT = Path(__file__).parents[1]
HERE = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
REFRAME = shutil.which("reframe", path=HERE)
MPIRUN = shutil.which("mpirun")


def recipe(mark: str, folder: Path, name: str) -> Path:
    """The block of the documentation with this text, as a program."""
    text = (ROOT / "docs" / "recipes.md").read_text("utf-8")
    blocks = re.findall(r"```(?:sh|python)\n(.*?)```", text, re.DOTALL)
    (block,) = (block for block in blocks if mark in block)
    path = folder / name
    path.write_text(block, "utf-8")
    path.chmod(0o755)
    return path


def done(
    folder: Path, path: str, *command: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path, **variables}, check=False,
        capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip


@pytest.fixture(scope="module")
def base(run_isthmus: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the card, in a file."""
    folder = tmp_path_factory.mktemp("card")
    options = ("--device", "card:u250", "--quick", "--bytes", "4Ki,64Ki,16Mi")
    ran = run_isthmus("run", "transfer", *options, "--out", "base.json", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return folder / "base.json"


def of_node(run: Run, name: str, faster: float) -> Run:
    def shorter(rerun: Rerun) -> Rerun:
        clocks = {
            clock: msgspec.structs.replace(one, ticks=[round(t / faster) for t in one.ticks])
            for clock, one in rerun.clocks.items()
        }
        return msgspec.structs.replace(rerun, clocks=clocks)

    points = [
        msgspec.structs.replace(point, reruns=[shorter(rerun) for rerun in point.reruns])
        for point in run.points
    ]
    return msgspec.structs.replace(
        run, points=points, environment={**run.environment, "host": name}
    )


@pytest.mark.slow
def test_the_prolog_drains_a_node_that_is_slower_than_its_like(
    base: Path, tmp_path: Path, path: str
) -> None:
    fleet = tmp_path / "fleet"
    fleet.mkdir()
    script = recipe("# prolog.sh", tmp_path, "prolog.sh")
    for faster, code in ((1.0, 0), (1.5, 1)):  # the node's older file is replaced
        for i in range(7):
            (fleet / f"other{i}.json").unlink(missing_ok=True)
            save(of_node(load(base), f"other{i}", faster), fleet / f"other{i}.json")
        ran = done(tmp_path, path, str(script), FLEET=str(fleet), DEVICE="card:u250")
        assert ran.returncode == code, ran.stderr
    assert len(list(fleet.iterdir())) == 8


def fleet_of(base: Path, folder: Path) -> Path:
    """A folder of seven machines as this one, and this one's file."""
    fleet = folder / "fleet"
    fleet.mkdir()
    for name in (*(f"other{i}" for i in range(7)), platform.node()):
        save(of_node(load(base), name, 1.0), fleet / f"{name}.json")
    return fleet


DEAD = "opencl:nowhere"
"""A device that is not there."""
FAILING = "#!/bin/sh\nexit 1\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("no isthmus", "is not there"),
        ("failed run", "the run failed"),
        ("no device", "the run failed"),
        ("no folder", "cannot be written"),
        ("killed fleet", "not in the answer"),
        ("busy", "kept, as another Isthmus measures here"),
        ("degraded", "degraded"),
    ],
)
def test_the_prolog_drains_a_node_of_which_nothing_is_known(
    fault: str, why: str, base: Path, tmp_path: Path, path: str
) -> None:
    fleet = fleet_of(base, tmp_path)
    script = recipe("# prolog.sh", tmp_path, "prolog.sh")
    variables = {"FLEET": str(fleet), "DEVICE": "card:u250", **faulty(fault, tmp_path)}
    if fault == "no folder":
        variables["FLEET"] = str(tmp_path / "nowhere")
    before = (fleet / f"{platform.node()}.json").read_bytes()
    ran = done(tmp_path, path, str(script), **variables)
    assert ran.returncode == (fault != "busy"), ran.stderr
    assert why in ran.stderr
    if fault in {"failed run", "no device", "busy"}:
        assert (fleet / f"{platform.node()}.json").read_bytes() == before


def faulty(fault: str, folder: Path) -> dict[str, str]:
    """Variables of a recipe that plant a fault."""
    program = folder / "program"
    texts = {
        "failed run": FAILING,
        "busy": '#!/bin/sh\n[ "$1" = run ] && exit 6\nexec isthmus "$@"\n',
        "degraded": '#!/bin/sh\n[ "$1" = fleet ] && echo "$(hostname) degraded x8" && exit 3\n'
        'exec isthmus "$@"\n',
        "killed fleet": '#!/bin/sh\n[ "$1" = fleet ] && exit 137\nexec isthmus "$@"\n',
    }
    if fault in texts:
        program.write_text(texts[fault])
        program.chmod(0o755)
        return {"ISTHMUS": str(program)}
    if fault == "no isthmus":
        return {"ISTHMUS": str(folder / "nothing")}
    return {"DEVICE": DEAD} if fault == "no device" else {}


def changed(run: Run, fault: str) -> Run:
    """The run of a node with a fault; a card's model has none of these."""
    if fault == "slow":
        return of_node(run, platform.node(), 0.8)
    if fault == "wrong data":
        first, *rest = run.points
        reruns = [msgspec.structs.replace(one, verified="false") for one in first.reruns]
        return msgspec.structs.replace(
            run, points=[msgspec.structs.replace(first, reruns=reruns), *rest]
        )
    if fault in {"half link", "full link"}:
        speed = {"current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "16.0 GT/s PCIe"}
        link = {"address": "0000:03:00.0", **speed,
                "current_link_width": "8" if fault == "half link" else "16",
                "max_link_width": "16"}  # fmt: skip
        real = {"real": True, "simulated": False, "link": link}
        devices = [msgspec.structs.replace(one, **real) for one in run.devices]
        return msgspec.structs.replace(run, devices=devices)
    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("", ""),
        ("no isthmus", "is not there"),
        ("no base", "is missing"),
        ("cut base", "not a run file"),
        ("failed run", "the run failed"),
        ("no device", "the run failed"),
        ("busy", "kept, as another Isthmus measures here"),
        ("slow", "FAIL: "),
        ("wrong data", "whose data did not arrive"),
        ("half link", "link_width: x8"),
        ("other device", "the base is of another device"),
        ("same run", "kept: UNDECIDED: "),
    ],
)
def test_the_prolog_with_an_own_base_drains_what_is_worse_than_the_base(
    fault: str, why: str, base: Path, tmp_path: Path, path: str
) -> None:
    """The run is measured here; a fault of the node is planted into its file."""
    script = recipe("# own-base.sh", tmp_path, "own-base.sh")
    run = of_node(load(base), platform.node(), 1.0)
    stored = tmp_path / f"{platform.node()}.json"
    if fault == "other device":
        run = msgspec.structs.replace(
            run, devices=[msgspec.structs.replace(one, name="another") for one in run.devices]
        )
    if fault == "half link":
        run = changed(run, "full link")
    if fault != "no base":
        save(msgspec.structs.replace(run, started="2025-01-01T00:00:00Z"), stored)
    if fault == "cut base":
        stored.write_bytes(stored.read_bytes()[:5000])
    variables = {"BASE": str(tmp_path), "DEVICE": "card:u250", **faulty(fault, tmp_path)}
    if fault in {"slow", "wrong data", "half link", "same run"}:
        measured = load(stored) if fault == "same run" else changed(load(base), fault)
        save(measured, tmp_path / "measured")
        program = tmp_path / "program"
        program.write_text(
            '#!/bin/sh\n[ "$1" = run ] || exec isthmus "$@"\n'
            'while [ "$1" != --out ]; do shift; done\n'
            f'exec cp "{tmp_path}/measured" "$2"\n'
        )
        program.chmod(0o755)
        variables["ISTHMUS"] = str(program)
    before = stored.read_bytes() if stored.exists() else b""
    ran = done(tmp_path, path, str(script), **variables)
    assert ran.returncode == (fault not in {"", "busy", "same run"}), ran.stderr
    assert why in ran.stderr
    assert (stored.read_bytes() if stored.exists() else b"") == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("", ""),
        ("no isthmus", "is not there"),
        ("no file", "is missing"),
        ("empty file", "is missing"),
        ("old file", "is older than 24 hours"),
        ("cut file", "failed"),
        ("future file", "failed"),
        ("no device", f"{DEAD} is not there"),
        ("killed fleet", "not in the answer"),
        ("slow", "slow"),
    ],
)
def test_the_health_check_drains_a_node_of_which_nothing_good_is_known(
    fault: str, why: str, base: Path, tmp_path: Path, path: str
) -> None:
    fleet = fleet_of(base, tmp_path)
    own = fleet / f"{platform.node()}.json"
    script = recipe("# health.sh", tmp_path, "health.sh")
    data = own.read_bytes()
    if fault in {"no file", "slow"}:
        own.unlink()
    if fault == "slow":
        save(of_node(load(base), platform.node(), 0.5), own)
    elif fault in {"empty file", "cut file"}:
        own.write_bytes(data[: len(data) // 2] if fault == "cut file" else b"")
    elif fault in {"old file", "future file"}:  # by the time in it: it was copied just now
        days = timedelta(days=2 if fault == "future file" else -2)
        run = of_node(load(base), platform.node(), 1.0)
        own.unlink()
        save(msgspec.structs.replace(run, started=(NOW + days).isoformat()), own)
    variables = {"FLEET": str(fleet), "DEVICE": "card:u250", **faulty(fault, tmp_path)}
    for _ in range(2):
        ran = done(tmp_path, path, str(script), **variables)
        assert ran.returncode == bool(fault), ran.stderr
        assert why in ran.stderr


@pytest.mark.slow
@pytest.mark.skipif(MPIRUN is None, reason="no mpirun here")
def test_each_node_has_a_run_of_its_own_under_a_launcher(tmp_path: Path) -> None:
    """Two ranks of this host are one node; each first, with a folder of its own, they are two."""
    measure = "exec isthmus run transfer --device card:u250 --quick --bytes 4Ki --per-node --out"
    two = (
        "export OMPI_COMM_WORLD_LOCAL_RANK=0 MPI_LOCALRANKID=0; "
        f'{measure} two/"$OMPI_COMM_WORLD_RANK$PMI_RANK"'
    )
    for script in (f"{measure} one", two):
        ran = done(tmp_path, HERE, str(MPIRUN), "-n", "2", "sh", "-c", script,
                   **{**AS_ROOT, "OMPI_MCA_rmaps_base_oversubscribe": "1",
                      "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"})  # fmt: skip
        assert ran.returncode == 0, ran.stderr
    hosts = {path.stem for path in tmp_path.glob("one/*.json")}
    assert hosts == {platform.node()}
    runs = [load(path) for path in tmp_path.glob("two/*/*.json")]
    assert len(runs) == 2
    for run in runs:
        assert "ranks" not in run.environment
        assert run.points


@pytest.mark.slow
@pytest.mark.skipif(REFRAME is None, reason="no ReFrame here")
@pytest.mark.parametrize(("device", "code"), [("card:u250", 0), ("card:u250,link.lanes=8", 1)])
def test_reframe_passes_what_is_as_fast_and_fails_what_is_slower(
    device: str, code: int, base: Path, tmp_path: Path, path: str
) -> None:
    check = recipe("import reframe", tmp_path, "isthmus_check.py")
    ran = done(
        tmp_path, path, str(REFRAME), "--prefix", str(tmp_path), "-c", str(check), "-r",
        "-S", f"base={base}", "-S", f"device={device}",
        RFM_ENABLE_RESULTS_STORAGE="n",
    )  # fmt: skip
    assert ran.returncode == code, ran.stdout
    assert ("gate 3" in ran.stdout) == bool(code)
    assert ("P: write_rate:" in ran.stdout) != bool(code)


@pytest.mark.slow
@pytest.mark.parametrize(("after", "code"), [("card:u250", 0), ("card:u250,link.lanes=8", 3)])
def test_the_steps_of_the_action_fail_a_commit_that_is_slower(
    after: str, code: int, tmp_path: Path, path: str
) -> None:
    """A repository whose commits choose the device by a file; two turns, as GitHub's shell runs."""
    text = (ROOT / "docs" / "recipes.md").read_text("utf-8")
    (block,) = [b for b in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "transfers:" in b]
    steps = yaml.safe_load(block)["jobs"]["transfers"]["steps"]
    assert steps[0]["with"]["fetch-depth"] == 0
    commits = []
    git = ("git", "-c", "user.name=x", "-c", "user.email=x", "-C", str(tmp_path))
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / "Makefile").write_text("all:\n")
    for device in ("card:u250", after):
        (tmp_path / "device").write_text(device)
        subprocess.run([*git, "add", "Makefile", "device"], check=True)
        subprocess.run([*git, "commit", "-qm", device, "--allow-empty"], check=True)
        shown = [*git, "rev-parse", "HEAD"]
        commits.append(subprocess.run(shown, check=True, capture_output=True, text=True).stdout)
    codes = []
    for step in [*steps[1:], *steps[1:]]:  # the runner keeps its folder
        script = step["run"].replace("1 2 3 4 5 6", "1 2")
        script = script.replace("xrt:0", '"$(cat device)" --bytes 4Ki,16Mi')
        for name, commit in zip(("github.event.pull_request.base.sha", "github.sha"), commits,
                                strict=True):  # fmt: skip
            script = script.replace(f"${{{{ {name} }}}}", commit.strip())
        ran = done(tmp_path, path, "bash", "-e", "-c", script,
                   GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))  # fmt: skip
        codes.append(ran.returncode)
    assert codes == [0, 0, code, 0, 0, code]
    assert len(list(tmp_path.glob("*/[12].json"))) == 4
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("after against before: ")
    assert ("| slower |" in summary) == bool(code)
