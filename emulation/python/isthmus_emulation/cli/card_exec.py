"""``isthmus card exec``: runs a program for XRT or AMD's OpenCL on emulated cards."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, NoReturn, get_args

import typer

from isthmus.errors import GATE_FAILED, IsthmusError, UsageError
from isthmus.output import inform, warn

if TYPE_CHECKING:
    from isthmus.boards import Board
    from isthmus_emulation.event_files import Events
    from isthmus_emulation.region import Region
    from isthmus_emulation.session import ClockKind, Session

_Trace = Annotated[Path | None, typer.Option(help="write a timeline that ui.perfetto.dev opens")]
_MaxSimulated = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="end a program that waits longer, as 20ms or 2s, with 3"),
]
_Junit = Annotated[
    Path | None, typer.Option(metavar="FILE", help="write the result as JUnit's XML")
]  # fmt: skip


def execute(
    command: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGS]...")],
    board: Annotated[
        list[str] | None,
        typer.Option(help="a card's board; repeat it for several cards [u250]"),
    ] = None,
    device_name: Annotated[
        list[str] | None,
        typer.Option(
            help="name that the program sees, such as a shell's (isthmus card boards u250); "
            "one for each --board"
        ),
    ] = None,
    clock: Annotated[
        str,
        typer.Option(
            help="what the program's clocks show: virtual time, the card's alone, or wall time"
        ),
    ] = "virtual",
    as_hardware: Annotated[
        bool, typer.Option("--as-hardware", help="hide from the program that this is an emulation")
    ] = False,
    trace: _Trace = None,
    kernels: Annotated[
        list[Path] | None, typer.Option(help="folder with kernels of your own; may be repeated")
    ] = None,
    fail_on_warning: Annotated[
        bool,
        typer.Option("--fail-on-warning", help="end a program with 3 at the first warning"),
    ] = False,
    not_needed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INSTANCE.ARGUMENT",
            help="do not warn that the program leaves this output unread; may be repeated",
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="say at the end what waited for what, and how long")
    ] = False,
    max_simulated: _MaxSimulated = None,
    junit: _Junit = None,
) -> NoReturn:
    """Runs the program on emulated cards, and ends with its exit code."""
    from isthmus.units import parse_seconds
    from isthmus_emulation.session import prepare

    kind = _chosen_clock(clock)
    boards = board or ["u250"]
    if max_simulated is not None:
        parse_seconds(max_simulated)
    wanted = _Wanted(watch, trace, junit, max_simulated, fail_on_warning)
    for output in not_needed or ():
        if not all(output.partition(".")):
            raise UsageError(f"'{output}' is no INSTANCE.ARGUMENT, such as scale_1.out")
    options = _needed(boards, device_name, kind, kernels, as_hardware=as_hardware)
    with (
        _reserved(trace),
        _reserved(junit),
        prepare(
            boards, names=device_name or (), as_hardware=as_hardware, clock=kind,
            trace=watch or trace is not None, kernels=kernels or (),
            fail_on_warning=fail_on_warning, not_needed=not_needed or (),
        ) as session,
    ):  # fmt: skip
        code = _run(session, command, boards, options, wanted)
    sys.exit(code)  # no return, because Typer returns 130 after a Ctrl-C


class _Wanted(NamedTuple):
    """Results that the user asks for, beside the program's run."""

    watch: bool
    trace: Path | None
    junit: Path | None
    max_simulated: str | None
    fail_on_warning: bool


def _run(
    session: Session,
    command: Sequence[str],
    boards: Sequence[str],
    options: Sequence[str],
    wanted: _Wanted,
) -> int:
    """Runs the program, prints what it did, and returns the exit code.

    ``options``: options that change how the program runs.
    """
    from isthmus.boards import named
    from isthmus.units import percent
    from isthmus_emulation import account, bounds, event_files, execution, gates, last_call, region
    from isthmus_emulation.trace import timeline

    began = time.monotonic()
    limit = gates.Limit(session, wanted.max_simulated)
    is_over = limit.is_exceeded if wanted.max_simulated else None
    code = execution.run(command, session, is_over=is_over)
    wall_s = time.monotonic() - began
    cards = [named(board) for board in boards]
    events = event_files.read(session.events)
    regions = bounds.regions(events, cards)
    if wanted.watch:
        _tell_events(session, events, regions, cards)
    if events.share < 1:
        warn(
            f"of the events {percent(events.share)} were read, in {len(events.stretches)} evenly "
            "spread stretches: --watch scales them up, and --trace has these alone"
        )
    line = account.line(session.used(), boards, wall_s, computing=session.computing)
    warn(line)
    if ended := last_call.death(session, code):
        warn(last_call.sentence(ended, options, command))
    failures = [*limit.failures(), *gates.warnings(session, fatal=wanted.fail_on_warning)]
    for failure in failures:
        warn(failure)
    written = True
    if wanted.trace is not None:
        facts = {"boards": ", ".join(boards), "bounds": region.plain(regions), "read": events.share}
        written = _write(wanted.trace, timeline(events.cards, facts))
    if wanted.junit is not None:
        report = gates.as_junit(command, code, failures, line, wall_s)
        written = _write(wanted.junit, report) and written
    # The exit code of a failed program is more important than a missing file of results.
    return GATE_FAILED if failures else code or int(not written)


def _tell_events(
    session: Session, events: Events, regions: Sequence[Region], cards: Sequence[Board]
) -> None:
    """Prints what the cards waited for, and what bounds the program."""
    from isthmus_emulation import bounds_text, watch

    shown = watch.lines(events, session.computing)
    inform("\n".join([*shown, *bounds_text.lines(regions, cards)]))


def _needed(
    boards: Sequence[str],
    names: Sequence[str] | None,
    clock: str,
    kernels: Sequence[Path] | None,
    *,
    as_hardware: bool,
) -> list[str]:
    """Returns the user's options that change how the program runs."""
    options = [("--board", value) for value in boards]
    options += [("--device-name", value) for value in names or ()]
    options += [("--kernels", str(value)) for value in kernels or ()]
    words = [word for pair in options for word in pair]
    words += ["--clock", clock] if clock != "virtual" else []
    return words + (["--as-hardware"] if as_hardware else [])


def _chosen_clock(name: str) -> ClockKind:
    """Returns the clock of this name; raises UsageError for an unknown name."""
    from isthmus_emulation.session import ClockKind

    kinds: tuple[ClockKind, ...] = get_args(ClockKind)
    for kind in kinds:
        if kind == name:
            return kind
    raise UsageError(f"no clock '{name}'; choose {', '.join(kinds)}")


@contextlib.contextmanager
def _reserved(path: Path | None) -> Iterator[None]:
    """Makes a file for results before the program starts; removes the file if the start fails."""
    if path is None:
        yield
        return
    try:
        path.touch(exist_ok=False)
    except FileExistsError as error:
        raise UsageError(f"{path} exists; nothing is overwritten: choose another name") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _write(path: Path, data: bytes) -> bool:
    """Writes a file for the user; prints a warning and returns False if that fails."""
    from isthmus.saving import save

    try:
        save(data, path, replace=True)
    except IsthmusError as error:
        with contextlib.suppress(OSError):
            path.unlink()  # remove the file that is still empty
        warn(str(error))
        return False
    return True
