"""``isthmus card kernel``: begins and builds a user's kernels for the emulated card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from isthmus.command import App
from isthmus.errors import UsageError
from isthmus.output import inform, put

if TYPE_CHECKING:
    from isthmus.program import Invocation
    from isthmus_emulation import build_kernel

_HOST = "g++ -std=c++17 -w -I/usr/include/xrt {} -o {}"
_LIBRARIES = "-lxrt_coreutil -luuid -pthread"


def add_to(card: typer.Typer) -> None:
    """Registers the group ``kernel`` with its commands."""
    group = App(no_args_is_help=True, rich_markup_mode=None)
    group.command(name="new", help="Write the files of a kernel, from its prototype.")(new)
    group.command(name="build", help="Compile a kernel, and write its xclbin.")(build)
    card.add_typer(group, name="kernel", help="Kernels of your own: begin one, build one.")


def new(
    prototype: Annotated[
        str, typer.Argument(help="'void scale(const int* in, int* out, int n)', for example")
    ],
    out: Annotated[Path | None, typer.Option(help="folder [the kernel's name]")] = None,
    verilog: Annotated[
        bool, typer.Option("--verilog", help="a module too, which the C++ function then checks")
    ] = False,
) -> None:
    """Writes kernel, description and host program; prints the next commands."""
    from isthmus.program import invocation, quoted, shorter
    from isthmus_emulation import new_kernel
    from isthmus_emulation.prototype import parse

    parsed = parse(prototype)
    folder = out or Path(parsed.name)
    made = new_kernel.write(parsed, folder, verilog=verilog)
    here, name = shorter(folder), parsed.name
    said = [f"{path}: {file.what}" for path, file in made.items()]
    for n in range(0, len(said), 2):
        put("; ".join(said[n : n + 2]))
    sources = [shorter(path) for path, file in made.items() if file.built]
    streamed = len(sources) > 1
    description = ["--from", f"{here}/{name}.toml"] if streamed else []
    put(f"  {invocation('card', 'kernel', 'build', *sources, *description)}")
    needed = streamed or "ap_" in str(parsed)
    headers = f" -I$({invocation('card', 'include')})/hls" if needed else ""
    host = (f"{here}/host.cpp", f"{here}/host")
    put(f"  {_HOST.format(*map(quoted, host))}{headers} {_LIBRARIES}")
    program = (host[1], f"{here}/{name}.xclbin")
    put(f"  {invocation('card', 'exec', '--kernels', here, '--', *program)}")


_Sources = Annotated[
    list[Path],
    typer.Argument(help="C++, HLS C++, OpenCL C or Verilog; NAME.toml beside one describes it"),
]
_Description = Annotated[
    Path | None,
    typer.Option("--from", help="description of all kernels together, with their streams"),
]
_Configs = Annotated[
    list[Path] | None,
    typer.Option(help="configuration of AMD's linker (v++ --config); repeatable"),
]
_Tops = Annotated[
    list[str] | None, typer.Option(help="a kernel's name [the file's]; repeatable")
]  # fmt: skip
_Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="the xclbin [named as the description, configuration or source]"
    ),
]
_Folders = Annotated[
    list[Path] | None, typer.Option("--include", "-I", help="folder with headers")
]  # fmt: skip
_Macros = Annotated[
    list[str] | None,
    typer.Option("--define", "-D", help="macro for C++, NAME or NAME=VALUE; repeatable"),
]
_Schedules = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="CSYNTH.XML",
        help="how long a kernel computes: report of Vitis HLS; repeatable",
    ),
]
_Cycles = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FORMULA",
        help="how long a kernel computes: 'n*4+120' cycles, of its values; with several "
        "kernels 'KERNEL=n*4+120'; repeatable",
    ),
]
_Estimated = Annotated[
    bool, typer.Option(help="estimate computing by HLS's rules where nobody gives it")
]
_Clock = Annotated[
    int | None,
    typer.Option(
        metavar="MHZ", min=1, max=1000,
        help="clock that computing is estimated for [the report's, the description's, 300]",
    ),
]  # fmt: skip
_Mode = Annotated[str, typer.Option(help="hw_emu, or hw for card exec --as-hardware")]


def build(
    sources: _Sources,
    description: _Description = None,
    config: _Configs = None,
    top: _Tops = None,
    out: _Out = None,
    include: _Folders = None,
    define: _Macros = None,
    schedule: _Schedules = None,
    cycles: _Cycles = None,
    clock: _Clock = None,
    mode: _Mode = "hw_emu",
    *,
    estimate: _Estimated = True,
) -> None:
    """Makes a NAME.so beside each source, and an xclbin, and prints their names."""
    from isthmus_emulation import build_kernel
    from isthmus_emulation.xclbin.design import ModeName

    names: tuple[ModeName, ...] = get_args(ModeName)
    chosen = next((name for name in names if name == mode), None)
    if chosen is None:
        raise UsageError(f"no mode '{mode}'; choose {', '.join(names)}")
    order = build_kernel.Order(
        sources,
        chosen,
        tops=top or (),
        description=description,
        configs=config or (),
        out=out,
        folders=include or (),
        defines=define or (),
        schedules=schedule or (),
        cycles=cycles or (),
        estimated=estimate,
        clock_mhz=clock,
    )
    made = build_kernel.build(order)
    put("\n".join(map(str, [*made.libraries, made.xclbin])))
    for note in made.notes:
        inform(note)
    inform(f"Run it with: {_run(made, order)}")


def _run(made: build_kernel.Built, order: build_kernel.Order) -> Invocation:
    """Returns the command that runs a program with the built kernels at their clock."""
    from isthmus.program import invocation, shorter
    from isthmus_emulation.xclbin.kinds import DATA_MHZ

    options = ["--as-hardware"] if order.mode == "hw" else []
    if made.clock_mhz != DATA_MHZ:
        options += ["--board", f"u250,kernel.clock_MHz={made.clock_mhz}"]
    folders = dict.fromkeys(shorter(library.parent) for library in made.libraries)
    options += [word for folder in folders for word in ("--kernels", folder)]
    return invocation("card", "exec", *options, "--", "PROGRAM", shorter(made.xclbin))
