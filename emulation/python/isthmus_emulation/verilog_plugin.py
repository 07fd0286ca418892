"""Makes the plug-in of a Verilog kernel: Verilator's model, and the bench that serves its ports."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from isthmus_emulation import compiler, verilated
from isthmus_emulation.compiler import PARTS
from isthmus_emulation.new_kernel import filled_template
from isthmus_emulation.xclbin import Kernel
from isthmus_emulation.xclbin.streams import Side

_RUNTIME = PARTS / "plugin" / "libverilated.a"
"""Verilator's runtime; it is compiled with Isthmus if Verilator is installed."""
_DIGESTS = PARTS / "plugin" / "verilated.sha256"
"""Digests of the sources from which the runtime was compiled."""
# Most compiled lines are headers of the standard library, which are shorter in C++17.
_OPTIONS = ("-std=c++17", "-O2", "-w", "-fPIC", "-fvisibility=hidden", "-DVL_NO_LEGACY")


@dataclass(frozen=True)
class Model:
    """A kernel's module as Verilator's model."""

    source: Path
    kernel: Kernel
    headers: Path
    """Folder of Verilator's headers and of the sources of its runtime."""
    module: verilated.Module
    streams: list[tuple[int, verilated.Stream]]
    """Each stream with the number of its argument."""

    @property
    def sides(self) -> dict[tuple[str, str], Side]:
        """Returns direction and width of each stream of the module."""
        return {
            (self.kernel.name, self.kernel.arguments[number].name): Side(
                stream.reads, stream.word_bytes
            )
            for number, stream in self.streams
        }

    def compiled(self, folder: Path) -> Path:
        """Compiles the plug-in in a folder with the model's sources; returns the plug-in's path."""
        facts: dict[str, object] = {
            "kernel": self.kernel,
            "module": self.module,
            "streams": self.streams,
            "offered": verilated.offered(self.module),
            "sideband": verilated.SIDEBAND,
        }
        (folder / "rtl.cpp").write_text(filled_template("rtl.cpp", facts), "utf-8")
        places = [folder, PARTS / "plugin", self.headers, self.headers / "vltstd"]
        options = [*_OPTIONS, *(f"-I{place}" for place in places)]
        # One source includes all parts, because most of the time goes into their shared headers.
        parts = sorted(folder.glob("*.cpp"))
        whole = folder / "whole.cpp"
        whole.write_text("".join(f'#include "{path}"\n' for path in parts), "utf-8")
        there = _has_runtime_of(self.headers)
        runtime = [] if there else [self.headers / name for name in verilated.RUNTIME]
        sources = [whole, *runtime]
        objects = [folder / f"{path.stem}.o" for path in sources]

        def one(path: Path, made: Path) -> None:
            compiler.run([*options, "-c", path, "-o", made], self.source)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(one, sources, objects))
        library = folder / f"{self.kernel.name}.so"
        linked = [*objects, *compiler.whole("rtl_call"), *([_RUNTIME] if there else [])]
        compiler.run(["-shared", "-pthread", *linked, "-o", library], self.source)
        return library


def model(source: Path, kernel: Kernel, folders: Sequence[Path], folder: Path) -> Model:
    """Returns the model of a kernel's module, which Verilator makes in ``folder``.

    Raises UsageError if the kernel's description and the module do not fit.
    """
    headers = verilated.verilate(source, kernel.name, folder, [*folders, PARTS / "plugin" / "xpm"])
    module = verilated.module((folder / "Vkernel.h").read_text("utf-8"), source)
    verilated.check(module, kernel, source)
    streams = verilated.numbered(module, kernel, source)
    return Model(source, kernel, headers, module, streams)


def _has_runtime_of(headers: Path) -> bool:
    """Returns whether the compiled runtime belongs to the installed Verilator."""
    try:
        digests = [line.split() for line in _DIGESTS.read_text("utf-8").splitlines()]
        return _RUNTIME.exists() and all(
            hashlib.sha256((headers / name).read_bytes()).hexdigest() == digest
            for digest, name in digests
        )
    except FileNotFoundError:
        return False
