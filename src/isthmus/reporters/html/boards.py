"""What others measured on real boards, beside what the emulated card makes of it within seconds."""

from __future__ import annotations

from typing import NamedTuple

from isthmus import _core, boards, published
from isthmus.backends import registry
from isthmus.models.offload import ELEMENTS
from isthmus.models.serial import SIZES
from isthmus.validation.events import exchange

_GIB = float(1 << 30)
_CYCLES_PER_NS = 3.4


class Beside(NamedTuple):
    """One published figure and the emulated card's, in the same unit."""

    what: str
    unit: str
    published: float
    here: float
    source: str
    study: str
    device: str
    """Address of the card; with the study what shows more."""

    @property
    def difference(self) -> float:
        """Here over published, less 1."""
        return self.here / self.published - 1.0


def beside_published() -> list[Beside]:
    """The main figure of each of the five sources; the cards run in this process, some seconds."""
    return [_peak(), _host_memory(), _offload(), _network(), _register()]


def _card(board: str) -> tuple[_core.Backend, dict[str, str]]:
    return _core.load_backend(str(registry()["card"].library)), dict(boards.load(board).flat())


def _seconds(board: str, operation: str, size: int, memory: str, **axes: str) -> float:
    """Simulated time of one verified repetition."""
    backend, parameters = _card(board)
    block = _core.Series(backend.open("", parameters), operation, size, memory, axes).measure(0.0)
    return float(block.parts[0].simulated_fs[0]) * 1e-15


def _peak() -> Beside:
    """The model's rate no longer rises at 64 MiB; the published peak is at 512 MiB."""
    peaks = published.series("opencl_xrt_peaks").set_index(["target", "api", "operation"])
    size, stated = 64 << 20, float(peaks["peak_GBps"]["hw", "xrt", "write"])
    here = size / _seconds("f1-vu9p", "write", size, "pinned", depth="1", bank="0") / _GIB
    what = "AWS F1 VU9P: peak of XRT's writes to the card"
    return Beside(what, "GiB/s", stated, here, "Li 2024", "transfer", "card:f1-vu9p")


def _host_memory() -> Beside:
    log = published.series("host_memory_bw_u250_gen3x16").set_index("buffer_bytes")
    size, sweeps = 2 << 20, 1024
    axes = {"target": "host", "implementation": "model", "iterations": str(sweeps)}
    here = size * sweeps / _seconds("u250", "read_bandwidth", size, "host_only", **axes) / _GIB
    what = "Alveo U250: kernel reads host memory, 2 MiB"
    return Beside(what, "GiB/s", float(log["read_GiBps"][size]), here, "AMD's example log",
                  "hostmem", "card:u250")  # fmt: skip


def _offload() -> Beside:
    log = published.series("aligned_allocation_u200").set_index("phase")["aligned_ms"]
    stated = float(log.drop("software_vadd").sum())
    backend, parameters = _card("u200")
    record = _core.measure_offload(backend, "", parameters, 4 * ELEMENTS, ("aligned", {}), 0)
    here = next(phase.simulated_fs for phase in record.first if phase.name == "total") * 1e-12
    what = "Alveo U200: one offload of 3 x 24 MiB, page-aligned"
    return Beside(what, "ms", stated, here, "AMD Vitis runtime tutorial 2020.2", "allocation",
                  "card:u200")  # fmt: skip


def _network() -> Beside:
    log, ranks = published.series("b_eff_520n_8fpga"), 8
    rates = 2 * ranks * log["message_bytes"] * log["looplength"] / log["transfer_s"] / 1e9
    sizes, board = SIZES["published"], boards.load("520n")
    here = sum(exchange(board, ranks, size) for size in sizes) / len(sizes) / 1e9
    what = "8 x BittWare 520N: effective bandwidth of the ring"
    return Beside(what, "GB/s", float(rates.mean()), here, "HPCC FPGA, b_eff", "beff", "card:520n")


def _register() -> Beside:
    values = published.series("mmio_stratix4_gen2x8").set_index("quantity")["value"]
    single = {"width": "8", "instruction": "mov", "fence": "none", "pipelined": "no"}
    here = _seconds("stratix4-gen2x8", "register_load", 8, "bar_uc", **single) * 1e9
    what = "Stratix IV, gen2 x8: one load of a register"
    stated = float(values["status_register_read"]) / _CYCLES_PER_NS
    return Beside(what, "ns", stated, here, "McCalpin, TACC TR-14-10", "mmio",
                  "card:stratix4-gen2x8")  # fmt: skip
