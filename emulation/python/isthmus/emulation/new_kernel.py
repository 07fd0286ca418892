"""Files to begin a kernel with: what it does, its description and a host program that checks it."""

from __future__ import annotations

from pathlib import Path

import jinja2

from isthmus.emulation.prototype import Parameter, Prototype
from isthmus.errors import UsageError
from isthmus.xclbin import Kernel
from isthmus.xclbin.design import completed
from isthmus.xclbin.sizes import size_of

ELEMENTS = 1024
_WORD_BYTES = 4
_SCALAR = "3"


def write(prototype: Prototype, folder: Path, *, verilog: bool = False) -> dict[Path, str]:
    """Writes a kernel's files into a folder that has none of them; gives what each of them is.

    Raises UsageError where a file is there, or for a prototype that no kernel can have.
    """
    if other := next((p for p in prototype.parameters if p.reference), None):
        raise UsageError(
            f"kernel {prototype.name}: no host program is written for the reference '{other}'; "
            "kernels with streams: the gallery in docs/kernels.md"
        )
    placed = completed(prototype.kernel)
    facts = _facts(prototype)
    if verilog:
        facts |= _registers(prototype, placed)
    files = {"kernel.sv": "the kernel", "kernel.cpp": "the same in C++, for the host to compare"}
    if not verilog:
        files = {"kernel.cpp": "the kernel"}
    files |= {"kernel.toml": "its description", "host.cpp": "a host program that says PASS"}
    paths = {name: folder / name.replace("kernel", prototype.name) for name in files}
    if there := next((path for path in paths.values() if path.exists()), None):
        raise UsageError(f"{there} exists; nothing is overwritten: name another folder with --out")
    rendered = {paths[name]: filled_template(name, facts) for name in files}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, made in rendered.items():
            path.write_text(made, "utf-8")
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from error
    return {paths[name]: what for name, what in files.items()}


def filled_template(name: str, facts: dict[str, object]) -> str:
    """A template of the folder ``templates``, filled."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template(f"{name}.j2").render(facts)


def _facts(prototype: Prototype) -> dict[str, object]:
    pointers = [p for p in prototype.parameters if p.pointer]
    outputs = [p for p in pointers if not p.const and p.element != "void"]
    inputs = [p for p in pointers if p.const and p.element != "void"]

    def value(parameter: Parameter) -> str:
        return "elements" if parameter == prototype.count else _SCALAR

    def given(parameter: Parameter, member: str) -> str:
        return f"{parameter.name}_buffer.{member}" if parameter.pointer else value(parameter)

    return {
        "prototype": str(prototype),
        "name": prototype.name,
        "arguments": prototype.parameters,
        "pointers": pointers,
        "outputs": outputs,
        "inputs": inputs,
        "count": prototype.count.name if prototype.count else "",
        "elements": ELEMENTS,
        "there": [given(p, "there") for p in prototype.parameters],
        "here": [given(p, "here.data()") for p in prototype.parameters],
        "same": [f"{p.name}_buffer.same()" for p in pointers if not p.const],
    }


def _registers(prototype: Prototype, placed: Kernel) -> dict[str, object]:
    """What the module of a kernel needs: its registers, and which pointers it moves between."""
    sizes = [
        (pointer, size_of(pointer.element)) for pointer in prototype.parameters if pointer.pointer
    ]
    inputs = [(p.name, size) for p, size in sizes if p.const and size]
    outputs = [(p.name, size) for p, size in sizes if not p.const and size]
    pair = next(((i, o, size) for i, size in inputs for o, same in outputs if size == same), None)
    if pair is None:
        raise UsageError(
            f"kernel {prototype.name}: --verilog writes a module that moves elements of 1 to 8 "
            "bytes from a 'const int* in' to an 'int* out'; the prototype has no such two"
        )
    words = [
        (a.offset or 0) + at for a in placed.arguments for at in range(0, a.size or 0, _WORD_BYTES)
    ]
    names = [
        (a.name, min(8 * (a.size or 0), 8 * (at + _WORD_BYTES)) - 1, 8 * at)
        for a in placed.arguments
        for at in range(0, a.size or 0, _WORD_BYTES)
    ]
    count = prototype.count
    return {
        "placed": placed.arguments,
        "words": [(word, *name) for word, name in zip(words, names, strict=True)],
        "input": pair[0],
        "output": pair[1],
        "bits": 8 * pair[2],
        "shift": pair[2].bit_length() - 1,
        "last": f"{count.name}_" if count else ELEMENTS,
        "no_elements": _no_elements(count),
    }


def _no_elements(count: Parameter | None) -> str:
    """Whether there is nothing to do, in Verilog: a signed count may be below 0."""
    if count is None:
        return "1'b0"
    signed = not count.element.startswith(("unsigned", "uint", "size_t"))
    return f"$signed({count.name}_) <= 0" if signed else f"{count.name}_ == 0"
