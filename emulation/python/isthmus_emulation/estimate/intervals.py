"""Finds bounds of the interval between a pipeline's iterations: ports, dependences in memory."""

from __future__ import annotations

import math
from collections import Counter
from typing import Final, NamedTuple

from isthmus_emulation.estimate.algebra import Access, index_key, whole
from isthmus_emulation.estimate.distances import Distances
from isthmus_emulation.estimate.schedule import READ_CYCLES, WRITE_CYCLES, Result, Scheduler
from isthmus_emulation.estimate.structure import Cause, Code, Span, Storage, plain

MOST_PARTS: Final = 4
"""Most parts into which HLS may partition an array without a pragma. The number is assumed: HLS
2020.2 does not partition (MuJackey/summerschool_filter2d), HLS 2022.1 does
(devanshj1996/FPGA-Final-project)."""
LUTRAM_ELEMENTS: Final = 1024
"""Most elements of an array that HLS may copy, so that each copy serves further reads in a cycle.
The report of joej970/Using_Vitis_HLS has RAM_1WNR_AUTO for 15 elements (UG1399, BIND_STORAGE
ram_1wnr)."""


class Reason(NamedTuple):
    """A lower bound of the interval between iterations, with the reason for it."""

    interval: Span
    why: str
    cause: Cause | None = None
    """The bound for the search of changes; None if no change is known for it."""


class Intervals:
    """Finds what bounds the intervals of the pipelines of one kernel."""

    def __init__(self, code: Code, scheduler: Scheduler) -> None:
        self._code = code
        self._scheduler = scheduler
        self._distances = Distances(code)

    def ports(self, result: Result, fast: frozenset[str]) -> Reason:
        """Returns the cycles that an iteration occupies the busiest port, and that port's name."""
        users: dict[str, Counter[str]] = {}
        counts: dict[tuple[str, str], tuple[int, int, int, int]] = {}
        known: set[tuple[object, ...]] = set()
        reached: Counter[tuple[object, ...]] = Counter()
        writes_memory = any(  # a pointer may refer to an array of the kernel
            use.writes and self._scheduler.storage(use.array).kind == "memory"
            for use in result.accesses
        )
        for access in result.accesses:
            storage = self._scheduler.storage(access.array)
            if storage.kind == "registers":
                continue
            places = tuple(index_key(index) for index in access.indices)
            if places and None not in places:
                same = (access.array, access.writes, access.copies, places)
                if same in known:
                    continue  # an earlier access has this element
                known.add(same)
            is_same = storage.kind != "stream" and not _varies(access, fast) and not access.writes
            if is_same and (access.copies == 1 or not writes_memory):
                continue  # HLS reads an element once if it is the same in each iteration
            way = ("write" if access.writes else "read") if storage.kind != "ram" else ""
            name = storage.port or access.array
            all_of, distinct, bits, _ = counts.get((name, way), (0, 0, 0, 0))
            copies = self._distinct(access, fast, reached)
            if self._is_wide(access, storage, fast):
                copies = -(-copies * storage.bits // storage.widest)
            bits += copies * storage.bits
            counts[name, way] = (all_of + copies, distinct + 1, bits, storage.widest)
            users.setdefault(name, Counter())[access.array] += 0 if access.writes else copies
        least, most, why = 1.0, 1.0, ""
        cause = None
        for (name, way), (all_of, distinct, bits, widest) in counts.items():
            storage = self._scheduler.storage(name)
            if storage.is_constant and storage.ram_ports > 1:
                # HLS copies a ROM: dft of srpae/WWES237C_team2, 2022.1.2, has II 1 with 8 readers.
                continue
            if storage.kind == "ram":
                ports = storage.ram_ports * max(1, storage.banks)
                needs = math.ceil(all_of / ports)
                elements = math.prod(self._code.sizes.get(name, (LUTRAM_ELEMENTS + 1,)))
                is_one_each = distinct == all_of and elements > LUTRAM_ELEMENTS
                is_sure = storage.partitioned or storage.port or is_one_each
                fewest = needs if is_sure else -(-needs // MOST_PARTS)
            else:
                needs = all_of
                wide = max(distinct, -(-bits // widest)) if widest else all_of
                fewest = all_of if storage.kind == "stream" else min(all_of, wide)
            least = max(least, fewest)
            if needs > most:
                most, why = needs, f"{way or 'port'}s of {plain(name)}"
                arrays = tuple(users[name])
                cause = Cause("ports", most, arrays, copies=max(users[name].values()))
        return Reason(Span(least, max(least, most)), why, cause=cause)

    def _is_wide(self, access: Access, storage: Storage, fast: frozenset[str]) -> bool:
        """Whether HLS certainly reads or writes all copies' elements as one word of ``memory``.

        It widens a port for elements that follow each other, where each iteration begins at a
        multiple of their number (UG1399, automatic port width resizing).
        """
        if storage.kind != "memory" or not storage.bits or access.copies == 1:
            return False
        linear = access.indices[0].linear if len(access.indices) == 1 else None
        if linear is None or access.copies * storage.bits > storage.widest:
            return False
        names = {name for name, times in linear.items() if times} - {""}
        steps = [times * self._distances.step(n) for n, times in linear.items() if n in fast]
        unrolled = [linear[name] for name in names - fast]
        is_aligned = bool(steps) and all(step % access.copies == 0 for step in steps)
        return unrolled == [1] and is_aligned and linear.get("", 0) % access.copies == 0

    def waits(self, result: Result) -> int:
        """Returns the most cycles for which RAM reads, plus RAM writes, wait for a free port."""
        late = {False: 0, True: 0}
        counts: Counter[tuple[str, bool]] = Counter()
        for access in result.accesses:
            if self._scheduler.is_ram(access.array):
                counts[access.array, access.writes] += access.copies
        for (array, writes), count in counts.items():
            storage = self._scheduler.storage(array)
            elements = math.prod(self._code.sizes.get(array, (count,)))
            ports = storage.ram_ports * max(1, storage.banks)
            late[writes] = max(late[writes], -(-min(count, elements) // ports) - 1)
        return sum(late.values())

    def _distinct(
        self, access: Access, fast: frozenset[str], reached: Counter[tuple[object, ...]]
    ) -> int:
        """Returns the number of elements that copies of an access are the first to use.

        Copies in an unrolled loop may use the same element; HLS accesses that element once.
        ``reached`` counts the elements of earlier accesses.
        """
        rest, most = [], 1
        sizes = self._code.sizes.get(access.array, ())
        if access.copies == 1 or not sizes or len(sizes) != len(access.indices):
            return access.copies
        for index, size in zip(access.indices, sizes, strict=True):
            if index.linear is None:
                return access.copies
            if index.of - fast:
                most *= size
            else:
                rest.append(index_key(index))
        key = (access.array, access.writes, *rest)
        copies = min(access.copies, max(0, most - reached[key]))
        reached[key] += copies
        return copies

    def through_memory(self, result: Result, variables: tuple[str, ...]) -> list[Reason]:
        """Returns a bound for each word that an iteration reads and an earlier iteration wrote."""
        reasons = []
        for write in (a for a in result.accesses if a.writes):
            storage = self._scheduler.storage(write.array)
            if storage.kind == "stream":
                continue
            for read in result.accesses:
                if read.writes or read.array != write.array:
                    continue
                path = write.value.paths.get(f"{write.array}[]")
                distance = self._distance(read, write, variables)
                if path is None or distance is None:
                    continue
                in_register = distance.is_same or storage.kind == "registers"
                around = path.cycles + (0 if in_register else 1)
                if storage.kind == "memory":
                    around = path.cycles + READ_CYCLES + WRITE_CYCLES - 1 + 2 * storage.latency
                needs = max(1, whole(around / distance.iterations))
                why = f"dependence through {plain(write.array)}" + (
                    f", {path.slowest}" if path.slowest else ""
                )
                is_sure = distance.is_sure and not storage.is_member
                if distance.is_denied:
                    why += (
                        f", of distance {distance.iterations} against DEPENDENCE "
                        "(on a board wrong values)"
                    )
                sums = whole(path.cycles) if path.adds_up and distance.is_in_turn else 0
                cause = Cause(
                    "dependence", needs, (write.array,), sums, is_sum=path.kinds == {"add"}
                )
                reasons.append(Reason(Span(needs if is_sure else 1, needs), why, cause))
        return reasons

    def _distance(
        self, read: Access, write: Access, variables: tuple[str, ...]
    ) -> _Distance | None:  # fmt: skip
        """Returns the iterations between write and read; None if the read needs no such write.

        ``is_denied`` marks a DEPENDENCE pragma that contradicts the index.
        """
        known = self._distances.of(read, write, variables)
        if known is not None:
            by_index = _Distance(known, True, False, is_in_turn=True) if known else None
        else:
            by_index = _distance(read, write, variables[-1:] or ("",))
        said = self._distances.said(write.array)
        if said is None:
            return by_index
        is_certain = known is not None or (by_index is not None and by_index.is_in_turn)
        if by_index and is_certain and write.copies == 1 and said not in range(
            1, by_index.iterations + 1
        ):  # fmt: skip
            return by_index._replace(is_denied=True)
        return _Distance(said, True, False, is_in_turn=True) if said else None

    def until_left(self, result: Result) -> tuple[Span, str]:
        """Returns cycles until an iteration knows whether a next one runs, and words for the bound.

        HLS requests no memory before that decision, but may read RAM. A word of a stream is known
        in the cycle of its read.
        """
        reads = [use for use in result.accesses if not use.writes]
        streams = all(self._scheduler.storage(use.array).kind == "stream" for use in reads)
        needs = max(1, whole(result.leaves) - (1 if reads and streams else 0))
        is_sure = any(access.is_single for access in result.accesses)
        return Span(needs if is_sure else 1, needs), "what ends the loop"


class _Distance(NamedTuple):
    """Distance in iterations between a write and the read that needs the written word."""

    iterations: int
    is_sure: bool
    is_same: bool
    """Whether all iterations use the same element, which HLS may keep in a register."""
    is_in_turn: bool = False
    """Whether iterations use one element, or a few in turn, as partial sums do."""
    is_denied: bool = False
    """Whether a pragma denies the dependence, or states a distance that the index does not allow:
    the hardware then computes wrong values."""


def _distance(read: Access, write: Access, variables: tuple[str, ...]) -> _Distance | None:
    """Returns the distance by the indices; None if no iteration reads another one's write."""
    variable = variables[0]
    if _counts_up(read, write, variable):
        return None
    iterations, same = None, True
    for left, right in zip(write.indices, read.indices, strict=False):
        if left.linear is None or right.linear is None:
            data = left.is_data or right.is_data
            depends = variable in left.of | right.of
            return _Distance(1, data or not depends, False)
        names = {*left.linear, *right.linear} - {""}
        if any(left.linear.get(n, 0) != right.linear.get(n, 0) for n in names):
            return _Distance(1, False, False)
        step = left.linear.get(variable, 0)
        apart = left.linear.get("", 0) - right.linear.get("", 0)
        if step == 0:
            if apart:
                return None
            continue
        same = False
        if apart % step or apart // step <= 0:
            return None
        iterations = apart // step
    linear = [index.linear or {} for index in (*write.indices, *read.indices)]
    is_one = same and not any(name and times for one in linear for name, times in one.items())
    return _Distance(iterations or 1, True, same, is_in_turn=is_one)


def _counts_up(read: Access, write: Access, variable: str) -> bool:
    """Whether two indices are ``v / N`` and ``v % N`` of a value that each iteration changes."""
    keys = [index_key(index) for index in write.indices]
    if keys != [index_key(index) for index in read.indices] or None in keys:
        return False
    quotients = [(one.quotient.by, one.quotient.linear) for one in write.indices if one.quotient]
    rests = [(one.modulo.by, one.modulo.linear) for one in write.indices if one.modulo]
    return any(one in rests and one[1].get(variable) for one in quotients)


def _varies(access: Access, fast: frozenset[str]) -> bool:
    if not fast or not access.indices:
        return True
    return any(index.is_data or index.of & fast or index.linear is None for index in access.indices)
