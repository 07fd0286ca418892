"""The headers that stand in for those of HLS."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from on_cards import SOURCES

from conftest import slow

SANITIZED = ["-std=c++17", "-fsanitize=undefined"]
HEADERS = SOURCES.parents[1] / "xrt" / "plugin" / "hls"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("hls_headers", ["-std=c++20"]),
        ("hls_fixed", ["-std=c++20"]),
        *slow(
            ("hls_tasks", ["-std=c++20"]),
            ("hls_headers", SANITIZED),
            ("hls_fixed", SANITIZED),
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
    ("auto a = hls::sqrt(ap_fixed<8, 4>(1));", "no functions of ap_fixed"),
    ("auto a = hls::atan2(ap_fixed<8, 4>(1), 2);", "no functions of ap_fixed"),
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


@pytest.mark.parametrize("header", ["ap_int.h", "hls_stream.h"])
def test_an_older_standard_is_said_to_be_one(header: str, tmp_path: Path) -> None:
    source = tmp_path / "a.cpp"
    source.write_text(f"#include <{header}>\n")
    compiler = os.environ.get("CXX", "c++")
    command = [compiler, "-std=c++14", "-fsyntax-only", f"-I{HEADERS}", source]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "headers of HLS need -std=c++17 or later" in ended.stderr
