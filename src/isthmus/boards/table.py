"""Table of all parameters of boards, against which files, commands and docs are checked.

Sources: PCI Express Base Specification 5.0 for the link's keys (sections 2.2, 2.6, 3.6 and 7.5.3);
the other keys are terms of this project's models (``docs/models.md``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from isthmus.errors import UsageError
from isthmus.units import parse_size

Value: TypeAlias = bool | int | float | str
_MANY = 1 << 20
_MOST_BYTES = 1 << 50
_MOST = {"ns": 1e9, "MHz": 1e6, "B/s": 1e15}
"""Largest accepted value by unit: 1 s, 1 THz, and a rate above that of any memory or link."""
_LEAST_RATE = 1e3
_POWERS = (128, 256, 512, 1024, 2048, 4096)
_TYPES: Mapping[type, str] = {
    bool: "true or false", int: "a whole number", float: "a number", str: "a text",
}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """A parameter of boards: type, unit, allowed range and meaning."""

    section: str
    key: str
    type: type
    unit: str
    """Unit of the value; empty for a count or a word."""
    meaning: str
    low: float = 0.0
    high: float = _MANY
    allowed: tuple[Value, ...] = ()
    default: Value | None = None
    """Value if a board does not set the parameter; None: a board with the section must set it."""

    @property
    def name(self) -> str:
        """Flat name, ``section.key``."""
        return f"{self.section}.{self.key}"

    def check(self, value: object) -> Value:
        """Converts a value to the parameter's type.

        Raises UsageError with the allowed values for any other value.
        """
        wanted = int | float if self.type is float else self.type
        right = isinstance(value, wanted) and (self.type is bool or not isinstance(value, bool))
        if not right or not isinstance(value, (bool, int, float, str)):
            raise UsageError(f"{value!r} is not {_TYPES[self.type]}")
        if self.allowed and value in self.allowed:
            return value
        if self.allowed:
            raise UsageError(f"{value!r} is none of {', '.join(map(str, self.allowed))}")
        if isinstance(value, (bool, str)):
            return value
        if not self.low <= value <= self.high:  # also rejects NaN
            raise UsageError(f"{value!r} must be between {self.low:g} and {self.high:g}")
        return float(value) if self.type is float else value

    def parse(self, text: str) -> Value:
        """Reads a value from a text of the command line; raises UsageError like ``check``."""
        try:
            if self.type is bool:
                return self.check({"true": True, "false": False}.get(text.lower(), text))
            if self.type is int and self.unit == "B" and text[-1:] == "i":
                return self.check(parse_size(text))
            return self.check(text if self.type is str else self.type(text))
        except ValueError as error:
            raise UsageError(f"{text!r} is not {_TYPES[self.type]}") from error


def _int(
    name: str, meaning: str, unit: str = "", low: float = 1, high: float = _MANY,
    allowed: tuple[int, ...] = (), default: int | None = None,
) -> Parameter:  # fmt: skip
    section, _, key = name.partition(".")
    return Parameter(section, key, int, unit, meaning, low, high, allowed, default)


def _float(
    name: str, meaning: str, unit: str, low: float = 0.0, high: float | None = None,
    default: float | None = None,
) -> Parameter:  # fmt: skip
    section, _, key = name.partition(".")
    most = _MOST[unit] if high is None else high
    return Parameter(section, key, float, unit, meaning, low, most, (), default)


_PARAMETERS = (
    _int("link.generation", "PCIe generation: 2.5, 5, 8, 16, 32, 64 GT/s (6: FLITs)",
         allowed=(1, 2, 3, 4, 5, 6)),
    _int("link.lanes", "trained width", allowed=(1, 2, 4, 8, 16)),
    _int("link.max_payload_bytes", "largest payload of a packet (MPS)", "B", allowed=_POWERS),
    _int("link.max_read_request_bytes", "largest read request (MRRS)", "B", allowed=_POWERS),
    _int("link.read_completion_boundary_bytes", "completions are split at its multiples", "B",
         allowed=(64, 128), default=64),
    _int("link.address_bits", "64: headers of requests have 16 B, 32: 12 B", "bit",
         allowed=(32, 64), default=64),
    _float("link.latency_ns", "one way, from the last byte's departure until the other end can "
           "use it", "ns"),
    _int("link.acknowledge_every_bytes", "received bytes for each acknowledgement and credits",
         "B", default=1024),
    _int("link.acknowledge_bytes", "size of these in the opposite direction; none with FLITs",
         "B", 0, 4096, default=8),
    _int("link.posted_data_credits", "posted data each receiver grants, in units of 16 B"),
    _int("link.posted_header_credits", "posted packets each receiver grants"),
    _int("link.nonposted_header_credits", "read requests each receiver grants"),
    _float("link.credit_return_ns", "from the receiver's use until the sender can use the "
           "credit, beyond "
           "latency", "ns"),
    _float("link.error_rate", "probability that a packet is corrupted and sent again", "", high=0.5,
           default=0.0),
    _int("link.user_bus_bytes", "width of the card's interface to the link", "B", high=4096),
    _float("link.user_clock_MHz", "clock of that interface", "MHz", 1e-3),
    Parameter("link", "straddle", bool, "", "whether a packet may begin in the beat in which "
              "another ends",
              default=False),
    _float("host.load_ns", "uncached load, round trip, without link and device", "ns"),
    _float("host.store_ns", "store until it enters the link, one way", "ns"),
    _float("host.system_call_ns", "software around an access through the driver", "ns",
           default=120.0),
    _int("host.write_combining_bytes", "bytes of one write-combining buffer", "B",
         allowed=(16, 32, 64, 128), default=64),
    _int("host.write_combining_buffers", "write-combining buffers in flight"),
    _int("host.loads_in_flight", "uncached loads in flight", default=1),
    _int("host.streaming_loads_in_flight", "streaming loads (MOVNTDQA) in flight"),
    _float("host.memory_latency_ns", "read request at the root complex until completed, "
           "data in the cache", "ns"),
    _float("host.memory_miss_ns", "added if the line is not in the cache", "ns"),
    _float("host.memory_bandwidth_Bps", "rate that misses of reads and writes share", "B/s",
           _LEAST_RATE),
    _float("host.write_retire_ns", "posted write at the root complex until its credits are free",
           "ns"),
    _int("host.cache_write_bytes", "bytes of a written footprint that stay in the cache", "B", 0,
         _MOST_BYTES),
    _int("host.cache_read_bytes", "bytes of a read footprint that stay in the cache", "B", 0,
         _MOST_BYTES),
    _int("host.page_bytes", "page of the address translation", "B",
         allowed=(4096, 65536, 2 << 20, 1 << 30)),
    _int("host.translation_entries", "pages that the IOMMU keeps; 0: no IOMMU", "", 0),
    _float("host.translation_miss_ns", "page walk", "ns"),
    _float("host.polling_ns", "completion flag in memory until software sees it", "ns"),
    _float("host.interrupt_ns", "interrupt until software sees the completion", "ns"),
    _int("faults.flip_completion", "which completion of each transfer has a wrong bit, or of each "
         "sweep of a kernel over host memory, counted from 1; 0: none", low=0, default=0),
    _int("faults.drop_write", "which write to host memory is lost, counted from 1; 0: none", low=0,
         default=0),
    _int("faults.flip_message", "which message on the first link of a ring has a wrong bit, "
         "counted "
         "from 1; 0: none", low=0, default=0),
    _int("dma.tags", "read requests in flight", high=4096),
    _int("dma.descriptor_bytes", "most bytes that one descriptor moves", "B", 64, 1 << 30),
    _float("dma.h2d_descriptor_ns", "gap for each descriptor, host to card", "ns"),
    _float("dma.d2h_descriptor_ns", "gap for each descriptor, card to host", "ns"),
    _float("dma.h2d_bandwidth_Bps", "rate at which all channels together read from the host; 0: "
           "no limit",
           "B/s", default=0.0),
    _int("dma.engines", "channels per direction, each with a thread of the driver", high=64),
    _float("dma.submit_ns", "time in the driver before the doorbell", "ns"),
    _float("dma.start_ns", "from the doorbell until the first descriptor is handled, with its "
           "fetch",
           "ns"),
    Parameter("dma", "completion", str, "", "how software notices the end",
              allowed=("poll", "interrupt")),
    _float("dma.finish_ns", "time in the driver after completion", "ns"),
    _int("memory.banks", "banks of card memory", high=1024),
    _int("memory.bank_bytes", "size of a bank", "B", low=4096, high=_MOST_BYTES),
    _float("memory.bandwidth_Bps", "rate of one bank", "B/s", _LEAST_RATE),
    _float("memory.latency_ns", "from the request to the first byte", "ns"),
    _float("memory.refresh_interval_ns", "from one refresh of a bank to the next; 0: none", "ns",
           default=0.0),
    _float("memory.refresh_ns", "time of a refresh, during which the bank is blocked", "ns",
           default=0.0),
    _float("memory.write_to_read_ns", "pause of a bank's data lines if a kernel's read follows a "
           "write", "ns", default=0.0),
    _float("memory.read_to_write_ns", "pause if a write follows a read", "ns", default=0.0),
    Parameter("memory", "hbm", bool, "",
              "whether banks 0 to 31 are high-bandwidth memory (HBM) and the others DDR",
              default=False),
    _float("memory.ddr_bandwidth_Bps", "rate of one DDR bank beside HBM; 0: memory.bandwidth_Bps",
           "B/s", default=0.0),
    _int("memory.ddr_bank_bytes", "size of one DDR bank beside HBM; 0: memory.bank_bytes", "B", 0,
         _MOST_BYTES, default=0),
    _float("kernel.clock_MHz", "clock of the kernels", "MHz", 1e-3),
    _int("kernel.width_bytes", "width of a kernel's port", "B", allowed=(4, 8, 16, 32, 64, 128)),
    _int("kernel.burst_beats", "beats of a burst", high=256),
    _int("kernel.outstanding", "bursts in flight, each way", high=1024),
    _int("kernel.write_gap_cycles", "cycles that a kernel's port pauses after each burst that it "
         "writes to card memory", "cycle", low=0, high=1024, default=0),
    _int("kernel.tags", "PCIe read requests in flight for kernels", high=4096),
    Parameter("kernel", "reaches_host", bool, "", "whether kernels access host memory across the "
              "link",
              default=True),
    _float("kernel.launch_ns", "software's time of a launch: enqueue and completion", "ns"),
    _float("kernel.block_interval_ns", "from start to start of single 4 KiB blocks (buffers up to "
           "8 KiB)",
           "ns"),
    _float("kernel.copy_block_interval_ns", "the same for a kernel that reads and writes", "ns"),
    _float("kernel.write_response_ns", "from the last beat written until the kernel has the "
           "response",
           "ns"),
    _float("kernel.host_latency_ns", "card's time in a kernel's read of host memory, beyond link "
           "and host", "ns"),
    _float("driver.launch_ns", "start and completion of a kernel below the runtime's API, if it "
           "replaces kernel.launch_ns", "ns"),
    _float("driver.first_launch_ns", "added to the first launch of a program on a card", "ns",
           default=0.0),
    _float("driver.launch_interval_ns", "least time between the starts of two kernels in "
           "the runtime's queue; 0: driver.launch_ns", "ns", default=0.0),
    _float("driver.register_ns", "time of an access to a register, beyond host and link", "ns"),
    _int("registers.cycles", "cycles of an access to a register, beyond the link", "cycle", 0),
    _float("registers.clock_MHz", "clock of the registers and of the SRAM controller", "MHz", 1e-3),
    _int("registers.width_bytes", "width of a register", "B", allowed=(4, 8)),
    _int("sram.extra_cycles", "further cycles of an access to the SRAM", "cycle", 0),
    _int("sram.bytes", "size of the SRAM", "B", high=_MOST_BYTES),
    _float("serial.clock_MHz", "clock of the channels", "MHz", 1e-3),
    _int("serial.width_bytes", "bytes that one channel accepts in each cycle", "B", high=4096),
    _int("serial.channels", "channels in each direction", high=64),
    _float("serial.latency_ns", "from the last byte sent until the peer can use it", "ns"),
    _float("serial.hop_ns", "added between boards, if there are several", "ns"),
    _float("serial.stretch", "time on the wire over time of the data alone", "", 1.0, 100.0),
    Parameter("serial", "in_turn", bool, "", "whether a kernel sends and then receives; false: "
              "both at once",
              default=True),
    _float("serial.start_ns", "start of the kernels and wait for their end, once in a timed "
           "loop", "ns",
           default=0.0),
    _float("serial.barrier_ns", "delay of a card's start for each stage of the barrier "
           "before a loop", "ns", default=0.0),
    _int("serial.sharing", "links of a ring that share one wire", default=1),
    _int("serial.depth", "flits that a channel buffers, on the wire and after it", default=512),
    _float("offload.initialise_ns", "start of the runtime, with the device already programmed",
           "ns"),
    _float("offload.program_ns", "programming of the device; 0: already programmed", "ns", 0.0,
           1e12, 0.0),
    _float("offload.allocate_ns", "allocation of all vectors of an offload, without their pages",
           "ns"),
    _float("offload.align_ns", "added if all vectors begin at a page", "ns", default=0.0),
    _float("offload.fault_ns", "first touch of a page of the host", "ns"),
    _float("offload.pin_ns", "pinning of one page for the device", "ns"),
    _float("offload.copy_Bps", "rate of the driver's copy of memory that does not begin at a "
           "page", "B/s",
           _LEAST_RATE),
    _float("offload.populate_ns", "filling of one element of both operands by the host", "ns"),
    _float("offload.arguments_ns", "setting of the kernel's arguments", "ns"),
    _float("offload.enqueue_ns", "enqueueing of the kernel", "ns"),
    _float("offload.kernel_ns", "least time of one element in the kernel", "ns"),
    _float("offload.add_ns", "addition of one element by the host", "ns"),
    _float("sync.call_ns", "system call of a buffer's sync, if host and kernels share memory",
           "ns"),
    _float("sync.bandwidth_Bps", "rate at which a sync writes caches back or invalidates them",
           "B/s", _LEAST_RATE),
)  # fmt: skip

TABLE: Mapping[str, Parameter] = MappingProxyType({p.name: p for p in _PARAMETERS})
"""All parameters by flat name, in the order in which files and listings have them."""
SECTIONS = tuple(dict.fromkeys(p.section for p in _PARAMETERS))


def required_sections(present: Iterable[str]) -> frozenset[str]:
    """Sections that a board with these sections must have.

    Host and kernels of a board with ``[sync]`` share one memory, so that this board has no link.
    A board may leave out any other section, if the card lacks that part.
    """
    return frozenset({"faults"} if "sync" in present else {"link", "host", "faults"})


KINDS = ("published", "fitted", "assumed")


def of_section(section: str) -> list[Parameter]:
    """Parameters of one section."""
    return [p for p in TABLE.values() if p.section == section]
