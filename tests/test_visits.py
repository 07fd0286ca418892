"""Visits by real workers of the null device: what the run keeps when a worker dies or refuses."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest

from isthmus.measure.discovery import FoundDevice, resolve
from isthmus.measure.jobs import Job
from isthmus.measure.plan import plan
from isthmus.measure.runner import Runner
from isthmus.measure.supervisor import Responder, WorkerProcess
from isthmus.measure.visit import HostSpeed
from isthmus.results.journal import Entry
from isthmus.results.run_file import HostReading, Settings
from isthmus.studies import by_name
from isthmus.system.binding import Binding
from test_rounds import Noted


class Deadly(HostSpeed):
    """Kills the worker before each of its readings from round ``after`` on."""

    after = 0

    def readings(self, worker: Responder, round_number: int) -> list[HostReading]:
        if round_number >= self.after:
            assert isinstance(worker, WorkerProcess)
            os.kill(worker.pid, signal.SIGKILL)
        return super().readings(worker, round_number)


def measured(
    device: FoundDevice, sizes: Sequence[int], reruns: int, host_speed: HostSpeed | None = None
) -> tuple[list[Job], Noted, list[Entry]]:
    """Measures jobs in a run that reads the host's speed; returns jobs, messages and journal."""
    requested = {"operation": ["read"], "bytes": list(sizes), "memory": ["aligned"]}
    jobs = [Job(device, task) for task in plan(by_name("transfer"), device, requested).tasks]
    settings = Settings(
        precision=0.05, confidence=0.95, reruns=reruns, budget_s=60, seed=1, quick=False
    )
    noted, journal = Noted(), list[Entry]()
    host_speed = host_speed or HostSpeed(time.monotonic())
    runner = Runner(jobs, settings, Binding(), noted, journal.append, host_speed=host_speed)
    try:
        runner.run(time.monotonic() + settings.budget_s)
    finally:
        host_speed.close()
    return jobs, noted, journal


def test_a_result_stays_if_its_worker_dies_in_the_reading_after_it() -> None:
    (job,), noted, journal = measured(resolve("null"), [4096], 2, Deadly(time.monotonic()))
    assert job.error == ""
    assert job.processes == {0, 1}
    assert [entry.rerun is not None for entry in journal] == [True, True]
    assert noted.messages == ["null: its worker died by SIGKILL"] * 2


def test_the_third_death_ends_the_points_and_says_which_are_begun() -> None:
    deadly = Deadly(time.monotonic())
    deadly.after = 1
    (job,), noted, journal = measured(resolve("null"), [4096], 8, deadly)
    assert job.processes == {0, 1, 2, 3}
    assert job.error == "not measured further: 3 workers of this device died"
    assert sum(entry.rerun is not None for entry in journal) == 4
    assert noted.messages[-1] == "null: given up after 3 dead workers"


@pytest.mark.parametrize("sizes", [[4096], [4096, 8192, 16384, 32768]])
def test_a_device_that_cannot_be_opened_gives_its_reason(sizes: list[int]) -> None:
    device = resolve("null")
    elsewhere = {**device.description.properties, "pci_address": "0000:99:00.0"}
    device = replace(
        device, description=msgspec.structs.replace(device.description, properties=elsewhere)
    )
    jobs, noted, _ = measured(device, sizes, 2)
    assert "ended with exit code" not in " ".join(noted.messages)
    assert {job.error.split(":")[0] for job in jobs} <= {"cannot be opened", "not measured"}
    assert any("is another now" in job.error for job in jobs)
