"""Why a rate is low or cannot be true: what the log shows first, then what is common.

A cause is learnt from public threads; ``SOURCES`` names one for each. The tables of functions are
in the order of likelihood. A cause without evidence in the log comes after those that have some.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from isthmus.importers.base import Log
from isthmus.judging import limits, links
from isthmus.judging.grouping import backend
from isthmus.judging.judgement import Cause, CauseKind, Contradiction, Judgement, Limit
from isthmus.judging.options import Given
from isthmus.judging.rows import rate
from isthmus.thresholds import COLD, LOWER

MOST = 5
"""Causes of one judgement."""
_XRT = "https://github.com/Xilinx/XRT/"
_NVB = "https://github.com/NVIDIA/nvbandwidth/issues/"
SOURCES: Mapping[CauseKind, str] = {
    "link_trained_low": f"{_XRT}issues/7826",
    "link_fits_less": "https://github.com/janhq/jan/issues/183",
    "pageable": "https://github.com/rapidsai/dask-cuda/pull/98",
    "unaligned": "https://github.com/krrishnarraj/clpeak/pull/121",
    "sm_copies": f"{_NVB}24",
    "opposite_load": f"{_NVB}53",
    "wrong_socket": "https://github.com/openucx/ucx/issues/9520",
    "iommu_acs": "https://github.com/NVIDIA/nccl/issues/2079",
    "one_queue": f"{_XRT}pull/3466",
    "interrupts": "https://github.com/abs-tudelft/fletcher/pull/60",
    "above_4gib": f"{_XRT}issues/6131",
    "cold": "https://github.com/drkennetz/cuda_examples/pull/1",
    "resident": "https://github.com/krrishnarraj/clpeak/issues/38",
    "overflow": "https://github.com/Xilinx/dma_ip_drivers/pull/376",
    "write_slower": f"{_XRT}issues/6883",
    "large_sm": f"{_NVB}42",
    "protocol": "https://github.com/openucx/ucx/issues/6327",
    "no_p2p": "https://github.com/NVIDIA/nccl/issues/1086",
    "small_transfers": f"{_XRT}issues/6787",
    "zero_pages": "https://github.com/krrishnarraj/clpeak/pull/62",
    "other_link": "https://github.com/krrishnarraj/clpeak/issues/103",
}
_OVERFLOW_BYTES = 2 << 30
"""From here on the old tools of dma_ip_drivers computed their rate wrongly."""
_XRT_BYTES = 4 << 30
"""A buffer of XRT is smaller."""
_ADDRESS = re.compile(r"(?:[\da-f]{4}:)?[\da-f]{2}:[\da-f]{2}\.[\da-f]", re.IGNORECASE)
_MEMORIES = "isthmus run transfer --memory pageable,aligned"


@dataclass(frozen=True)
class _Seen:
    """A judgement among the others of its text."""

    one: Judgement
    logs: Sequence[Log]
    others: Sequence[Judgement]
    """Of the same text and device."""
    contradictions: Sequence[Contradiction]
    given: Given

    @property
    def reasons(self) -> set[str]:
        return {reason.kind for reason in self.one.reasons}

    @property
    def engines(self) -> set[str]:
        return {name for log in self.logs for name in log.engines}

    @property
    def address(self) -> str:
        """PCI address of the device; empty where it is not known."""
        found = _ADDRESS.search(self.one.row.device)
        return found[0] if found else ""

    @property
    def shows_link(self) -> str:
        """The command that shows how the link is trained."""
        which = f" -s {self.address}" if self.address else ""
        return f"sudo lspci -vv{which} | grep -E '^[0-9a-f]|LnkCap:|LnkSta:'"

    @property
    def back(self) -> Judgement | None:
        """The same copy to the other direction."""
        group = self.one.group
        way = {"h2d": "d2h", "d2h": "h2d"}.get(group.direction)
        fitting = [
            o for o in self.others
            if o.group.direction == way and o.group.kind == group.kind and o.rate > 0
            and o.group.run == group.run
            and o.group.beside == group.beside and o.group.engine == group.engine
        ]  # fmt: skip
        return max(fitting, key=lambda other: other.rate, default=None)

    def cause(self, kind: CauseKind, command: str, evidence: str = "") -> Cause:
        return Cause(kind, evidence, command, SOURCES[kind])


_Finder = Callable[[_Seen], Iterator[Cause]]


def explained(
    judgement: Judgement,
    logs: Sequence[Log],
    others: Sequence[Judgement],
    contradictions: Sequence[Contradiction],
    given: Given,
) -> Judgement:
    """The judgement with its causes, the likeliest first."""
    beside = [one for one in others if one.group.place == judgement.group.place]
    seen = _Seen(judgement, logs, beside, contradictions, given)
    found: dict[str, Cause] = {}
    for finder in _finders(seen):
        for cause in finder(seen):
            found.setdefault(cause.kind, cause)
    certain = [one for one in found.values() if one.evidence]
    common = [one for one in found.values() if not one.evidence]
    return replace(judgement, causes=[*certain, *common][:MOST])


def _finders(seen: _Seen) -> Sequence[_Finder]:
    one = seen.one
    if one.verdict == "impossible":
        return _IMPOSSIBLE
    if one.verdict == "normal":
        return [_write_slower] if one.group.kind == "copy" else []
    if one.verdict != "below":
        return []
    if one.seconds:
        return _SMALL
    return _BELOW.get(one.group.kind, [])


# What makes a figure impossible


def _overflow(seen: _Seen) -> Iterator[Cause]:
    if "xdma-tools" in seen.engines and (seen.one.row.size or 0) > _OVERFLOW_BYTES:
        evidence = f"{seen.one.row.size} bytes in one call, more than 2 GiB"
        yield seen.cause("overflow", "git -C dma_ip_drivers log -1 --format=%cd", evidence)


def _other_link(seen: _Seen) -> Iterator[Cause]:
    """The limit is that of another link: an option is wrong, or the board is not on its usual."""
    limit = seen.one.limit
    if limit is None or limit.by not in {"link option", "board"}:
        return
    option = "--link" if limit.by == "link option" else "--board"
    said = next((one for one in seen.contradictions if one.option == option), None)
    if said:
        evidence = f"{said.option} {said.value}, not {said.said}"
        yield seen.cause("other_link", _shows_limit(seen), evidence)
    elif seen.one.verdict == "impossible":
        yield seen.cause("other_link", _shows_limit(seen), _unconfirmed(seen, limit))


def _unconfirmed(seen: _Seen, limit: Limit) -> str:
    """The option that the limit comes from, where no text says the same; else empty."""
    given = seen.given
    if limit.by == "link option":
        found = links.under_load(limit.fact) if limit.fact else None
        same = found is not None and given.link is not None and found.name == given.link.name
        return "" if same else f"the log does not confirm --link {given.link_option}"
    names = [name for log in seen.logs for name in log.names]
    if given.board is None or any(given.board.fits(name) for name in names):
        return ""
    return f"the log does not confirm --board {given.board_option}"


def _shows_limit(seen: _Seen) -> str:
    """The command that shows what the limit is of: a port, what joins GPUs, or a PCIe link."""
    limit, backend_ = seen.one.limit, backend(seen.one.row.device)
    if limit is None or limit.pcie:
        return seen.shows_link
    if limit.by == "link option":
        return "ibstat; ibv_devinfo -v | grep -E 'active_(width|speed)'"
    if backend_ == "rocm":
        return "rocm-smi --showproductname --showtopo"
    return "nvidia-smi -L; nvidia-smi topo -m; nvidia-smi nvlink --status"


def _zero_pages(seen: _Seen) -> Iterator[Cause]:
    if seen.one.group.direction == "h2d" and seen.one.row.memory == "pageable":
        yield seen.cause("zero_pages", "isthmus run transfer --operation write")


def _resident(seen: _Seen) -> Iterator[Cause]:
    row = seen.one.row
    if row.fault or "xdma-tools" in seen.engines:
        return
    mapped = row.memory == "alloc_host" or row.operation in {"map", "unmap"}
    evidence = "the buffer is mapped, and may lie in host memory" if mapped else ""
    yield seen.cause("resident", "isthmus run transfer --operation write,read,map", evidence)


# What slows copies between host and device


def _trained_low(seen: _Seen) -> Iterator[Cause]:
    fact = seen.one.limit.fact if seen.one.limit else None
    if "lesser_link" in seen.reasons and fact and fact.capable:
        evidence = (
            f"gen{fact.generation} x{fact.lanes} of gen{fact.capable[0]} x{fact.capable[1]} "
            f"({fact.said_by}, {fact.place})"
        )
        yield seen.cause("link_trained_low", seen.shows_link, evidence)


def _opposite_load(seen: _Seen) -> Iterator[Cause]:
    if seen.one.group.beside == "opposite":
        yield seen.cause("opposite_load", "nvidia-smi -q -d CLOCK; nvidia-smi topo -m",
                         "copies of the other direction run at the same time")  # fmt: skip


def _sm_copies(seen: _Seen) -> Iterator[Cause]:
    one = seen.one
    if one.group.engine != "sm":
        return
    command = "nvbandwidth -t host_to_device_memcpy_ce"
    engines = [
        o.rate for o in seen.others
        if o.group.kind == "copy" and o.group.engine == "ce" and not o.group.beside
        and o.group.direction == one.group.direction
    ]  # fmt: skip
    if one.rate < LOWER * max(engines, default=0.0):
        evidence = f"copy engines reach {max(engines) / 1e9:.1f} GB/s"
        yield seen.cause("sm_copies", command, evidence)
    elif seen.back and one.rate < LOWER * seen.back.rate:
        yield seen.cause("sm_copies", command, "SMs copy faster to the other direction")


def _large_sm(seen: _Seen) -> Iterator[Cause]:
    if seen.one.group.engine == "sm" and "falls" in seen.reasons:
        yield seen.cause("large_sm", "nvbandwidth -t host_to_device_memcpy_ce -b 10240",
                         "slower with larger buffers")  # fmt: skip


def _unaligned(seen: _Seen) -> Iterator[Cause]:
    one_way = seen.back and seen.one.rate < 0.6 * seen.back.rate
    if one_way and seen.one.row.initiator == "cpu":
        yield seen.cause("unaligned", _MEMORIES, "one direction alone is slow")


def _pageable(seen: _Seen) -> Iterator[Cause]:
    if seen.one.group.memory == "pageable":
        evidence = "the program copies ordinary memory"
        yield seen.cause("pageable", "isthmus run transfer --memory pageable,pinned", evidence)


def _link_fits_less(seen: _Seen) -> Iterator[Cause]:
    one, back = seen.one, seen.back
    if one.limit is None or "lesser_link" in seen.reasons:
        return
    lesser = limits.lesser_links(one.rate, one.limit)
    alike = back is None or 0.7 < one.rate / back.rate < 1.4
    if lesser and alike:
        evidence = f"as fast as {' or '.join(lesser[:3])}"
        yield seen.cause("link_fits_less", seen.shows_link, evidence)


def _above_4gib(seen: _Seen) -> Iterator[Cause]:
    if (seen.one.row.size or 0) >= _XRT_BYTES and "xrt" in seen.engines:
        yield seen.cause("above_4gib", "isthmus run transfer --bytes 1Gi", "a buffer of 4 GiB")


def _cold(seen: _Seen) -> Iterator[Cause]:
    """The first of several runs is much slower than the others."""
    group, row = seen.one.group, seen.one.row
    later = [
        rate(one.row) for one in seen.others
        if one.group.test == group.test and one.group.run > group.run and one.row.size == row.size
    ]  # fmt: skip
    if group.run == 1 and later and rate(row) and statistics.median(later) > COLD * rate(row):
        yield seen.cause("cold", "isthmus run transfer", "the first call is the slowest")


def _unlike(seen: _Seen) -> Iterator[Cause]:
    if "differs" in seen.reasons:
        yield seen.cause("wrong_socket", "nvidia-smi topo -m; lspci -tv", "not all are alike")


def _one_queue(seen: _Seen) -> Iterator[Cause]:
    threads = {log.facts.get("threads", "") for log in seen.logs}
    if "1" in threads:
        which = f" -d {seen.address}" if seen.address else ""
        evidence = "DMA Thread Count is 1"
        yield seen.cause("one_queue", f"xbutil examine{which} -r pcie-info", evidence)


def _interrupts(seen: _Seen) -> Iterator[Cause]:
    if "xdma-tools" in seen.engines:
        yield seen.cause("interrupts", "sudo modprobe -r xdma; sudo modprobe xdma poll_mode=1")


def _any_link(seen: _Seen) -> Iterator[Cause]:
    said = seen.one.limit.fact if seen.one.limit else None
    if said is None or said.said_by == "platform name":
        yield seen.cause("link_trained_low", seen.shows_link)


def _any_socket(seen: _Seen) -> Iterator[Cause]:
    command = f"grep . /sys/bus/pci/devices/*{seen.address}/numa_node; numactl -s"
    yield seen.cause("wrong_socket", command)


def _any_iommu(seen: _Seen) -> Iterator[Cause]:
    yield seen.cause("iommu_acs", "cat /proc/cmdline; sudo dmesg | grep -i iommu")


def _write_slower(seen: _Seen) -> Iterator[Cause]:
    one, back = seen.one, seen.back
    if one.group.direction == "h2d" and "xdma" in seen.engines and back and not one.seconds:
        share = one.rate / back.rate
        if share < 0.9:
            yield seen.cause(
                "write_slower", "isthmus run transfer --depth 1,4", f"{share:.0%} of the read"
            )


# What slows small transfers, peers and messages


def _small_transfers(seen: _Seen) -> Iterator[Cause]:
    evidence = f"{seen.one.row.size} B a transfer"
    yield seen.cause("small_transfers", "isthmus run transfer --bytes 4Ki:64Mi", evidence)


def _acs(seen: _Seen) -> Iterator[Cause]:
    yield seen.cause("iommu_acs", "sudo lspci -vvv | grep ACSCtl; cat /proc/cmdline")


def _no_p2p(seen: _Seen) -> Iterator[Cause]:
    yield seen.cause("no_p2p", "nvidia-smi topo -m; nvidia-smi topo -p2p r")


def _protocol(seen: _Seen) -> Iterator[Cause]:
    if "falls" in seen.reasons:
        evidence = "the rate falls from one size on"
        yield seen.cause("protocol", "ucx_info -c | grep -E 'RNDV_(SCHEME|THRESH)'", evidence)


def _host_buffers(seen: _Seen) -> Iterator[Cause]:
    if seen.one.row.memory == "aligned" and "falls" in seen.reasons:
        yield seen.cause("pageable", "isthmus run transfer --memory pageable,pinned")


_IMPOSSIBLE: Sequence[_Finder] = (_overflow, _other_link, _zero_pages, _resident)
_SMALL: Sequence[_Finder] = (_small_transfers, _interrupts, _cold)
_COPIES: Sequence[_Finder] = (
    _other_link, _trained_low, _opposite_load, _sm_copies, _large_sm, _unaligned, _pageable,
    _link_fits_less, _above_4gib, _cold, _unlike, _one_queue, _interrupts, _any_link, _any_socket,
    _any_iommu,
)  # fmt: skip
_BELOW: Mapping[str, Sequence[_Finder]] = {
    "copy": _COPIES,
    "host_memory": (_other_link, _trained_low, _link_fits_less, _any_link, _any_socket, _any_iommu),
    "peer": (_acs, _no_p2p),
    "collective": (_acs, _no_p2p),
    "network": (_protocol, _host_buffers, _any_socket),
}
