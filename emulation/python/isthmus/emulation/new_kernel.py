"""Files to begin a kernel with: what it does, its description and a host program that checks it."""

from __future__ import annotations

from pathlib import Path

import jinja2

from isthmus.emulation.prototype import Parameter, Prototype
from isthmus.errors import UsageError
from isthmus.xclbin.design import completed

ELEMENTS = 1024
_SCALAR = "3"


def write(prototype: Prototype, folder: Path, *, verilog: bool = False) -> list[Path]:
    """Writes a kernel's files into a new or an empty folder; gives their paths.

    Raises UsageError where a file is there, or for a prototype that no kernel can have.
    """
    completed(prototype.kernel)
    facts = _facts(prototype)
    suffixes = ("cpp", "sv", "toml") if verilog else ("cpp", "toml")
    texts = {folder / f"{prototype.name}.{suffix}": f"kernel.{suffix}" for suffix in suffixes}
    texts[folder / "host.cpp"] = "host.cpp"
    if there := next((path for path in texts if path.exists()), None):
        raise UsageError(f"{there} exists; nothing is overwritten: name another folder with --out")
    rendered = {path: text(name, facts) for path, name in texts.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, made in rendered.items():
            path.write_text(made, "utf-8")
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from error
    return list(rendered)


def text(name: str, facts: dict[str, object]) -> str:
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
        return f"{parameter.name}.{member}" if parameter.pointer else value(parameter)

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
        "same": [f"{p.name}.same()" for p in pointers if not p.const],
    }
