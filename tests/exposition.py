"""Rules of Prometheus' text format, and of its names, as ``promtool check metrics`` has them.

Sources: "Exposition formats" and "Metric and label naming" of Prometheus' documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
_SAMPLE = re.compile(
    rf"([a-z][a-z0-9_]*)(\{{(?:{_LABEL}(?:,{_LABEL})*)?\}})? "
    r"([+-]?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|Inf)|NaN)"
)
_META = re.compile(r"# (HELP|TYPE) ([a-z][a-z0-9_]*) (.+)")
_NO_BASE_UNIT = re.compile(
    r"_(ms|us|ns|milliseconds|microseconds|minutes|hours|kb|mb|gb|kilobytes|megabytes|gigabytes|gbps|"
    r"percent|bits|bps|sec|secs)(_|$)"
)
_UNITS = ("_seconds", "_bytes", "_bytes_per_second", "_ratio", "_info", "_total", "_celsius")
_COUNTS = ("_state", "_quantities", "_files")
"""Endings of metrics without a unit: truth values and counts of things."""


def problems(text: str) -> list[str]:
    """What breaks a rule, each with its line; empty for text that is well formed."""
    return list(_problems(text))


def _problems(text: str) -> Iterator[str]:
    if not text.endswith("\n"):
        yield "the last line has no newline"
    described: dict[str, dict[str, str]] = {}
    sampled: dict[str, None] = {}
    series: set[str] = set()
    for line in text.splitlines():
        meta, sample = _META.fullmatch(line), _SAMPLE.fullmatch(line)
        if meta:
            kind, name, said = meta.groups()
            if kind in described.setdefault(name, {}):
                yield f"{line}: {kind} is there twice"
            if name in sampled:
                yield f"{line}: {kind} after samples"
            described[name][kind] = said
        elif sample:
            name, labels, _ = sample.groups()
            if "TYPE" not in described.get(name, {}):
                yield f"{line}: no TYPE before it"
            if name in sampled and next(reversed(sampled)) != name:
                yield f"{line}: samples of one metric are not together"
            if name + (labels or "") in series:
                yield f"{line}: the same series is there twice"
            series.add(name + (labels or ""))
            sampled[name] = None
        else:
            yield f"{line}: syntax"
    for name, said in described.items():
        yield from _of_metric(name, said, sampled=name in sampled)


def _of_metric(name: str, said: dict[str, str], *, sampled: bool) -> Iterator[str]:
    if said.keys() != {"HELP", "TYPE"}:
        yield f"{name}: HELP and TYPE are not both there"
    if not sampled:
        yield f"{name}: no sample"
    if said.get("TYPE") not in {"gauge", "counter", "histogram", "summary", "untyped"}:
        yield f"{name}: no such type"
    if (said.get("TYPE") == "counter") != name.endswith("_total"):
        yield f"{name}: a counter, and nothing else, ends with _total"
    if _NO_BASE_UNIT.search(name) or not name.endswith((*_UNITS, *_COUNTS)):
        yield f"{name}: no base unit at its end"
    if not said.get("HELP", "").endswith("."):
        yield f"{name}: its help is no sentence"
