"""Reads the text of the OSU micro-benchmarks (MPI), with buffers of hosts or devices.

Outputs with the same buffers count as repetitions only if the same command printed them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from isthmus.errors import UsageError
from isthmus.importers import base
from isthmus.importers.commands import Commands

_WINDOW = 64
"""Messages in a window by default (option ``-W``); the output does not state the number."""
_TITLE = re.compile(r"# OSU (.+) Test(?: v?(\S+))?")
_BUFFERS = re.compile(r"# Send Buffer on \w+ \((\w+)\) and Receive Buffer on \w+ \((\w+)\)")
_PAIRS = re.compile(r"# \[ pairs: (\d+) \](?: \[ window size: (\d+) \])?")
_COLUMNS = re.compile(r"# Size\b(.*)$")
_UNIT = re.compile(r"\(([^()\s]+)\)|(?<!\S)(\w+/s)\b")
_ROW = re.compile(rf"({base.SIZE})\s+(\S+)(?:\s+.*)?$")
_PROGRAM = re.compile(r"osu_\w+")
_MEMORY = {"H": "aligned", "D": "device", "M": "managed", "MD": "managed", "MH": "managed"}
"""Kind of memory by the letter that the output has for a buffer. Version 7.5 for CUDA or ROCm
prints no letters."""
_OPERATIONS = {
    "Bandwidth": ("osu_bw", "window", _WINDOW),
    "Bi-Directional Bandwidth": ("osu_bibw", "window_both", 2 * _WINDOW),
    "Latency": ("osu_latency", "pingpong", 2),
    "Multiple Bandwidth / Message Rate": ("osu_mbw_mr", "", 1),
}
"""By title of the output: program, operation of Isthmus, and messages in one repetition. Programs
with other titles measure collectives."""

_HOST_ASSUMED = "buffers in host memory, as neither the output nor a command names GPUs"


@dataclass
class _Part:
    """The output of one call of a program of the OSU micro-benchmarks."""

    title: str = ""
    version: str = ""
    buffers: tuple[str, str] = ("H", "H")
    names_buffers: bool = False
    """Whether the output or its command line states the kinds of the buffers."""
    pairs: int = 1
    window: int = _WINDOW
    unit: str = ""
    printed: str = ""
    headed: bool = False
    """Whether the reader has passed the header of the table's columns."""
    run: int = 1
    cells: int = 0
    """Number of cells in the table's first row; 0 before the first row."""

    def goes_on(self, cells: int) -> bool:
        """Whether a row continues the table: it has as many cells as the first row."""
        self.cells = self.cells or cells
        return cells == self.cells

    @property
    def operation(self) -> str:
        return _OPERATIONS.get(self.title, ("", "", 1))[1]

    @property
    def latency(self) -> bool:
        return self.title == "Latency"


def read(text: str) -> base.Log:
    """Reads bandwidths as windows of 64 messages, and latencies as round trips.

    A round trip is twice the printed latency.
    """
    tools: dict[str, str] = {}
    rows: list[base.Row] = []
    problems, commands, part = base.Problems(), Commands(_PROGRAM), _Part()
    assumed: dict[str, None] = {}
    all_name_buffers = True  # whether each table or its command states the kinds of buffers
    for line, row in enumerate(text.splitlines(), 1):
        if commands.met(row):
            continue
        if title := _TITLE.match(row.strip()):
            part = _part(title, max(commands.number, 1), _of_command(commands.current))
            tools[_OPERATIONS.get(part.title, (title[1],))[0]] = part.version
        elif where := _BUFFERS.match(row.strip()):
            part.buffers, part.names_buffers = (where[1], where[2]), True
        elif pairs := _PAIRS.match(row.strip()):
            part.pairs, part.window = int(pairs[1]), int(pairs[2] or _WINDOW)
        elif columns := _COLUMNS.match(row.strip()):
            with problems.of(line):
                part.unit, part.headed = "", True
                part.printed, part.unit = _unit_of(columns[1], part.title, line)
        elif part.title and (match := _ROW.match(row.strip())) and match[1] != "0":
            if not part.unit:
                continue  # no unit: the header's line is already reported as a problem
            if not part.goes_on(len(row.split())):
                continue  # another program's table has begun: ignore its row
            if not part.headed:
                assumed[f"{part.unit}, as osu prints: a header of columns is missing"] = None
            with problems.of(line):
                rows.append(_row(match, row, line, part))
            all_name_buffers &= part.names_buffers
    addresses = dict.fromkeys(row.device for row in rows)
    return base.Log(
        tool=" and ".join(tools) or "OSU micro-benchmarks",
        version=next(iter(tools.values()), ""),
        rows=rows,
        devices=[base.device(address, "two ranks of MPI", api="mpi") for address in addresses],
        problems=problems,
        facts={"command": commands.current} if commands.current else {},
        assumed=[
            *(["a window of 64 messages, the default of -W"] if {*tools} - {"osu_latency"} else []),
            *assumed,
            *([] if all_name_buffers or not rows else [_HOST_ASSUMED]),
        ],
    )


def _of_command(command: str) -> tuple[str, str] | None:
    """Letters of both buffers in a command line: D, H of ``osu_bw -d cuda D H``; None without."""
    words = command.split()
    at = next((i for i, word in enumerate(words) if _PROGRAM.fullmatch(word.rpartition("/")[2])), 0)
    letters = [word for word in words[at + 1 :] if word in _MEMORY]
    if len(letters) == len(("sender", "receiver")):
        return letters[0], letters[1]
    return None


def _part(title: re.Match[str], run: int, buffers: tuple[str, str] | None) -> _Part:
    name = title[1]
    accelerated = re.match(r"MPI-\S+ ", name) is not None
    plain = re.sub(r"^MPI(-\S+)? ", "", name)
    plain = plain if plain in _OPERATIONS else name
    latency = "Latency" in plain
    return _Part(
        plain, title[2] or "", buffers or (("", "") if accelerated else ("H", "H")),
        names_buffers=accelerated or buffers is not None,
        unit="us" if latency else "MB/s", printed="us" if latency else "MB/s", run=run,
    )  # fmt: skip


def _unit_of(columns: str, title: str, line: int) -> tuple[str, str]:
    """Unit of the first column after the size: as printed, and its name in ``UNITS``.

    Raises UsageError for an unknown unit, for a time in a table of bandwidths, and for a rate in a
    table of latencies.
    """
    match = _UNIT.search(columns)
    if not match:
        raise UsageError(f"line {line}: no unit in '{columns.strip()[:40]}'")
    printed = match[1] or match[2]
    return printed, base.unit_of(printed, line, time="Latency" in title)


def _row(match: re.Match[str], row: str, line: int, part: _Part) -> base.Row:
    bytes_each = base.size(match[1], line)
    sender, receiver = (_MEMORY.get(letter, "") for letter in part.buffers)
    value = base.number(match[2], line)
    operation = part.operation
    axes: dict[str, int | str] = {"channel": "mpi", "ranks": 2, "sizes": "own"}
    axes |= {} if part.latency else {"depth": _WINDOW}
    axes |= {} if sender == receiver else {"receiver_memory": receiver}
    axes |= {"run": part.run} if part.run > 1 else {}
    buffers = " to ".join(filter(None, part.buffers)) or "unknown buffers"
    messages = _OPERATIONS.get(part.title, ("", "", 1))[2]
    timed = part.unit in base.TIMES
    if part.title not in _OPERATIONS:
        name, kind = part.title, "collective"
    else:
        name, kind = _OPERATIONS[part.title][0], "network"
    return base.Row(
        line=line,
        name=name,
        kind=kind,  # type: ignore[arg-type]
        part=f"{part.pairs} pairs" if part.pairs > 1 else buffers,
        ends=() if part.pairs > 1 else tuple(filter(None, part.buffers)),
        run=part.run,
        study="beff" if operation else "",
        operation=operation,
        device="host"
        if part.buffers == ("H", "H")
        else f"mpi:{'-'.join(filter(None, part.buffers)) or 'unknown'}",
        size=bytes_each,
        times=1 if timed and not part.latency else messages,
        values=(2 * value if part.latency else value,),
        unit=part.unit,
        printed_unit=part.printed,
        statistic="mean",
        api="mpi",
        memory=sender,
        axes=axes,
        fault="osu says that validation failed" if row.rsplit(maxsplit=1)[-1] == "Fail" else "",
    )


IMPORTER = base.Importer(
    "osu",
    "text of osu_bw, osu_bibw, osu_latency and others",
    lambda text: re.search(r"^\s*# OSU ", text, re.MULTILINE) is not None,
    read,
)
