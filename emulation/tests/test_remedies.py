"""What ``--watch`` expects of a change of a loop, and what the changed kernel then takes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from on_cards import NATIVE, Run, card_exec, compile_host, emulated

from conftest import Command, made_once
from isthmus_emulation import compiler
from isthmus_emulation.estimate import libclang, reader, rules
from isthmus_emulation.estimate.preprocessed import Preprocessed
from isthmus_emulation.xclbin.kinds import DATA_MHZ

__all__ = ["card_exec", "emulated"]  # fixtures
REMEDIES = Path(__file__).parents[2] / "kernels" / "remedies"
GIVEN = msgspec.toml.decode((REMEDIES / "pairs.toml").read_bytes())
WITHIN = 0.02
"""Error of an expected time that is allowed without ``within``: no time is measured."""

pytestmark = pytest.mark.skipif(libclang.cindex() is None, reason="no libclang")


@pytest.fixture(scope="session")
def remedies(run_isthmus: Command) -> Path:
    """A folder with the host program and all kernels."""

    def make(folder: Path) -> None:
        for file in REMEDIES.iterdir():
            shutil.copy(file, folder)
        sources = [one.name for one in sorted(folder.glob("*.cpp")) if one.name != "host.cpp"]
        made = run_isthmus("card", "kernel", "build", *sources, "-o", "all.xclbin", cwd=folder)
        assert made.returncode == 0, made.stderr
        include = run_isthmus("card", "include", cwd=folder).stdout.strip()
        host = folder / "host"
        compile_host("cannot find", f"-I{include}", f"{host}.cpp", "-o", host, *NATIVE)

    return made_once("remedies", make)


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("board", ["u250", "u55c"])
@pytest.mark.parametrize("pair", GIVEN["pairs"], ids=lambda one: f"{one['before']}-{one['after']}")
def test_a_changed_loop_takes_what_was_expected(
    pair: dict[str, Any], board: str, card_exec: Run, remedies: Path, tmp_path: Path
) -> None:
    ran, regions = {}, {}
    for kernel in (pair["before"], pair["after"]):
        trace = tmp_path / f"{kernel}.json"
        ran[kernel] = card_exec(
            "--clock", "card", "--watch", "--trace", trace, "--board", board, "--kernels", remedies,
            "--", remedies / "host", remedies / "all.xclbin", kernel, 2,
            *GIVEN["arguments"][kernel.partition("_")[0]],
        )  # fmt: skip
        assert ran[kernel].code == 0, ran[kernel].errors
        found: list[dict[str, Any]] = json.loads(trace.read_text())["otherData"]["bounds"]
        (regions[kernel],) = [one for one in found if one["name"] == "items"]
    before, after = (ran[pair[which]].figures for which in ("before", "after"))
    assert before["sum"] == after["sum"]
    within = pair.get("within", WITHIN)
    (change,) = [one for one in regions[pair["before"]]["changes"] if one["kind"] == pair["change"]]
    assert change["item_s"] == pytest.approx(after["item_s"], rel=within)
    assert change["gain"] == pytest.approx(before["item_s"] / after["item_s"], rel=within)
    assert pair["change"] not in {
        one["kind"] for one in regions[pair["after"]]["changes"] if one["name"] == change["name"]
    }
    said = " ".join(" ".join(ran[pair["before"]].errors).split())
    assert "(estimate of the changed source)" in said


NOT_A_SUM = """void k(const int* in, int* out, int n) {{
  int t[256];
  for (int i = 0; i < 256; ++i) t[i] = in[i];
  for (int i = 0; i < n; ++i) {{
    {body}
  }}
  for (int i = 0; i < 256; ++i) out[i] = t[i];
}}
"""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param("t[in[i] & 255] += 2;", {"tables"}, id="adds"),
        pytest.param("t[in[i] & 255] *= 2;", set(), id="multiplies"),
        pytest.param("t[in[i] & 255] = t[in[i + 1] & 255] + 1;", set(), id="another-element"),
        pytest.param("t[in[i] & 255] += t[7];", set(), id="needs-another-element"),
    ],
)
def test_tables_are_named_only_where_they_give_the_same(
    tmp_path: Path, body: str, wanted: set[str]
) -> None:
    source = tmp_path / "k.cpp"
    source.write_text(NOT_A_SUM.format(body=body))
    read = reader.read(
        libclang.cindex(), source, Preprocessed(source.read_bytes(), compiler.PARTS), "k"
    )
    assert read is not None
    found = rules.estimate(read.code, DATA_MHZ, with_changes=True).changes
    assert {one.kind for one in found} & {"tables"} == wanted
