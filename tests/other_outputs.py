"""Outputs of other programs, and what is known of each."""

from __future__ import annotations

from pathlib import Path

from isthmus.importers.as_run import imported
from isthmus.results.run_file import Run

DATA = Path(__file__).parent / "data" / "import"
FILES = sorted(path for path in DATA.iterdir() if path.name != "README.md")
GiB, MiB = float(1 << 30), float(1 << 20)
FACTS = {  # format, points, and of some: operation, bytes, column, figure as the file has it
    "b_eff.json": ("hpcc_fpga", 21, [("exchange", 4096, "min_s", 0.0035066697142857 / 14)]),
    "b_eff.log": ("hpcc_fpga", 21, [("exchange", 1 << 18, "bandwidth_Bps", 1.63394e9),
                                    ("exchange", 1, "median_s", 2.36326e-2 / 16)]),
    "clpeak-1.1.2.xml": ("clpeak", 9, [("write", 512 << 20, "bandwidth_Bps", 14.1172e9),
                                       ("read", 512 << 20, "bandwidth_Bps", 12.068e9)]),
    "clpeak-2.1.2.json": ("clpeak", 8, [("launch", 0, "median_s", 41.9704e-6)]),
    "clpeak-2.1.2.xml": ("clpeak", 8, [("launch", 0, "median_s", 41.9704e-6)]),
    "host_memory_bandwidth.log": (
        "host_memory_bandwidth", 51,
        [("bandwidth", 2 << 20, "bandwidth_Bps", 23.3553 * GiB),
         ("read_bandwidth", 4096, "bandwidth_Bps", 4.87813 * GiB),
         ("write_bandwidth", 256 << 20, "bandwidth_Bps", 10.5752 * GiB)],
    ),
    "ib_write_bw.txt": ("perftest", 1, [("window", 8, "bandwidth_Bps", 0.48e9 / 8)]),
    "nvbandwidth-h100.json": ("nvbandwidth", 4, [
        ("write", 512 << 20, "bandwidth_Bps", 54.62e9),
        ("copy_sm_read", 512 << 20, "bandwidth_Bps", 52.43e9)]),
    "nvbandwidth.json": ("nvbandwidth", 18, [("copy_sm_read", 512 << 20, "bandwidth_Bps", 52.77e9),
                                             ("peer_read", 512 << 20, "bandwidth_Bps", 26.34e9)]),
    "osu_bibw.txt": ("osu", 23, [("window_both", 4 << 20, "bandwidth_Bps", 11554.59e6)]),
    "osu_bw-far.txt": ("osu", 6, [("window", 4 << 20, "bandwidth_Bps", 40689.62e6)]),
    "osu_bw-near.txt": ("osu", 6, [("window", 4 << 20, "bandwidth_Bps", 135040.96e6)]),
    "osu_bw.txt": ("osu", 23, [("window", 1, "bandwidth_Bps", 4.26e6)]),
    "osu_latency.txt": ("osu", 23, [("pingpong", 1, "median_s", 2 * 0.38e-6)]),
    "perftest.json": ("perftest", 1, [("window", 65536, "bandwidth_Bps", 2229.27 * MiB)]),
    "vitis_summary.csv": ("vitis_summary", 2, [("write", 2179080, "median_s", 0.337222e-3),
                                               ("read", 2344, "bandwidth_Bps", 25.638982e6)]),
    "vitis_summary-2022.1.csv": ("vitis_summary", 2, [("read", 4 << 20, "max_s", 0.854396e-3),
                                                      ("write", 4 << 20, "min_s", 0.110193e-3)]),
    "xbutil-u250.txt": ("xbutil", 8, [("write", 16 << 20, "bandwidth_Bps", 9046.9 * MiB)]),
    "xbutil-u30.txt": ("xbutil", 3, [("read", 512 << 20, "bandwidth_Bps", 3165.026458 * MiB),
                                     ("bandwidth", 512 << 20, "bandwidth_Bps", 8822.72 * MiB)]),
    "xbutil.json": ("xbutil", 2, [("write", 16 << 20, "bandwidth_Bps", 9128.4 * MiB)]),
}  # fmt: skip


SIZELESS = {"clpeak-1.1.2.xml", "clpeak-2.1.2.json", "clpeak-2.1.2.xml", "nvbandwidth-h100.json",
            "nvbandwidth.json", "xbutil-u30.txt"}  # fmt: skip
"""Files that do not say the size of their transfers: --bytes does."""


def run_of(path: Path, form: str | None = None, size: int | None = None) -> Run:
    if size is None and path.name in SIZELESS:
        size = 512 << 20
    return imported(path, form, size, ["isthmus", "import"])


def text_of(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def run_of_text(text: str, folder: Path, size: int | None = None) -> Run:
    file = folder / "edited.txt"
    file.write_text(text, encoding="utf-8")
    return run_of(file, size=size)
