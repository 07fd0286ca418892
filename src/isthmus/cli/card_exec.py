"""``isthmus card exec``: any XRT or OpenCL program of AMD's, on emulated cards."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, get_args

import typer

from isthmus.errors import UsageError

if TYPE_CHECKING:
    from isthmus.emulation import Session


def execute(
    command: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGS]...")],
    board: Annotated[
        list[str] | None,
        typer.Option(help="a card's board; repeat it for several cards [u250]"),
    ] = None,
    clock: Annotated[
        str, typer.Option(help="what the program's clocks show: virtual or wall time")
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
) -> NoReturn:
    """Runs the program with emulated cards in place of hardware; its exit code is ours."""
    from isthmus import emulation
    from isthmus.emulation import account, execution
    from isthmus.emulation.session import ClockKind

    kinds: tuple[ClockKind, ...] = get_args(ClockKind)
    kind = next((known for known in kinds if known == clock), None)
    if kind is None:
        raise UsageError(f"no clock '{clock}'; choose {' or '.join(kinds)}")
    if trace is not None and trace.exists():
        raise UsageError(f"{trace} is there already; nothing is overwritten")
    boards = board or ["u250"]
    began = time.monotonic()
    with emulation.prepare(
        boards, as_hardware=as_hardware, clock=kind, trace=trace is not None, kernels=kernels or ()
    ) as session:
        if session.cure:
            _say(session.cure)
        code = execution.run(command, session)
        if trace is not None:
            _write(trace, session, boards)
        _say(account.line(session.used(), boards, time.monotonic() - began))
    sys.exit(code)  # not returned: Typer returns 130 for a Ctrl-C of ours


def _write(path: Path, session: Session, boards: list[str]) -> None:
    from isthmus.emulation.trace import timeline
    from isthmus.errors import IsthmusError

    try:
        with path.open("xb") as file:
            file.write(timeline(session.events, boards=", ".join(boards)))
    except OSError as error:
        raise IsthmusError(f"{path}: {error.strerror}") from error


def _say(text: str) -> None:
    print(f"isthmus: {text}", file=sys.stderr)
