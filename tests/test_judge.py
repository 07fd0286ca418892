"""`isthmus judge`: verdicts on outputs of other tools, and how a pasted text is read."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import Command
from isthmus import importers, references
from isthmus.importers.cleaning import cleaned
from isthmus.judging import Pasted, causes
from isthmus.judging.judgement import Judged
from isthmus.judging.rules import judge
from other_outputs import DATA as IMPORTED
from other_outputs import text_of

DATA = Path(__file__).parent / "data" / "judge"
FILES = sorted(
    [*DATA.glob("*.txt"), *(path for path in IMPORTED.iterdir() if path.suffix != ".md")]
)
VERDICTS = {  # of the first figure
    "clpeak-117.txt": "unknown", "clpeak-121.txt": "below", "clpeak-68.txt": "unknown",
    "nccl_tests-1453.txt": "below", "nccl_tests-22.txt": "unknown", "nccl_tests-340.txt": "unknown",
    "nccl_tests-65.txt": "unknown", "nvbandwidth-15.txt": "normal", "nvbandwidth-24.txt": "unknown",
    "nvbandwidth-50.txt": "unknown", "osu-7369.txt": "unknown", "osu-9287-fixed.txt": "unknown",
    "osu-9287.txt": "below", "osu-9462.txt": "unknown", "perftest-225.txt": "unknown",
    "rocm_bandwidth-2253.txt": "unknown", "rocm_bandwidth-93.txt": "unknown",
    "xbutil-4439.txt": "normal", "xbutil-6883.txt": "normal", "xbutil-937.txt": "normal",
    "xdma-375-fixed.txt": "below", "xdma-375.txt": "impossible", "dd-nitefury.txt": "unknown",
}  # fmt: skip


THREADS = msgspec.toml.decode((DATA / "threads.toml").read_bytes())["thread"]


def of(text: str, link: str | None = None, gigabits: float = 0) -> Judged:
    return judge([Pasted(text)], None, link, gigabits)


def verdicts(text: str, link: str | None = None, gigabits: float = 0) -> set[str]:
    return {one.verdict for one in of(text, link, gigabits).judgements}


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def example(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_the_answer_fits_a_screen(example: Path, isthmus: Command) -> None:
    shown = isthmus("judge", str(example))
    assert shown.returncode in {0, 3}, shown.stderr
    rows = shown.stdout.splitlines()
    assert len(rows) <= 25
    assert max(map(len, rows)) <= 80
    data = json.loads(isthmus("judge", str(example), "--format", "json").stdout)
    explained = any(one["causes"] for one in data["judgements"])
    assert explained == any(row.startswith("1. ") for row in rows)
    worst = {"below", "impossible"} & {one["verdict"] for one in data["judgements"]}
    assert bool(worst) <= (shown.returncode == 3)


@pytest.mark.parametrize("name", VERDICTS)
def test_verdict(name: str) -> None:
    found = verdicts((DATA / name).read_text(encoding="utf-8"))
    assert VERDICTS[name] in found
    assert not {"below", "impossible"} & found - {VERDICTS[name]}


def test_nobody_judges_without_a_limit_or_a_known_run() -> None:
    for path in FILES:
        for one in of(path.read_text(encoding="utf-8")).judgements:
            if one.verdict in {"normal", "below", "impossible"}:
                assert one.limit or one.known or one.reasons
            else:
                assert one.reasons


def test_a_limit_makes_a_verdict() -> None:
    text = (DATA / "perftest-225.txt").read_text(encoding="utf-8")
    assert verdicts(text, gigabits=100) == {"normal"}
    assert verdicts(text, gigabits=400) == {"unknown"}  # one queue pair may not fill it
    assert verdicts(text, gigabits=50) == {"impossible"}
    bare = (DATA / "nvbandwidth-24.txt").read_text(encoding="utf-8")
    (smi,) = DATA.glob("nvidia_smi-*.txt")
    assert verdicts(bare + smi.read_text(encoding="utf-8")) == {"below", "normal"}


def test_buffers_of_several_sizes_are_one_gpu() -> None:
    (one,) = of((DATA / "nvbandwidth-42.txt").read_text(encoding="utf-8")).judgements
    assert {row.part for row in one.group.rows} == {"GPU 0"}
    assert [row.size for row in one.group.rows] == [
        size << 20 for size in (512, 1024, 10240, 20480)
    ]
    assert one.reasons[0].kind == "falls"
    assert one.causes[0].kind == "large_sm"


def test_many_small_messages_at_once_are_no_latency() -> None:
    found = of((DATA / "perftest-65.txt").read_text(encoding="utf-8")).judgements
    assert [(one.group.run, one.group.runs) for one in found] == [(1, 2), (2, 2)]
    for one in found:
        assert (one.verdict, one.seconds) == ("unknown", 0)
        assert [reason.kind for reason in one.reasons] == ["too_small"]
        assert one.missing == ["messages"]


def test_every_cause_and_reference_names_its_source() -> None:
    assert causes.SOURCES
    assert all(causes.SOURCES.values())
    known_boards = references.boards()
    assert known_boards
    for one in known_boards.values():
        assert one.link.source or not one.link.pcie
        assert all(known.source for known in one.known)


def test_a_log_is_no_reference_of_itself() -> None:
    text = (DATA / "xbutil-6883.txt").read_text(encoding="utf-8")
    judgements = of(text).judgements
    assert judgements
    for one in judgements:
        assert one.known is None or "6883" not in str(one.known)


# Reading


CLEAN = text_of("osu_bw.txt")
ROWS = CLEAN.splitlines()


@pytest.mark.parametrize(
    "text",
    [
        "user@host:~$ ./osu_bw\n" + CLEAN,
        "```\n" + CLEAN + "\n```",
        "\n".join("> " + row for row in ROWS),
        "\n".join("[1,0]<stdout>:" + row for row in ROWS),
        "\n".join(" 0: " + row for row in ROWS),
        "$ srun --label ./osu_bw\n" + "\n".join("0: " + row for row in ROWS),
        "\n".join(">  0: " + row for row in ROWS),
        "\n".join("2026-11-26T10:00:00 " + row for row in ROWS),
        "\n".join("\x1b[32m" + row + "\x1b[0m" for row in ROWS),
        "\r\n".join(ROWS),
    ],
    ids=[
        "prompt",
        "fence",
        "quote",
        "mpirun",
        "label",
        "call and label",
        "quoted label",
        "time",
        "colour",
        "CRLF",
    ],
)
def test_a_pasted_text_is_read_as_the_file(text: str) -> None:
    def figures(of_text: str) -> list[tuple[int | None, tuple[float, ...]]]:
        clean = cleaned(of_text)
        return [(row.size, row.values) for row in importers.by_name("osu").read(clean).rows]

    assert figures(text) == figures(CLEAN)
    assert len(figures(CLEAN)) == 23


def test_a_row_that_cannot_be_read_costs_that_row() -> None:
    broken = CLEAN.replace(ROWS[-3], ROWS[-3].split()[0] + "    n/a")
    log = importers.by_name("osu").read(cleaned(broken))
    assert len(log.rows) == 22
    assert [one.line for one in log.problems] == [len(ROWS) - 2]


OSU = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth ({unit})\n4194304 100.0\n"


@pytest.mark.parametrize(("unit", "expected"), [("MiB/s", 100 * 2**20), ("MB/s", 1e8)])
def test_the_header_says_the_unit(unit: str, expected: float) -> None:
    log = importers.by_name("osu").read(cleaned(OSU.format(unit=unit)))
    assert log.rows[0].rates()[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("form", "text", "line"),
    [
        ("osu", OSU.format(unit="furlong/s"), 2),
        ("perftest", " #bytes #iterations BW peak[furlong/s] BW average[furlong/s] MsgRate[Mpps]\n"
         " 65536 5000 0.00 1.5 0.02\n", 1),
    ],
)  # fmt: skip
def test_an_unknown_unit_is_refused_with_its_line(form: str, text: str, line: int) -> None:
    log = importers.by_name(form).read(cleaned(text))
    assert not log.rows
    assert [(one.line, one.what.startswith("unknown unit")) for one in log.problems] == [
        (line, True)
    ]


def test_the_unit_of_latencies_is_read() -> None:
    text = "# OSU MPI Latency Test v7.4\n# Size          Latency (ms)\n8 1.5\n"
    (row,) = importers.by_name("osu").read(cleaned(text)).rows
    assert row.seconds() == pytest.approx([2 * 1.5e-3])


def test_the_unit_of_hpcc_fpga_is_read() -> None:
    log = text_of("b_eff.log")
    first = importers.by_name("hpcc_fpga").read(cleaned(log)).rows
    assert first
    other = importers.by_name("hpcc_fpga").read(cleaned(log.replace(" B/s", " GB/s")))
    assert not other.rows  # size, loops and time say that these are no GB/s
    assert "does not fit" in str(other.problems[0])


def test_a_missing_cell_shifts_nothing() -> None:
    text = text_of("ib_write_bw.txt").replace("0.48", "")
    log = importers.by_name("perftest").read(cleaned(text))
    assert not log.rows
    assert "4 columns, but the header has 5" in str(log.problems[0])


def test_both_ends_of_a_run_count_once() -> None:
    once = text_of("ib_write_bw.txt")
    log = importers.by_name("perftest").read(cleaned(once + once))
    assert len(log.rows) == len(importers.by_name("perftest").read(cleaned(once)).rows)


def test_a_number_and_a_colon_in_few_lines_is_no_label() -> None:
    text = "1: lo: mtu 65536\n2: eth0: mtu 1500\n" + CLEAN
    assert cleaned(text).startswith("1: lo")


NCCL = (DATA / "threads" / "nccl_tests-119.txt").read_text(encoding="utf-8")
CALL = NCCL.splitlines()[0]


@pytest.mark.parametrize(
    ("call", "hosts"),
    [
        (CALL, "several"),
        (CALL.replace("-np 24 ", ""), "several"),  # the file may have several hosts
        (CALL.replace("-np 24", "-np 4"), "1"),  # and all four are listed, on one
        ("mpirun -np 24 ./all_reduce_perf -g 1", "several"),
        ("mpirun -np 4 ./all_reduce_perf -g 1 -n 24 -f 2", "1"),
        ("mpirun -np 1 ./all_reduce_perf -g 4", "1"),
        ("mpirun -np 2 -H a,b ./all_reduce_perf --ngpus 4", "several"),
        ("mpirun -H a:4,b:4 ./all_reduce_perf", "several"),
        ("mpirun -H a:4 ./all_reduce_perf", "1"),
        ("mpirun -np 8 --map-by ppr:4:node \\\n  ./all_reduce_perf", "several"),
        ("mpirun -np 8 -N 4 ./all_reduce_perf", "several"),
        ("srun -N 2 --ntasks-per-node=4 ./all_reduce_perf", "several"),
        ("srun --nodes=1 -n4 ./all_reduce_perf", "1"),
        ("srun -w node[1-2] ./all_reduce_perf", "several"),
        ("./all_reduce_perf -g 4", "1"),
        ("", "1"),
    ],
)  # fmt: skip
def test_links_of_a_host_are_no_limit_between_hosts(call: str, hosts: str) -> None:
    judged = of(NCCL.replace(CALL, call))
    assert judged.logs[0].facts["hosts"] == hosts
    (one,) = judged.judgements
    if hosts == "1":
        assert one.limit
        assert "NVLinks" in one.limit.name
        assert one.verdict == "normal"
    else:
        assert (one.verdict, one.limit, list(one.missing)) == ("unknown", None, ["ports"])


def test_ports_of_a_host_limit_collectives_between_hosts_alone() -> None:
    assert verdicts(NCCL, gigabits=800) == {"normal"}
    assert verdicts(NCCL, gigabits=1600) == {"unknown"}
    assert verdicts(NCCL, gigabits=400) == {"normal"}  # sums within a host first: up to twice
    assert verdicts(NCCL, gigabits=200) == {"impossible"}
    (one,) = of(NCCL.replace("-np 24", "-np 4"), gigabits=100).judgements
    assert one.limit
    assert "NVLinks" in one.limit.name


BRIEF = (DATA / "threads" / "perftest-crucible-661.txt").read_text(encoding="utf-8")


def test_perftest_without_iterations_is_read_by_the_names_of_its_columns() -> None:
    log = importers.by_name("perftest").read(cleaned(BRIEF))
    (row,) = log.rows
    assert (row.size, list(row.values), row.unit, row.batch) == (65536, [348.54], "Gb/s", 1)
    assert "one iteration, where the output does not say their number" in log.assumed
    full = importers.by_name("perftest").read(text_of("ib_write_bw.txt"))
    assert not any("iteration" in text for text in full.assumed)
    times = " #bytes t_min[usec] t_max[usec] t_typical[usec] t_avg[usec]\n 2 1.5 9.5 1.7 1.9\n"
    (row,) = importers.by_name("perftest").read(times).rows
    assert row.seconds() == pytest.approx([2 * 1.7e-6])
    average = " #bytes BW average[MB/sec]\n 65536 100.5\n 131072\n"
    log = importers.by_name("perftest").read(average)
    assert [list(row.values) for row in log.rows] == [[100.5]]
    assert [str(one) for one in log.problems] == ["line 3: 1 column, but the header has 2: cut"]
    glued = " #bytes t_max[usec]xBW average[MB/sec]\n 65536 100.5 99.5\n"
    log = importers.by_name("perftest").read(glued)
    assert (log.rows, len(log.problems)) == ([], 1)


def test_the_call_tells_the_test_where_a_table_of_perftest_has_no_title() -> None:
    assert verdicts(BRIEF, gigabits=400) == {"normal"}
    both = BRIEF.replace("ib_write_bw", "$ ib_write_bw -b").replace("348.", "697.")
    assert verdicts(both, gigabits=400) == {"normal"}
    assert verdicts(both.replace(" -b", ""), gigabits=400) == {"impossible"}
    table = "#bytes #iterations t_avg[usec] tps average\n 2 1000 1.5 3\n"
    for call, seconds in (("./ib_write_lat", 3e-6), ("ib_read_lat -d mlx5_0 host", 1.5e-6)):
        (row,) = importers.by_name("perftest").read(f"{call}\n{table}").rows
        assert row.seconds() == pytest.approx([seconds])
    assert row.part == "mlx5_0"


def test_a_failed_validation_of_rocm_is_the_first_sentence(isthmus: Command) -> None:
    path = DATA / "threads" / "rocm_bandwidth-559.txt"
    text = path.read_text(encoding="utf-8")
    (outcome,) = of(text).logs[0].outcomes
    assert (outcome.line, outcome.status) == (16, "failed")
    assert outcome.message == "wrong data from device 0 to 1, 1 to 0"
    shown = isthmus("judge", str(path))
    assert shown.returncode == 3
    assert "\nFAILED: line 16: the test 'data path validation' failed: wrong data" in shown.stdout
    healthy = of(text.replace("FAIL", "PASS"))
    assert (healthy.failed, healthy.problems) == (False, [])
    unclear = of(text.replace("FAIL ", "WEAK "))
    assert unclear.failed  # the first row has a FAIL still
    assert unclear.problems == ["line 22: the row of the validation is not understood"]
    rates = (DATA / "rocm_bandwidth-2253.txt").read_text(encoding="utf-8")
    both = of(text + rates)
    assert len(both.logs[0].rows) == len(of(rates).logs[0].rows)
    assert both.failed


# Threads


@pytest.mark.parametrize("thread", THREADS, ids=[Path(one["input"]).stem for one in THREADS])
def test_the_verdict_on_a_thread_stays(thread: dict[str, Any], isthmus: Command) -> None:
    def verdict(*options: str) -> tuple[str, list[str]]:
        shown = isthmus("judge", str(DATA / thread["input"]), *options, "--format", "json")
        if shown.returncode == 2:
            return "unread", []
        data = json.loads(shown.stdout)
        if data["failed"] and data["verdict"] in {"unknown", "normal"}:
            return "failed", []
        worst = [one for one in data["judgements"] if one["verdict"] == data["verdict"]]
        causes = next((one["causes"] for one in worst if one["causes"]), [])
        return data["verdict"], [one["kind"] for one in causes]

    found, causes = verdict()
    assert found == thread["alone"]
    if found in {"below", "impossible"}:
        assert causes == thread["causes"]
    if "option" in thread:
        assert verdict(*thread["option"])[0] == thread["told"]


AGREES = {
    "yes": "agrees", "told": "agrees, with the option", "no": "cannot tell",
    "missed": "misses it", "unread": "not read", "open": "no answer to compare",
}  # fmt: skip


def _cell(said: dict[str, Any]) -> str:
    """The verdict, and that with the option, as the page writes them."""
    words = {"unknown": "cannot tell", "unread": "not read"}
    cell = words.get(said["alone"], said["alone"])
    if "told" in said:
        (option,) = {" ".join(one["option"]) for one in THREADS if _is_of(said, one)}
        cell += f"; `{option}`: {words.get(said['told'], said['told'])}"
    return cell


def _is_of(said: dict[str, Any], thread: dict[str, Any]) -> bool:
    return said is thread or said is thread.get("frozen")


def test_the_page_has_every_thread_and_the_counts() -> None:
    page = (DATA.parents[2] / "docs" / "judging_cases.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert len({one["source"] for one in THREADS}) == len(THREADS) == 20
    for one in THREADS:
        row, *mended = [line for line in rows if line.startswith(f"| {one['source']} |")]
        assert one["pasted"] in row
        assert one["found"] in row
        then = one.get("frozen", one)
        assert _cell(then) == row.split(" | ")[2]
        assert row.endswith(f" | {AGREES[then['agrees']]} |")
        now = f"| {one['source']} | {_cell(one)} | {AGREES[one['agrees']]} |"
        assert mended == ([now] if "frozen" in one else [])
    halves = {
        "rules still changed": [one["agrees"] for one in THREADS if one["half"] == 1],
        "rules frozen": [one.get("frozen", one)["agrees"] for one in THREADS if one["half"] == 2],
        "rules frozen, after mending": [one["agrees"] for one in THREADS if one["half"] == 2],
    }
    for label, agreement in halves.items():
        counts = Counter(agreement)
        kinds = ("yes", "told", "no", "missed", "unread", "open")
        cells = " | ".join(str(counts[kind]) for kind in kinds)
        assert f"| {label} | {cells} |" in rows


def test_a_single_transfer_is_held_against_single_transfers() -> None:
    judged = of((IMPORTED / "vitis_summary.csv").read_text(encoding="utf-8"))
    assert judged.boards[0].name == "u280"  # which knows rates of many transfers at once
    single = judged.judgements[0]
    assert single.known
    assert single.known.of == "single transfers in a profile of Vitis"
    assert single.verdict == "normal"


# The command


def test_the_command_reads_a_pipe_and_says_what_is_missing(isthmus: Command) -> None:
    shown = isthmus("judge", str(DATA / "dd-nitefury.txt"))
    assert shown.returncode == 0
    assert "--link gen3x16" in shown.stdout
    assert isthmus("judge", str(DATA / "dd-nitefury.txt"), "--link", "gen3x4").returncode == 3
    refused = isthmus("judge", str(DATA / "README.md"))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert isthmus("judge", "--boards").returncode == 0


def test_a_board_is_one_file(isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        '[reference]\nname = "mine"\ntitle = "My card"\nkind = "fpga"\nwords = ["mine"]\n'
        '[link]\npcie = "gen2x4"\nsource = "its data sheet"\n', encoding="utf-8",
    )  # fmt: skip
    shown = isthmus("judge", str(DATA / "dd-nitefury.txt"), "--board", "mine.toml")
    assert "gen2 x4" in shown.stdout
    assert shown.returncode == 3


def test_each_shipped_rate_is_of_a_shipped_board_or_engine() -> None:
    assert set(references._rates()) <= {*references.boards(), *references._engines()}
