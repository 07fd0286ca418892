"""Finds the part of AMD's OpenCL by which small transfers take longer than by native XRT.

The software of both APIs runs above XRT's noop shim; the emulated card's time is added. Each round
has fresh processes that measure OpenCL's ways. Their threads are where Linux puts them, on the
caller's processor, or on another processor. Further processes have XRT's trace, or measure native
XRT.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from common import Isthmus, bare, build_bare, heading, ratio_text

from isthmus.measure import protocol
from isthmus.measure.supervisor import WorkerProcess
from isthmus.units import format_size

SIZES = (1, 64, 4 << 10, 16 << 10, 64 << 10)
SHOWN = (1, 4 << 10, 64 << 10)
OPERATIONS = ("write", "read")
WANTED = [(operation, size) for operation in OPERATIONS for size in SIZES]
USUAL = "in order"
PLACEMENTS = {
    "free": "threads where the system puts them",
    "same": "all threads on one processor",
    "apart": "caller on one processor, OpenCL's threads on another",
    "traced": "all threads on one processor, both APIs with XRT's trace",
}
PARTS = (
    "whole, us", "enqueue, us", "queued to started, us", "started to ended, us",
    "processor time, us", "voluntary switches",
)  # fmt: skip


class Measured:
    """Results of all rounds; each list has one value for each round."""

    def __init__(self) -> None:
        self.opencl: dict[tuple[str, str, int, str], list[float]] = defaultdict(list)
        """Seconds by OpenCL, by placement of threads, operation, size and way."""
        self.xrt: dict[tuple[str, str, int], list[float]] = defaultdict(list)
        """Seconds by native XRT, by ``free`` or ``traced``, operation and size."""
        self.parts: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
        """All figures of transfers of 1 B in both directions, by placement and way."""
        self.loads: list[float] = []


def card_seconds(address: str) -> dict[tuple[str, int], float]:
    """Simulated seconds of each transfer on the emulated card, with the driver that it assumes."""
    device = Isthmus(address)
    result = {}
    with WorkerProcess(device.device.candidate.environment) as worker:
        worker.ask(device.device.open_request())
        criterion = protocol.Criterion(1e-9, 0.95, 0.1)
        for operation, size in WANTED:
            block = worker.ask(protocol.Measure(operation, size, "alloc_host", {}, criterion, 0.1))
            assert isinstance(block, protocol.Measured)
            assert block.verified == "true", block.fault
            femtoseconds = statistics.median(block.parts[0].simulated_fs)
            result[operation, size] = 1e-15 * femtoseconds / block.batch
    return result


def ways(*arguments: object, env: dict[str, str]) -> Iterator[tuple[str, int, str, list[float]]]:
    """Runs the bare program ``xocl_ways``; yields operation, size, way and figures of each line."""
    printed = bare("xocl_ways", ",".join(map(str, SIZES)), *arguments, env=env)
    assert printed is not None, "no AMD OpenCL to link with (apt-get install libxrt-dev)"
    for line in printed.splitlines():
        operation, _, others = line.partition(",")
        if operation in OPERATIONS:  # skip lines that XRT itself prints
            size, way, *figures = others.split(",")
            yield operation, int(size), way, [float(figure) for figure in figures]


def settings(folder: Path, text: str) -> dict[str, str]:
    """Writes an xrt.ini that turns a setting on; returns the environment by which XRT reads it."""
    path = folder / f"{text}.ini"
    path.write_text(f"[Debug]\n{text}=true\n", encoding="utf-8")
    return {"XRT_INI_PATH": str(path)}


def show(title: str, rows: Mapping[str, list[str]], columns: list[str]) -> None:
    """Prints a table with a title."""
    print(f"\n{title}\n\n| {' | '.join(['', *columns])} |\n{'|---' * (len(columns) + 1)}|")
    for name, cells in rows.items():
        print(f"| {' | '.join([name, *cells])} |")


def us(values: list[float]) -> str:
    """Text of the median in microseconds; ``values`` are in seconds."""
    return f"{1e6 * statistics.median(values):.3g}"


def measure(rounds: int, seconds: float) -> Measured:
    """Measures every way in each round."""
    opencl, native = Isthmus("xocl:0@noop"), Isthmus("xrt:0@noop")
    usual = dict(opencl.device.candidate.environment)
    xclbin = usual["ISTHMUS_DEFAULT_BINARY"]
    result = Measured()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # XRT writes its trace to the working folder
        opencl_traced = usual | settings(Path(folder), "opencl_trace")
        usual_native = dict(native.device.candidate.environment)
        native_traced = usual_native | settings(Path(folder), "native_xrt_trace")
        for turn in range(rounds):
            result.loads.append(os.getloadavg()[0])
            for placement in PLACEMENTS:
                traced = placement == "traced"
                where, env = ("same", opencl_traced) if traced else (placement, usual)
                for operation, size, way, figures in ways(seconds, turn, xclbin, where, env=env):
                    result.opencl[placement, operation, size, way].append(figures[0])
                    if size == 1:
                        result.parts[placement, way].append(figures)
            for operation, size in WANTED:
                own = opencl.median(operation, size, "aligned", seconds)[0]
                result.opencl["free", operation, size, "in order, through Isthmus"].append(own)
                for name, env in (("free", usual_native), ("traced", native_traced)):
                    printed = bare("xrt_loop", operation, size, seconds, xclbin, env=env)
                    assert printed is not None
                    result.xrt[name, operation, size].append(float(printed.split()[-1]))
        os.chdir("/")
    return result


def against(
    measured: Measured, card: Mapping[tuple[str, int], float], placement: str, operation: str
) -> None:
    """Prints each way's software time over the usual way's, and XRT's time over OpenCL's."""
    rows = {}
    native = "traced" if placement == "traced" else "free"
    own = [way for p, o, size, way in measured.opencl if (p, o, size) == (placement, operation, 1)]
    for way in own:
        times, software, ratios = [], [], []
        for size in SHOWN:
            c, xrt = card[operation, size], measured.xrt[native, operation, size]
            chosen, usual = (measured.opencl[placement, operation, size, w] for w in (way, USUAL))
            times.append(us(chosen))
            software.append(ratio_text([a / b for a, b in zip(chosen, usual, strict=True)]))
            ratios.append(ratio_text([(c + x) / (c + a) for x, a in zip(xrt, chosen, strict=True)]))
        rows[way] = [", ".join(times), *software, *ratios]
    sizes = [format_size(size) for size in SHOWN]
    show(
        f"{operation}, {PLACEMENTS[placement]}",
        rows,
        [f"software at {', '.join(sizes)}, us", *(f"over '{USUAL}', {size}" for size in sizes),
         *(f"XRT / OpenCL with card, {size}" for size in sizes)],
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.02, help="of each way in each process")
    parser.add_argument("--card", default="f1-vu9p")
    chosen = parser.parse_args()
    build_bare()
    card = card_seconds(f"xrt:0@card={chosen.card}")
    heading("XRT against OpenCL, small transfers: which part of OpenCL's software takes the time")
    result = measure(chosen.rounds, chosen.seconds)
    low, middle, high = min(result.loads), statistics.median(result.loads), max(result.loads)
    print(f"{chosen.rounds} rounds, load average {low:.1f} to {high:.1f}, median {middle:.1f}")
    sizes = [format_size(size) for size in SIZES]
    rows = {}
    for o in OPERATIONS:
        rows[f"{o}: card:{chosen.card}, simulated"] = [f"{1e6 * card[o, s]:.1f}" for s in SIZES]
        rows[f"{o}: OpenCL, {USUAL}"] = [us(result.opencl["free", o, s, USUAL]) for s in SIZES]
        rows[f"{o}: XRT"] = [us(result.xrt["free", o, s]) for s in SIZES]
        rows[f"{o}: XRT, traced"] = [us(result.xrt["traced", o, s]) for s in SIZES]
        rows[f"{o}: XRT / OpenCL with card"] = [
            ratio_text([(card[o, s] + x) / (card[o, s] + a) for x, a in
                        zip(result.xrt["free", o, s], result.opencl["free", o, s, USUAL],
                            strict=True)]) for s in SIZES]  # fmt: skip
    show("Time by size, us, and the ratio", rows, sizes)
    for placement in PLACEMENTS:
        for operation in OPERATIONS:
            against(result, card, placement, operation)
    rows = {
        f"{placement}: {way}": [
            *(us([line[i] for line in lines]) for i in range(5)),
            f"{statistics.median(line[5] for line in lines):.2f}",
        ]
        for (placement, way), lines in result.parts.items()
    }
    show("1 B, both directions: where a call's time is", rows, list(PARTS))


if __name__ == "__main__":
    main()
