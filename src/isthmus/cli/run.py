"""``isthmus run``: measures studies on devices, and writes a run file."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli.shared_options import NoWait
from isthmus.errors import UsageError
from isthmus.output import line, put
from isthmus.system import launcher
from isthmus.text import did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

    from isthmus.results.run_file import Run
    from isthmus.studies import Study


def _axes(
    texts: Sequence[str], by_name: Mapping[str, str], studies: Sequence[Study]
) -> dict[str, str]:
    """Joins axes from ``--axis NAME=VALUES`` (``texts``) with axes from ``--NAME VALUES``.

    Raises UsageError for an axis that none of the studies has.
    """
    axes = dict(by_name)
    for text in texts:
        name, _, values = text.partition("=")
        if not name or not values:
            raise UsageError(f"'{text}': write --axis NAME=VALUES")
        if name in axes:
            raise UsageError(f"axis '{name}' is given twice")
        axes[name] = values
    names = list(dict.fromkeys(axis.name for study in studies for axis in study.axes))
    for name in axes:
        if name not in names:
            hint = f"{did_you_mean(name, names)}known: {', '.join(names)}"
            named = ", ".join(study.name for study in studies)
            raise UsageError(f"no axis '{name}' in {named}; {hint}")
    return axes


def _studies(name: str) -> list[Study]:
    from isthmus.studies import by_name, registry

    return list(registry().values()) if name == "all" else [by_name(name)]


def fresh_name(study: str, folder: Path = Path()) -> Path:
    """Returns a path for a run file that does not exist yet."""
    stem = f"{study}-{datetime.now().strftime('%Y%m%d-%H%M%S')}"
    candidates = (folder / f"{stem}{f'-{n}' if n else ''}.json" for n in range(1000))
    return next(path for path in candidates if not path.exists())


def positive(value: float | None, option: str) -> None:
    """Raises UsageError if an option has a value that is not above 0."""
    if value is not None and not 0 < value < math.inf:
        raise UsageError(f"{option} must be a number above 0")


def run(
    context: typer.Context,
    study: Annotated[str | None, typer.Argument(is_eager=True)] = None,
    device: Annotated[
        list[str] | None, typer.Option(help="BACKEND[:SELECTOR][,key=value]; repeat for more")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="headlines and a coarse curve, to 10 %, in 60 s"),
    ] = False,
    axis: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUES, e.g. bytes=1:256Mi; repeat for more")
    ] = None,
    precision: Annotated[
        float | None, typer.Option(help="relative half-width of the interval to reach [0.02]")
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(help="seconds for the whole run, all points included [until precise]"),
    ] = None,
    reruns: Annotated[
        int | None, typer.Option(help="fresh processes for each point [6 to 30, by precision]")
    ] = None,
    seed: Annotated[int, typer.Option(help="seed of the order in which points are measured")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(help="run file to write, with --per-node a folder; never overwritten"),
    ] = None,
    per_node: Annotated[
        bool,
        typer.Option(
            "--per-node",
            help="under mpirun or srun: a run for each host, HOST.json in folder --out",
        ),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="continue the run of --out")] = False,
    no_wait: NoWait = False,
    cpus: Annotated[
        str | None, typer.Option(help="processors to bind workers to, e.g. 0,2-3")
    ] = None,
    numa_node: Annotated[int | None, typer.Option(help="memory node to bind workers to")] = None,
) -> int:
    """Measures a study and writes a run file."""
    from isthmus.backends import run_options
    from isthmus.cli import over_ranks, shared_options
    from isthmus.cli.declared import separated
    from isthmus.cli.progress import Progress
    from isthmus.measure import session
    from isthmus.system.binding import binding

    if study is None and any(shared_options.options(context)):
        raise UsageError("name a study, or all: isthmus run lists them")
    if study is None:
        from isthmus.cli.study_help import overview

        put(overview(), end="")
        return 0
    studies = _studies(study)
    for value, option in ((precision, "--precision"), (budget, "--budget"), (reruns, "--reruns")):
        positive(value, option)
    if precision is not None and precision >= 1:
        raise UsageError("--precision is a share below 1: 0.02 for 2 %")
    options, named = separated(context.obj)
    axes = _axes(axis or [], named, studies)
    bound = {"--cpus": cpus, "--numa-node": numa_node}
    if per_node:
        out = over_ranks.own_file(out or Path())
        if out is None:
            return 0
    over_ranks.become_rank(studies, device or [], out if resume else None, reruns, bound)
    console = over_ranks.LastingConsole(stderr=True)
    if resume:
        if out is None:
            raise UsageError("--resume goes on with a run file: name it with --out")
        permissions = {option.name for option in run_options().values() if option.permission}
        shared_options.refuse_all_but(
            context,
            {"resume", "out", "budget", "no_wait", "per_node", *permissions},
            "with --resume, which goes on as the run began: "
            "give only --out, --budget, --no-wait and --allow-...",
        )
        with _kept(studies, out, console), Progress(console) as progress:
            group = over_ranks.group()
            done = session.resume(
                out, study, budget, progress,
                permissions=options, no_wait=no_wait, group=group,
            )  # fmt: skip
        return _close(done, out, console)
    target = out or fresh_name(study)
    request = session.Request(
        studies=studies,
        devices=device or [],
        axes=axes,
        out=target,
        command=["isthmus", *sys.argv[1:]],
        quick=quick,
        precision=precision,
        budget_s=budget,
        reruns=reruns,
        seed=seed,
        no_wait=no_wait,
        options=options,
        binding=binding(cpus, numa_node),
    )
    with _kept(studies, target, console), Progress(console) as progress:
        request.group = over_ranks.group()
        done = session.measure(request, progress)
    return _close(done, target, console)


@contextlib.contextmanager
def _kept(studies: Sequence[Study], out: Path, console: Console) -> Iterator[None]:
    """Prints the run file, and the command that continues the run, on an interrupt or error."""
    before = _file_number(out)
    try:
        yield
    except (KeyboardInterrupt, Exception):
        if _file_number(out) not in {None, before}:
            from isthmus.analysis.commands import resumed

            command = resumed([study.name for study in studies], out, launcher.ranks_led())
            line(console, f"what was measured is in {out}; go on: {command}")
        raise


def _file_number(path: Path) -> int | None:
    return path.stat().st_ino if path.exists() else None


def _close(run: Run, out: Path, console: Console) -> int:
    """Prints the summary and the file's name; returns the exit code."""
    from isthmus.analysis import wording
    from isthmus.reporters import summary
    from isthmus.text import truncated

    for fault in truncated(wording.faults(run)):  # errors of points were printed during the run
        line(console, fault)
    put("\n".join(summary.lines(run, out)))
    put(out)
    return 1 if failed(run) else 0


def failed(run: Run) -> bool:
    """Whether a device or a point could not be measured, or a point's data were wrong."""
    return any(device.error for device in run.devices) or any(
        p.error or any(r.verified == "false" for r in p.reruns) for p in run.points
    )
