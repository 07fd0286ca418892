"""What the user says of the time that kernels compute: formulas, and reports of Vitis HLS."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from on_cards import Ran, Run, card_exec, emulated, probe, probed, programs, trace_of

from conftest import Command
from isthmus.errors import UsageError
from isthmus_emulation import csynth, event_files, schedule, watch, xclbin
from isthmus_emulation.xclbin import Argument, Design, Kernel, SectionKind, cycles, tables
from isthmus_emulation.xclbin.design import Timer, completed
from isthmus_emulation.xclbin.kinds import ClockType

__all__ = ["card_exec", "emulated", "probe", "probed", "programs"]  # fixtures
ARGUMENTS = (
    Argument("in", "const float*"),
    Argument("n", "unsigned int"),
    Argument("from", "short"),
    Argument("by", "float"),
    Argument("rows", "ap_uint<24>", size=4),
    Argument("other", "count_t", size=4),
    Argument("out", "hls::stream<int>"),
    Argument("odd", "int", size=3),
    Argument("huge", "unsigned", size=16),
)


def read(text: str) -> cycles.Cycles | None:
    return cycles.read(completed(Kernel("k", ARGUMENTS, cycles=text)))


# Formulas


@pytest.mark.parametrize(
    ("text", "most", "least"),
    [
        ("300", "300", None),
        ("n*4+120", "u1 4 * 120 +", None),
        ("2 + n * (from - 1)", "2 u1 s2 1 - * +", None),
        ("-from // 2 % 3", "s2 neg 2 // 3 %", None),
        ("max(n, rows, 1.5e3) / 4", "u1 u4 max 1.5e3 max 4 /", None),
        ("1e-5 + 2e+3", "1e-5 2e+3 +", None),
        ("n .. n*4", "u1 4 *", "u1"),
        ("130..148", "148", "130"),
    ],
)
def test_formulas_are_read(text: str, most: str, least: str | None) -> None:
    assert read(text) == cycles.Cycles(most, least)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "something is missing"),
        ("n +", "something is missing behind '+'"),
        ("(n", "something is missing behind 'n'"),
        ("n)", "')' is too much there"),
        ("n m", "'m' is too much there"),
        ("n*m", "'m' is no argument of the kernel: its integers are n, from, rows"),
        ("in", "'in' is no value: it is 'const float*'"),
        ("out", "'out' is no value: it is 'hls::stream<int>'"),
        ("by", "'by' is no integer but 'float'"),
        ("other", "'other' is no integer but 'count_t'; where that is another name"),
        ("n**2", "'*' is neither a number nor the name of an argument"),
        ("n << 2", "'<<' is too much there"),
        ("4u*n", "'4u' is neither a number"),
        ("odd", "'odd' has 3 bytes; possible are 1, 2, 4 and 8"),
        ("n + huge", "'huge' has 16 bytes; possible are 1, 2, 4 and 8"),
        ("\u0661\u0662", "'\u0661\u0662' is neither a number"),
        ("n*\u0664", "'\u0664' is neither a number"),
        ("\uff11\uff12", "'\uff11\uff12' is neither a number"),
        ("n\u0661", "'\u0661' is too much there"),
        ("1e", "'1e' is neither a number"),
        ("1e5e5", "'1e5e5' is neither a number"),
        ("1.2.3", "'.3' is too much there"),
        ("__import__('os')", "'__import__' is no argument"),
        ("max(n)", "')' stands where ',' is needed"),
        ("1e30", "'1e30' is more than 1e+18"),
        ("148 .. 130", "the range goes backwards; write the least first"),
        ("1 .. 2 .. 3", "'..' is too much there"),
        ("(" * 60 + "n" + ")" * 60, "more than 50 brackets and signs within one another"),
        ("n" + "+n" * 300, "601 letters, more than 500"),
    ],
)
def test_what_is_no_formula_names_the_wrong_word(text: str, what: str) -> None:
    with pytest.raises(UsageError, match="kernel k: cycles '") as refused:
        read(text)
    assert what in str(refused.value)


@given(st.text("n0 1.e+-*/%(),max<\n", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read(text)
    except UsageError:
        return


# Reports of Vitis HLS


def report(path: Path, least: str, most: str, loops: str = "", modules: str = "") -> Path:
    """A report with the elements of Vitis HLS's that are read, and some that are not."""
    path.write_text(
        "<profile><ReportVersion><Version>2022.1</Version></ReportVersion><UserAssignments>"
        "<unit>ns</unit><TopModelName>spin</TopModelName><TargetClockPeriod>4.00"
        "</TargetClockPeriod></UserAssignments><PerformanceEstimates><PipelineType>no"
        "</PipelineType><SummaryOfOverallLatency><unit>clock cycles</unit>"
        f"<Best-caseLatency>{least}</Best-caseLatency><Worst-caseLatency>{most}"
        "</Worst-caseLatency><Interval-min>9</Interval-min></SummaryOfOverallLatency>"
        f"<SummaryOfLoopLatency>{loops}</SummaryOfLoopLatency></PerformanceEstimates>"
        f"<ModuleInformation>{modules}</ModuleInformation></profile>"
    )
    return path


def loop(name: str, trips: str, more: str = "") -> str:
    return f"<{name}><Slack>2.9</Slack><TripCount>{trips}</TripCount>{more}</{name}>"


def test_a_reports_latency_is_the_kernels(tmp_path: Path) -> None:
    latency = "<Latency>{}</Latency><PipelineII>1</PipelineII>"
    loops = loop("rows", "4096", latency.format(4100)) + loop("few", "4", latency.format(4))
    exact = report(tmp_path / "csynth.xml", "4106", "4106", loops)
    longest = csynth.LongLoop("rows", 4100, "1")
    assert csynth.read(exact) == csynth.Report("spin", "2022.1", 250, 4106, 4106, (), longest)
    said = schedule.schedules_of(["spin", "other"], [exact], ["other=n*2"])
    assert said["spin"].cycles == "4106"
    assert said["spin"].origin == "csynth.xml, HLS 2022.1; loop rows 4100, II 1"
    assert said["other"] == schedule.Schedule("n*2")
    (note,) = said["spin"].notes("spin", "void spin() {}")
    assert "scheduled for 250 MHz" in note
    assert "kernel.clock_MHz=250" in note
    notes = said["spin"].notes("spin", "#pragma HLS loop_tripcount max=4096")
    assert "hold for those trip counts alone" in notes[0]


def test_the_clock_is_the_users_else_the_reports_else_the_descriptions() -> None:
    said = {"k": schedule.Schedule("9", "csynth.xml", 249.6), "j": schedule.Schedule("n")}
    own = Design(clocks=(Timer("other", "kernel", 500), Timer("mine", "data", 150)))
    for design, schedules, given_mhz, clock in (
        (own, said, 100, 100), (own, said, None, 250), (own, {}, None, 150),
        (Design(), {}, None, 300),
    ):  # fmt: skip
        found = schedule.applied(design, schedules, given_mhz)
        assert (found.data_mhz, len(found.clocks)) == (clock, 2)


def test_a_reports_range_is_one(tmp_path: Path) -> None:
    trips = "<range><min>1</min><max>64</max></range>"
    path = report(tmp_path / "r.xml", "130", "148", loop("rows", trips))
    said = schedule.schedules_of(["spin"], [path], [])["spin"]
    assert said.cycles == "130 .. 148"
    assert (
        "a range alone, 130 .. 148 cycles, of which the most are counted"
        in (said.notes("spin", "")[0])
    )


def test_loops_that_hls_does_not_know_are_named(tmp_path: Path) -> None:
    pipeline = "<PipelineII>2</PipelineII><PipelineDepth>12</PipelineDepth>"
    inner = loop("columns", "undef", pipeline)
    loops = loop("rows", "undef", inner) + loop("known", "16", pipeline)
    module = (
        "<Module><Name>part</Name><PerformanceEstimates><SummaryOfLoopLatency>"
        f"{loop('words', '-', '<Name>words</Name><IterationLatency>3</IterationLatency>')}"
        "</SummaryOfLoopLatency></PerformanceEstimates></Module>"
    )
    path = report(tmp_path / "r.xml", "undef", "undef", loops, module)
    with pytest.raises(UsageError, match=r"r\.xml has no latency of spin") as refused:
        schedule.schedules_of(["spin"], [path], [])
    assert "trip count of columns (II 2, 12 cycles an iteration), words (3 cycles" in str(
        refused.value
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is no XML"),
        ("<profile/>", "no report of Vitis HLS's synthesis"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "has a document type"),
    ],
    ids=["empty", "another", "doctype"],
)
def test_a_file_that_is_no_report_is_refused(text: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "r.xml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"r\.xml") as refused:
        csynth.read(path)
    assert what in str(refused.value)
    with pytest.raises(UsageError, match="a latency of '7x' is no count of cycles"):
        csynth.read(report(path, "7x", "8"))
    with pytest.raises(UsageError, match="Best-caseLatency, 9, is more than its Worst-caseLat"):
        csynth.read(report(path, "9", "8"))


def test_texts_of_a_report_are_cut_to_what_can_be_shown(tmp_path: Path) -> None:
    path = report(tmp_path / "r.xml", "7", "7", loop("rows", "4", "<Latency>4</Latency>"))
    text = path.read_text()
    long = "\x9b31m" + "x" * 100_000
    for old, new in (
        ("2022.1", long),
        ("<Slack>", f"<Name>{long}</Name><Slack>"),
        ("<Latency>4", f"<PipelineII>{long}</PipelineII><Latency>4"),
    ):
        path.write_text(path.read_text().replace(old, new))
    origin = schedule.schedules_of(["spin"], [path], [])["spin"].origin
    assert origin is not None
    assert len(origin) < 300
    assert origin.isprintable()
    assert origin.startswith("r.xml, HLS 31mxxx")
    path.write_text(text.replace("spin", long))
    with pytest.raises(UsageError, match="is of a kernel 31mxxx") as refused:
        schedule.schedules_of(["spin"], [path], [])
    assert len(str(refused.value)) < 300
    path.write_text(text.replace("2022.1", ""))
    assert schedule.schedules_of(["spin"], [path], [])["spin"].origin == "r.xml; loop rows 4"
    for period in ("1e-320", "0", "٤", "4 ns", "-4", "inf"):
        path.write_text(text.replace("4.00", period), "utf-8")
        with pytest.raises(UsageError, match="is no time in ns"):
            csynth.read(path)


def test_what_no_report_has_is_left_out(tmp_path: Path) -> None:
    """Counts of more digits than Python reads, loops deeper than it recurs."""
    path = tmp_path / "r.xml"
    huge = loop("rows", "4", f"<Latency>{'9' * 5000}</Latency>")
    assert csynth.read(report(path, "7", "7", huge)).longest is None
    deep = "".join(f"<l{n}><TripCount>-</TripCount>" for n in range(5000))
    ends = "".join(f"</l{n}>" for n in reversed(range(5000)))
    with pytest.raises(UsageError, match="the trip count of l99 is not known to HLS"):
        schedule.schedules_of(["spin"], [report(path, "undef", "undef", deep + ends)], [])


# Builds


def test_what_a_build_is_told_of_time_is_in_its_xclbin(isthmus: Command, tmp_path: Path) -> None:
    """Wrong words cost no compiler: they come before it."""
    (tmp_path / "spin.cpp").write_text("void spin(unsigned* out, unsigned n) { *out = n; }")
    path = report(tmp_path / "csynth.xml", "4106", "4106")
    build = ("card", "kernel", "build", "spin.cpp")
    for options, what in (
        (("--cycles", "m*4"), "'m' is no argument of the kernel: its integers are n"),
        (("--cycles", "fir=n"), "is of a kernel fir; built is spin"),
        (("--cycles", "n", "--schedule", "csynth.xml"), "give one of --schedule and --cycles"),
        (("--schedule", "none.xml"), "none.xml: No such file"),
    ):
        refused = isthmus(*build, *options)
        assert refused.returncode == 2
        assert what in refused.stderr
    assert not (tmp_path / "spin.xclbin").exists()
    made = isthmus(*build, "--schedule", str(path))
    assert made.returncode == 0, made.stderr
    assert "4106 cycles (csynth.xml, HLS 2022.1), scheduled for 250 MHz" in made.stderr
    assert "card exec --board u250,kernel.clock_MHz=250 --kernels" in made.stderr
    file = xclbin.load(tmp_path / "spin.xclbin")
    clocks = tables.decode(
        tables.Clock, file.data(SectionKind.CLOCK_FREQ_TOPOLOGY) or b"", "clocks"
    )
    assert [clock.mhz for clock in clocks if clock.type == ClockType.DATA] == [250]
    section = file.data(SectionKind.BITSTREAM) or b""
    assert b"\ncycles 4106\ncomputing 4106 cycles (csynth.xml, HLS 2022.1)\n" in section


def test_a_module_takes_its_own_clocks(isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "k.sv").write_text("module k; endmodule")
    (tmp_path / "k.toml").write_text("[[kernels]]\nname = 'k'\ncycles = '7'")
    refused = isthmus("card", "kernel", "build", "k.sv")
    assert refused.returncode == 2
    assert "cycles of a kernel in Verilog are those of its clock" in refused.stderr


# Runs


@pytest.mark.parametrize(
    ("duration", "times", "said"),
    [
        (3_000_000, "given\t1000000\t3000000\t3000000", "computing: computes 3.00 ns, memory 1.00"),
        (1_000_000, "given\t1000000\t500000\t500000", "memory: computes 0.500 ns, memory 1.00 ns"),
        (
            9_000_000,
            "given\t1000000\t3000000\t3000000",
            "waits for streams: computes 3.00 ns, memory",
        ),
        (6_000_000, "given\t1000000\t3000000\t3000000", "computing: computes 3.00 ns, memory"),
        (
            6_000_001,
            "given\t1000000\t3000000\t3000000",
            "waits for streams: computes 3.00 ns, mem",
        ),
    ],
    ids=["computing", "memory", "streams", "half", "less"],
)
def test_what_bounds_a_kernel_is_named(
    duration: int, times: str, said: str, tmp_path: Path
) -> None:
    events = tmp_path / "events.tsv"
    events.write_text(f"# card 0 board u250 program 7\nkernel\tk_1\t0\t{duration}\t8\t{times}\n")
    assert f"; bound by {said}" in watch.lines(event_files.read([events]))[1]


@pytest.mark.parametrize(
    ("duration", "first", "said"),
    [
        (4, 1, "its loop at line 4, and 1.00 us for memory's first word in each run of a loop;"),
        (100, 2, "its loop at line 4;"),
        (8, 5, "its loops' waits for memory's first word;"),
        (10, 1, "waits for streams;"),
    ],
    ids=["named", "too_short", "longest", "streams"],
)
def test_waits_for_first_words_are_told_from_those_for_streams(
    duration: int, first: int, said: str, tmp_path: Path
) -> None:
    """The times are in microseconds; memory takes one, and computing what the waits leave."""
    computing = 3 if said != "its loop at line 4;" else 98
    times = "\t".join(str(10**9 * time) for time in (1, computing, computing, computing))
    events = tmp_path / "events.tsv"
    events.write_text(
        f"# card 0 board u250 program 7\nkernel\tk_1\t0\t{10**9 * duration}\t8\testimate\t{times}"
        f"\tits loop at line 4\t{10**9 * first}\n"
    )
    assert f"; bound by {said} memory" in watch.lines(event_files.read([events]))[1]


def test_computing_that_nobody_knows_is_said(probed: Callable[..., Ran], tmp_path: Path) -> None:
    ran = probed("apart", 0, "--watch", "--trace", "t.json")
    assert "; computing not modelled for probe, only memory accesses: " in ran.errors[-1]
    assert "card kernel build ... --schedule csynth.xml, or --cycles" in ran.errors[-1]
    (row,) = [line for line in ran.errors if "kernel probe_1:" in line]
    assert row.endswith("GB/s; computing not modelled")
    assert "computing not modelled: probe, whose time is memory's alone" in ran.errors
    (kernel,) = [event for event in trace_of(tmp_path / "t.json") if event.get("cat") == "kernel"]
    assert kernel["args"] == {"bytes": 8192, "computing": "not modelled"}


def test_a_range_that_goes_backwards_is_said(
    card_exec: Run, isthmus: Command, probe: Path, tmp_path: Path
) -> None:
    """Which of two formulas is more is known when the kernel starts."""
    design = described(tmp_path, "hw_emu", "cycles = 'n*300 .. n'")
    isthmus("xclbin", "write", "--from", design, "-o", "timed.xclbin")
    ran = card_exec("--kernels", probe, "--watch", "--", probe / "program", "apart",
                    "timed.xclbin", 0)  # fmt: skip
    assert ran.code == 0, ran.errors
    assert any("kernel probe computes n*300 .. n cycles (given), a range that goes backwards; "
               "the larger count is its time" in line for line in ran.errors)  # fmt: skip
    (row,) = [line for line in ran.errors if "kernel probe_1:" in line]
    assert "computes 3.41 us to 1.02 ms, memory" in row


def test_a_program_that_believes_in_a_board_is_told_at_once(
    card_exec: Run, isthmus: Command, probe: Path, tmp_path: Path
) -> None:
    design = described(tmp_path, "hw")
    isthmus("xclbin", "write", "--from", design, "-o", "hw.xclbin")
    ran = card_exec("--as-hardware", "--kernels", probe, "--", probe / "program", "apart",
                    "hw.xclbin", 0)  # fmt: skip
    assert ran.code == 0, ran.errors
    said = [n for n, line in enumerate(ran.errors) if "kernel probe_1: computing not" in line]
    assert said == [len(ran.errors) - 2]
    assert "; computing not modelled for probe, " in ran.errors[-1]


def described(folder: Path, mode: str, kernel: str = "") -> str:
    """A description of the kernel that the fixture has built."""
    arguments = (("in", "int*"), ("out", "int*"), ("what", "int"), ("n", "int"))
    listed = ", ".join(f"{{ name = '{name}', type = '{kind}' }}" for name, kind in arguments)
    (folder / "probe.toml").write_text(
        f"mode = '{mode}'\n[[kernels]]\nname = 'probe'\narguments = [{listed}]\n{kernel}\n"
    )
    return "probe.toml"


@pytest.mark.parametrize(
    ("formula", "microseconds", "least", "said"),
    [
        ("n*300", 1024.0, None, "computing of probe: n*300 cycles (given)"),
        ("3 .. n*300", 1024.0, 0.01, "3 .. n*300 cycles (given), the most counted"),
        ("1", None, None, "computing of probe: 1 cycles (given)"),
    ],
    ids=["computing", "range", "memory"],
)
def test_computing_that_is_given_counts_where_it_is_longer_than_memory(
    formula: str, microseconds: float | None, least: float | None, said: str,
    card_exec: Run, isthmus: Command, probe: Path, tmp_path: Path,
) -> None:  # fmt: skip
    design = described(tmp_path, "hw_emu", f"cycles = '{formula}'")
    isthmus("xclbin", "write", "--from", design, "-o", "timed.xclbin")
    ran = card_exec("--kernels", probe, "--watch", "--trace", "t.json", "--", probe / "program",
                    "apart", "timed.xclbin", 0)  # fmt: skip
    assert ran.code == 0, ran.errors
    assert ran.errors[-1].endswith(said)
    (kernel,) = [event for event in trace_of(tmp_path / "t.json") if event.get("cat") == "kernel"]
    times = json.loads(json.dumps(kernel["args"]))
    longest = max(times["computing_us"], times["memory_us"])
    assert kernel["dur"] == longest
    (row,) = [line for line in ran.errors if "kernel probe_1:" in line]
    if microseconds is None:
        assert times["computing_us"] < times["memory_us"]
        assert "; bound by memory: computes 3.33 ns, memory" in row
    else:
        assert longest == pytest.approx(microseconds, rel=1e-6)
        assert "; bound by computing: computes " in row
    assert times.get("least_computing_us") == (least and pytest.approx(least))
