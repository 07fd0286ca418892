"""Makes commands that continue or repeat a run, from its run file, which may be a stranger's.

A name or value is taken only where this Isthmus knows it: a study, an axis with values that it
takes, an option of a backend, an address of a backend's device. No permission is taken.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from isthmus import backends, studies
from isthmus.address import Address
from isthmus.errors import UsageError
from isthmus.program import Invocation, invocation, option_words, shorter
from isthmus.results.run_file import Run
from isthmus.run_options import RunOption, flag
from isthmus.studies import Study

MOST_RANKS = 4096
"""Most ranks that a command starts: more than any run of Isthmus has had."""
_LEAST_BUDGET_S = 60
"""Least budget in seconds of a command that resumes a run: a quick run's budget. A choice."""
_OF_ONE_COMMAND = ("--resume", "--no-wait", "--verbose", "--per-node")
"""Switches that do not change what is measured."""
_LAUNCHER = ("mpirun", "-n")
_NO_AXES: Mapping[str, str] = MappingProxyType({})
_AS_IT_WAS: Mapping[str, str] = MappingProxyType({})


def is_address(text: str) -> bool:
    """Whether this Isthmus knows an address's backend, and the address gives no permission."""
    try:
        parsed = Address.parse(text)
        backend = backends.by_scheme(parsed.scheme)
    except UsageError:
        return False
    permissions = {option.name for option in backend.run_options if option.permission}
    return text.isprintable() and not permissions & parsed.options.keys()


def ranks_of(run: Run) -> Sequence[Mapping[str, Any]]:
    """The ranks that measured together; empty for one process or an invalid list of ranks."""
    ranks = run.environment.get("ranks")
    if isinstance(ranks, list) and all(isinstance(rank, dict) for rank in ranks):
        return ranks
    return ()


def launched_by(ranks: int) -> tuple[str, ...]:
    """Words that launch a command in ``ranks`` ranks; none for 0 or more than ``MOST_RANKS``."""
    return (*_LAUNCHER, str(ranks)) if 0 < ranks <= MOST_RANKS else ()


def resumed(
    chosen: Sequence[str], file: Path, ranks: int = 0, budget_s: float | None = None
) -> Invocation | None:
    """The command that resumes the run in a file, of these studies; None if a study is unknown.

    ``budget_s``: seconds that the remaining points need.
    """
    if not chosen or not set(chosen) <= studies.registry().keys():
        return None
    study = chosen[0] if len(chosen) == 1 else "all"
    words = ["run", study, "--resume", *option_words("--out", shorter(file))]
    if budget_s is not None:
        words += ["--budget", str(max(_LEAST_BUDGET_S, round(budget_s)))]
    return invocation(*words, before=launched_by(ranks))


def study_command(
    study: str, devices: Iterable[str], axes: Mapping[str, str] = _NO_AXES
) -> Invocation | None:
    """The command that measures devices with a study; None where a name or value is unknown."""
    words = _measuring(study, list(devices), axes)
    return invocation(*words) if words else None


def again(
    run: Run,
    study: str,
    devices: Iterable[str],
    axes: Mapping[str, str] = _NO_AXES,
    *,
    longer: bool = False,
) -> Invocation | Literal[""]:
    """The command that measures a run's devices again, with the settings that its user chose.

    Axes, options and binding are the run's; ``axes`` replace some of the axes. ``longer``: in four
    times the run's time. Empty where a name or value is unknown here, and for an imported run.
    """
    declared = studies.registry().get(study)
    if declared is None or run.origin:
        return ""
    own = declared.names if study in run.studies else ()
    axes_of_run = {name: value for name, value in run.settings.axes.items() if name in own}
    ranks = ranks_of(run)
    addresses = _once([str(rank.get("device")) for rank in ranks] or list(dict.fromkeys(devices)))
    words = _measuring(study, addresses, {**axes_of_run, **axes})
    options = _options(run, addresses)
    if not words or options is None:
        return ""
    budget_s = max(60, 60 * round(4 * run.settings.budget_s / 60))
    words += [*options, *_binding(run), *(option_words("--budget", budget_s) if longer else ())]
    return invocation(*words, before=launched_by(len(ranks)))


def points_of(operations: Iterable[str]) -> Invocation | None:
    """The command that shows points of these operations; None where no study has one of them."""
    every = {name for study in studies.registry().values() for name in study.operations}
    names = list(operations)
    listed = ["show", "RUN.json", "--points", "--operation", ",".join(names)]
    return invocation(*listed) if set(names) <= every else None


def recorded(run: Run) -> Invocation | None:
    """The command line recorded in a run, without permissions; None if it is not ``isthmus``."""
    launcher, words = _recorded(run)
    if words[:1] != ["isthmus"]:
        return None
    permissions = _permissions()
    return invocation(*(word for word in words[1:] if word not in permissions), before=launcher)


def repeating(run: Run, changed: Mapping[str, str] = _AS_IT_WAS) -> list[str]:
    """Arguments of ``isthmus`` that repeat the measurements of a run, on the same devices.

    Permissions, the launcher of ranks and the output file are left out. ``changed``: options that
    replace those of the run, with their values. Raises UsageError if the run file names no measured
    device: every device of this machine would be measured instead.
    """
    _, command = _recorded(run)
    left_out = _permissions().union(_OF_ONE_COMMAND)
    if command[:2] == ["isthmus", "run"] and "--resume" not in command:
        kept = [word for word in _without(command[1:], ["--out"]) if word not in left_out]
    else:
        kept = list(_planned(run))
    kept = list(_without(kept, changed))
    kept += [word for option in changed.items() for word in option_words(*option)]
    if not any(word == "--device" or word.startswith("--device=") for word in kept):
        named = [device.address for device in run.devices if not device.added and not device.error]
        if not named:
            raise UsageError("the run measured no device, so that there is nothing to repeat")
        kept += [word for address in named for word in option_words("--device", address)]
    return kept


def _recorded(run: Run) -> tuple[tuple[str, ...], list[str]]:
    """Returns the launcher and the command of a run file's command line."""
    words = run.software.command
    if tuple(words[:2]) == _LAUNCHER and words[2:3] and words[2].isdecimal():
        return launched_by(int(words[2])), words[3:]
    return (), words


def _permissions() -> frozenset[str]:
    """Switches that allow actions which may do harm."""
    return frozenset(option.flag for option in backends.run_options().values() if option.permission)


def _without(words: Sequence[str], options: Collection[str]) -> Iterator[str]:
    """Yields the words of a command without these options and their values."""
    skipped = False
    for word in words:
        if not skipped and word.partition("=")[0] not in options:
            yield word
        skipped = not skipped and word in options


def _planned(run: Run) -> Iterator[str]:
    """Yields the words of a command with a run's plan: its studies, axes and settings."""
    settings, options = run.settings, backends.run_options()
    yield from ("run", run.studies[0] if len(run.studies) == 1 else "all")
    for name, values in settings.axes.items():
        yield from ("--axis", f"{name}={values}")
    for name, value in settings.options.items():
        if name in options and not options[name].permission:
            yield from option_words(flag(name), value)
    yield from ["--quick"] if settings.quick else []
    yield from ("--precision", f"{settings.precision:g}")
    if not run.left_out:  # a budget would add points that this run left out
        yield from ("--budget", f"{settings.budget_s:g}")
    yield from ("--reruns", str(settings.reruns)) if settings.reruns else ()
    yield from option_words("--seed", settings.seed)
    yield from _binding(run)


def _binding(run: Run) -> Iterator[str]:
    """Options that bind workers to processors as those of a run were bound."""
    settings = run.settings
    yield from ("--cpus", ",".join(map(str, settings.cpus))) if settings.cpus else ()
    if settings.numa_node is not None:
        yield from ("--numa-node", str(settings.numa_node))


def _once(addresses: Sequence[str]) -> Sequence[str]:
    """Addresses of ranks; if all are equal, only one of them."""
    return addresses[:1] if len(set(addresses)) == 1 else addresses


def _measuring(study: str, devices: Sequence[str], axes: Mapping[str, str]) -> list[str]:
    """Words that measure devices with a study; empty where a name or value is unknown."""
    declared = studies.registry().get(study)
    if declared is None or not all(map(is_address, devices)) or not _takes(declared, axes):
        return []
    of_devices = (word for address in devices for word in option_words("--device", address))
    of_axes = (word for name, value in axes.items() for word in option_words(flag(name), value))
    return ["run", study, *of_devices, *of_axes]


def _takes(study: Study, axes: Mapping[str, str]) -> bool:
    """Whether a study takes these values of its axes, and no value sets a backend's option."""
    options = backends.run_options()
    try:
        study.parse(axes)
    except UsageError:
        return False
    return all(
        value.isprintable() and not (name in options and _fits(options[name], value))
        for name, value in axes.items()
    )


def _fits(declared: RunOption, value: str) -> bool:
    """Whether a value has the form of an option's values."""
    return re.fullmatch(declared.form or ".*", value) is not None


def _options(run: Run, addresses: Collection[str]) -> list[str] | None:
    """Words for the run's options that any of these devices takes, without permissions.

    None if an option does not take the run's value.
    """
    records = [device for device in run.devices if device.address in addresses]
    taken = {
        option.name: option
        for record in records
        if (backend := backends.registry().get(record.backend))
        for option in backend.run_options_of(record)
        if not option.permission
    }
    values = {name: value for name, value in run.settings.options.items() if name in taken}
    if not all(value.isprintable() and _fits(taken[name], value) for name, value in values.items()):
        return None
    return [word for name, value in values.items() for word in option_words(flag(name), value)]
