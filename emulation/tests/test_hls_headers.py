"""The headers that stand in for those of HLS."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from on_cards import SOURCES

HEADERS = SOURCES.parents[1] / "xrt" / "plugin" / "hls"


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
@pytest.mark.parametrize("name", ["hls_headers", "hls_fixed", "hls_tasks"])
def test_what_headers_give_is_as_hls_has_it(standard: str, name: str, tmp_path: Path) -> None:
    program = tmp_path / "program"
    options = [f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined"]
    compiler = os.environ.get("CXX", "c++")
    source = SOURCES / f"{name}.cpp"
    subprocess.run([compiler, *options, f"-I{HEADERS}", source, "-o", program], check=True)
    ended = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("header", "code", "said"),
    [
        ("ap_fixed.h", "auto a = ap_fixed<8, 4>(1) * 2.5;", "make one type of both"),
        ("ap_fixed.h", "auto a = 2.5F - ap_ufixed<8, 4>(1);", "make one type of both"),
        ("ap_fixed.h", "ap_fixed<8, 4, AP_TRN, AP_WRAP_SM> a;", "neither AP_WRAP_SM nor"),
        ("ap_fixed.h", "ap_fixed<8, 4, AP_TRN, AP_WRAP, 1> a;", "nor saturated bits"),
        ("ap_fixed.h", "ap_fixed<129, 4> a;", "1 to 128 bits"),
        ("ap_fixed.h", "auto a = hls::sqrt(ap_fixed<8, 4>(1));", "no functions of ap_fixed"),
        ("ap_fixed.h", "auto a = hls::atan2(ap_fixed<8, 4>(1), 2);", "no functions of ap_fixed"),
        ("ap_int.h", "auto a = ap_uint<65>(1) * ap_uint<65>(1);", "products have 128 bits at most"),
    ],
)
def test_what_is_not_given_is_said_by_the_compiler(
    header: str, code: str, said: str, tmp_path: Path
) -> None:
    source = tmp_path / "a.cpp"
    source.write_text(f"#include <hls_math.h>\n#include <{header}>\nvoid f() {{ {code} }}\n")
    compiler = os.environ.get("CXX", "c++")
    command = [compiler, "-std=c++17", "-fsyntax-only", f"-I{HEADERS}", source]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert said in ended.stderr


@pytest.mark.parametrize("header", ["ap_int.h", "hls_stream.h"])
def test_an_older_standard_is_said_to_be_one(header: str, tmp_path: Path) -> None:
    source = tmp_path / "a.cpp"
    source.write_text(f"#include <{header}>\n")
    compiler = os.environ.get("CXX", "c++")
    command = [compiler, "-std=c++14", "-fsyntax-only", f"-I{HEADERS}", source]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "headers of HLS need -std=c++17 or later" in ended.stderr
