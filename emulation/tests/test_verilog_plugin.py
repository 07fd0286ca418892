"""What a kernel in Verilog is linked to: Verilator's runtime, of the version that is here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from on_cards import IN_VERILOG, Run, card_exec, compiled, emulated

from conftest import Command
from isthmus_emulation.compiler import PARTS

__all__ = ["card_exec", "emulated"]  # fixtures
pytestmark = [IN_VERILOG, pytest.mark.slow, pytest.mark.usefixtures("emulated")]
RUNTIME = "verilated.cpp"


def put_before(name: str, folder: Path, script: str) -> None:
    """A command of this name that does something before the one that is installed."""
    command = folder / name
    command.write_text(f'#!/bin/sh\n{script}\nexec {shutil.which(name)} "$@"\n')
    command.chmod(0o755)


@pytest.mark.parametrize("change", ["", "// another version\n"])
def test_the_runtime_is_compiled_where_isthmus_has_none_of_the_same_verilator(
    change: str, isthmus: Command, card_exec: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not change and not (PARTS / "plugin" / "libverilated.a").exists():
        pytest.skip("Isthmus was built without Verilator")
    asked = ["verilator", "--getenv", "VERILATOR_ROOT"]
    root = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    headers = shutil.copytree(Path(root) / "include", tmp_path / "include")
    with (headers / "verilated.h").open("a") as header:
        header.write(change)
    commands = tmp_path / "commands"
    commands.mkdir()
    put_before("verilator", commands, f'[ "$1" != --getenv ] || exec echo {tmp_path}')
    put_before("c++", commands, f'echo "$@" >> {tmp_path}/compiled')
    monkeypatch.setenv("PATH", str(commands), prepend=":")
    monkeypatch.setenv("CXX", "c++")
    folder = tmp_path / "triple"
    prototype = "void triple(const int* in, int* out, int n)"
    made = isthmus("card", "kernel", "new", "--verilog", prototype, "--out", str(folder))
    assert made.returncode == 0, made.stderr
    built = isthmus("card", "kernel", "build", str(folder / "triple.sv"))
    assert built.returncode == 0, built.stderr
    is_compiled = f"{headers}/{RUNTIME}" in (tmp_path / "compiled").read_text()
    assert is_compiled == bool(change)
    program = compiled(folder / "host.cpp", folder / "host")
    ran = card_exec("--kernels", folder, "--", program, folder / "triple.xclbin")
    assert ran.code == 0, ran.errors
    assert "PASS" in ran.output
