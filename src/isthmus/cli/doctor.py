"""``isthmus doctor``: finds what slows a machine and its devices down, without measuring."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.errors import GATE_FAILED
from isthmus.output import Styled, put, warn

if TYPE_CHECKING:
    from rich.table import Table

    from isthmus.analysis.host_state import Variation
    from isthmus.checks import Facts, Result

    Judged = list[tuple[str, list[Result]]]
    """Results of the machine and of each device, by shown name."""

_NO_DEVICE = 4
_MACHINE = "machine"
_UNCUT = 1 << 16
_CHECK = 18
_NO_LINK = "no PCIe link to check"


def doctor(
    device: Annotated[
        list[str] | None, typer.Argument(help="as isthmus run --device has it; else all real ones")
    ] = None,
    run: Annotated[Path | None, typer.Option(help="judge what this run file recorded")] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="a row for each result, good and unknown ones one by one"),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
) -> int:
    """Prints a table of findings; ends with 4 where a device is missing, 3 for a bad result, or 0.

    A warning (the host was slower in a part of a run) leaves the exit code as it is.

    Reads what the system shows to the user who asks; writes to no device. It does not wait for
    another Isthmus that measures.
    """
    from isthmus.errors import UsageError, analysing

    if as_json and everything:
        raise UsageError("--all has no effect with --json, which has each result")
    if run is not None and device:
        raise UsageError("give devices or --run RUN.json: a run names its own devices")
    varied = None
    missing: dict[str, str] = {}
    if run:
        with analysing(run):
            judged, varied = _of_run(run)
    else:
        judged, missing = _of_machine(device or [])
    if as_json:
        _print_json(judged, missing, varied)
    else:
        _print_table(judged, list(missing), everything=everything)
    for why in missing.values():
        warn(why)
    bad = any(result.state == "bad" for _, results in judged for result in results)
    # The exit code names a missing device first, for a script that asks only if a device is here.
    return _NO_DEVICE if missing else GATE_FAILED if bad else 0


def _of_machine(addresses: Sequence[str]) -> tuple[Judged, dict[str, str]]:
    """Results of this machine and its devices, and why named devices are missing, by address."""
    from isthmus.checks import Facts
    from isthmus.errors import NoDeviceError, NoSuchDeviceError
    from isthmus.measure import discovery
    from isthmus.measure.devices import open_device, record_of
    from isthmus.system import environment, lock

    missing: dict[str, str] = {}
    with lock.if_free(_beside), discovery.SharedWorker() as shared:
        devices = [] if addresses else discovery.real_devices()
        devices = [device for device in devices if not device.backend.only_first_device]
        for address in dict.fromkeys(addresses):
            try:
                resolved = discovery.resolve(address, shared=shared)
                # Only an open device shows if its options are right: ``card:none`` is no board.
                devices.append(open_device(resolved, shared) if resolved.options else resolved)
            except (NoDeviceError, NoSuchDeviceError) as error:
                missing[address] = str(error)
    host = environment.host()
    records = [record_of(device) for device in devices]
    return _judged(
        [Facts(host, record, cpus=host["usable_cpus"]) for record in records], Facts(host)
    ), missing


def _beside(who: str) -> None:
    warn(f"another Isthmus measures here (process {who}); its figures may be disturbed")


def _of_run(path: Path) -> tuple[Judged, Variation | None]:
    """Results of a run's machine and devices, and the part of the run with a slower host."""
    from isthmus.analysis.host_state import variation
    from isthmus.checks import Facts
    from isthmus.results import run_file

    run = run_file.load(path)
    records = [record for record in run.devices if not record.error]
    (machine, of_machine), *rest = _judged(
        [Facts.of_run(run, record) for record in records], Facts.of_run(run)
    )
    varied = variation(run)
    of_host = [_host_speed(varied)] if varied else []
    return [(machine, [*of_machine, *of_host]), *rest], varied


def _host_speed(varied: Variation) -> Result:
    """Makes a result of what ``isthmus show`` says of the host's own speed."""
    from isthmus.analysis.wording import host_varied
    from isthmus.checks import Result
    from isthmus.thresholds import STEAL_SEEN

    stolen = varied.steal >= STEAL_SEEN
    return Result(
        check="host_speed",
        state="warning",  # processors are shared and change their clocks on healthy machines
        found=host_varied(varied),
        cause="other virtual machines on the same processors"
        if stolen
        else "other work on the processors, or a lower clock",
        cure="measure when other work rests; isthmus compare takes the host's change off",
        command="vmstat 1 5",
        changed=True,
    )


def _judged(devices: Sequence[Facts], machine: Facts) -> Judged:
    """Results of the machine, then of each device.

    A PCIe function with two names is listed once; devices without results are listed together.
    """
    from isthmus import backends, checks

    of_devices: dict[str, tuple[list[str], list[Result]]] = {}
    for facts in devices:
        assert facts.device
        results = checks.of_device(facts, backends.of(facts.device.backend).checks)
        key = facts.port.address if facts.crosses else facts.device.address if results else ""
        names, known = of_devices.setdefault(key, ([], []))
        names.append(facts.device.address)
        known += [result for result in results if result not in known]
    rest = [(", ".join(names), results) for names, results in of_devices.values()]
    return [(_MACHINE, checks.of_machine(machine)), *rest]


def _print_json(judged: Judged, missing: Mapping[str, str], varied: Variation | None) -> None:
    """Prints results as JSON; ``host`` has the form that ``isthmus show`` gives it."""
    from isthmus.written import json_text

    data = {
        **({"host": varied} if varied else {}),
        "subjects": [{"name": name, "results": results} for name, results in judged],
        "missing": list(missing.values()),
    }
    put(json_text(data), end="")


def _print_table(judged: Judged, missing: Sequence[str], *, everything: bool) -> None:
    """Prints a table for each device on a terminal, or one table of any width to a pipe."""
    from rich.console import Console

    from isthmus.units import printable

    on_screen = sys.stdout.isatty()
    console = Console(width=None if on_screen else _UNCUT, highlight=False)
    with console.capture() as captured:
        if not on_screen:
            console.print(_in_pipe(judged, everything=everything))
        for name, results in judged if on_screen else ():
            head = printable(name if results else f"{name}: {_NO_LINK}")
            console.print(head, style="bold", markup=False)
            console.print(_on_screen(results, everything=everything))
    put(_sentence(judged, missing))
    drawn = "\n".join(filter(None, map(str.rstrip, captured.get().splitlines())))
    put(Styled(drawn))


def _sentence(judged: Judged, missing: Sequence[str]) -> str:
    """The answer in one line; devices that were named but are missing come first."""
    from isthmus.text import counted

    if missing:
        are = "is" if len(missing) == 1 else "are"
        return f"{', '.join(missing)} {are} not here. {_sentence(judged, ())}"
    named: dict[str, list[str]] = {}
    for name, results in judged:
        for result in results:
            without_cause = result.lesser and result.state == "unknown"
            kind = "lesser" if without_cause else result.state
            named.setdefault(kind, []).append(f"{name} {result.check}")
    bad, warnings = named.get("bad", []), named.get("warning", [])
    findings = f"{counted(len(bad), 'finding', 'findings')}: {', '.join(bad)}"
    parts = [findings if bad else "No finding"]
    if warnings:
        parts.append(f"{counted(len(warnings), 'warning', 'warnings')}: {', '.join(warnings)}")
    if lesser := named.get("lesser", []):
        links = counted(len(lesser), "link", "links")
        parts.append(f"{links} less than the card's, cause unknown: {', '.join(lesser)}")
    if "unknown" in named and not bad:
        parts.append(f"{len(named['unknown'])} checks cannot be decided")
    return f"{'; '.join(parts)}."


def _on_screen(results: Sequence[Result], *, everything: bool) -> Table:
    """A table of findings, with cause, cure and command below each finding."""
    from rich.table import Table
    from rich.text import Text

    from isthmus.units import printable

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=_CHECK)
    table.add_column(no_wrap=True, min_width=len("unknown"))
    table.add_column(overflow="fold")
    colours = {"good": "green", "warning": "yellow", "bad": "bold red", "unknown": "yellow"}
    for check, state, parts in _rows(results, everything=everything):
        labelled = zip(("", "cause: ", "cure: ", "$ "), parts, strict=True)
        said = "\n".join(f"{label}{printable(part)}" for label, part in labelled if part)
        table.add_row(Text(f"  {printable(check)}"), Text(state, colours[state]), Text(said))
    return table


def _in_pipe(judged: Judged, *, everything: bool) -> Table:
    from rich.table import Table
    from rich.text import Text

    from isthmus.units import printable

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in ("device", "check", "state", "found", "cause", "cure", "command"):
        table.add_column(head, no_wrap=True)
    for name, results in judged:
        if not results:
            table.add_row(Text(printable(name)), "", "", _NO_LINK)
        for check, state, parts in _rows(results, everything=everything):
            table.add_row(*(Text(printable(part)) for part in (name, check, state, *parts)))
    return table


def _rows(
    results: Sequence[Result], *, everything: bool
) -> Iterator[tuple[str, str, tuple[str, str, str, str]]]:
    """Yields check, state, and the finding with cause, cure and command; bad results come first.

    Without ``everything``, checks that are unknown for one reason share a row, as good checks do.
    """
    order = {"bad": 0, "warning": 1, "unknown": 2, "good": 3}
    rows: dict[tuple[str, str], list[Result]] = {}
    for result in sorted(results, key=lambda result: order[result.state]):
        same = "" if result.state == "good" else result.found
        alone = everything or result.state in {"bad", "warning"}
        key = result.check if alone else same
        rows.setdefault((result.state, key), []).append(result)
    for (state, _), alike in rows.items():
        first, names = alike[0], " ".join(result.check for result in alike)
        if len(alike) == 1:
            yield names, state, (first.found, first.cause, first.cure, first.command)
        elif state == "good":
            yield f"{len(alike)} checks", state, ("", "", "", "")
        else:
            yield f"{len(alike)} checks", state, (f"{first.found}: {names}", "", "", first.command)
