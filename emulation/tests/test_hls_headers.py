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
