"""Run files to give away: nothing in them names a machine, a board or a user."""

from __future__ import annotations

import getpass
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from conftest import Command
from isthmus.results import run_file
from isthmus.results.anonymise import anonymised
from isthmus.results.run_file import Run


@pytest.fixture(scope="module")
def run(run_isthmus: Command, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A real run of this machine, with OpenCL's libraries where it has any."""
    folder = tmp_path_factory.mktemp("run")
    done = run_isthmus("run", "transfer", "--device", "host", "--device", "opencl:pocl",
                       "--bytes", "4Ki", "--operation", "read", "--reruns", "1", "--budget", "5",
                       "--out", str(folder / "run.json"), cwd=folder)  # fmt: skip
    assert (folder / "run.json").exists(), done.stderr
    return run_file.load(folder / "run.json")


def _of_this_machine() -> Iterator[str]:
    """Names of this machine and its user, and numbers of its parts, that the system tells."""
    yield socket.gethostname()
    yield getpass.getuser()
    yield str(Path.home())
    yield str(Path.cwd())
    files = ("etc/machine-id", "sys/class/dmi/id/product_uuid", "sys/class/dmi/id/product_serial",
             "sys/class/dmi/id/board_serial", "proc/sys/kernel/random/boot_id")  # fmt: skip
    paths = [Path("/", file) for file in files]
    for path in [*paths, *Path("/sys/class/net").glob("*/address")]:
        try:
            yield path.read_text().strip()
        except OSError:
            continue


def _words_of(run: Run) -> str:
    """All values of a file, one a line: keys of the format are no secrets."""

    def values(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            for key, child in value.items():
                yield from (f"{key} {text}" for text in values(child))
        elif isinstance(value, list):
            for child in value:
                yield from values(child)
        else:
            yield str(value)

    head = msgspec.to_builtins(msgspec.structs.replace(run, points=[]))
    points = [
        text
        for point in run.points
        for text in (point.device, point.error, point.skipped, *(r.fault for r in point.reruns))
    ]
    return "\n".join([*values(head), *points])


def test_a_file_of_this_machine_names_nothing_of_it(
    run: Run, isthmus: Command, tmp_path: Path
) -> None:
    run_file.save(run, tmp_path / "run.json")
    assert socket.gethostname() in _words_of(run)
    assert isthmus("anonymise", "run.json", "--out", "free.json").returncode == 0
    words = _words_of(run_file.load(tmp_path / "free.json"))
    for secret in filter(None, _of_this_machine()):
        assert not re.search(rf"(?<![\w-]){re.escape(secret)}(?![\w-])", words), secret
    assert "/" not in re.sub(r"GNU/Linux|GT/s|[a-z]+/[0-9.]+|N/A", "", words)
    before = {point.operation: point.reruns for point in run.points}
    after = run_file.load(tmp_path / "free.json")
    assert {point.operation: point.reruns for point in after.points} == before
    assert isthmus("show", "free.json").returncode == 0
    refused = isthmus("anonymise", "run.json", "--out", "free.json")
    assert refused.returncode == 2


SECRETS = {
    "host": "node17.cluster.example",
    "user": "alice",
    "uuid": "e4f7db0c-a3ee-fce5-8be4-a503c7989e87",
    "serial": "XFL1KHQ2T3ZB",
    "network": "10.17.3.29",
    "mac": "00:0a:35:0e:24:d7",
    "path": "/home/alice/secret-project/a.xclbin",
    "disk": "0c3a1f52-88a4-4a0e-9f70-2b8b3d1f1c55",
}


def _planted(run: Run) -> Run:
    """The run with each secret in several places."""
    device = msgspec.structs.replace(
        run.devices[0],
        properties={
            "uuid": f"GPU-{SECRETS['uuid']}",
            "serial_number": SECRETS["serial"],
            "mac_addr_0": SECRETS["mac"],
            "note": f"on {SECRETS['host']} ({SECRETS['network']}) by alice",
            "again": f"GPU-{SECRETS['uuid']}",
        },
        environment={"A": f"/opt/x/lib/libxilinxopencl.so.2:{SECRETS['path']}", "B": "~alice/x"},
        error=f"cannot open {SECRETS['path']}: no such file on node17",
    )
    environment = {
        **run.environment,
        "host": SECRETS["host"],
        "kernel_command_line": f"root=UUID={SECRETS['disk']} iommu=pt ip={SECRETS['network']}",
        "ranks": [{"rank": 0, "host": SECRETS["host"]}, {"rank": 1, "host": "node18"}],
    }
    command = ["isthmus", "run", "--xclbin", SECRETS["path"], "--out", "alice-node17.json",
               f"--axis=x={SECRETS['path']}"]  # fmt: skip
    software = msgspec.structs.replace(run.software, command=command)
    point = msgspec.structs.replace(run.points[0], error=f"{SECRETS['path']} at {SECRETS['host']}")
    return msgspec.structs.replace(
        run, devices=[device], environment=environment, software=software,
        points=[point, *run.points[1:]],
    )  # fmt: skip


def test_every_secret_goes_and_what_explains_figures_stays(run: Run) -> None:
    free = anonymised(_planted(run))
    text = json.dumps(msgspec.to_builtins(free))
    for secret in (*SECRETS.values(), "alice", "node17", "node18", "cluster", "secret-project"):
        assert secret not in text, secret
    assert [one["host"] for one in free.environment["ranks"]] == ["host1", "host2"]
    assert free.environment["kernel_command_line"] == "iommu=pt"
    properties = free.devices[0].properties
    assert properties["uuid"].removeprefix("GPU-") == properties["again"].removeprefix("GPU-")
    assert "libxilinxopencl.so.2" in free.devices[0].environment["A"]
    assert free.settings == run.settings
    assert [point.reruns for point in free.points] == [point.reruns for point in run.points]
    assert anonymised(free) == free
