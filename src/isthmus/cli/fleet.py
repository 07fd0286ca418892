"""``isthmus fleet``: finds the machines that are slower than others of their kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli.shared_options import MOST_SKEW
from isthmus.errors import GATE_FAILED, GATE_UNDECIDED
from isthmus.output import put, warn

if TYPE_CHECKING:
    from isthmus.analysis.fleet import Unreadable
    from isthmus.results.run_file import Run


def fleet(
    paths: Annotated[
        list[Path], typer.Argument(help="folders of run files of one machine each, or such files")
    ],
    baseline: Annotated[
        Path | None,
        typer.Option(help="run files of before: each machine beside itself, and all together"),
    ] = None,
    expect: Annotated[
        str | None, typer.Option(help="machines that must be there, as node[001-016],login1")
    ] = None,
    relevant: Annotated[
        str, typer.Option(help="smallest difference that counts, as 5% or 0.05")
    ] = "5%",
    max_age: Annotated[
        str, typer.Option(help="oldest run that counts, as 36h or 7d; none: of any age")
    ] = "1d",
    form: Annotated[
        str, typer.Option("--format", help="summary, list, nodes, json, junit or prometheus")
    ] = "summary",
) -> int:
    """Compares machines of one kind with each other; ends with 3 unless all is well.

    Ends with 5 where nothing is bad, but no machine or no comparison with the baseline is decided.

    Folders within the folders count. stderr names each file that cannot be read. Such a file's name
    stands for a failed machine, unless the machine has another file.
    """
    from isthmus.analysis import fleet as analysis
    from isthmus.errors import analysing
    from isthmus.reporters.fleet import FORMATS, node_names
    from isthmus.text import require_known
    from isthmus.units import parse_age, parse_share

    require_known("format", form, FORMATS)
    before = list(_runs([baseline], "left out")) if baseline else None
    expected = [] if expect is None else node_names(expect)
    least = parse_share(relevant)
    age_s = None if max_age == "none" else parse_age(max_age)
    now = datetime.now(timezone.utc)
    ages = None if age_s is None else analysis.Ages(now - timedelta(seconds=age_s), now + MOST_SKEW)
    with analysing(paths[0]):
        runs = _runs(paths, "counts as a failed machine")
        result = analysis.inspect(runs, least, before, expected, ages)
        text = FORMATS[form](result)
    if before is not None and form == "summary":
        put(f"{result.outcome.upper()}: ", end="")
    put(text, end="")
    return {"pass": 0, "fail": GATE_FAILED, "undecided": GATE_UNDECIDED}[result.outcome]


def _runs(paths: Sequence[Path], unreadable: str) -> Iterator[tuple[str, Run | Unreadable]]:
    """Yields each file's name and run; ``unreadable``: words on stderr for other files."""
    for path in paths:
        yield from _runs_of(path, unreadable)


def _runs_of(folder: Path, unreadable: str) -> Iterator[tuple[str, Run | Unreadable]]:
    from isthmus.analysis.fleet import Unreadable
    from isthmus.errors import UsageError
    from isthmus.results import run_file

    files = sorted(filter(run_file.is_run_file, folder.rglob("*"))) if folder.is_dir() else [folder]
    if not files:
        raise UsageError(f"{folder}: no run file (*.json, *.json.gz) there")
    for file in files:
        name = file.name.partition(".json")[0]
        try:
            yield name, run_file.load(file)
        except UsageError as error:
            if not folder.is_dir():
                raise
            warn(f"{error}; {unreadable}")
            yield name, Unreadable(str(error))
