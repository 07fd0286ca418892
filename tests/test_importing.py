"""Outputs of other programs as run files: real ones, edited ones, and what is none."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import jsonschema
import pytest

import isthmus as package
from conftest import Command
from isthmus import importers
from isthmus.analysis.changes import Side, compare
from isthmus.analysis.findings import findings
from isthmus.analysis.summary import summarise
from isthmus.errors import UsageError
from isthmus.importers.as_run import imported
from isthmus.importers.base import Row
from isthmus.reporters.html import write_page
from isthmus.results import run_file
from other_outputs import DATA, FACTS, FILES, SIZELESS, GiB, MiB, run_of, run_of_text, text_of
from synthetic import Law, transfer_run

ENDS = ["ci_low_s", "ci_high_s"]
LAUNCHES = {"clpeak-2.1.2.json", "clpeak-2.1.2.xml"}
"""Of which a time is left that has no size."""
JUDGED = DATA.parent / "judge"
"""Files for `isthmus judge`: FORMAT-WHAT."""


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def example(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


# What each format gives


def test_figures_are_the_files(example: Path) -> None:
    form, points, facts = FACTS[example.name]
    run = run_of(example)
    assert run.origin
    assert run.origin.format == form
    assert run_of(example, form).points == run.points
    assert len(run.points) == points == len(run.origin.lines)
    frame = summarise(run).to_pandas()
    for operation, size, column, expected in facts:
        rows = frame[(frame["operation"] == operation) & (frame["bytes"] == size)]
        assert rows[column].iloc[0] == pytest.approx(expected, rel=2e-3)  # printed with 3 digits
    lines = example.read_text(encoding="utf-8").splitlines()
    for point, line in zip(run.points, run.origin.lines, strict=True):
        if example.suffix in {".txt", ".log"} and point.study == "beff":
            assert lines[line - 1].split()[0] == str(point.bytes)


def test_no_figure_claims_more_than_the_file_says(example: Path) -> None:
    run = run_of(example)
    frame = summarise(run).to_pandas()
    measured = frame[frame["operation"] != "b_eff"]  # which follows from the others
    assert measured["flags"].str.contains("imported").all()
    assert set(measured["verified"]) == {"na"}
    assert not frame["converged"].any()
    assert (measured["reruns"] == 1).all()
    assert measured.loc[measured["samples"] == 1, ENDS].isna().all(axis=None)
    assert findings(run)
    if example.name not in {"b_eff.json", "vitis_summary-2022.1.csv"}:  # they have repetitions
        assert (measured["samples"] == 1).all()
        assert all(one.interval and not one.interval.known for one in findings(run))


def test_a_run_file_of_every_format_is_valid_and_read_back(example: Path, tmp_path: Path) -> None:
    run = run_of(example)
    run_file.save(run, tmp_path / "run.json")
    jsonschema.validate(json.loads((tmp_path / "run.json").read_bytes()), run_file.schema())
    loaded = package.load(tmp_path / "run.json")
    assert loaded.run == run
    assert len(loaded.frame()) >= len(run.points)
    assert loaded.samples()["seconds"].gt(0).all()
    assert loaded.compare(loaded).series


def test_a_page_of_every_format_names_the_origin(example: Path, tmp_path: Path) -> None:
    page = write_page([("imported.json", run_of(example))], tmp_path).read_text(encoding="utf-8")
    assert "imported from" in page
    assert example.name in page
    assert "No accelerator was found" not in page
    drawn = {path.stem for path in (tmp_path / "plots").glob("*.csv")}
    operations = {fact[0] for fact in FACTS[example.name][2]}
    assert ("beff-window" in drawn) == (bool({"window", "window_both"} & operations)
                                        and FACTS[example.name][1] > 1)  # fmt: skip


def test_repetitions_that_are_printed_become_samples() -> None:
    run = run_of(DATA / "b_eff.json")
    assert all(len(p.reruns[0].clocks["host"].ticks) == 6 for p in run.points)
    log = run_of(DATA / "b_eff.log")
    best = {point.bytes: min(point.reruns[0].seconds("host")) for point in run.points}
    printed = {p.bytes: p.reruns[0].seconds("host")[0] for p in log.points}  # of the same run
    assert all(printed[size] <= best[size] * (1 + 1e-5) for size in best)
    assert sum(printed[size] > 0.999 * best[size] for size in best) > len(best) / 2
    (mean,) = summarise(log).to_pandas().query("operation == 'b_eff'")["bandwidth_Bps"]
    assert mean == pytest.approx(2.04746e8, rel=1e-5)  # the last line of the log


def test_both_files_of_clpeak_say_the_same() -> None:
    xml, js = (run_of(DATA / f"clpeak-2.1.2.{end}") for end in ("xml", "json"))
    assert xml.points == js.points
    assert xml.origin
    assert js.origin
    texts = [
        [text.rpartition("line ")[2].lstrip("0123456789").replace("0.0000", "0.0") for text in one]
        for one in (xml.origin.left_out, js.origin.left_out)
    ]
    assert texts[0] == texts[1]
    assert ": transfer_bandwidth enqueuemapbuffer: 0.0 gbps is unusable" in texts[1]


def test_a_copy_that_moved_nothing_has_no_bandwidth() -> None:
    frame = summarise(run_of(DATA / "clpeak-1.1.2.xml")).to_pandas().set_index("operation")
    assert "zero_copy" in frame.loc["map", "flags"]
    assert math.isnan(frame.loc["map", "bandwidth_Bps"])
    assert frame.loc["map", "median_s"] == pytest.approx((512 << 20) / 63535e9, rel=1e-4)


@pytest.mark.parametrize("name", sorted(SIZELESS - LAUNCHES))
def test_a_size_that_the_file_lacks_is_not_assumed(name: str) -> None:
    with pytest.raises(UsageError, match="does not say the size of its transfers: --bytes SIZE"):
        imported(DATA / name, None, None, [])
    frame = summarise(run_of(DATA / name, size=64 << 20)).to_pandas()
    assert {size for size in frame["bytes"] if size} <= {64 << 20}
    assert not frame["flags"].str.contains("size_assumed").any()


def test_a_size_that_the_file_says_is_not_replaced() -> None:
    with pytest.raises(UsageError, match="leave --bytes out"):
        run_of(DATA / "osu_bw.txt", size=4096)
    run = imported(DATA / "xbutil-u250.txt", None, 64 << 20, [])
    sizes = {point.operation: point.bytes for point in run.points}
    assert sizes == {"write": 16 << 20, "read": 16 << 20, "bandwidth": 64 << 20}


def test_what_has_no_operation_of_isthmus_is_named() -> None:
    run = run_of(DATA / "nvbandwidth-h100.json")
    assert run.origin
    assert any("host_device_latency_sm" in one for one in run.origin.left_out)
    assert [device.name for device in run.devices] == ["NVIDIA H100 80GB HBM3"]


def test_wrong_data_count_nowhere(tmp_path: Path) -> None:
    rows = "# OSU MPI Bandwidth Test v7.4\n# Size  Bandwidth (MB/s)  Validation\n1 2.5 Pass\n"
    run = run_of_text(f"{rows}2 5.0 Fail\n", tmp_path)
    assert [point.reruns[0].verified for point in run.points] == ["na", "false"]
    failed = text_of("b_eff.log").replace("Validation: SUCCESS!", "Validation: FAILED!")
    assert set(summarise(run_of_text(failed, tmp_path)).to_pandas()["verified"]) == {"false"}


def test_where_osu_buffers_lie(tmp_path: Path) -> None:
    assert {point.memory for point in run_of(DATA / "osu_bw.txt").points} == {"aligned"}
    near = text_of("osu_bw-near.txt")
    assert {point.memory for point in run_of_text(near, tmp_path).points} == {"device"}
    across = run_of_text(
        near.replace("Buffer on DEVICE (D) and", "Buffer on HOST (H) and"), tmp_path
    )
    assert across.points[0].memory == "aligned"
    assert across.points[0].axes["receiver_memory"] == "device"
    silent = "\n".join(row for row in near.splitlines() if "Buffer" not in row)  # as 7.5 for CUDA
    assert {point.memory for point in run_of_text(silent, tmp_path).points} == {""}
    with pytest.raises(UsageError, match="MPI Allreduce Latency"):
        run_of_text("# OSU MPI Allreduce Latency Test v7.4\n1 2\n", tmp_path)


def test_the_unit_of_perftest_json_follows_from_its_rate_of_messages(tmp_path: Path) -> None:
    same = text_of("perftest.json").replace("2229.27", f"{65536 * 0.035668e6 * 8 / 1e9:.2f}")
    (point,) = summarise(run_of_text(same, tmp_path)).to_pandas().itertuples()
    assert point.bandwidth_Bps == pytest.approx(65536 * 0.035668e6, rel=1e-3)
    with pytest.raises(UsageError, match="neither in MiB/s nor in Gb/s"):
        run_of_text(text_of("perftest.json").replace("2229.27", "1.5"), tmp_path)


LATENCY = """                    RDMA_Write Latency Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]
 2       1000          1.84           5.12         1.90                1.91           0.10
"""


def test_half_a_round_trip_of_perftest_is_a_whole_pingpong(tmp_path: Path) -> None:
    """The form of the lines is that of the program's source."""
    (point,) = run_of_text(LATENCY, tmp_path).points
    assert (point.operation, point.bytes, point.moved_bytes) == ("pingpong", 2, 4)
    assert point.reruns[0].seconds("host") == pytest.approx([3.8e-6])
    with pytest.raises(UsageError, match="RDMA_Read_Latency"):
        run_of_text(LATENCY.replace("RDMA_Write", "RDMA_Read"), tmp_path)


def test_vitis_writes_commas_and_tables_are_pasted_with_tabs(tmp_path: Path) -> None:
    tabs = run_of_text(text_of("vitis_summary.csv").replace(",", "\t"), tmp_path)
    assert tabs.points == run_of(DATA / "vitis_summary.csv").points


def test_an_emulated_card_is_no_hardware(tmp_path: Path) -> None:
    summary = text_of("vitis_summary-2022.1.csv")
    emulated = summary.replace("Flow mode: System Run", "Flow mode: Hardware Emulation")
    log = text_of("host_memory_bandwidth.log").splitlines()
    short = "\n".join(row for row in log if not re.search(r"[1-9]\d\.00 KB|[13]\d\d.00 KB|MB", row))
    runs = [run_of_text(text, tmp_path) for text in (summary, emulated, short)]
    assert [run.devices[0].real for run in runs] == [True, False, False]
    assert {point.axes["iterations"] for point in runs[2].points} == {2}


def test_transfers_of_which_only_the_longest_are_listed_are_left_out(tmp_path: Path) -> None:
    summary = text_of("vitis_summary-2022.1.csv")
    (row,) = re.findall("^.*0.854396.*$", summary, re.MULTILINE)
    run = run_of_text(summary.replace(row, "\n".join([row] * 8)), tmp_path)
    assert {point.operation for point in run.points} == {"write"}
    assert run.origin
    assert run.origin.left_out == [
        "Top Memory Reads: Host to Global Memory (only the longest are listed)",
        "READ (no operation of Isthmus is the same)",
    ]


def test_tests_of_xbutil_that_did_not_pass_have_no_points(tmp_path: Path) -> None:
    failed = text_of("xbutil.json").replace('"status": "passed"', '"status": "failed"', 2)
    run = run_of_text(failed, tmp_path, 16 << 20)
    assert [point.operation for point in run.points] == ["bandwidth"]
    assert run.origin
    assert {"verify (failed)", "dma (failed)"} <= set(run.origin.left_out)


def test_what_xbutil_prints_gives_the_same_points_as_its_file(tmp_path: Path) -> None:
    printed = run_of(DATA / "xbutil-u250.txt")
    tests = [{"name": name, "status": "passed", "log": [{"Details": row} for row in rows]}
             for name, rows in xbutil_tests(text_of("xbutil-u250.txt"))]  # fmt: skip
    device = {"device_id": "0000:99:00.1", "platform": printed.devices[0].name, "tests": tests}
    file = run_of_text(json.dumps({"logical_devices": [device]}), tmp_path)
    assert file.points == printed.points
    assert file.devices == printed.devices
    assert {point.axes["tag"] for point in printed.points if point.study == "transfer"} == {
        f"bank{i}" for i in range(4)
    }
    assert printed.origin
    rows = text_of("xbutil-u250.txt").splitlines()
    assert all("MB/s" in rows[line - 1] for line in printed.origin.lines)
    assert {f"{name} (no rate)" for name in ("aux-connection", "verify")} <= set(
        printed.origin.left_out
    )


def xbutil_tests(text: str) -> list[tuple[str, list[str]]]:
    """Names of the tests, and what they printed."""
    parts = re.split(r"^Test \d+ .*: ", text, flags=re.MULTILINE)[1:]
    return [
        (part.split()[0], [row.split("Details               : ")[-1].strip()
                           for row in part.splitlines()[1:] if "/s" in row or "Buffer" in row])
        for part in parts
    ]  # fmt: skip


def test_a_part_of_what_xbutil_prints_is_read(tmp_path: Path) -> None:
    text = text_of("xbutil-u250.txt")
    part = run_of_text(text[text.index("Test 1") :], tmp_path)
    assert len(part.points) == len(run_of(DATA / "xbutil-u250.txt").points)
    old = text_of("xbutil-u30.txt")
    run = run_of_text(old.replace("DMA test PASSED", "DMA test FAILED"), tmp_path, 16 << 20)
    assert [point.operation for point in run.points] == ["bandwidth"]
    assert run.devices[0].name == "xilinx_u30_gen3x4_base_1"


# Beside others


def test_a_program_that_ran_again_is_another_process(tmp_path: Path) -> None:
    far = text_of("osu_bw-far.txt")
    again = re.sub(r"\d+\.\d\d", lambda m: f"{1.001 * float(m[0]):.2f}", far)
    run = run_of_text(far + again + far, tmp_path)
    assert {len(point.reruns) for point in run.points} == {3}
    frame = summarise(run).to_pandas()
    assert frame[ENDS].notna().all(axis=None)
    near = run_of_text(2 * text_of("osu_bw-near.txt"), tmp_path)
    (large,) = (one for one in compare(Side("near", [near]), Side("far", [run])).series
                if one.sizes == "1Mi to 4Mi")  # fmt: skip
    assert large.verdict == "slower"
    assert large.samples == (2, 3)


def test_single_figures_are_compared_without_a_verdict() -> None:
    sides = [Side(name, [run_of(DATA / f"osu_bw-{name}.txt")]) for name in ("near", "far")]
    result = compare(*sides)
    assert {one.verdict for one in result.points} == {"undecided"}
    assert not result.passes
    ratio = {one.sizes: one.ratio.value for one in result.points}
    assert ratio["4Mi"] == pytest.approx(135040.96 / 40689.62, rel=1e-6)


def test_figures_stand_beside_ours() -> None:
    size = 512 << 20
    ours = transfer_run({"opencl:x": {"write": Law(0, 7e9)}}, (size,), reruns=6)
    theirs = run_of(DATA / "clpeak-2.1.2.json")
    memory = ours.points[0].memory
    theirs = run_file.msgspec.structs.replace(
        theirs,
        points=[run_file.msgspec.structs.replace(p, memory=memory) for p in theirs.points],
    )
    (one,) = compare(Side("ours", [ours]), Side("clpeak", [theirs])).points
    assert one.operation == "write"
    assert one.ratio.value == pytest.approx(7 / 9.09, rel=0.02)
    assert one.verdict == "undecided"


def test_times_of_a_device_are_compared_with_such_times_only() -> None:
    theirs = run_of(DATA / "nvbandwidth.json")
    assert len(compare(Side("a", [theirs]), Side("b", [theirs])).points) == 18
    ours = transfer_run({"cuda:0": {"write": Law(0, 25e9)}}, (512 << 20,), reruns=6)
    with pytest.raises(UsageError, match="no clock in common"):
        compare(Side("ours", [ours]), Side("nvbandwidth", [theirs]))


# The command


def test_the_command_writes_a_run_file_that_the_others_read(isthmus: Command) -> None:
    ended = isthmus("import", str(DATA / "osu_bw.txt"), "--out", "bw.json")
    assert ended.returncode == 0, ended.stderr
    assert "imported from osu_bw 7.4 (osu_bw.txt)" in " ".join(ended.stdout.split())
    assert "many messages one way, 4Mi" in ended.stdout
    assert ended.stdout.endswith("bw.json\n")
    shown = isthmus("show", "bw.json").stdout
    assert shown.splitlines()[:4] == ended.stdout.splitlines()[:4]
    assert "mean_only" in isthmus("show", "bw.json", "--points").stdout
    data = json.loads(isthmus("show", "bw.json", "--format", "json").stdout)
    assert data["origin"]["tool"] == "osu_bw"
    assert "osu\\_bw" in isthmus("show", "bw.json", "--format", "md").stdout
    assert isthmus("compare", "bw.json", "bw.json").returncode == 0
    assert isthmus("report", "bw.json").returncode == 0
    again = isthmus("import", str(DATA / "osu_bw.txt"), "--out", "bw.json")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "nothing is overwritten" in again.stderr
    assert "import" in isthmus("--help").stdout


def test_several_files_give_a_run_file_each(isthmus: Command, tmp_path: Path) -> None:
    files = [str(DATA / name) for name in ("osu_bw.txt", "perftest.json")]
    ended = isthmus("import", *files, "--out", "runs")
    assert ended.stdout == (
        "runs/osu_bw.isthmus.json: 23 points of osu_bw\n"
        "runs/perftest.isthmus.json: 1 point of perftest\n"
    )
    assert isthmus("import", files[1], "--out", "runs").returncode == 2  # it is there
    resumed = isthmus("run", "beff", "--resume", "--out", "runs/osu_bw.isthmus.json")
    assert (resumed.returncode, "imported from osu_bw" in resumed.stderr) == (2, True)
    assert isthmus("import", files[0]).returncode == 0
    assert (tmp_path / "osu_bw.isthmus.json").exists()


def test_an_unknown_format_is_named(isthmus: Command) -> None:
    ended = isthmus("import", str(DATA / "osu_bw.txt"), "--format", "ousu")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "did you mean osu?" in ended.stderr
    assert all(name in ended.stderr for name in importers.registry())


# The registry


def test_each_format_is_recognised_as_its_own_only() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        found = [one.name for one in importers.registry().values() if one.matches(text)]
        assert found == [FACTS[path.name][0]], path.name


def test_every_format_has_a_real_file_and_a_word_in_the_docs() -> None:
    judged = {path.name.partition("-")[0] for path in JUDGED.iterdir()}
    assert {fact[0] for fact in FACTS.values()} | judged >= set(importers.registry())
    assert {path.name for path in FILES} == set(FACTS)
    page = (DATA.parents[2] / "docs" / "importing.md").read_text(encoding="utf-8")
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in importers.registry())
    assert all(f"`{path.name}`" in readme for path in FILES)


@pytest.mark.parametrize("unit", ["ms", "us"])
def test_a_bandwidth_in_a_unit_of_time_is_refused(tmp_path: Path, unit: str) -> None:
    text = text_of("osu_bw.txt").replace("Bandwidth (MB/s)", f"Bandwidth ({unit})")
    assert f"({unit})" in text
    with pytest.raises(UsageError, match=f"line 4: a bandwidth in '{unit}', which is a time"):
        run_of_text(text, tmp_path)


PERFTEST_LATENCY = (
    "                    RDMA_Write Latency Test\n"
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n"
    " 2       1000          1.01           4.98         1.05     1.06\n"
)
HEADERS = {  # text with UNIT in its header, the unit that was there, value of the first row
    "osu_bw": (text_of("osu_bw.txt").replace("(MB/s)", "(UNIT)"), "MB/s", 4.26),
    "osu_latency": (text_of("osu_latency.txt").replace("(us)", "(UNIT)"), "us", 0.38),
    "hpcc": (re.sub(r"(\[s\] +)B/s", r"\1UNIT", text_of("b_eff.log")), "B/s", 2708.12),
    "perftest": (text_of("ib_write_bw.txt").replace("Gb/sec", "UNIT"), "Gb/sec", 0.48),
    "perftest latency": (PERFTEST_LATENCY.replace("usec", "UNIT"), "usec", 1.05),
}
RATES = {
    "B/s": 1.0, "KB/s": 1e3, "kB/s": 1e3, "KiB/s": 1024.0, "MiB/s": MiB, "GB/s": 1e9,
    "GiB/sec": GiB, "Gb/s": 1.25e8, "Gbit/s": 1.25e8, "GBit/s": 1.25e8, "Mbps": 1.25e5,
    "Kib/s": 128.0, "Bytes/s": 1.0,
}  # fmt: skip
TIMES = {"ns": 1e-9, "nsec": 1e-9, "us": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0}


def with_unit(name: str, unit: str = "") -> str:
    text, printed, _ = HEADERS[name]
    return text.replace("UNIT", unit or printed)


def first_row(text: str) -> Row:
    return importers.recognised(text).read(text).rows[0]


@pytest.mark.parametrize("name", ["osu_bw", "perftest"])
def test_rates_are_in_the_unit_of_their_header(name: str) -> None:
    for unit, factor in RATES.items():
        (rate,) = first_row(with_unit(name, unit)).rates()
        assert rate == pytest.approx(HEADERS[name][2] * factor, rel=1e-6), unit


def test_perftest_means_binary_megabytes_by_its_decimal_name() -> None:
    assert first_row(with_unit("perftest", "MB/sec")).rates() == pytest.approx([0.48 * MiB])


@pytest.mark.parametrize("name", ["osu_latency", "perftest latency"])
def test_times_are_in_the_unit_of_their_header(name: str) -> None:
    for unit, factor in TIMES.items():
        (seconds,) = first_row(with_unit(name, unit)).seconds()
        assert seconds == pytest.approx(2 * HEADERS[name][2] * factor), unit


@pytest.mark.parametrize(("time", "rate"), [("ms", "B/s"), ("s", "KB/s"), ("us", "MiB/s")])
def test_hpcc_has_both_units_in_its_header(time: str, rate: str, tmp_path: Path) -> None:
    header = re.compile(r"(MSize +looplength +time) \[s\] +B/s")

    def in_units(row: re.Match[str]) -> str:
        return f"{row[1]} {float(row[2]) / TIMES[time]!r} {float(row[3]) / RATES[rate]!r}"

    edited = header.sub(rf"\1 [{time}] {rate}", text_of("b_eff.log"))
    assert f"[{time}] {rate}" in edited
    text = re.sub(r"(?m)^( +\d+ +\d+) +(\S+) +(\S+)$", in_units, edited)
    ours, theirs = (summarise(run_of_text(one, tmp_path)) for one in (text, text_of("b_eff.log")))
    assert list(ours["median_s"]) == pytest.approx(list(theirs["median_s"]), nan_ok=True)
    assert list(ours["bandwidth_Bps"]) == pytest.approx(list(theirs["bandwidth_Bps"]), nan_ok=True)
    # Only the header is changed: the rate then fits no number of ranks, or not that of the log.
    with pytest.raises(UsageError, match=r"line \d+: the rate (fits|does not fit)"):
        run_of_text(edited, tmp_path)


@pytest.mark.parametrize("name", HEADERS)
def test_an_unknown_unit_is_an_error_that_names_its_line(name: str, tmp_path: Path) -> None:
    line = 1 + HEADERS[name][0].partition("UNIT")[0].count("\n")
    for unit in ("furlongs/s", "cycles", "XB/s", "-"):
        with pytest.raises(UsageError, match=rf"line {line}: unknown unit '{unit}'"):
            run_of_text(with_unit(name, unit), tmp_path)
    other = "GB/s" if "latency" in name else "us"
    with pytest.raises(UsageError, match=rf"line {line}: a (time|bandwidth) in '{other}', which"):
        run_of_text(with_unit(name, other), tmp_path)


@pytest.mark.parametrize("name", HEADERS)
def test_a_size_that_is_none_is_named(name: str) -> None:
    lines = with_unit(name).splitlines()
    at = next(i for i, row in enumerate(lines) if row.split()[:1] in (["1"], ["2"], ["8"]))
    first = lines[at].split()[0]
    for size in ("-4", "-4096", "4x", "0x10"):
        lines[at] = lines[at].replace(first, size, 1)
        first, text = size, "\n".join(lines)
        problems = importers.recognised(text).read(text).problems
        assert str(problems[0]) == f"line {at + 1}: '{size}' is no size"


def test_json_of_hpcc_has_the_unit_of_its_times(tmp_path: Path) -> None:
    text = text_of("b_eff.json")
    in_ms = re.sub(r'"unit":"s","value":([\d.e-]+)',
                   lambda one: f'"unit":"ms","value":{1e3 * float(one[1])!r}', text)  # fmt: skip
    ours, theirs = (summarise(run_of_text(one, tmp_path)) for one in (in_ms, text))
    assert list(ours["median_s"]) == pytest.approx(list(theirs["median_s"]), nan_ok=True)
    with pytest.raises(UsageError, match="line 1: unknown unit 'eons'"):
        run_of_text(text.replace('"unit":"s"', '"unit":"eons"'), tmp_path)


def test_a_unit_that_no_header_says_is_named_as_assumed(tmp_path: Path) -> None:
    headless = re.sub("(?m)^# Size.*\n", "", text_of("osu_bw.txt"))
    assert any(one.startswith("MB/s, as osu prints") for one in
               run_of_text(headless, tmp_path).origin.assumed)  # fmt: skip
