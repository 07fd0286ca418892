"""Computes how much faster a program on emulated cards becomes by possible changes.

Each change is judged alone, by the time of the whole region: what remains after the change counts.
The part of the present time that the model does not explain stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from isthmus.models import host_memory
from isthmus.models.pipeline import MOST_SETS, Stages, Transfer
from isthmus.thresholds import AS_FAST_WAY
from isthmus_emulation.part import Part, union
from isthmus_emulation.region import LOOP_KINDS, Change, KernelBound, Kind, Way
from isthmus_emulation.trace import Event, KernelFacts, LoopChange, Port

_FS = 1e-15
_AT_ONCE = 1.03
"""Ratio of the sum of the kernels' times to the time of all, above which kernels run at once."""
_BY_ELEMENTS = 1.25
"""Largest ratio of computing time to the busiest port's time at which the port is the bound. A
pipelined loop takes a few clocks more than elements."""
_WORTH = 1.03
"""Least gain of a change that is named: a smaller gain is within the error of the model."""
_WAKE_S = 7e-6
"""Seconds that a thread computes when any run ends: XRT wakes the thread, which waits again for its
run. 2, 4 and 6 threads computed 14, 26 and 43 us an item on two shared cores (2026-11-28)."""
_MANY = 2
"""Least number of an item's transfers for each argument from which on one sync may replace them."""
_SMALL = 0.02
"""Largest share of a memory's bytes for arguments that may stay beside a large argument."""


def of(part: Part) -> list[Change]:
    """Returns the changes that gain something: fewer syncs, then the largest gain first.

    One sync in place of many needs no other design, so the text names that change first.
    """
    changes = [*_of_kernels(part), *_of_host(part), *_of_ways(part)]
    worth = [change for change in dict.fromkeys(changes) if change.gain >= _WORTH]
    return sorted(worth, key=lambda change: (change.kind != "one sync", -change.gain))


def _of_kernels(part: Part) -> Iterator[Change]:
    """Yields changes of kernels and their memories; no change if kernels run at the same time."""
    runs = part.of["kernel"]
    if not runs or sum(union(some) for some in part.runs.values()) > _AT_ONCE * union(runs):
        return
    widest = part.board.number("kernel.width_bytes")

    def widened(run: Event, facts: KernelFacts) -> float | None:
        wider = element_bytes(part, facts) / widest
        if not 0 < wider < 1 or not _is_by_elements(run, facts) or _reads_again(run):
            return None
        return _run_fs(run, facts, wider * _computing_fs(run, facts), facts.memory_fs)

    if stages := _with_kernels(part, widened):
        yield _change(part, "wide ports", stages)
    yield from _of_loops(part)
    into, out = part.in_two_banks()
    stages = _with_kernels(part, _apart) or part.stages
    yield _change(part, "two banks", replace(stages, into=into, out=out), bank_s=part.banks_apart())
    moves = part.of["write"] or part.of["read"]
    if moves and (stages := _with_kernels(part, _in_host_memory)):
        # Such a kernel moves over the link all data that the program transfers now.
        least = host_memory.item_s(part.board, part.bytes_of("write"), part.bytes_of("read"))
        stages = replace(stages, kernel=max(stages.kernel, least), into=Transfer(), out=Transfer())
        yield _change(part, "host memory", stages, bank_s=0.0)


def _reads_again(run: Event) -> bool:
    """Whether a kernel reads words again and again, which wider words would not make fewer."""
    return any(change.kind in {"line buffer", "shift register"} for change in run.changes)


def _of_loops(part: Part) -> Iterator[Change]:
    """Yields changes of kernels' sources, whose times the card has computed with each run."""
    runs_with: dict[tuple[str, Kind, str], list[tuple[Event, LoopChange]]] = {}
    for instance, runs in part.runs.items():
        for run in runs:
            for change in run.changes:
                known = next((kind for kind in LOOP_KINDS if kind == change.kind), None)
                if known is not None:
                    runs_with.setdefault((instance, known, change.name), []).append((run, change))
    for (instance, kind, name), with_change in runs_with.items():
        saved_fs = sum(change.saved_fs for _, change in with_change)
        saved_bytes = sum(max(0, run.bytes - change.bytes) for run, change in with_change)
        kernel = max(0.0, part.kernel - saved_fs * _FS / part.items)
        stages = replace(part.stages, kernel=kernel)
        # At most all of the saved bytes are those of the busiest memory.
        bank_s = part.bank()[1]
        if saved_bytes and part.board.has("memory"):
            bank_s = max(0.0, bank_s - saved_bytes / part.board.bank_rate() / part.items)
        changed = _change(part, kind, stages, bank_s=bank_s)
        yield changed._replace(kernel=instance, name=name, number=with_change[0][1].number)


def _of_host(part: Part) -> Iterator[Change]:
    """Yields the changes that sync each buffer once, and that map buffers instead of copying."""
    into, out = (_in_one_sync(part, kind) for kind in ("write", "read"))
    if (into, out) != (part.stages.into, part.stages.out):
        yield _change(part, "one sync", replace(part.stages, into=into, out=out))
    if part.copied:
        half = max(0.0, part.stages.host_before + part.stages.host_after - part.copied) / 2
        stages = replace(part.stages, host_before=half, host_after=half)
        yield _change(part, "mapped buffers", stages)


def _in_one_sync(part: Part, kind: str) -> Transfer:
    """Returns an item's transfers of a direction if one transfer moved each buffer.

    Events name no buffer: each argument that kernels read or write counts as a buffer.
    """
    now = part.stages.into if kind == "write" else part.stages.out
    arguments = {
        (event.name, port.argument)
        for event in part.of["kernel"]
        if isinstance(event.facts, KernelFacts)
        for port in event.facts.ports
        if port.writes == (kind == "read")
    }
    count = len(part.of[kind]) / part.items
    if not arguments or count < _MANY * len(arguments):
        return now
    return replace(now, fixed=now.fixed * len(arguments) / count)


def _of_ways(part: Part) -> Iterator[Change]:
    """Yields changes to more buffer sets and threads: the next step, and the simplest fast way."""
    if part.items == 1:
        return
    if part.way.threads == 1:
        least = max(2, part.way.sets + (part.order == "ahead"))
        sets = [Way(1, n) for n in range(least, MOST_SETS + 1)]
        yield from _more([_change(part, "double buffering", part.stages, way) for way in sets])
    ways = [Way(n, n) for n in range(part.way.threads + 1, MOST_SETS + 1)]
    yield from _more([_change(part, "threads", _with_threads(part, way), way) for way in ways])


def _with_threads(part: Part, way: Way) -> Stages:
    """Returns stages in which the end of each run wakes all threads, which takes host time."""
    woken = way.threads - (part.way.threads if part.way.threads > 1 else 0)
    wakes = _WAKE_S * woken if part.computed else 0.0
    return replace(part.stages, host_after=part.stages.host_after + wakes)


def _more(more: Sequence[Change]) -> Iterator[Change]:
    """Yields the first change, and the simplest of the fastest changes."""
    if more:
        least = min(change.item_s for change in more)
        yield more[0]
        yield next(change for change in more if change.item_s <= AS_FAST_WAY * least)


def _change(
    part: Part,
    kind: Kind,
    stages: Stages,
    way: Way | None = None,
    *,
    bank_s: float | None = None,
) -> Change:
    """Returns a change with its gain, which the busiest memory limits.

    ``bank_s``: seconds in which that memory moves an item's data after the change; None: as before.
    A kernel and transfers slow each other in a memory on a board, not on the emulated card. So a
    change that gains nothing on the card may relieve the memory of a board.
    """
    new = way or part.way
    saved = part.modelled - part.total(stages, new, part.order if way is None else "ahead")
    seconds = part.length - saved * min(1.0, part.length / part.modelled)
    now_s = part.bank()[1]
    least = (now_s if bank_s is None else bank_s) * part.items
    seconds = max(seconds, least)
    before = part.length
    if bank_s is not None and seconds > 0 and before < _WORTH * seconds:
        before = max(before, now_s * part.items)
    gain = before / seconds if seconds > 0 else 1.0
    return Change(kind, seconds / part.items, gain, new.sets, before / part.items)


def _with_kernels(
    part: Part, run_fs: Callable[[Event, KernelFacts], float | None]
) -> Stages | None:
    """Returns stages with other times of the kernels' runs; None if no run changes."""
    new = [
        (event.duration_fs, run_fs(event, event.facts))
        for event in part.of["kernel"]
        if isinstance(event.facts, KernelFacts)
    ]
    saved = [(before - after) * _FS for before, after in new if after is not None]
    if not saved:
        return None
    return replace(part.stages, kernel=max(0.0, part.kernel - sum(saved) / part.items))


def _computing_fs(run: Event, facts: KernelFacts) -> int:
    """Returns a run's computing time: as given, as estimated, or one clock for each element."""
    computing = run.computing
    if computing is None or not computing.known:
        return facts.elements_fs
    return computing.computing_fs


def _is_by_elements(run: Event, facts: KernelFacts) -> bool:
    return 0 < _computing_fs(run, facts) <= _BY_ELEMENTS * facts.elements_fs


def _run_fs(run: Event, facts: KernelFacts, computing: float, memory: float) -> float:
    """Returns a run's duration if computing and memory took these times, which overlap."""
    today = max(_computing_fs(run, facts), facts.memory_fs)
    return run.duration_fs - today + max(computing, memory)


def _apart(run: Event, facts: KernelFacts) -> float | None:
    if facts.apart_fs >= facts.memory_fs:
        return None
    return _run_fs(run, facts, _computing_fs(run, facts), facts.apart_fs)


def _in_host_memory(run: Event, facts: KernelFacts) -> float | None:
    if not facts.host_fs:
        return None
    return _run_fs(run, facts, _computing_fs(run, facts), facts.host_fs)


def element_bytes(part: Part, facts: KernelFacts) -> int:
    """Returns bytes that the busiest port moves each clock; 0 if no port counts elements."""
    clocks = facts.elements_fs * _FS * part.board.hertz("kernel.clock_MHz")
    return round(max(port.bytes for port in facts.ports) / clocks) if clocks >= 1 else 0


def bound(part: Part, instance: str, runs: Sequence[Event]) -> KernelBound:
    """Finds whether computing, memory or the pace of elements bounds the runs of a kernel."""
    seconds = sum(run.duration_fs for run in runs) * _FS / len(runs)
    run, facts = next(
        (
            (kernel_run, kernel_run.facts)
            for kernel_run in runs
            if isinstance(kernel_run.facts, KernelFacts)
        ),
        (runs[0], None),
    )
    loop = run.computing.bound if run.computing else ""
    if facts is None or not seconds:
        return KernelBound(instance, len(runs), seconds, loop=loop)
    least_s, most_s = _range_s(run, facts)
    gains_by_banks = facts.apart_fs * _WORTH < facts.memory_fs
    memory, shared = _shared(facts.ports) if gains_by_banks else ("", {})
    kernel_bound = KernelBound(
        instance,
        len(runs),
        seconds,
        bytes_per_s=max(port.bytes for port in facts.ports) / seconds,
        element_bytes=element_bytes(part, facts),
        by="memory",
        least_s=least_s,
        most_s=most_s,
        loop=loop,
        shared=tuple(shared),
        moves=_to_move(shared),
        memory=memory,
        ports=tuple(dict.fromkeys(port.argument for port in facts.ports)),
    )
    if _computing_fs(run, facts) <= facts.memory_fs:
        return kernel_bound
    return replace(kernel_bound, by="elements" if _is_by_elements(run, facts) else "computing")


def _range_s(run: Event, facts: KernelFacts) -> tuple[float, float]:
    """Returns the shortest and longest seconds of a run by the estimate; 0 without a range."""
    computing = run.computing
    if computing is None or not computing.most_fs:
        return 0.0, 0.0
    least, most = (
        _run_fs(run, facts, end, facts.memory_fs) * _FS
        for end in (computing.least_fs, computing.most_fs)
    )
    return least, most


def _shared(ports: Sequence[Port]) -> tuple[str, dict[str, int]]:
    """Returns the busiest memory, and the bytes of each of its arguments, the most bytes first."""
    bytes_of: dict[str, dict[str, int]] = {}
    for port in ports:
        of_memory = bytes_of.setdefault(port.memory, {})
        of_memory[port.argument] = of_memory.get(port.argument, 0) + port.bytes
    memory, moved = max(bytes_of.items(), key=lambda item: sum(item[1].values()))
    return memory, dict(sorted(moved.items(), key=lambda item: -item[1]))


def _to_move(shared: dict[str, int]) -> tuple[str, ...]:
    """Returns the arguments to move to other banks; the largest and small ones stay."""
    room = _SMALL * sum(shared.values())
    moves = []
    for name, moved in reversed(list(shared.items())[1:]):
        room -= moved
        if room < 0:
            moves.append(name)
    return tuple(reversed(moves))
