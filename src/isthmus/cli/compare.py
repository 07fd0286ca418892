"""``isthmus compare``: shows what changed between runs; a gate gives an exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from isthmus.cli.shared_options import MOST_SKEW, AllowOther, FailAbove, Relevant
from isthmus.errors import GATE_FAILED, GATE_UNDECIDED
from isthmus.output import inform, put

if TYPE_CHECKING:
    from isthmus.analysis.changes import Side, Terms
AUTO = "auto"
"""Value of ``--fail-above`` by which each series' own spread is its limit.

``auto,10%``: the spread, or 10 % where the spread is less."""
_MAX_AGE = "180d"
"""Age by which a gate's base may precede the new side. A choice: a lower value refuses a good base
before any part of the machine changes; a higher value hides slow wear."""
_CODES = {"pass": 0, "fail": GATE_FAILED, "undecided": GATE_UNDECIDED}
_WITH_FIRST_LINE = ("summary", "md")
"""Formats that begin with the gate's line; with other formats, which are data, stderr has it."""


def compare(
    base: Annotated[Path, typer.Argument(help="run file, or a folder of run files")],
    new: Annotated[list[Path], typer.Argument(help="the same; several are one side")],
    relevant: Relevant = None,
    points: Annotated[
        bool, typer.Option("--points", help="every point: the same as --format table")
    ] = False,
    fail_above: FailAbove = None,
    max_age: Annotated[
        str | None,
        typer.Option(help=f"gate: by how much the base may be older, as 36h or 7d [{_MAX_AGE}]"),
    ] = None,
    allow_other: AllowOther = None,
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
    from isthmus.errors import UsageError
    from isthmus.reporters import comparison
    from isthmus.text import require_known

    if points and form not in {None, "table"}:
        raise UsageError(f"--points has no effect with --format {form}")
    chosen = form or ("table" if points else "summary")
    require_known("format", chosen, ["summary", *comparison.FORMATS])
    given = (("--max-age", max_age), ("--allow-other", allow_other))
    asked = _Asked(
        base, new, limit(relevant, fail_above), terms(fail_above, max_age, allow_other),
        {name: text for name, text in given if text}, mixed=mixed, as_measured=as_measured,
    )  # fmt: skip
    shown, first, outcome = _answer(asked, chosen)
    return _print(shown) if fail_above is None else _print(shown, first, outcome, chosen)


class Limit(NamedTuple):
    """The difference in time that counts as a change."""

    text: str
    """The option's value as typed; empty without an option."""
    least: float | None
    """The smallest difference that counts, as a share; None: the precision of the runs."""
    own: bool
    """Whether each series' own spread sets its limit."""


class _Asked(NamedTuple):
    """Sides and options of a comparison that the user asks for."""

    base: Path
    new: Sequence[Path]
    limit: Limit
    terms: Terms | None
    """Terms of the gate; None without a gate."""
    of_gate: Mapping[str, str]
    """Values of the gate's other options, as the user typed them."""
    mixed: bool
    as_measured: bool

    @property
    def limit_words(self) -> list[str]:
        """The option that says which difference counts."""
        from isthmus.program import option_words

        name = "--relevant" if self.terms is None else "--fail-above"
        return option_words(name, self.limit.text) if self.limit.text else []

    @property
    def options(self) -> list[str]:
        """Options that repeat the comparison, without the limit's option."""
        from isthmus.program import option_words

        words = [word for name, text in self.of_gate.items() for word in option_words(name, text)]
        return [*words, *["--mixed"] * self.mixed, *["--as-measured"] * self.as_measured]


def _answer(asked: _Asked, form: str) -> tuple[str, str, str]:
    """Returns the comparison as text, the gate's line, and the outcome."""
    from isthmus.analysis import changes, gate
    from isthmus.errors import analysing
    from isthmus.reporters import comparison
    from isthmus.reporters.gate import Call, line

    with analysing(f"{asked.base}, {asked.new[0]}"):
        base, new = _side([asked.base]), _side(asked.new)
        result = changes.compare(
            base, new, asked.limit.least,
            mixed=asked.mixed, as_measured=asked.as_measured, own=asked.limit.own,
            terms=asked.terms,
        )  # fmt: skip
        files = _repeatable(asked, base, new)
        call = Call([asked.base, *asked.new], asked.limit_words, asked.options, files)
        decided = gate.decide(result) if asked.terms else None
        if form == "summary":
            text = "\n".join(comparison.lines(result, call.compare("--points"))) + "\n"
        else:
            text = comparison.FORMATS[form](result, decided)
        if decided is None:
            return text, "", "pass"
        return text, line(result, decided, call), decided.outcome


def terms(fail_above: str | None, max_age: str | None, allow_other: str | None) -> Terms | None:
    """Returns the terms of a gate, None without a gate. Raises UsageError for a wrong value."""
    import math

    from isthmus.analysis.changes import Terms
    from isthmus.analysis.gate import ALLOWABLE
    from isthmus.errors import UsageError
    from isthmus.text import require_known
    from isthmus.units import parse_age

    if fail_above is None:
        if max_age or allow_other:
            raise UsageError("--max-age and --allow-other have no effect without --fail-above")
        return None
    age = max_age or _MAX_AGE
    allowed = allow_other.split(",") if allow_other else []
    return Terms(
        frozenset(require_known("difference of a base", word, ALLOWABLE) for word in allowed),
        math.inf if age == "none" else parse_age(age),
        datetime.now(timezone.utc) + MOST_SKEW,
    )


def _print(text: str, first: str = "", outcome: str = "pass", form: str = "") -> int:
    """Prints a comparison, with the gate's line if there is a gate; returns the exit code."""
    from isthmus.reporters.md import escape

    if form in _WITH_FIRST_LINE:
        put(f"{first}\n" if form == "summary" else f"**{escape(first)}**\n")
    elif first:
        inform(first)
    put(text, end="")
    return _CODES[outcome]


def _repeatable(asked: _Asked, *sides: Side) -> list[Path]:
    """Both run files; none if a side is a folder, several files, or an imported run."""
    files = [asked.base, *asked.new]
    single = len(files) == len(sides) and not any(map(Path.is_dir, files))
    return files if single and not any(side.runs[0].origin for side in sides) else []


def limit(relevant: str | None, fail_above: str | None) -> Limit:
    """Returns the difference that counts; raises UsageError for a wrong value."""
    from isthmus.errors import UsageError
    from isthmus.units import parse_share

    if fail_above is None:
        return Limit(relevant or "", None if relevant is None else parse_share(relevant), own=False)
    if relevant is not None:
        raise UsageError("give --relevant or --fail-above: both say which difference counts")
    if fail_above == AUTO:
        return Limit(AUTO, None, own=True)
    if "%" not in fail_above:
        raise UsageError(f"--fail-above {fail_above}: say per cent, as 5%, auto, or auto,5%")
    least = fail_above.removeprefix(f"{AUTO},")
    return Limit(fail_above, parse_share(least), own=least != fail_above)


def _side(paths: Sequence[Path]) -> Side:
    from isthmus.analysis.changes import Side
    from isthmus.errors import UsageError
    from isthmus.results import run_file

    files = list(_files(paths))
    if not files:
        raise UsageError(f"{paths[0]}: this folder has no run file (*.json, *.json.gz)")
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    only = str(files[0]) if len(files) == 1 else ""
    return Side(f"{paths[0]}{more}", [run_file.load(file) for file in files], only)


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    from isthmus.results.run_file import is_run_file

    for path in paths:
        yield from sorted(filter(is_run_file, path.iterdir())) if path.is_dir() else [path]
