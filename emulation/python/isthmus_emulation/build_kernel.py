"""Compiles a user's kernels, and writes the xclbin that names them."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from isthmus import saving
from isthmus.errors import UsageError
from isthmus_emulation import (
    compile_kernel,
    compiler,
    connectivity,
    opencl_c,
    prototype,
    schedule,
    verilated,
    verilog_plugin,
    xclbin,
)
from isthmus_emulation.compile_kernel import Code, Cpp, dialect
from isthmus_emulation.new_kernel import filled_template
from isthmus_emulation.xclbin import Argument, Design, Kernel, Xclbin, save
from isthmus_emulation.xclbin.description import load
from isthmus_emulation.xclbin.design import MADE_BY, ModeName, completed
from isthmus_emulation.xclbin.metadata import WorkGroup
from isthmus_emulation.xclbin.sizes import size_of, word_bytes
from isthmus_emulation.xclbin.streams import Side

_CPP = (".cpp", ".cc", ".cxx", ".c")


@dataclass(frozen=True)
class Built:
    """Files and notes that a build of kernels gives."""

    libraries: list[Path]
    xclbin: Path
    notes: list[str]
    """Lines for the user on reports of HLS and on estimates."""
    clock_mhz: int
    """Clock in MHz for which the xclbin counts cycles."""


@dataclass(frozen=True)
class Order:
    """Options of the command ``card kernel build``."""

    sources: Sequence[Path]
    mode: ModeName
    tops: Sequence[str] = ()
    """Names of kernels, each of which any source may define; none: kernels have their sources'
    names, or the names in OpenCL C. C++ without a kernel is compiled into each kernel."""
    description: Path | None = None
    """Description of all kernels together; else the description beside a single source."""
    configs: Sequence[Path] = ()
    """Configuration files of AMD's linker, which connect kernels, memories and streams."""
    out: Path | None = None
    """Path of the xclbin; else its name is that of description, first of ``configs``, or source."""
    folders: Sequence[Path] = ()
    """Folders in which headers and Verilog modules are looked for."""
    defines: Sequence[str] = ()
    """Macros of C++ and OpenCL C, ``NAME`` or ``NAME=VALUE``."""
    schedules: Sequence[Path] = ()
    """Reports of Vitis HLS, from which the cycles of kernels are read."""
    cycles: Sequence[str] = ()
    """Formulas for the cycles of kernels, ``KERNEL=FORMULA``."""
    estimated: bool = True
    """Whether cycles are estimated for kernels without a report and a formula."""
    clock_mhz: int | None = None
    """Clock in MHz for the estimate; None: that of the reports, else that of the description."""


@dataclass(frozen=True)
class _Read:
    """Sources of a build in the form that the compiler reads."""

    code: Code
    in_opencl: Mapping[Path, opencl_c.Translation]
    texts: Mapping[Path, str]
    """Preprocessed text by source, for sources in C++ and OpenCL C."""
    kernels: Mapping[str, Path]
    """Source of each kernel, by name."""

    @property
    def first(self) -> tuple[str, Path]:
        """Returns the first kernel and its source."""
        return next(iter(self.kernels.items()))


@dataclass(frozen=True)
class _Described:
    """The design and facts about kernels that are known before they are compiled."""

    design: Design
    sides: dict[tuple[str, str], Side]
    unconnected: bool
    """Whether streams may lack a connection: descriptions of other kernels may connect them."""
    said: Mapping[str, schedule.Schedule]


def build(order: Order) -> Built:
    """Makes NAME.so beside each kernel's source, and one xclbin; replaces files of earlier builds.

    Raises UsageError if parts of the order do not fit together, and IsthmusError with the
    compiler's messages.
    """
    _check_sources(order.sources, order.defines)
    read = _read(order)
    described = _described(order, read)
    name, source = read.first
    by_source = source.with_name(f"{name}.so") if order.tops else source
    first = (order.description or [*order.configs, by_source][0]).with_suffix(".xclbin")
    made = order.out or first
    _refuse_others(made)
    libraries, built, notes = _made(order, read, described)
    save(built, made, replace=True)
    notes = sorted(set(notes)) + [
        note
        for name, said in described.said.items()
        for note in said.notes(name, read.texts[read.kernels[name]])
    ]
    return Built(libraries, made, notes, described.design.data_mhz)


def _read(order: Order) -> _Read:
    code = Code([f"-I{path}" for path in order.folders], [_macro(each) for each in order.defines])
    options = [*code.folders, *(f"-D{macro}" for macro in order.defines)]
    sources = order.sources
    in_opencl = {s: _translated(s, options) for s in sources if s.suffix == opencl_c.SUFFIX}
    texts = {
        s: in_opencl[s].text if s in in_opencl else _text(s, options)
        for s in sources
        if not _in_verilog(s)
    }
    return _Read(code, in_opencl, texts, _kernel_sources(sources, order.tops, texts, in_opencl))


def _described(order: Order, read: _Read) -> _Described:
    """Returns the design with facts on its streams. Raises UsageError for an invalid design."""
    name, first = read.first
    alone = len(read.kernels) == 1 and order.description is None
    described = order.description or first.with_suffix(".toml")
    use = described.exists() if alone else order.description is not None
    if (order.description or (alone and _in_verilog(first))) and not described.exists():
        raise UsageError(
            f"{described}: no such file; it names the kernel's arguments, as isthmus card kernel "
            f"new --verilog '{prototype.EXAMPLE}' writes it"
        )
    design = load(described) if use else Design(name=name)
    sides: dict[tuple[str, str], Side] = {}
    for name, source in read.kernels.items():
        if source in read.texts:
            text, opencl = read.texts[source], read.in_opencl.get(source)
            of_source = _prototype(source, text, name, opencl, read.code)
            sides |= {
                (of_source.name, a.name): Side(None, word_bytes(a.type))
                for a in of_source.arguments
            }
            design = _with_prototype(design, of_source, source, described, alone=alone)
        elif not alone and order.description is None:
            design = _joined(design, load(source.with_suffix(".toml")))
    if order.configs:
        design = connectivity.load(order.configs).applied(design)
    said = schedule.schedules_of(list(read.kernels), order.schedules, order.cycles)
    design = schedule.applied(design, said, order.clock_mhz).for_mode(order.mode)
    _refuse_cycles_of_modules(design, read.kernels)
    unconnected = alone and not use and not order.configs
    design.build(sides=sides, unconnected=unconnected)  # raises UsageError that says what is wrong
    there = {kernel.name for kernel in design.kernels}
    if missing := next(
        (kernel_name for kernel_name in read.kernels if kernel_name not in there), None
    ):
        by = order.description or read.kernels[missing].with_suffix(".toml")
        raise UsageError(f"{by} describes no kernel {missing}")
    return _Described(design, sides, unconnected, said)


def _made(order: Order, read: _Read, described: _Described) -> tuple[list[Path], Xclbin, list[str]]:
    """Saves the plug-ins; returns their paths, the xclbin, and lines for the user on estimates."""
    design, sides = described.design, dict(described.sides)
    there = {kernel.name: kernel for kernel in design.kernels}
    kernels = {name: completed(there[name]) for name in read.kernels}
    others = {*read.kernels.values(), *read.in_opencl}
    parts = [source for source in read.texts if source not in others]
    notes = list[str]()
    clock_mhz = design.data_mhz if order.estimated else None
    cpp = Cpp(parts, read.in_opencl, read.code, clock_mhz, notes)
    with tempfile.TemporaryDirectory(prefix="isthmus-kernel-") as folder:
        places = {name: Path(folder) / name for name in kernels}
        for place in places.values():
            place.mkdir()
        models = {
            name: verilog_plugin.model(source, kernels[name], order.folders, places[name])
            for name, source in read.kernels.items()
            if _in_verilog(source)
        }
        for model in models.values():
            sides |= model.sides
        built = design.build(sides=sides, unconnected=described.unconnected)
        made = _compiled(Path(folder), read.kernels, cpp, kernels, models)
        libraries = []
        for name, source in read.kernels.items():
            library = source.with_name(f"{name}.so")
            # A program that runs meanwhile keeps the earlier plug-in.
            saving.save(made[name].read_bytes(), library, replace=True)
            libraries.append(library)
    return libraries, built, notes


def _refuse_cycles_of_modules(design: Design, sources: Mapping[str, Path]) -> None:
    """Raises UsageError for given cycles of a Verilog kernel: its simulation counts cycles."""
    for kernel in design.kernels:
        if kernel.cycles is not None and kernel.name in sources:
            source = sources[kernel.name]
            if _in_verilog(source):
                raise UsageError(
                    f"{source}: cycles of a kernel in Verilog are those of its clock, and are not "
                    "given"
                )


def _compiled(
    folder: Path,
    sources: Mapping[str, Path],
    cpp: Cpp,
    kernels: Mapping[str, Kernel],
    models: Mapping[str, verilog_plugin.Model],
) -> dict[str, Path]:
    """Compiles all plug-ins in parallel; if one fails, none is returned."""

    def one(name: str) -> Path:
        if name in models:
            return models[name].compiled(folder / name)
        return compile_kernel.library(sources[name], cpp, kernels[name], folder / name)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(kernels, pool.map(one, kernels), strict=True))


def _joined(first: Design, other: Design) -> Design:
    """Returns a design with the kernels, streams and memories of both designs."""
    joined = msgspec.structs.replace(
        first,
        kernels=(*first.kernels, *other.kernels),
        stream_connect=(*first.stream_connect, *other.stream_connect),
    )
    return connectivity.with_memories(joined, connectivity.named_memories(other), other.connect)


def _kernel_sources(
    sources: Sequence[Path],
    tops: Sequence[str],
    texts: Mapping[Path, str],
    in_opencl: Mapping[Path, opencl_c.Translation],
) -> dict[str, Path]:
    """Returns the source of each kernel, by the kernel's name."""
    if not tops:
        named = [
            (name, source)
            for source in sources
            for name in (in_opencl[source].kernels if source in in_opencl else [source.stem])
        ]
        if len(dict(named)) < len(named):
            twice = next(name for name, _ in named if [n for n, _ in named].count(name) > 1)
            both = ", ".join(str(source) for name, source in named if name == twice)
            raise UsageError(f"{both}: two kernels {twice}: name the kernels with --top")
        return dict(named)
    if len(sources) == 1:
        return dict.fromkeys(tops, sources[0])
    source_of = {}
    for name in tops:
        holding = [
            source
            for source in sources
            if (
                prototype.defines_kernel(texts[source], name)
                if source in texts
                else source.stem == name
            )
        ]
        if len(holding) != 1:
            where = "several sources define" if holding else "none of the sources defines"
            raise UsageError(f"{where} the kernel {name}")
        source_of[name] = holding[0]
    return source_of


def _text(source: Path, options: Sequence[str]) -> str:
    """Returns the preprocessed C++, or the unchanged text if the preprocessor fails."""
    try:
        return compiler.run([*dialect(source, options), "-w", "-E", "-P", source], source)
    except compiler.DoesNotCompileError:
        return source.read_text("utf-8", "replace")


def _translated(source: Path, options: Sequence[str]) -> opencl_c.Translation:
    """Translates a source in OpenCL C to C++. Raises UsageError without a kernel."""
    dialect = [*opencl_c.DIALECT, f"-I{source.resolve().parent}", *options]
    text = compiler.run([*dialect, "-w", "-E", source], source)
    translation = opencl_c.translated(text, source)
    if not translation.kernels:
        raise UsageError(f"{source} defines no kernel: in OpenCL C it begins with __kernel void")
    return translation


def _in_verilog(source: Path) -> bool:
    return source.suffix in verilated.SUFFIXES


def _check_sources(sources: Sequence[Path], defines: Sequence[str]) -> None:
    for source in sources:
        if not source.is_file():
            raise UsageError(f"{source}: no such file")
        if not _in_verilog(source) and source.suffix not in (*_CPP, opencl_c.SUFFIX):
            raise UsageError(
                f"{source}: neither C++ ({', '.join(_CPP)}), OpenCL C ({opencl_c.SUFFIX}) nor "
                f"Verilog ({', '.join(verilated.SUFFIXES)})"
            )
    if defines and all(map(_in_verilog, sources)):
        raise UsageError("--define has no effect on Verilog: it is for C++ and OpenCL C")


def _refuse_others(path: Path) -> None:
    """Raises UsageError for a file that Isthmus did not make: a bitstream takes hours to build."""
    if not path.exists():
        return
    try:
        ours = MADE_BY in (xclbin.load(path).data(xclbin.SectionKind.BUILD_METADATA) or b"")
    except UsageError:
        ours = False
    if not ours:
        raise UsageError(f"{path} was not made by Isthmus: move it away")


def _prototype(
    source: Path,
    text: str,
    name: str,
    opencl: opencl_c.Translation | None,
    code: Code,
) -> Kernel:
    """Returns the kernel that a source in C++ or OpenCL C defines."""
    definition = prototype.defined_in(text, name)
    group: WorkGroup | None = None
    if opencl is not None:
        group = opencl.kernels.get(name)
    if definition is None or (opencl is not None and group is None):
        raise UsageError(f"{source} defines no function {name}(...): name the kernel's with --top")
    if opencl is None:
        return _sized(definition.kernel, source, code)
    return msgspec.structs.replace(definition.kernel, work_group=group)


_KINDS = ("value", "buffer", "stream", "result")
"""Kinds of arguments, in the order of kernel_call.hpp."""


def _sized(kernel: Kernel, source: Path, code: Code) -> Kernel:
    """Returns the kernel; the compiler gives the sizes of arguments of unknown types."""

    def unknown(argument: Argument) -> bool:
        has_size = argument.size or argument.qualifier or argument.type.endswith("*")
        return not has_size and size_of(argument.type.removesuffix("&")) is None

    if not any(map(unknown, kernel.arguments)):
        return kernel
    with tempfile.TemporaryDirectory(prefix="isthmus-kernel-") as folder:
        asked = Path(folder) / "sizes.cpp"
        facts = code.before(source) | {"name": kernel.name, "count": len(kernel.arguments)}
        asked.write_text(filled_template("sizes.cpp", facts), "utf-8")
        done = compiler.ended([*dialect(source, code.options), "-w", "-fsyntax-only", asked])
    match = re.search(r"isthmus_sizes<([-\d, ]+)>", done.stderr)
    if match is None:
        raise compiler.failure(source, done)
    numbers = list(map(int, match[1].split(",")))
    arguments = list(kernel.arguments)
    for n, argument in enumerate(arguments):
        if unknown(argument):
            kind, size = _KINDS[numbers[2 * n]], numbers[2 * n + 1]
            name = f"{argument.type}*" if kind == "buffer" else argument.type
            qualifier: Literal["stream"] | None = "stream" if kind == "stream" else None
            arguments[n] = msgspec.structs.replace(
                argument, type=name, size=None if qualifier else size, qualifier=qualifier
            )
    return msgspec.structs.replace(kernel, arguments=tuple(arguments))


def _with_prototype(
    design: Design, defined: Kernel, source: Path, described: Path, *, alone: bool
) -> Design:
    """Returns the design with the description of the kernel that the source defines.

    Raises UsageError if a description that stands ``alone`` has kernels, but not this kernel,
    or if both have the kernel with different arguments.
    """
    declared = next((kernel for kernel in design.kernels if kernel.name == defined.name), None)
    if declared is None:
        if design.kernels and alone:
            raise UsageError(f"{described} describes no kernel {defined.name}")
        return msgspec.structs.replace(design, kernels=(*design.kernels, defined))
    widths = zip(
        *([word_bytes(a.type) for a in k.arguments] for k in (declared, defined)),
        strict=False,
    )
    if _named(declared) != _named(defined) or any(None not in w and w[0] != w[1] for w in widths):
        raise UsageError(
            f"{described} has {_shown(declared)}, {source.name} has {_shown(defined)}: "
            f"change one of them"
        )
    same = msgspec.structs.replace(declared, work_group=defined.work_group)
    kernels = (same if kernel is declared else kernel for kernel in design.kernels)
    return msgspec.structs.replace(design, kernels=tuple(kernels))


def _named(kernel: Kernel) -> list[tuple[str, str]]:
    """Returns each argument's name and kind; a result counts as a value in the registers."""

    def kind(argument: Argument) -> str:
        stream = argument.qualifier == "stream" or argument.type.startswith("hls::stream")
        return "stream" if stream else "*" if argument.type.endswith("*") else ""

    return [(a.name, kind(a)) for a in kernel.arguments]


def _shown(kernel: Kernel) -> str:
    return f"{kernel.name}({', '.join(f'{a.type} {a.name}' for a in kernel.arguments)})"


def _macro(text: str) -> tuple[str, str]:
    """Returns name and value of a macro, ``NAME`` or ``NAME=VALUE`` as behind ``-D``."""
    name, equals, value = text.partition("=")
    return name, value if equals else "1"
