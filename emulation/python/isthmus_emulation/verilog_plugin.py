"""The plug-in of a kernel in Verilog: Verilator's model, and the bench that serves its ports."""

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
"""Verilator's own, compiled with Isthmus where Verilator was there."""
_DIGESTS = PARTS / "plugin" / "verilated.sha256"
"""Of the files that it was compiled from."""
# The headers of the standard library are most of what is compiled, and fewer in C++17.
_OPTIONS = ("-std=c++17", "-O2", "-w", "-fPIC", "-fvisibility=hidden", "-DVL_NO_LEGACY")


@dataclass(frozen=True)
class Model:
    """Verilator's model of a module that is a kernel."""

    source: Path
    kernel: Kernel
    headers: Path
    """A folder of Verilator's."""
    module: verilated.Module
    streams: list[tuple[int, verilated.Stream]]
    """By the numbers of their arguments."""

    @property
    def sides(self) -> dict[tuple[str, str], Side]:
        """What the module says of its streams."""
        return {
            (self.kernel.name, self.kernel.arguments[number].name): Side(one.reads, one.word_bytes)
            for number, one in self.streams
        }

    def compiled(self, folder: Path) -> Path:
        """The plug-in, made in the folder that has Verilator's sources."""
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
        # Most of the time goes into headers, which all of these share: one source has them all.
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
    """Made by Verilator in ``folder``; raises UsageError where kernel and module do not fit."""
    headers = verilated.verilate(source, kernel.name, folder, [*folders, PARTS / "plugin" / "xpm"])
    module = verilated.module((folder / "Vkernel.h").read_text("utf-8"), source)
    verilated.check(module, kernel, source)
    streams = verilated.numbered(module, kernel, source)
    return Model(source, kernel, headers, module, streams)


def _has_runtime_of(headers: Path) -> bool:
    """Whether the runtime that was compiled with Isthmus is of the Verilator that is here now."""
    try:
        known = [line.split() for line in _DIGESTS.read_text("utf-8").splitlines()]
        return _RUNTIME.exists() and all(
            hashlib.sha256((headers / name).read_bytes()).hexdigest() == digest
            for digest, name in known
        )
    except FileNotFoundError:
        return False
