"""Finds likely causes of a rate that is low or cannot be true.

Each cause is known from a public report, which ``SOURCES`` names. Causes with evidence in the log
come first, then common causes without evidence. Both kinds have the order of the tables below.
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
from isthmus.judging.options import Options
from isthmus.judging.rows import rate
from isthmus.thresholds import COLD, LOWER

MOST = 5
"""Largest number of causes of one judgement."""
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
"""Bytes of a transfer above which old tools of dma_ip_drivers print a wrong rate."""
_XRT_BYTES = 4 << 30
"""Bytes that no buffer of XRT reaches: a larger transfer was not one buffer."""
_ADDRESS = re.compile(r"(?:[\da-f]{4}:)?[\da-f]{2}:[\da-f]{2}\.[\da-f]", re.IGNORECASE)
_MEMORIES = "isthmus run transfer --memory pageable,aligned"


@dataclass(frozen=True)
class _Case:
    """A judgement with the facts from the logs that may explain it."""

    judgement: Judgement
    logs: Sequence[Log]
    others: Sequence[Judgement]
    """Judgements on the same text and the same device."""
    contradictions: Sequence[Contradiction]
    options: Options

    @property
    def reasons(self) -> set[str]:
        return {reason.kind for reason in self.judgement.reasons}

    @property
    def engines(self) -> set[str]:
        return {name for log in self.logs for name in log.engines}

    @property
    def address(self) -> str:
        """PCI address of the device; empty if the logs lack it."""
        match = _ADDRESS.search(self.judgement.row.device)
        return match[0] if match else ""

    @property
    def shows_link(self) -> str:
        """The command that shows the speed and width at which the device's link is trained."""
        which = f" -s {self.address}" if self.address else ""
        return f"sudo lspci -vv{which} | grep -E '^[0-9a-f]|LnkCap:|LnkSta:'"

    @property
    def back(self) -> Judgement | None:
        """The fastest copy of the same run in the other direction; None if there is none."""
        group = self.judgement.group
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


_Finder = Callable[[_Case], Iterator[Cause]]


def explained(
    judgement: Judgement,
    logs: Sequence[Log],
    others: Sequence[Judgement],
    contradictions: Sequence[Contradiction],
    options: Options,
) -> Judgement:
    """Adds causes to a judgement, the likeliest cause first."""
    beside = [other for other in others if other.group.place == judgement.group.place]
    case = _Case(judgement, logs, beside, contradictions, options)
    causes: dict[str, Cause] = {}
    for finder in _finders(case):
        for cause in finder(case):
            causes.setdefault(cause.kind, cause)
    certain = [cause for cause in causes.values() if cause.evidence]
    common = [cause for cause in causes.values() if not cause.evidence]
    return replace(judgement, causes=[*certain, *common][:MOST])


def _finders(case: _Case) -> Sequence[_Finder]:
    judgement = case.judgement
    if judgement.verdict == "impossible":
        return _IMPOSSIBLE
    if judgement.verdict == "normal":
        return [_write_slower] if judgement.group.kind == "copy" else []
    if judgement.verdict != "below":
        return []
    if judgement.seconds:
        return _SMALL
    return _BELOW.get(judgement.group.kind, [])


# Functions for causes of impossible figures


def _overflow(case: _Case) -> Iterator[Cause]:
    if "xdma-tools" in case.engines and (case.judgement.row.size or 0) > _OVERFLOW_BYTES:
        evidence = f"{case.judgement.row.size} bytes in one call, more than 2 GiB"
        yield case.cause("overflow", "git -C dma_ip_drivers log -1 --format=%cd", evidence)


def _other_link(case: _Case) -> Iterator[Cause]:
    """Yields a cause if the limit may be another link's, by a wrong option or an unusual slot."""
    limit = case.judgement.limit
    if limit is None or limit.by not in {"link option", "board"}:
        return
    option = "--link" if limit.by == "link option" else "--board"
    contradiction = next((each for each in case.contradictions if each.option == option), None)
    if contradiction:
        evidence = f"{contradiction.option} {contradiction.value}, not {contradiction.said}"
        yield case.cause("other_link", _shows_limit(case), evidence)
    elif case.judgement.verdict == "impossible":
        yield case.cause("other_link", _shows_limit(case), _unconfirmed(case, limit))


def _unconfirmed(case: _Case, limit: Limit) -> str:
    """Words for the option that sets the limit, if no log confirms it; else empty."""
    options = case.options
    if limit.by == "link option":
        link = links.under_load(limit.fact) if limit.fact else None
        same = link is not None and options.link is not None and link.name == options.link.name
        return "" if same else f"the log does not confirm --link {options.link_option}"
    names = [name for log in case.logs for name in log.names]
    if options.board is None or any(options.board.fits(name) for name in names):
        return ""
    return f"the log does not confirm --board {options.board_option}"


def _shows_limit(case: _Case) -> str:
    """The command that shows the PCIe link, the port, or the links between GPUs."""
    limit, backend_ = case.judgement.limit, backend(case.judgement.row.device)
    if limit is None or limit.pcie:
        return case.shows_link
    if limit.by == "link option":
        return "ibstat; ibv_devinfo -v | grep -E 'active_(width|speed)'"
    if backend_ == "rocm":
        return "rocm-smi --showproductname --showtopo"
    return "nvidia-smi -L; nvidia-smi topo -m; nvidia-smi nvlink --status"


def _zero_pages(case: _Case) -> Iterator[Cause]:
    if case.judgement.group.direction == "h2d" and case.judgement.row.memory == "pageable":
        yield case.cause("zero_pages", "isthmus run transfer --operation write")


def _resident(case: _Case) -> Iterator[Cause]:
    row = case.judgement.row
    if row.fault or "xdma-tools" in case.engines:
        return
    mapped = row.memory == "alloc_host" or row.operation in {"map", "unmap"}
    evidence = "the buffer is mapped, and may lie in host memory" if mapped else ""
    yield case.cause("resident", "isthmus run transfer --operation write,read,map", evidence)


# Functions for causes of slow copies between host and device


def _trained_low(case: _Case) -> Iterator[Cause]:
    fact = case.judgement.limit.fact if case.judgement.limit else None
    if "lesser_link" in case.reasons and fact and fact.capable:
        evidence = (
            f"gen{fact.generation} x{fact.lanes} of gen{fact.capable[0]} x{fact.capable[1]} "
            f"({fact.said_by}, {fact.place})"
        )
        yield case.cause("link_trained_low", case.shows_link, evidence)


def _opposite_load(case: _Case) -> Iterator[Cause]:
    if case.judgement.group.beside == "opposite":
        yield case.cause("opposite_load", "nvidia-smi -q -d CLOCK; nvidia-smi topo -m",
                         "copies of the other direction run at the same time")  # fmt: skip


def _sm_copies(case: _Case) -> Iterator[Cause]:
    judgement = case.judgement
    if judgement.group.engine != "sm":
        return
    command = "nvbandwidth -t host_to_device_memcpy_ce"
    engines = [
        o.rate for o in case.others
        if o.group.kind == "copy" and o.group.engine == "ce" and not o.group.beside
        and o.group.direction == judgement.group.direction
    ]  # fmt: skip
    if judgement.rate < LOWER * max(engines, default=0.0):
        evidence = f"copy engines reach {max(engines) / 1e9:.1f} GB/s"
        yield case.cause("sm_copies", command, evidence)
    elif case.back and judgement.rate < LOWER * case.back.rate:
        yield case.cause("sm_copies", command, "SMs copy faster to the other direction")


def _large_sm(case: _Case) -> Iterator[Cause]:
    if case.judgement.group.engine == "sm" and "falls" in case.reasons:
        yield case.cause("large_sm", "nvbandwidth -t host_to_device_memcpy_ce -b 10240",
                         "slower with larger buffers")  # fmt: skip


def _unaligned(case: _Case) -> Iterator[Cause]:
    one_way = case.back and case.judgement.rate < 0.6 * case.back.rate
    if one_way and case.judgement.row.initiator == "cpu":
        yield case.cause("unaligned", _MEMORIES, "one direction alone is slow")


def _pageable(case: _Case) -> Iterator[Cause]:
    if case.judgement.group.memory == "pageable":
        evidence = "the program copies ordinary memory"
        yield case.cause("pageable", "isthmus run transfer --memory pageable,pinned", evidence)


def _link_fits_less(case: _Case) -> Iterator[Cause]:
    judgement, back = case.judgement, case.back
    if judgement.limit is None or "lesser_link" in case.reasons:
        return
    lesser = limits.lesser_links(judgement.rate, judgement.limit)
    alike = back is None or 0.7 < judgement.rate / back.rate < 1.4
    if lesser and alike:
        evidence = f"as fast as {' or '.join(lesser[:3])}"
        yield case.cause("link_fits_less", case.shows_link, evidence)


def _above_4gib(case: _Case) -> Iterator[Cause]:
    if (case.judgement.row.size or 0) >= _XRT_BYTES and "xrt" in case.engines:
        yield case.cause("above_4gib", "isthmus run transfer --bytes 1Gi", "a buffer of 4 GiB")


def _cold(case: _Case) -> Iterator[Cause]:
    """Yields a cause if the first of several runs is much slower than the others."""
    group, row = case.judgement.group, case.judgement.row
    later = [
        rate(other.row) for other in case.others
        if other.group.test == group.test and other.group.run > group.run
        and other.row.size == row.size
    ]  # fmt: skip
    if group.run == 1 and later and rate(row) and statistics.median(later) > COLD * rate(row):
        yield case.cause("cold", "isthmus run transfer", "the first call is the slowest")


def _unlike(case: _Case) -> Iterator[Cause]:
    if "differs" in case.reasons:
        yield case.cause("wrong_socket", "nvidia-smi topo -m; lspci -tv", "not all are alike")


def _one_queue(case: _Case) -> Iterator[Cause]:
    threads = {log.facts.get("threads", "") for log in case.logs}
    if "1" in threads:
        which = f" -d {case.address}" if case.address else ""
        evidence = "DMA Thread Count is 1"
        yield case.cause("one_queue", f"xbutil examine{which} -r pcie-info", evidence)


def _interrupts(case: _Case) -> Iterator[Cause]:
    if "xdma-tools" in case.engines:
        yield case.cause("interrupts", "sudo modprobe -r xdma; sudo modprobe xdma poll_mode=1")


def _any_link(case: _Case) -> Iterator[Cause]:
    fact = case.judgement.limit.fact if case.judgement.limit else None
    if fact is None or fact.said_by == "platform name":
        yield case.cause("link_trained_low", case.shows_link)


def _any_socket(case: _Case) -> Iterator[Cause]:
    command = f"grep . /sys/bus/pci/devices/*{case.address}/numa_node; numactl -s"
    yield case.cause("wrong_socket", command)


def _any_iommu(case: _Case) -> Iterator[Cause]:
    yield case.cause("iommu_acs", "cat /proc/cmdline; sudo dmesg | grep -i iommu")


def _write_slower(case: _Case) -> Iterator[Cause]:
    written, back = case.judgement, case.back
    if written.group.direction == "h2d" and "xdma" in case.engines and back and not written.seconds:
        share = written.rate / back.rate
        if share < 0.9:
            yield case.cause(
                "write_slower", "isthmus run transfer --depth 1,4", f"{share:.0%} of the read"
            )


# Functions for causes of slow small transfers, peer copies and messages


def _small_transfers(case: _Case) -> Iterator[Cause]:
    evidence = f"{case.judgement.row.size} B a transfer"
    yield case.cause("small_transfers", "isthmus run transfer --bytes 4Ki:64Mi", evidence)


def _acs(case: _Case) -> Iterator[Cause]:
    yield case.cause("iommu_acs", "sudo lspci -vvv | grep ACSCtl; cat /proc/cmdline")


def _no_p2p(case: _Case) -> Iterator[Cause]:
    yield case.cause("no_p2p", "nvidia-smi topo -m; nvidia-smi topo -p2p r")


def _protocol(case: _Case) -> Iterator[Cause]:
    if "falls" in case.reasons:
        evidence = "the rate falls from one size on"
        yield case.cause("protocol", "ucx_info -c | grep -E 'RNDV_(SCHEME|THRESH)'", evidence)


def _host_buffers(case: _Case) -> Iterator[Cause]:
    if case.judgement.row.memory == "aligned" and "falls" in case.reasons:
        yield case.cause("pageable", "isthmus run transfer --memory pageable,pinned")


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
