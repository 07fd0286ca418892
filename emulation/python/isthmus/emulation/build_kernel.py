"""Compiles a kernel of one's own, and writes the xclbin that names it."""

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

from isthmus import saving, xclbin
from isthmus.emulation import (
    compiler,
    connectivity,
    estimate,
    opencl_c,
    prototype,
    schedule,
    verilated,
    verilog_plugin,
)
from isthmus.emulation.compiler import PARTS
from isthmus.emulation.new_kernel import filled_template
from isthmus.errors import UsageError
from isthmus.xclbin import Argument, Design, Kernel, save
from isthmus.xclbin.description import load
from isthmus.xclbin.design import MADE_BY, ModeName, completed
from isthmus.xclbin.metadata import WorkGroup, work_arguments
from isthmus.xclbin.sizes import size_of, word_bytes
from isthmus.xclbin.streams import Side

_CPP = (".cpp", ".cc", ".cxx", ".c")
_DATAFLOW = re.compile(rb"^\s*#\s*pragma\s+HLS\s+dataflow", re.IGNORECASE | re.MULTILINE)
_WRAPPED = ("memcpy", "memmove", "memset")


@dataclass(frozen=True)
class Built:
    """What a build has made."""

    libraries: list[Path]
    xclbin: Path
    notes: list[str]
    """Lines for the user about the schedules."""


def build(
    sources: Sequence[Path],
    *,
    tops: Sequence[str] = (),
    description: Path | None = None,
    configs: Sequence[Path] = (),
    out: Path | None = None,
    folders: Sequence[Path] = (),
    defines: Sequence[str] = (),
    schedules: Sequence[Path] = (),
    cycles: Sequence[str] = (),
    estimated: bool = True,
    mode: ModeName,
) -> Built:
    """Makes a NAME.so beside the source of each kernel and one xclbin, in place of older ones.

    Kernels are named as their sources, in OpenCL C as the source says; where ``tops`` names them,
    each is looked for in all sources, and C++ that defines none is compiled into each. The
    ``description`` is of all kernels together, else one that lies beside a single source;
    ``configs`` are AMD's linker's, and say what is connected. The xclbin is ``out``, else it is
    named as the description, the first of ``configs`` or the source. ``folders`` hold headers or
    modules, ``defines`` are macros of C++ and OpenCL C, ``NAME`` or ``NAME=VALUE``. ``schedules``
    are reports of Vitis HLS, ``cycles`` formulas: how long kernels compute; where neither says
    it, and ``estimated``, it is estimated. Raises UsageError where
    these do not fit, IsthmusError with the compiler's words.
    """
    _check_sources(sources, defines)
    code = _Code([f"-I{path}" for path in folders], [_macro(each) for each in defines])
    options = [*code.folders, *(f"-D{macro}" for macro in defines)]
    in_opencl = {s: _translated(s, options) for s in sources if s.suffix == opencl_c.SUFFIX}
    texts = {
        s: in_opencl[s].text if s in in_opencl else _text(s, options)
        for s in sources
        if not _in_verilog(s)
    }
    kernel_sources = _kernel_sources(sources, tops, texts, in_opencl)
    first_name, first = next(iter(kernel_sources.items()))
    alone = len(kernel_sources) == 1 and description is None
    described = description or first.with_suffix(".toml")
    use = described.exists() if alone else description is not None
    if (description or (alone and _in_verilog(first))) and not described.exists():
        raise UsageError(
            f"{described}: no such file; it names the kernel's arguments, as isthmus card kernel "
            f"new --verilog '{prototype.EXAMPLE}' writes it"
        )
    design = load(described) if use else Design(name=first_name)
    sides: dict[tuple[str, str], Side] = {}
    for name, source in kernel_sources.items():
        if source in texts:
            found = _prototype(source, texts[source], name, in_opencl.get(source), code)
            sides |= {(found.name, a.name): Side(None, word_bytes(a.type)) for a in found.arguments}
            design = _with_prototype(design, found, source, described, alone=alone)
        elif not alone and description is None:
            design = _joined(design, load(source.with_suffix(".toml")))
    if configs:
        design = connectivity.load(configs).applied(design)
    said = schedule.given(list(kernel_sources), schedules, cycles)
    design = schedule.applied(design, said).for_mode(mode)
    _refuse_cycles_of_modules(design, kernel_sources)
    unconnected = alone and not use and not configs  # others' descriptions may connect its streams
    design.build(sides=sides, unconnected=unconnected)  # first: it says what is wrong there
    there = {kernel.name: kernel for kernel in design.kernels}
    if missing := next((one for one in kernel_sources if one not in there), None):
        by = kernel_sources[missing].with_suffix(".toml") if description is None else description
        raise UsageError(f"{by} describes no kernel {missing}")
    by_source = first.with_name(f"{first_name}.so") if tops else first
    described_by = out or (description or [*configs, by_source][0]).with_suffix(".xclbin")
    _refuse_others(described_by)
    kernels = {name: completed(there[name]) for name in kernel_sources}
    parts = [s for s in texts if s not in kernel_sources.values() and s not in in_opencl]
    libraries, notes = [], list[str]()
    with tempfile.TemporaryDirectory(prefix="isthmus-kernel-") as folder:
        places = {name: Path(folder) / name for name in kernels}
        for place in places.values():
            place.mkdir()
        models = {
            name: verilog_plugin.model(source, kernels[name], folders, places[name])
            for name, source in kernel_sources.items()
            if _in_verilog(source)
        }
        for model in models.values():
            sides |= model.sides
        built = design.build(sides=sides, unconnected=unconnected)
        made = _compiled(
            Path(folder),
            kernel_sources,
            _Cpp(parts, in_opencl, code, estimated, notes),
            kernels,
            models,
        )
        for name, source in kernel_sources.items():
            library = source.with_name(f"{name}.so")
            # A program that runs keeps the old one.
            saving.save(made[name].read_bytes(), library, replace=True)
            libraries.append(library)
    save(built, described_by, replace=True)
    notes = sorted(set(notes)) + [
        note for name in said for note in said[name].notes(name, texts[kernel_sources[name]])
    ]
    return Built(libraries, described_by, notes)


def _refuse_cycles_of_modules(design: Design, sources: Mapping[str, Path]) -> None:
    """Raises UsageError for cycles of a kernel in Verilog: its simulation counts them."""
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
    cpp: _Cpp,
    kernels: Mapping[str, Kernel],
    models: Mapping[str, verilog_plugin.Model],
) -> dict[str, Path]:
    """The plug-in of each kernel, all at once; a failing one leaves none."""

    def one(name: str) -> Path:
        if name in models:
            return models[name].compiled(folder / name)
        return _compile(sources[name], cpp, kernels[name], folder / name)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(kernels, pool.map(one, kernels), strict=True))


def _joined(one: Design, other: Design) -> Design:
    """Both, where the other describes kernels of its own."""
    joined = msgspec.structs.replace(
        one,
        kernels=(*one.kernels, *other.kernels),
        stream_connect=(*one.stream_connect, *other.stream_connect),
    )
    return connectivity.with_memories(joined, connectivity.named_memories(other), other.connect)


def _kernel_sources(
    sources: Sequence[Path],
    tops: Sequence[str],
    texts: Mapping[Path, str],
    in_opencl: Mapping[Path, opencl_c.Translation],
) -> dict[str, Path]:
    """The source of each kernel, by the kernel's name."""
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
    found = {}
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
        found[name] = holding[0]
    return found


def _text(source: Path, options: Sequence[str]) -> str:
    """C++ as the compiler sees it, without macros; as it stands where it does not get so far."""
    try:
        return compiler.run([*_dialect(source, options), "-w", "-E", "-P", source], source)
    except compiler.DoesNotCompileError:
        return source.read_text("utf-8", "replace")


def _translated(source: Path, options: Sequence[str]) -> opencl_c.Translation:
    """A source in OpenCL C."""
    dialect = [*opencl_c.DIALECT, f"-I{source.resolve().parent}", *options]
    text = compiler.run([*dialect, "-w", "-E", source], source)
    found = opencl_c.translated(text, source)
    if not found.kernels:
        raise UsageError(f"{source} defines no kernel: in OpenCL C it begins with __kernel void")
    return found


def _dialect(source: Path, options: Sequence[str]) -> list[object]:
    """How kernels' code is read: the standard, macros, and where its headers are."""
    vitis = os.environ.get("XILINX_HLS")
    return [
        "-std=c++17",
        f"-I{source.resolve().parent}",
        *options,
        f"-I{PARTS}/include",
        "-isystem",
        f"{vitis}/include" if vitis else f"{PARTS}/include/hls",
    ]


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
    """Raises UsageError if Isthmus did not make the file: a bitstream takes hours to make."""
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
    code: _Code,
) -> Kernel:
    """The kernel that a source in C++ defines, or in OpenCL C."""
    found = prototype.defined_in(text, name)
    group: WorkGroup | None = None
    if opencl is not None:
        group = opencl.kernels.get(name)
    if found is None or (opencl is not None and group is None):
        raise UsageError(f"{source} defines no function {name}(...): name the kernel's with --top")
    if opencl is None:
        return _sized(found.kernel, source, code)
    return msgspec.structs.replace(found.kernel, work_group=group)


_KINDS = ("value", "buffer", "stream", "result")
"""Kinds of arguments, in the order of kernel_call.hpp."""


def _sized(kernel: Kernel, source: Path, code: _Code) -> Kernel:
    """The kernel with what the compiler knows of arguments whose types' names tell no size."""

    def unknown(argument: Argument) -> bool:
        told = argument.size or argument.qualifier or argument.type.endswith("*")
        return not told and size_of(argument.type.removesuffix("&")) is None

    if not any(map(unknown, kernel.arguments)):
        return kernel
    with tempfile.TemporaryDirectory(prefix="isthmus-kernel-") as folder:
        asked = Path(folder) / "sizes.cpp"
        facts = code.before(source) | {"name": kernel.name, "count": len(kernel.arguments)}
        asked.write_text(filled_template("sizes.cpp", facts), "utf-8")
        done = compiler.ended([*_dialect(source, code.options), "-w", "-fsyntax-only", asked])
    found = re.search(r"isthmus_sizes<([-\d, ]+)>", done.stderr)
    if found is None:
        raise compiler.failure(source, done)
    numbers = list(map(int, found[1].split(",")))
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
    design: Design, found: Kernel, source: Path, described: Path, *, alone: bool
) -> Design:
    """The design with the kernel that the source defines; a description must say the same.

    One that has kernels, and not that one, is taken for another's where it stands ``alone``.
    """
    given = next((kernel for kernel in design.kernels if kernel.name == found.name), None)
    if given is None:
        if design.kernels and alone:
            raise UsageError(f"{described} describes no kernel {found.name}")
        return msgspec.structs.replace(design, kernels=(*design.kernels, found))
    widths = zip(*([word_bytes(a.type) for a in k.arguments] for k in (given, found)), strict=False)
    if _named(given) != _named(found) or any(None not in w and w[0] != w[1] for w in widths):
        raise UsageError(
            f"{described} has {_shown(given)}, {source.name} has {_shown(found)}: "
            f"change one of them"
        )
    same = msgspec.structs.replace(given, work_group=found.work_group)
    kernels = (same if kernel is given else kernel for kernel in design.kernels)
    return msgspec.structs.replace(design, kernels=tuple(kernels))


def _named(kernel: Kernel) -> list[tuple[str, str]]:
    """Each argument's name and kind; a value that is a result is a value in the registers."""

    def kind(argument: Argument) -> str:
        stream = argument.qualifier == "stream" or argument.type.startswith("hls::stream")
        return "stream" if stream else "*" if argument.type.endswith("*") else ""

    return [(a.name, kind(a)) for a in kernel.arguments]


def _shown(kernel: Kernel) -> str:
    return f"{kernel.name}({', '.join(f'{a.type} {a.name}' for a in kernel.arguments)})"


def _macro(text: str) -> tuple[str, str]:
    """Name and value of ``NAME`` or ``NAME=VALUE``, as the compiler takes it behind ``-D``."""
    name, equals, value = text.partition("=")
    return name, value if equals else "1"


@dataclass(frozen=True)
class _Code:
    """How C++ of kernels is read: folders of headers, and macros.

    Headers of Isthmus are read before the macros, of which any name may be: ``T``, ``bits``. A
    macro whose name is reserved, as ``_GLIBCXX_DEBUG``, is for the C++ library, and comes first.
    """

    folders: Sequence[str]
    macros: Sequence[tuple[str, str]]

    @property
    def options(self) -> list[str]:
        """Of the compiler, for a file that defines the other macros itself."""
        return [*self.folders, *(f"-D{n}={v}" for n, v in self.macros if n.startswith("_"))]

    def before(self, source: Path) -> dict[str, object]:
        """What such a file has: the source, the headers of HLS that it needs, and macros."""
        own = [f"-D{n}={v}" for n, v in self.macros]
        return {
            "source": source.resolve(),
            "headers": _headers_of_hls(source, [*self.folders, *own]),
            "macros": [(n, v) for n, v in self.macros if not n.startswith("_")],
        }


def _headers_of_hls(source: Path, options: Sequence[str]) -> list[str]:
    """Headers in place of AMD's that a source includes, also by others; none of AMD's own."""
    dialect = [*_dialect(source, options), "-w", "-M", source]
    done = compiler.ended(dialect)
    ours = PARTS / "include" / "hls"
    words = done.stdout.replace("\\\n", " ").split()
    return sorted({Path(word).name for word in words if Path(word).parent == ours})


@dataclass(frozen=True)
class _Cpp:
    """What kernels in C++ and OpenCL C are compiled with."""

    parts: Sequence[Path]
    """Sources without a kernel."""
    in_opencl: Mapping[Path, opencl_c.Translation]
    code: _Code
    estimated: bool
    """Whether computing is estimated where nobody says its cycles."""
    notes: list[str]
    """Lines for the user, which compiling adds to."""


# Without the checks that some systems add: they replace memcpy, and know one stack alone.
_OPTIONS = ("-O2", "-fPIC", "-fvisibility=hidden", "-U_FORTIFY_SOURCE")


def _compile_kernel(source: Path, cpp: _Cpp, kernel: Kernel, options: list[object]) -> None:
    """Compiles the kernel's own code, with processes of its DATAFLOW regions.

    Where nobody says its cycles, its loops have counters.
    """
    *flags, _, call, _, made = options
    call, preprocessed = Path(str(call)), Path(str(call)).with_suffix(".ii")
    estimated = kernel.cycles is None and cpp.estimated
    compiler.run([*flags, "-E", call, "-o", preprocessed], source)
    if estimated or _DATAFLOW.search(preprocessed.read_bytes()):
        macros = compiler.run([*flags, "-E", "-dM", call], source)
        found = estimate.counted(
            preprocessed, kernel.name, macros, PARTS, in_opencl=source in cpp.in_opencl,
            estimated=estimated,
        )  # fmt: skip
        if found.text is not None:
            preprocessed.write_bytes(found.text)
            if not compiler.ended([*flags, "-c", preprocessed, "-o", made]).returncode:
                return
        if estimated:
            note = found.note or f"kernel {kernel.name}: not estimated, its loops cannot be counted"
        else:
            note = f"kernel {kernel.name}: its DATAFLOW processes run one after the other: no " \
                   "libclang here reads its source"  # fmt: skip
        cpp.notes.append(note)
    with call.open("a") as file:
        file.write(estimate.table.NONE)
    compiler.run(options, source)


def _compile(source: Path, cpp: _Cpp, kernel: Kernel, folder: Path) -> Path:
    """The plug-in: the kernel's code, instrumented, and what counts its accesses."""
    call = folder / "call.cpp"
    facts: dict[str, object] = {
        "name": kernel.name, "arguments": kernel.arguments, "work": work_arguments(kernel),
        "opencl": source in cpp.in_opencl,
    }  # fmt: skip
    if opencl := cpp.in_opencl.get(source):
        translated = folder / "source.cpp"
        translated.write_text(opencl.text, "utf-8")
        facts |= {
            "source": translated, "headers": (), "macros": (),  # all macros are replaced
            "parts": {length: opencl.parts(length) for length in opencl_c.LENGTHS},
            "required": kernel.work_group,
            "waits": "true" if opencl.waits else "false",
        }  # fmt: skip
    else:
        facts |= cpp.code.before(source)
    call.write_text(filled_template("call.cpp", facts), "utf-8")
    common = [*_dialect(source, cpp.code.options), *_OPTIONS]
    # A local static object is made once, by the one thread there is, without a lock.
    alone = "-fno-threadsafe-statics"
    instrumented = ["-g", "-fsanitize=thread", alone, *(f"-fno-builtin-{one}" for one in _WRAPPED)]
    quiet = ["-Wno-unknown-pragmas", "-Wno-unused-label"]
    if opencl:  # C allows more than C++
        quiet += ["-w", "-fpermissive", "-Wno-narrowing"]
    wrapped = [call]
    for number, part in enumerate(cpp.parts):
        wrapped.append(folder / f"part{number}.cpp")
        wrapped[-1].write_text(filled_template("part.cpp", cpp.code.before(part)), "utf-8")
    objects = [folder / f"kernel{number}.o" for number in range(len(wrapped))]
    compiled = [*common, *instrumented, *quiet]
    _compile_kernel(source, cpp, kernel, [*compiled, "-c", call, "-o", objects[0]])
    for one, made in zip(wrapped[1:], objects[1:], strict=True):
        compiler.run([*compiled, "-c", one, "-o", made], source)
    library = folder / f"{kernel.name}.so"
    wraps = [f"-Wl,--wrap={one}" for one in _WRAPPED]
    complete = "-Wl,-z,defs"  # what is missing is said here, not when a program loads it
    linked = compiler.whole("kernel_call")
    compiler.run(["-shared", complete, *wraps, *objects, *linked, "-o", library], source)
    return library
