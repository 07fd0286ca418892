"""``isthmus repeat``: measures again as a run was measured, and says what changed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli.declared import DeclaringCommand
from isthmus.errors import IsthmusError, UsageError
from isthmus.run_options import RunOption, flag

_MOST_RANKS = 4096
_MOST_CODE = 4
"""Largest exit code of isthmus; a launcher may end with others."""

if TYPE_CHECKING:
    from isthmus.results.run_file import Run

_OF_ONE_COMMAND = ("--resume", "--no-wait", "--verbose", "--per-node")
"""Switches that say nothing about what is measured."""


class _PermittingCommand(DeclaringCommand):
    """A command with the permissions of all backends: they are not taken from a run file."""

    runs = ("run",)

    def declared(self) -> list[RunOption]:
        """Switches that allow harmful actions."""
        return [option for option in super().declared() if option.permission]


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(
        name="repeat", cls=_PermittingCommand,
        help="Measure again as a run was measured, and say what changed.",
    )(repeat)  # fmt: skip


def repeat(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="run file")],
    out: Annotated[Path | None, typer.Option(help="run file to write; never overwritten")] = None,
    relevant: Annotated[
        str | None, typer.Option(help="smallest difference that counts, e.g. 2%")
    ] = None,
    fail_above: Annotated[
        str | None, typer.Option(help="end with 3 where anything is slower by more, or missing")
    ] = None,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="refuse where another Isthmus measures")
    ] = False,
    launcher: Annotated[
        str, typer.Option(help="what starts the ranks of a run of several; -n N is added")
    ] = "mpirun",
) -> int:
    """Runs the command that a run file holds, or one that its plan gives; then compares."""
    import sys

    from isthmus.cli import compare
    from isthmus.cli.run import fresh_name
    from isthmus.measure.devices import of_earlier
    from isthmus.results import run_file

    compare.limit(relevant, fail_above)  # wrong values are refused before anything is measured
    target = out or fresh_name(run.stem)
    allowed = [flag(name) for name, given in context.obj.items() if given]
    switches = [*allowed, *(["--no-wait"] if no_wait else [])]
    base = run_file.load(run)
    if base.origin:
        raise UsageError(f"{run} was imported from {base.origin.tool}: run that program again")
    arguments = [*arguments_of(base), *switches, "--out", str(target)]
    ranks = base.environment.get("ranks")
    if isinstance(ranks, list) and ranks:
        measured = _over_ranks(_words(launcher), len(ranks), arguments)
        if not target.exists():
            raise IsthmusError(f"{launcher}: no run file came of it, exit code {measured}")
    else:
        print(f"isthmus {shlex.join(arguments)}", file=sys.stderr)
        with of_earlier(base.devices, must_be_here=False):
            measured = _here(context, arguments)
    code = compare.compare(run, [target], relevant, fail_above=fail_above)
    print(target)
    return code or measured


def _here(context: typer.Context, arguments: list[str]) -> int:
    """Measures in this process, and returns the exit code; what changed is shown, not the run."""
    import contextlib
    import io
    import sys

    sys.argv[1:] = arguments  # what the new run file names as its command
    with contextlib.redirect_stdout(io.StringIO()):
        root = context.find_root().command
        return root.main(args=arguments, prog_name="isthmus", standalone_mode=False) or 0


def _words(launcher: str) -> list[str]:
    try:
        words = shlex.split(launcher)
    except ValueError as error:
        raise UsageError(f"--launcher {launcher}: {error}") from error
    if not words:
        raise UsageError("--launcher names no program")
    return words


def _over_ranks(launcher: list[str], ranks: int, arguments: list[str]) -> int:
    """Measures in ranks that a launcher starts, and returns the exit code.

    Raises UsageError where there is no such launcher, or for more ranks than a run has.
    """
    import subprocess
    import sys

    if ranks > _MOST_RANKS:
        raise UsageError(f"the run says that it had {ranks} ranks; {_MOST_RANKS} are the most")
    launcher = [*launcher, "-n", str(ranks)]
    print(shlex.join([*launcher, "isthmus", *arguments]), file=sys.stderr)
    command = [*launcher, sys.executable, "-m", "isthmus", *arguments]
    try:
        code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    except OSError as error:
        raise UsageError(
            f"{launcher[0]}: {error.strerror}; the run is of several ranks: --launcher names what "
            "starts them"
        ) from error
    return code if 0 <= code <= _MOST_CODE else 1


def arguments_of(run: Run) -> list[str]:
    """Arguments of ``isthmus`` that measure as a run was measured, on the same devices.

    Without permissions, a launcher of ranks, and a file to write.
    """
    from isthmus.backends import run_options

    command = run.software.command
    if command[:2] == ["mpirun", "-n"]:
        command = command[3:]
    left_out = {o.flag for o in run_options().values() if o.permission}.union(_OF_ONE_COMMAND)
    if command[:2] == ["isthmus", "run"] and "--resume" not in command:
        kept = [word for word in _without_out(command[1:]) if word not in left_out]
    else:
        kept = list(_planned(run))
    if not any(word == "--device" or word.startswith("--device=") for word in kept):
        named = [device.address for device in run.devices if not device.added and not device.error]
        kept += [word for address in named for word in ("--device", address)]
    return kept


def _without_out(words: Sequence[str]) -> Iterator[str]:
    skipped = False
    for word in words:
        if not skipped and word != "--out" and not word.startswith("--out="):
            yield word
        skipped = word == "--out"


def _planned(run: Run) -> Iterator[str]:
    """The command that has the same plan: studies, axes and settings."""
    from isthmus.backends import run_options

    settings, known = run.settings, run_options()
    yield from ("run", run.studies[0] if len(run.studies) == 1 else "all")
    for name, values in settings.axes.items():
        yield from ("--axis", f"{name}={values}")
    for name, value in settings.options.items():
        if name in known and not known[name].permission:
            yield from (flag(name), value)
    yield from ["--quick"] if settings.quick else []
    yield from ("--precision", f"{settings.precision:g}", "--budget", f"{settings.budget_s:g}")
    yield from ("--reruns", str(settings.reruns)) if settings.reruns else ()
    yield from ("--seed", str(settings.seed))
    yield from ("--cpus", ",".join(map(str, settings.cpus))) if settings.cpus else ()
    if settings.numa_node is not None:
        yield from ("--numa-node", str(settings.numa_node))
