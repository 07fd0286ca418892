"""The wheel can be built in an old system; the build itself needs one (packaging/debian11.sh)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "packaging" / "debian11.sh"
LACKS = {
    "headers": r"#include <(barrier|expected|format|generator|latch|print|semaphore|source_location"
    r"|spanstream|stacktrace|syncstream)>",
    "functions": r"\bstd::(bit_cast|format|make_shared_for_overwrite|to_chars)\b",
    "members": r"\.notify_(one|all)\(\);",
}
"""Of C++20 and later, what the library of GCC 10 lacks."""


def sources() -> list[Path]:
    """Of what is in the wheel: no tests, no programs for other compilers."""
    listed = subprocess.run(
        ["git", "ls-files", "cpp", "card", "emulation"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    return [
        ROOT / name for name in listed if re.search(r"\.[ch]pp$", name) and "/tests/" not in name
    ]


def test_sources_use_nothing_that_the_oldest_compiler_lacks() -> None:
    found = sources()
    assert len(found) > 100
    of_name: dict[str, str] = {}  # a source with its header
    for path in found:
        of_name[path.stem] = of_name.get(path.stem, "") + path.read_text(encoding="utf-8")
    for path in found:
        text = path.read_text(encoding="utf-8")
        # What waits on a condition variable may notify it.
        waits = "condition_variable" in of_name[path.stem]
        patterns = [one for name, one in LACKS.items() if name != "members" or not waits]
        assert not [match[0] for one in patterns for match in re.finditer(one, text)], path


def test_the_release_builds_a_wheel_for_each_python() -> None:
    """One each before 3.12, whose wheel serves the later ones."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    job = workflow["jobs"]["wheel"]
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    least, last = (
        int(re.search(pattern, project)[1])  # type: ignore[index]
        for pattern in (r'requires-python = ">=3\.(\d+)"', r'wheel\.py-api = "cp3(\d+)"')
    )
    assert job["strategy"]["matrix"]["python"] == [f"3.{i}" for i in range(least, last + 1)]
    assert job["container"] == "debian:11"
    assert any(f"packaging/{SCRIPT.name}" in step.get("run", "") for step in job["steps"])


@pytest.mark.parametrize("path", [SCRIPT], ids=lambda path: path.name)
def test_scripts_are_plain_shell(path: Path) -> None:
    subprocess.run(["sh", "-n", path], check=True)
