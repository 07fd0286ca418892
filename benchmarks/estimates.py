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
"""Seconds that one call of a kernel may take at most."""


class Published(NamedTuple):
    """A public kernel, and the cycles that its authors published for it."""

    repository: str
    """``OWNER/NAME`` on GitHub."""
    commit: str
    file: str
    top: str
    mhz: float
    """Clock of the report in MHz."""
    cycles: int
    """Published latency of the worst case, in cycles."""
    report: str
    """Source of the cycles: a file of the repository, and the version of HLS."""
    call: str
    """C++ that calls the kernel with the report's sizes."""
    kernel_flow: bool = True
    """Whether the report is of HLS's kernel flow; False: IP flow, where arguments without INTERFACE
    lie in a RAM."""
    options: tuple[str, ...] = ()
    """Options of the compiler with the macros of the report."""


SERIES_7 = {
    "ArdaAsci/hls_project", "Eldorado7621/contrast-adjustment-high-level-synthesis",
    "Hrushi199/MLP-on-FPGA", "Nocbox/sobel-Zynq7000", "RISABH-UG26/image_pros",
    "S1ddharthhh/Pynq-Z2-Matrix-Acceleration", "agustinsilva447/hls_div",
    "aishwarya-2720/SPMV-using-VITIS-HLS", "deck11/weighted_round_robin_arbiter",
    "ishanurg/HardwareAccelerated-Split-Radix-FFT-Algorithm", "larm60/ECE8893",
    "terenceza/AccelAutoencoderOnFPGA", "LeVDuc22/XilinxProject", "Mr-AniP/mabonSOC",
    "wushenhaoyu/Darkness_PYNQ", "Joeyoyog/ADSD", "aa08453/CNN-on-FPGA",
    "SiddharthAG2005/cnn-accelerator-vitis-hls",
    "devanshj1996/FPGA-Final-project-Federated-Learning",
    "teo3300/PII-2022-Grazzani-Rogora-Zaffiretti", "Khoabk/Output-port-lookup",
    "andy39866821/AAHLS-LabB-Matrix-Multiplication", "SzuHsi/AAHLS_LabB_cordic",
    "MuJackey/summerschool_filter2d", "McKelvey-Engineering-CSE/adapt_fpga",
    "poppin-mice/AAHLS_LabC", "b07901181/AAHLS-Lab-B-10", "aahwu/AAHLS_labC_Harris",
    "velicharlagokulkumar/vitis-hls", "chenhao1106/Chapter3-BitAccurateDataTypes",
    "StanTeng/AAHLS_labB_DFT", "Shan-handsome/2022_AAHLS_FIR", "srpae/WWES237C_team2",
    "level2fast/wes237c-hardware-for-embedded-systems", "rverma999/wes237C",
    "MasterYI814/WES237C", "sharc-lab/FPGA_ECE8893", "vinamarora8/FPGA_ECE8893",
    "Ritarka/8893Lab2", "s950449/HLS_LabA_Team11", "Nivant11/HLS_Lab4", "j1hye0n/vitis_hls",
    "Derpanieux/SHA-2-Accel-Vitis-HLS", "hank17168/2024_Fall_NTU_AAHLS",
}  # fmt: skip
"""Repositories whose reports are for an FPGA of AMD's 7 series."""
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
                     MATRIX, kernel_flow=False)  # fmt: skip


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
              "static int a[1000], b[1000], c[1000]; top_kernel(a, b, c);", kernel_flow=False),
    _lab("lab1_37x", 35157),
    _lab("lab1_new", 34898),
    _lab("lab1_parallel", 34902),
    _lab("lab1_parallel2", 37273),
    _lab("lab1_test", 35157),
    Published("hashi0203/Vitis_HLS_Gaussian", "d1a0c714", "src/gaussian.cpp", "gaussian", 100,
              262673, "solution1/syn/report/csynth.xml, 2020.2",
              "static AXI_STREAM i, o; for (int n = 0; n < 512 * 512; ++n) i.write(AP_AXIS());"
              "gaussian(i, o);", kernel_flow=False),
    Published("Taise228/topk_sort", "9234b41c", "topk_sort.cpp", "topk_sort", 100, 1208,
              "solution1/syn/report/csynth.xml, 2022.2",
              "static hls::stream<StreamPix> i, o; for (int n = 0; n < 1000; ++n) "
              "i.write(StreamPix()); topk_sort(i, o);", kernel_flow=False),
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
"""Kernels by which the rules of the estimate were made or changed."""

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
estimates. Rules that these estimates showed to be missing were added afterwards."""

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

HELD_OUT_2 = (
    Published("LeVDuc22/XilinxProject", "e3d2dc34", "project1.cpp", "lab1", 100, 3,
              "solution1/syn/report/csynth.xml, 2022.2", "lab1(1, 2, 3);", kernel_flow=False),
    Published("bkushal26/DiagonalSum", "fbba9174", "src/diagonalSum.cpp", "sum", 360, 11,
              "solution1/syn/report/csynth.xml, 2019.1", "static int m[9][9]; sum(m, 9, 9);",
              kernel_flow=False),
    Published("Mr-AniP/mabonSOC", "bd168e71", "mabonsoc.cpp", "mabonsoc", 100, 51,
              "solution1/syn/report/csynth.xml, 2019.1", "int o, r = 1; mabonsoc(&o, &r);",
              kernel_flow=False),
    Published("wushenhaoyu/Darkness_PYNQ", "d95971c9", "src/gamma/gamma.cpp", "gamma", 100, 526,
              "HLS/gamma/solution1/syn/report/csynth.xml, 2018.3",
              "static Dtype_t g[255], m[255], o[255]; gamma(255, g, m, o);", kernel_flow=False,
              options=("-include", "isthmus/card/loop_counts.hpp", "-include", "ap_fixed.h")),
    Published("Joeyoyog/ADSD", "2529e768", "Classifier.cpp", "classify", 100, 1038,
              "solution1/syn/report/csynth.xml, 2018.2",
              "static hls::stream<axis_t> s; for (int n = 0; n < 98; ++n) s.write(axis_t());"
              "ap_fixed<32, 16> r; classify(s, 1, r);", kernel_flow=False,
              options=("-include", "isthmus/card/loop_counts.hpp", "-include", "Exp.cpp")),
    Published("joej970/Using_Vitis_HLS", "f3ceb736", "find_smallest_channel.cpp",
              "find_smallest_channel", 100, 40, "syn/report/csynth.xml, 2021.2",
              "static data_t d[8], o; static ch_t c[8], i; find_smallest_channel(d, c, &o, &i);",
              kernel_flow=False, options=("-D__SYNTHESIS__",)),
    Published("aa08453/CNN-on-FPGA", "0cdf3c76", "src/eight.cpp", "top", 100, 606450,
              "solution1/syn/report/csynth.xml, 2020.1",
              "static fixed a[784], b[6272], c[72], d[8], e[1568], f[1152], g[16], h[3136], i[784],"
              "j[10], k[7840], l[10]; top(a, b, c, d, e, f, g, h, i, j, k, l);", kernel_flow=False,
              options=("-include", "isthmus/card/loop_counts.hpp", "-include", "conv.cpp",
                       "-include", "pool.cpp", "-include", "dense.cpp")),
    Published("yu-zou/CTREncryption", "f72c9983", "src/encryption.cpp", "block_aes_128", 200, 32,
              "solution1/syn/report/csynth.xml, 2018.3",
              "block_aes_128(1, 2, true);", kernel_flow=False, options=("-D__SYNTHESIS__",)),
    Published("SiddharthAG2005/cnn-accelerator-vitis-hls", "852d2cc8", "src/cnn_block.cpp",
              "cnn_block", 100, 95, "reports/csynth.rpt, 2024.2",
              "static data_t i[8][8], o[3][3], k[3][3]; cnn_block(i, o, k);", kernel_flow=False),
    Published("devanshj1996/FPGA-Final-project-Federated-Learning", "46e0bd2d", "tiled_conv.cpp",
              "tiled_conv", 100, 5920, "proj/solution1/syn/report/csynth.xml, 2022.1",
              "static fm_t a[IN_FM_DEPTH][IN_FM_HEIGHT][IN_FM_WIDTH], o[OUT_LINEAR_LENGTH];"
              "static wt_t w[OUT_CONV_FM_DEPTH][IN_FM_DEPTH][KERNEL_HEIGHT][KERNEL_WIDTH],"
              "l[IN_LINEAR_LENGTH][OUT_LINEAR_LENGTH]; tiled_conv(a, w, l, o);",
              kernel_flow=False,
              options=("-include", "isthmus/card/loop_counts.hpp", "-include", "utils.cpp",
                       "-include", "conv_7x7.cpp")),
    Published("teo3300/PII-2022-Grazzani-Rogora-Zaffiretti", "5cfaa0c6",
              "src-base_func/load_test.c", "load_test_h", 100, 24,
              "test_loadbytes/solution1/syn/report/csynth.xml, 2021.2",
              "static unsigned char k[16], n[16]; static u64 s[5]; load_test_h(k, n, s);",
              kernel_flow=False),
    Published("Khoabk/Output-port-lookup", "da5e4171", "Output_port_lookup.cpp",
              "switch_output_port_lookup", 100, 6, "solution1/syn/report/csynth.xml, 2018.2",
              "ap_uint<1> a, b, c; ap_uint<256> d; ap_uint<32> e; ap_uint<128> f;"
              "switch_output_port_lookup(1, 1, 1, 1, a, 1, d, e, f, b, 1, c, 0);",
              kernel_flow=False, options=("-include", "isthmus/card/loop_counts.hpp", *(
                  word for file in ("packet", "Eth", "lut", "Combine", "Send_packet")
                  for word in ("-include", f"{file}.cpp")))),
)  # fmt: skip
"""Kernels chosen by their reports alone, after the rules were frozen a second time."""

_HARRIS = "static int i[DATA_SIZE], o[DATA_SIZE]; harris(i, o, 0.04);"
_MULTIPLY = (
    "static stream_t a, b, c; for (int n = 0; n < N * N; ++n) { a.write(value_t());"
    "b.write(value_t()); } matrix_mul(&a, &b, &c);"
)
_SAMPLES = "Assignment_8/HLS/project_38/Source"
_PACKETS = (
    "static SW_Data_Packet p[5]; static vec_uint16_16 q[5][512]; static int16_t b[5][8];"
    "static int32_t z[5][4]; static vec_int32_16 o[5][4]; Centroid c;"
    "preprocess(p, p + 1, p + 2, p + 3, p + 4, q, b, z, o, &c);"
)


def _later(repository: str, commit: str, file: str, top: str, mhz: float, cycles: int,
           version: str, call: str) -> Published:  # fmt: skip
    return Published(repository, commit, file, top, mhz, cycles, f"csynth.rpt, {version}", call,
                     kernel_flow=False)  # fmt: skip


HELD_OUT_3 = (
    _later("andy39866821/AAHLS-LabB-Matrix-Multiplication", "4a11110f",
           "src/BlockMatrix_design.cpp", "blockmatmul", 100, 301, "2021.2",
           "static hls::stream<blockvec> a, b; for (int n = 0; n < SIZE; ++n) {"
           "a.write(blockvec()); b.write(blockvec()); } static blockmat c;"
           "blockmatmul(a, b, c, 0);"),
    _later("SzuHsi/AAHLS_LabB_cordic", "b02c5341", "src/cordic.cpp", "cordic", 100, 8, "2021.2",
           "COS_SIN_TYPE s, c; cordic(THETA_TYPE(0.5), s, c);"),
    _later("MuJackey/summerschool_filter2d", "760e88b2", "src/filter2d.cpp", "filter2d_accel",
           100, 99606, "2020.2",
           "static int i[16384], k[9], o[16384]; filter2d_accel(i, k, o, 128, 128);"),
    _later("McKelvey-Engineering-CSE/adapt_fpga", "39746b39", "preprocess.cpp", "preprocess", 100,
           298, "2021.1", _PACKETS),
    _later("poppin-mice/AAHLS_LabC", "66d1ead5", "cordic/cordiccart2pol.cpp", "cordiccart2pol",
           1000 / 6.6, 17, "2022.1",
           "data_t r, t; cordiccart2pol(data_t(0.5), data_t(0.25), &r, &t);"),
    _later("b07901181/AAHLS-Lab-B-10", "ca7d9dea", "Brute_Force/src/matrix_mul.cpp",
           "matrix_mul", 100, 2060, "2022.1", _MULTIPLY),
    _later("b07901181/AAHLS-Lab-B-10", "ca7d9dea", "Block_MM_1/src/matrix_mul.cpp", "matrix_mul",
           100, 98324, "2022.1", _MULTIPLY),
    _later("aahwu/AAHLS_labC_Harris", "0903b125", "harris.cpp", "harris", 1000 / 6, 2240,
           "2022.1", _HARRIS),
    _later("velicharlagokulkumar/vitis-hls", "06acf5d1", f"{_SAMPLES}/cp_removal.cpp",
           "cyclic_prefix_removal", 100, 17002, "2022.2",
           "static hls::stream<ComplexT> i, o; for (int n = 0; n < N; ++n) i.write(ComplexT());"
           "static hls::stream<bool> t; cyclic_prefix_removal(i, o, t);"),
    _later("velicharlagokulkumar/vitis-hls", "06acf5d1", f"{_SAMPLES}/data_generator.cpp",
           "data_generator", 100, 8803, "2022.2",
           "static hls::stream<ComplexT> o; data_generator(o);"),
    _later("velicharlagokulkumar/vitis-hls", "06acf5d1", "project_18/Source/alu.cpp",
           "integer_alu", 100, 13, "2022.2",
           "static hls::stream<dina> a; static hls::stream<dinb> b; static hls::stream<dinop> p;"
           "static hls::stream<dout> o; a.write(1); b.write(1); p.write(0);"
           "integer_alu(a, b, p, o);"),
)  # fmt: skip
"""Kernels with reports of Vitis HLS 2020.2 and later, chosen by these reports alone after the rules
were frozen a third time. Today's rules have seen all of ``HELD_OUT``: ``RESULTS.md`` has the first
estimates."""

_WES = "project-2/project2-submission-cordic/cordic_baseline"
_SPRING = "2023_Spring/Lab1/PartA"
_COUNTS = ("-include", "isthmus/card/loop_counts.hpp")
_PRODUCT = "static real_t a[M][N], b[N][K], c[M][K]; real_matmul(a, b, c);"
_CNN = (
    "alignas(64) static short i[160 * 160 * 128], o[160 * 160 * 128], w[128 * 128 * 9], b[128];"
    "cnn_accel_top(i, o, w, b, 160, 160, 128, 128, 0, 3);"
)
_TWO_FLOATS = "static float a[256], b[256], c[256], d[256]; dft(a, b, c, d);"
_LENET = (
    "static DATA_T i[1024], a[150], b[6], c[2400], d[16], e[48000], f[120], g[10080], h[84],"
    "k[840], l[10]; int p; lenet_predict(i, &p, a, b, c, d, e, f, g, h, k, l);"
)
_FOUR_1024 = "static float a[1024], b[1024], c[1024], d[1024];"


def _with(*files: str) -> tuple[str, ...]:
    return (*_COUNTS, *(word for file in files for word in ("-include", file)))


HELD_OUT_4 = (
    Published("vinhphuctadang/intx-fpga", "d127e231", "solution1/adder.cpp", "add", 100, 11,
              "solution1/syn/report/csynth.xml, 2020.2",
              "add(intx::uint<256>(3), intx::uint<256>(5));", kernel_flow=False),
    Published("b07901181/AAHLS-Lab-A-5", "c0395b17", "dataflow/diamond.cpp", "diamond", 200, 155,
              "dataflow/solution1/syn/report/csynth.xml, 2022.1",
              "static data_t i[N], o[N]; diamond(i, o);", kernel_flow=False),
    Published("b07901181/AAHLS-Lab-A-5", "c0395b17", "deadlock/example.cpp", "example", 75, 34,
              "deadlock/proj/solution1/syn/report/csynth.xml, 2022.1",
              "static hls::stream<int> a, b; for (int n = 0; n < 10; ++n) a.write(n);"
              "example(a, b);", kernel_flow=False),
    Published("Vignesh-Er/ARM-SOC_PS-5_TEST_BENCHERS", "b421478b", "hls/cnn_accelerator.cpp",
              "cnn_accel_top", 1000 / 6.67, 213829142, "Report/csynth.rpt, 2024.2", _CNN,
              kernel_flow=False, options=("-D__SYNTHESIS__",)),
    Published("chenhao1106/Chapter3-BitAccurateDataTypes", "f831d440", "src/hls_sin.cpp",
              "hls_sin", 200, 15369, "rpt/hls_sin_csynth.rpt, 2019.2",
              "static float x[128]; hls_sin(x, 0);", kernel_flow=False),
    Published("StanTeng/AAHLS_labB_DFT", "75deb4a4", "src/dft_optimize.cpp", "dft", 100, 65589,
              "report/csynth.rpt, 2021.2", _TWO_FLOATS, kernel_flow=False),
    Published("MiiKiyoshi/spi_to_hls", "b6c111f5", "src_hls/divide_sum.cpp", "divide_sum", 100, 47,
              "vitis_hls/solution1/syn/report/csynth.xml, 2023.2",
              "static int a[10], b[10], r, s; for (int n = 0; n < 10; ++n) a[n] = b[n] = n + 1;"
              "divide_sum(a, b, &r, &s);", kernel_flow=False),
    Published("hank17168/2024_Fall_NTU_AAHLS", "08ed272a",
              "course-lab_1/hls_Multiplication/Multiplication.cpp", "multip_2num", 100, 3,
              "course-lab_1/hls_ip/solution1/syn/report/csynth.xml, 2022.1",
              "int r; multip_2num(3, 5, &r);", kernel_flow=False),
    Published("Anderson-Wu/AAHLS_LABA", "cb6eddf7", "lab3/array_io.c", "array_io", 250, 34,
              "lab3/array_io_prj/solution1/syn/report/csynth.xml, 2022.1",
              "static din_t i[32]; static dout_t o[32]; array_io(o, i);", kernel_flow=False),
    Published("Shan-handsome/2022_AAHLS_FIR", "28215771", "fir/fir11_baseline/fir.cpp", "fir", 100,
              45, "fir/fir11_baseline/fir_csynth.rpt, 2020.1", "int y; fir(&y, 3);",
              kernel_flow=False),
    Published("srpae/WWES237C_team2", "9d137feb", "project3/dft1024_best/dft.cpp", "dft", 100,
              153664, "project3/dft1024_best/csynth.xml, 2022.1.2",
              f"{_FOUR_1024} dft(a, b, c, d);", kernel_flow=False),
    Published("level2fast/wes237c-hardware-for-embedded-systems", "1d1c2268",
              f"{_WES}/cordiccart2pol.cpp", "cordiccart2pol", 100, 263,
              f"{_WES}/cordiccart2pol_csynth.rpt, 2023.1",
              "float r, t; cordiccart2pol(0.5f, 0.25f, &r, &t);", kernel_flow=False),
    Published("rverma999/wes237C", "2a79f26a", "project2/cordic/HLS/cordic/cordiccart2pol.cpp",
              "cordiccart2pol", 100, 67, "project2/cordic/HLS/cordic_baseline, csynth.xml, 2022.2",
              "data_t r, t; cordiccart2pol(data_t(0.5), data_t(0.25), &r, &t);",
              kernel_flow=False),
    Published("MasterYI814/WES237C", "61d005c4", "project4_submission/OFDM_receiver/fft.cpp",
              "fft", 100, 8385, "project4_submission/OFDM_receiver/fft_csynth.xml, 2022.2",
              f"{_FOUR_1024} fft(a, b, c, d);", kernel_flow=False,
              options=_with("qpsk_decode.cpp")),
    Published("MasterYI814/WES237C", "61d005c4", "project5_submission/bnn_project/bnn.cpp", "bnn",
              100, 6097, "project5_submission/bnn_project/bnn_csynth.xml, 2022.2",
              "static unsigned i[25]; static int o[10]; bnn(i, o);", kernel_flow=False),
    Published("sharc-lab/FPGA_ECE8893", "90bea614",
              "2023_Spring/Final_Projects/Eyeriss/convolution.cpp", "convolution", 100, 2001,
              "2023_Spring/Final_Projects/Eyeriss/report/csynth.xml, 2022.1.2",
              "static int i[5][5], w[3][3], o[3][3]; convolution(i, w, o);", kernel_flow=False),
    Published("sharc-lab/FPGA_ECE8893", "90bea614",
              "2022_Spring/Final_Projects/Lucas-Kanade-Optical-Flow/source_code/HLS/ref_LK.cpp",
              "ref_LK", 100, 7183108, "Lucas-Kanade-Optical-Flow, ref_LK_csynth.rpt, 2021.1",
              "static unsigned short a[10000], b[10000]; static short x[10000], y[10000];"
              "ref_LK(a, b, x, y);", kernel_flow=False),
    Published("asandeep1/FPGA_ECE8893", "f1e5e758", "2026_Spring/lab2/top.cpp", "top_kernel", 100,
              65901, "2026_Spring/lab2/project_1/hls/syn/report/csynth.xml, 2025.1.1",
              "static data_t i[NX][NY], o[NX][NY]; top_kernel(i, o);", kernel_flow=False),
    Published("vinamarora8/FPGA_ECE8893", "b1a093e1", f"{_SPRING}/real_matmul.cpp", "real_matmul",
              100, 85051, f"{_SPRING}/real_csynth.rpt, 2022.1.2", _PRODUCT, kernel_flow=False),
    Published("Ritarka/8893Lab2", "5b76aa5c", f"{_SPRING}/real_matmul.cpp", "real_matmul", 100,
              220074, f"{_SPRING}/real_proj/solution1/syn/report/csynth.xml, 2022.1.2", _PRODUCT,
              kernel_flow=False),
    Published("s950449/HLS_LabA_Team11", "bed003f5",
              "src/class_hier_design/class_hier_design.cpp", "top", 100, 7,
              "rpt/class_hier_design/top_csynth.rpt, 2019.2",
              "static hls::stream<uint4> i; static hls::stream<uint5> o;"
              "for (int n = 0; n < 4; ++n) i.write(n); top(i, o);", kernel_flow=False),
    Published("s950449/HLS_LabA_Team11", "bed003f5", "src/directinput_ctrl/directinput_ctrl.cpp",
              "top", 200, 1022, "rpt/directinput_ctrl/top_csynth.rpt, 2019.2",
              "static hls::stream<uint4> i, o; for (int n = 0; n < 255; ++n) i.write(n);"
              "ap_uint<8> c = 255; top(i, o, c);", kernel_flow=False),
    Published("Nivant11/HLS_Lab4", "2e4268ff", "ecelinux/bnn.cpp", "dut", 100, 75816,
              "ecelinux/bnn_reshape.prj/solution1/syn/report/csynth.xml, 2019.2.1",
              "static hls::stream<bit32_t> i, o; for (int n = 0; n < 8; ++n) i.write(n);"
              "dut(i, o);", kernel_flow=False),
    Published("j1hye0n/vitis_hls", "9d59e654", "workspace/dct/dct.cpp", "dct", 100, 372,
              "workspace/dct/dct_hls_solution/hls/syn/report/csynth.xml, 2024.2",
              "static short i[64], o[64]; dct(i, o);", kernel_flow=False),
    Published("Derpanieux/SHA-2-Accel-Vitis-HLS", "b8c3b859",
              "chunkProcessor/chunkProcessor.cpp", "chunkProcessor", 100, 272,
              "chunkProcessor/chunkProcessor/hls/syn/report/csynth.xml, 2025.1",
              "static word256 i[8], m[16], o[8]; chunkProcessor(i, m, o);", kernel_flow=False,
              options=_with("../wGenerator/wGenerator.cpp", "../chunkIteration/chunkIter.cpp",
                    "../functions256.cpp")),
    Published("YanLunHuang/LFADS", "70964a1e", "firmware/myproject.cpp", "myproject", 200, 5403,
              "report/csynth.xml, 2019.2",
              "static input_t a[192]; static input2_t b[500]; static result_t o[784];"
              "myproject(a, b, o);", kernel_flow=False, options=("-D__SYNTHESIS__",)),
    Published("ros-acceleration/acceleration_examples", "cb7c556d",
              "nodes/vadd_publisher/src/vadd.cpp", "vadd", 250, 8334,
              "the documentation of vadd_publisher, 2020.2.2",
              "static unsigned a[4096], b[4096], c[4096]; vadd(a, b, c, 4096);"),
    Published("ros-acceleration/acceleration_examples", "cb7c556d",
              "nodes/simple_adder/src/adder2.cpp", "simple_adder", 250, 5,
              "the documentation of simple_adder, 2020.2.2", "simple_adder(3, 5);"),
    Published("xz-bruh-bwe/EE_278", "6d73a761",
              "vivado_projects/HLS/EE278_term_proj/lenet_main.cpp", "lenet_predict", 100, 1239580,
              "EE278_term_proj/lenet_proj/lenet_predict/syn/report/csynth.xml, 2023.1", _LENET,
              kernel_flow=False, options=_with("lenet_support.cpp")),
)  # fmt: skip
"""Kernels with reports of 2019.2 to 2025.1, chosen by these reports alone before the rules were
frozen a fourth time. No kernel was estimated before the freeze."""

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
void isthmus_region::copy(const char*, std::function<void()> does) { does(); }
void isthmus_region::join() {}
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
"""C++ program that calls the kernel, adds up its counters, and prints the estimate."""


class NotEstimatedError(Exception):
    """A kernel has no estimate; the message says why."""


def _run(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, errors="replace",
                          timeout=TIMEOUT_S, check=False)  # fmt: skip
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        raise NotEstimatedError((lines or [f"exit status {done.returncode}"])[0][:120])
    return done.stdout


def estimated(kernel: Published, checkouts: Path, folder: Path) -> tuple[int, int, str]:
    """Estimates one call of a kernel: least and most cycles, and what bounds the call.

    Raises NotEstimatedError.
    """
    source = checkouts / kernel.repository / kernel.file
    called, preprocessed = folder / "call.cpp", folder / "call.ii"
    (folder / "hls_video.h").touch()  # some sources include this header without using it
    called.write_text(
        "#include <isthmus/card/loop_counts.hpp>\n#include <cstring>\n"
        f'#include "{source}"\nvoid isthmus_call() {{ {kernel.call} }}\n'
    )
    flags = ["-std=c++17", "-w", *kernel.options, f"-I{source.parent}", f"-I{folder}",
             f"-I{XRT / 'include'}", "-isystem", XRT / "plugin" / "hls"]  # fmt: skip
    _run("g++", *flags, "-E", called, "-o", preprocessed)
    macros = _run("g++", *flags, "-E", "-dM", called)
    found = estimate.counted(preprocessed, kernel.top, macros, XRT, kernel.mhz,
                             kernel_flow=kernel.kernel_flow, has_card=False,
                             part="xc7" if kernel.repository in SERIES_7 else "")  # fmt: skip
    if found.text is None:
        raise NotEstimatedError(found.why)
    # Rename main(): a source may have a testbench beside the kernel.
    text = re.sub(rb"\bint\s+main\s*\(", b"int their_main(", found.text)
    # Let streams hold any number of words: here the kernel's processes run one after another.
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
    """Prints the median error of estimates, and how many are within a factor of 2."""
    errors = [abs(ratio - 1) for ratio in ratios]
    within = sum(0.5 <= ratio <= 2 for ratio in ratios)
    print(f"{what}: median error {statistics.median(errors):.1%}, {within} of {len(ratios)} within "
          f"a factor of 2, ratios {min(ratios):.2f} to {max(ratios):.2f}")  # fmt: skip


def main() -> None:
    """Compares all kernels whose repository is checked out in the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", type=Path, help="folder with OWNER/NAME of each repository")
    checkouts = parser.parse_args().checkouts.resolve()
    print("| kernel | published | estimate | middle / published | inside | bound by |")
    print("|---|---|---|---|---|---|")
    sets = (SEEN, NEW, HELD_OUT, HELD_OUT_2, HELD_OUT_3, HELD_OUT_4)
    seen, new, held, held_2, held_3, held_4 = (table(kernels, checkouts) for kernels in sets)
    summary("seen by the rules", seen)
    summary("chosen afterwards, then seen", new)
    summary("held out first, then seen", held)
    summary("held out second, then seen", held_2)
    summary("held out third, then seen", held_3)
    summary("held out fourth, not seen", held_4)
    summary("all", seen + new + held + held_2 + held_3 + held_4)


if __name__ == "__main__":
    main()
