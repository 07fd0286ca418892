"""``isthmus repeat``: measures again as a run file was measured, and shows what changed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from isthmus import interpreter
from isthmus.cli.declared import DeclaringCommand
from isthmus.cli.shared_options import AllowOther, FailAbove, NoWait, Relevant
from isthmus.errors import IsthmusError, UsageError
from isthmus.output import inform, put
from isthmus.run_options import RunOption, flag

_MOST_CODE = 6
"""Largest exit code of ``isthmus``; a larger code is the launcher's, and becomes 1."""


class PermittingCommand(DeclaringCommand):
    """A command with switches for permissions of all backends, which a run file cannot give."""

    runs = ("run",)

    def declared(self) -> list[RunOption]:
        """Switches that allow actions which may do harm."""
        return [option for option in super().declared() if option.permission]


def repeat(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="run file")],
    out: Annotated[Path | None, typer.Option(help="run file to write; never overwritten")] = None,
    relevant: Relevant = None,
    fail_above: FailAbove = None,
    allow_other: AllowOther = None,
    no_wait: NoWait = False,
    reruns: Annotated[
        int | None, typer.Option(help="fresh processes for each point [as the run]")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="seconds for the whole run [as the run]")
    ] = None,
    launcher: Annotated[
        str, typer.Option(help="program that starts the ranks, if the run has ranks; -n N is added")
    ] = "mpirun",
) -> int:
    """Repeats a run file's command, or a command with the same plan, and compares both runs."""
    from isthmus.analysis.commands import ranks_of, repeating
    from isthmus.cli import compare, shared_options
    from isthmus.cli.run import fresh_name
    from isthmus.measure.devices import of_earlier
    from isthmus.program import invocation, option_words
    from isthmus.results import run_file

    # Wrong values end the command before the measurement.
    compare.limit(relevant, fail_above)
    compare.terms(fail_above, None, allow_other)
    target = out or fresh_name(run.stem)
    allowed = [flag(name) for name, is_set in context.obj.items() if is_set]
    switches = [*allowed, *(["--no-wait"] if no_wait else [])]
    changed = {
        name: f"{value:g}"
        for name, value in (("--reruns", reruns), ("--budget", budget))
        if value is not None
    }
    base = run_file.load(run)
    if base.origin:
        raise UsageError(f"{run} was imported from {base.origin.tool}: run that program again")
    arguments = [*repeating(base, changed), *switches, *option_words("--out", target)]
    ranks = ranks_of(base)
    if not ranks:
        shared_options.refuse(context, {"launcher"}, "on a run without ranks")
    if ranks:
        measured = _over_ranks(_words(launcher), len(ranks), arguments)
        if not target.exists():
            raise IsthmusError(f"{launcher}: it wrote no run file, exit code {measured}")
    else:
        inform(invocation(*arguments))
        with of_earlier(base.devices, must_be_here=False):
            measured = _here(context, arguments)
    # A repeated run is compared with a base of any age.
    code = compare.compare(
        run, [target], relevant, fail_above=fail_above,
        max_age="none" if fail_above else None, allow_other=allow_other,
    )  # fmt: skip
    put(target)
    return code or measured


def _here(context: typer.Context, arguments: list[str]) -> int:
    """Measures in this process without printing the run; returns the exit code."""
    import contextlib
    import io
    import sys

    sys.argv[1:] = arguments  # the new run file records these words as its command
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
    """Measures in ranks that a launcher starts; returns the exit code.

    Raises UsageError if the launcher cannot be started, or for more than ``MOST_RANKS`` ranks.
    """
    import subprocess

    from isthmus.analysis.commands import MOST_RANKS
    from isthmus.program import invocation

    if ranks > MOST_RANKS:
        raise UsageError(f"the run says that it had {ranks} ranks; {MOST_RANKS} are the most")
    launcher = [*launcher, "-n", str(ranks)]
    inform(invocation(*arguments, before=launcher))
    command = [*launcher, *interpreter.command("isthmus", *arguments)]
    try:
        code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    except OSError as error:
        raise UsageError(
            f"{launcher[0]}: {error.strerror}; the run is of several ranks: --launcher names what "
            "starts them"
        ) from error
    return code if 0 <= code <= _MOST_CODE else 1
