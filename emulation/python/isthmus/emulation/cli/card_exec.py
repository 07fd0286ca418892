"""``isthmus card exec``: any XRT or OpenCL program of AMD's, on emulated cards."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, get_args

import typer

from isthmus.errors import UsageError

if TYPE_CHECKING:
    from isthmus.emulation.session import Session


def execute(
    command: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGS]...")],
    board: Annotated[
        list[str] | None,
        typer.Option(help="a card's board; repeat it for several cards [u250]"),
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
    trace: Annotated[
        Path | None, typer.Option(help="write a timeline that ui.perfetto.dev opens")
    ] = None,
    kernels: Annotated[
        list[Path] | None, typer.Option(help="folder with kernels of your own; may be repeated")
    ] = None,
    fail_on_warning: Annotated[
        bool,
        typer.Option("--fail-on-warning", help="end a program that reaches past its buffers"),
    ] = False,
) -> NoReturn:
    """Runs the program with emulated cards in place of hardware; its exit code is ours."""
    from isthmus.emulation import account, execution
    from isthmus.emulation.session import ClockKind, prepare

    kinds: tuple[ClockKind, ...] = get_args(ClockKind)
    kind = next((known for known in kinds if known == clock), None)
    if kind is None:
        raise UsageError(f"no clock '{clock}'; choose {', '.join(kinds)}")
    boards = board or ["u250"]
    began = time.monotonic()
    with (
        _reserved(trace),
        prepare(
            boards,
            as_hardware=as_hardware,
            clock=kind,
            trace=trace is not None,
            kernels=kernels or (),
            fail_on_warning=fail_on_warning,
        ) as session,
    ):
        if session.cure:
            _say(session.cure)
        code = execution.run(command, session)
        _say(account.line(session.used(), boards, time.monotonic() - began))
        if trace is not None:
            _write(trace, session, boards)
    sys.exit(code)  # not returned: Typer returns 130 for a Ctrl-C of ours


@contextlib.contextmanager
def _reserved(path: Path | None) -> Iterator[None]:
    """Makes the file for the timeline before the program starts; it goes where none started."""
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


def _write(path: Path, session: Session, boards: list[str]) -> None:
    from isthmus.emulation.trace import timeline

    try:
        path.write_bytes(timeline(session.events, boards=", ".join(boards)))
    except OSError as error:  # the exit code stays the program's
        _say(f"{path}: {error.strerror}")


def _say(text: str) -> None:
    print(f"isthmus: {text}", file=sys.stderr)
