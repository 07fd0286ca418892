"""A run measured again: the command that is used, and what is said of the difference."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path

import msgspec
import pytest

import launchers
from conftest import Command
from isthmus.analysis.commands import repeating
from isthmus.results import run_file
from isthmus.results.run_file import Run, Samples, Software

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
ASKED = ("run", "transfer", "--device", "card:u250", "--bytes", "4Ki,1Mi", "--operation",
         "read,write")  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, run_isthmus: Command) -> Run:
    folder = tmp_path_factory.mktemp("base")
    assert run_isthmus(*ASKED, "--out", "base.json", cwd=folder).returncode == 0
    return run_file.load(folder / "base.json")


def called(run: Run, *command: str) -> Run:
    return msgspec.structs.replace(run, software=Software(version="0", command=list(command)))


def identities(run: Run) -> list[tuple[object, ...]]:
    return sorted((p.device, p.operation, p.memory, p.bytes, *p.axes.items()) for p in run.points)


def test_the_same_command_is_measured_and_compared(
    base: Run, isthmus: Command, tmp_path: Path
) -> None:
    run_file.save(base, tmp_path / "base.json")
    ran = isthmus("repeat", "base.json", "--out", "new.json", "--fail-above", "5%")
    assert ran.returncode == 0, ran.stderr
    first, _, rest = ran.stdout.partition("\n\n")
    assert first.startswith("PASS: new.json against base.json: none of 4 series of 1 device")
    assert rest.startswith("new.json against base.json: of 4 series, 4 within the limit by")
    assert ran.stdout.splitlines()[-1] == "new.json"
    assert f"isthmus {' '.join(ASKED)} --out new.json" in ran.stderr
    new = run_file.load(tmp_path / "new.json")
    assert new.software.command == ["isthmus", *ASKED, "--out", "new.json"]
    assert identities(new) == identities(base)
    again = isthmus("repeat", "new.json", "--out", "third.json")
    assert again.returncode == 0
    assert again.stdout.startswith("third.json against new.json: nothing changed")
    refused = isthmus("repeat", "new.json", "--out", "third.json")
    assert refused.returncode == 2
    assert "nothing is overwritten" in refused.stderr


def test_what_is_slower_than_before_fails_the_gate(
    base: Run, isthmus: Command, tmp_path: Path
) -> None:
    def halved(samples: Samples) -> Samples:
        return msgspec.structs.replace(samples, ticks=[ticks // 2 for ticks in samples.ticks])

    points = [
        msgspec.structs.replace(
            point,
            reruns=[
                msgspec.structs.replace(
                    rerun, clocks={name: halved(clock) for name, clock in rerun.clocks.items()}
                )
                for rerun in point.reruns
            ],
        )
        for point in base.points
    ]
    run_file.save(msgspec.structs.replace(base, points=points), tmp_path / "fast.json")
    gated = isthmus("repeat", "fast.json", "--out", "new.json", "--fail-above", "5%")
    assert gated.returncode == 3
    assert "new.json against fast.json: of 4 series, 4 slower by more than the" in gated.stdout
    assert isthmus("repeat", "fast.json", "--out", "other.json").returncode == 0


def test_without_a_command_the_plan_gives_one(base: Run, isthmus: Command, tmp_path: Path) -> None:
    run_file.save(called(base), tmp_path / "base.json")
    ran = isthmus("repeat", "base.json", "--out", "new.json")
    assert ran.returncode == 0, ran.stderr
    assert "--axis bytes=4Ki,1Mi" in ran.stderr
    new = run_file.load(tmp_path / "new.json")
    assert identities(new) == identities(base)
    for name in ("precision", "reruns", "seed", "quick", "axes"):
        assert getattr(new.settings, name) == getattr(base.settings, name), name


def test_permissions_and_files_are_not_taken_from_a_run_file(base: Run) -> None:
    run = called(
        base, "isthmus", "run", "mmio", "--device", "pci:x", "--allow-writes", "--out", "a.json",
        "--registers", "0:0", "--no-wait", "--per-node", "--allow-loads", "--out=b.json",
    )  # fmt: skip
    assert repeating(run) == [
        "run", "mmio", "--device", "pci:x", "--registers", "0:0",
    ]  # fmt: skip
    options = msgspec.structs.replace(
        base.settings, options={"allow_writes": "yes", "registers": "0:0", "unknown": "x"}
    )
    planned = repeating(msgspec.structs.replace(called(base), settings=options))
    assert "--allow-writes" not in planned
    assert planned[planned.index("--registers") + 1] == "0:0"
    assert "x" not in planned


@pytest.mark.parametrize("form", ["{}={}", "{} {}"], ids=["joined", "apart"])
def test_another_number_of_processes_takes_the_place_of_the_runs(base: Run, form: str) -> None:
    words = "isthmus run transfer --device=host {} {} --seed 2"
    given = words.format(form.format("--reruns", 1), form.format("--budget", 5)).split()
    software = msgspec.structs.replace(base.software, command=given)
    run = msgspec.structs.replace(base, software=software)
    kept = ["run", "transfer", "--device=host"]
    assert repeating(run, {"--reruns": "12"}) == [
        *kept, *form.format("--budget", 5).split(), "--seed", "2", "--reruns", "12"
    ]  # fmt: skip
    both = repeating(run, {"--budget": "50", "--reruns": "12"})
    assert both == [*kept, "--seed", "2", "--budget", "50", "--reruns", "12"]


def test_devices_that_the_run_chose_by_itself_are_named(base: Run) -> None:
    chose = repeating(called(base, "isthmus", "run", "all", "--quick"))
    assert chose == ["run", "all", "--quick", "--device", "card:u250"]


def stored(name: str) -> Run:
    packed = (RESULTS / f"2026-11-22-{name}.json.gz").read_bytes()
    return msgspec.json.decode(gzip.decompress(packed), type=Run)


@pytest.mark.slow
def test_a_run_of_several_ranks_is_repeated_under_its_launcher(
    isthmus: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = launchers.any_launcher()
    for name, value in launchers.AS_ROOT.items():
        monkeypatch.setenv(name, value)
    ran = launcher.run(2, tmp_path, "beff", "--device", "host", "--channel", "mpi", "--bytes",
                       "4Ki", "--precision", "0.9", "--out", "run.json")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    started = shlex.join(launcher.command)
    again = isthmus("repeat", "run.json", "--out", "new.json", "--launcher", started)
    assert again.returncode == 0, again.stderr
    before, _, after = again.stderr.partition(" run beff --device host")
    assert before.startswith(f"{started} -n 2 ")
    assert before.endswith("isthmus")
    assert after
    assert again.stdout.startswith("new.json against run.json: ")
    assert again.stdout.splitlines()[-1] == "new.json"
    old, new = (run_file.load(tmp_path / name) for name in ("run.json", "new.json"))
    assert new.environment["ranks"] == old.environment["ranks"]
    assert identities(new) == identities(old)
    assert new.software.command[:5] == ["mpirun", "-n", "2", "isthmus", "run"]


def test_without_the_launcher_of_ranks_one_line_says_so(isthmus: Command, tmp_path: Path) -> None:
    run = stored("h200x2-beff")
    run_file.save(run, tmp_path / "run.json")
    ran = isthmus("repeat", "run.json", "--out", "new.json", "--launcher", "./no-launcher --x")
    assert ran.returncode == 2
    printed, refused = ran.stderr.splitlines()
    before, _, after = printed.partition("isthmus run ")
    assert before.startswith("./no-launcher --x -n 2 ")
    assert after == (
        "beff --device cuda:0 --device cuda:1 --precision 0.02 --budget 60 --out new.json"
    )
    assert refused.endswith("several ranks: --launcher names what starts them")


@pytest.mark.parametrize("ranks", [5, "x" * 9, [{}] * 5000])
def test_ranks_that_no_run_has_start_nothing(
    ranks: object, isthmus: Command, tmp_path: Path
) -> None:
    run = stored("h200x2-beff")
    given = msgspec.structs.replace(run, environment={**run.environment, "ranks": ranks})
    run_file.save(given, tmp_path / "run.json")
    ran = isthmus("repeat", "run.json", "--out", "new.json", "--launcher", "./no-launcher")
    assert ran.returncode != 0
    assert "./no-launcher -n" not in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_launcher_that_starts_nothing_is_an_error(isthmus: Command, tmp_path: Path) -> None:
    run_file.save(stored("h200x2-beff"), tmp_path / "run.json")
    for launcher, code in (("true", 1), ("'", 2), ("", 2)):
        ran = isthmus("repeat", "run.json", "--out", "new.json", "--launcher", launcher)
        assert ran.returncode == code
        assert "isthmus: " in ran.stderr


def test_devices_that_are_not_here_are_named_in_one_line(isthmus: Command, tmp_path: Path) -> None:
    run = stored("h200-transfer")
    name = "opencl:not-here-0"
    devices = [msgspec.structs.replace(run.devices[0], address=name)]
    points = [msgspec.structs.replace(point, device=name) for point in run.points]
    absent = msgspec.structs.replace(called(run), devices=devices, points=points)
    run_file.save(absent, tmp_path / "run.json")
    ran = isthmus("repeat", "run.json", "--out", "new.json")
    assert ran.returncode == 2
    assert "no device 'opencl:not-here-0'; " in ran.stderr.splitlines()[-1]
    assert not (tmp_path / "new.json").exists()


def test_wrong_limits_are_refused_before_anything_is_measured(
    base: Run, isthmus: Command, tmp_path: Path
) -> None:
    run_file.save(base, tmp_path / "base.json")
    ran = isthmus("repeat", "base.json", "--out", "new.json", "--fail-above", "much")
    assert ran.returncode == 2
    assert not (tmp_path / "new.json").exists()
