"""Reads facts about machines from run files: names of hosts, and findings of the checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from typing import NamedTuple

from isthmus import backends, checks
from isthmus.checks import Check, Facts, Result
from isthmus.results.run_file import Run, moment


class Fact(NamedTuple):
    """A bad result or a warning of a check, or a link that is less than the card allows."""

    device: str
    """Address of the device; empty if the fact is about the machine."""
    check: str
    found: str
    cause: str
    less: bool
    """Whether the finding lowers the limit of the device's link."""


def facts_of(run: Run) -> Iterator[Fact]:
    """Yields findings of ``isthmus doctor`` on a run: bad results, warnings and lesser links."""
    for subject, check, result in _results(run):
        if _is_finding(result):
            less = check.lowers_limit
            yield Fact(subject, check.name, result.found, result.cause, less)


def links_of(run: Run) -> Iterator[tuple[str, str, bool]]:
    """Yields device and check of each known result on a link, and whether the link is good."""
    for subject, check, result in _results(run):
        if check.lowers_limit and (result.state != "unknown" or result.lesser):
            yield subject, check.name, not _is_finding(result)


def _is_finding(result: Result) -> bool:
    return result.state in {"bad", "warning"} or bool(result.lesser)


def _results(run: Run) -> Iterator[tuple[str, Check, Result]]:
    """Yields the result of each check with the address of its device, empty for the machine."""
    subjects = [("", checks.judged(Facts.of_run(run), machine=True))]
    for device in run.devices:
        if not device.error:
            own = backends.of(device.backend).checks
            subjects.append((device.address, checks.judged(Facts.of_run(run, device), own)))
    for subject, judged in subjects:
        yield from ((subject, check, result) for check, result in judged)


def same_hosts(names: Iterable[str], wanted: Iterable[str] = ()) -> dict[str, str]:
    """Name to show for each host: ``node1`` and ``node1.example.org`` are the same host.

    They are different hosts if several domains have a ``node1``. A name in ``wanted`` is shown
    unchanged. Otherwise the short name is shown, if the name of any host has a domain.
    """
    alike: dict[str, dict[str, None]] = {}
    for name in (*wanted, *names):
        short = name.partition(".")[0].lower()
        alike.setdefault(name if not short or short.isdecimal() else short, {})[name] = None
    first = dict.fromkeys(wanted)
    short_ones = any("." not in name for group in alike.values() for name in group)
    shown: dict[str, str] = {}
    for group in alike.values():
        domains = {name.lower() for name in group if "." in name}
        best = min(group, key=lambda name: (name not in first, "." in name))
        if short_ones and best not in first and not best.partition(".")[0].isdecimal():
            best = best.partition(".")[0] or best
        shown |= {name: best if len(domains) < 2 else name for name in group}
    return shown


def started(run: Run) -> datetime | None:
    """Returns when a run began; a time without a zone is taken as UTC."""
    at = moment(run.started)
    return at.replace(tzinfo=timezone.utc) if at and at.tzinfo is None else at
