"""``xrt:0@card=BOARD``, ``xocl:0@card=BOARD``: simulated time, host time apart, and the hybrid."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import isthmus_emulation
from conftest import Command
from isthmus import boards
from isthmus.analysis.context import answers
from isthmus.analysis.summary import summarise
from isthmus.errors import NoDeviceError, UsageError
from isthmus.measure import discovery
from isthmus.results import run_file
from isthmus.system import xrt

BOARD = "f1-vu9p"
Measured = Callable[..., run_file.Run]
AXES = ("--axis", "bytes=4Ki,1Mi", "--axis", "operation=write,read,launch", "--axis", "bank=0")


def needs(scheme: str) -> None:
    try:
        isthmus_emulation.prepare([BOARD]).close()
    except NoDeviceError as error:
        pytest.skip(f"no XRT behind which a card is emulated: {error}")
    if not discovery.by_scheme(scheme).library.exists():
        pytest.skip(f"the backend of {scheme} was not built")


@pytest.fixture
def card_mode(isthmus: Command) -> Command:
    """Runs a study on devices."""

    def run(study: str, devices: tuple[str, ...], *words: str) -> CompletedProcess[str]:
        named = [word for device in devices for word in ("--device", device)]
        return isthmus("run", study, "--quick", *named, *words)

    return run


@pytest.fixture
def measured(card_mode: Command, tmp_path: Path) -> Measured:
    def run(*devices: str, study: str = "transfer", words: tuple[str, ...] = AXES) -> run_file.Run:
        out = tmp_path / f"{len(list(tmp_path.glob('*.json')))}.json"
        done = card_mode(study, devices, *words, "--out", str(out))
        assert done.returncode == 0, done.stdout + done.stderr
        return run_file.load(out)

    return run


@pytest.mark.parametrize("scheme", ["xrt", "xocl"])
def test_simulated_and_host_time_are_apart(scheme: str, measured: Measured) -> None:
    needs(scheme)
    device = f"{scheme}:0@card={BOARD},driver.first_launch_ns=50000"  # none of a warm launch
    run = measured(device, f"card:{BOARD}")
    rows = summarise(run).to_pandas()
    ours = rows[rows["device"] == device]
    assert set(ours["clock"]) == {"host", "simulated"}
    assert set(ours[ours["bytes"] > 0]["verified"]) == {"true"}
    host = ours[ours["clock"] == "host"]
    assert host["bandwidth_Bps"].isna().all()
    assert host["flags"].str.contains("through_emulation").all()
    # The card in process takes the same time for the same transfer.
    simulated = ours[ours["clock"] == "simulated"].set_index(["operation", "bytes"])["median_s"]
    card = rows[rows["device"] == f"card:{BOARD}"]
    alike = card.drop_duplicates(["operation", "bytes"]).set_index(["operation", "bytes"])
    for operation in ("write", "read"):
        for size in (4096, 1 << 20):
            assert simulated[operation, size] == alike["median_s"][operation, size]
    if ("launch", 0) in simulated.index:  # the API's own part of a launch is real there
        below_api = boards.load(BOARD).seconds("driver.launch_ns")
        assert simulated["launch", 0] == pytest.approx(below_api)


def test_the_hybrid_is_an_answer_of_its_own(measured: Measured) -> None:
    needs("xrt")
    installed = xrt.find()
    if installed is None or installed.library("xrt_noop") is None:
        pytest.skip("this XRT has no noop shim")
    devices = (f"xrt:0@card={BOARD}", "xrt:0@noop")
    run = measured(*devices)
    assert "hybrid" not in set(summarise(run).to_pandas()["clock"])
    (hybrid,) = (answer for answer in answers(run) if answer.name == "hybrid")
    table = hybrid.table
    assert set(table["clock"]) == {"hybrid"}
    total = table["software_s"] + table["simulated_s"]
    assert table["hybrid_s"].tolist() == total.tolist()
    assert (table["software_s"] > 0).all()


@pytest.mark.slow
def test_two_apis_on_a_card_say_which_share_of_the_time_one_takes(
    card_mode: Command, isthmus: Command, tmp_path: Path
) -> None:
    """The software of both is measured without being named, also when the run goes on."""
    needs("xrt")
    installed = xrt.find()
    if installed is None or installed.library("xrt_noop") is None:
        pytest.skip("this XRT has no noop shim")
    cards = (f"xrt:0@card={BOARD}", f"xocl:0@card={BOARD}")
    out = tmp_path / "apis.json"
    words = ("--bytes", "1,4Ki,1Mi", "--operation", "write,read,launch", "--out", str(out))
    done = card_mode("transfer", cards, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "XRT over OpenCL" in done.stdout
    run = run_file.load(out)
    added = {one.address for one in run.devices if one.added}
    assert added == {"xrt:0@noop", "xocl:0@noop"}
    software = {(one.operation, one.bytes) for one in run.points if one.device in added}
    assert software == {(way, size) for way in ("write", "read") for size in (1, 4096)}
    found = json.loads(isthmus("show", str(out), "--format", "json").stdout)["findings"]
    shares = [one for one in found if one["evidence"] == "api_shares"]
    assert {(one["operation"], one["bytes"]) for one in shares if one["bytes"]} == software
    assert sum(one["headline"] for one in shares) == 2
    for one in shares:
        ends = one["interval"]
        assert 0 < ends["low"] <= ends["value"] <= ends["high"]
    again = isthmus("run", "transfer", "--resume", "--out", str(out), "--budget", "60")
    assert again.returncode == 0, again.stderr
    resumed = run_file.load(out)
    assert {one.address for one in resumed.devices if one.added} == added
    assert len(resumed.points) == len(run.points)


def test_what_cannot_be_a_card_is_said() -> None:
    needs("xrt")
    with pytest.raises(UsageError, match="unknown board"):
        discovery.resolve("xrt:0@card=no-such-board")
    with pytest.raises(UsageError, match="write @card="):
        discovery.resolve("xrt:0@card")


@pytest.mark.parametrize("scheme", ["xrt", "xocl"])
def test_a_link_with_errors_is_refused(scheme: str) -> None:
    needs(scheme)
    with pytest.raises(UsageError, match=r"link with errors .*card:u250,link\.error_rate=1e-4"):
        discovery.resolve(f"{scheme}:0@card=u250,link.error_rate=1e-4")


OFFLOAD = ("--elements", "64Ki", "--memory", "aligned,offset16,alloc_host")


@pytest.mark.parametrize("scheme", ["xrt", "xocl"])
def test_an_offload_has_the_cards_time_beside_the_hosts(scheme: str, measured: Measured) -> None:
    needs(scheme)
    device = f"{scheme}:0@card=u200"
    run = measured(device, "card:u200", study="allocation", words=OFFLOAD)
    rows = summarise(run).to_pandas()
    card = rows[(rows["device"] == "card:u200") & (rows["memory"] == "aligned")]
    published = card.set_index("operation")["median_s"]
    ours = rows[(rows["device"] == device) & (rows["samples"] > 0)]
    assert set(ours["memory"]) == {"aligned", "offset16", "alloc_host"}
    assert set(ours["verified"]) == {"true"}
    assert not set(ours["operation"]) & {"software_vadd", "software_vadd_simd"}
    host = ours[ours["clock"] == "host"]
    assert host["flags"].str.contains("through_emulation").all()
    simulated = ours[ours["clock"] == "simulated"]
    assert set(simulated["operation"]) == {
        "migrate_to_device", "kernel_run", "read_back", "total",
    }  # fmt: skip
    for _, phases in simulated.groupby(["memory", "handover"], dropna=False):
        took = phases.set_index("operation")["median_s"]
        for phase in ("migrate_to_device", "read_back"):  # as the card in process does it
            assert took[phase] == pytest.approx(published[phase], rel=1e-9)
        parts = took.drop("total")
        assert took["total"] == pytest.approx(parts.sum(), rel=1e-9)
        assert took["kernel_run"] < published["kernel_run"]  # the API's part of a launch is real
    by_name = {answer.name: answer for answer in answers(run)}
    assert device not in set(by_name["copies"].table["device"])
    table = by_name["phases"].table
    assert set(table[table["device"] == device]["clock"]) == {"host", "simulated"}


def test_native_xrt_refuses_memory_that_begins_within_a_page(measured: Measured) -> None:
    needs("xrt")
    run = measured(f"xrt:0@card={BOARD}", study="allocation",
        words=("--elements", "4Ki", "--memory", "aligned,offset16"),
    )  # fmt: skip
    skipped = {
        (point.memory, point.axes["handover"]): point.skipped
        for point in run.points
        if point.operation == "total"
    }
    assert "begins within a page" in skipped["offset16", "user_pointer"]
    assert skipped["offset16", "copy"] == skipped["aligned", "user_pointer"] == ""


def test_registers_through_xrt(measured: Measured) -> None:
    needs("xrt")
    ranges = ("--registers", "vadd:0x34", "--memory", "vadd:0x10+8")
    run = measured(f"xrt:0@card={BOARD}", study="mmio",
        words=(*ranges, "--allow-loads", "--allow-writes"),
    )  # fmt: skip
    rows = summarise(run).to_pandas()
    rows = rows[rows["clock"] == "simulated"].set_index("operation")
    card = measured(f"card:{BOARD}", study="mmio",
        words=("--operation", "register_load", "--fence", "none"),
    )  # fmt: skip
    device_s = (
        summarise(card).to_pandas().set_index("operation").loc[["register_load"], "median_s"].min()
    )
    driver_s = boards.load(BOARD).seconds("driver.register_ns")
    assert rows["median_s"]["register_load"] == pytest.approx(device_s + driver_s)
    assert rows["median_s"]["store"] < rows["median_s"]["bar_memory_load"]  # posted
    assert rows["verified"].to_dict() == {
        "register_load": "na", "bar_memory_load": "na", "store": "true",
    }  # fmt: skip
    (accesses,) = (answer for answer in answers(run) if answer.name == "accesses")
    assert set(accesses.table["clock"]) == {"simulated"}


def test_registers_are_refused_in_one_line(card_mode: Command) -> None:
    needs("xrt")
    card = (f"xrt:0@card={BOARD}",)
    for device, words, code, text in (
        (card, ("--registers", "vadd:0x34"), 2, "a range alone permits nothing"),
        (card, ("--registers", "none:0x34", "--allow-loads"), 4, "XRT gives no registers of none"),
        (card, ("--registers", "vadd:0x33", "--allow-loads"), 2,
         "registers of vadd:0x33 are 4 bytes at a multiple of 4"),
        (card, ("--registers", "vadd:0x100000034", "--allow-loads"), 2, "at a multiple of 4"),
        (("xrt:0@noop",), ("--registers", "isthmus_empty:0x0", "--allow-loads"), 4,
         "XRT gives no registers of isthmus_empty"),
    ):  # fmt: skip
        if device == ("xrt:0@noop",) and not _has_noop():
            continue
        done = card_mode("mmio", device, *words)
        assert (done.returncode, text in done.stderr) == (code, True), done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def _has_noop() -> bool:
    installed = xrt.find()
    return installed is not None and installed.library("xrt_noop") is not None
