"""``isthmus compare``: what changed between runs, and a gate for those who test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.errors import GATE_FAILED
from isthmus.output import put

if TYPE_CHECKING:
    from isthmus.analysis.changes import Side


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(name="compare", help="Say what changed between runs: faster, slower, the same.")(
        compare
    )


def compare(
    base: Annotated[Path, typer.Argument(help="run file, or a folder of run files")],
    new: Annotated[list[Path], typer.Argument(help="the same; several are one side")],
    relevant: Annotated[
        str | None,
        typer.Option(help="smallest difference that counts, e.g. 2%"),
    ] = None,
    points: Annotated[
        bool, typer.Option("--points", help="every point: the same as --format table")
    ] = False,
    fail_above: Annotated[
        str | None, typer.Option(help="end with 3 where anything is slower by more, or missing")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="summary, table, md, json, junit or csv")
    ] = None,
    mixed: Annotated[
        bool, typer.Option("--mixed", help="compare simulated with measured times, too")
    ] = False,
    as_measured: Annotated[
        bool, typer.Option("--as-measured", help="leave in what the host's own speed explains")
    ] = False,
) -> int:
    """Compares points that both sides have; processes are the sample, of several runs the runs."""
    from isthmus.analysis import changes
    from isthmus.errors import UsageError, analysing
    from isthmus.program import invocation, option_words, shorter
    from isthmus.reporters import comparison
    from isthmus.text import known

    if points and form not in {None, "table"}:
        raise UsageError(f"--points has no effect with --format {form}")
    chosen = form or ("table" if points else "summary")
    known("format", chosen, ["summary", *comparison.FORMATS])
    chosen_limit, least = limit(relevant, fail_above)
    files = map(shorter, (base, *new))
    options = option_words("--relevant", chosen_limit) if chosen_limit else []
    options += ["--mixed"] * mixed + ["--as-measured"] * as_measured
    more = invocation("compare", *files, *options, "--points")
    with analysing(f"{base}, {new[0]}"):
        sides = _side([base]), _side(new)
        result = changes.compare(*sides, least, mixed=mixed, as_measured=as_measured)
        text = (
            "\n".join(comparison.lines(result, more)) + "\n"
            if chosen == "summary"
            else comparison.FORMATS[chosen](result)
        )
    put(text, end="")
    return GATE_FAILED if fail_above is not None and not result.passes else 0


def limit(relevant: str | None, fail_above: str | None) -> tuple[str, float | None]:
    """The difference that counts, as given and as a share; raises UsageError for a wrong one."""
    from isthmus.errors import UsageError
    from isthmus.units import parse_share

    if relevant is not None and fail_above is not None:
        raise UsageError("give --relevant or --fail-above: both say which difference counts")
    text = fail_above if relevant is None else relevant
    return text or "", None if text is None else parse_share(text)


def _side(paths: Sequence[Path]) -> Side:
    from isthmus.analysis.changes import Side
    from isthmus.errors import UsageError
    from isthmus.results import run_file

    files = list(_files(paths))
    if not files:
        raise UsageError(f"{paths[0]}: this folder has no run file (*.json)")
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return Side(f"{paths[0]}{more}", [run_file.load(file) for file in files])


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.glob("*.json")) if path.is_dir() else [path]
