"""``isthmus advise``: which way to move data of one size, and the calls that do it."""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isthmus.cli.declared import DeclaringCommand, separated
from isthmus.errors import UsageError

if TYPE_CHECKING:
    from isthmus.analysis.advice import Advice, Option, Way
    from isthmus.measure.plan import Task
    from isthmus.results.run_file import DeviceRecord, Run
    from isthmus.statistics import Interval

_NOT_KEPT = 3
_DIRECTIONS = {"h2d": "to the device", "d2h": "to the host"}
_ALIASES = {"h2c": "h2d", "c2h": "d2h"}
_DEPTHS = (1, 4, 16)
"""Transfers in flight that are measured: powers of ``_STEP``, so that the totals coincide."""
_STEP = 4
_LEVELS = 7
_ROUNDED = 1000
"""A size is rounded up by less than one part in this, so that it divides into equal chunks."""
_PRECISION = 0.05
_ROWS = 8
_COLUMNS = 79
_NO_LINK_BPS = 1e12
"""Bytes a second that no link carries."""


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(
        name="advise",
        cls=DeclaringCommand,
        help="Say which API, memory and number of transfers in flight move data of SIZE best, "
        "from run files or from a short measurement of --device.",
    )(advise)


def advise(
    context: typer.Context,
    size: Annotated[str, typer.Argument(help="bytes to move: 4Ki, 64Mi")],
    runs: Annotated[list[Path] | None, typer.Argument(help="run files; none: measure")] = None,
    device: Annotated[
        list[str] | None, typer.Option(help="as isthmus run has it; of run files: these only")
    ] = None,
    direction: Annotated[str, typer.Option(help="h2d or d2h")] = "h2d",
    rate: Annotated[float | None, typer.Option(help="GB/s wanted")] = None,
    deadline: Annotated[str | None, typer.Option(help="time wanted, e.g. 5ms")] = None,
    once: Annotated[
        bool, typer.Option("--once", help="memory is used once: count what allocating it costs")
    ] = False,
    code: Annotated[bool, typer.Option("--code", help="print a program that does it")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
    budget: Annotated[float, typer.Option(help="seconds to measure")] = 60.0,
    out: Annotated[Path | None, typer.Option(help="keep the measured run in this file")] = None,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="refuse where another Isthmus measures")
    ] = False,
) -> int:
    """Prints the advice; ends with 3 where a wanted rate or time is not certain to be kept."""
    from isthmus.cli.run import positive
    from isthmus.units import parse_seconds, parse_size

    wanted_bytes, direction = parse_size(size), _ALIASES.get(direction, direction)
    if direction not in _DIRECTIONS:
        raise UsageError(f"no direction '{direction}': h2d or d2h")
    if rate is not None and deadline is not None:
        raise UsageError("give --rate or --deadline: one follows from the other")
    positive(rate, "--rate")
    positive(budget, "--budget")
    wanted_s = (
        parse_seconds(deadline) if deadline else wanted_bytes / (1e9 * rate) if rate else None
    )
    if runs:
        from isthmus.results import run_file

        loaded = [run_file.load(path) for path in runs]
    elif device:
        options, _ = separated(context.obj)
        loaded = _measured(
            device, wanted_bytes, direction, once=once, budget_s=budget, options=options, out=out,
            no_wait=no_wait,
        )  # fmt: skip
    else:
        raise UsageError("name a run file, or --device to measure: isthmus devices lists them")
    found, records = _advice(loaded, device or [], wanted_bytes, direction, wanted_s, once=once)
    record = records[found.best.way.device]
    if code:
        print(program(found, record, wanted_bytes, direction), end="")
    elif as_json:
        _print_json(found, records, wanted_bytes, direction, wanted_s)
    else:
        from isthmus.units import printable

        lines = _lines(found, record, wanted_bytes, direction, wanted_s)
        print("\n".join(map(printable, lines)))
    return 0 if found.met in {"", "yes"} else _NOT_KEPT


def kinds_of(devices: Sequence[DeviceRecord]) -> dict[str, list[str]]:
    """Kinds of memory of each device, simplest first, as its backend declares them."""
    from isthmus import backends

    named = {device.address: backends.of(device.backend) for device in devices}
    return {
        address: list(dict.fromkeys([backend.naive_memory, *backend.memory_calls]))
        for address, backend in named.items()
    }


def _advice(
    runs: Sequence[Run],
    chosen: Sequence[str],
    size: int,
    direction: str,
    wanted_s: float | None,
    *,
    once: bool,
) -> tuple[Advice, dict[str, DeviceRecord]]:
    """Advice from runs, and the records of their devices by address."""
    import pandas as pd

    from isthmus.analysis.advice import Ways
    from isthmus.analysis.ratios import memory_copies
    from isthmus.analysis.summary import summarise
    from isthmus.text import nearest

    records = {device.address: device for run in runs for device in run.devices}
    for address in chosen:
        if address not in records:
            known = f"{nearest(address, records)}here: {', '.join(records)}"
            raise UsageError(f"no device '{address}' in these runs; {known}")
    copies = frozenset[str]().union(*map(memory_copies, runs))
    used = chosen or [address for address in records if address not in copies] or list(records)
    rows = pd.concat([summarise(run) for run in runs], ignore_index=True)
    ways = Ways.of(
        rows[rows["device"].isin(used)],
        direction,
        kinds_of(list(records.values())),
        confidence=runs[0].settings.confidence,
        once=size if once else 0,
    )
    return ways.advise(size, wanted_s), records


def _measured(
    addresses: Sequence[str],
    size: int,
    direction: str,
    *,
    once: bool,
    budget_s: float,
    options: Mapping[str, str],
    out: Path | None,
    no_wait: bool,
) -> list[Run]:
    """Short runs of study ``transfer``, and with ``once`` of ``allocation``, up to ``size``."""
    from rich.console import Console

    from isthmus.analysis.advice import COPIES, MAPS
    from isthmus.cli.progress import Progress
    from isthmus.measure import session
    from isthmus.measure.devices import devices_of
    from isthmus.measure.plan import has_memory, offered
    from isthmus.studies import by_name

    unit = _STEP ** max(0, _power(size // _ROUNDED))
    top = -(-size // unit) * unit
    sizes = [top // _STEP**i for i in range(_LEVELS) if top % _STEP**i == 0]
    studies = {"transfer": {"bytes": sizes}}
    if once:
        elements = [max(1, -(-one // _STEP)) for one in sizes[::2]]
        studies["allocation"] = {"elements": elements}

    def keeps(task: Task) -> bool:
        return task.bytes * int(task.axes.get("depth", 1)) <= top or task.offload

    runs = []
    with tempfile.TemporaryDirectory() as folder, Progress(Console(stderr=True)) as progress:
        with session.lock_for_hardware(addresses, progress, no_wait=no_wait):
            found, _ = devices_of(addresses, options, progress, None)
        for name, axes in studies.items():
            study = by_name(name)
            kinds = dict.fromkeys(
                kind
                for one in found
                for kind in (one.backend.naive_memory, *one.backend.memory_calls)
                if has_memory(study, one.description, kind)
            )
            if not kinds:  # it is said to be unknown
                continue
            words = {axis: ",".join(map(str, values)) for axis, values in axes.items()}
            words["memory"] = ",".join(kinds)
            if name == "transfer":
                mapping = any(offered(study, one.description, MAPS[0]) for one in found)
                words["operation"] = ",".join([COPIES[direction], *(MAPS if mapping else ())])
                words["depth"] = ",".join(map(str, _DEPTHS))
            else:
                words["handover"] = "copy"
            kept = out if out and name == "transfer" else Path(folder, f"{name}.json")
            request = session.Request(
                studies=[study], devices=addresses, axes=words, out=kept,
                command=["isthmus", *sys.argv[1:]], precision=_PRECISION, budget_s=budget_s,
                options=options, no_wait=no_wait, keeps=keeps,
            )  # fmt: skip
            runs.append(session.measure(request, progress))
    return runs


def _power(number: int) -> int:
    """The largest power of ``_STEP`` in a number: its exponent."""
    return (number.bit_length() - 1) // (_STEP.bit_length() - 1)


def _named(way: Way, size: int) -> str:
    """A way in words, without its device: ``pinned memory, 4 x 16Mi``."""
    from isthmus.units import format_size

    pieces = f"{way.depth} x {format_size(way.chunk(size))} in flight"
    whole = "whole" if way.call == "copy" else "mapped"
    return f"{way.memory} memory, {pieces if way.depth > 1 else whole}"


def _timed(time: Interval) -> str:
    """A time with its interval: ``8.10 ms (7.94 to 8.31)``."""
    from isthmus.units import format_seconds

    value, low, high = map(format_seconds, time[:3])
    if not time.known:
        return f"{value} (interval unknown)"
    short = low.removesuffix(value[-3:]) if high.endswith(value[-3:]) else low
    return value if low == high else f"{value} ({short} to {high})"


def _rated(option: Option, size: int) -> str:
    """The rate; empty where it is so high that nothing was copied."""
    from isthmus.units import format_rate

    rate = size / option.time.value
    return format_rate(rate) if rate < _NO_LINK_BPS else ""


def _sentence(option: Option, size: int, direction: str) -> str:
    """The answer in one line."""
    from isthmus.units import format_size

    rate = _rated(option, size) or "nothing is copied"
    return (
        f"{format_size(size)} {_DIRECTIONS[direction]}: {_named(option.way, size)}, on "
        f"{option.way.device}: {_timed(option.time)}, {rate}."
    )


def _lines(
    found: Advice, record: DeviceRecord, size: int, direction: str, wanted_s: float | None
) -> Iterator[str]:
    """The advice on one screen, the answer first."""
    from textwrap import wrap

    for sentence in (
        _sentence(found.best, size, direction),
        *_wanted(found, size, wanted_s),
        *_compared(found, size),
        *_notes(found, record),
    ):
        yield from wrap(
            sentence, _COLUMNS, subsequent_indent="  ",
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
    yield from _measure(found, record, size)
    if len(found.crossovers) > 1:
        yield ""
        yield from _table(found.crossovers)


def _wanted(found: Advice, size: int, wanted_s: float | None) -> Iterator[str]:
    from isthmus.units import format_rate, format_seconds

    said = {
        "yes": "kept; this is the simplest way that certainly keeps it",
        "no": "no measured way keeps it; this is the fastest",
        "unknown": "not certain to be kept; this is the fastest",
    }
    if wanted_s is not None:
        rate = format_rate(size / wanted_s)
        yield f"Wanted: {format_seconds(wanted_s)}, {rate}: {said[found.met]}."


def _compared(found: Advice, size: int) -> Iterator[str]:
    """The naive way, the fastest, and those that may be as fast."""
    from isthmus.analysis.wording import number, percent

    if found.naive is None or found.gain is None:
        yield "The naive way, plain memory in one whole transfer, was not measured at this size."
    elif found.naive.way == found.best.way:
        yield "This is the naive way: plain memory in one whole transfer."
    else:
        name = f"The naive way, {_named(found.naive.way, size)},"
        value, low, high = map(number, found.gain[:3])
        yield f"{name} takes {value} times as long{'' if low == high else f' ({low} to {high})'}."
    if found.best.way != found.fastest.way:
        name = f"{_named(found.fastest.way, size)} on {found.fastest.way.device}"
        least, most = (1 - 1 / end for end in (found.slower.low, found.slower.high))
        if found.best not in found.alike:
            yield f"The fastest, {name}, takes {percent(least)} to {percent(most)} less time."
        elif found.slower.known:
            yield f"Nothing is certainly faster; {name} takes at most {percent(most)} less time."
        else:
            yield f"Whether {name} is faster is not known."
    others = [one.way for one in found.alike if one.way not in {found.best.way, found.fastest.way}]
    if others and found.best in found.alike:
        yield f"As fast, as far as is certain, and less simple: {len(others)} more (--json)."


def _notes(found: Advice, record: DeviceRecord) -> Iterator[str]:
    """What the figures do not say by themselves."""
    from isthmus.units import format_size

    if found.between:
        low, high = map(format_size, found.between)
        yield f"Estimated between measured sizes {low} and {high}."
    if found.elsewhere:
        ways = [f"{way.memory} {way.call}" for way in found.elsewhere]
        names = ", ".join(dict.fromkeys(ways))
        yield f"Not compared, for they were measured at other sizes only: {names}."
    if found.clock == "simulated":
        yield "Simulated: link and card, without the software of an API."
    elif not record.real:
        yield "No hardware was measured."
    if found.within:
        yield "Each figure is of one process; intervals have the scatter between sizes, too."
    if found.best.way.call == "map":
        yield "Mapping and unmapping count, not what the program does with the data."
    if found.counted:
        yield "All times include the first use of newly allocated memory."
    if found.unknown and found.counted:
        yield f"Left out, for their first use was not measured: {', '.join(found.unknown)} memory."
    elif found.unknown:
        yield (
            "What the first use of memory costs was not measured for this size: plain memory alone "
            "is compared, as if it were reused."
        )


def _measure(found: Advice, record: DeviceRecord, size: int) -> Iterator[str]:
    """The command that measures what is unknown of the first use of memory."""
    from isthmus.cli.program import program as isthmus

    if found.unknown:
        kinds = dict.fromkeys((found.best.way.memory, *found.unknown))
        yield (
            f"Measure it: {isthmus()} run allocation --device {shlex.quote(record.address)} "
            f"--handover copy --elements {-(-size // 4)} --memory {','.join(kinds)}"
        )


def _table(crossovers: Sequence[tuple[int, Option]]) -> Iterator[str]:
    from isthmus.units import format_seconds, format_size

    yield f"{'from':>6}  {'time':>8}  {'rate':>9}  way"
    for at, option in crossovers[:_ROWS]:
        time, rate = format_seconds(option.time.value), _rated(option, at)
        name = f"{_named(option.way, at)} ({option.way.device})"
        yield f"{format_size(at):>6}  {time:>8}  {rate:>9}  {name}"
    if len(crossovers) > _ROWS:
        yield f"        {len(crossovers) - _ROWS} more: --json"


def _print_json(
    found: Advice,
    records: Mapping[str, DeviceRecord],
    size: int,
    direction: str,
    wanted_s: float | None,
) -> None:
    """The same for programs: intervals by name, null where an end is unknown."""
    import dataclasses

    import msgspec

    from isthmus.analysis.advice import Option
    from isthmus.statistics import Interval

    def plain(value: Any, at: int = size) -> Any:
        if isinstance(value, Interval):
            return value._asdict()
        if isinstance(value, Option):
            way, api = value.way, records[value.way.device].api
            named = {"way": way._asdict(), "api": api, "chunk_bytes": way.chunk(at)}
            return {**named, "time": plain(value.time)}
        return value

    fields = {one.name: plain(getattr(found, one.name)) for one in dataclasses.fields(found)}
    fields["alike"] = [plain(one) for one in found.alike]
    fields["crossovers"] = [{"bytes": at, **plain(one, at)} for at, one in found.crossovers]
    data = {"bytes": size, "direction": direction, "wanted_s": wanted_s, **fields}
    print(msgspec.json.format(msgspec.json.encode(data), indent=2).decode())


def program(found: Advice, record: DeviceRecord, size: int, direction: str) -> str:
    """A program that moves the data in the advised way, from the template of the backend."""
    import inspect

    from jinja2 import Environment, StrictUndefined

    from isthmus import backends
    from isthmus.units import printable

    backend, way = backends.of(record.backend), found.best.way
    if not backend.code_template:
        raise UsageError(f"no code for {record.address}: its backend has no API to call")

    def unknown(memory: str) -> None:
        raise UsageError(f"no code for {memory} memory on {record.address}")

    def literal(text: str) -> str:
        """A string literal of C++: octal for all but letters, digits and blanks."""
        kept = re.compile(rb"[^A-Za-z0-9 ]").sub(lambda b: b"\\%03o" % ord(b[0]), text.encode())
        return f'"{kept.decode()}"'

    def comment(text: str) -> str:
        """Text that ends with its line: no backslash, and no trigraph that stands for one."""
        return printable(text).replace("\\", "/").replace("?", ".")

    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters.update(literal=literal, comment=comment)
    source = Path(inspect.getfile(backend if isinstance(backend, type) else type(backend)))
    text = source.with_name(backend.code_template).read_text(encoding="utf-8")
    return environment.from_string(text).render(
        note=_sentence(found.best, size, direction), size=size, direction=direction,
        chunk=way.chunk(size), **way._asdict() | {"device": record.name},
        platform=record.platform, properties=record.properties, unknown=unknown,
    )  # fmt: skip
