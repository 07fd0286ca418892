"""Reads log and JSON of benchmark b_eff of HPCC FPGA (github.com/pc2/HPCC_FPGA).

The JSON file has the times of every repetition on every rank: the slowest rank gives the time of a
repetition. The log has one time for each size: the longest over ranks of a rank's shortest
repetition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from isthmus.errors import UsageError
from isthmus.importers import base
from isthmus.importers.cleaning import json_objects
from isthmus.models.serial import SIZES

_NAME = '"effective bandwidth"'
_HEADER = re.compile(r"^[ \t]*MSize[ \t]+looplength[ \t]+(\S.*?)[ \t]+(\S+)[ \t]*$", re.MULTILINE)
_TIME_UNIT = re.compile(r"\[([^\]]*)\]")
_ROW = re.compile(rf"\s*({base.SIZE})\s+(\d+)\s+(\S+)\s+(\S+)\s*")
_FACT = re.compile(r"(MPI Ranks|Communication Type|Device)\s{2,}(\S.*?)\s*$")
_CHANNELS = {"IEC": "card", "PCIE": "staged"}
_REPLICATIONS = 2
"""Number of kernels on each device: one kernel for each direction."""
_ROUNDED = 1e-3
"""Largest relative error of the number of ranks that is computed from printed time and rate, which
have six digits."""


class _Value(msgspec.Struct):
    value: float
    unit: str = "s"


class _Execution(msgspec.Struct):
    looplength: int
    timings: list[_Value]


class _Size(msgspec.Struct):
    best_Bps: float = msgspec.field(name="maxCalcBW")  # noqa: N815 - a unit
    best_s: float = msgspec.field(name="maxMinCalculationTime")
    ranks: list[_Execution] = msgspec.field(name="timings")


class _File(msgspec.Struct):
    timings: dict[str, _Size]
    device: str = ""
    version: str = ""
    errors: dict[str, int] = {}
    settings: dict[str, object] = {}


def read(text: str) -> base.Log:
    """Reads a row for each message size from the log or the JSON of b_eff."""
    objects = [pair for pair in json_objects(text) if '"maxCalcBW"' in pair[1]]
    return _of_json(*objects[0]) if objects else _of_log(text)


def _of_json(at: int, text: str) -> base.Log:
    file, lines, rows, problems = (
        base.decoded(text, _File),
        base.Lines(text),
        list[_Result](),
        base.Problems(),
    )
    for exponent, result in file.timings.items():
        line = at - 1 + lines.of(f'"{exponent}"')
        with problems.of(line):
            if not (exponent.isdecimal() and int(exponent) < 40 and result.ranks):
                raise UsageError(f"'{exponent[:20]}' is no message size, or has no times")
            loops = base.count(result.ranks[0].looplength, line)
            total = base.number(result.best_Bps, line) * base.number(result.best_s, line)
            slowest = [
                max(_seconds(rank, line) for rank in of_ranks)
                for of_ranks in zip(*(rank.timings for rank in result.ranks))  # noqa: B905
            ]
            fault = f"{file.errors[exponent]} errors" if file.errors.get(exponent) else ""
            rows.append((line, 1 << int(exponent), loops, slowest, total, fault))
    ranks = file.settings.get("MPI Ranks")
    printed_ranks = ranks if isinstance(ranks, int) else 0
    return _output(rows, file.device, "", file.version, printed_ranks, problems)


def _seconds(time: _Value, line: int) -> float:
    return base.number(time.value, line) * base.UNITS[base.unit_of(time.unit, line, time=True)]


def _of_log(text: str) -> base.Log:
    facts, rows, problems = dict[str, str](), list[_Result](), base.Problems()
    units: tuple[float, float] | None = None
    fault = "validation failed" if "Validation: FAILED" in text else ""
    for line, row in enumerate(text.splitlines(), 1):
        if fact := _FACT.match(row):
            facts[fact[1]] = fact[2]
        elif header := _HEADER.match(row):
            with problems.of(line):
                units = None
                units = _units(header, line)
        elif units and (cells := _ROW.fullmatch(row)):
            with problems.of(line):
                time, rate = (
                    base.number(cells[3], line) * units[0],
                    base.number(cells[4], line) * units[1],
                )
                bytes_each, loops = base.size(cells[1], line), base.count(cells[2], line)
                rows.append((line, bytes_each, loops, [time], rate * time, fault))
    kind, ranks = facts.get("Communication Type", ""), facts.get("MPI Ranks", "")
    printed_ranks = int(ranks) if ranks.isdecimal() else 0
    return _output(rows, facts.get("Device", ""), kind, "", printed_ranks, problems)


def _units(header: re.Match[str], line: int) -> tuple[float, float]:
    """Factors from the header's units to seconds and bytes per second.

    Raises UsageError for unknown units.
    """
    time = _TIME_UNIT.search(header[1])
    if not time:
        raise UsageError(f"line {line}: no unit of the time in '{header[1][:40]}'")
    return base.UNITS[base.unit_of(time[1], line, time=True)], base.UNITS[
        base.unit_of(header[2], line, time=False)
    ]


_Result = tuple[int, int, int, list[float], float, str]
"""One message size: line, bytes of a message, steps of a loop, seconds of each loop. Then bytes
that all ranks together move in a loop, and the fault (empty if none)."""


def _output(
    rows: Sequence[_Result], name: str, kind: str, version: str, ranks: int, problems: base.Problems
) -> base.Log:
    """Makes the log of all message sizes; ``ranks``: number of ranks, 0 if the output lacks it."""
    sizes = {row[1] for row in rows}
    named = next((name for name, known_sizes in SIZES.items() if set(known_sizes) == sizes), "own")
    channel = _CHANNELS.get(kind, kind.lower() or "unknown")
    figures = []
    for row in rows:
        with problems.of(row[0]):
            figures.append(_figure(row, named, channel, ranks))
    return base.Log(
        tool="HPCC FPGA b_eff",
        version=version,
        rows=figures,
        names=[name] if name else [],
        problems=problems,
        devices=[base.device("hpcc_fpga", name or "unknown FPGA", kind="accelerator")],
        left_out=["b_eff (follows from the sizes)"],
    )


def _figure(row: _Result, sizes: str, channel: str, printed_ranks: int) -> base.Row:
    line, bytes_each, loops, times, total, fault = row
    fitting = total / loops / (_REPLICATIONS * bytes_each)
    ranks = round(fitting)
    whole = 1 <= ranks <= 1 << 20 and abs(fitting - ranks) < _ROUNDED * ranks
    if not times or not whole:
        raise UsageError(f"line {line}: the rate does not fit size, loop length and time")
    if printed_ranks and ranks != printed_ranks:
        raise UsageError(
            f"line {line}: the rate fits {ranks} ranks, and the output says {printed_ranks}: "
            "is its unit right?"
        )
    return base.Row(
        line=line,
        name="exchange",
        kind="peer",
        study="beff",
        operation="exchange",
        device="hpcc_fpga",
        size=bytes_each,
        times=ranks * _REPLICATIONS,
        values=[time / loops for time in times],
        unit="s",
        statistic="each" if len(times) > 1 else "best",
        batch=loops,
        api="opencl",
        memory="device",
        initiator="kernel",
        axes={
            "channel": channel, "ranks": ranks, "rank": "", "looplength": loops,
            "sizes": sizes, "topology": "ring",
        },
        fault=fault,
    )  # fmt: skip


def _matches(text: str) -> bool:
    return (_NAME in text and '"maxCalcBW"' in text) or _HEADER.search(text) is not None


IMPORTER = base.Importer("hpcc_fpga", "log or --dump-json of HPCC FPGA's b_eff", _matches, read)
