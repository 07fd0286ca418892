"""Channel `nccl`: where GPUs and NCCL are, with them; anywhere, with libraries that stand in for
both, so that calls, their order and what is passed are checked on real ranks."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

import launchers
from conftest import Command
from isthmus.backends import registry
from isthmus.errors import IsthmusError
from isthmus.measure.discovery import resolve
from isthmus.results import run_file
from synthetic import answer

ROOT = Path(__file__).parents[1]
STAND_INS = ROOT / "tests" / "gpu_stand_in"
SMALL = ("--channel", "nccl", "--precision", "0.9", "--out", "run.json")


def made(target: Path, *sources: str) -> str:
    """A library of these stand-ins."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("no C++ compiler here")
    command = [compiler, "-std=c++20", "-O0", "-shared", "-fPIC", "-w",
               f"-I{ROOT / 'cpp' / 'backends' / 'cuda'}", "-o", str(target),
               *(str(STAND_INS / source) for source in sources)]  # fmt: skip
    subprocess.run(command, check=True)
    return str(target)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables that name a driver of two GPUs with NVLink, and an NCCL between them."""
    folder = tmp_path_factory.mktemp("stand_ins")
    made(folder / "libnvidia-ml.so.1", "nvml.cpp")
    return {
        "ISTHMUS_CUDA_DRIVER": made(folder / "libcuda.so.1", "cuda.cpp", "unsupported.cpp"),
        "ISTHMUS_NCCL": made(folder / "libnccl.so.2", "nccl.cpp"),
        "STAND_IN_MAIL": str(folder),
    }


@pytest.fixture
def stand_ins(libraries: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in libraries.items():
        monkeypatch.setenv(name, value)


def rows(isthmus: Command) -> list[dict[str, str]]:
    shown = isthmus("show", "run.json", "--format", "csv")
    assert shown.returncode == 0, shown.stderr
    return list(csv.DictReader(io.StringIO(shown.stdout)))


def checked(isthmus: Command, points: int) -> None:
    """Every message arrived, where it belonged."""
    result_rows = [row for row in rows(isthmus) if row["operation"] == "exchange"]
    assert len(result_rows) == points
    assert {row["verified"] for row in result_rows} == {"true"}
    assert {(row["api"], row["channel"], row["memory"]) for row in result_rows} == {
        ("nccl", "nccl", "device")
    }


@pytest.mark.usefixtures("stand_ins")
def test_two_ranks_take_two_gpus(isthmus: Command, tmp_path: Path) -> None:
    done = launchers.any_launcher().run(
        2, tmp_path, "beff", "--device", "cuda", "--topology", "ring,pairs", "--bytes", "1,70001",
        *SMALL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    checked(isthmus, 4)
    assert {row["topology"] for row in rows(isthmus)} == {"ring", "pairs"}
    measured = run_file.load(tmp_path / "run.json")
    links = measured.devices[0].properties
    assert (links["nvlink_links"], links["nvlink_Bps"]) == ("17", str(17 * 26_562_000_000))
    table = answer(measured, "by_size").table
    limit = table["bandwidth_Bps"] / table["limit_share"]
    assert limit.tolist() == pytest.approx([2 * 17 * 26.562e9] * 4)


@pytest.mark.usefixtures("stand_ins")
def test_a_gpu_that_throttles_is_a_finding(isthmus: Command) -> None:
    def judged(reasons: str, *, bad: bool) -> dict[str, dict[str, str]]:
        done = isthmus("doctor", "cuda:0", "--json", env={"STAND_IN_SLOWED_BY": reasons})
        assert done.returncode == 3 or not bad
        subjects = {one["name"]: one["results"] for one in json.loads(done.stdout)["subjects"]}
        return {one["check"]: one for one in subjects["cuda:0"]}

    hot = judged("0x61", bad=True)  # idle, and slowed by heat
    assert hot["throttling"]["state"] == "bad"
    assert hot["throttling"]["found"] == (
        "its clock is low: driver's thermal slowdown, thermal slowdown"
    )
    assert (hot["pcie_replays"]["state"], hot["pcie_replays"]["found"][:23]) == (
        "unknown", "3 since the GPU's reset",
    )  # fmt: skip
    cool = judged("0x3", bad=False)  # idle, and clocks that somebody set
    assert cool["throttling"]["state"] == "good"


@pytest.mark.usefixtures("stand_ins")
def test_one_rank_sends_to_itself(isthmus: Command) -> None:
    done = isthmus("run", "beff", "--device", "cuda:1", "--bytes", "4097", "--reruns", "1", *SMALL)
    assert done.returncode == 0, done.stderr
    checked(isthmus, 1)
    assert all("to_itself" in row["flags"] for row in rows(isthmus))


@pytest.mark.usefixtures("stand_ins")
def test_one_gpu_for_two_ranks_is_told(tmp_path: Path) -> None:
    done = launchers.any_launcher().run(
        2, tmp_path, "beff", "--device", "cuda:0", "--bytes", "1", *SMALL
    )
    assert done.returncode == 1, done.stderr
    assert "NCCL accepts each GPU once: ranks 0 and 1 have the same" in done.stderr


@pytest.mark.usefixtures("stand_ins")
def test_what_fails_in_the_background_ends_the_wait(isthmus: Command) -> None:
    done = isthmus("run", "beff", "--device", "cuda:0", "--bytes", "1", "--reruns", "1", *SMALL,
                   env={"STAND_IN_FAILURE": "6"})  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "in the background: remote process exited (6)" in done.stderr


@pytest.mark.usefixtures("stand_ins")
def test_a_missing_nccl_is_named_with_its_cure(isthmus: Command, tmp_path: Path) -> None:
    missing = {"ISTHMUS_NCCL": str(tmp_path / "libnccl.so.2")}
    done = isthmus("run", "beff", "--device", "cuda:0", *SMALL, env=missing)
    assert done.returncode == 2
    assert "no channel nccl: no NCCL: " in done.stderr
    assert "nvidia-nccl" in done.stderr


@pytest.mark.usefixtures("stand_ins")
def test_an_old_nccl_says_so(isthmus: Command, libraries: dict[str, str]) -> None:
    other = {"ISTHMUS_NCCL": libraries["ISTHMUS_CUDA_DRIVER"]}  # a library that is none
    done = isthmus("run", "beff", "--device", "cuda:0", *SMALL, env=other)
    assert done.returncode == 2
    assert "lacks ncclGetVersion: it is too old; install NCCL 2.7" in done.stderr


def test_a_wheel_beside_isthmus_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = registry()["cuda"]
    monkeypatch.setenv("ISTHMUS_CUDA_DRIVER", "libcuda.so.1")
    monkeypatch.delenv("ISTHMUS_NCCL", raising=False)
    file = tmp_path / "nvidia" / "nccl" / "lib" / "libnccl.so.2"
    file.parent.mkdir(parents=True)
    (tmp_path / "nvidia" / "__init__.py").touch()  # else others' folders of that name are joined
    monkeypatch.syspath_prepend(tmp_path)
    with mock.patch.dict(sys.modules):  # looking for it imports what is above it
        for name in [name for name in sys.modules if name.partition(".")[0] == "nvidia"]:
            del sys.modules[name]
        assert backend.candidates("cuda")[0].environment.get("ISTHMUS_NCCL") != str(file)
        file.touch()
        assert backend.candidates("cuda")[0].environment["ISTHMUS_NCCL"] == str(file)
        monkeypatch.setenv("ISTHMUS_NCCL", "mine.so")
        assert backend.candidates("cuda")[0].environment["ISTHMUS_NCCL"] == "mine.so"


def test_multicast_is_the_users_to_turn_on(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = registry()["cuda"]
    monkeypatch.setenv("ISTHMUS_CUDA_DRIVER", "libcuda.so.1")
    monkeypatch.delenv("NCCL_NVLS_ENABLE", raising=False)
    assert backend.candidates("cuda")[0].environment["NCCL_NVLS_ENABLE"] == "0"
    monkeypatch.setenv("NCCL_NVLS_ENABLE", "1")
    assert "NCCL_NVLS_ENABLE" not in backend.candidates("cuda")[0].environment


@pytest.mark.parametrize("ranks", [1, 2])
def test_gpus_exchange_over_nccl(isthmus: Command, tmp_path: Path, ranks: int) -> None:
    try:
        gpus = [resolve(f"cuda:{index}") for index in range(ranks)]
    except IsthmusError as error:
        pytest.skip(f"no CUDA device here: {error}")
    if missing := gpus[0].description.lacks.get("channel=nccl"):
        pytest.skip(missing)
    sizes = ("--bytes", "1,4097,16Mi", *SMALL)
    if ranks == 1:
        done = isthmus("run", "beff", "--device", "cuda:0", "--reruns", "1", *sizes)
    else:
        done = launchers.any_launcher().run(ranks, tmp_path, "beff", "--device", "cuda", *sizes)
    assert done.returncode == 0, done.stderr
    checked(isthmus, 3)
