"""Text and JSON of perftest (github.com/linux-rdma/perftest): ib_write_bw, ib_send_lat and others.

A bandwidth becomes the study ``beff``'s ``window`` with as many messages as the transmit queue
holds, a latency of sends and writes, which is half a round trip, a ``pingpong``.
"""

from __future__ import annotations

import re

import msgspec

from isthmus.errors import UsageError
from isthmus.importers.base import (
    UNITS,
    Figure,
    Importer,
    Lines,
    Output,
    count,
    decoded,
    device,
    number,
    size,
)

_TITLE = re.compile(r"\s+((RDMA_\w+|Send\w*|Atomic\w*|raw_ethernet\w*)[\w ]*) Test\s*$")
_DEVICE = re.compile(r"\bDevice\s+: (\S+)")
_DEPTH = re.compile(r" TX depth\s+: (\d+)")
_UNIT = re.compile(r"BW average\[(MiB/sec|MB/sec|Gb/sec)\]")
_RATES = {"MiB/sec": "MiB/s", "MB/sec": "MiB/s", "Gb/sec": "Gb/s"}
"""Older versions print MB/sec and mean MiB."""
_SAME = 0.02
"""Share by which a rate may differ from message rate times size: both are rounded."""
_QUEUE = 128
"""Default of ``--tx-depth``."""


class _Test(msgspec.Struct):
    test: str
    device: str = msgspec.field(default="", name="Device")
    tx_depth: int = msgspec.field(default=0, name="TX_depth")
    """0: it is not said."""


class _Results(msgspec.Struct):
    size: int = msgspec.field(name="MsgSize")
    iterations: int = msgspec.field(name="n_iterations")
    rate: float = msgspec.field(default=0.0, name="BW_average")
    messages: float = msgspec.field(default=0.0, name="MsgRate")
    typical_us: float = msgspec.field(default=0.0, name="t_typical")
    mean_us: float = msgspec.field(default=0.0, name="t_avg")


class _File(msgspec.Struct):
    test_info: _Test
    results: _Results


def read(text: str) -> Output:
    """Figures of all tests in the text, or of the one in the JSON file."""
    if not text.lstrip().startswith("{"):
        return _output(*_of_text(text))
    file = decoded(text, _File)
    found, line = file.results, Lines(text).of('"MsgSize"')
    if found.rate:
        unit = _unit(found, line)
        figures = [_rate(file.test_info, found, line, unit)]
    else:
        figures = [_latency(file.test_info, found, line)]
    return _output([file.test_info], figures)


def _output(tests: list[_Test], figures: list[Figure]) -> Output:
    addresses = dict.fromkeys(figure.device for figure in figures)
    assumed = any(not test.tx_depth and "BW" in test.test for test in tests)
    return Output(
        tool="perftest",
        figures=figures,
        devices=[device(one, one.partition(":")[2], kind="network") for one in addresses],
        assumed=[f"{_QUEUE} messages in the transmit queue, the default"] if assumed else [],
    )


def _unit(found: _Results, line: int) -> str:
    """Unit of a rate in JSON, which does not say it: the one that fits the rate of messages."""
    bytes_a_second = found.messages * 1e6 * size(found.size, line)
    for unit in ("MiB/s", "Gb/s"):
        if abs(found.rate * UNITS[unit] - bytes_a_second) <= _SAME * bytes_a_second:
            return unit
    raise UsageError("BW_average fits MsgRate neither in MiB/s nor in Gb/s")


def _of_text(text: str) -> tuple[list[_Test], list[Figure]]:
    tests: list[_Test] = []
    figures: list[Figure] = []
    test, unit, columns = _Test(""), "", 0
    for line, row in enumerate(text.splitlines(), 1):
        words = row.split()
        if title := _TITLE.match(row):
            test, unit, columns = _Test(title[1].replace(" ", "_")), "", 0
            tests.append(test)
        elif named := _DEVICE.search(row):
            test.device = named[1]
        elif depth := _DEPTH.match(row):
            test.tx_depth = count(depth[1], line)
        elif row.lstrip().startswith("#bytes"):
            found = _UNIT.search(row)
            unit, columns = (_RATES[found[1]] if found else "us"), len(words)
        elif columns and words and words[0].isdecimal():
            figures.append(_of_row(test, words, line, unit))
    return tests, figures


def _of_row(test: _Test, words: list[str], line: int, unit: str) -> Figure:
    """One line of numbers: ``#bytes #iterations``, then ``peak average`` or times."""
    # Times: min, max, typical, average and more; of a test by duration the average only.
    if len(words) < 5 and not (unit == "us" and len(words) == 4):
        raise UsageError(f"line {line}: {len(words)} columns, too few for perftest")
    bytes_each, iterations = size(words[0], line), count(words[1], line)
    if unit != "us":
        found = _Results(bytes_each, iterations, rate=number(words[3], line))
        return _rate(test, found, line, unit)
    times = {"mean_us": number(words[2], line)} if len(words) == 4 else {
        "typical_us": number(words[4], line)
    }  # fmt: skip
    return _latency(test, _Results(bytes_each, iterations, **times), line)


def _address(test: _Test) -> str:
    return f"perftest:{test.device or 'unknown'}"


def _axes(test: _Test) -> dict[str, int | str]:
    verb = re.sub(r"_(BW|Latency|Bidirectional|Post_List)?_?.*$", "", test.test[5:])
    return {"channel": f"{test.test[:5]}{verb}".lower(), "ranks": 2, "sizes": "own"}


def _rate(test: _Test, found: _Results, line: int, unit: str) -> Figure:
    ways = 2 if "Bidirectional" in test.test else 1
    depth, bytes_each = test.tx_depth or _QUEUE, size(found.size, line)
    return Figure(
        line=line,
        study="beff",
        operation="window_both" if ways == 2 else "window",
        device=_address(test),
        bytes=bytes_each,
        moved_bytes=ways * count(depth, line) * bytes_each,
        values=(number(found.rate, line),),
        unit=unit,
        statistic="mean",
        batch=max(1, count(found.iterations, line) // depth),
        api="verbs",
        initiator="dma",
        axes={**_axes(test), "depth": depth},
    )


def _latency(test: _Test, found: _Results, line: int) -> Figure:
    if test.test.startswith(("RDMA_Read", "Atomic")):
        raise UsageError(f"{test.test}: no operation of Isthmus is the same as a remote read")
    typical, bytes_each = bool(found.typical_us), size(found.size, line)
    value = number(found.typical_us if typical else found.mean_us, line)
    return Figure(
        line=line,
        study="beff",
        operation="pingpong",
        device=_address(test),
        bytes=bytes_each,
        moved_bytes=2 * bytes_each,
        values=(2 * value,),
        unit="us",
        statistic="median" if typical else "mean",
        batch=1 if typical else count(found.iterations, line),
        api="verbs",
        initiator="dma",
        axes=_axes(test),
    )


def _matches(text: str) -> bool:
    if text.lstrip().startswith("{"):
        return '"test_info"' in text[:400] and '"MsgSize"' in text
    return re.search(r"^ ?#bytes +#iterations ", text, re.MULTILINE) is not None


IMPORTER = Importer(
    "perftest", "text or --out_json of ib_write_bw, ib_read_bw, ib_send_lat, ...", _matches, read
)
