"""``isthmus advise --job``: how to run items that pass in, through a kernel and out."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from conftest import Command
from isthmus.analysis.job import Copy, Cost, Job, Place, advise
from isthmus.errors import UsageError
from isthmus.models.pipeline import Stages, Transfer, one_thread_s
from isthmus.results import run_file
from isthmus.statistics import Interval, exact
from test_advise import FAST, SLOW, points, run

QUESTION = ("advise", "--job", "4Mi,kernel=232us,4Mi", "--times", "1000", "--device")
MiB = 1 << 20


def test_a_job_is_read() -> None:
    assert Job.parse("4Mi,kernel=232us,0", 7) == Job(4 * MiB, 232e-6, 0, 7)
    assert Job.parse("4Ki,kernel=1us,8Ki", 33).grouped(16) == Job(64 << 10, 16e-6, 128 << 10, 3)
    for wrong in ("4Mi", "4Mi,232us,4Mi", "0,kernel=1us,0", "4Mi,kernel=5,4Mi", "4Mi,kernel=1us"):
        with pytest.raises(UsageError, match=r"job|time"):
            Job.parse(wrong, 1)


def cost(data: float, both: float, start: float = 10e-6) -> Cost:
    copy = Copy(exact(start), exact(start + data), exact(start + both))
    nothing = exact(0.0)
    return Cost(copy, copy, exact(30e-6), exact(3e-6), nothing, nothing)


def test_the_simplest_of_the_fastest_is_advised() -> None:
    job = Job(4 * MiB, 100e-6, 4 * MiB, 1000)
    one, two = (Place("xrt:0", "xrt", "copy", "alloc_host", banks) for banks in (1, 2))
    found = advise(job, {1: {one: cost(300e-6, 500e-6), two: cost(300e-6, 300e-6)}})
    assert (found.best.place, found.best.sets) == (two, 3), "a bank of its own for each direction"
    assert found.best.limit.resource == "link in"
    assert {(other.sets, other.place.banks) for other in found.others} == {
        (1, 2), (2, 2), (4, 2), (3, 1),
    }  # fmt: skip
    slow = Job(4 * MiB, 5e-3, 4 * MiB, 1000)
    best = advise(slow, {1: {one: cost(300e-6, 500e-6), two: cost(300e-6, 300e-6)}}).best
    assert (best.place, best.sets, best.limit.resource) == (one, 2, "kernel")


def test_small_items_go_together_where_that_is_faster() -> None:
    place = Place("xrt:0", "xrt", "copy", "alloc_host", 1)
    job = Job(64, 1e-6, 64, 1000)
    found = advise(job, {1: {place: cost(0, 0)}, 16: {place: cost(1e-9, 1e-9)}})
    assert found.best.group == 16
    assert found.best.limit.seconds == pytest.approx(19e-6 / 16), "a kernel's run and its launch"


def test_a_copy_may_take_no_longer_than_its_start() -> None:
    flat = Copy(exact(10e-6), Interval(10e-6, 9e-6, 14e-6), exact(25e-6))
    nothing = exact(0.0)
    of = Cost(flat, flat, exact(5e-6), nothing, nothing, nothing)
    place = Place("opencl:pocl", "opencl", "copy", "pageable", 0)
    best = advise(Job(64, 1e-6, 64, 100), {1: {place: of}}).best
    assert best.total.low <= best.total.value <= best.total.high


def test_one_thread_with_several_sets_moves_data_beside_the_kernel() -> None:
    """Bound by the kernel, by the thread's transfers, or by the sets, whichever is longest."""
    into, out = Transfer(1.0, 9.0), Transfer(1.0, 9.0)
    by_kernel = Stages(into, 100.0, out, launch=5.0, relaunch=1.0)
    assert one_thread_s(by_kernel, 11, 2) == pytest.approx(125 + 10 * 101)
    by_thread = Stages(into, 10.0, out, launch=5.0, host_before=30.0)
    assert one_thread_s(by_thread, 11, 2) == pytest.approx(65 + 10 * 50)
    by_sets = Stages(into, 10.0, out, launch=50.0)
    assert one_thread_s(by_sets, 11, 2) == pytest.approx(80 + 10 * 40)


def test_the_engineers_question_is_answered_on_one_screen(isthmus: Command) -> None:
    ended = isthmus(*QUESTION, "card:u250")
    assert ended.returncode == 0, ended.stderr
    first, *rest = ended.stdout.splitlines()
    assert first.startswith("4Mi in, 232 us kernel, 4Mi out, 1000 times on xrt:0@card=u250: 3")
    assert len(rest) < 25
    text = " ".join(ended.stdout.split())
    assert "Limit: 328 us an item: the link to the device, full duplex" in text
    assert "No hardware was used" in text
    assert "On a board at least 457 us an item, if the kernel reads and writes each byte" in text
    assert "How: xrt:0@card=u250 is card:u250 driven by XRT native" in text
    assert "AMD's OpenCL" in text
    narrow = isthmus(*QUESTION, "card:u250,memory.banks=1,kernel.reaches_host=false").stdout
    assert "457 us an item: one memory bank of the card, which both" in " ".join(narrow.split())
    shared = isthmus(*QUESTION, "xocl:0@card=u250,memory.banks=1", "--json")
    data = json.loads(shared.stdout)
    assert data["best"]["limit"]["resource"] == "both directions"
    assert data["best"]["limit"]["seconds"] == pytest.approx(457e-6, rel=0.01)
    assert {one["device"] for one in data["alternatives"]} == {"xocl:0@card=u250,memory.banks=1"}


def test_a_stored_run_is_enough(isthmus: Command, tmp_path: Path) -> None:
    laws = {("pageable", 1): SLOW, ("pinned", 1): FAST}
    kept = points(laws, noise=0.01)
    run_file.save(run(kept), tmp_path / "run.json")
    ended = isthmus("advise", "--job", "1Mi,kernel=1ms,1Mi", str(tmp_path / "run.json"))
    assert ended.returncode == 2
    assert "launches on null:a were not measured" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("--device", "card:u250", "--rate", "3"), "--rate has no effect", id="rate"),
        pytest.param((), "name a run file, or --device", id="no-device"),
        pytest.param(
            ("--device", "card:u250", "--device", "card:u200"), "one board at a time", id="boards"
        ),
        pytest.param(
            ("--device", "card:u250", "--budget", "3"), "nothing is measured", id="budget"
        ),
    ],
)
def test_what_has_no_effect_is_refused(
    isthmus: Command, arguments: tuple[str, ...], said: str
) -> None:
    ended = isthmus("advise", "--job", "4Mi,kernel=1ms,4Mi", *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr


def program_of(isthmus: Command, folder: Path, *arguments: str) -> tuple[float, str]:
    """Predicted seconds of an item, and what the advised program prints on the emulated card."""
    predicted = json.loads(isthmus("advise", *arguments, "--json").stdout)["best"]
    code = isthmus("advise", *arguments, "--code").stdout
    (folder / "advised.cpp").write_text(code, encoding="utf-8")
    lines = code.splitlines()
    build = next(line for line in lines if line.startswith("// Build: "))
    build = build.removeprefix("// Build: ").replace("-lOpenCL", "-l:libOpenCL.so.1")
    subprocess.run(build.partition(" (Debian")[0], shell=True, cwd=folder, check=True)
    commands = [line.removeprefix("//   ") for line in lines if line.startswith("//   ")]
    if banks := [one for one in commands if one.startswith("printf")]:
        subprocess.run(banks[0], shell=True, cwd=folder, check=True)
    kernel = next(one for one in commands if one.startswith("isthmus card kernel"))
    assert isthmus(*kernel.split()[1:]).returncode == 0
    ran = isthmus(
        "card", "exec", "--clock", "card", "--kernels", ".", "--board", "u250", "--",
        "./a.out", "job.xclbin",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return predicted["per_item_s"]["value"], ran.stdout.splitlines()[-1]


@pytest.mark.emulation
@pytest.mark.parametrize(
    ("device", "job", "times"),
    [
        pytest.param("xrt:0@card=u250", "4Mi,kernel=232us,1Mi", 1, id="xrt"),
        pytest.param("xocl:0@card=u250", "1Mi,kernel=2ms,0", 1, id="opencl"),
    ],
)
def test_the_program_takes_the_time_on_the_emulated_card(
    isthmus: Command, tmp_path: Path, device: str, job: str, times: int
) -> None:
    """One item: with ``--clock card`` its time is the same on every machine."""
    arguments = ("--job", job, "--times", str(times), "--device", device)
    predicted, printed = program_of(isthmus, tmp_path, *arguments)
    seen = float(printed.split(",")[2].split()[0]) * 1e-6
    assert seen == pytest.approx(predicted, rel=0.1)


@pytest.mark.emulation
def test_a_program_of_several_sets_gets_every_item(isthmus: Command, tmp_path: Path) -> None:
    arguments = ("--job", "4Mi,kernel=232us,4Mi", "--times", "9", "--device", "card:u250")
    _, printed = program_of(isthmus, tmp_path, *arguments)
    assert printed.startswith("9 items, ")
