"""The study mmio: a PCI device as it is here, and the published experiment on the emulated card."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest

import synthetic
from isthmus import boards
from isthmus.analysis.context import answers
from isthmus.analysis.summary import summarise
from isthmus.backends import registry
from isthmus.measure import discovery
from isthmus.models import mmio
from isthmus.published import rows_of
from isthmus.results import run_file
from isthmus.system.environment import is_virtualised

Isthmus = Callable[..., CompletedProcess[str]]
CARD = "card:stratix4-gen2x8"
FUNCTIONS = sorted(Path("/sys/bus/pci/devices").glob("*"))

needs_backend = pytest.mark.skipif(
    not registry()["mmio"].library.exists(), reason="its loops are x86 assembly"
)
needs_pci = pytest.mark.skipif(not FUNCTIONS, reason="no PCI device here")


class Measured:
    """A run of the study: its rows and the tables behind its answers."""

    def __init__(self, path: Path) -> None:
        run = run_file.load(path)
        self.rows = summarise(run).to_pandas()
        self.answers = {one.name: synthetic.answer(run, one.name) for one in answers(run)}
        self.devices = run.devices

    def of(self, **wanted: object) -> pd.DataFrame:
        result = self.rows
        for name, value in wanted.items():
            result = result[result[name] == value]
        return result


@pytest.fixture
def measure(isthmus: Isthmus, tmp_path: Path) -> Callable[..., Measured]:
    def run(*arguments: str) -> Measured:
        out = tmp_path / f"{len(list(tmp_path.glob('*.json')))}.json"
        done = isthmus("run", "mmio", *arguments, "--out", str(out))
        assert done.returncode == 0, done.stderr
        return Measured(out)

    return run


@needs_backend
@needs_pci
def test_without_a_device_the_first_one_s_configuration_space_is_read(
    measure: Callable[..., Measured],
) -> None:
    result = measure("--quick", "--operation", "syscall_load,line_exchange")
    (device,) = result.devices
    assert device.address in {f"pci:{one.name}" for one in FUNCTIONS}
    reads = result.of(operation="syscall_load")
    assert set(reads["memory"]) == {"config"}
    assert set(reads["verified"]) == {"true"}
    assert reads["bytes"].tolist() == [1, 2, 4, 8, 16, 32, 64]
    virtualised = result.rows["flags"].str.contains("virtualised")
    assert virtualised.all() if is_virtualised() else not virtualised.any()


@needs_backend
@needs_pci
def test_a_run_that_names_no_device_takes_one_pci_device_only() -> None:
    addresses = [one.address for one in discovery.real_devices()]
    assert len([address for address in addresses if address.startswith("pci:")]) == 1


@needs_backend
@needs_pci
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--allow-writes",), 2, "name the range to access"),
        (("--registers", "0:0"), None, ""),
        (("--memory", "0:0", "--allow-loads"), 2, "say how many bytes"),
        (("--memory", "9:0+4Ki", "--allow-loads"), 2, "no memory BAR 9"),
        (("--memory", "9:0x1000+4Ki", "--allow-loads"), 2, "--memory 9:0x1000+4Ki: "),
        (("--registers", "zero", "--allow-loads"), 2, "BAR:OFFSET"),
    ],
)
def test_a_bar_is_refused_in_one_line(
    isthmus: Isthmus, words: tuple[str, ...], code: int | None, message: str
) -> None:
    device = f"pci:{FUNCTIONS[0].name}"
    done = isthmus("run", "mmio", "--quick", "--device", device, *words)
    assert done.returncode == code if code else done.returncode in {2, 4}
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@needs_backend
@pytest.mark.skipif(
    not any((one / "driver").exists() for one in FUNCTIONS), reason="no PCI device has a driver"
)
def test_what_a_driver_has_is_left_to_it(isthmus: Isthmus) -> None:
    def has_memory(one: Path) -> bool:
        first = (one / "resource").read_text().splitlines()[0].split()
        return int(first[1], 16) > 0 and int(first[2], 16) & 0x200 != 0

    claimed = [one for one in FUNCTIONS if (one / "driver").exists() and has_memory(one)]
    if not claimed:
        pytest.skip("no PCI device with a driver has memory in BAR 0")
    words = ("--registers", "0:0", "--allow-loads")
    done = isthmus("run", "mmio", "--quick", "--device", f"pci:{claimed[0].name}", *words)
    assert done.returncode == 4
    assert f"driver {(claimed[0] / 'driver').resolve().name} has" in done.stderr


@needs_backend
@needs_pci
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "mmio needs registers that may be loaded: name them, --registers BAR:OFFSET+8"),
        (("--registers", "0:0+8"), None, ""),
        (("--registers", "zero", "--allow-loads"), 2, "BAR:OFFSET"),
        (("--memory", "9:0+4Ki", "--allow-loads"), 2, "no memory BAR 9"),
        (("--allow-writes",), 2, "name the range to access"),
    ],
)
def test_published_figures_touch_of_a_real_card_only_what_is_named(
    isthmus: Isthmus, words: tuple[str, ...], code: int | None, message: str, tmp_path: Path
) -> None:
    device = f"pci:{FUNCTIONS[0].name}"
    done = isthmus(
        "reproduce", "mmio/read-latency", "--device", device, "--out", str(tmp_path), *words
    )
    assert done.returncode == code if code else done.returncode in {2, 4}
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.glob("*.json"))


@needs_backend
@needs_pci
@pytest.mark.slow
def test_a_whole_source_says_too_that_a_real_card_needs_registers_named(
    isthmus: Isthmus, tmp_path: Path
) -> None:
    """Configuration space can be read without, which gives none of the figures."""
    device = f"pci:{FUNCTIONS[0].name}"
    done = isthmus("reproduce", "mmio", "--device", device, "--out", str(tmp_path))
    assert done.returncode == 2
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("name them, --registers BAR:OFFSET+8 --allow-loads")
    assert not done.stdout


def test_leave_for_a_bar_is_no_use_to_other_devices(isthmus: Isthmus) -> None:
    done = isthmus("run", "mmio", "--device", CARD, "--allow-writes", "--registers", "0:0")
    assert done.returncode == 2
    assert "no device of this run takes it" in done.stderr


def test_the_published_experiment_again(measure: Callable[..., Measured]) -> None:
    """The answer's rows are those of ``isthmus reproduce mmio`` that a study gives."""
    result = measure("--device", CARD)
    assert set(result.rows["clock"]) == {"simulated"}
    again = result.answers["published_figures"].table.set_index("item")
    rows = {row.item: row for row in rows_of("mmio")}
    assert set(again.index) == set(rows)
    for item, row in rows.items():
        assert again["published"][item] == row.nearest(again["here"][item])
        assert again["how"][item] == row.how
    for item, within in {
        "status register read": 0.01,
        "status register read 2": 0.01,
        "load of SRAM": 0.01,
        "SRAM less status register": 0.06,
        "loads of 8 B": 0.01,
        "loads of 64 B": 0.01,
        "spin on a flag, then load": 0.2,
        "1 MiB stored in ever smaller blocks": 0.35,
        "stores of 64 B": 0.01,
        "stores of 64 B over the raw rate of the link": 0.01,
        "streaming loads over 16 B loads": 0.02,
        "time of loads over time of DMA, 64 B": 0.05,
        "load of SRAM over 71 ns": 0.05,
        "3 read latencies": 0.1,
        "push, poll and fetch in read latencies": 0.15,
        "cached over uncached loads: 8 x 8 x 2 x load of SRAM over 67 ns": 0.04,
    }.items():
        assert abs(again["residual"][item]) <= within, item
        assert again["residual"][item] == pytest.approx(
            again["here"][item] / rows[item].published - 1
        )
    fitted = set(again.index[again["how"] == "fitted"])
    assert {"status register read", "load of SRAM", "loads of 8 B"} <= fitted
    predicted = set(again.index[again["how"] == "predicted"])
    assert "stores of 64 B" in predicted
    assert again["how"]["spin on a flag, then load"] == "alike"
    work = result.answers["synchronisation"].table.iloc[0]
    assert work["instructions"] == pytest.approx(16_000, rel=0.12)
    assert work["cpu_flops"] == pytest.approx(32_000, rel=0.12)
    (meeting,) = result.answers["crossover"].table.query("instruction == 'movntdqa'")[
        "crossover_bytes"
    ]
    assert 400 < meeting < 512


def test_loads_and_dma_share_sizes_as_the_source_says() -> None:
    """Loads take about half of DMA's time to 128 B, less of an advantage then, none from 1 KiB."""
    board = boards.load("stratix4-gen2x8")
    share = {size: mmio.share_of_dma(board, size) for size in (8, 64, 128, 256, 1024)}
    assert all(0.45 < share[size] < 0.6 for size in (8, 64, 128))
    assert 0.6 < share[256] < 1 < share[1024]
    assert board.settings["dma.submit_ns"].kind != "fitted"


def test_another_card_is_not_held_against_the_publication(
    measure: Callable[..., Measured],
) -> None:
    few = ("--operation", "register_load", "--width", "8")
    result = measure("--device", f"{CARD},link.lanes=4", *few)
    assert not result.answers["published_figures"].has_rows
    assert result.answers["accesses"].has_rows


def test_simulated_loads_and_stores_agree_with_the_closed_forms(
    measure: Callable[..., Measured],
) -> None:
    result = measure("--device", CARD, "--bytes", "8,64,1Mi")
    board = boards.load("stratix4-gen2x8")
    dependent = {"pipelined": "no", "fence": "none", "width": 8, "memory": "bar_uc"}
    for operation, sram in (("register_load", False), ("bar_memory_load", True)):
        (time,) = result.of(operation=operation, bytes=8, **dependent)["median_s"]
        assert time == pytest.approx(mmio.load_s(board, sram=sram), rel=0.005)
    line = {"instruction": "movntdqa", "width": 16, "pipelined": "yes", "bytes": 1 << 20}
    (rate,) = result.of(operation="bar_memory_load", **line)["bandwidth_Bps"]
    assert rate == pytest.approx(mmio.streaming_rate(board), rel=0.005)
    line = {"instruction": "movdir64b", "memory": "bar_wc", "pipelined": "yes", "bytes": 1 << 20}
    for rate in result.of(operation="store", **line)["bandwidth_Bps"]:
        assert rate == pytest.approx(mmio.store_rate(board), rel=0.005)
    # Each point has sizes that its instruction can make up.
    assert (result.rows["bytes"] % result.rows["width"].replace("", 1).astype(int) == 0).all()


def test_a_run_of_wide_loads_only_is_summarised(isthmus: Isthmus, tmp_path: Path) -> None:
    options = ("--bytes", "64", "--memory", "bar_uc", "--operation", "bar_memory_load")
    done = isthmus("run", "mmio", "--device", CARD, *options, "--out", str(tmp_path / "run.json"))
    assert done.returncode == 0, done.stderr
    assert "model of stratix4" in done.stdout


def test_what_is_faster_than_the_link_is_told(measure: Callable[..., Measured]) -> None:
    few = ("--bytes", "8,64,4Ki", "--width", "8", "--memory", "bar_uc,bar_wc")

    def with_anomaly(measured: Measured, kind: str) -> set[tuple[str, str, int]]:
        table = measured.answers["anomalies"].table
        matching = table[table["anomaly"] == kind]
        return set(zip(matching["instruction"], matching["memory"], matching["bytes"], strict=True))

    plain = measure("--device", CARD, *few)
    assert not with_anomaly(plain, "speculated")
    merged = plain.rows[plain.rows["flags"].str.contains("merged_stores")]
    assert with_anomaly(plain, "merged stores") == {
        ("mov", "bar_wc", 4096),
        ("movnti", "bar_wc", 4096),
    }
    assert {4096, 64} == set(merged["bytes"])
    ahead = measure("--device", f"{CARD},speculation=yes", *few)
    served = ahead.rows[ahead.rows["flags"].str.contains("speculated")]
    assert set(served["memory"]) == {"bar_wc"}
    assert ("mov", "bar_wc", 64) in with_anomaly(ahead, "speculated")
    assert set(served["fence"]) == {"none"}
    fenced = {"memory": "bar_wc", "fence": "lfence", "bytes": 8}
    (before,), (after,) = (result.of(**fenced)["median_s"] for result in (plain, ahead))
    assert before == after  # in order, so that nothing is fetched ahead
    slower = plain.of(operation="bar_memory_load", memory="bar_wc", bytes=64)["median_s"].min()
    assert served[served["bytes"] == 64]["median_s"].max() < slower / 5
    uncached = {"operation": "bar_memory_load", "memory": "bar_uc"}
    assert ahead.of(**uncached)["median_s"].tolist() == plain.of(**uncached)["median_s"].tolist()


def test_mappings_that_nobody_grants_are_marked(measure: Callable[..., Measured]) -> None:
    result = measure("--device", CARD, "--operation", "bar_memory_load", "--bytes", "4Ki",
                    "--memory", "bar_uc,bar_wt,bar_wp", "--width", "8")  # fmt: skip
    marked = result.rows[result.rows["flags"].str.contains("what_if")]
    assert set(marked["memory"]) == {"bar_wt", "bar_wp"}
    (uncached,) = result.of(memory="bar_uc")["median_s"]
    assert (marked["median_s"] < uncached / 10).all()
