"""Kernels by their prototypes in C: ``void scale(const int* in, int* out, int n)``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from isthmus.errors import UsageError
from isthmus.xclbin import Argument, Kernel
from isthmus.xclbin.sizes import size_of

EXAMPLE = "void scale(const int* in, int* out, int n)"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:\\\n|[^\n])*", re.DOTALL | re.MULTILINE)
_FUNCTION = re.compile(r"\s*(.*?)\b([A-Za-z_]\w*)\s*\((.*)\)\s*;?\s*", re.DOTALL)
_ARGUMENT = re.compile(r"(.*?[\w>*&\s])\b([A-Za-z_]\w*)\s*(\[\w*\])?", re.DOTALL)
_TYPE = re.compile(r"[A-Za-z_][\w:]*(?: [A-Za-z_]\w*)*(?:<[\w\s,:<>]*>)?")
_BITS = re.compile(r"(?:\w+::)*ap_u?int<\s*(\d+)\s*>")
_WIDEST = 64
_INTEGERS = re.compile(r"(?:unsigned|signed|char|short|int|long|u?int\d+_t|size_t|\s)+")
_COUNTS = ("n", "count", "size", "elements", "length", "number")


@dataclass(frozen=True)
class Parameter:
    """An argument of a kernel: ``const int* in`` has the element ``int``."""

    name: str
    element: str
    """Its type without const and ``*``."""
    pointer: bool
    const: bool
    reference: bool = False
    """To a stream, or to a value that the kernel writes."""

    @property
    def type(self) -> str:
        """As an xclbin has it."""
        return f"{self.element}{self._mark}"

    @property
    def _mark(self) -> str:
        return "*" if self.pointer else "&" if self.reference else ""

    @property
    def stream(self) -> bool:
        """Whether it leads to another kernel; an alias of such a type has the word in its name."""
        return self.reference and "stream" in self.element.lower()

    @property
    def size(self) -> int | None:
        """Bytes in the registers, such as of ``ap_uint<24>``; None: ``size_of(type)`` tells."""
        bits = None if self.pointer else _BITS.fullmatch(self.element)
        if bits is None:
            return None
        return next((size for size in (1, 2, 4) if int(bits[1]) <= 8 * size), 8)

    def __str__(self) -> str:
        const = "const " if self.const else ""
        return f"{const}{self.type} {self.name}"


@dataclass(frozen=True)
class Prototype:
    """Name and arguments of a kernel."""

    name: str
    parameters: tuple[Parameter, ...]

    @property
    def kernel(self) -> Kernel:
        """The kernel as an xclbin describes it."""
        arguments = (
            Argument(p.name, p.type, "stream" if p.stream else None, size=p.size)
            for p in self.parameters
        )
        return Kernel(self.name, tuple(arguments))

    @property
    def count(self) -> Parameter | None:
        """The argument that most likely says how many elements there are."""
        values = (p for p in self.parameters if not p.pointer and not p.reference)
        integers = [p for p in values if _INTEGERS.fullmatch(p.element) and size_of(p.element) != 1]
        named = [p for p in integers if p.name.lower().startswith(_COUNTS)]
        return next(iter(named or integers), None)

    def __str__(self) -> str:
        return f"void {self.name}({', '.join(map(str, self.parameters))})"


def parse(text: str) -> Prototype:
    """Reads a prototype; raises UsageError that says what is wrong with it."""
    found = _FUNCTION.fullmatch(_COMMENT.sub(" ", text))
    if found is None:
        raise UsageError(f"cannot read {text!r} as a kernel; write it as '{EXAMPLE}'")
    result, name, inside = " ".join(found[1].split()), found[2], found[3].strip()
    if result != "void":
        raise UsageError(
            f"kernel {name}: a kernel returns nothing, here it returns '{result}': begin with void"
        )
    parts = [] if inside in {"", "void"} else _split(inside)
    parameters = tuple(_parameter(part, name) for part in parts)
    names = [parameter.name for parameter in parameters]
    if double := next((one for one in names if names.count(one) > 1), None):
        raise UsageError(f"kernel {name}: two arguments are named '{double}'")
    return Prototype(name, parameters)


def defined_in(source: str, name: str) -> Prototype | None:
    """The function of that name which a C++ source defines; None where there is none."""
    text = _COMMENT.sub(" ", source)
    found = re.search(rf"([\w:<>]+)\s+({re.escape(name)}\s*\([^(){{}}]*\))\s*\{{", text)
    return None if found is None else parse(f"{found[1]} {found[2]}")


def _split(inside: str) -> list[str]:
    """Arguments between commas that stand in no template's brackets."""
    parts, depth = [""], 0
    for letter in inside:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _parameter(text: str, kernel: str) -> Parameter:
    shown = " ".join(text.split())
    found = _ARGUMENT.fullmatch(text.strip())
    where = f"kernel {kernel}: argument '{shown}'"
    if found is None:
        raise UsageError(f"{where} has no type and name; write it as 'const int* in' or 'int n'")
    spaced = found[1].replace("*", " * ").replace("&", " & ")
    words = spaced.replace("__restrict__", " ").split()
    stars = words.count("*") + (found[3] is not None)
    reference = words.count("&") > 0
    if "hls::stream" in found[1] and (stars or not reference):
        raise UsageError(f"{where} is a stream, given by reference: 'hls::stream<int>& in'")
    if words.count("&") > 1 or (reference and stars):
        raise UsageError(f"{where} is a reference to more than a value or a stream")
    if stars > 1:
        raise UsageError(f"{where} is a pointer to pointers, which no kernel can follow")
    left = [word for word in words if word not in {"*", "&", "const", "volatile", "restrict"}]
    element = " ".join(left)
    if _TYPE.fullmatch(element) is None or (element == "void" and not stars):
        raise UsageError(f"{where} has no type that can be read: '{element}'")
    bits = _BITS.fullmatch(element)
    if bits and not stars and int(bits[1]) > _WIDEST:
        raise UsageError(f"{where} is wider than {_WIDEST} bits, the most that a value can have")
    return Parameter(found[2], element, stars == 1, "const" in words, reference)
