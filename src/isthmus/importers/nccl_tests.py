"""Text of nccl-tests and rccl-tests: collectives of several GPUs, in place and out of place.

``busbw`` is the rate that each GPU's links carry; ``algbw`` is size over time. One row is made of
each kind of buffer; the bus rate is what a link's limit is compared with.
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
"""A rank in front of each part of a line, as some launchers write."""
_COUNT = re.compile(r"[1-9][0-9]{0,3}")
_SEVERAL = 2
_LONGEST_COMMAND = 10_000
"""Characters of a command over several lines; the rest is not joined."""
_VALUES = 3
"""Time, algorithm's and bus rate of each kind of buffer."""
_IS_VALUE = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$")


def read(text: str) -> base.Log:
    """A row for each size, and kind of buffer."""
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
        if found := _RANK.match(row):
            names[found[4].strip()] = None
            ranks.add(found[1])
            hosts.add(found[2])
        elif _COLUMNS.match(row):
            table = True
        elif table and (found := _UNITS.match(row)):
            with problems.of(line):
                table = False
                units = _units(found[1], line)
                table = True
        elif found := _AVERAGE.match(row):
            average = found[1]
        elif (found := _WRONG.match(row)) and found[2] != "OK":
            outcomes.append(
                base.Outcome(line, name or "nccl-tests", "failed", f"{found[1]} wrong values")
            )
        elif found := _FAILED.match(row):
            outcomes.append(
                base.Outcome(line, name or "nccl-tests", "failed", found[1].strip()[:120])
            )
        elif table and (found := _ROW.match(row)):
            with problems.of(line):
                rows += _rows(line, found, name, units, problems)
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
    """Number of hosts; ``several`` where a command starts ranks that the text does not list."""
    for command in commands.seen:
        found = started(command, _PROGRAM)
        each = 1
        for options in (("-g", "--ngpus"), ("-t", "--nthreads")):
            value = option(command, options)
            each *= int(value) if _COUNT.fullmatch(value) else 1
        listed_all = 0 < found.ranks * each <= ranks
        listed_less = 0 < ranks < found.ranks * each
        if hosts < _SEVERAL and ((found.several_hosts and not listed_all) or listed_less):
            return "several"
    return str(hosts) if hosts else ""


def _units(text: str, line: int) -> tuple[str, str, str]:
    """Units of time and rates, of the first kind of buffer."""
    found = re.findall(r"\(([^)]+)\)", text)
    if len(found) < _VALUES:
        raise UsageError(f"line {line}: units of the columns are missing")
    return (base.unit(found[0], line), base.unit(found[1], line), base.unit(found[2], line))


def _rows(
    line: int, found: re.Match[str], name: str, units: tuple[str, str, str], problems: base.Problems
) -> list[base.Row]:
    bytes_each = base.size(found[1], line) if found[1] != "0" else 0
    if not bytes_each:
        return []
    cells = found[4].split()
    # Operation and root stand in front of the numbers, and the number of wrong values behind each.
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
    """Whether a whole number is a time: the next two are rates, with a point."""
    rest = cells[at + 1 : at + 3]
    return cells[at].isdecimal() and len(rest) == 2 and all("." in one for one in rest)


IMPORTER = base.Importer(
    "nccl_tests", "nccl-tests and rccl-tests", lambda text: re.search(
        _COLUMNS.pattern, text, re.MULTILINE
    ) is not None or _START.search(text) is not None, read,
)  # fmt: skip
