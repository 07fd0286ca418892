"""Workers are real processes here: they crash, hang and lose their parents for real."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil
import pytest

from conftest import LIMIT_S
from isthmus import interpreter
from isthmus.backends import registry
from isthmus.measure import discovery, protocol
from isthmus.measure.devices import devices_of
from isthmus.measure.runner import Watcher
from isthmus.measure.supervisor import WorkerDiedError, WorkerProcess, WorkerRefusedError
from isthmus.system.binding import Binding

NULL = str(registry()["null"].library)


class Quiet(Watcher):
    """Shows nothing."""


CRITERION = protocol.Criterion(0.1, 0.95, 10.0)


def opened(worker: WorkerProcess, **options: str) -> protocol.Opened:
    answer = worker.ask(protocol.OpenDevice(NULL, "", {"cost": "1us", **options}))
    assert isinstance(answer, protocol.Opened)
    return answer


def measure(worker: WorkerProcess) -> protocol.Measured:
    answer = worker.ask(protocol.Measure("write", 64, "aligned", {}, CRITERION, 1.0))
    assert isinstance(answer, protocol.Measured)
    return answer


def test_measures() -> None:
    with WorkerProcess({}) as worker:
        opened(worker)
        block = measure(worker)
    assert block.clock.seconds_per_tick > 0
    assert len(block.parts[0].ticks) >= 25


def test_a_worker_is_a_session_of_its_own_with_its_environment_and_binding() -> None:
    cpu = min(os.sched_getaffinity(0))
    with WorkerProcess({"ISTHMUS_TEST": "yes"}, binding=Binding((cpu,))) as worker:
        opened(worker)
        process = psutil.Process(worker.pid)
        assert os.getsid(worker.pid) == worker.pid
        assert process.environ()["ISTHMUS_TEST"] == "yes"
        assert process.cpu_affinity() == [cpu]
        assert "isthmus.measure.worker" in process.cmdline()
    assert not psutil.pid_exists(worker.pid)


def test_one_that_was_lost_says_so_whenever_it_is_asked() -> None:
    with WorkerProcess({}) as worker:
        os.kill(worker.pid, signal.SIGKILL)
        for _ in range(2):
            with pytest.raises(WorkerDiedError, match="died by SIGKILL"):
                worker.ask(protocol.ListDevices(NULL))


def test_one_worker_lists_the_devices_of_several_backends() -> None:
    with WorkerProcess({}) as joint:
        for name in ("null", "host", "card", "null"):
            request = protocol.ListDevices(str(registry()[name].library))
            with WorkerProcess({}) as single:
                expected = single.ask(request)
            listed = joint.ask(request)
            assert isinstance(listed, protocol.Devices)
            assert listed.devices
            assert listed == expected


def test_what_is_built_in_shares_a_worker_and_all_else_has_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = []

    class Counted(WorkerProcess):
        def __init__(self, environment: Mapping[str, str], **options: float) -> None:
            started.append(environment)
            super().__init__(environment, **options)

    monkeypatch.setattr(discovery, "WorkerProcess", Counted)
    built_in = ("null:1us", "null:2us,crash=9", "host", "card:u250")
    found, records = devices_of(built_in, {}, Quiet())
    assert [one.address for one in found] == [one.address for one in records] == [*built_in]
    assert started == [{}]
    started.clear()
    surveys = discovery.surveys()
    ways = [way for b in registry().values() for s in b.schemes for way in b.candidates(s)]
    others = [way for way in ways if not way.built_in]
    assert len(started) == 1 + len(others)
    assert {one.backend.name for one in surveys if one.devices} >= {"null", "host", "card"}


def test_a_shared_worker_that_died_is_followed_by_another() -> None:
    request = protocol.ListDevices(NULL)
    with discovery.SharedWorker() as shared:
        listed = shared.ask(request)
        assert shared._worker
        os.kill(shared._worker.pid, signal.SIGKILL)
        with pytest.raises(WorkerDiedError):
            shared.ask(request)
        assert shared.ask(request) == listed


def test_a_crash_is_named() -> None:
    with WorkerProcess({}) as worker:
        opened(worker, crash="40")
        with pytest.raises(WorkerDiedError, match="died by SIGSEGV"):
            measure(worker)


def test_a_worker_that_lost_its_device_ends_and_says_why() -> None:
    with WorkerProcess({}) as worker:
        opened(worker, lose="40")
        with pytest.raises(WorkerDiedError, match="exit code 1; it last said: null was told to lo"):
            measure(worker)


def test_a_worker_killed_from_outside_is_named() -> None:
    with WorkerProcess({}) as worker:
        opened(worker)
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(WorkerDiedError, match="died by SIGKILL"):
            measure(worker)


def test_a_silent_worker_is_killed() -> None:
    with WorkerProcess({}, silence_s=1.0) as worker:
        hanging = protocol.OpenDevice(NULL, "", {"cost": "1us", "hang": "40"})
        worker.ask(hanging, allowed_s=LIMIT_S)  # to start may take longer
        with pytest.raises(WorkerDiedError, match="silent"):
            measure(worker)
        assert not psutil.pid_exists(worker.pid)


def test_how_long_a_silent_worker_was_silent_is_said() -> None:
    """The time that its work may take, and the limit of silence behind it."""
    with WorkerProcess({}, silence_s=1.0) as worker:
        hanging = protocol.OpenDevice(NULL, "", {"cost": "1us", "hang": "40"})
        worker.ask(hanging, allowed_s=LIMIT_S)
        request = protocol.Measure("write", 64, "aligned", {}, CRITERION, 1.0)
        with pytest.raises(WorkerDiedError, match=r"silent for \d+ s") as died:
            worker.ask(request, allowed_s=2.0)
    said = re.search(r"silent for (\d+) s", str(died.value))
    assert said
    assert int(said[1]) >= 3


def test_a_refusal_leaves_the_worker_alive() -> None:
    with WorkerProcess({}) as worker:
        with pytest.raises(WorkerRefusedError, match="unknown option 'nonsense'") as refused:
            opened(worker, nonsense="1")
        assert refused.value.usage
        opened(worker)
        assert measure(worker).verified == "na"


Runtime = Callable[[str], dict[str, str]]


@pytest.fixture
def with_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """Environment of a worker in which a runtime does this as it loads.

    Workers ignore PYTHONPATH; here they read it, so that the code is run.
    """

    def command(module: str, *arguments: object) -> list[str]:
        return [sys.executable, "-m", module, *map(str, arguments)]

    def environment(code: str) -> dict[str, str]:
        (tmp_path / "sitecustomize.py").write_text(code)
        return {"PYTHONPATH": str(tmp_path)}

    monkeypatch.setattr(interpreter, "command", command)
    return environment


def test_what_a_runtime_left_running_ends_with_its_worker(
    tmp_path: Path, with_runtime: Runtime
) -> None:
    note = tmp_path / "pid"
    code = (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(note)!r}, 'w').write(str(child.pid))\n"
    )
    with WorkerProcess(with_runtime(code)) as worker:
        opened(worker)
        child = psutil.Process(int(note.read_text()))
        assert child.is_running()
    deadline = time.monotonic() + 30
    while child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "it outlived the worker"
        time.sleep(0.05)


def test_a_runtime_may_end_in_peace(tmp_path: Path, with_runtime: Runtime) -> None:
    note = tmp_path / "done"
    code = (
        "import atexit, time\n"
        f"atexit.register(lambda: (time.sleep(0.5), open({str(note)!r}, 'w').close()))\n"
    )
    with WorkerProcess(with_runtime(code)) as worker:
        opened(worker)
    assert note.exists()


def test_a_worker_dies_with_its_parent(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\n"
            "from isthmus.measure.supervisor import WorkerProcess\n"
            "from isthmus.measure import protocol\n"
            f"worker = WorkerProcess({{}})\n"
            f"worker.ask(protocol.OpenDevice({NULL!r}, '', {{'cost': '1us'}}))\n"
            f"open({str(note)!r} + '.tmp', 'w').write(str(worker.pid))\n"
            f"import os; os.rename({str(note)!r} + '.tmp', {str(note)!r})\n"
            "time.sleep(600)\n",
        ]
    )
    try:
        deadline = time.monotonic() + LIMIT_S
        while not note.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        worker = int(note.read_text())
        assert psutil.pid_exists(worker)
    finally:
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + LIMIT_S
    while psutil.pid_exists(worker) and psutil.Process(worker).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "the worker outlived its parent"
        time.sleep(0.05)
