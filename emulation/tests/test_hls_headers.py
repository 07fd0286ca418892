"""The headers that stand in for those of HLS."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from on_cards import SOURCES

HEADERS = SOURCES.parents[1] / "xrt" / "plugin" / "hls"


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_integers_and_words_are_as_hls_has_them(standard: str, tmp_path: Path) -> None:
    program = tmp_path / "program"
    options = [f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined"]
    compiler = os.environ.get("CXX", "c++")
    source = SOURCES / "hls_headers.cpp"
    subprocess.run([compiler, *options, f"-I{HEADERS}", source, "-o", program], check=True)
    ended = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
