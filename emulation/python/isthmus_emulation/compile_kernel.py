"""Compiles a kernel in C++ or OpenCL C to the plug-in that the emulated card loads."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from isthmus_emulation import compiler, estimate, opencl_c
from isthmus_emulation.compiler import PARTS
from isthmus_emulation.new_kernel import filled_template
from isthmus_emulation.xclbin import Kernel
from isthmus_emulation.xclbin.metadata import work_arguments

_DATAFLOW = re.compile(rb"^\s*#\s*pragma\s+HLS\s+dataflow", re.IGNORECASE | re.MULTILINE)
_WRAPPED = ("memcpy", "memmove", "memset")


def dialect(source: Path, options: Sequence[str]) -> list[object]:
    """Returns compiler options for the code of kernels: standard, macros, folders of headers."""
    vitis = os.environ.get("XILINX_HLS")
    return [
        "-std=c++17",
        f"-I{source.resolve().parent}",
        *options,
        f"-I{PARTS}/include",
        "-isystem",
        f"{vitis}/include" if vitis else f"{PARTS}/include/hls",
    ]


@dataclass(frozen=True)
class Code:
    """Folders of headers and macros for kernels in C++.

    The compiler reads the headers of Isthmus before the macros, so a macro may have any name, such
    as ``T``. Macros with reserved names, such as ``_GLIBCXX_DEBUG``, are for the C++ library, and
    come first.
    """

    folders: Sequence[str]
    macros: Sequence[tuple[str, str]]

    @property
    def options(self) -> list[str]:
        """Returns compiler options for a file that defines the macros without reserved names."""
        return [*self.folders, *(f"-D{n}={v}" for n, v in self.macros if n.startswith("_"))]

    def before(self, source: Path) -> dict[str, object]:
        """Returns template values of such a file: source, headers of HLS that it needs, macros."""
        own = [f"-D{n}={v}" for n, v in self.macros]
        return {
            "source": source.resolve(),
            "headers": _headers_of_hls(source, [*self.folders, *own]),
            "macros": [(n, v) for n, v in self.macros if not n.startswith("_")],
        }


def _headers_of_hls(source: Path, options: Sequence[str]) -> list[str]:
    """Returns the names of our HLS headers that a source includes, also through other headers."""
    done = compiler.ended([*dialect(source, options), "-w", "-M", source])
    ours = PARTS / "include" / "hls"
    words = done.stdout.replace("\\\n", " ").split()
    return sorted({Path(word).name for word in words if Path(word).parent == ours})


@dataclass(frozen=True)
class Cpp:
    """Sources, settings and notes for compiling kernels in C++ and OpenCL C."""

    parts: Sequence[Path]
    """Sources without a kernel, which are compiled into each plug-in."""
    in_opencl: Mapping[Path, opencl_c.Translation]
    code: Code
    clock_mhz: int | None
    """Clock in MHz for the estimate of kernels without given cycles; None: no estimate."""
    notes: list[str]
    """Lines for the user, to which the compilation appends."""


# No _FORTIFY_SOURCE, which some systems add: it replaces memcpy, and fails on coroutines' stacks.
_OPTIONS = ("-O2", "-fPIC", "-fvisibility=hidden", "-U_FORTIFY_SOURCE")


def _compile_kernel(source: Path, cpp: Cpp, kernel: Kernel, options: list[object]) -> None:
    """Compiles the kernel's own code, and runs statements of its DATAFLOW regions as processes.

    Without given cycles, its loops get counters. A note says what the estimate leaves out.
    """
    *flags, _, call, _, made = options
    call, preprocessed = Path(str(call)), Path(str(call)).with_suffix(".ii")
    clock_mhz = cpp.clock_mhz if kernel.cycles is None else None
    compiler.run([*flags, "-E", call, "-o", preprocessed], source)
    has_regions = _DATAFLOW.search(preprocessed.read_bytes()) is not None
    if clock_mhz is not None or has_regions:
        macros = compiler.run([*flags, "-E", "-dM", call], source)
        counted = estimate.counted(
            preprocessed, kernel.name, macros, PARTS, clock_mhz, in_opencl=source in cpp.in_opencl
        )
        uncounted = "its loops cannot be counted"
        if counted.text is not None:
            preprocessed.write_bytes(counted.text)
            done = compiler.ended([*flags, "-c", preprocessed, "-o", made])
            if not done.returncode:
                return
            errors = [line for line in done.stderr.splitlines() if "error:" in line]
            uncounted += f": {errors[0]}" if errors else ""
        missing = ["computing not modelled"] * (clock_mhz is not None)
        missing += ["stream depths of its DATAFLOW regions not checked"] * has_regions
        why = counted.why or uncounted
        cpp.notes.append(f"kernel {kernel.name}: {', '.join(missing)}: {why}")
    with call.open("a") as file:
        file.write(estimate.table.NONE + estimate.table.UNCHECKED * has_regions)
    compiler.run(options, source)


def library(source: Path, cpp: Cpp, kernel: Kernel, folder: Path) -> Path:
    """Compiles the plug-in: the instrumented kernel, and the code that counts memory accesses."""
    call = folder / "call.cpp"
    facts: dict[str, object] = {
        "name": kernel.name, "arguments": kernel.arguments, "work": work_arguments(kernel),
        "opencl": source in cpp.in_opencl,
    }  # fmt: skip
    if opencl := cpp.in_opencl.get(source):
        translated = folder / "source.cpp"
        translated.write_text(opencl.text, "utf-8")
        facts |= {
            "source": translated, "headers": (), "macros": (),  # the text has no macros any more
            "parts": {length: opencl.parts(length) for length in opencl_c.LENGTHS},
            "required": kernel.work_group,
            "waits": "true" if opencl.waits else "false",
        }  # fmt: skip
    else:
        facts |= cpp.code.before(source)
    call.write_text(filled_template("call.cpp", facts), "utf-8")
    common = [*dialect(source, cpp.code.options), *_OPTIONS]
    # Kernels have a single thread: local static objects need no lock.
    alone = "-fno-threadsafe-statics"
    instrumented = [
        "-g",
        "-fsanitize=thread",
        alone,
        *(f"-fno-builtin-{symbol}" for symbol in _WRAPPED),
    ]
    quiet = ["-Wno-unknown-pragmas", "-Wno-unused-label"]
    if opencl:  # C allows code that C++ refuses
        quiet += ["-w", "-fpermissive", "-Wno-narrowing"]
    wrapped = [call]
    for number, part in enumerate(cpp.parts):
        wrapped.append(folder / f"part{number}.cpp")
        wrapped[-1].write_text(filled_template("part.cpp", cpp.code.before(part)), "utf-8")
    objects = [folder / f"kernel{number}.o" for number in range(len(wrapped))]
    compiled = [*common, *instrumented, *quiet]
    _compile_kernel(source, cpp, kernel, [*compiled, "-c", call, "-o", objects[0]])
    for symbol, made in zip(wrapped[1:], objects[1:], strict=True):
        compiler.run([*compiled, "-c", symbol, "-o", made], source)
    library = folder / f"{kernel.name}.so"
    wraps = [f"-Wl,--wrap={symbol}" for symbol in _WRAPPED]
    # a missing symbol fails here, and not when a program loads the plug-in
    complete = "-Wl,-z,defs"
    linked = compiler.whole("kernel_call")
    compiler.run(["-shared", complete, *wraps, *objects, *linked, "-o", library], source)
    return library
