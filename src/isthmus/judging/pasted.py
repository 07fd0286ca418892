"""Reads the texts that are judged, one by one, so that each row belongs to one text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from isthmus import importers
from isthmus.errors import UsageError
from isthmus.importers.base import Log
from isthmus.importers.cleaning import cleaned


class Pasted(NamedTuple):
    """One text to judge, from a file or from standard input."""

    text: str
    file: str = ""
    """Name of the file; empty for the only text."""


def logs_of(pasted: Sequence[Pasted]) -> tuple[list[Log], list[str]]:
    """Returns the logs that the importers read in the texts, and problems of reading.

    Raises UsageError if no text has a known format.
    """
    logs, problems = list[Log](), list[str]()
    for text in pasted:
        plain = cleaned(text.text)
        before = f"{text.file}: " if text.file else ""
        recognised = importers.all_recognised(plain)
        if not recognised:
            problems.append(f"{before}{_unknown()}")
        for importer in recognised:
            try:
                logs.append(_of_file(importer.log(plain), text.file))
            except UsageError as error:
                problems.append(f"{before}{importer.name}: {error}")
    if not logs:
        raise UsageError(problems[0] if problems else _unknown())
    return _each_run_once(logs), problems


def _unknown() -> str:
    names = ", ".join(importer.reads for importer in importers.registry().values())
    return f"no output that Isthmus knows; it reads {names}"


def _of_file(log: Log, file: str) -> Log:
    return replace(log, file=file, links=[replace(link, file=file) for link in log.links])


def _each_run_once(logs: Sequence[Log]) -> list[Log]:
    """Removes from each log the rows of a run that an earlier text also has."""
    kept: list[Log] = []
    for log in logs:
        same = next((earlier for earlier in kept if log.rows and _same_run(log, earlier)), None)
        note = f"{log.file} prints the same run as {same.file}: read once" if same else ""
        kept.append(replace(log, rows=(), facts={**log.facts, "both ends": note}) if same else log)
    return kept


def _same_run(log: Log, other: Log) -> bool:
    """Whether two texts show one run: all figures are equal, or each text is one end's output."""
    if log.file == other.file or log.tool != other.tool:
        return False
    ends = log.facts.get("local"), log.facts.get("remote")
    if any(ends):
        return ends == (other.facts.get("remote"), other.facts.get("local"))
    return log.names == other.names and _figures(log) == _figures(other)


def _figures(log: Log) -> list[tuple[object, ...]]:
    return [(row.device, row.part, row.name, row.size, *row.values) for row in log.rows]


def visible(log: Log, logs: Sequence[Log]) -> list[Log]:
    """Logs that may describe the devices of ``log``: of its own text, or of texts without rows."""
    measured = {other.file for other in logs if other.rows}
    return [other for other in logs if other.file == log.file or other.file not in measured]


def names_of(log: Log, logs: Sequence[Log]) -> list[str]:
    """Names of boards in the log's text; else names in texts without figures."""
    seen = visible(log, logs)
    own = [name for other in seen if other.file == log.file for name in other.names]
    return own or [name for other in seen for name in other.names]
