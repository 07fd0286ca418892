"""``isthmus doctor``: each planted fault is found and named, and nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from msgspec.structs import replace as replace_fields

from conftest import Command
from host_states import with_host
from isthmus import backends, checks
from isthmus.analysis.findings import MOST_HEADLINES, findings
from isthmus.checks import Facts
from isthmus.cli.doctor import doctor
from isthmus.errors import UsageError
from isthmus.results import run_file
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.system import environment, pci
from pci_tree import unpack
from planted import FAULTS, Scene, _card, _machine, healthy, on_board, state_of
from synthetic import Law, transfer_run

COLUMN = 53
"""Left for what was found, on a terminal of 80 columns."""


@pytest.mark.parametrize("seed", range(100))
def test_a_healthy_machine_has_no_finding(seed: int, tmp_path: Path) -> None:
    assert not healthy(seed).bad(tmp_path)
    assert not on_board(seed).bad(tmp_path / "board")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_nothing_else(fault: str, tmp_path: Path) -> None:
    check, plant = FAULTS[fault]
    for seed in range(5):
        results = plant(on_board(seed)).results(tmp_path / str(seed))
        assert {name for name, one in results.items() if one.state == state_of(name)} == {check}
        found = results[check]
        assert found.cause
        assert found.cure
        assert found.command


def _can_both_be_seen(one: str, other: str) -> bool:
    """Whether neither fault hides the other, or is of the same check."""
    checks_of = {FAULTS[one][0], FAULTS[other][0]}
    hidden = [
        {"steal", "upstream"}, {"steal", "acs"}, {"steal", "max_payload"},  # by the hypervisor
        {"steal", "link_width"},  # which hides the slot, too
        {"power_state", "link_speed"},  # a link sleeps with its device
        {"relaxed_ordering", "link_speed"},  # planted on a GPU, whose link may be slow while idle
    ]  # fmt: skip
    reached_by_translation = {one, other} == {"32-bit DMA", "IOMMU translates"}
    return len(checks_of) == 2 and checks_of not in hidden and not reached_by_translation


@pytest.mark.slow
def test_two_faults_are_both_found(tmp_path: Path) -> None:
    tried = 0
    for one, other in filter(lambda pair: _can_both_be_seen(*pair), combinations(FAULTS, 2)):
        scene = FAULTS[other][1](FAULTS[one][1](on_board(7)))
        found = scene.bad(tmp_path / f"{one}, {other}")
        assert found == {FAULTS[one][0], FAULTS[other][0]}, (one, other)
        tried += 1
    assert tried > 170


def test_who_is_not_root_is_told_what_needs_root(tmp_path: Path) -> None:
    for name in ("max_payload", "relaxed_ordering", "extended_tags", "acs"):
        fault = next(plant for check, plant in FAULTS.values() if check == name)
        scene = replace(fault(on_board(1)), as_root=False)
        told = scene.results(tmp_path / name)[name]
        assert (told.state, told.found) == ("unknown", "only root can read it")
        assert told.command == "sudo $(which isthmus) doctor cuda:a"


def test_a_gpu_that_saves_power_is_no_finding_until_it_works(tmp_path: Path) -> None:
    scene = FAULTS["gen 4 trained as gen 1"][1](on_board(2))
    gpu = replace(scene.card, port=replace(scene.card.port, class_code="030200"), bars=(64 << 30,))
    idle = replace(scene, card=gpu, after=None)
    told = idle.results(tmp_path / "idle")["link_speed"]
    assert told.state == "unknown"
    assert "idle" in told.found
    awake = replace(gpu, port=replace(gpu.port, speed=16.0))
    told = replace(idle, after=awake).results(tmp_path / "awake")["link_speed"]
    assert told.state == "good"


def test_a_port_above_that_is_slow_is_found_where_the_gpu_is_idle(tmp_path: Path) -> None:
    scene = FAULTS["switch behind gen 3 x4"][1](on_board(2))
    above = [replace(port, class_code="060400") for port in scene.card.above]
    gpu = replace(scene.card, port=replace(scene.card.port, class_code="030200", speed=2.5))
    told = replace(scene, card=replace(gpu, above=above)).results(tmp_path)["upstream"]
    assert told.state == "bad"
    assert "can 16 GT/s x4" in told.found, "its trained speed of now tells nothing"


def test_a_link_above_is_held_against_what_the_slot_has_trained_to(tmp_path: Path) -> None:
    scene = FAULTS["gen 4 trained as gen 1"][1](on_board(2))
    above = [scene.card.above[0], *(replace(port, speed=8.0) for port in scene.card.above[1:])]
    card = replace(scene.card, above=above)
    assert replace(scene, card=card, after=card).bad(tmp_path) == {"link_speed"}


def test_errors_say_which_port_counted_and_whether_the_link_is_at_fault(tmp_path: Path) -> None:
    scene = on_board(3)
    up = replace(scene.card.above[1], correctable={"RxErr": 40})
    after = replace(scene.card, above=[scene.card.above[0], up, scene.card.above[2]])
    told = replace(scene, after=after).results(tmp_path / "link")["errors"]
    assert told.state == "bad"
    assert "cable" in told.cause
    assert "/0000:01:01.0/" in told.command
    told = FAULTS["requests fail"][1](scene).results(tmp_path / "requests")["errors"]
    assert "cable" not in told.cause + told.cure
    assert "CmpltTO +3" in told.found


def test_a_switch_whose_acs_is_not_read_is_unknown(tmp_path: Path) -> None:
    facts = FAULTS["ACS redirect in a switch"][1](on_board(1)).facts(tmp_path)
    path = [replace_fields(port, acs=None) for port in facts.function.path]
    assert facts.device
    record = replace_fields(facts.device, pci=replace_fields(facts.function, path=path))
    told = {one.check: one.state for one in checks.of_device(replace(facts, device=record))}
    assert told["acs"] == "unknown"


def test_deep_idle_states_are_named_with_their_cost(tmp_path: Path) -> None:
    scene = on_board(1)
    machine = replace(scene.machine, idle_disabled=())
    told = replace(scene, machine=machine).results(tmp_path)["idle_states"]
    assert (told.state, told.found[:23]) == ("unknown", "C6 takes 133 us to leav")


def test_a_card_in_a_hidden_slot_is_not_said_to_have_one(tmp_path: Path) -> None:
    scene = FAULTS["x8 of x16"][1](on_board(1))
    guest = replace(scene, machine=replace(scene.machine, virtual=True))
    told = guest.results(tmp_path)["link_width"]
    assert (told.state, told.found) == ("unknown", "x8; the card has x16; its slot is hidden")


def test_properties_of_a_gpu_are_from_before_its_run(tmp_path: Path) -> None:
    facts = on_board(1).facts(tmp_path)
    assert facts.device
    properties = {"slowed_by": "thermal slowdown", "pcie_replays": "0", "pci_address": "; reboot"}
    record = replace_fields(facts.device, properties=properties)
    own = backends.registry()["cuda"].checks
    for recorded, states in ((False, {"bad", "good"}), (True, {"unknown"})):
        results = checks.of_device(replace(facts, device=record, recorded=recorded), own)
        of_gpu = [one for one in results if one.check in {"throttling", "pcie_replays"}]
        assert {one.state for one in of_gpu} == states
        assert all("-i 0000:03:00.0" in one.command for one in of_gpu)


@pytest.mark.parametrize(
    "host",
    [
        {"memory_bytes": None}, {"logical_cpus": 0, "virtualised": True, "busy_after_s": None},
        {"idle_exit_us": {"C1": "a", "C2": 3}}, {"numa_nodes": {"node0": "x", "node1": "1"}},
        {"numa_nodes": {"node0": "0-99999999999", "node1": "1"}}, {"governors": [[]]},
    ],
)  # fmt: skip
def test_facts_that_no_machine_has_are_unknown(host: dict[str, object], tmp_path: Path) -> None:
    facts = on_board(1).facts(tmp_path)
    odd = replace(facts, host={**facts.host, **host})
    told = [
        one for one in (*checks.of_machine(odd), *checks.of_device(odd)) if "judged" in one.found
    ]
    assert told
    for one in told:
        assert one.state == "unknown"
        assert one.found.startswith(f"{one.check} cannot be judged (")


def _changed(run: Run, path: Path, /, **function: object) -> Path:
    """A run file whose first device has other facts of its function."""
    data = json.loads(run_file.encode(run))
    data["devices"][0]["pci"].update(function)
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "function",
    [
        {"dma_bits": 10**12}, {"dma_bits": -1}, {"path": []}, {"iommu_group": "7; reboot"},
        {"path": [{"address": "00:00.0; reboot #"}]}, {"path": [{"address": "0000:03:00.0\n"}]},
    ],
)  # fmt: skip
def test_a_run_file_with_what_no_function_has_is_refused(
    function: dict[str, object], tmp_path: Path
) -> None:
    run = _run(on_board(1), FAST, tmp_path)
    assert run_file.load(_changed(run, tmp_path / "same.json"))
    with pytest.raises(UsageError, match="not a valid"):
        run_file.load(_changed(run, tmp_path / "odd.json", **function))


def test_a_link_of_a_run_has_a_valid_address_or_none() -> None:
    link = {"address": "0000:03:00.0", "current_link_speed": "16.0.1 GT/s", "iommu_group": "7"}
    function = pci.of_attributes(link)
    assert function
    assert function.device.speed is None
    assert pci.of_attributes({**link, "address": "0000:03:00.0; reboot"}) is None
    assert pci.of_attributes({**link, "iommu_group": "7; reboot"}) is None
    ports = [pci.Port(address=f"0000:0{i}:00.0", kind="root port") for i in range(2)]
    record = DeviceRecord(address="a", backend="a", real=True, pci=pci.Function(path=ports))
    told = {one.check: one.found for one in checks.of_device(Facts({}, record))}
    assert told["upstream"] == "the system does not show it"


def test_control_characters_of_a_run_stay_off_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    scene = on_board(1)
    machine = replace(scene.machine, governor="power\x1b[2Jsave")
    run = _run(replace(scene, machine=machine), FAST, tmp_path)
    (device,) = run.devices
    name = "a\x1b]0;owned\x07"
    points = [replace_fields(point, device=name) for point in run.points]
    hostile = replace_fields(run, devices=[replace_fields(device, address=name)], points=points)
    run_file.save(hostile, tmp_path / "run.json")
    doctor(run=tmp_path / "run.json", everything=True)
    told = capsys.readouterr().out
    assert "owned" in told
    assert not set(told) & {"\x1b", "\x07"}


def test_good_checks_are_counted_and_rows_stay_narrow(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run_file.save(_run(FAULTS["MPS 128"][1](on_board(1)), FAST, tmp_path), tmp_path / "run.json")
    doctor(run=tmp_path / "run.json")
    folded = capsys.readouterr().out
    assert re.search(r"^cuda:a +\d+ checks +good$", folded, re.MULTILINE)
    assert "link_speed" not in folded
    doctor(run=tmp_path / "run.json", everything=True)
    assert re.search(r"^cuda:a +link_speed +good +16 GT/s", capsys.readouterr().out, re.MULTILINE)


def test_a_limit_of_locked_memory_says_what_it_may_cost(tmp_path: Path) -> None:
    scene = _machine(on_board(3), locked_memory=str(8 << 20))
    told = scene.results(tmp_path)["locked_memory"]
    assert told.state == "unknown"
    assert told.found == "8Mi may be locked: larger pinned buffers may be refused"
    assert "memlock" in told.cure


@pytest.mark.parametrize(
    ("capabilities", "state"), [("000001ffffffffff", "good"), ("00000000a80425fb", "unknown")]
)
def test_no_limit_of_locked_memory_applies_with_the_capability(
    capabilities: str, state: str, tmp_path: Path
) -> None:
    """The second are those that Docker gives: bit 14 is not among them."""
    for name, line in (
        ("limits", f"Max locked memory         {8 << 20}   {8 << 20}   bytes"),
        ("status", f"CapEff:\t{capabilities}"),
    ):
        (tmp_path / "proc/self").mkdir(parents=True, exist_ok=True)
        (tmp_path / "proc/self" / name).write_text(f"{line}\n")
    told = checks.of_machine(Facts(environment.host(tmp_path)))
    assert {one.check: one.state for one in told}["locked_memory"] == state


@pytest.mark.parametrize(
    ("ticks", "state", "found"),
    [
        (
            "100 0 100 99000 800 0 0 20",
            "unknown",
            "others took 9 % of busy time since start, unknown now",
        ),
        ("900 0 100 99000 0 0 0 20", "good", "2.0 % of busy time since start"),
    ],
)
def test_steal_is_a_share_of_busy_time(ticks: str, state: str, found: str, tmp_path: Path) -> None:
    """Of all time, idle time included, it is 0.02 % in both."""
    scene = _machine(replace(on_board(1), after=None), virtual=True)
    root = tmp_path / "before"
    scene.facts(tmp_path)
    (root / "proc/stat").write_text(f"cpu  {ticks} 0 0\n")
    told = {one.check: one for one in checks.of_machine(Facts(environment.host(root)))}["steal"]
    assert (told.state, told.found.partition(";")[0]) == (state, found)
    assert told.command.startswith("head -1 /proc/stat"), "where the ticks are"


def test_steal_of_a_run_of_an_older_version_is_of_all_time(tmp_path: Path) -> None:
    facts = FAULTS["another tenant"][1](on_board(1)).facts(tmp_path)
    old = {name: value for name, value in facts.host.items() if "busy" not in name}
    results = checks.of_machine(replace(facts, host=old, recorded=True))
    told = next(one for one in results if one.check == "steal")
    assert (told.state, told.found) == (
        "warning", "others took 10 % of processor time during the run"
    )  # fmt: skip


@pytest.mark.parametrize(("load", "state"), [("0.30 0.1 0.1 1/99 7", "good"), ("", None),
                                             ("9.00 3.00 1.00 9/99 7", "unknown")])  # fmt: skip
def test_other_programs_are_told(load: str, state: str | None, tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/loadavg").write_text(load)
    host = {**environment.host(tmp_path), "usable_cpus": [0, 1, 2, 3]}
    told = {one.check: one for one in checks.of_machine(Facts(host))}.get("load")
    assert (told and told.state) == state
    if told:
        assert told.found.startswith(f"load {load[:3]} on 4 processors")


def test_windows_of_a_function_whose_memory_is_not_known_are_good(tmp_path: Path) -> None:
    """``pci:`` devices, virtio's for example, are said to have memory without limit."""
    facts = _card(on_board(1), bars=(512 << 10,)).facts(tmp_path)
    assert facts.device
    record = replace_fields(facts.device, memory_bytes=1 << 50)
    told = {one.check: one for one in checks.of_device(replace(facts, device=record))}["bar_size"]
    assert (told.state, told.found) == ("good", "512Ki, as large as the device offers")


def test_counted_errors_alone_say_no_rate(tmp_path: Path) -> None:
    scene = replace(on_board(3), after=None)
    told = scene.results(tmp_path)["errors"]
    assert told.state == "unknown"
    assert "BadTLP 2" in told.found or "BadTLP 8" in told.found


def test_an_h100_in_a_virtual_machine(tmp_path: Path) -> None:
    """Held against nvidia-smi and a dump of configuration space by hand."""
    root = unpack(Path(__file__).parent / "captured/h100.txt", tmp_path)
    function = pci.read("0000:00:06.0", root)
    assert function is not None
    record = DeviceRecord(
        address="cuda:0", backend="cuda", real=True, memory_bytes=81559 << 20, pci=function
    )
    host = {**environment.host(root), "usable_cpus": list(range(16))}
    facts = Facts(host, record, cpus=range(16))
    told = {one.check: (one.state, one.found) for one in checks.of_device(facts)}
    hidden = ("unknown", "the virtual machine hides it")
    assert told == {
        "link_speed": ("good", "32 GT/s"),  # nvidia-smi: generation 5 of 5
        "link_width": ("good", "x16"),  # nvidia-smi: 16x of 16x
        "upstream": hidden,  # nvidia-smi: Host Max N/A
        "max_payload": ("good", "256 B, the most that the way allows"),  # DevCap 1, DevCtl 0x513e
        "max_read_request": ("good", "4096 B"),  # DevCtl 0x513e
        "numa_node": ("good", "one node has all processors"),  # lscpu: 1
        "iommu": hidden,
        "bounce_buffer": ("good", "52-bit addresses reach all memory"),
        # AER's status is 0x41, all masked; nvidia-smi: no replay since reset
        "errors": ("unknown", "BadTLP, RxErr at least once since reset; not counted"),
        "extended_tags": ("good", "on"),
        "relaxed_ordering": ("good", "on"),
        "acs": hidden,
        "bar_size": ("good", "128Gi address all of its memory"),  # nvidia-smi: BAR1 131072 MiB
        "power_state": ("good", "D0"),
    }
    told = {one.check: (one.state, one.found) for one in checks.of_machine(Facts(host))}
    assert told == {
        "governor": hidden,
        "idle_states": hidden,
        # 5588 ticks of 88164 that are not idle; of all ticks 0.6 %
        "steal": (
            "unknown",
            "others took 6 % of busy time since start, unknown now",
        ),
        "virtual_machine": told["virtual_machine"],
        "locked_memory": hidden,
    }


@pytest.mark.parametrize("seed", range(20))
def test_words_fit_and_commands_can_be_pasted(seed: int, tmp_path: Path) -> None:
    faults = list(FAULTS.values())
    scenes = [healthy(seed), faults[seed % len(faults)][1](on_board(seed))]
    for i, scene in enumerate(scenes):
        for result in scene.results(tmp_path / str(i)).values():
            assert len(f"$ {result.command}") <= COLUMN, "a command is never broken"
            assert not re.search(r"[.;]$", result.found)
            assert len(result.found) <= 2 * COLUMN


def test_checks_say_what_they_ask_and_are_ranked() -> None:
    known = list(checks.registry().values())
    assert len(known) >= 17
    assert all(check.question.endswith("?") for check in known)
    assert len({check.place for check in known}) == len(known)
    page = (Path(__file__).parents[1] / "docs/doctor.md").read_text(encoding="utf-8")
    of_backends = [check for backend in backends.registry().values() for check in backend.checks]
    for check in (*known, *of_backends):
        assert re.search(rf"`{check.name}`.* \| {re.escape(check.question)} \|", page)


def _run(scene: Scene, rate: float, folder: Path) -> Run:
    """A run that copies to the card at this rate."""
    facts = scene.facts(folder)
    assert facts.device
    measured = transfer_run(
        {"cuda:a": {"write": Law(5e-6, rate), "read": Law(5e-6, rate)}}, [4096, 1 << 26],
        devices=[facts.device], environment=dict(facts.host),
        finished="2025-01-01T00:00:10Z",
    )  # fmt: skip
    settings = replace_fields(measured.settings, cpus=list(scene.cpus), numa_node=scene.memory_node)
    return replace_fields(measured, settings=settings)


FAST, SLOW = 28e9, 8e9
"""Bytes a second; a link of 16 GT/s x16 leaves 28.8e9."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_below_its_link_says_why(fault: str, tmp_path: Path) -> None:
    check = checks.registry()[FAULTS[fault][0]]
    found = findings(_run(FAULTS[fault][1](on_board(4)), SLOW / 4, tmp_path))
    told = [one for one in found if "isthmus doctor" in one.sentence]
    assert len(told) == bool(check.fault)
    assert len([one for one in found if one.headline]) <= MOST_HEADLINES
    for one in told:
        assert one is found[0]
        assert one.headline
        assert (
            one.sentence == f"Below what this link gives: {check.fault} (cuda:a; isthmus doctor)."
        )
        assert str(one.action) == "isthmus doctor cuda:a"


def test_a_run_at_its_limit_names_only_what_lowers_the_limit(tmp_path: Path) -> None:
    full = _run(on_board(5), FAST, tmp_path / "a")
    assert not any("doctor" in one.sentence for one in findings(full))
    ordered = FAULTS["relaxed ordering off"][1](on_board(5))
    assert not any("doctor" in o.sentence for o in findings(_run(ordered, FAST, tmp_path / "b")))
    narrow = _run(FAULTS["x8 of x16"][1](on_board(5)), FAST / 2, tmp_path / "c")
    assert findings(narrow)[0].sentence == (
        "This link gives less than it could: fewer lanes than the card has "
        "(cuda:a; isthmus doctor)."
    )
    assert findings(narrow)[1].verdict == "good", "of the link as it is"


def test_what_is_normal_for_a_lesser_link_is_said_with_that_link(tmp_path: Path) -> None:
    """In a virtual machine nothing tells whether the slot has more lanes."""
    scene = FAULTS["x8 of x16"][1](on_board(5))
    guest = replace(scene, machine=replace(scene.machine, virtual=True))
    (told,) = (
        one.sentence for one in findings(_run(guest, FAST / 2, tmp_path))
        if one.sentence.startswith("Normal")
    )  # fmt: skip
    assert "cuda:a; x8 of x16)" in told


def test_the_command_judges_a_run(isthmus: Command, tmp_path: Path) -> None:
    bad = _run(FAULTS["MPS 128"][1](FAULTS["powersave"][1](on_board(6))), SLOW, tmp_path / "bad")
    run_file.save(bad, tmp_path / "bad.json")
    judged = isthmus("doctor", "--run", "bad.json")
    assert judged.returncode == 3
    first, *table = judged.stdout.splitlines()
    assert first == "2 findings: machine governor, cuda:a max_payload."
    (row,) = (line for line in table if "max_payload" in line and "bad" in line)
    assert "128 B; all ports on the way can 256 B" in row
    assert "kernel option pci=pcie_bus_perf" in row
    assert "sudo lspci -vvs 0000:03:00.0 | grep MaxPayload" in row
    shown = isthmus("show", "bad.json").stdout
    assert "Below what this link gives: small packets" in " ".join(shown.split())
    assert len(shown.splitlines()) <= 25
    data = json.loads(isthmus("doctor", "--run", "bad.json", "--json").stdout)
    states = {
        (subject["name"], one["check"]): one["state"]
        for subject in data["subjects"]
        for one in subject["results"]
    }
    assert {key for key, state in states.items() if state == "bad"} == {
        ("machine", "governor"), ("cuda:a", "max_payload"),
    }  # fmt: skip
    assert {check for _, check in states} >= checks.registry().keys() - {"steal", "bounce_buffer"}


def test_the_command_judges_this_machine(isthmus: Command) -> None:
    told = isthmus("doctor", "host", "card:u250", "--json")
    subjects = {one["name"]: one["results"] for one in json.loads(told.stdout)["subjects"]}
    assert set(subjects) == {"machine", "host, card:u250"}
    assert not subjects["host, card:u250"], "neither has a link"
    bad = any(one["state"] == "bad" for results in subjects.values() for one in results)
    assert told.returncode == (3 if bad else 0)
    assert "host, card:u250" in isthmus("doctor", "host", "card:u250").stdout


def test_a_device_that_is_not_here_ends_with_4_and_is_named_first(isthmus: Command) -> None:
    told = isthmus("doctor", "pci:0000:ff:1f.7")
    assert told.returncode == 4, "also where the machine itself has a finding"
    assert "no device 'pci:0000:ff:1f.7'" in told.stderr
    first = re.compile(r"pci:0000:ff:1f\.7 is not here\. (No|\d+) finding")
    assert first.match(told.stdout), "the machine is judged"
    assert isthmus("doctor", "pci:00:99.9", "--json").returncode == 4
    assert isthmus("run", "mmio", "--device", "pci:0000:ff:1f.7").returncode == 2
    assert isthmus("doctor", "nonsense:0").returncode == 2
    assert isthmus("doctor", "host", "--run", "a.json").returncode == 2
    for address, why in (
        ("card:none", "unknown board 'none'"), ("card", "name a board"), ("null:x", "no duration"),
        ("card:u250,link.lanes=99", "link.lanes=99"), ("host,a=1", "unknown option 'a'"),
    ):  # fmt: skip
        unknown = isthmus("doctor", address)
        assert (unknown.returncode, unknown.stdout) == (2, "")
        assert why in unknown.stderr
    none = isthmus("doctor", "cuda:0", env={"ISTHMUS_CUDA_DRIVER": "/nowhere/libcuda.so.1"})
    assert none.returncode == 4
    assert "cuda:0" in none.stderr
    assert none.stdout.startswith("cuda:0 is not here. ")


def test_a_fault_beside_a_slower_host_is_told_with_the_warning(
    isthmus: Command, tmp_path: Path
) -> None:
    """The exit code is that of the fault alone."""
    slow = with_host(12, 1.08, 4)
    power = {"governor": "powersave", "frequency_driver": "acpi-cpufreq"}
    both = replace_fields(slow, environment={**slow.environment, **power})
    for name, one, code, first in (
        ("slow", slow, 0, "No finding"), ("both", both, 3, "1 finding: machine governor"),
    ):  # fmt: skip
        run_file.save(one, tmp_path / f"{name}.json")
        told = isthmus("doctor", "--run", f"{name}.json")
        assert told.returncode == code, told.stdout
        assert told.stdout.startswith(f"{first}; 1 warning: machine host_speed")
