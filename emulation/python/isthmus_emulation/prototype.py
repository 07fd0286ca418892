"""Reads prototypes of kernels in C: ``void scale(const int* in, int* out, int n)``."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from functools import lru_cache

from isthmus.errors import UsageError
from isthmus_emulation.xclbin import Argument, Kernel
from isthmus_emulation.xclbin.sizes import size_of

EXAMPLE = "void scale(const int* in, int* out, int n)"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:\\\n|[^\n])*", re.DOTALL | re.MULTILINE)
_FUNCTION = re.compile(r"\s*(.*?)\b([A-Za-z_]\w*)\s*\((.*)\)\s*;?\s*", re.DOTALL)
_ARGUMENT = re.compile(r"(.*?[\w>*&\s])\b([A-Za-z_]\w*)\s*((?:\[[^]]*\]\s*)*)", re.DOTALL)
_TYPE = re.compile(r"[A-Za-z_][\w:]*(?: [A-Za-z_]\w*)*(?:<[\w\s,:<>()*/+-]*>)?")
_TEMPLATE = re.compile(r"<.*>", re.DOTALL)
_ARITHMETIC = re.compile(r"([<,\[]\s*)([\d()][\d\s()*/+-]*)(?=[,>\]])")
_BITS = re.compile(r"(?:\w+::)*ap_u?(?:int<\s*(\d+)\s*>|fixed<\s*(\d+)\s*,[^>]*>)")
_PORT = re.compile(r"(?:hls::)?burst_maxi<\s*(.+?)\s*>")
_WIDEST = 64
_INTEGERS = re.compile(r"(?:unsigned|signed|char|short|int|long|u?int\d+_t|size_t|\s)+")
_INTERFACE = re.compile(
    r"^[ \t]*#[ \t]*pragma[ \t]+HLS[ \t]+INTERFACE[ \t]+((?:\\\n|[^\n])*)",
    re.MULTILINE | re.IGNORECASE,
)
_COUNTS = ("n", "count", "size", "elements", "length", "number")


@dataclass(frozen=True)
class Parameter:
    """An argument of a kernel: ``const int* in`` has the element ``int``."""

    name: str
    element: str
    """Type without ``const`` and ``*``."""
    pointer: bool
    const: bool
    reference: bool = False
    """Whether the argument is a reference to a stream, or to a value that the kernel writes."""
    volatile: bool = False

    @property
    def type(self) -> str:
        """Returns the argument's type in the notation of xclbins."""
        return f"{self.element}{self._mark}"

    @property
    def qualifiers(self) -> str:
        """Returns the words before the type, each with a space."""
        return "const " * self.const + "volatile " * self.volatile

    @property
    def _mark(self) -> str:
        return "*" if self.pointer else "&" if self.reference else ""

    @property
    def stream(self) -> bool:
        """Whether the argument is a stream; only the compiler knows aliases of stream types."""
        return self.reference and self.element.startswith(("hls::stream", "stream<"))

    @property
    def size(self) -> int | None:
        """Returns the argument's bytes in the registers; None if only the compiler knows them."""
        bits = None if self.pointer else _BITS.fullmatch(self.element)
        if bits is None:
            return None
        return next((size for size in (1, 2, 4) if int(bits[1] or bits[2]) <= 8 * size), 8)

    def __str__(self) -> str:
        const = "const " if self.const else ""
        return f"{const}{self.type} {self.name}"


@dataclass(frozen=True)
class Prototype:
    """Name and arguments of a kernel."""

    name: str
    parameters: tuple[Parameter, ...]
    control: str = "ap_ctrl_hs"
    bundles: tuple[tuple[str, str], ...] = ()
    """Pairs of an argument's name and the name of its port to memory."""

    @property
    def kernel(self) -> Kernel:
        """Returns the description of the kernel for an xclbin."""
        ports = {name: f"M_AXI_{bundle.upper()}" for name, bundle in self.bundles}
        arguments = (
            Argument(
                p.name,
                f"{p.qualifiers}{p.type}" if p.pointer else p.type,
                "stream" if p.stream else None,
                size=p.size,
                port=ports.get(p.name),
            )
            for p in self.parameters
        )
        return Kernel(self.name, tuple(arguments), control=self.control)

    @property
    def count(self) -> Parameter | None:
        """Returns the argument that most likely is the number of elements; None without one."""
        values = (p for p in self.parameters if not p.pointer and not p.reference)
        integers = [p for p in values if _INTEGERS.fullmatch(p.element) and size_of(p.element) != 1]
        named = [p for p in integers if p.name.lower().startswith(_COUNTS)]
        return next(iter(named or integers), None)

    def __str__(self) -> str:
        return f"void {self.name}({', '.join(map(str, self.parameters))})"


def is_number(element: str) -> bool:
    """Whether values of a type are numbers of C++, which ``+`` adds."""
    return bool(_INTEGERS.fullmatch(element)) or element in {"float", "double"}


def parse(text: str) -> Prototype:
    """Reads a prototype; raises UsageError that says what is wrong with the text."""
    match = _FUNCTION.fullmatch(_COMMENT.sub(" ", text))
    if match is None:
        raise UsageError(f"cannot read {text!r} as a kernel; write it as '{EXAMPLE}'")
    result, name, inside = " ".join(match[1].split()), match[2], match[3].strip()
    if "kernel" in result.lstrip("_").split():
        raise UsageError(
            f"kernel {name}: this is OpenCL C, for which no files are written here: isthmus card "
            "kernel build FILE.cl builds it"
        )
    if result != "void":
        raise UsageError(
            f"kernel {name}: a kernel returns nothing, here it returns '{result}': begin with void"
        )
    parts = [] if inside in {"", "void"} else _split(inside)
    parameters = tuple(_parameter(part, name) for part in parts)
    names = [parameter.name for parameter in parameters]
    if double := next((repeated for repeated in names if names.count(repeated) > 1), None):
        raise UsageError(f"kernel {name}: two arguments are named '{double}'")
    return Prototype(name, parameters)


def defined_in(source: str, name: str) -> Prototype | None:
    """Returns the prototype of a function that a C++ source defines; None if it does not.

    Pragmas of the function add its interface: ``ap_ctrl_none``, and the bundles of pointers.
    """
    definitions = _definitions(source, name)
    if not definitions:
        return None
    # Headers precede the kernel and may define functions of its name: the last ``void`` is taken.
    result, inside, rest = next(
        (match for match in reversed(definitions) if match[0] == "void"), definitions[-1]
    )
    prototype = parse(f"{result} {name}({_folded(inside)})")
    return _with_interfaces(prototype, _body(rest[1:], "{}"))


def defines_kernel(source: str, name: str) -> bool:
    """Whether a C++ source defines a function of that name that returns ``void``.

    Headers may define other functions of the name: the C++ library defines ``copy``.
    """
    return any(result == "void" for result, _, _ in _definitions(source, name))


def _definitions(source: str, name: str) -> list[tuple[str, str, str]]:
    """Returns result, arguments and code from ``{`` on, for each function of that name."""
    text = _code(source)
    definitions = []
    for head in re.finditer(rf"([\w:<>]+)\s+({re.escape(name)})\s*\(", text):
        inside = _body(text[head.end() :], "()")
        rest = text[head.end() + len(inside) + 1 :].lstrip()
        if rest.startswith("{"):
            definitions.append((head[1], inside, rest))
    return definitions


def _with_interfaces(prototype: Prototype, body: str) -> Prototype:
    control, bundles = prototype.control, {}
    there = [parameter.name for parameter in prototype.parameters]
    for pragma in _INTERFACE.findall(body):
        words = re.sub(r"\s*=\s*", "=", pragma.replace("\\\n", " ")).split()
        said = dict(word.split("=", 1) for word in words if "=" in word)
        modes = {word.lower() for word in (*words, said.get("mode", ""))}
        if "ap_ctrl_none" in modes:
            control = "ap_ctrl_none"
        if "m_axi" in modes and "port" in said and "bundle" in said:
            if said["port"].isidentifier() and said["port"] not in there:
                raise UsageError(
                    f"kernel {prototype.name}: a pragma names port={said['port']}, which is none "
                    f"of its arguments ({', '.join(there)})"
                )
            bundles[said["port"]] = said["bundle"]
    return replace(prototype, control=control, bundles=tuple(bundles.items()))


@lru_cache(maxsize=16)  # sources have megabytes, and some define many kernels
def _code(source: str) -> str:
    return _COMMENT.sub(_only_interfaces, source)


def _only_interfaces(match: re.Match[str]) -> str:
    return match[0] if _INTERFACE.match(match[0]) else " "


def _body(text: str, brackets: str) -> str:
    """Returns the text up to the bracket that closes its first bracket."""
    depth = 1
    for at, letter in enumerate(text):
        depth += (letter == brackets[0]) - (letter == brackets[1])
        if depth == 0:
            return text[:at]
    return text


def _folded(text: str) -> str:
    """Computes integer expressions in the types of a text: ``<int, ((512) / (8 * 4))>``."""
    return _ARITHMETIC.sub(lambda match: match[1] + value(match[2]), text)


def value(text: str) -> str:
    """Computes integers with ``+ - * / ( )`` as C++ does; returns other text unchanged."""
    calculate = {ast.Add: int.__add__, ast.Sub: int.__sub__, ast.Mult: int.__mul__}

    def of(node: ast.expr) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if not isinstance(node, ast.BinOp):
            raise TypeError
        left, right = of(node.left), of(node.right)
        if isinstance(node.op, ast.Div) and left >= 0 and right > 0:
            return left // right
        return calculate[type(node.op)](left, right)

    try:
        return str(of(ast.parse(" ".join(text.split()), mode="eval").body))
    except (SyntaxError, TypeError, KeyError):
        return text


def _split(inside: str) -> list[str]:
    """Splits arguments at commas outside of the brackets of templates."""
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
    match = _ARGUMENT.fullmatch(text.strip())
    where = f"kernel {kernel}: argument '{shown}'"
    if match is None:
        raise UsageError(f"{where} has no type and name; write it as 'const int* in' or 'int n'")
    template = _TEMPLATE.search(match[1])
    spaced = _TEMPLATE.sub("<>", match[1]).replace("*", " * ").replace("&", " & ")
    words = spaced.replace("__restrict__", " ").split()
    stars = words.count("*") + bool(match[3])
    reference = words.count("&") > 0
    if "hls::stream" in match[1] and (stars or not reference):
        raise UsageError(f"{where} is a stream, given by reference: 'hls::stream<int>& in'")
    if words.count("&") > 1 or (reference and stars):
        raise UsageError(f"{where} is a reference to more than a value or a stream")
    if stars > 1:
        raise UsageError(f"{where} is a pointer to pointers, which no kernel can follow")
    left = [word for word in words if word not in {"*", "&", "const", "volatile", "restrict"}]
    element = " ".join(left).replace(" <>", "<>")
    if template is not None:
        element = element.replace("<>", " ".join(template[0].split()))
    if _TYPE.fullmatch(element) is None or (element == "void" and not stars):
        raise UsageError(f"{where} has no type that can be read: '{element}'")
    port = _PORT.fullmatch(element)
    if port and not (stars or reference):
        return Parameter(match[2], port[1], pointer=True, const="const" in port[1].split())
    bits = _BITS.fullmatch(element)
    if bits and not stars and int(bits[1] or bits[2]) > _WIDEST:
        raise UsageError(f"{where} is wider than {_WIDEST} bits, the most that a value can have")
    return Parameter(
        match[2], element, stars == 1, "const" in words, reference, "volatile" in words
    )
