"""Translates kernels from OpenCL C to C++, for Isthmus's header ``opencl_c.hpp``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from isthmus.errors import UsageError
from isthmus_emulation.prototype import value
from isthmus_emulation.xclbin.metadata import WorkGroup

SUFFIX = ".cl"
DIALECT = (
    "-x", "c", "-std=c99", "-undef", "-nostdinc", "-D__xilinx__=1", "-D__OPENCL_VERSION__=120",
    "-D__OPENCL_C_VERSION__=120", "-DCL_VERSION_1_0=100", "-DCL_VERSION_1_1=110",
    "-DCL_VERSION_1_2=120", "-D__ENDIAN_LITTLE__=1", "-Dcl_khr_fp64=1",
)  # fmt: skip
"""Compiler options that preprocess OpenCL C as Vitis does."""
BEFORE_LOOP = "ISTHMUS_BEFORE"
"""Begin of a pragma that replaces an attribute before a loop: ``ISTHMUS_BEFORE UNROLL``."""
WORK_ITEMS = "ISTHMUS_WORK_ITEMS PIPELINE"
"""Pragma that stands for the attribute ``xcl_pipeline_workitems``."""
LENGTHS = (2, 3, 4, 8, 16)
"""Possible numbers of elements in a vector."""

_TOKEN = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\#[^\n]*|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|->|.)
        (\s*)""",
    re.DOTALL | re.VERBOSE,
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_TYPE = r"(?:u?(?:char|short|int|long)|float|double)"
_VECTOR = re.compile(rf"{_TYPE}(?:2|3|4|8|16)")
_CONVERT = re.compile(rf"convert_({_TYPE}\d*)(_sat)?(?:_rt([ezpn]))?")
_AS = re.compile(rf"as_({_TYPE}\d*)")
_LOAD = re.compile(r"(vload|vstore)(2|3|4|8|16)")
_QUICK = re.compile(
    r"(?:native|half)_(cos|divide|exp|exp2|exp10|log|log2|log10|powr|recip|rsqrt|sin|sqrt|tan)"
)
_ATOMIC = re.compile(r"atom_(?:add|sub|xchg|inc|dec|cmpxchg|min|max|and|or|xor)")
_PRIVATE = {"private", "__private"}
_KERNEL = {"kernel", "__kernel"}
_LOCAL = {"local", "__local"}
_DROPPED = (
    "kernel __kernel global __global constant __constant private __private __generic __extension__ "
    "__read_only __write_only __read_write"
)
_CPP = (
    "alignas alignof asm catch class concept const_cast constexpr decltype delete dynamic_cast "
    "explicit export friend mutable namespace new noexcept nullptr operator protected public "
    "reinterpret_cast static_assert static_cast template this thread_local throw try typeid "
    "typename using virtual and and_eq bitand bitor compl not not_eq or or_eq xor xor_eq"
)
"""Keywords of C++ that C allows as names."""
_OTHER = {
    **dict.fromkeys(_DROPPED.split(), ""),
    **dict.fromkeys(("restrict", "__restrict"), "__restrict__"),
    **{word: f"{word}_" for word in _CPP.split()},
}
_MISSING = re.compile(
    r"pipe|image[123]d\w*_t|sampler_t|half(?:2|3|4|8|16)?|queue_t|ndrange_t|reserve_id_t"
)
_OWN_VECTOR = re.compile(r"\b(?:__)?(?:ext_vector_type|vector_size)(?:__)?\b")
_LAYOUT = re.compile(r"\b(?:__)?(?:packed|aligned)(?:__)?\b")
_REQUIRED = re.compile(r"\b(?:__)?reqd_work_group_size(?:__)?\s*\(([^,]+),([^,]+),([^,)]+)\)")
_HARDWARE = re.compile(
    r"\b(?:(xcl_pipeline_loop)(?:\s*\(\s*(\d+)\s*\))?|(opencl_unroll_hint)(?:\s*\(\s*(\d+)\s*\))?|"
    r"(xcl_pipeline_workitems)|(xcl_array_partition)\s*\(([^)]*)\))"
)
"""Attributes that change the hardware of a loop, a kernel or an array."""
_BARRIERS = {"barrier", "work_group_barrier", "wait_group_events"}
_ANY: WorkGroup = (0, 0, 0)


@dataclass
class Translation:
    """C++ that a source in OpenCL C was translated to."""

    text: str = ""
    kernels: dict[str, WorkGroup] = field(default_factory=dict)
    """Kernels of the source, with the work-items in a group that each requires; 0: any number."""
    waits: bool = False
    """Whether work-items of a group wait for one another."""
    names: set[str] = field(default_factory=set)
    """Names by which the source accesses elements of vectors: ``s0``, ``zwxy``, ``hi``."""

    def parts(self, length: int) -> Iterator[str]:
        """Yields the named elements of vectors of this length, in the notation of vectors.hpp."""
        for name in sorted(self.names):
            places = _places(name, length)
            if len(places) > 1:
                which = ", ".join(map(str, places))
                yield f"ISTHMUS_PART({name}, {len(places)}, {length}, {which})"
            elif places:
                element = f"ELEMENT({name}, {places[0]})" if places[0] else f"FIRST({name})"
                yield f"ISTHMUS_{element}"


def _places(name: str, length: int) -> Sequence[int]:
    """Returns the places in a vector that a name stands for; empty if it is no such name."""
    all_of = range(4 if length == 3 else length)
    halves = {
        "lo": all_of[: len(all_of) // 2],
        "hi": all_of[len(all_of) // 2 :],
        "even": all_of[::2],
        "odd": all_of[1::2],
    }
    if name in halves:
        return halves[name]
    if re.fullmatch("[xyzw]+", name):
        places = ["xyzw".index(letter) for letter in name]
    elif re.fullmatch("[sS][0-9a-fA-F]+", name):
        places = [int(digit, 16) for digit in name[1:]]
    else:
        return ()
    return places if len(places) in {1, *LENGTHS} and max(places) < length else ()


def translated(text: str, source: Path) -> Translation:
    """Translates OpenCL C without macros and comments to C++; lines keep their numbers.

    Raises UsageError for unsupported parts of OpenCL C.
    """
    return _Translator(text, source).all()


class _Translator:
    def __init__(self, text: str, source: Path) -> None:
        self._source = source
        self._tokens = [(m[1], m[2]) for m in _TOKEN.finditer(text)]
        self._made = Translation()
        self._vectors: set[str] = set()
        """Names that typedefs of the source give to types of vectors."""
        self._brackets = 0
        self._braces = 0
        self._required: WorkGroup | None = None
        self._kernel: str | None = None
        """Name of the kernel whose head is read; empty before the name, None outside of a head."""

    def all(self) -> Translation:
        """Translates all tokens, and returns the C++."""
        words, at = [], 0
        while at < len(self._tokens):
            word, behind = self._translated(at)
            words.append(word + "".join(space for _, space in self._tokens[at:behind]))
            at = behind
        self._made.text = "".join(words)
        return self._made

    def _word(self, at: int) -> str:
        return self._tokens[at][0] if 0 <= at < len(self._tokens) else ""

    def _translated(self, at: int) -> tuple[str, int]:
        """Translates a token; returns the C++, and the position of the next token."""
        word = self._word(at)
        if word in {"__attribute__", "__attribute"}:
            return self._attributes(at)
        if vector := self._literal(at):
            return vector
        if _WORD.fullmatch(word):
            return self._of_word(word, at), at + 1
        self._count(word)
        return word, at + 1

    def _literal(self, at: int) -> tuple[str, int] | None:
        """Type and closing bracket's position of a literal such as ``(int4)(1, 2)``; else None."""
        name = at + 1
        while self._word(at) == "(" and self._word(name) in {"const", "volatile", *_PRIVATE}:
            name += 1
        around = [self._word(n) for n in (at, name + 1, name + 2)]
        is_one = around == ["(", ")", "("] and self._is_vector(self._word(name))
        return (self._word(name), name + 2) if is_one else None

    def _define(self, at: int) -> None:
        """Notes the names that a typedef gives to types of vectors."""
        end = next((n for n in range(at, len(self._tokens)) if self._word(n) == ";"), at)
        if any(map(self._is_vector, map(self._word, range(at, end)))):
            self._vectors |= {
                self._word(n) for n in range(at, end) if self._word(n + 1) in {",", ";"}
            }

    def _count(self, word: str) -> None:
        self._brackets += (word == "(") - (word == ")")
        self._braces += (word == "{") - (word == "}")
        if word == "{" and self._braces == 1:
            if self._kernel:
                self._made.kernels[self._kernel] = self._required or _ANY
            self._kernel = self._required = None
        elif word in {";", "}"} and self._braces == 0 and self._brackets == 0:
            self._kernel = self._required = None

    def _attributes(self, at: int) -> tuple[str, int]:
        """Translates attributes; attributes on hardware become pragmas."""
        behind, depth = at + 1, 0
        while behind < len(self._tokens):
            depth += (self._word(behind) == "(") - (self._word(behind) == ")")
            behind += 1
            if depth == 0:
                break
        text = "".join(map("".join, self._tokens[at:behind])).rstrip()
        if _OWN_VECTOR.search(text):
            raise UsageError(
                f"{self._place(at)}: {text}: types of vectors are built by the names that OpenCL C "
                "has for them, such as float4"
            )
        if match := _REQUIRED.search(text):
            sizes = [value(part) for part in match.groups()]
            if not all(size.isdigit() for size in sizes):
                raise UsageError(
                    f"{self._place(at)}: reqd_work_group_size{tuple(match.groups())} is not three "
                    "numbers"
                )
            self._required = (int(sizes[0]), int(sizes[1]), int(sizes[2]))
        return text if _LAYOUT.search(text) else self._pragma(text, at), behind

    def _pragma(self, text: str, at: int) -> str:
        """Translates an attribute to a pragma for ``estimate/reader.py``; empty without one."""
        match = _HARDWARE.search(text)
        if match is None:
            return ""
        if match[1]:
            said = f"{BEFORE_LOOP} PIPELINE II={match[2] or 1}"
        elif match[3]:
            said = f"{BEFORE_LOOP} UNROLL" + (f" factor={match[4]}" if match[4] else "")
        elif match[5]:
            said = WORK_ITEMS
        else:
            kind, *numbers = [part.strip() for part in match[7].split(",")]
            names = ["dim"] if kind == "complete" else ["factor", "dim"]
            options = " ".join(f"{n}={v}" for n, v in zip(names, numbers, strict=False))
            said = f"ARRAY_PARTITION variable={self._declared(at)} {kind} {options}"
        return f'_Pragma("HLS {said.strip()}")'

    def _declared(self, at: int) -> str:
        """Returns the name of the array that stands before an attribute."""
        depth = 0
        for n in range(at - 1, 0, -1):
            word = self._word(n)
            depth += (word == "]") - (word == "[")
            if depth == 0 and _WORD.fullmatch(word):
                return word
        return ""

    def _of_word(self, word: str, at: int) -> str:
        before, behind = self._word(at - 1), self._word(at + 1)
        if before in {".", "->"}:
            if any(_places(word, length) for length in LENGTHS):
                self._made.names.add(word)
            return _OTHER.get(word, word)
        if word in _KERNEL:
            self._kernel = ""
        if word in _LOCAL:
            return self._of_local(at)
        if word in _OTHER:
            return _OTHER[word]
        if word == "typedef":
            self._define(at)
        is_type = _WORD.fullmatch(behind) or (behind == "*" and word != "pipe")
        if is_type and _MISSING.fullmatch(word):
            raise UsageError(
                f"{self._place(at)}: {word}: OpenCL C is built without pipes, images, half and "
                "queues of a device; write the kernel without it, or in C++"
            )
        if self._kernel == "" and behind == "(":
            self._kernel = word
        self._made.waits |= word in _BARRIERS
        return self._of_call(word)

    def _of_local(self, at: int) -> str:
        if self._kernel and self._brackets == 1:
            raise UsageError(
                f"{self._place(at)}: kernel {self._kernel} has an argument in local memory, "
                "whose size XRT does not tell the card: declare an array in the kernel"
            )
        return "static " if self._is_shared(at) else ""

    def _of_call(self, word: str) -> str:
        if match := _CONVERT.fullmatch(word):
            saturates = "true" if match[2] else "false"
            return f"convert<{match[1]}, {saturates}, '{match[3] or 'z'}'>"
        if match := _AS.fullmatch(word):
            return f"as<{match[1]}>"
        if match := _LOAD.fullmatch(word):
            return f"{match[1]}<{match[2]}>"
        if match := _QUICK.fullmatch(word):
            return match[1]
        return word.replace("atom_", "atomic_") if _ATOMIC.fullmatch(word) else word

    def _is_vector(self, word: str) -> bool:
        return _VECTOR.fullmatch(word) is not None or word in self._vectors

    def _is_shared(self, at: int) -> bool:
        """Whether ``local`` declares an object of the work-group, and not a pointer."""
        if self._brackets > 0:
            return False
        while self._word(at) not in {";", "=", "[", ",", ""}:
            if self._word(at) == "*":
                return False
            at += 1
        return True

    def _place(self, at: int) -> str:
        """Returns the source's ``FILE:LINE`` of a token, by the preprocessor's line marks."""
        line, name = 1, str(self._source)
        for word, space in self._tokens[:at]:
            if match := re.match(r'#\s*(?:line\s+)?(\d+)\s+"([^"]*)"', word):
                line, name = int(match[1]) - 1, match[2]
            line += space.count("\n")
        return f"{name}:{line}"
