"""The table of what the RTL kernels need: complete, and made as the tool would make it now."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def synthesise() -> ModuleType:
    path = ROOT / "tools" / "synthesise.py"
    spec = importlib.util.spec_from_file_location("synthesise", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(synthesise: ModuleType) -> dict[str, list[float]]:
    page = (ROOT / "docs" / "rtl.md").read_text(encoding="utf-8")
    table = page.partition(synthesise.BEGIN)[2].partition(synthesise.END)[0]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    return {name: [float(value) for value in values] for name, *values in cells[2:]}


def test_every_kernel_is_in_the_table(synthesise: ModuleType) -> None:
    tops = {
        path.stem
        for path in (ROOT / "card" / "rtl").glob("*.sv")
        if " ap_clk," in path.read_text(encoding="utf-8")
    }
    assert set(synthesise.KERNELS) == tops
    assert set(rows(synthesise)) == tops


def test_cells_are_counted(synthesise: ModuleType) -> None:
    cells = {"LUT6": 3, "RAM32M16": 1, "FDRE": 5, "RAMB36E2": 2, "RAMB18E2": 1, "CARRY4": 9}
    needs = {"LUT": 11, "FF": 5, "BRAM36": 2.5, "URAM": 0, "DSP": 0}
    assert synthesise.resources(cells) == needs
    with pytest.raises(ValueError, match="NEW_CELL"):
        synthesise.resources({"NEW_CELL": 1})


def test_text_around_the_table_stays(synthesise: ModuleType) -> None:
    page = f"a\n{synthesise.BEGIN}\nold\n{synthesise.END}\nb"
    new = f"a\n{synthesise.BEGIN}\nnew\n{synthesise.END}\nb"
    assert synthesise.replaced(page, "new") == new
    with pytest.raises(ValueError, match="lacks"):
        synthesise.replaced("no markers", "new")


@pytest.mark.slow
def test_the_table_is_of_these_sources(synthesise: ModuleType) -> None:
    if shutil.which("yosys") is None:
        pytest.skip("no yosys (apt-get install yosys)")
    kernel = "sram_controller"  # the quickest
    now = list(synthesise.resources(synthesise.cells_of(kernel)).values())
    version = synthesise.version()
    if version not in (ROOT / "docs" / "rtl.md").read_text(encoding="utf-8"):
        pytest.skip(f"the table was made by another version than {version}")
    assert now == rows(synthesise)[kernel]
