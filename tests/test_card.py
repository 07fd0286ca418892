"""The emulated card as a user meets it: real data, exact simulated time, boards to be changed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from isthmus import _core, boards
from isthmus.backends import registry
from isthmus.boards.table import TABLE

Isthmus = Callable[..., CompletedProcess[str]]
Rows = list[dict[str, str]]
EVERYWHERE = "1,4095,64Ki,1Mi"


@pytest.fixture
def run(isthmus: Isthmus, tmp_path: Path) -> Callable[..., Rows]:
    """Runs a study and gives the rows of its table."""

    def rows(
        *devices: str, sizes: str = EVERYWHERE, operations: str = "", study: str = "transfer",
        failing: bool = False, **axes: str,
    ) -> Rows:  # fmt: skip
        out = tmp_path / f"{len(list(tmp_path.glob('*.json')))}.json"
        named = [word for device in devices for word in ("--device", device)]
        given = {"bytes": sizes, **({"operation": operations} if operations else {}), **axes}
        options = [word for name, text in given.items() for word in ("--axis", f"{name}={text}")]
        done = isthmus("run", study, *named, *options, "--out", str(out))
        assert done.returncode == failing, done.stderr
        shown = isthmus("show", str(out), "--format", "csv").stdout
        return list(csv.DictReader(io.StringIO(shown)))

    return rows


def times(rows: Rows) -> dict[tuple[str, str], str]:
    return {(row["operation"], row["bytes"]): row["median_s"] for row in rows}


def test_every_operation_moves_its_data_in_simulated_time(run: Callable[..., Rows]) -> None:
    rows = run("card:u250", depth="1,3", bank="0,3")
    assert {row["operation"] for row in rows} == {
        "read", "write", "read_rw", "write_rw", "bidirectional", "launch", "kernel_read",
        "kernel_write", "stream",
    }  # fmt: skip
    for row in rows:
        assert (row["clock"], row["api"], row["samples"]) == ("simulated", "card", "1")
        assert row["verified"] == ("na" if row["operation"] == "launch" else "true")
        assert row["converged"] == "true"
    assert {(row["depth"], row["bank"]) for row in rows if row["operation"] == "write"} == {
        ("1", "0"), ("1", "3"), ("3", "0"), ("3", "3"),
    }  # fmt: skip


@pytest.mark.parametrize("board", [n for n in boards.names() if boards.load(n).has("link")])
def test_every_board_runs(run: Callable[..., Rows], board: str) -> None:
    rows = run(f"card:{board}", sizes="64Ki")
    assert rows
    assert all(row["verified"] in {"true", "na"} for row in rows)
    moved = {row["operation"] for row in rows if row["bandwidth_Bps"]}
    assert {"read", "write"} <= moved


def test_skipping_what_repeats_changes_no_figure(run: Callable[..., Rows]) -> None:
    sizes = "1,64Ki,1Mi,5000001"
    skipped = run("card:u250", sizes=sizes)
    whole = run("card:u250,fast_forward=no", sizes=sizes)
    assert times(skipped) == times(whole)
    assert any("fast_forward" in row["flags"] for row in skipped)
    assert not any("fast_forward" in row["flags"] for row in whole)


def test_a_changed_parameter_changes_what_depends_on_it(run: Callable[..., Rows]) -> None:
    rows = run("card:u250", "card:u250,link.lanes=4", sizes="1Mi", operations="write,kernel_read")
    rates = {(row["device"], row["operation"]): float(row["bandwidth_Bps"]) for row in rows}
    full, quarter = "card:u250", "card:u250,link.lanes=4"
    assert rates[quarter, "write"] < 0.4 * rates[full, "write"]
    assert rates[quarter, "kernel_read"] == rates[full, "kernel_read"]


def test_a_link_with_errors_is_random_and_slower(run: Callable[..., Rows]) -> None:
    (clean,) = run("card:u250", sizes="1Mi", operations="write")
    (broken,) = run("card:u250,link.error_rate=0.001", sizes="1Mi", operations="write")
    assert broken["samples"] == "25"
    assert broken["verified"] == "true"
    assert float(broken["median_s"]) > float(clean["median_s"])
    assert float(broken["max_s"]) > float(broken["min_s"])


@pytest.fixture(scope="module")
def has_rtl() -> bool:
    """Whether the backend was built where Verilator is."""
    (card,) = _core.load_backend(str(registry()["card"].library)).devices()
    return dict(card.properties)["rtl_kernels"] == "built in"


def test_kernels_reach_host_and_card_memory(run: Callable[..., Rows], has_rtl: bool) -> None:
    wanted = ["model", "rtl"] if has_rtl else ["model"]
    rows = run("card:u250", study="hostmem", sizes="4Ki,16448,1Mi",
               implementation=",".join(wanted))  # fmt: skip
    ways = {(row["target"], row["implementation"]) for row in rows}
    assert ways == {(target, how) for target in ("host", "device") for how in wanted}
    for row in rows:
        assert (row["verified"], row["clock"], row["samples"]) == ("true", "simulated", "1")
        assert row["iterations"] == "1024"
        assert row["memory"] == {"host": "host_only", "device": "device"}[row["target"]]
        moved = int(row["bytes"]) * 1024 * (2 if row["operation"] == "bandwidth" else 1)
        assert float(row["bandwidth_Bps"]) * float(row["median_s"]) == pytest.approx(moved)


def test_fewer_bursts_in_flight_are_slower_by_as_much(run: Callable[..., Rows]) -> None:
    """Little's law: a burst of 4 KiB is eight requests, and 16 are half of the 32 tags."""
    rows = run("card:u250", study="hostmem", sizes="1Mi", operations="read_bandwidth",
               target="host", implementation="model", outstanding="1,2,4,16")  # fmt: skip
    rate = {int(row["outstanding"]): float(row["bandwidth_Bps"]) for row in rows}
    assert rate[2] / rate[1] == pytest.approx(2, rel=0.05)
    assert rate[4] / rate[2] == pytest.approx(2, rel=0.1)
    assert rate[16] == pytest.approx(rate[4], rel=1e-9)  # there are no more tags


@pytest.mark.parametrize("implementation", ["model", "rtl"])
@pytest.mark.parametrize(
    ("fault", "operation", "message"),
    [
        ("flip_completion=5", "read_bandwidth", "flipped a bit of a completion (h2d) at byte 1024"),
        ("flip_completion=5", "bandwidth", "flipped a bit of a completion (h2d) at byte 1024"),
        ("drop_write=9", "write_bandwidth", "dropped a write (d2h) of 256 B at byte 2048"),
        ("drop_write=9", "bandwidth", "dropped a write (d2h) of 256 B at byte 2048"),
    ],
)
def test_a_fault_is_found_and_attributed(
    isthmus: Isthmus, tmp_path: Path, has_rtl: bool, implementation: str, fault: str,
    operation: str, message: str,
) -> None:  # fmt: skip
    if implementation == "rtl" and not has_rtl:
        pytest.skip("no RTL kernels: built without Verilator")
    out = tmp_path / "run.json"
    isthmus(
        "run", "hostmem", "--device", f"card:u250,faults.{fault}", "--axis", "bytes=64Ki",
        "--axis", f"operation={operation}", "--axis", f"implementation={implementation}",
        "--out", str(out),
    )  # fmt: skip
    points = {p["axes"]["target"]: p["reruns"][0] for p in json.loads(out.read_text())["points"]}
    assert points["host"]["verified"] == "false"
    assert message in points["host"]["fault"]
    assert points["device"]["verified"] == "true"  # it crosses no link


def test_a_fault_of_a_transfer_is_attributed_too(isthmus: Isthmus, tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    isthmus(
        "run", "transfer", "--device", "card:u250,faults.drop_write=1", "--axis", "bytes=64Ki",
        "--axis", "operation=read,write", "--out", str(out),
    )  # fmt: skip
    points = {p["operation"]: p["reruns"][0] for p in json.loads(out.read_text())["points"]}
    assert points["write"]["verified"] == "true"
    assert points["read"]["verified"] == "false"
    assert "dropped a write (d2h) of 256 B at byte 0" in points["read"]["fault"]


def test_a_board_without_its_scheme_is_understood(isthmus: Isthmus) -> None:
    done = isthmus("run", "transfer", "--device", "u250", "--quick")
    assert done.returncode == 2
    assert "did you mean card:u250?" in done.stderr


def test_every_board_is_shown_among_the_devices(isthmus: Isthmus) -> None:
    shown = isthmus("devices").stdout
    listed = shown[shown.index("card:BOARD:") :].partition(":")[2].partition("card:BOARD:")[0]
    assert sorted(listed.removeprefix("BOARD:").replace(",", " ").split()) == boards.names()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("card", "name a board"),
        ("card:nothing", "nothing"),
        ("card:u250,link.lanes=3", "link.lanes"),
        ("card:u250,link.colour=3", "link.colour"),
        ("card:u250,fast_forward=maybe", "fast_forward"),
        ("card:u250,colour=red", "colour"),
    ],
)
def test_what_cannot_be_is_refused_by_name(isthmus: Isthmus, address: str, message: str) -> None:
    done = isthmus("run", "transfer", "--device", address, "--quick")
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_board_of_ones_own_is_a_file(run: Callable[..., Rows], tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    source = boards.FOLDER / "u250.toml"
    file.write_text(
        f'[board]\nname = "mine"\ntitle = "mine"\ndescription = "mine"\ninclude = "{source}"\n'
        '[link]\nlanes = { value = 8, kind = "assumed", source = "a test" }\n'
    )
    (own,) = run(f"card:{file}", sizes="1Mi", operations="write")
    (changed,) = run("card:u250,link.lanes=8", sizes="1Mi", operations="write")
    assert own["median_s"] == changed["median_s"]


@pytest.mark.slow
def test_company_and_seed_of_the_order_change_no_figure(run: Callable[..., Rows]) -> None:
    single = run("card:f1-vu9p", sizes="1,70001,1Mi")
    company = run("card:u250", "card:f1-vu9p", "null:20us", sizes="1Mi,1,70001")
    assert times(single) == times([row for row in company if row["device"] == "card:f1-vu9p"])


def a_board_with(section: str) -> dict[str, str]:
    """The parameters of some board that has the section."""
    everything = (boards.resolve(name) for name in boards.names())
    return next(one for one in everything if any(key.startswith(f"{section}.") for key in one))


@pytest.mark.parametrize("name", sorted(TABLE))
def test_files_and_card_have_the_same_limits(name: str) -> None:
    """What the table allows the card takes, and what it does not the card refuses too."""
    parameter = TABLE[name]
    card = registry()["card"]
    backend = _core.load_backend(str(card.library))
    options = a_board_with(parameter.section)

    def refusal(value: object) -> str:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        try:
            backend.open("", {**options, name: text})
        except _core.UsageError as error:
            return str(error)
        return ""

    if parameter.type is bool:
        extremes: tuple[object, ...] = (True, False)
        beyond: tuple[object, ...] = ("maybe",)
    elif parameter.allowed:
        extremes, beyond = parameter.allowed, ("3000000000",)
    else:
        low, high = parameter.type(parameter.low), parameter.type(parameter.high)
        least = {
            "link.posted_data_credits": 16,
            "dma.tags": int(options.get("dma.engines", 1)),
            "memory.refresh_interval_ns": float(options.get("memory.refresh_ns", 0)) + 1,
        }
        most = {"memory.refresh_ns": float(options.get("memory.refresh_interval_ns", 1)) - 1}
        extremes = (least.get(name, low), most.get(name, high))
        beyond = (-1, 2 * high + 1)
    assert [refusal(value) for value in extremes] == [""] * len(extremes)
    assert all(name in refusal(value) for value in beyond)
