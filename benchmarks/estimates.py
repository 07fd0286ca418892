"""Compares estimated cycles of public kernels with the cycles that their authors published.

``python benchmarks/estimates.py FOLDER`` reads sources at FOLDER/OWNER/NAME and fetches nothing.
The script compiles each kernel with the counters that ``card kernel build`` inserts. It calls the
kernel once, with the sizes of the kernel's report. It needs g++ and libclang
(``pip install 'isthmus[estimate]'``).
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from common import ROOT

from isthmus_emulation import estimate

XRT = ROOT / "emulation" / "xrt"
TIMEOUT_S = 300
"""Most time that one call of a kernel may take."""


class Published(NamedTuple):
    """A public kernel, and the cycles that its authors published for it."""

    repository: str
    """``OWNER/NAME`` on GitHub."""
    commit: str
    file: str
    top: str
    mhz: float
    """Clock of the report."""
    cycles: int
    """Latency of the worst case."""
    report: str
    """Where the cycles stand: a file of the repository, and the version of HLS."""
    call: str
    """C++ that calls the kernel with the report's sizes."""
    kernel_flow: bool = True
    """False: HLS's IP flow, where arguments without INTERFACE lie in a RAM."""
    options: tuple[str, ...] = ()
    """Macros that the report was made with."""


ECE = "WYI1223/ECE8893MyLab"
TUTORIAL = "Hardware_Acceleration/Design_Tutorials/01-convolution-tutorial"
MATRIX = "static data_t A[N_ROWS][N_COLS], C[N_ROWS][N_COLS]; top_kernel(A, C);"
PIXELS = "for (int n = 0; n < 76800; ++n) s.write(uint_8_side_channel());"
CONV = (
    "static fm_t a[1][1][187], of[5]; static wt_t w1[32][1][5], b1[32], w2[32][32][5], b2[32],"
    "w3[32][32][5], b3[32], w4[32][32][5], b4[32], d1[32][64], e1[32], d2[5][32], e2[5];"
    "tiled_conv(a, w1, b1, w2, b2, w3, b3, w4, b4, d1, e1, d2, e2, of);"
)


def _lab(folder: str, cycles: int) -> Published:
    report = f"{folder}/project_1/hls/syn/report/csynth.xml, 2025.1"
    return Published(ECE, "cf6fbfec", f"{folder}/top.cpp", "top_kernel", 100, cycles, report,
                     MATRIX)  # fmt: skip


def _vendors(file: str, cycles: int) -> Published:
    return Published(
        "Xilinx/Vitis_Accel_Examples", "7249a1af", f"cpp_kernels/array_partition/src/{file}.cpp",
        file, 300, cycles, "cpp_kernels/array_partition/README.rst",
        f"static int a[256], b[256], c[256]; {file}(a, b, c, 16);",
    )  # fmt: skip


def _conv(folder: str, cycles: int) -> Published:
    return Published("larm60/ECE8893", "46c9542a", f"HLS/{folder}/conv1d.cpp", "tiled_conv", 100,
                     cycles, f"HLS/{folder}", CONV, kernel_flow=False)  # fmt: skip


SEEN = (
    Published(ECE, "cf6fbfec", "lab0/top.cpp", "top_kernel", 100, 117,
              "lab0/project_1/hls/syn/report/csynth.xml, 2025.1",
              "static int a[1000], b[1000], c[1000]; top_kernel(a, b, c);"),
    _lab("lab1_37x", 35157),
    _lab("lab1_new", 34898),
    _lab("lab1_parallel", 34902),
    _lab("lab1_parallel2", 37273),
    _lab("lab1_test", 35157),
    Published("hashi0203/Vitis_HLS_Gaussian", "d1a0c714", "src/gaussian.cpp", "gaussian", 100,
              262673, "solution1/syn/report/csynth.xml, 2020.2",
              "static AXI_STREAM i, o; for (int n = 0; n < 512 * 512; ++n) i.write(AP_AXIS());"
              "gaussian(i, o);"),
    Published("Taise228/topk_sort", "9234b41c", "topk_sort.cpp", "topk_sort", 100, 1208,
              "solution1/syn/report/csynth.xml, 2022.2",
              "static hls::stream<StreamPix> i, o; for (int n = 0; n < 1000; ++n) "
              "i.write(StreamPix()); topk_sort(i, o);"),
    Published("ArdaAsci/hls_project", "939477d2", "matrixmul.cpp", "matrixmul", 75, 35,
              "csynth.xml, 2018.3",
              "static mat_a_t a[3][3]; static mat_b_t b[3][3]; static result_t c[3][3], d[3][3];"
              "matrixmul(a, b, c, d);", kernel_flow=False),
    Published("InputBlackBoxOutput/Systolic-Matrix-Multiplier", "0cf8e104", "design.cpp",
              "multiplier", 100, 260, "solution/syn/report/csynth.xml, 2021.1",
              "static int a[8][8], b[8][8], c[8][8]; multiplier(a, b, c, 8);"),
    _vendors("matmul", 2857),
    _vendors("matmul_partition", 1064),
    Published("Eldorado7621/contrast-adjustment-high-level-synthesis", "bf544a57",
              "doHist/core.cpp", "doHist", 100, 153864, "doHist, csynth.rpt",
              f"static hls::stream<uint_8_side_channel> s; {PIXELS}"
              "static int h[256]; doHist(s, h);", kernel_flow=False),
    Published("Eldorado7621/contrast-adjustment-high-level-synthesis", "bf544a57",
              "doContrastIP/core.cpp", "doContrast", 100, 76838, "doContrastIP, csynth.rpt",
              f"static hls::stream<uint_8_side_channel> s, o; {PIXELS}"
              "doContrast(s, o, 1, 200);", kernel_flow=False),
    Published("S1ddharthhh/Pynq-Z2-Matrix-Acceleration", "cf7930ae", "matmul-ip/matmul_hls.cpp",
              "matmul_hls", 100, 114718, "matmul-ip, csynth.rpt",
              "static hls::stream<stream_packet> s, o; for (int n = 0; n < 32768; ++n) "
              "s.write(stream_packet()); matmul_hls(s, o);", kernel_flow=False),
    Published("RISABH-UG26/image_pros", "351c467a", "src/image_processing.cpp", "image_pros", 50,
              307208, "solution1/syn/report/csynth.xml",
              "static stream_t s, o; for (int n = 0; n < 307200; ++n) s.write(axis_pixel_t());"
              "image_pros(s, o, 2, 9, 640, 480);", kernel_flow=False),
    Published("Hrushi199/MLP-on-FPGA", "2b849a30", "mlp.cpp", "nn_fpga_top", 100, 58350,
              "final_nn_fpga_tanh/hls/syn/report",
              "static ap_uint<4> o; nn_fpga_top(ap_uint<4>(1), o);", kernel_flow=False),
    _conv("Optimized", 428533),
    _conv("Baseline", 11388579),
    Published("fluctlights/aes_encryption_HLS", "bc295957",
              "Proyecto_completo/AES_hw/DIseno/AES_accel.cpp", "AES_Encrypt_axi", 100, 53,
              "Proyecto_completo/AES_hw/solution1/syn/report",
              "static hls::stream<AXI_VAL> s, o; for (int n = 0; n < 64; ++n) "
              "s.write(AXI_VAL()); AES_Encrypt_axi(s, o);", kernel_flow=False),
)  # fmt: skip
"""Kernels that the rules were made or changed with."""

NEW = (
    Published("ayumiohno/mnist_depthwise_hls", "4f259bbe", "mnist.cpp", "MNIST", 100, 1735,
              "solution1/syn/report/csynth.xml, 2022.1",
              "static hls::stream<StreamPix> i, w, o; for (int n = 0; n < 784; ++n) "
              "i.write(StreamPix()); for (int n = 0; n < 10000; ++n) w.write(StreamPix());"
              "MNIST(i, w, o);", kernel_flow=False),
    Published("ishanurg/HardwareAccelerated-Split-Radix-FFT-Algorithm", "5146d164",
              "HLS-IP/core.cpp", "sr_fft", 100, 627,
              "HLS-IP/solution1/syn/report/csynth.xml, 2022.2",
              "static complex_t a[64], b[64]; sr_fft(a, b);", kernel_flow=False),
    Published("ihsanalhafiz/Alveo_FPGA_Design_Workshop", "ad8340db", "src/streamhls.cpp",
              "streamhls", 200, 165, "hls/solution1/syn/report/csynth.xml, 2023.2",
              "static float a[256], b[256]; streamhls(a, b);"),
    Published("Nocbox/sobel-Zynq7000", "b091f571", "HLS/sobel_accel.cpp", "sobel_accel", 100,
              307206, "HLS/solution1/syn/report/csynth.xml, 2019.1",
              "static hls::stream<axis_t> i, o; for (int n = 0; n < 307200; ++n) "
              "i.write(axis_t()); sobel_accel(i, o, 640, 480);", kernel_flow=False),
    Published("hoanghelloworld/final_conv2d", "574cad06", "conv_v1/conv_v1.cpp", "do_convolution",
              100, 129, "solution2/syn/report/csynth.xml, 2018.1",
              "static int a[5][5], b[5][5], k[3][3]; do_convolution(a, b, k);", kernel_flow=False),
    Published("hoanghelloworld/final_conv2d", "574cad06", "conv_v2/conv_v2.cpp", "do_convolution",
              100, 47, "solution3/syn/report/csynth.xml, 2018.1",
              "static hls::stream<int> i, o; for (int n = 0; n < 25; ++n) i.write(n);"
              "do_convolution(o, i);", kernel_flow=False),
    Published("Marui-9/swiglu", "d7c60d3e", "swiglu.cpp", "swiglu", 300, 4587014,
              "swiglu/hls/syn/report/csynth.xml, 2025.1",
              "static unsigned char w[9437184], v[9437184], d[9437184]; static signed char x[2048];"
              "static float o[2048]; swiglu(w, v, d, x, o, 0, 1);", kernel_flow=False),
    Published("terenceza/AccelAutoencoderOnFPGA", "3d57da0c", "src/AutoEncoder.cpp", "Autoencoder",
              100, 945200664, "solution1/syn/report/csynth.xml, 2022.1",
              "static DataType i[600], e[40], d[40], o[600], r; static CoeffType l, m;"
              "static unsigned n, h; Autoencoder(i, &n, &h, e, d, &l, &m, o, &r);",
              kernel_flow=False, options=("-D__SYNTHESIS__",)),
    Published("Xilinx/Vitis-Tutorials", "d0e9027c", f"{TUTORIAL}/src/filter2d_hw.cpp",
              "Filter2DKernel", 300, 38520,
              f"{TUTORIAL}/lab2_conv_filter_kernel_design.md: co-simulation, 1000 x 30 pixels",
              "static char c[256]; static unsigned char a[30 * 1024], b[30 * 1024];"
              "Filter2DKernel(c, 1, 0, 1000, 30, 1024, a, b);"),
)  # fmt: skip
"""Kernels chosen by their reports alone, after the rules were made. ``RESULTS.md`` has their first
estimates; rules that these showed to be missing were added afterwards."""

HELD_OUT = (
    Published("agustinsilva447/hls_div", "f9389da2", "main.cpp", "division_hls", 100, 15,
              "solution1/syn/report/csynth.xml, 2022.1", "float c; division_hls(1, 3, &c);",
              kernel_flow=False),
    Published("aishwarya-2720/SPMV-using-VITIS-HLS", "dc9c579d", "sourcefiles/spmvkernel.cpp",
              "spmv_kernel", 100, 3502077,
              "minorproject_final/solution1/syn/report/csynth.xml, 2020.1",
              "static float v[500000], x[1000], y[60098]; static int c[500000], r[1001];"
              "for (int n = 0; n < 1001; ++n) r[n] = 500 * n;"
              "spmv_kernel(v, c, r, x, y, 1000, 1000, 500000);", kernel_flow=False),
    Published("deck11/weighted_round_robin_arbiter", "db901bdb", "wrr.c", "weighted_rr", 100, 143,
              "solution1/syn/report/csynth.xml, 2024.1",
              "static int q[4] = {0, 0, 0, 1}, w[4] = {1, 1, 1, 1}, g[4]; weighted_rr(q, w, g, 0);",
              kernel_flow=False),
    Published("BojanFaletic/MA_HLS", "816997f7", "ma.cpp", "ma", 100, 1,
              "solution1/syn/report/csynth.xml, 2020.2", "ma(1);", kernel_flow=False),
    Published("okpeter97/CarSimOnFPGA", "db749465", "top_level.cpp", "top_level_wheel", 100, 1245,
              "solution2/syn/report/csynth.xml, 2019.1",
              "static float r[5]; top_level_wheel(0.01f, 100, 10, 1, 4000, 0.1f, r, r + 1, r + 2,"
              "r + 3, r + 4);", kernel_flow=False),
    Published("tamas-farkas/Tancoeff-FPGA", "6145d021", "hier_func.cpp", "hier_func", 300,
              134414368, "syn/report/csynth.xml, 2018.3",
              "static din_type i[input_size]; static hls::stream<result_type> o; hier_func(i, o);",
              options=("-include", "isthmus/card/loop_counts.hpp", "-include", "tancalc.cpp",
                       "-include", "fifo.cpp")),
    Published("ndstung/Design-Synthesize-and-Test-Array-Multiplier", "eb4175d9",
              "systolic_array.cpp", "systolic_array", 100, 197, "syn/report/csynth.xml, 2021.1",
              "static data_t a[N][N], b[N][N], c[N][N]; systolic_array(a, b, c);",
              kernel_flow=False),
    Published("mgrailoo/HLS4ML_CPP_HDL_MNIST_", "2c7b86a9", "firmware/myproject.cpp", "myproject",
              200, 8404, "syn/report/csynth.xml, 2020.1.1",
              "static input_t i[N_INPUT_1_1]; static result_t o[N_LAYER_5]; unsigned short a, b;"
              "myproject(i, o, a, b);", kernel_flow=False, options=("-D__SYNTHESIS__",)),
    Published("mohammedshuhad/Hotspot3D", "7b25d387", "memory-opt/3D.cpp", "workload", 300,
              4823536001, "memory-opt/workload_csynth.rpt, 2020.2",
              "static INTERFACE_WIDTH p[size], t[size], o[size]; workload(p, t, o);"),
)  # fmt: skip
"""Kernels chosen by their reports alone, after the rules were frozen on 2026-11-28."""

MAIN = """
#include <cstdio>
#include <vector>
#include "loop_cycles.hpp"
void isthmus_call();
namespace isthmus::card::plugin {
static Counts all;
static std::vector<Counts*> now{&all};
void begin_loop(unsigned) {}
void end_loop(unsigned number, std::uint64_t times) { now.back()->note(number, times); }
}
using isthmus::card::plugin::Counts;
using isthmus::card::plugin::now;
struct isthmus_region::Processes {};
isthmus_region::isthmus_region() = default;
isthmus_region::~isthmus_region() = default;
void isthmus_region::process(unsigned number, const char*, std::initializer_list<unsigned>,
                             std::function<void()> does) {
  Counts& inner = now.back()->inner(number);
  now.push_back(&inner);
  inner.note(number, 1);
  does();
  now.pop_back();
}
void isthmus_region::wait(std::initializer_list<unsigned>) {}
void isthmus_region::finish() {}
int main() {
  using namespace isthmus::card::plugin;
  all.begin();
  isthmus_call();
  const Cycles cycles = all.cycles();
  std::printf("\\nCYCLES %.0f %.0f %s\\n", cycles.least, cycles.most, bound_of(cycles).c_str());
}
"""
"""Counts what the kernel's counters say, and prints the estimate."""


class NotEstimatedError(Exception):
    """A kernel has no estimate; the text says why."""


def _run(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, errors="replace",
                          timeout=TIMEOUT_S, check=False)  # fmt: skip
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        raise NotEstimatedError((lines or [f"exit status {done.returncode}"])[0][:120])
    return done.stdout


def estimated(kernel: Published, checkouts: Path, folder: Path) -> tuple[int, int, str]:
    """Least and most cycles of one call, and what bounds it. Raises NotEstimatedError."""
    source = checkouts / kernel.repository / kernel.file
    called, preprocessed = folder / "call.cpp", folder / "call.ii"
    (folder / "hls_video.h").touch()  # included by sources that use none of it
    called.write_text(
        "#include <isthmus/card/loop_counts.hpp>\n#include <cstring>\n"
        f'#include "{source}"\nvoid isthmus_call() {{ {kernel.call} }}\n'
    )
    flags = ["-std=c++17", "-w", *kernel.options, f"-I{source.parent}", f"-I{folder}",
             f"-I{XRT / 'include'}", "-isystem", XRT / "plugin" / "hls"]  # fmt: skip
    _run("g++", *flags, "-E", called, "-o", preprocessed)
    macros = _run("g++", *flags, "-E", "-dM", called)
    found = estimate.counted(preprocessed, kernel.top, macros, XRT, kernel.mhz,
                             kernel_flow=kernel.kernel_flow)  # fmt: skip
    if found.text is None:
        raise NotEstimatedError(found.why)
    # A testbench beside the kernel may have its own main().
    text = re.sub(rb"\bint\s+main\s*\(", b"int their_main(", found.text)
    # Processes run one after the other here, so that streams hold any number of words.
    text = text.replace(b"if constexpr (isthmus_can_limit<Stream>)", b"if constexpr (false)")
    preprocessed.write_bytes(text)
    (folder / "main.cpp").write_text(MAIN)
    _run("g++", "-std=c++17", "-O1", "-w", "-c", preprocessed, "-o", folder / "call.o")
    _run("g++", "-std=c++20", "-O1", f"-I{XRT / 'include'}", f"-I{XRT / 'plugin'}",
         folder / "main.cpp", XRT / "plugin" / "loop_cycles.cpp", folder / "call.o",
         "-o", folder / "main")  # fmt: skip
    said = re.search(r"^CYCLES (\d+) (\d+) (.*)$", _run(folder / "main"), re.MULTILINE)
    if said is None:
        raise NotEstimatedError("the kernel ended the program")
    return int(said[1]), int(said[2]), said[3]


def table(kernels: tuple[Published, ...], checkouts: Path) -> list[float]:
    """Prints a row for each kernel; returns the middle of each estimate over published cycles."""
    ratios = []
    for kernel in kernels:
        name = f"{kernel.repository}, {kernel.file}"
        if not (checkouts / kernel.repository / kernel.file).exists():
            print(f"| {name} | {kernel.cycles} | no checkout | | | |")
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                least, most, why = estimated(kernel, checkouts, Path(folder))
            except (NotEstimatedError, subprocess.TimeoutExpired) as error:
                print(f"| {name} | {kernel.cycles} | not estimated: {error} | | | |", flush=True)
                continue
        ratio = (least + most) / 2 / kernel.cycles
        ratios.append(ratio)
        inside = "yes" if least <= kernel.cycles <= most else "no"
        print(f"| {name} | {kernel.cycles} | {least} to {most} | {ratio:.2f} | {inside} | {why} |",
              flush=True)  # fmt: skip
    return ratios


def summary(what: str, ratios: list[float]) -> None:
    """Prints the median error, and how many are within a factor of 2."""
    errors = [abs(ratio - 1) for ratio in ratios]
    within = sum(0.5 <= ratio <= 2 for ratio in ratios)
    print(f"{what}: median error {statistics.median(errors):.1%}, {within} of {len(ratios)} within "
          f"a factor of 2, ratios {min(ratios):.2f} to {max(ratios):.2f}")  # fmt: skip


def main() -> None:
    """Compares all kernels of which there is a checkout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", type=Path, help="folder with OWNER/NAME of each repository")
    checkouts = parser.parse_args().checkouts.resolve()
    print("| kernel | published | estimate | middle / published | inside | bound by |")
    print("|---|---|---|---|---|---|")
    seen, new, held = (table(kernels, checkouts) for kernels in (SEEN, NEW, HELD_OUT))
    summary("seen by the rules", seen)
    summary("chosen afterwards, then seen", new)
    summary("held out", held)
    summary("all", seen + new + held)


if __name__ == "__main__":
    main()
