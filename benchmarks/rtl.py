"""Clock cycles a second of the RTL kernels under Verilator; the aim is 5 million."""

from __future__ import annotations

import shutil
import subprocess

from common import ROOT, heading

BUILD = ROOT / "build" / "rtl"


def main() -> None:
    if shutil.which("verilator") is None:
        print("RTL kernels: left out, no verilator")
        return
    options = ["-DISTHMUS_PYTHON=OFF", "-DCMAKE_BUILD_TYPE=Release"]
    for step in (
        ["-S", str(ROOT), "-B", str(BUILD), *options],
        ["--build", str(BUILD), "--target", "isthmus_rtl_speed"],
    ):
        subprocess.run(["cmake", *step], check=True, stdout=subprocess.DEVNULL)
    heading("RTL kernels under Verilator: 8 MiB buffers, ideal memory, best of five")
    subprocess.run([BUILD / "card" / "rtl" / "isthmus_rtl_speed"], check=True)


if __name__ == "__main__":
    main()
