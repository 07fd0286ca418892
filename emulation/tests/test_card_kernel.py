"""Kernels of users: begun, built and run on the emulated card."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from on_cards import (
    IN_VERILOG,
    Ran,
    Run,
    card_exec,
    compiled,
    emulated,
    moved_by_kernel,
    probe,
    probed,
    programs,
)

from conftest import Command, slow
from isthmus.errors import UsageError
from isthmus_emulation import xclbin
from isthmus_emulation.prototype import defined_in, parse

__all__ = ["card_exec", "emulated", "probe", "probed", "programs"]  # fixtures
pytestmark = pytest.mark.usefixtures("emulated")
ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "kernels" / "gallery"
BYTES = 1024 * 4
SUM_OF_FIRST = 1024 * 1025 / 2


# Prototypes


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("void k()", []),
        ("void k(void);", []),
        ("void k(const int* in, int *out, int n)", ["int* in", "int* out", "int n"]),
        ("void k(float x[], float const * y)", ["float* x", "float* y"]),
        ("void k(int a[N][2 * 3 ], ap_fixed<8, 4> b)", ["int* a", "ap_fixed<8, 4> b"]),
        ("void k(hls::burst_maxi<ap_uint<512> > a)", ["ap_uint<512>* a"]),
        ("void k(unsigned  long long n, size_t m)", ["unsigned long long n", "size_t m"]),
        ("void k(const ap_uint<512>* a, ap_uint<24> b)", ["ap_uint<512>* a", "ap_uint<24> b"]),
        ("void k(std::pair<int, int>* a /* , int b */)", ["std::pair<int, int>* a"]),
        (
            "void k(hls::stream<ap_axiu<32, 0, 0, 0> > &in, unsigned& sum)",
            ["hls::stream<ap_axiu<32, 0, 0, 0> >& in", "unsigned& sum"],
        ),
    ],
)
def test_prototypes_are_read(text: str, arguments: list[str]) -> None:
    prototype = parse(text)
    assert prototype.name == "k"
    assert [f"{p.type} {p.name}" for p in prototype.parameters] == arguments
    assert parse(str(prototype)) == prototype


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("scale", "write it as 'void scale("),
        ("int k(int a)", "returns nothing"),
        ("__kernel void k(int a)", "card kernel build FILE.cl builds it"),
        ("void k(int)", "argument 'int' has no type and name"),
        ("void k(int a,)", "argument '' has no type and name"),
        ("void k(int a, float* a)", "two arguments are named 'a'"),
        ("void k(int** a)", "pointer to pointers"),
        ("void k(int* a, int& s)", "no host program is written for the reference"),
        ("void k(hls::stream<int>& s)", "begins with a stream to read and one to write"),
        ("void k(hls::stream<T>& a, hls::stream<T>& b)", "words of one type with a known size"),
        ("void k(hls::stream<int>& a, hls::stream<int>& b, int* c)", "add 'int* c' when it passes"),
        ("void feed_a(hls::stream<int>& a, hls::stream<int>& b)", "has the name of another file"),
        ("void k(hls::stream<int> s)", "is a stream, given by reference"),
        ("void k(hls::stream<int>& s[2])", "is a stream, given by reference"),
        ("void k(int&& s)", "is a reference to more than a value"),
        ("void k(ap_uint<99> c)", "wider than 64 bits"),
        ("void k(void a)", "no type that can be read: 'void'"),
        ("void k(thing a)", "say its size, for that of 'thing' is not known"),
    ],
)
def test_what_is_no_prototype_is_said_to_be_none(isthmus: Command, text: str, what: str) -> None:
    ended = isthmus("card", "kernel", "new", text)
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert what in line


@given(st.text("void k(int*&<>,;)[] \n/", max_size=40))
def test_no_text_is_read_as_two_things(text: str) -> None:
    try:
        prototype = parse(text)
    except UsageError:
        return
    assert parse(str(prototype)) == prototype


def test_a_definition_is_found_among_others() -> None:
    source = (
        "// void k(int wrong) {\n#define K void k(int wrong) {\n"
        "void k(int n);\nstatic int kk(int k) { return k; }\nvoid k(int n, int* out) { }\n"
    )
    assert str(defined_in(source, "k")) == "void k(int n, int* out)"
    assert defined_in(source, "other") is None


# From an empty folder


@pytest.mark.parametrize(
    "text",
    [
        "void scale(const int* in, int* out, int n)",
        *slow(
            "void mix(const float* a, const double* b, float* c, unsigned char by, uint64_t count)",
            "void kernel(const unsigned long int* device, unsigned long* run, int n)",
            "void j(hls::stream<int>& a, hls::stream<int>& out, hls::stream<int>& b, char s, "
            "long n)",
        ),
        pytest.param(
            "--verilog void wide(const double* a, double* b)", marks=[IN_VERILOG, pytest.mark.slow]
        ),
        pytest.param(
            "--verilog void sum(hls::stream<double>& a, hls::stream<double>& b, bool by, "
            "hls::stream<double>& c)",
            marks=[IN_VERILOG, pytest.mark.slow],
        ),
    ],
)
def test_what_new_says_leads_from_a_prototype_to_a_pass(
    isthmus: Command, tmp_path: Path, text: str
) -> None:
    option, prototype = (
        ["--verilog"] * text.startswith("--verilog"),
        text.removeprefix("--verilog "),
    )
    new = ("card", "kernel", "new", *option, prototype)
    made = isthmus(*new)
    assert made.returncode == 0, made.stderr
    lines = made.stdout.splitlines()
    assert len(lines) <= 7
    headers = isthmus("card", "include").stdout.strip()
    commands = (re.sub(r"\$\(.* card include\)", headers, line) for line in lines[-3:])
    build, compile_host, execute = (command.split() for command in commands)
    built = isthmus(*build[build.index("card") :])
    assert built.returncode == 0, built.stderr
    subprocess.run(compile_host, cwd=tmp_path, check=True)
    ended = isthmus(*execute[execute.index("card") :])
    assert ended.returncode == 0, ended.stderr
    assert "PASS" in ended.stdout
    again = isthmus(*new)
    assert again.returncode == 2
    assert "nothing is overwritten" in again.stderr


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "void k(const float* x, const float* y, float* out, float a, int n)",
            "out[i] = x[i] + y[i] + a;",
        ),
        ("void k(int* out, int n)", "out[i] = i;"),
        ("void k(const ap_uint<512>* a, const int* b, ap_uint<512>* out, int n)", "out[i] = a[i];"),
        ("void k(const int* a, const int* b, int* out, bool by)", "out[i] = a[i] + b[i];"),
        (
            "void k(hls::stream<int>& a, hls::stream<int>& b, hls::stream<int>& out, int n)",
            "out.write(a_word + b_word);",
        ),
    ],
    ids=["values", "no_input", "no_number", "flag", "streams"],
)
def test_a_new_kernel_adds_up_what_it_gets(
    isthmus: Command, tmp_path: Path, text: str, line: str
) -> None:
    """It copied the first input, and ignored the others."""
    assert isthmus("card", "kernel", "new", text).returncode == 0
    assert f" {line}  // replace this" in (tmp_path / "k" / "k.cpp").read_text()


def test_values_of_the_host_program_have_the_types_of_their_arguments(
    isthmus: Command, tmp_path: Path
) -> None:
    """A float argument got the bytes of the integer 3."""
    text = "void scale(const float* in, float* out, float by, double plus, int n)"
    assert isthmus("card", "kernel", "new", text).returncode == 0
    host = (tmp_path / "scale" / "host.cpp").read_text()
    assert host.count("3.0F, 3.0, elements)") == 2
    description = (tmp_path / "scale" / "scale.toml").read_text()
    assert "the computing time is an estimate from the source" in description
    assert '\n# cycles = "n + 100"\n' in description


def test_the_host_program_finds_a_kernel_that_differs(isthmus: Command, tmp_path: Path) -> None:
    made = isthmus("card", "kernel", "new", "void scale(const int* in, int* out, int n)")
    _, compile_host, execute = (line.split() for line in made.stdout.splitlines()[-3:])
    subprocess.run(compile_host, cwd=tmp_path, check=True)
    kernel = tmp_path / "scale" / "scale.cpp"
    kernel.write_text(kernel.read_text().replace("in[i]", "in[i] + (i == 1000)"))
    built = isthmus("card", "kernel", "build", "scale/scale.cpp")
    assert built.stdout.split() == ["scale/scale.so", "scale/scale.xclbin"]
    assert "card exec --kernels scale -- PROGRAM scale/scale.xclbin" in built.stderr
    ended = isthmus(*execute[execute.index("card") :])
    assert ended.returncode == 1
    assert "FAIL" in ended.stdout


# Building


@pytest.mark.parametrize(
    ("files", "code", "what"),
    [
        ({}, 2, "k.cpp: no such file"),
        ({"k.cpp": "void other() {}"}, 2, "k.cpp defines no function k(...)"),
        (
            {"k.cpp": "void k(int* a) {}", "k.toml": "[[kernels]]\nname = 'm'"},
            2,
            "k.toml describes no kernel k",
        ),
        (
            {
                "k.cpp": "void k(int* a, int n) {}",
                "k.toml": "[[kernels]]\nname = 'k'\narguments = [{ name = 'a', type = 'int*' }]",
            },
            2,
            "k.toml has k(int* a), k.cpp has k(int* a, int n): change one of them",
        ),
        ({"k.cpp": "void k(int* a) { b = 1; }"}, 1, "'b' was not declared"),
        (
            {"k.cpp": "struct S { S(const S&); int a; };\nvoid k(S a) {}"},
            1,
            "a scalar argument is copied byte by byte",
        ),
    ],
)
def test_what_cannot_be_built_is_said(
    isthmus: Command, tmp_path: Path, files: dict[str, str], code: int, what: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    ended = isthmus("card", "kernel", "build", "k.cpp")
    assert ended.returncode == code
    assert what in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "k.so").exists()
    assert not (tmp_path / "k.xclbin").exists()


def test_the_compilers_words_keep_their_lines(isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "k.cpp").write_text("void k(int* a) { b = 1; }")
    said = isthmus("card", "kernel", "build", "k.cpp").stderr.splitlines()
    assert said[0] == "isthmus: k.cpp does not compile"
    assert any(set(line) <= set(" |^~") and "^" in line for line in said)


def test_a_bitstream_of_others_is_not_replaced(isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "k.cpp").write_text("void k(int* a) {}")
    for bitstream in (b"xclbin2 of a board", xclbin.Design(name="k").build().encode()):
        theirs = bitstream.replace(b"isthmus", b"another")
        (tmp_path / "k.xclbin").write_bytes(theirs)
        refused = isthmus("card", "kernel", "build", "k.cpp")
        assert refused.returncode == 2
        assert "not made by Isthmus" in refused.stderr
        assert (tmp_path / "k.xclbin").read_bytes() == theirs


@pytest.mark.parametrize("buffers", ["apart", "parts"])
def test_each_access_counts_wherever_the_buffers_lie(
    probed: Callable[..., Ran], buffers: str
) -> None:
    once, thrice = probed(buffers, 0), probed(buffers, 1)
    assert once.figures["sum"] == thrice.figures["sum"] == SUM_OF_FIRST + 1024 * 2.5
    assert moved_by_kernel(once.errors) == "8.19 kB"
    assert moved_by_kernel(thrice.errors) == "24.6 kB"
    copied = probed(buffers, 2)
    assert "copies 1024 words" in copied.errors
    assert copied.figures["sum"] == SUM_OF_FIRST
    assert moved_by_kernel(copied.errors) == "8.19 kB"


@pytest.mark.parametrize("buffers", ["large", "large_host_only"])
def test_what_a_kernel_touches_of_a_large_buffer_arrives(
    probed: Callable[..., Ran], buffers: str
) -> None:
    ran = probed(buffers, 11)
    assert ran.figures == {
        "sum": SUM_OF_FIRST + 1, "changed": 6, "first": 2, "last": 768002,
        "text": int.from_bytes(b"1024", "little"),
    }  # fmt: skip
    assert moved_by_kernel(ran.errors) == "40 B"


@pytest.mark.parametrize(
    ("buffers", "what", "said", "has"),
    [
        ("apart", 3, f"writes 4 bytes at byte {BYTES} of argument out", BYTES),
        ("apart", 5, f"reads 4 bytes at byte {BYTES + 4} of argument in", BYTES),
        ("apart", 7, f"writes 4 bytes at byte {BYTES + 4 * 5000} of argument out", BYTES),
        ("apart", 8, f"writes at byte {BYTES} of argument out", BYTES),
        ("large", 12, f"writes 4 bytes at byte {(4 << 20) + BYTES} of argument out", 4 << 20),
    ],
)
def test_what_lies_behind_a_buffer_is_reached_as_on_a_board(
    probed: Callable[..., Ran], buffers: str, what: int, said: str, has: int
) -> None:
    ran = probed(buffers, what)
    assert ran.code == 0
    (warning,) = [line for line in ran.errors if "warning" in line]
    assert f"kernel probe_1 {said}, whose buffer has {has}; a board would go on" in warning
    assert probed(buffers, what, "--fail-on-warning").code == 3


def test_a_buffer_that_was_freed_is_reached_as_on_a_board(probed: Callable[..., Ran]) -> None:
    ran = probed("freed", 0)
    assert ran.code == 0
    (warning,) = [line for line in ran.errors if "warning" in line]
    assert "kernel probe_1 writes 4 bytes at byte 0 of argument out, whose address is" in warning
    assert probed("freed", 0, "--fail-on-warning").code == 3


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (4, f"it reads 4 bytes at byte -4 of argument in, whose buffer has {BYTES}"),
        (6, f"it writes 4 bytes at byte {4 << 28} of argument out, whose buffer has {BYTES}"),
        (9, "kernel 'probe' failed: it writes to 0x0, where nothing is: a null pointer, or"),
        (10, f"it writes 4 bytes at byte {4 << 28} of argument out, whose buffer has {BYTES}"),
        (14, "kernel 'probe' failed: its stack is full: its function calls itself without end"),
    ],
)
def test_an_access_far_from_a_buffer_is_named(
    probed: Callable[..., Ran], what: int, said: str
) -> None:
    ran = probed("apart", what)
    assert ran.code != 0
    assert any(said in line for line in ran.errors), ran.errors


@pytest.mark.slow
def test_a_kernel_that_never_ends_is_named(probe: Path) -> None:
    program = [probe / "program", "apart", probe / "probe.xclbin", 13]
    command = [sys.executable, "-m", "isthmus", "card", "exec", "--kernels", probe, "--", *program]
    with subprocess.Popen(
        list(map(str, command)), stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        assert running.stderr is not None
        said = (line for line in running.stderr if "has computed for 10 s of wall time" in line)
        assert "kernel probe_1" in next(said)
        os.killpg(running.pid, signal.SIGINT)
    assert running.returncode != 0


def test_host_memory_is_reached(probed: Callable[..., Ran]) -> None:
    ran, on_card = probed("host_only", 0), probed("apart", 0)
    assert ran.code == 0, ran.errors
    assert ran.figures == on_card.figures
    assert moved_by_kernel(ran.errors) == "8.19 kB"
    assert not any("warning" in line or "ERROR" in line for line in ran.errors)
    assert "ERROR" not in ran.output


# The gallery


def gallery() -> list[object]:
    """Kernels by name: one of them is tried after each change, all of them in CI."""
    folders = sorted(path for path in GALLERY.iterdir() if path.is_dir())
    return [
        pytest.param(
            path.name,
            marks=[
                *([IN_VERILOG] if list(path.glob("*.sv")) else []),
                *([] if path.name == "scale" else [pytest.mark.slow]),
            ],
        )
        for path in folders
    ]


@pytest.mark.parametrize("kernel", gallery())
def test_the_gallery_passes(kernel: str, isthmus: Command, card_exec: Run, tmp_path: Path) -> None:
    shutil.copytree(GALLERY, tmp_path / "gallery")
    folder = tmp_path / "gallery" / kernel
    found = [*sorted(folder.glob("*.sv")), *sorted(folder.glob("*.cpp"))]
    sources = [str(source) for source in found if source.name != "host.cpp"]
    description = ["--from", str(folder / f"{kernel}.toml")] if len(sources) > 1 else []
    built = isthmus("card", "kernel", "build", *sources, *description)
    assert built.returncode == 0, built.stderr
    program = compiled(folder / "host.cpp", folder / "host")
    ran = card_exec(
        "--kernels", folder, "--fail-on-warning", "--", program, folder / f"{kernel}.xclbin"
    )
    assert ran.code == 0, ran.errors
    assert "PASS" in ran.output
