"""The host's own speed, read beside everything: stored by real runs, bounded in time."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest

from conftest import LIMIT_S, Command
from isthmus.measure import protocol
from isthmus.measure.discovery import resolve
from isthmus.measure.supervisor import Responder, WorkerProcess, WorkerRefusedError
from isthmus.measure.visit import SHARE, HostSpeed
from isthmus.reporters.html import write_page
from isthmus.results.run_file import HostReading, Rerun, Run, load, save

BYTES = 8 << 20
"""Both buffers of the copy."""
STORED = Path(__file__).parent / "data" / "runs"
QUICK = ("--operation=write,read_rw,write_rw", "--bytes=4Ki", "--reruns=3")


def measured(isthmus: Command, folder: Path, device: str, *options: str) -> Run:
    """A run of a device here."""
    out = folder / "run.json"
    done = isthmus("run", "transfer", "--device", device, *options, "--out", str(out))
    assert done.returncode == 0, done.stderr
    return load(out)


def reruns(run: Run) -> list[Rerun]:
    return [rerun for point in run.points for rerun in point.reruns]


def readings_of(run: Run) -> list[HostReading]:
    readings = [reading for rerun in reruns(run) for reading in rerun.host_speed]
    return sorted(readings, key=lambda reading: reading.at_s)


def check(run: Run) -> None:
    """Fails where readings are missing, have no sense or are stored twice."""
    readings = readings_of(run)
    assert readings
    for reading in readings:
        assert reading.system_call_s > 0
        assert reading.arithmetic_s > 0
        # Four copies and as many system calls fit between two readings: times are in seconds.
        assert reading.system_call_s < reading.copy_s < run.duration_s / 4
    times = [reading.at_s for reading in readings]
    assert len(set(times)) == len(times), "a reading is stored once"
    assert times[-1] <= run.duration_s + 1, "started is written in whole seconds"
    for rerun in reruns(run):
        assert rerun.at_s is not None
        assert all(reading.at_s >= rerun.at_s for reading in rerun.host_speed)


def test_a_run_stores_readings_with_their_time(isthmus: Command, tmp_path: Path) -> None:
    check(measured(isthmus, tmp_path, "null", *QUICK))


def test_a_run_on_pocl_stores_readings(isthmus: Command, tmp_path: Path, pocl: str) -> None:
    check(measured(isthmus, tmp_path, pocl, *QUICK))


def test_simulated_points_have_no_readings(isthmus: Command, tmp_path: Path) -> None:
    run = measured(isthmus, tmp_path, "card:u250", "--operation=write", "--bytes=4Ki")
    assert reruns(run)
    assert not readings_of(run)
    assert all(rerun.at_s is None for rerun in reruns(run))


def test_a_resumed_run_counts_from_its_start(isthmus: Command, tmp_path: Path) -> None:
    run = measured(isthmus, tmp_path, "null", "--operation=write", "--bytes=4Ki", "--reruns=2")
    (point,) = run.points
    kept = msgspec.structs.replace(point, reruns=point.reruns[:1])
    before = datetime.now(timezone.utc) - timedelta(hours=1)
    cut_off = msgspec.structs.replace(
        run, started=before.isoformat(timespec="seconds"), status="interrupted", points=[kept]
    )
    out = tmp_path / "cut.json"
    save(cut_off, out)
    done = isthmus("run", "transfer", "--resume", "--out", str(out))
    assert done.returncode == 0, done.stderr
    first, second = reruns(load(out))
    assert first == kept.reruns[0]
    assert second.at_s is not None
    assert 3600 <= second.at_s < 3600 + LIMIT_S


@pytest.mark.parametrize("stored", ["2026-11-26-layers", "2026-11-27-host-speed"])
def test_a_page_shows_the_host_over_time_where_it_was_read(tmp_path: Path, stored: str) -> None:
    run = load(STORED / f"{stored}.json")
    readings = run.host_readings
    page = write_page([(stored, run)], tmp_path)
    assert (">The host's own speed over time<" in page.read_text()) == bool(readings)
    assert (tmp_path / "plots" / "host.svg").exists() == bool(readings)
    if readings:
        lines = (tmp_path / "plots" / "host.csv").read_text().splitlines()
        assert lines[0] == "at_s,system_call_s,copy_s,arithmetic_s"
        assert [float(line.split(",")[0]) for line in lines[1:]] == [one.at_s for one in readings]


def test_a_single_reading_is_no_plot(tmp_path: Path) -> None:
    run = load(STORED / "2026-11-27-host-speed.json")
    (point,) = run.points
    kept = next(one for one in point.reruns if one.host_speed)
    run = msgspec.structs.replace(run, points=[msgspec.structs.replace(point, reruns=[kept])])
    page = write_page([("one", run)], tmp_path)
    assert "speed over time" not in page.read_text()


class Worker(Responder):
    """Takes time for a reading, by a clock that the test sets."""

    def __init__(self, takes_s: Callable[[], float]) -> None:
        self.now = 0.0
        self.takes_s = takes_s
        self.refuses = False

    def ask(self, request: protocol.Request, allowed_s: float = 0.0) -> protocol.Answer:  # noqa: ARG002
        assert isinstance(request, protocol.ReadHostSpeed)
        self.now += self.takes_s()
        if self.refuses:
            raise WorkerRefusedError(protocol.Failed("not enough host memory"))
        return protocol.HostSpeed(2e-7, 1e-4, 5e-6)


@pytest.mark.parametrize("visit_s", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("refuses", [False, True])
def test_readings_take_their_share_of_the_time_and_no_more(visit_s: float, refuses: bool) -> None:
    """Each tenth reading takes ten times as long: its worker is new."""
    number = iter(range(1_000_000))
    worker = Worker(lambda: 5e-3 if next(number) % 10 == 0 else 5e-4)
    worker.refuses = refuses
    host = HostSpeed(0.0, clock=lambda: worker.now)
    count = 0
    while worker.now < 30.0:
        worker.now += visit_s
        count += len(host.readings(worker, 0))
    assert host.spent_s <= SHARE * worker.now + 2 * 5e-3, "the first and the last are beside"
    assert host.spent_s < 0.02 * worker.now
    assert refuses or count >= 25
    if visit_s < 1:  # else each visit has its reading, which is less than the share
        assert host.spent_s > SHARE * worker.now / 2


def test_the_first_processes_have_a_reading_each_at_once() -> None:
    """The state of the host is known from three; each process visits two points in 10 ms."""
    worker = Worker(lambda: 5e-3)
    host = HostSpeed(0.0, clock=lambda: worker.now)
    found = []
    for visit in range(10):
        worker.now += 5e-3
        found.append(len(host.readings(worker, visit // 2)))
    assert found == [1, 1, 1, 0, 1, 0, 0, 0, 0, 0]


def test_all_workers_of_a_run_use_the_same_memory() -> None:
    host = HostSpeed(0.0)
    file = host.memory()
    assert host.memory() == file
    for _ in range(2):
        with WorkerProcess({}, references=file) as worker:
            assert os.fstat(file).st_size in {0, BYTES}
            assert isinstance(worker.ask(protocol.ReadHostSpeed()), protocol.HostSpeed)
            mapped = Path(f"/proc/{worker.pid}/maps").read_text()
            assert mapped.count(f" {os.fstat(file).st_ino} ") == 1
    assert os.fstat(file).st_size == BYTES
    # What the first worker wrote, the second copied: no page of either buffer is new.
    assert set(os.pread(file, BYTES, 0)) == {1}
    host.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)


def test_a_worker_without_memory_refuses_and_lives_on() -> None:
    with WorkerProcess({}) as worker:
        worker.ask(resolve("null").open_request())  # has all that it needs but the buffers
        before = resource.prlimit(worker.pid, resource.RLIMIT_AS)
        pages = int(Path(f"/proc/{worker.pid}/statm").read_text().split()[0])
        little = pages * resource.getpagesize() + (2 << 20)  # less than a buffer
        resource.prlimit(worker.pid, resource.RLIMIT_AS, (little, before[1]))
        host = HostSpeed(0.0)
        assert host.readings(worker, 0) == []
        resource.prlimit(worker.pid, resource.RLIMIT_AS, before)
        assert isinstance(worker.ask(protocol.ReadHostSpeed()), protocol.HostSpeed)
