"""Writes the first files of a new kernel: code, description, and a host program that checks it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from isthmus.errors import UsageError
from isthmus.saving import save
from isthmus_emulation.prototype import Parameter, Prototype, is_number
from isthmus_emulation.xclbin import Kernel
from isthmus_emulation.xclbin.design import completed
from isthmus_emulation.xclbin.sizes import size_of

ELEMENTS = 1024
_MOVERS = (("inputs", "feed", "fills"), ("outputs", "drain", "empties"))
_STREAM = re.compile(r"hls::stream<\s*([^,]+?)\s*>")
_WORD_BYTES = 4
_SCALARS = {"float": "3.0F", "double": "3.0"}
"""Values of arguments in the host program, by type; XRT copies a value's bytes for any type."""
_SCALAR = "3"


@dataclass(frozen=True)
class File:
    """A file of a new kernel."""

    name: str
    template: str
    what: str
    """Description of the file for the user."""
    facts: dict[str, Any]
    built: bool = False
    """Whether ``card kernel build`` takes the file as an input."""


def write(prototype: Prototype, folder: Path, *, verilog: bool = False) -> dict[Path, File]:
    """Writes a new kernel's files into a folder; returns them, the kernel's code first.

    Raises UsageError if one of the files exists, or for a prototype that no kernel can have.
    """
    placed = completed(prototype.kernel)
    streamed = any(p.stream for p in prototype.parameters)
    facts = _stream_facts(prototype) if streamed else _facts(prototype)
    facts["result"] = _result(prototype, is_sum=not verilog)
    if verilog:
        facts |= _registers(prototype, placed, facts)
    name = prototype.name
    files = [File(f"{name}.cpp", "kernel.cpp", "the kernel", facts, built=True)]
    if verilog:
        files = [
            File(f"{name}.sv", "kernel.sv", "the kernel", facts, built=True),
            File(f"{name}.cpp", "kernel.cpp", "the same in C++, for the host to compare", facts),
        ]
    for direction, kernel, what in _MOVERS:
        for stream in facts[direction] if streamed else ():
            more = facts | {"stream": stream, "feeds": direction == "inputs"}
            moves = f"{what} {stream}"
            files.append(File(f"{kernel}_{stream}.cpp", "mover.cpp", moves, more, built=True))
    host = "host_streams.cpp" if streamed else "host.cpp"
    files += [
        File(f"{name}.toml", "kernel.toml", "the description", facts),
        File("host.cpp", host, "a host program that says PASS", facts),
    ]
    paths = {folder / file.name: file for file in files}
    if len(paths) < len(files):
        raise UsageError(f"kernel {name} has the name of another file: call it otherwise")
    if there := next((path for path in paths if path.exists()), None):
        raise UsageError(f"{there} exists; nothing is overwritten: name another folder with --out")
    rendered = {path: filled_template(file.template, file.facts) for path, file in paths.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from error
    for path, made in rendered.items():
        save(made.encode(), path)
    return paths


def filled_template(name: str, facts: dict[str, Any]) -> str:
    """Fills in a template of the folder ``templates``."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template(f"{name}.j2").render(facts)


def _facts(prototype: Prototype) -> dict[str, Any]:
    if other := next((p for p in prototype.parameters if p.reference), None):
        raise UsageError(
            f"kernel {prototype.name}: no host program is written for the reference '{other}'"
        )
    pointers = [p for p in prototype.parameters if p.pointer]
    outputs = [p for p in pointers if not p.const and p.element != "void"]
    inputs = [p for p in pointers if p.const and p.element != "void"]

    def value_of(parameter: Parameter, member: str) -> str:
        own = f"{parameter.name}_buffer.{member}"
        return own if parameter.pointer else _value(parameter, prototype)

    return {
        **_common(prototype),
        "pointers": pointers,
        "outputs": outputs,
        "inputs": inputs,
        "streams": [],
        "there": [value_of(p, "there") for p in prototype.parameters],
        "here": [value_of(p, "here.data()") for p in prototype.parameters],
        "same": [f"{p.name}_buffer.same()" for p in pointers if not p.const],
    }


def _common(prototype: Prototype) -> dict[str, Any]:
    return {
        "prototype": str(prototype),
        "name": prototype.name,
        "arguments": prototype.parameters,
        "count": prototype.count.name if prototype.count else "",
        "elements": ELEMENTS,
    }


def _result(prototype: Prototype, *, is_sum: bool) -> str:
    """Returns what the new kernel writes for element ``i``, in C++.

    With ``is_sum`` this is the sum of all inputs and values, as far as they are numbers of types
    that C++ adds; else the first input. A Verilog module of ``kernel.sv`` has one input.
    """
    parameters = prototype.parameters
    inputs = [
        (f"{p.name}[i]", p.element)
        for p in parameters
        if p.pointer and p.const and p.element != "void"
    ]
    if any(p.stream for p in parameters):
        outputs = _output_streams(parameters)
        inputs = [
            (f"{p.name}_word", _word(p) or "") for p in parameters if p.stream and p not in outputs
        ]
    plain = [
        (p.name, p.element)
        for p in parameters
        if not (p.pointer or p.stream or p.reference) and p != prototype.count
    ]
    for terms in ([*inputs, *plain], inputs):
        if inputs and is_sum and all(is_number(element) for _, element in terms):
            return " + ".join(name for name, _ in terms)
    return inputs[0][0] if inputs else "i"


def _output_streams(parameters: Sequence[Parameter]) -> list[Parameter]:
    streams = [p for p in parameters if p.stream]
    return [p for p in streams if p.name.lower().startswith("out")] or streams[1:][-1:]


def _word(stream: Parameter) -> str | None:
    """Returns the type of a stream's words; None if it is not known."""
    found = _STREAM.fullmatch(stream.element)
    return found[1] if found else None


def _value(parameter: Parameter, prototype: Prototype) -> str:
    if parameter == prototype.count:
        return "elements"
    return _SCALARS.get(parameter.element, _SCALAR)


def _stream_facts(prototype: Prototype) -> dict[str, Any]:
    """Returns template values for a kernel with streams.

    The names of the streams say which of them the kernel reads, and which it writes.
    """
    where = f"kernel {prototype.name}"
    streams = [p for p in prototype.parameters if p.stream]
    if other := next(
        (p for p in prototype.parameters if not p.stream and (p.pointer or p.reference)), None
    ):
        raise UsageError(
            f"{where}: a kernel with streams begins with streams and values alone; add '{other}' "
            "when it passes"
        )
    words = {_word(p) for p in streams}
    word = next(iter(words))
    if len(words) > 1 or word is None or size_of(word) is None:
        raise UsageError(
            f"{where}: its streams begin with words of one type with a known size, such as "
            "hls::stream<int>; ap_axiu: see packets in kernels/gallery"
        )
    outputs = _output_streams(streams)
    inputs = [p.name for p in streams if p not in outputs]
    if not inputs or not outputs:
        raise UsageError(
            f"{where}: it begins with a stream to read and one to write, whose name begins with "
            "'out' or which is the last: 'hls::stream<int>& in, hls::stream<int>& out'"
        )
    return {
        **_common(prototype),
        "pointers": [],
        "streams": [p.name for p in streams],
        "inputs": inputs,
        "outputs": [p.name for p in outputs],
        "word": word,
        "values": [
            (n, _value(p, prototype)) for n, p in enumerate(prototype.parameters) if not p.stream
        ],
        "here": [
            f"{p.name}_words" if p.stream else _value(p, prototype) for p in prototype.parameters
        ],
    }


def _registers(prototype: Prototype, placed: Kernel, facts: dict[str, Any]) -> dict[str, Any]:
    """Returns template values for a Verilog module: registers, moved elements, and their width."""
    moved = {"bits": 8 * (size_of(facts["word"]) or 0)} if facts["streams"] else _pair(prototype)
    registers = [
        (a, at)
        for a in placed.arguments
        if a.qualifier != "stream"
        for at in range(0, a.size or 0, _WORD_BYTES)
    ]
    count = prototype.count
    return {
        **moved,
        "placed": placed.arguments,
        "words": [
            (
                (a.offset or 0) + at,
                a.name,
                min(8 * (a.size or 0), 8 * (at + _WORD_BYTES)) - 1,
                8 * at,
            )
            for a, at in registers
        ],
        "last": f"64'({count.name}_)" if count else f"64'd{ELEMENTS}",
        "no_elements": _no_elements(count),
    }


def _pair(prototype: Prototype) -> dict[str, Any]:
    """Returns the pointer that a module reads elements from, and the pointer that it writes to."""
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
    return {
        "input": pair[0],
        "output": pair[1],
        "bits": 8 * pair[2],
        "shift": pair[2].bit_length() - 1,
    }


def _no_elements(count: Parameter | None) -> str:
    """Returns Verilog that is true if there are no elements; a signed count may be below 0."""
    if count is None:
        return "1'b0"
    signed = not count.element.startswith(("unsigned", "uint", "size_t"))
    return f"$signed({count.name}_) <= 0" if signed else f"{count.name}_ == 0"
