"""Options of the command line that backends and studies declare."""

from __future__ import annotations

from types import MappingProxyType

import pytest

import synthetic
from conftest import Command
from isthmus import backends, studies
from isthmus.analysis import flags
from isthmus.analysis.context import RunContext
from isthmus.analysis.findings import common
from isthmus.cli.declared import separated
from isthmus.errors import UsageError
from isthmus.validation.closed_forms import closed_form


@pytest.mark.parametrize("command", ["run", "reproduce"])
def test_help_lists_every_option_that_a_backend_declares(isthmus: Command, command: str) -> None:
    shown = isthmus(command, "--help").stdout
    declared = [
        option for backend in backends.registry().values() for option in backend.run_options
    ]
    assert declared
    for option in declared:
        assert f"{option.flag} " in shown


def test_help_names_every_study(isthmus: Command) -> None:
    shown = " ".join(isthmus("run", "--help").stdout.split())
    assert f"{', '.join(study.name for study in studies.in_order())}, or all" in shown


def test_values_go_to_devices_or_to_the_axis_of_the_same_name_by_their_form() -> None:
    given = {"memory": ["0:0x100+64", "pinned"], "bytes": ["1:4Ki"], "allow_writes": True}
    of_devices, axes = separated({**given, "allow_loads": False, "registers": []})
    assert of_devices == {"memory": "0:0x100+64", "allow_writes": "yes"}
    assert axes == {"memory": "pinned", "bytes": "1:4Ki"}


@pytest.mark.parametrize("values", [["1", "2"], ["1", "1"]])
def test_an_option_that_is_given_twice_is_refused(values: list[str]) -> None:
    with pytest.raises(UsageError, match="--burst-bytes is given twice"):
        separated({"burst_bytes": values})


def test_a_permission_that_no_device_takes_is_refused(isthmus: Command) -> None:
    permissions = {name for name, option in backends.run_options().items() if option.permission}
    assert permissions == {"allow_program", "allow_loads", "allow_writes"}
    begun = isthmus("run", "transfer", "--device", "null", "--out", "run.json", "--allow-loads")
    assert begun.returncode == 2
    assert "--allow-loads: no device of this run takes it" in begun.stderr


def test_flags_have_one_meaning_wherever_they_are_declared() -> None:
    declared = [flag for backend in backends.registry().values() for flag in backend.flags]
    assert {"copy_engines", "fast_forward", "virtualised"} <= set(declared)
    assert len({*declared, *flags.OWN}) == len(declared) + len(flags.OWN)
    for flag in (*declared, *flags.OWN):
        assert flags.meaning(flag) != "no description"
    assert flags.meaning("nobody's") == "no description"


def test_another_package_has_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(type(backends.registry()["null"])):  # type: ignore[misc]
        name = "other"
        schemes = ("other",)
        flags = MappingProxyType({"tripled": "sent three times"})
        memory_calls = MappingProxyType({"alloc_host": "otherAlloc"})

    known = MappingProxyType({**backends.registry(), "other": Other()})
    monkeypatch.setattr(backends, "registry", lambda: known)
    assert flags.meaning("tripled") == "sent three times"
    points = [
        synthetic.point(device, "write", 4096, [[1e-6] * 25])
        for device in ("other:0", "opencl:pocl", "gone:0")
    ]
    measured = synthetic.run(points)
    context = RunContext.of(measured).of_study("transfer")
    assert common.call_for(context, "other:0", "alloc_host") == "otherAlloc"
    assert common.call_for(context, "other:0", "pageable") == "malloc"
    assert common.call_for(context, "opencl:pocl", "svm") == "clSVMAlloc"
    assert common.call_for(context, "gone:0", "svm") == "--memory svm"


@pytest.mark.parametrize("sizes", [0, 2])
def test_a_study_needs_exactly_one_axis_of_sizes(sizes: int) -> None:
    axes = [studies.base.Axis(f"axis{i}", "", list, unit_bytes=1) for i in range(sizes)]
    with pytest.raises(ValueError, match="study 'x': exactly one axis needs unit_bytes"):
        studies.base.Study("x", "", ["write"], axes, [])


def test_inputs_that_a_closed_form_lacks_are_named_with_those_it_has() -> None:
    with pytest.raises(UsageError, match=r"'lines in flight'.*its inputs: rate, latency"):
        closed_form("lines in flight", {"rate": 1e9, "delay": 1e-6})
