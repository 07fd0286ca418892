"""Kernels that are connected by streams, and how they wait for one another."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from on_cards import Made, Ran, Run, card_exec, emulated, programs, trace_of

from conftest import Command, made_once, slow
from isthmus.errors import UsageError
from isthmus_emulation import xclbin
from isthmus_emulation.prototype import defined_in
from isthmus_emulation.xclbin import Argument, Design, Kernel
from isthmus_emulation.xclbin.description import load
from isthmus_emulation.xclbin.design import completed
from isthmus_emulation.xclbin.streams import Side

__all__ = ["card_exec", "emulated", "programs"]  # fixtures
needs_xrt = pytest.mark.usefixtures("emulated")
COUNT = 5000
SUM = COUNT * (COUNT + 1) / 2
CLOCK_US = 1 / 300
"""Of the kernels of the board u250."""
FIRST_LAUNCH_US = 50
"""What a program's first launch takes longer there, `driver.first_launch_ns`."""
SOURCES = {
    "source": """
#include <hls_stream.h>
extern "C" void source(const int* in, hls::stream<int>& out, int n) {
  for (int i = 0; i < n; ++i) out << in[i];
}
""",
    "twice": """
#include <hls_stream.h>
extern "C" void twice(hls::stream<int>& in, hls::stream<int>& out, int n) {
  for (int i = 0; i < n; ++i) out << 2 * in.read();
}
""",
    "sink": """
#include <hls_stream.h>
extern "C" void sink(hls::stream<int>& in, int* out, int n) {
  for (int i = 0; i < n; ++i) in >> out[i];
}
""",
    "sparse": """
#include <hls_stream.h>
extern "C" void sink(hls::stream<int>& in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    const int word = in.read();
    if (i == 0 || i == n - 1) out[i] = word;
  }
}
""",
    "polling": """
#include <hls_stream.h>
extern "C" void sink(hls::stream<int>& in, int* out, int n) {
  for (int i = 0; i < n;) {
    if (!in.empty() && in.read_nb(out[i])) ++i;
  }
}
""",
    "packets": """
#include <ap_axi_sdata.h>
#include <hls_stream.h>
extern "C" void source(const int* in, hls::stream<ap_axiu<32, 0, 0, 0> >& out, int n) {
  for (int i = 0; i < n; ++i) {
    ap_axiu<32, 0, 0, 0> packet;
    packet.data = in[i];
    packet.keep_all();
    packet.last = i + 1 == n;
    out.write(packet);
  }
}
""",
    "unpacks": """
#include <ap_axi_sdata.h>
#include <hls_stream.h>
extern "C" void sink(hls::stream<ap_axiu<32, 0, 0, 0> >& in, int* out, int n) {
  for (int i = 0;; ++i) {
    const ap_axiu<32, 0, 0, 0> packet = in.read();
    out[i] = packet.data;
    if (packet.last) break;
  }
}
""",
    "wide": """
#include <hls_stream.h>
typedef hls::stream<long long> wide_stream;
extern "C" void sink(wide_stream& in, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = in.read();
}
""",
    "ever": """
#include <hls_stream.h>
extern "C" void twice(hls::stream<int>& in, hls::stream<int>& out) {
  while (true) out.write(2 * in.read());
}
""",
    "without": """
#include <hls_stream.h>
extern "C" void twice(hls::stream<int>& in, hls::stream<int>& out) { out << 2 * in.read(); }
""",
}
DIRECT = "stream_connect = ['source_1.out:sink_1.in']\n"
THREE = "stream_connect = ['source_1.out:twice_1.in', 'twice_1.out:sink_1.in']\n"
FREE = f"{THREE}[[kernels]]\nname = 'twice'\ncontrol = 'ap_ctrl_none'\n" + (
    "arguments = [{ name = 'in', type = 'hls::stream<int>' },"
    " { name = 'out', type = 'hls::stream<int>' }]\n"
)
WIDE = f"{DIRECT}[[kernels]]\nname = 'sink'\narguments = [" + (
    "{ name = 'in', type = 'wide_stream&', qualifier = 'stream' },"
    " { name = 'out', type = 'int*' }, { name = 'n', type = 'int' }]\n"
)
"""The type does not tell how wide its words are: the card finds out."""
DESIGNS = {
    "direct": (DIRECT, ("source", "sink")),
    "shallow": (DIRECT.replace("in']", "in:2']"), ("source", "sink")),
    "three": (THREE, ("source", "twice", "sink")),
    "free": (FREE, ("source", "without", "sink")),
    "ever": (FREE, ("source", "ever", "sink")),
    "timed": (f"{FREE}cycles = '1000'\n", ("source", "ever", "sink")),
    "polling": (DIRECT, ("source", "polling")),
    "sparse": (DIRECT, ("source", "sparse")),
    "packets": (DIRECT, ("packets", "unpacks")),
    "plain": (DIRECT, ("packets", "sink")),
    "wide": (WIDE, ("source", "wide")),
    "apart": ("stream_connect = []\n", ("source", "sink")),
}


@pytest.fixture(scope="session")
def made_kernel(run_isthmus: Command) -> Made:
    """Gives a kernel of one of the sources."""

    def made(text: str) -> Path:
        name = re.findall(r"void (\w+)\(", SOURCES[text])[0]

        def make(folder: Path) -> None:
            (folder / f"{name}.cpp").write_text(SOURCES[text])
            built = run_isthmus(
                "card", "kernel", "build", "--no-estimate", f"{name}.cpp", cwd=folder
            )
            assert built.returncode == 0, built.stderr

        return made_once(f"kernel-{text}", make) / f"{name}.so"

    return made


@pytest.fixture(scope="session")
def designs(made_kernel: Made) -> Made:
    """Gives a design's xclbin, in a folder with its kernels."""

    def made(name: str) -> Path:
        description, sources = DESIGNS[name]

        def make(folder: Path) -> None:
            for kernel in map(made_kernel, sources):
                shutil.copy(kernel, folder)
            (folder / "all.toml").write_text(description)
            design = load(folder / "all.toml")
            described = {kernel.name: kernel for kernel in design.kernels}
            for text in sources:
                found = defined_in(SOURCES[text], made_kernel(text).stem)
                assert found is not None
                described.setdefault(found.name, found.kernel)
            whole = msgspec.structs.replace(design, kernels=tuple(described.values()))
            built = whole.for_mode("hw_emu").build(unconnected=name == "apart")
            xclbin.save(built, folder / "all.xclbin")

        return made_once(f"design-{name}", make) / "all.xclbin"

    return made


@pytest.fixture
def streamed(card_exec: Run, programs: Made, designs: Made) -> Run:
    def run(
        what: str, design: str, *rest: object, options: tuple[str, ...] = (), clock: str = "card"
    ) -> Ran:
        file = designs(design)
        program = [programs("streams"), what, file, *rest]
        return card_exec("--clock", clock, "--kernels", file.parent, *options, "--", *program)

    return run


@contextmanager
def busy(processes: int) -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@dataclass(frozen=True)
class Busy:
    """When a kernel ran, in microseconds."""

    begin: float
    end: float


def kernels_of(trace: Path) -> dict[str, Busy]:
    """By instance."""
    found = {}
    for event in trace_of(trace):
        if event.get("cat") == "kernel":
            begin, duration = float(str(event["ts"])), float(str(event["dur"]))
            found[str(event["name"])] = Busy(begin, begin + duration)
    return found


@needs_xrt
@pytest.mark.parametrize("design", ["direct", *slow("shallow", "polling", "packets", "plain")])
@pytest.mark.parametrize("order", [("source", "sink"), ("sink", "source")])
def test_what_one_kernel_sends_another_gets(
    streamed: Run, design: str, order: tuple[str, ...]
) -> None:
    ran = streamed("rounds", design, 2, *order)
    assert ran.code == 0, ran.errors
    assert ran.figures["sum"] == SUM


@needs_xrt
@pytest.mark.slow
@pytest.mark.parametrize("order", ["source twice sink", "sink twice source", "twice sink source"])
def test_three_stages_take_as_long_as_one(streamed: Run, order: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    options = ("--trace", str(trace))
    figures = streamed("rounds", "three", 1, *order.split(), options=options).figures
    assert figures["sum"] == 2 * SUM
    # A word a clock; beside that two further starts and the memory's latency.
    kernels = kernels_of(trace).values()
    span = max(k.end for k in kernels) - min(k.begin for k in kernels)
    assert COUNT * CLOCK_US < span < 2 * COUNT * CLOCK_US
    direct = streamed("rounds", "direct", 1, "sink", "source").figures
    assert figures["round 0"] < direct["round 0"] + 10


@needs_xrt
@pytest.mark.slow
def test_a_kernel_without_control_passes_on_what_comes(streamed: Run) -> None:
    ran = streamed("rounds", "free", 2, "sink", "source")
    assert ran.code == 0, ran.errors
    assert ran.figures["sum"] == 2 * SUM
    assert COUNT * CLOCK_US < ran.figures["round 1"] < ran.figures["round 0"] < 200


@needs_xrt
@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "unknown", "given"),
    [
        ("ever", "sink, source and twice", ""),
        ("timed", "sink and source", "computing of twice: 1000 cycles (given), which were not "
         "counted: its function has not returned; "),
    ],
)  # fmt: skip
def test_what_a_kernel_that_never_ends_computes_is_said(
    streamed: Run, design: str, unknown: str, given: str
) -> None:
    ran = streamed("rounds", design, 1, "sink", "source", options=("--watch",))
    assert ran.code == 0, ran.errors
    assert ran.figures["sum"] == 2 * SUM
    assert f"; {given}computing not modelled for {unknown}, only" in ran.errors[-1]
    watched = unknown.replace(" and", ",")
    assert f"computing not modelled: {watched}, whose time is memory's alone" in ran.errors


@needs_xrt
@pytest.mark.slow
def test_times_are_the_same_each_time_and_beside_others_work(streamed: Run) -> None:
    command = ("rounds", "three", 5, "sink", "source", "twice")

    def times() -> dict[str, float]:
        return {what: round(value, 3) for what, value in streamed(*command).figures.items()}

    first = times()  # to a nanosecond: a program's own arithmetic has no more
    assert times() == first
    with busy(2):
        assert times() == first


@needs_xrt
def test_a_consumer_runs_until_its_producer_has_sent_all(streamed: Run, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    ran = streamed("late", "direct", options=("--trace", str(trace)))
    assert ran.figures["runs"] == ran.figures["over"] == 1
    assert 0 < ran.figures["waited"] < 1e-3
    kernels = kernels_of(trace)
    sink, source = kernels["sink_1"], kernels["source_1"]
    # Both are started this far apart; the first start of all takes longer.
    assert 50_000 - FIRST_LAUNCH_US <= source.begin - sink.begin < 50_000
    assert source.end <= sink.end < source.end + 1
    assert source.end - source.begin < 1000


@needs_xrt
@pytest.mark.slow
def test_a_kernel_leaves_what_it_did_not_write(streamed: Run) -> None:
    ran = streamed("beside", "sparse")
    assert ran.code == 0, ran.errors
    assert ran.figures == {"first": 1, "between": 7 * (COUNT - 2), "last": COUNT}


@needs_xrt
def test_who_waits_for_ever_is_named(streamed: Run) -> None:
    ran = streamed("rounds", "direct", 1, "sink", options=("--fail-on-warning",))
    assert ran.code == 3
    said = "sink_1 waits for data on source_1.out:sink_1.in, and nothing of the program goes on"
    assert any(said in line for line in ran.errors), ran.errors
    full = streamed("rounds", "direct", 1, "source", options=("--fail-on-warning",))
    assert any("source_1 waits for room on source_1.out" in line for line in full.errors)


@needs_xrt
@pytest.mark.slow
def test_a_program_that_waits_for_ever_is_ended(streamed: Run) -> None:
    ran = streamed("rounds", "direct", 1, "sink")
    assert ran.code != 0
    assert any("sink_1 waits for data" in line and "is ended" in line for line in ran.errors)


@needs_xrt
def test_a_program_that_waits_for_input_is_not_stuck(streamed: Run, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pipe.open("r+b", buffering=0) as file:  # both ends, so that no open waits
        writer = threading.Timer(2.5, file.write, [b"go"])
        writer.start()
        ran = streamed("asked", "direct", pipe, options=("--fail-on-warning",))
        writer.join()
    assert (ran.code, ran.figures) == (0, {"runs": 2}), ran.errors


@needs_xrt
def test_a_program_may_leave_a_kernel_that_waits(streamed: Run) -> None:
    ran = streamed("left", "direct")
    assert (ran.code, ran.figures) == (0, {"runs": 1}), ran.errors
    assert "; computing not modelled for sink, only" in ran.errors[-1]


@needs_xrt
def test_a_run_that_is_destroyed_lives_until_its_kernel_ends(streamed: Run) -> None:
    ran = streamed("dropped", "direct")
    assert (ran.code, ran.figures) == (0, {"sum": SUM}), ran.errors
    said = "sink_1 waits for data on source_1.out:sink_1.in when the program ends: ended with it"
    assert [said in line for line in ran.errors].count(True) == 1


@needs_xrt
@pytest.mark.parametrize("clock", ["card", "wall"])
def test_kernels_that_wait_end_before_another_bitstream_is_loaded(
    streamed: Run, designs: Made, clock: str
) -> None:
    ran = streamed("replaced", "direct", designs("shallow"), clock=clock)
    assert (ran.code, ran.figures) == (0, {"sum": SUM}), ran.errors
    said = "sink_1 waits for data on source_1.out:sink_1.in when another bitstream is loaded"
    assert [said in line for line in ran.errors].count(True) == 1


@needs_xrt
@pytest.mark.parametrize(
    ("design", "said"),
    [
        *slow(("wide", "source_1.out has words of 4 bytes, sink_1.in of 8")),
        ("apart", "none of its streams is connected: see stream_connect"),
    ],
)
def test_streams_that_do_not_fit_are_named(streamed: Run, design: str, said: str) -> None:
    ran = streamed("rounds", design, 1, "source", "sink")
    assert ran.code != 0
    assert any(said in line for line in ran.errors), ran.errors


# Descriptions


def kernels(word: str = "int") -> tuple[Kernel, ...]:
    return (
        Kernel("a", (Argument("in", "int*"), Argument("out", "hls::stream<int>"))),
        Kernel("b", (Argument("in", f"hls::stream<{word}>&"), Argument("n", "int"))),
    )


def test_a_stream_is_written_into_the_xclbin() -> None:
    design = Design(kernels=kernels(), stream_connect=("a_1.out:b_1.in:16",), mode="hw_emu")
    built = design.build()
    text = (built.data(xclbin.SectionKind.BITSTREAM) or b"").decode()
    assert "stream a_1 1 b_1 0 16 a_1.out:b_1.in\n" in text
    modes = {port.name: port.mode for kernel in built.kernels for port in kernel.ports}
    assert (modes["AXIS_out"], modes["AXIS_in"]) == ("write_only", "read_only")
    qualifiers = [a.qualifier for a in completed(kernels()[1]).arguments]
    assert qualifiers == ["stream", "scalar"]


@pytest.mark.parametrize(
    ("connect", "what"),
    [
        (["a_1.out"], "write it as 'fetch_1.out:store_1.in'"),
        (["a_1.out:b_1.in:deep"], "write it as"),
        (["a_1.out:b_1.in:0"], "holds 1 to 1048576 words"),
        (["a_1.out:b_1.in:" + 5000 * "9"], "holds 1 to 1048576 words"),
        (["a_1.out:c_1.in"], "no instance 'c_1'; there are a_1, b_1"),
        (["a_1.in:b_1.in"], "a_1 has no stream 'in'; it has out"),
        (["a_1.out:b_1.n"], "b_1 has no stream 'n'; it has in"),
        (["a_1.out:b_1.in", "a_1.out:b_1.in"], "argument 1 of a_1 is connected twice"),
    ],
)
def test_what_is_no_stream_is_refused(connect: list[str], what: str) -> None:
    with pytest.raises(UsageError, match=what.replace("(", r"\(")):
        Design(kernels=kernels(), stream_connect=tuple(connect)).build()


def test_a_stream_that_leads_nowhere_is_refused_in_a_description_alone() -> None:
    nowhere = Design(kernels=kernels())
    with pytest.raises(UsageError, match=r"a_1.out, b_1.in are streams connected to nothing"):
        nowhere.build()
    nowhere.build(unconnected=True)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("long long", "a_1.out has words of 4 bytes, b_1.in of 8"),
        ("ap_uint<24>", "a_1.out has words of 4 bytes, b_1.in of 3"),
        ("ap_axiu<64, 0, 0, 0>, 16", "a_1.out has words of 4 bytes, b_1.in of 8"),
        ("ap_axis<32, 1, 1, 1> ", None),
        ("packet", None),
    ],
)
def test_words_of_two_widths_are_refused_as_far_as_types_tell(word: str, said: str | None) -> None:
    design = Design(kernels=kernels(word), stream_connect=("a_1.out:b_1.in",))
    if said is None:
        design.build()
    else:
        with pytest.raises(UsageError, match=said):
            design.build()


@pytest.mark.parametrize(
    ("argument", "side", "said"),
    [
        (("a", "out"), Side(reads=True), "a_1.out is an input, it cannot be the producer"),
        (("b", "in"), Side(reads=False), "b_1.in is an output, it cannot be the consumer"),
        (("b", "in"), Side(word_bytes=8), "a_1.out has words of 4 bytes, b_1.in of 8"),
    ],
)
def test_what_the_code_says_of_a_stream_counts(
    argument: tuple[str, str], side: Side, said: str
) -> None:
    design = Design(kernels=kernels(), stream_connect=("a_1.out:b_1.in",))
    with pytest.raises(UsageError, match=said):
        design.build(sides={argument: side})


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("a.cpp", "b.cpp"), "streams connected to nothing"),
        (("a.cpp", "b.cpp", "--from", "all.toml", "--top", "a"), "no instance 'b_1'"),
        (("a.cpp", "--from", "none.toml"), "none.toml: no such file"),
        (("a.cpp", "--from", "all.toml"), "no instance 'b_1'; there are a_1"),
        (("a.cpp", "--from", "no.toml"), "a_1.out is a stream connected to nothing"),
        (("a.cpp", "--from", "wide.toml"), "wide.toml has a(hls::stream<short> out), a.cpp has a("),
    ],
)
def test_kernels_that_do_not_belong_together_are_refused(
    isthmus: Command, tmp_path: Path, arguments: tuple[str, ...], what: str
) -> None:
    (tmp_path / "a.cpp").write_text("void a(hls::stream<int>& out) {}")
    (tmp_path / "b.cpp").write_text("void b(hls::stream<int>& in) {}")
    (tmp_path / "all.toml").write_text("stream_connect = ['a_1.out:b_1.in']")
    (tmp_path / "no.toml").write_text("name = 'no'")
    (tmp_path / "wide.toml").write_text(
        "[[kernels]]\nname = 'a'\narguments = [{ name = 'out', type = 'hls::stream<short>' }]"
    )
    ended = isthmus("card", "kernel", "build", *arguments)
    assert ended.returncode == 2
    assert what in ended.stderr
