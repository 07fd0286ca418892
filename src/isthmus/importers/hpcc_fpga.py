"""Log and JSON of b_eff of HPCC FPGA (github.com/pc2/HPCC_FPGA).

The JSON file has each repetition of each rank: the time of a repetition is its slowest rank's. The
log has one time: of the ranks' own fastest repetitions, which need not be the same, the slowest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from isthmus.errors import UsageError
from isthmus.importers.base import (
    UNITS,
    Importer,
    Lines,
    Log,
    Problems,
    Row,
    count,
    decoded,
    device,
    number,
)
from isthmus.importers.base import size as parsed_size
from isthmus.importers.base import unit as known_unit
from isthmus.importers.cleaning import json_objects
from isthmus.models.serial import SIZES

_NAME = '"effective bandwidth"'
_HEADER = re.compile(r"^\s*MSize\s+looplength\s+\S.*?(\w*B/s)\s*$", re.MULTILINE)
_ROW = re.compile(r"\s*(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s*")
_FACT = re.compile(r"(MPI Ranks|Communication Type|Device)\s{2,}(\S.*?)\s*$")
_CHANNELS = {"IEC": "card", "PCIE": "staged"}
_REPLICATIONS = 2
"""Of the kernel on each device: the definition's two ways."""


class _Value(msgspec.Struct):
    value: float


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


def read(text: str) -> Log:
    """Exchanges of each size."""
    objects = [one for one in json_objects(text) if '"maxCalcBW"' in one[1]]
    return _of_json(*objects[0]) if objects else _of_log(text)


def _of_json(at: int, text: str) -> Log:
    file, lines, rows, problems = decoded(text, _File), Lines(text), list[_Result](), Problems()
    for exponent, one in file.timings.items():
        line = at - 1 + lines.of(f'"{exponent}"')
        with problems.of(line):
            if not (exponent.isdecimal() and int(exponent) < 40 and one.ranks):
                raise UsageError(f"'{exponent[:20]}' is no message size, or has no times")
            loops = count(one.ranks[0].looplength, line)
            total = number(one.best_Bps, line) * number(one.best_s, line)
            slowest = [
                max(number(rank.value, line) for rank in of_ranks)
                for of_ranks in zip(*(rank.timings for rank in one.ranks))  # noqa: B905
            ]
            fault = f"{file.errors[exponent]} errors" if file.errors.get(exponent) else ""
            rows.append((line, 1 << int(exponent), loops, slowest, total, fault))
    return _output(rows, file.device, "", file.version, problems)


def _of_log(text: str) -> Log:
    facts, rows, scale, problems = dict[str, str](), list[_Result](), 0.0, Problems()
    fault = "validation failed" if "Validation: FAILED" in text else ""
    for line, row in enumerate(text.splitlines(), 1):
        if fact := _FACT.match(row):
            facts[fact[1]] = fact[2]
        elif header := _HEADER.match(row):
            with problems.of(line):
                scale = 0.0
                scale = UNITS[known_unit(header[1], line)]
        elif scale and (cells := _ROW.fullmatch(row)):
            with problems.of(line):
                time, rate = number(cells[3], line), number(cells[4], line) * scale
                bytes_each, loops = parsed_size(cells[1], line), count(cells[2], line)
                rows.append((line, bytes_each, loops, [time], rate * time, fault))
    kind = facts.get("Communication Type", "")
    return _output(rows, facts.get("Device", ""), kind, "", problems)


_Result = tuple[int, int, int, list[float], float, str]
"""Line, bytes, loop length, seconds of loops, bytes that all ranks move in one, fault."""


def _output(rows: Sequence[_Result], name: str, kind: str, version: str, problems: Problems) -> Log:
    sizes = {row[1] for row in rows}
    named = next((name for name, one in SIZES.items() if set(one) == sizes), "own")
    channel = _CHANNELS.get(kind, kind.lower() or "unknown")
    figures = []
    for row in rows:
        with problems.of(row[0]):
            figures.append(_figure(row, named, channel))
    return Log(
        tool="HPCC FPGA b_eff",
        version=version,
        rows=figures,
        names=[name] if name else [],
        problems=problems,
        devices=[device("hpcc_fpga", name or "unknown FPGA", kind="accelerator")],
        left_out=["b_eff (follows from the sizes)"],
    )


def _figure(row: _Result, sizes: str, channel: str) -> Row:
    line, bytes_each, loops, times, total, fault = row
    moved = round(total / loops)
    ranks = round(moved / (_REPLICATIONS * bytes_each))
    if not times or not 1 <= ranks <= 1 << 20:
        raise UsageError(f"line {line}: the rate does not fit size, loop length and time")
    return Row(
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


IMPORTER = Importer("hpcc_fpga", "log or --dump-json of HPCC FPGA's b_eff", _matches, read)
