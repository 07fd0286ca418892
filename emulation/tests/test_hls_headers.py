"""The headers that stand in for those of HLS."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from on_cards import SOURCES, Run, card_exec, compiled, emulated

from conftest import Command, slow
from isthmus_emulation import xclbin

__all__ = ["card_exec", "emulated"]  # fixtures
SANITIZED = ["-std=c++17", "-fsanitize=undefined"]
HEADERS = SOURCES.parents[1] / "xrt" / "plugin" / "hls"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("hls_headers", ["-std=c++20"]),
        ("hls_fixed", ["-std=c++20"]),
        ("hls_math", ["-std=c++20"]),
        *slow(
            ("hls_tasks", ["-std=c++20"]),
            ("hls_headers", SANITIZED),
            ("hls_fixed", SANITIZED),
            ("hls_math", SANITIZED),
            ("hls_tasks", SANITIZED),
        ),
    ],
)
def test_what_headers_give_is_as_hls_has_it(name: str, options: list[str], tmp_path: Path) -> None:
    program = tmp_path / "program"
    compiler = os.environ.get("CXX", "c++")
    source = SOURCES / f"{name}.cpp"
    warned = ("-Wall", "-Wextra", "-Werror")
    command = [compiler, *options, *warned, f"-I{HEADERS}", source, "-o", program]
    subprocess.run(command, check=True)
    ended = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


NOT_GIVEN = [
    ("auto a = ap_fixed<8, 4>(1) * 2.5;", "make one type of both"),
    ("auto a = 2.5F - ap_ufixed<8, 4>(1);", "make one type of both"),
    ("ap_fixed<8, 4, AP_TRN, AP_WRAP_SM> a;", "neither AP_WRAP_SM nor saturated bits"),
    ("ap_fixed<8, 4, AP_TRN, AP_WRAP, 1> a;", "neither AP_WRAP_SM nor saturated bits"),
    ("ap_fixed<129, 4> a;", "1 to 128 bits"),
    ("auto a = hls::nextafter(ap_fixed<8, 4>(1), 2);", "nextafter of float and double alone"),
    ("auto a = ap_uint<65>(1) * ap_uint<65>(1);", "products have 128 bits at most"),
]


def test_what_is_not_given_is_said_by_the_compiler_each_time(tmp_path: Path) -> None:
    source = tmp_path / "a.cpp"
    functions = (f"void f{n}() {{ {code} }}\n" for n, (code, _) in enumerate(NOT_GIVEN))
    source.write_text(f"#include <hls_math.h>\n#include <ap_fixed.h>\n{''.join(functions)}")
    options = ["-std=c++17", "-fsyntax-only", "-fno-diagnostics-show-caret", f"-I{HEADERS}"]
    command = [os.environ.get("CXX", "c++"), *options, source]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    expected = Counter(said for _, said in NOT_GIVEN)
    assert {said: ended.stderr.count(said) for said in expected} == expected, ended.stderr


EVERY = sorted(path.name for path in HEADERS.glob("*.h") if path.name != "isthmus_standard.h")


@pytest.mark.parametrize("standard", ["c++11", "c++14"])
def test_an_older_standard_is_said_to_be_one_in_a_few_lines(standard: str, tmp_path: Path) -> None:
    compiler = os.environ.get("CXX", "c++")
    for header in EVERY:
        source = tmp_path / "a.cpp"
        source.write_text(f"#include <{header}>\nap_int<3> a;\nhls::stream<ap_int<3>> b;\n")
        command = [compiler, f"-std={standard}", "-fsyntax-only", f"-I{HEADERS}", source]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode != 0
        assert "headers of HLS need -std=c++17 or later" in ended.stderr
        a_few = 15  # the error, where it was included, and that the compiler stops
        assert len(ended.stderr.splitlines()) <= a_few, ended.stderr


def test_each_header_compiles_alone(tmp_path: Path) -> None:
    compiler = os.environ.get("CXX", "c++")
    for header in EVERY:
        source = tmp_path / "a.cpp"
        source.write_text(f"#include <{header}>\n")
        warned = ("-Wall", "-Wextra", "-Werror")
        command = [compiler, "-std=c++17", *warned, "-fsyntax-only", f"-I{HEADERS}", source]
        subprocess.run(command, check=True)


KERNEL = """
#define T 150
#define N 1
#define bits 9
#define kernel 3
#define arguments 4
#define isthmus_is_not_yours 5
#include <ap_fixed.h>
#include <hls_half.h>
#include <hls_math.h>
#include <sstream>
#include "part.hpp"
extern "C" void copy(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    const half value = in[i];
    const ap_fixed<24, 12> fixed = value;
    ap_fixed<16, 8> read;
    std::istringstream("1.5") >> read;
    const auto root = hls::sqrt(ap_fixed<32, 24>(fixed * fixed));
    const bool negative = signbit(read - fixed);
    out[i] = (root + read * 2).to_int() + (negative ? 0 : in[i] == 1 ? 0 : 1) + T - 150 + added(M);
  }
}
"""


@pytest.mark.slow
@pytest.mark.usefixtures("emulated")
def test_a_kernel_with_macros_half_and_functions_of_fixed_point_runs(
    isthmus: Command, card_exec: Run, tmp_path: Path
) -> None:
    (tmp_path / "copy.cpp").write_text(KERNEL)
    (tmp_path / "part.hpp").write_text("int added(int more);\n")
    (tmp_path / "part.cpp").write_text(
        '#define value 3\n#include <ap_int.h>\n#include "part.hpp"\n'
        "int added(int more) { return ap_fixed<8, 4>(value).to_int() + more - 3; }\n"
    )
    built = isthmus(
        "card", "kernel", "build", "copy.cpp", "part.cpp", "--top", "copy",
        "-D", "M=0", "-D", "Left=2", "-D", "is_signed", "-D", "_GLIBCXX_ASSERTIONS",
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    program = compiled(SOURCES / "brought.cpp", tmp_path / "program")
    ran = card_exec("--kernels", tmp_path, "--", program, "beside", tmp_path / "copy.xclbin")
    assert ran.code == 0, ran.errors
    assert ran.figures["wrong"] == 0


def test_sizes_of_arguments_are_found_whatever_macros_a_source_has(
    isthmus: Command, tmp_path: Path
) -> None:
    (tmp_path / "odd.cpp").write_text(
        "struct A { short x; };\n#define T 150\n#define Kept 3\n"
        "void odd(A a, int* out) { *out = a.x + T; }\n"
    )
    built = isthmus("card", "kernel", "build", "odd.cpp", "-D", "Types=1")
    assert built.returncode == 0, built.stderr
    (kernel,) = xclbin.load(tmp_path / "odd.xclbin").kernels
    assert [argument.size for argument in kernel.arguments] == [2, 8]
