"""Run files of every earlier form: they are read, shown, compared and reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import isthmus as package
from conftest import Command
from isthmus.reporters.html import write_page
from isthmus.results import run_file

DATA = Path(__file__).parent / "data" / "runs"
FILES = sorted(DATA.glob("*.json"))
FORM = run_file.schema()


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def earlier(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def fields(value: object, form: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names of structures of the schema, with the fields of them that a value has."""
    alternatives = [form, *form.get("anyOf", [])]
    for one in alternatives:
        if isinstance(value, list):
            for item in value:
                yield from fields(item, one.get("items", {}))
        elif isinstance(value, dict) and "$ref" in one:
            name = one["$ref"].rpartition("/")[2]
            for key, item in value.items():
                yield name, key
                yield from fields(item, FORM["$defs"][name]["properties"].get(key, {}))
        elif isinstance(value, dict) and isinstance(one.get("additionalProperties"), dict):
            for item in value.values():
                yield from fields(item, one["additionalProperties"])


def test_a_file_has_each_field_of_the_form_and_none_was_taken_away() -> None:
    """Fails for a new field until a file that has it is stored, and for one that is gone.

    What a PCIe function does not have is not written.
    """
    known = {
        (name, key) for name, one in FORM["$defs"].items() for key in one.get("properties", ())
    }
    found = {pair for path in FILES for pair in fields(json.loads(path.read_bytes()), FORM)}
    assert found <= known
    assert {name for name, _ in known - found} <= {"Function", "Port", "Bar"}


def test_every_file_is_valid_and_loses_nothing(earlier: Path) -> None:
    written = json.loads(earlier.read_bytes())
    jsonschema.validate(written, FORM)
    run = run_file.load(earlier)
    again = json.loads(run_file.encode(run))
    assert subset(written, again)
    loaded = package.load(earlier)
    assert len(loaded.samples()) == sum(
        len(one.ticks) for p in run.points for r in p.reruns for one in r.clocks.values()
    )
    assert loaded.frame()["median_s"].gt(0).sum() >= len({p.operation for p in run.points})
    assert loaded.findings
    assert loaded.run.origin or loaded.environment


def subset(part: object, whole: object) -> bool:
    """Whether all that the first has is in the second."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(k in whole and subset(v, whole[k])
                                               for k, v in part.items())  # fmt: skip
    if isinstance(part, list):
        return isinstance(whole, list) and len(part) == len(whole) and all(map(subset, part, whole))
    return part == whole


def test_every_command_on_runs_takes_it(earlier: Path, isthmus: Command, tmp_path: Path) -> None:
    shown = isthmus("show", str(earlier))
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("Isthmus: ")
    table = isthmus("show", str(earlier), "--format", "csv")
    assert len(table.stdout.splitlines()) > 1
    compared = isthmus("compare", str(earlier), str(earlier))
    assert compared.returncode == 0, compared.stderr
    page = write_page([(earlier.name, run_file.load(earlier))], tmp_path / "page")
    assert page.stat().st_size > 10_000
    cited = isthmus("cite", str(earlier))
    assert cited.returncode == 0, cited.stderr
    assert "@software{isthmus," in cited.stdout
