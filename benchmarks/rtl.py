"""Prints clock cycles of the RTL kernels that Verilator simulates per second; aim: 5 million."""

from __future__ import annotations

import shutil
import subprocess

from common import ROOT, build, heading

BUILD = ROOT / "build" / "rtl"


def main() -> None:
    if shutil.which("verilator") is None:
        print("RTL kernels: left out, no verilator")
        return
    options = ("-DISTHMUS_PYTHON=OFF", "-DCMAKE_BUILD_TYPE=Release")
    build(ROOT, BUILD, *options, target="isthmus_rtl_speed")
    heading("RTL kernels under Verilator: 8 MiB buffers, ideal memory, best of five")
    subprocess.run([BUILD / "card" / "rtl" / "isthmus_rtl_speed"], check=True)


if __name__ == "__main__":
    main()
