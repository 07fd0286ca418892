"""Kernels in OpenCL C, and the work-items that XRT's OpenCL starts them for."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from on_cards import SOURCES, Made, Ran, Run, card_exec, emulated, moved_by_kernel, programs

from conftest import Command, made_once
from isthmus.errors import UsageError
from isthmus_emulation import xclbin
from isthmus_emulation.opencl_c import translated

__all__ = ["card_exec", "emulated", "programs"]  # fixtures
SOURCE = SOURCES / "opencl_c.cl"


@pytest.fixture(scope="session")
def built(run_isthmus: Command) -> Path:
    """A folder with the kernels of opencl_c.cl."""

    def make(folder: Path) -> None:
        (folder / "opencl_c.cl").write_text(SOURCE.read_text())
        build = ("card", "kernel", "build", "--no-estimate")
        made = run_isthmus(*build, "opencl_c.cl", cwd=folder)
        assert made.returncode == 0, made.stderr
        names = ["turned", "doubled", "astray", "plane", "values", "who", "wide", "words"]
        assert made.stdout.split() == [*(f"{name}.so" for name in names), "opencl_c.xclbin"]

    return made_once("opencl_c", make)


@pytest.fixture
def ran(
    request: pytest.FixtureRequest, card_exec: Run, built: Path, programs: Made
) -> Callable[..., Ran]:
    request.getfixturevalue("emulated")

    def run(what: str, code: int = 0) -> Ran:
        program = [programs("opencl_c"), what, built / "opencl_c.xclbin"]
        ended = card_exec("--fail-on-warning", "--kernels", built, "--", *program)
        assert ended.code == code, ended.errors
        return ended

    return run


@pytest.mark.slow
def test_the_language_is_as_opencl_c_has_it(ran: Callable[..., Ran]) -> None:
    assert ran("words").figures == {"wrong": 0, "line": 0, "ends": 1}


def test_opencl_starts_a_kernel_for_each_group(ran: Callable[..., Ran]) -> None:
    """A group of 8 times 4 items that a range of one dimension names as 8 has all 32 items."""
    invalid_work_group_size = -54  # the source requires groups of 64, a task has one of 1
    groups = ran("groups")
    assert groups.figures == {
        "task": invalid_work_group_size, "turned": 256, "doubled": 256, "known": 32, "values": 1,
        "planes": 32,
    }  # fmt: skip
    said = "computing not modelled for doubled, plane, turned, values and 1 more, only"
    assert said in groups.errors[-1]


def test_the_native_api_starts_one_group(ran: Callable[..., Ran]) -> None:
    assert ran("native").figures == {"turned": 64}


@pytest.mark.slow
def test_reads_and_writes_of_vectors_are_counted_once(ran: Callable[..., Ran]) -> None:
    done = ran("wide")
    assert done.figures["sum"] == sum(range(1024)) + 16 * 16 * sum(range(64))
    assert moved_by_kernel(done.errors) == "8.19 kB"


@pytest.mark.slow
def test_an_item_that_goes_astray_behind_a_barrier_is_named(ran: Callable[..., Ran]) -> None:
    errors = "\n".join(ran("astray", 128 + signal.SIGTERM).errors)
    assert "'astray' failed: it writes 4 bytes at byte 1073741824 of argument out" in errors


@pytest.mark.slow
def test_xrt_is_told_of_work_groups(built: Path) -> None:
    kernels = {kernel.name: kernel for kernel in xclbin.load(built / "opencl_c.xclbin").kernels}
    arguments = [a for a in kernels["wide"].arguments if a.index is not None]
    assert [(a.name, a.type, a.offset) for a in arguments] == [
        ("in", "const uint16*", 0x10), ("out", "uint16*", 0x1C), ("words", "uint", 0x28),
    ]  # fmt: skip
    hidden = [a.name for a in kernels["wide"].arguments if a.index is None]
    assert [hidden.count(n) for n in ("group_id", "global_size", "work_dim")] == [3, 3, 1]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("kernel void a(global int* x) { y(x); }", "'y' was not declared"),
        ("int a;\n\nkernel void a(pipe int p) {}", "a.cl:3: pipe: OpenCL C is built without"),
        ("kernel void a(image2d_t p) {}", "a.cl:1: image2d_t: "),
        ("kernel void a(global half *p) {}", "a.cl:1: half: "),
        ("kernel void a(local int *p) {}", "kernel a has an argument in local memory"),
        (
            "#define N n\n__attribute__((reqd_work_group_size(N,1,1))) kernel void a() {}",
            "a.cl:2: ",
        ),
        ("void a(global int* x) {}", "a.cl defines no kernel"),
        ("#error so\n", "#error so"),
        ("typedef float four __attribute__((ext_vector_type(4)));", "a.cl:1: __attribute__"),
    ],
)
def test_what_is_not_here_is_said_when_a_kernel_is_built(
    isthmus: Command, tmp_path: Path, text: str, what: str
) -> None:
    (tmp_path / "a.cl").write_text(text)
    ended = isthmus("card", "kernel", "build", "a.cl")
    assert ended.returncode in {1, 2}
    assert "Traceback" not in ended.stderr
    assert what in ended.stderr
    assert not list(tmp_path.glob("*.so"))
    assert not list(tmp_path.glob("*.xclbin"))


@pytest.mark.parametrize(
    ("text", "cpp"),
    [
        ("local int a[3];", "static int a[3];"),
        ("local int *a;", " int *a;"),
        ("int local a;", "int static a;"),
        ("f((local int *)p);", "f(( int *)p);"),
        ("(int4)(1, 2, 3, 4)", "int4(1, 2, 3, 4)"),
        ("(int4)a", "(int4)a"),
        ("(const int4)(1, 2, 3, 4)", "int4 (1, 2, 3, 4)"),
        ("typedef int a, b; (b)(1)", "typedef int a, b; (b)(1)"),
        ("typedef const int4 a, b; (b)(1, 2, 3, 4)", "typedef const int4 a, b; b(1, 2, 3, 4)"),
        ("x.atom_y = atom_y + atom_add(&z, 1)", "x.atom_y = atom_y + atomic_add(&z, 1)"),
        ('printf("(int4)(local)");', 'printf("(int4)(local)");'),
        ("struct __attribute__((packed)) s {};", "struct __attribute__((packed)) s {};"),
        (
            "__attribute__((xcl_pipeline_loop(1))) l: ;",
            '_Pragma("HLS ISTHMUS_BEFORE PIPELINE II=1") l: ;',
        ),
        ("__attribute__((opencl_unroll_hint)) ;", '_Pragma("HLS ISTHMUS_BEFORE UNROLL") ;'),
        (
            "int a[2][3] __attribute__((xcl_array_partition(cyclic,4,1)));",
            'int a[2][3] _Pragma("HLS ARRAY_PARTITION variable=a cyclic factor=4 dim=1");',
        ),
        ("convert_short8_sat(a) + 1.0f", "convert<short8, true, 'z'>(a) + 1.0f"),
        ("#pragma local\nlocal int a;", "#pragma local\nstatic int a;"),
    ],
)
def test_words_become_those_of_cpp(text: str, cpp: str) -> None:
    assert translated(text, Path("a.cl")).text.replace("static  ", "static ") == cpp


def test_groups_are_required_wherever_the_attribute_stands() -> None:
    group = "__attribute__((reqd_work_group_size(2 * 4, 1, 1)))"
    heads = [
        f"{group} kernel void a(int x)", f"kernel {group} void a(int x)",
        f"kernel void {group} a(int x)", f"kernel void a(int x) {group}",
    ]  # fmt: skip
    for head in heads:
        assert translated(f"{head} {{}} void b() {{}}", Path("a.cl")).kernels == {"a": (8, 1, 1)}
    assert translated("kernel void a(int x) {}", Path("a.cl")).kernels == {"a": (0, 0, 0)}
    with pytest.raises(UsageError, match="is not three numbers"):
        translated(heads[0].replace("2 * 4", "n"), Path("a.cl"))
