"""An address selects one device of several, and that device is opened.

Four equal devices are listed by every backend's description, and by libraries that stand in for
vendors' libraries and write down which device a process opens.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import launchers
from conftest import Command
from isthmus.address import Address
from isthmus.analysis.context import RunContext
from isthmus.backends import BackendDescription, registry
from isthmus.candidates import Candidate
from isthmus.descriptions import DeviceDescription
from isthmus.errors import NoDeviceError, NoSuchDeviceError, UsageError
from isthmus.measure import discovery, selection
from isthmus.measure.devices import record_of
from isthmus.measure.discovery import FoundDevice, Survey, resolve
from isthmus.measure.selection import Identity, Probed
from isthmus.reporters import summary
from stand_ins import boards, gpus
from synthetic import run as run_of

__all__ = ["boards", "gpus"]

NAME = "xilinx_u250_gen3x16_xdma_shell_4_1"
PLATFORM = "XRT 2.13.466"
"""Both have the digits of all four ids."""
ONCE = ("--bytes", "4Ki", "--operation", "write", "--memory", "aligned", "--depth", "1",
        "--precision", "0.9", "--reruns", "1")  # fmt: skip


def four(scheme: str, platform: str = PLATFORM, first_bus: int = 1) -> list[Probed]:
    """Four devices that differ in id, PCI address and UUID, of one candidate."""
    candidate = Candidate(platform, keys={"icd": platform} if scheme == "opencl" else {})
    pci = [f"0000:{first_bus + n}b:00.1" for n in range(4)]
    ids = {"pci": pci, "opencl": [f"0:{n}" for n in range(4)], "xocl": [f"0:{n}" for n in range(4)],
           "xrt": [f"{n}@{pci[n]}" for n in range(4)]}  # fmt: skip
    return [
        Probed(candidate, DeviceDescription(
            id=ids.get(scheme, list("0123"))[n], name=NAME, platform=platform, api="",
            max_buffer_bytes=1, memory_bytes=1, memory_kinds=[], operations=[],
            properties={"pci_address": pci[n], "uuid": f"GPU-{first_bus + n}F"},
        ))
        for n in range(4)
    ]  # fmt: skip


SCHEMES = [(b, scheme) for b in registry().values() if b.by_default for scheme in b.schemes]
"""Those whose addresses select a device; a null device and an emulated card are made to order."""


def selected(backend: BackendDescription, text: str, found: Sequence[Probed]) -> list[int]:
    """Places in the list of the devices that an address selects."""
    chosen = selection.select(backend, Address.parse(text), found)
    return [found.index(one) for one in chosen]


@pytest.mark.parametrize(("backend", "scheme"), SCHEMES, ids=lambda one: getattr(one, "name", one))
def test_an_id_a_pci_address_and_a_uuid_select_that_device(
    backend: BackendDescription, scheme: str
) -> None:
    for found in (four(scheme), four(scheme)[::-1]):
        for place, one in enumerate(found):
            described = one.description
            by_id = backend.id_in(scheme, described)
            pci = described.properties["pci_address"]
            uuid = described.properties["uuid"]
            names = (by_id, described.id, pci, pci.upper(), pci[5:], uuid, uuid.lower())
            for name in names:
                assert selected(backend, f"{scheme}:{name}", found) == [place], name


@pytest.mark.parametrize(("backend", "scheme"), SCHEMES, ids=lambda one: getattr(one, "name", one))
def test_what_is_listed_selects_each_device_alone(backend: BackendDescription, scheme: str) -> None:
    found = four(scheme)
    listed = list(selection.addresses(backend, scheme, "", found))
    assert [one for _, one in listed] == found
    assert len({text for text, _ in listed}) == len(found)
    for text, one in listed:
        assert selected(backend, text, found) == [found.index(one)]


@pytest.mark.parametrize(("backend", "scheme"), SCHEMES, ids=lambda one: getattr(one, "name", one))
@pytest.mark.parametrize(
    "number", ["4", "13", "466", "2.13", "0:7", "0000:99:00.1", "99:00.1", "1."]
)
def test_a_number_is_never_a_part_of_a_name(
    backend: BackendDescription, scheme: str, number: str
) -> None:
    assert selected(backend, f"{scheme}:{number}", four(scheme)) == []
    assert selected(backend, f"{scheme}:{number}", four(scheme)[:1]) == []


@pytest.mark.parametrize(("backend", "scheme"), SCHEMES, ids=lambda one: getattr(one, "name", one))
def test_a_part_of_a_name_selects_only_if_one_device_has_it(
    backend: BackendDescription, scheme: str
) -> None:
    found = four(scheme)
    address = Address.parse(f"{scheme}:u250")
    if backend.named_exactly:
        assert not selection.select(backend, address, found)
        return
    assert selection.select(backend, address, found[:1]) == found[:1]
    chosen = selection.select(backend, address, found)
    with pytest.raises(UsageError, match="ambiguous: 4 devices match") as raised:
        selection.one_of(backend, address, chosen, found, None)
    for text, one in selection.addresses(backend, scheme, "", found):
        assert f"{text} {NAME} {one.identity.place}" in str(raised.value)


@pytest.mark.parametrize("alias", sorted(registry()["opencl"].aliases))
def test_an_alias_comes_before_a_part_of_a_name_and_after_an_id(alias: str) -> None:
    backend = registry()["opencl"]
    named = four("opencl", f"the other {alias}", 5)
    aliased = four("opencl", backend.aliases[alias].strip())[:1]
    assert selected(backend, f"opencl:{alias}", named + aliased) == [4]
    with_id = four("opencl", alias)
    renamed = Probed(with_id[2].candidate, DeviceDescription(
        alias, NAME, PLATFORM, "", 1, 1, [], [], {}))  # fmt: skip
    assert selected(backend, f"opencl:{alias}", [*aliased, renamed]) == [1]


def test_an_id_that_two_platforms_have_is_ambiguous_and_a_device_of_two_libraries_is_not() -> None:
    backend = registry()["opencl"]
    one, other = four("opencl", "One platform"), four("opencl", "Another platform", 5)
    address = Address.parse("opencl:0:2")
    chosen = selection.select(backend, address, one + other)
    with pytest.raises(UsageError, match="ambiguous: 2 devices") as raised:
        selection.one_of(backend, address, chosen, one + other, None)
    assert "opencl:0:2,icd=One platform" in str(raised.value)
    assert "opencl:0:2,icd=Another platform" in str(raised.value)
    assert selected(backend, "opencl:0:2,icd=Another platform", one + other) == [6]
    again = four("opencl", "A second library")  # of the same boards
    assert selected(backend, "opencl:0:2", one + again) == [2]


def of_rank(text: str, found: Sequence[Probed], turn: int) -> int:
    """Place in the list of the device that a rank gets."""
    backend, address = registry()["cuda"], Address.parse(text)
    chosen = selection.select(backend, address, found)
    one = selection.one_of(backend, address, chosen, found, turn)
    assert one is not None
    return found.index(one)


def test_ranks_share_out_what_a_name_means_and_nothing_else() -> None:
    found = four("cuda")
    for shared in ("cuda", "cuda:u250"):
        assert [of_rank(shared, found, turn) for turn in range(6)] == [0, 1, 2, 3, 0, 1]
    for exact in ("cuda:2", "cuda:0000:3b:00.1", "cuda:GPU-3f"):
        assert [of_rank(exact, found, turn) for turn in range(4)] == [2] * 4


def test_a_device_is_known_again_by_its_place() -> None:
    backend, found = registry()["xrt"], four("xrt")
    before = found[2].identity
    moved = four("xrt", first_bus=0)  # a board more in front: each has the number after its own
    address = Address.parse("xrt:2")
    now = selection.select(backend, address, moved)
    assert [moved.index(one) for one in now] == [2]
    same = selection.as_before(before, now, moved)
    assert [moved.index(one) for one in same] == [3]
    assert not selection.as_before(before, now, moved[:3])
    without = Identity(NAME, PLATFORM, "")
    assert list(selection.as_before(without, now, moved)) == list(now)


Opened = Callable[[], set[str]]


@pytest.fixture(params=["cuda", "xrt"])
def stand_in(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str, Opened]:
    """Scheme and mode of four boards, and the devices that workers opened, but to list them all."""
    scheme, mode = {"cuda": ("cuda", ""), "xrt": ("xrt", "@noop")}[request.param]
    variables = request.getfixturevalue("gpus" if scheme == "cuda" else "boards")
    log = tmp_path / "opened"
    named = {"STAND_IN_LOG": str(log), "STAND_IN_BOARDS": "0123"}
    for name, value in {**variables, **named}.items():
        monkeypatch.setenv(name, value)
    return scheme, mode, lambda: opened_boards(log)


def opened_boards(log: Path) -> set[str]:
    """The boards of the processes that opened only one: a process that lists them opens all."""
    of_process: dict[str, set[str]] = {}
    for line in log.read_text().splitlines():
        process, _, board = line.split()
        of_process.setdefault(process, set()).add(board)
    return {board for boards in of_process.values() if len(boards) == 1 for board in boards}


def made_to_fail(file: Path) -> None:
    """Makes a run file one whose points failed."""
    content = json.loads(file.read_text())
    for point in content["points"]:
        point.update(reruns=[], error="made to fail")
    file.write_text(json.dumps(content))


def run(isthmus: Command, scheme: str, number: str, mode: str) -> None:
    done = isthmus("run", "transfer", "--device", f"{scheme}:{number}{mode}", *ONCE,
                   "--out", "run.json")  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", ["0", "1", "3"])
def test_workers_open_the_board_that_was_named(
    isthmus: Command, stand_in: tuple[str, str, Opened], number: str
) -> None:
    scheme, mode, opened = stand_in
    run(isthmus, scheme, number, mode)
    assert opened() == {number}


def test_workers_open_the_board_of_a_pci_address(
    isthmus: Command, stand_in: tuple[str, str, Opened]
) -> None:
    scheme, mode, opened = stand_in
    place = resolve(f"{scheme}:2{mode}").description.properties["pci_address"]
    run(isthmus, scheme, place, mode)
    assert opened() == {"2"}


def test_a_name_that_four_boards_have_opens_none(
    isthmus: Command, stand_in: tuple[str, str, Opened], tmp_path: Path
) -> None:
    scheme, mode, opened = stand_in
    name = resolve(f"{scheme}:2{mode}").description.name
    (tmp_path / "opened").unlink(missing_ok=True)
    (tmp_path / "opened").touch()
    done = isthmus("run", "transfer", "--device", f"{scheme}:{name}{mode}", *ONCE)
    assert done.returncode == 2
    assert all(f"{scheme}:{number}{mode} {name}" in done.stderr for number in range(4))
    assert opened() == set()


def test_resume_and_repeat_open_the_board_of_the_run(
    isthmus: Command, stand_in: tuple[str, str, Opened], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    scheme, mode, opened = stand_in
    run(isthmus, scheme, "2", mode)
    made_to_fail(tmp_path / "run.json")
    # A board that was not there before has the first number.
    monkeypatch.setenv("STAND_IN_BOARDS", "40123")
    for words in (("run", "transfer", "--resume", "--out", "run.json"), ("repeat", "run.json")):
        (tmp_path / "opened").unlink()
        done = isthmus(*words)
        assert done.returncode == 0, done.stderr
        assert opened() == {"2"}


def test_a_run_does_not_go_on_with_another_board(
    isthmus: Command, stand_in: tuple[str, str, Opened], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    scheme, mode, opened = stand_in
    run(isthmus, scheme, "1", mode)
    place = json.loads((tmp_path / "run.json").read_text())["devices"][0]["properties"]
    monkeypatch.setenv("STAND_IN_BOARDS", "023")
    (tmp_path / "opened").unlink()
    done = isthmus("run", "transfer", "--resume", "--out", "run.json")
    assert done.returncode == 4
    assert f"at {place.get('uuid') or place['pci_address']}, which is not here" in done.stderr
    (tmp_path / "opened").touch()
    assert opened() == set()
    done = isthmus("repeat", "run.json")  # the same question to another board, and it is told
    assert "this run measures" in done.stderr
    assert opened() == {"2"}


def test_ranks_go_on_with_their_boards(
    gpus: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "opened"
    for name, value in {**gpus, "STAND_IN_LOG": str(log), "STAND_IN_BOARDS": "0123"}.items():
        monkeypatch.setenv(name, value)
    ranks = launchers.any_launcher()
    done = ranks.run(2, tmp_path, "beff", "--device", "cuda:stand-in", "--channel", "staged",
                     "--bytes", "64", "--topology", "ring", "--precision", "0.9", "--out",
                     "run.json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert opened_boards(log) == {"0", "1"}
    made_to_fail(tmp_path / "run.json")
    monkeypatch.setenv("STAND_IN_BOARDS", "40123")
    log.unlink()
    done = ranks.run(2, tmp_path, "beff", "--resume", "--out", "run.json")
    assert done.returncode == 0, done.stderr
    assert opened_boards(log) == {"0", "1"}


def test_a_worker_refuses_a_board_that_has_got_the_number_since(
    stand_in: tuple[str, str, Opened], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isthmus.measure.supervisor import WorkerProcess, WorkerRefusedError

    scheme, mode, _ = stand_in
    found = resolve(f"{scheme}:1{mode}")
    monkeypatch.setenv("STAND_IN_BOARDS", "023")  # board 1 has failed
    (tmp_path / "opened").unlink(missing_ok=True)
    with (
        WorkerProcess(found.candidate.environment) as worker,
        pytest.raises(WorkerRefusedError, match="start again"),
    ):
        worker.ask(found.open_request())
    log = tmp_path / "opened"
    assert "programs" not in (log.read_text() if log.exists() else "")


def test_four_opencl_devices(isthmus: Command, pocl: str, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = resolve(pocl).candidate.environment["OCL_ICD_VENDORS"]
    monkeypatch.setenv("OCL_ICD_VENDORS", alone)  # other runtimes here have devices 0:0, too
    monkeypatch.setenv("POCL_DEVICES", "basic basic pthread pthread")
    found = [resolve(f"opencl:0:{number}") for number in range(4)]
    assert [one.description.id for one in found] == [f"0:{number}" for number in range(4)]
    kinds = [one.description.name.partition("-")[0] for one in found]
    assert kinds == ["basic"] * 2 + ["pthread"] * 2
    for name in (pocl, "opencl:pthread"):
        with pytest.raises(UsageError, match="opencl:0:3"):
            resolve(name)
    with pytest.raises(NoSuchDeviceError):
        resolve("opencl:4")
    listed = isthmus("devices").stdout
    assert all(f"opencl:0:{number} " in listed for number in range(4))


def test_a_pci_device_that_was_not_named_is_never_meant() -> None:
    (survey,) = (one for one in discovery.surveys() if one.backend.name == "mmio")
    if not survey.devices:
        pytest.skip("no PCI device here")
    for text in ("pci", "pci:0", "pci:PCI", "pci:class"):
        with pytest.raises((NoSuchDeviceError, NoDeviceError)):
            resolve(text)


@pytest.mark.parametrize(
    ("platform", "name"),
    [
        ("Intel(R) FPGA Emulation Platform for OpenCL(TM)", "Intel(R) FPGA Emulation Device"),
        (
            "Intel(R) FPGA SDK for OpenCL(TM)",
            "SimulatorDevice : Simulator (aclmsim0)",
        ),
        ("Intel(R) FPGA SDK for OpenCL(TM)", "EmulatorDevice : Emulated Device"),
    ],
)
def test_an_emulator_is_no_accelerator(
    platform: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run leaves an emulator out unless named by ``--device``, and says "no hardware"."""
    backend = registry()["opencl"]

    def found(address: str, of: str, called: str, kind: str) -> FoundDevice:
        described = DeviceDescription(
            id="0:0", name=called, platform=of, api="opencl", max_buffer_bytes=1, memory_bytes=1,
            memory_kinds=[], operations=[], properties={"type": kind},
        )  # fmt: skip
        return FoundDevice(address, backend, Candidate(address), described)

    emulated = found("opencl:emulated", platform, name, "accelerator")
    processor = found("opencl:pocl", "Portable Computing Language", "cpu", "cpu")
    card = found("opencl:card", "Intel(R) FPGA SDK for OpenCL(TM)", "s10mx : board", "accelerator")
    for here, chosen in (
        ([emulated, processor], [processor]),
        ([emulated, processor, card], [card]),
        ([emulated], []),
    ):
        monkeypatch.setattr(discovery, "surveys", lambda here=here: [Survey(backend, here, [])])
        assert [one.address for one in discovery.real_devices()] == [c.address for c in chosen]
    second = found("opencl:intel-cpu", "Intel(R) OpenCL", "Xeon", "cpu")
    both = [Survey(backend, [emulated, processor, second], [])]
    monkeypatch.setattr(discovery, "surveys", lambda: both)
    assert [(one.address, one.beside) for one in discovery.real_devices()] == [
        ("opencl:pocl", ""), ("opencl:intel-cpu", "opencl:pocl"),
    ]  # fmt: skip
    run = run_of([], devices=[record_of(one) for one in (processor, second)])
    assert RunContext.of(run).beside == {"opencl:intel-cpu": "opencl:pocl"}, (
        "one processor is one subject"
    )
    record = record_of(emulated)
    assert not record.real
    title = summary.lines(run_of([], devices=[record]), Path("run.json"))[0]
    assert "no hardware" in title
    assert "PCIe" not in title
