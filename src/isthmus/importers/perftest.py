"""Reads text and JSON of perftest (github.com/linux-rdma/perftest): ib_write_bw, ib_send_lat, ...

A bandwidth becomes a ``window`` of study ``beff`` with as many messages as the transmit queue
holds. A latency of sends and writes is half a round trip and becomes a ``pingpong``. Client and
server print the same measurement, which ``read`` counts once. JSON of older versions has no quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from isthmus.errors import UsageError
from isthmus.importers import base
from isthmus.importers.cleaning import json_objects, without_objects
from isthmus.importers.commands import option
from isthmus.text import counted as numbered

_TITLE = re.compile(
    r"\s+((RDMA_\w+|Send\w*|Atomic\w*|raw_ethernet\w*|Write\w*|Read\w*)[\w ]*?) Test\s*$"
)
_CALL = re.compile(
    r"\s*(?:\$ )?(?:[^\s/]*/)*ib_(write|read|send|atomic)_(bw|lat)(?=\s|$)(.{0,1000})"
)
_VERBS = {"write": "RDMA_Write", "read": "RDMA_Read", "send": "Send", "atomic": "Atomic"}
_BOTH_WAYS = re.compile(r"\s(?:-[a-zA-Z]*b|--bidirectional)(?=\s|$)")
_DEVICE = re.compile(r"\bDevice\s+: (\S+)")
_DEPTH = re.compile(r"\s*TX depth\s+: (\d{1,9})")
_LINK = re.compile(r"\s*Link type\s+: (\w+)")
_ADDRESS = re.compile(r"\s*(local|remote) address: LID (\S+) QPN (\S+) PSN (\S+)")
_COLUMNS = re.compile(r"\s*#bytes\s+(?:#iterations\s|BW (?:peak|average)\[|t_\w+\[)")
_SIZE = re.compile(base.SIZE)
_COLUMN = re.compile(r"(?:BW|tps|[\d.]+%) [a-z]+(?:\[[^\]]*\])?|\S+")
"""Matches a column's name in the header: ``#bytes``, ``BW peak[MB/sec]``, ``99%
percentile[usec]``."""
_UNIT = re.compile(r"BW average\[([^\]]+)\]")
_TIME_UNIT = re.compile(r"t_(?:avg|min|typical)\[([^\]]+)\]")
_MEANT = {"MB/sec": "MiB/sec"}
"""Printed units that mean another unit: older versions print MB/sec for MiB/s."""
_SAME = 0.02
"""Largest relative difference between a printed rate and message rate times size. Both printed
numbers are rounded."""
_QUEUE = 128
"""Messages that the transmit queue holds by default (option ``--tx-depth``)."""
_FEWEST_CELLS = 4
"""Fewest cells of a row in a table with the column ``#iterations``."""
_MOST_SHORT = 2
"""Consecutive rows with too few cells that end a table, because another program printed them."""
_END = re.compile(r"\s*-{20,}\s*")
"""Matches the line of hyphens above and below a table."""
_PAIR = re.compile(r"\"?([\w.% ]+?)\"?\s*:\s*\"?([^\",{}\[\]]*?)\"?\s*,?\s*$")


@dataclass
class _Test:
    """One call of a perftest program, as client or server printed it."""

    test: str = ""
    device: str = ""
    tx_depth: int = 0
    """Messages that the transmit queue holds; 0 if the output does not state it."""
    link: str = ""
    local: set[str] = field(default_factory=set)
    remote: set[str] = field(default_factory=set)
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    unit: str = ""
    """Name in ``UNITS`` of the unit of the rate or time that is read; empty if unknown."""
    printed: str = ""
    columns: list[str] = field(default_factory=list)
    """Names of the columns in the table's header."""

    @property
    def cells(self) -> list[list[str]]:
        return [cells for _, cells in self.rows]

    def noted(self, row: str) -> bool:
        """Stores what a line says about device, queue, link or addresses; false if nothing."""
        if named := _DEVICE.search(row):
            self.device = named[1]
        elif depth := _DEPTH.match(row):
            self.tx_depth = int(depth[1])
        elif link := _LINK.match(row):
            self.link = link[1]
        elif address := _ADDRESS.match(row):
            of_end = self.local if address[1] == "local" else self.remote
            of_end.add(" ".join(address.groups()[1:]))
        else:
            return False
        return True

    def goes_on(self, words: Sequence[str]) -> bool:
        """Whether a row continues the table: it has as many cells as the first row."""
        return not self.rows or len(words) == len(self.rows[0][1])

    def is_other_end_of(self, other: _Test) -> bool:
        """Whether one printed the client's and the other the server's side of one measurement.

        Then their addresses match; without addresses, test and all figures are equal.
        """
        if self.local and other.local:
            return self.local == other.remote or self.remote == other.local
        return self.test == other.test and bool(self.cells) and self.cells == other.cells


@dataclass
class _Result:
    """Numbers of one line of a table; rates and times are in the table's unit, 0 if absent."""

    line: int
    size: int
    iterations: int
    """Number of iterations whose mean the line has; 0 if unknown."""
    rate: float = 0.0
    messages: float = 0.0
    typical: float = 0.0
    mean: float = 0.0


def read(text: str) -> base.Log:
    """Reads the figures of all perftest programs in a text, including its JSON objects."""
    problems, rows, tests, uncounted = base.Problems(), list[base.Row](), list[_Test](), False
    objects = [o for o in json_objects(text) if "test_info" in o[1] and "MsgSize" in o[1]]
    for at, body in objects:
        test, results = _of_json(body, at, problems)
        tests.append(test)
        for result in results:
            uncounted |= not result.iterations
            with problems.of(result.line):
                rows.append(
                    _of_result(test, result, _unit_of_json(result) if result.rate else "us")
                )
    both = 0
    for test in _of_text(without_objects(text, objects), problems):
        if any(test.is_other_end_of(earlier) for earlier in tests):
            both += 1
            continue
        tests.append(test)
        uncounted |= "#iterations" not in test.columns
        for line, cells in test.rows:
            with problems.of(line):
                rows.append(_of_result(test, _of_cells(test, cells, line), test.unit))
    addresses = dict.fromkeys(row.device for row in rows)
    assumed = any(not test.tx_depth and "BW" in test.test for test in tests)
    assumptions = {
        f"{_QUEUE} messages in the transmit queue, the default": assumed,
        "one iteration, where the output does not say their number": uncounted,
    }
    facts = {
        "link type": next((test.link for test in tests if test.link), ""),
        "local": _ends(test.local for test in tests),
        "remote": _ends(test.remote for test in tests),
        "both ends": "client and server printed the same run: read once" if both else "",
    }
    return base.Log(
        tool="perftest",
        rows=rows,
        devices=[base.device(a, a.partition(":")[2], kind="network") for a in addresses],
        problems=problems,
        facts={name: value for name, value in facts.items() if value},
        assumed=[text for text, applies in assumptions.items() if applies],
    )


def _ends(addresses: Iterable[set[str]]) -> str:
    return ", ".join(sorted({address for of_test in addresses for address in of_test}))


def _of_json(text: str, at: int, problems: base.Problems) -> tuple[_Test, list[_Result]]:
    """Reads a JSON object that begins in line ``at``, with or without quotes around its words."""
    about: dict[str, str] = {}
    values_by_line: list[tuple[int, dict[str, str]]] = []
    for line, row in enumerate(_one_a_line(text), at):
        for pair in row.split("\x00"):
            if not (match := _PAIR.match(pair.strip().lstrip("{[ ").strip())):
                continue
            name, value = match[1].strip(), match[2].strip()
            if name == "MsgSize":
                values_by_line.append((line, {}))
            (values_by_line[-1][1] if values_by_line else about)[name] = value
    test = _Test(
        about.get("test", "").replace(" ", "_"), about.get("Device", ""),
        int(about["TX_depth"]) if about.get("TX_depth", "").isdecimal() else 0,
        about.get("Link_type", ""),
    )  # fmt: skip
    results = []
    for line, values in values_by_line:
        with problems.of(line):
            results.append(_Result(
                line, base.size(values.get("MsgSize", ""), line),
                base.count(values["n_iterations"], line) if "n_iterations" in values else 0,
                *(float(base.number(values[name], line)) if values.get(name) else 0.0
                  for name in ("BW_average", "MsgRate", "t_typical", "t_avg")),
            ))  # fmt: skip
    return test, results


def _one_a_line(text: str) -> Iterator[str]:
    """Yields lines of JSON in which a NUL stands for each brace and each comma between pairs."""
    for row in text.splitlines():
        yield re.sub(r",\s*(?=\"?\w+\"?\s*:)|[{}]", "\x00", row)


def _unit_of_json(result: _Result) -> str:
    """Unit of the rate in JSON, which states no unit: the rate is message rate times size.

    Raises UsageError if this fits neither MiB/s nor Gb/s.
    """
    bytes_a_second = result.messages * 1e6 * result.size
    for unit in ("MiB/s", "Gb/s"):
        if abs(result.rate * base.UNITS[unit] - bytes_a_second) <= _SAME * bytes_a_second:
            return unit
    raise UsageError("BW_average fits MsgRate neither in MiB/s nor in Gb/s")


def _of_text(text: str, problems: base.Problems) -> list[_Test]:
    tests: list[_Test] = []
    test, columns, fewest, short = _Test(), False, _FEWEST_CELLS, 0
    for line, row in enumerate(text.splitlines(), 1):
        words = row.split()
        if title := _TITLE.match(row):
            test, columns = _Test(title[1].replace(" ", "_")), False
            tests.append(test)
        elif call := _CALL.match(row):
            test, columns = _of_call(call), False
        elif test.noted(row):
            continue
        elif _COLUMNS.match(row):
            if test.rows or test not in tests:  # this table has no title before it
                test = _Test(test.test, test.device, test.tx_depth, test.link)
                tests.append(test)
            with problems.of(line):
                test.unit, columns = "", False
                test.unit = _unit_of(row, line)
                test.columns = _COLUMN.findall(row)
                counted = "#iterations" in test.columns
                fewest = 1 + row.count("[")  # a cell for #bytes and for each column with a unit
                fewest = max(_FEWEST_CELLS, 1 + fewest) if counted else fewest
                test.printed = match[1] if (match := _UNIT.search(row)) else ""
                columns, short = True, 0
        elif _END.fullmatch(row):
            columns = columns and not test.rows
        elif columns and words and _SIZE.fullmatch(words[0]) and words not in test.cells[-1:]:
            if len(words) < fewest:  # refuse the row: a missing figure shifts the later figures
                columns_here = numbered(len(words), "column", "columns")
                problems.add(line, f"{columns_here}, but the header has {fewest}: cut")
                short += 1
                columns = short < _MOST_SHORT
            elif test.goes_on(words):
                short = 0
                test.rows.append((line, words))
    return [test for test in tests if test.rows]


def _of_call(call: re.Match[str]) -> _Test:
    """The test that a command line starts; it names the test of a table without a title."""
    both = "_Bidirectional" if call[2] == "bw" and _BOTH_WAYS.search(call[3]) else ""
    what = "BW" if call[2] == "bw" else "Latency"
    return _Test(f"{_VERBS[call[1]]}{both}_{what}", option(call[3], ("-d", "--ib-dev")))


def _unit_of(row: str, line: int) -> str:
    """Name in ``UNITS`` of the rate or time in a header; raises UsageError for other units."""
    if match := _UNIT.search(row):
        return base.unit_of(_MEANT.get(match[1], match[1]), line, time=False)
    if match := _TIME_UNIT.search(row):
        return base.unit_of(match[1], line, time=True)
    raise UsageError(f"line {line}: unknown unit '{row.strip()[:20]}'")


def _of_cells(test: _Test, words: list[str], line: int) -> _Result:
    """Makes a result from a line of numbers, by the names in the table's header."""
    # A test over a fixed number of iterations prints least, greatest, typical and average time; a
    # test over a fixed duration prints only the average.
    named = dict(zip((name.partition("[")[0] for name in test.columns), words, strict=False))
    iterations = named.get("#iterations")
    result = _Result(
        line, base.size(words[0], line), base.count(iterations, line) if iterations else 0
    )
    timed = test.unit in base.TIMES
    if not timed and "BW average" in named:
        result.rate = base.number(named["BW average"], line)
    elif timed and "t_typical" in named:
        result.typical = base.number(named["t_typical"], line)
    elif timed and "t_avg" in named:
        result.mean = base.number(named["t_avg"], line)
    else:
        raise UsageError(f"line {line}: no column BW average, t_typical or t_avg")
    return result


def _address(test: _Test) -> str:
    return f"perftest:{test.device or 'unknown'}"


def _axes(test: _Test) -> dict[str, int | str]:
    verb = re.sub(r"_(BW|Latency|Bidirectional|Post_List)?_?.*$", "", test.test[5:])
    return {"channel": f"{test.test[:5]}{verb}".lower(), "ranks": 2, "sizes": "own"}


def _of_result(test: _Test, result: _Result, unit: str) -> base.Row:
    return _latency(test, result, unit) if unit in base.TIMES else _rate(test, result, unit)


def _rate(test: _Test, result: _Result, unit: str) -> base.Row:
    ways = 2 if "Bidirectional" in test.test else 1
    depth = test.tx_depth or _QUEUE
    return base.Row(
        line=result.line,
        name=test.test or "bandwidth",
        kind="network",
        study="beff",
        operation="window_both" if ways == 2 else "window",
        device=_address(test),
        part=test.device,
        size=result.size,
        times=ways * depth,
        values=(result.rate,),
        unit=unit,
        printed_unit=test.printed,
        statistic="mean",
        batch=max(1, result.iterations // depth),
        api="verbs",
        initiator="dma",
        axes={**_axes(test), "depth": depth},
    )


def _latency(test: _Test, result: _Result, unit: str) -> base.Row:
    one_way = not test.test.startswith(("RDMA_Read", "Atomic"))
    typical = bool(result.typical)
    value = base.number(result.typical if typical else result.mean, result.line)
    return base.Row(
        line=result.line,
        name=test.test or "latency",
        kind="network",
        study="beff" if one_way else "",
        operation="pingpong" if one_way else "",
        device=_address(test),
        part=test.device,
        size=result.size,
        times=2 if one_way else 1,
        values=(2 * value if one_way else value,),
        unit=unit,
        statistic="median" if typical else "mean",
        batch=1 if typical else max(1, result.iterations),
        api="verbs",
        initiator="dma",
        axes=_axes(test),
    )


def _matches(text: str) -> bool:
    if "test_info" in text and "MsgSize" in text:
        return True
    return (
        re.search(r"^\s*#bytes +(?:#iterations |BW (?:peak|average)\[|t_\w+\[)", text, re.MULTILINE)
        is not None
    )


IMPORTER = base.Importer(
    "perftest", "text or --out_json of ib_write_bw, ib_read_bw, ib_send_lat, ...", _matches, read
)
