"""Reads the texts that are judged: each by itself, so that a row belongs to one text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from isthmus import importers
from isthmus.errors import UsageError
from isthmus.importers.base import Log
from isthmus.importers.cleaning import cleaned


class Pasted(NamedTuple):
    """One text: a file, or what was piped in."""

    text: str
    file: str = ""
    """Empty for the only text."""


def logs_of(pasted: Sequence[Pasted]) -> tuple[list[Log], list[str]]:
    """What the importers read in each text, and which texts and formats they cannot read.

    Raises UsageError where no text has a format that is known.
    """
    logs, problems = list[Log](), list[str]()
    for one in pasted:
        plain = cleaned(one.text)
        before = f"{one.file}: " if one.file else ""
        found = importers.all_recognised(plain)
        if not found:
            problems.append(f"{before}{_unknown()}")
        for importer in found:
            try:
                logs.append(_of_file(importer.log(plain), one.file))
            except UsageError as error:
                problems.append(f"{before}{importer.name}: {error}")
    if not logs:
        raise UsageError(problems[0] if problems else _unknown())
    return _each_run_once(logs), problems


def _unknown() -> str:
    names = ", ".join(one.reads for one in importers.registry().values())
    return f"no output that Isthmus knows; it reads {names}"


def _of_file(log: Log, file: str) -> Log:
    return replace(log, file=file, links=[replace(one, file=file) for one in log.links])


def _each_run_once(logs: Sequence[Log]) -> list[Log]:
    """Logs of several texts without the rows of a run that an earlier text has, too."""
    found: list[Log] = []
    for log in logs:
        same = next((one for one in found if log.rows and _same_run(log, one)), None)
        note = f"{log.file} prints the same run as {same.file}: read once" if same else ""
        found.append(replace(log, rows=(), facts={**log.facts, "both ends": note}) if same else log)
    return found


def _same_run(one: Log, other: Log) -> bool:
    """Whether two texts show one run: all figures are the same, or the ends are crossed."""
    if one.file == other.file or one.tool != other.tool:
        return False
    ends = one.facts.get("local"), one.facts.get("remote")
    if any(ends):
        return ends == (other.facts.get("remote"), other.facts.get("local"))
    return one.names == other.names and _figures(one) == _figures(other)


def _figures(log: Log) -> list[tuple[object, ...]]:
    return [(row.device, row.part, row.name, row.size, *row.values) for row in log.rows]


def visible(log: Log, logs: Sequence[Log]) -> list[Log]:
    """The logs that can describe this one's devices: of its text, and of texts without figures."""
    measured = {one.file for one in logs if one.rows}
    return [one for one in logs if one.file == log.file or one.file not in measured]


def names_of(log: Log, logs: Sequence[Log]) -> list[str]:
    """Names of boards in the log's text; without any, those of texts that only describe."""
    seen = visible(log, logs)
    own = [name for one in seen if one.file == log.file for name in one.names]
    return own or [name for one in seen for name in one.names]
