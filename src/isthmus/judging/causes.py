"""Why a rate is low or cannot be true: what the log shows first, then what is common.

A cause is learnt from public threads; each names one. Those without evidence in the log come last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from isthmus.importers.base import Log
from isthmus.judging import limits
from isthmus.judging.judgement import Cause, CauseKind, Judgement

MOST = 5
"""Causes of one judgement."""
_XRT = "https://github.com/Xilinx/XRT/"
_NVB = "https://github.com/NVIDIA/nvbandwidth/issues/"
_SOURCES: dict[CauseKind, str] = {
    "link_trained_low": f"{_XRT}issues/7826",
    "link_fits_less": "https://github.com/janhq/jan/issues/183",
    "pageable": "https://github.com/rapidsai/dask-cuda/pull/98",
    "unaligned": "https://github.com/krrishnarraj/clpeak/pull/121",
    "sm_copies": f"{_NVB}24",
    "opposite_load": f"{_NVB}53",
    "wrong_socket": "https://github.com/drkennetz/cuda_examples/pull/1",
    "iommu_acs": "https://github.com/NVIDIA/nccl/issues/2079",
    "one_queue": f"{_XRT}pull/4715",
    "interrupts": "https://github.com/abs-tudelft/fletcher/pull/60",
    "above_4gib": "",
    "cold": "",
    "resident": "https://github.com/krrishnarraj/clpeak/issues/38",
    "overflow": "https://github.com/Xilinx/dma_ip_drivers/pull/376",
    "write_slower": f"{_XRT}issues/6883",
    "large_sm": f"{_NVB}42",
    "protocol": "https://github.com/openucx/ucx/issues/6327",
    "no_p2p": "https://github.com/NVIDIA/nccl/issues/1086",
    "small_transfers": f"{_XRT}issues/6787",
    "clocks": f"{_NVB}53",
}  # fmt: skip
_OVERFLOW_BYTES = 2 << 30
"""From here on the old tools of dma_ip_drivers computed their rate wrongly."""
_ADDRESS = re.compile(r"[\da-f]{2}:[\da-f]{2}\.[\da-f]", re.IGNORECASE)


def explained(judgement: Judgement, logs: Sequence[Log], others: Sequence[Judgement]) -> Judgement:
    """The judgement with its causes, the likeliest first."""
    found: dict[str, Cause] = {}
    for cause in _of(judgement, logs, others):
        found.setdefault(cause.kind, cause)
    certain = [one for one in found.values() if one.evidence]
    common = [one for one in found.values() if not one.evidence]
    return replace(judgement, causes=[*certain, *common][:MOST])


def _cause(kind: CauseKind, command: str, evidence: str = "") -> Cause:
    return Cause(kind, evidence, command, _SOURCES.get(kind, ""))


def _of(one: Judgement, logs: Sequence[Log], others: Sequence[Judgement]) -> Iterator[Cause]:
    kinds = {reason.kind for reason in one.reasons}
    if one.verdict == "impossible":
        yield from _impossible(one, logs)
    elif one.verdict == "below":
        if one.group.kind in {"copy", "host_memory"}:
            yield from _of_copy(one, logs, others, kinds)
        elif one.group.kind in {"peer", "collective"}:
            yield _cause("iommu_acs", "sudo lspci -vvv | grep ACSCtl; cat /proc/cmdline")
            yield _cause("no_p2p", "nvidia-smi topo -m; nvidia-smi topo -p2p r")
        elif one.group.kind == "network":
            yield from _of_network(one, kinds)
    elif one.verdict == "normal" and one.group.kind == "copy" and one.group.direction == "h2d":
        back = _opposite(one, others)
        xdma = any("xdma" in log.facts.get("engine", "") for log in logs)
        if xdma and back and not one.seconds and one.rate < 0.9 * back.rate:
            evidence = f"write {one.rate / back.rate:.0%} of read"
            yield _cause("write_slower", "isthmus run transfer --axis depth=1,4", evidence)


def _opposite(one: Judgement, others: Sequence[Judgement]) -> Judgement | None:
    way = {"h2d": "d2h", "d2h": "h2d"}.get(one.group.direction)
    fitting = [o for o in others if o.group.direction == way and o.group.kind == one.group.kind
               and o.group.beside == one.group.beside and o.group.engine == one.group.engine
               and o.rate > 0]  # fmt: skip
    return max(fitting, key=lambda other: other.rate, default=None)


def _impossible(one: Judgement, logs: Sequence[Log]) -> Iterator[Cause]:
    if any("tools" in log.tool for log in logs) and (one.row.size or 0) > _OVERFLOW_BYTES:
        evidence = f"{one.row.size} bytes in one call, more than 2 GiB"
        yield _cause("overflow", "git -C dma_ip_drivers log -1 --format=%cd; use -s 1073741824",
                     evidence)  # fmt: skip
    if one.row.memory == "alloc_host" or one.row.operation in {"map", "unmap"}:
        yield _cause("resident", "isthmus run transfer", "a buffer that was in place already")
    if any(row.fault for row in one.group.rows):
        return
    if not any("tools" in log.tool for log in logs):
        yield _cause("resident", "isthmus run transfer")


def _of_copy(
    one: Judgement, logs: Sequence[Log], others: Sequence[Judgement], kinds: set[str]
) -> Iterator[Cause]:
    row, group = one.row, one.group
    place = _ADDRESS.search(row.device)
    address = place[0] if place else "DEVICE"
    if one.seconds:
        yield _cause("small_transfers", "isthmus run transfer --bytes 4Ki:64Mi",
                     f"{row.size} B a transfer")  # fmt: skip
        yield _cause("interrupts", "cat /sys/module/xdma/parameters/poll_mode")
        return
    fact = one.limit.fact if one.limit else None
    shows = f"sudo lspci -vv -s {address} | grep -E 'LnkCap:|LnkSta:'"
    if "lesser_link" in kinds and fact and fact.capable:
        evidence = (f"gen{fact.generation} x{fact.lanes} of gen{fact.capable[0]} "
                    f"x{fact.capable[1]} ({fact.said_by}, line {fact.line})")  # fmt: skip
        yield _cause("link_trained_low", shows, evidence)
    back = _opposite(one, others)
    if group.beside == "opposite":
        yield _cause("opposite_load", "nvidia-smi -q -d CLOCK; nvidia-smi topo -m",
                     "copies of the other direction run at the same time")  # fmt: skip
    engines = [o for o in others if o.group.kind == "copy" and o.group.direction
               == group.direction and o.group.engine == "ce" and not o.group.beside]  # fmt: skip
    if group.engine == "sm":
        ce = max((o.rate for o in engines), default=0.0)
        if ce > one.rate * 1.1:
            yield _cause("sm_copies", "nvbandwidth -t host_to_device_memcpy_ce",
                         f"copy engines reach {ce / 1e9:.1f} GB/s")  # fmt: skip
        elif back and back.rate > one.rate * 1.25:
            yield _cause("sm_copies", "nvbandwidth -t host_to_device_memcpy_ce",
                         "copies by SMs, slower than to the other direction")  # fmt: skip
    falls = [reason for reason in one.reasons if reason.kind == "falls"]
    if falls and group.engine == "sm":
        yield _cause("large_sm", "nvbandwidth -t host_to_device_memcpy_ce -b 10240",
                     "slower with larger buffers")  # fmt: skip
    if "slower_way" in kinds and any(log.tool == "clpeak" for log in logs):
        yield _cause("unaligned", "isthmus run transfer --axis memory=pageable,aligned",
                     "one direction alone is slow")  # fmt: skip
    if back and back.rate > 1.5 * one.rate and group.memory == "pageable":
        yield _cause("unaligned", "isthmus run transfer --axis memory=pageable,aligned",
                     "one direction alone is slow")  # fmt: skip
    if group.memory == "pageable":
        yield _cause("pageable", "isthmus run transfer --axis memory=pageable,pinned",
                     "the program copies ordinary memory")  # fmt: skip
    if one.limit and "lesser_link" not in kinds:
        lesser = limits.lesser_links(one.rate, one.limit)
        both = back is None or 0.7 < one.rate / back.rate < 1.4
        if lesser and both:
            yield _cause("link_fits_less", shows, f"as fast as {' or '.join(lesser[:3])}")
    if (row.size or 0) > 4 << 30 and any("xrt" in log.facts.get("engine", "") for log in logs):
        yield _cause("above_4gib", "isthmus run transfer --bytes 1Gi", "a buffer above 4 GiB")
    if "differs" in kinds:
        yield _cause("wrong_socket", "nvidia-smi topo -m; lspci -tv", "not all are alike")
    threads = next((log.facts["threads"] for log in logs if "threads" in log.facts), "")
    if threads == "1":
        yield _cause("one_queue", f"xbutil examine -d {address} -r pcie-info",
                     "DMA Thread Count is 1")  # fmt: skip
    engine = ",".join(log.facts.get("engine", "") for log in logs)
    if "xdma-tools" in engine:
        yield _cause("interrupts", "sudo modprobe -r xdma; sudo modprobe xdma poll_mode=1")
    if one.limit and "lesser_link" not in kinds:
        yield _cause("link_trained_low", shows)
    node = (
        f"cat /sys/bus/pci/devices/*{address}/numa_node; numactl --cpunodebind=NODE --membind=NODE"
    )
    yield _cause("wrong_socket", node)
    yield _cause("iommu_acs", "cat /proc/cmdline  # iommu=pt; dmesg | grep -i iommu")


def _of_network(one: Judgement, kinds: set[str]) -> Iterator[Cause]:
    if "falls" in kinds:
        yield _cause("protocol", "UCX_RNDV_SCHEME=get_zcopy mpirun ...; UCX_RNDV_THRESH",
                     "the rate falls from one size on")  # fmt: skip
        yield _cause("pageable", "isthmus run transfer --axis memory=pageable,pinned")
    yield _cause("wrong_socket", "lstopo; numactl --cpunodebind=NODE --membind=NODE")
