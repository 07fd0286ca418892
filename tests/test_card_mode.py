"""``xrt:0@card=BOARD``, ``xocl:0@card=BOARD``: simulated time, host time apart, and the hybrid."""

import subprocess
import sys
from pathlib import Path

import pytest

from isthmus import boards
from isthmus.analysis import answers
from isthmus.analysis.summary import summarise
from isthmus.errors import UsageError
from isthmus.measure import discovery
from isthmus.results import run_file
from isthmus.system import xrt

BOARD = "f1-vu9p"
AXES = ("--axis", "bytes=4Ki,1Mi", "--axis", "operation=write,read,launch", "--axis", "bank=0")


def needs(scheme: str) -> None:
    from isthmus.emulation.session import PROCESS

    found = xrt.find()
    if found is None or found.library("xrt_hwemu") is None or not PROCESS.exists():
        pytest.skip("XRT with its hardware emulation is not here")
    if not discovery.by_scheme(scheme).library.exists():
        pytest.skip(f"the backend of {scheme} was not built")


def measured(path: Path, *devices: str) -> run_file.Run:
    named = [word for device in devices for word in ("--device", device)]
    command = [sys.executable, "-m", "isthmus", "run", "transfer", "--quick", *named, *AXES]
    done = subprocess.run(
        [*command, "--out", str(path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return run_file.load(path)


@pytest.mark.parametrize("scheme", ["xrt", "xocl"])
def test_simulated_and_host_time_are_apart(scheme: str, tmp_path: Path) -> None:
    needs(scheme)
    device = f"{scheme}:0@card={BOARD}"
    run = measured(tmp_path / "run.json", device, f"card:{BOARD}")
    rows = summarise(run)
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


def test_the_hybrid_is_an_answer_of_its_own(tmp_path: Path) -> None:
    needs("xrt")
    found = xrt.find()
    if found is None or found.library("xrt_noop") is None:
        pytest.skip("this XRT has no noop shim")
    devices = (f"xrt:0@card={BOARD}", "xrt:0@noop")
    run = measured(tmp_path / "run.json", *devices)
    assert "hybrid" not in set(summarise(run)["clock"])
    (hybrid,) = (answer for answer in answers.answers(run) if answer.name == "hybrid")
    table = hybrid.table
    assert set(table["clock"]) == {"hybrid"}
    total = table["software_s"] + table["simulated_s"]
    assert table["hybrid_s"].tolist() == total.tolist()
    assert (table["software_s"] > 0).all()
    assert "hybrid" in hybrid.verdict


def test_what_cannot_be_a_card_is_said() -> None:
    needs("xrt")
    with pytest.raises(UsageError, match="unknown board"):
        discovery.resolve("xrt:0@card=no-such-board")
    with pytest.raises(UsageError, match="write @card="):
        discovery.resolve("xrt:0@card")
