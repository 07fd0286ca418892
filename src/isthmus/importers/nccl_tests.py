"""Reads the text of nccl-tests and rccl-tests: collectives of several GPUs.

The programs print ``busbw``, the rate on each GPU's links, and ``algbw``, size over time. For each
size, ``read`` makes a row of ``busbw`` for buffers in place and a row for buffers out of place. A
verdict compares ``busbw`` with the link's limit.
"""

from __future__ import annotations

import re

from isthmus.errors import UsageError
from isthmus.importers import base
from isthmus.importers.commands import Commands, option, started

_START = re.compile(r"#\s*n[Tt]hreads?:?\s+\d+ n[Gg]pus:? ")
_RANK = re.compile(
    r"#\s*Rank\s+(\d+) (?:Group\s+\d+ )?P(?:id|ID)\s+\d+ on\s+(\S+) device\s+(\d+) \[\S+\] (.+)"
)
_COLUMNS = re.compile(r"#\s+size\s+count\s+type\b.*\bbusbw\b")
_UNITS = re.compile(r"#\s+\(B\)\s+\(elements\)\s+(.*)$")
_ROW = re.compile(rf"\s*({base.SIZE})\s+(\d+)\s+(\w+)\s+(.*)$")
_AVERAGE = re.compile(r"#\s*Avg bus bandwidth\s*:\s*(\S+)")
_WRONG = re.compile(r"#\s*Out of bounds values : (\d+) (\w+)")
_PROGRAM = re.compile(r"(?:all|reduce|broadcast|sendrecv|gather|scatter|hypercube)\w*_perf")
_NAME = re.compile(rf"\b({_PROGRAM.pattern})")
_FAILED = re.compile(r".*(?:Test NCCL failure|Test CUDA failure|Test failure|NCCL failure) (.+)")
_RANKED = re.compile(r"\[\d+\](?=[ \t])")
"""Matches the rank in brackets that some launchers write before each part of a line."""
_COUNT = re.compile(r"[1-9][0-9]{0,3}")
_SEVERAL = 2
_LONGEST_COMMAND = 10_000
"""Most characters of a command line that continues over several lines; later lines are ignored."""
_VALUES = 3
"""Number of columns for each kind of buffer: time, ``algbw``, ``busbw``."""
_IS_VALUE = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$")


def read(text: str) -> base.Log:
    """Reads a row for each size, in place and out of place."""
    rows, problems, outcomes = list[base.Row](), base.Problems(), list[base.Outcome]()
    names, ranks, hosts = dict[str, None](), set[str](), set[str]()
    name, units, table = "", ("us", "GB/s", "GB/s"), False
    average, commands, begun = "", Commands(_PROGRAM), ""
    for line, row in enumerate(_RANKED.sub(" ", text).splitlines(), 1):
        if row.endswith("\\") and len(begun) < _LONGEST_COMMAND:
            begun += f"{row[:-1]} "
        else:
            commands.met(begun + row)
            begun = ""
        if called := _NAME.search(row):
            name = called[1]
        if match := _RANK.match(row):
            names[match[4].strip()] = None
            ranks.add(match[1])
            hosts.add(match[2])
        elif _COLUMNS.match(row):
            table = True
        elif table and (match := _UNITS.match(row)):
            with problems.of(line):
                table = False
                units = _units(match[1], line)
                table = True
        elif match := _AVERAGE.match(row):
            average = match[1]
        elif (match := _WRONG.match(row)) and match[2] != "OK":
            outcomes.append(
                base.Outcome(line, name or "nccl-tests", "failed", f"{match[1]} wrong values")
            )
        elif match := _FAILED.match(row):
            outcomes.append(
                base.Outcome(line, name or "nccl-tests", "failed", match[1].strip()[:120])
            )
        elif table and (match := _ROW.match(row)):
            with problems.of(line):
                rows += _rows(line, match, name, units, problems)
    facts = {"ranks": str(len(ranks)) if ranks else "",
             "hosts": _hosts(commands, len(ranks), len(hosts)), "average": average}  # fmt: skip
    return base.Log(
        tool="nccl-tests",
        rows=rows,
        devices=[base.device("nccl:0", next(iter(names), "GPUs"), api="nccl", kind="gpu")],
        names=list(names),
        outcomes=outcomes,
        problems=problems,
        facts={key: value for key, value in facts.items() if value},
    )


def _hosts(commands: Commands, ranks: int, hosts: int) -> str:
    """Number of hosts as text: ``several`` if the text does not list all ranks of a command."""
    for command in commands.number_of:
        ranks_started = started(command, _PROGRAM)
        each = 1
        for options in (("-g", "--ngpus"), ("-t", "--nthreads")):
            value = option(command, options)
            each *= int(value) if _COUNT.fullmatch(value) else 1
        listed_all = 0 < ranks_started.ranks * each <= ranks
        listed_less = 0 < ranks < ranks_started.ranks * each
        if hosts < _SEVERAL and ((ranks_started.several_hosts and not listed_all) or listed_less):
            return "several"
    return str(hosts) if hosts else ""


def _units(text: str, line: int) -> tuple[str, str, str]:
    """Units of time, ``algbw`` and ``busbw``; raises UsageError if the header lacks units."""
    units = re.findall(r"\(([^)]+)\)", text)
    if len(units) < _VALUES:
        raise UsageError(f"line {line}: units of the columns are missing")
    return (base.unit(units[0], line), base.unit(units[1], line), base.unit(units[2], line))


def _rows(
    line: int, match: re.Match[str], name: str, units: tuple[str, str, str], problems: base.Problems
) -> list[base.Row]:
    bytes_each = base.size(match[1], line) if match[1] != "0" else 0
    if not bytes_each:
        return []
    cells = match[4].split()
    # Skip operation and root, which stand before the times. After ``busbw`` of each kind of buffer
    # there may be a column with the number of wrong values.
    begin = next((i for i, cell in enumerate(cells) if "." in cell or _is_time(cells, i)), None)
    if begin is None or len(cells) < begin + _VALUES:
        raise UsageError(f"line {line}: time, algbw and busbw are not all there")
    result = []
    after = cells[begin:]
    per = _VALUES + 1 if len(after) != 2 * _VALUES else _VALUES
    for place, at in (("out of place", 0), ("in place", per)):
        values = after[at : at + per]
        if len(values) < _VALUES or not all(map(_IS_VALUE.match, values[:_VALUES])):
            continue
        if float(values[2]) == 0:
            problems.add(line, f"busbw {values[2]}: too small for the digits that are printed")
            continue
        wrong = values[3] if len(values) > _VALUES and values[3].isdecimal() else "0"
        result.append(base.Row(
            line=line, name=f"{name or 'collective'} busbw", kind="collective", device="nccl:0",
            part=place, size=bytes_each, values=(base.number(values[2], line),), unit=units[2],
            statistic="mean", api="nccl", memory="device", initiator="kernel", clock="host",
            fault=f"{wrong} wrong values" if wrong not in {"0", "N/A"} else "",
        ))  # fmt: skip
    return result


def _is_time(cells: list[str], at: int) -> bool:
    """Whether a cell is a time without a decimal point: then two rates with a point follow."""
    rest = cells[at + 1 : at + 3]
    return cells[at].isdecimal() and len(rest) == 2 and all("." in cell for cell in rest)


IMPORTER = base.Importer(
    "nccl_tests", "nccl-tests and rccl-tests", lambda text: re.search(
        _COLUMNS.pattern, text, re.MULTILINE
    ) is not None or _START.search(text) is not None, read,
)  # fmt: skip
