"""Checks the C++ sources with clang-tidy, each as its build compiles it, and none twice."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cpp_tests import CATCH2, ROOT, configure

CLANG_TIDY = ROOT / ".venv" / "bin" / "clang-tidy"
ROOMS = ("cpp", "card")
NOT_OF_TESTS = "-clang-analyzer-*"
"""It follows every path through Catch2's macros, four fifths of all the time, and the sanitizers
run what it guesses at."""
CLEAN = ROOT / "build" / "clang-tidy.json"  # fingerprints of what was found clean


def sources() -> dict[Path, Path]:
    """Every compiled file of ours, with a build folder that knows how."""
    found: dict[Path, Path] = {}
    for commands in sorted((ROOT / "build").glob("*/compile_commands.json"), reverse=True):
        for entry in json.loads(commands.read_text(encoding="utf-8")):
            file = Path(entry["file"])
            if file.exists() and any(file.is_relative_to(ROOT / room) for room in ROOMS):
                found.setdefault(file, commands.parent)
    return found


def build_what_is_generated() -> None:
    """Headers that are made while building; without Verilator there is no such target."""
    command = ["cmake", "--build", str(ROOT / "build" / "tests"), "--parallel", str(os.cpu_count()),
               "--target", "isthmus_card_rtl_models"]  # fmt: skip
    subprocess.run(command, check=False, capture_output=True)


def headers() -> list[Path]:
    """All headers of ours, in order."""
    return sorted(path for room in ROOMS for path in (ROOT / room).glob("**/*.hpp"))


def fingerprints(files: list[Path]) -> dict[Path, str]:
    """One for each file: of itself and of what all depend on."""
    shared = [ROOT / ".clang-tidy", ROOT / "pyproject.toml", *headers()]
    common = b"".join(path.read_bytes() for path in shared if path.exists())
    return {file: hashlib.sha256(common + file.read_bytes()).hexdigest() for file in files}


def complaint(file: Path, build: Path) -> str:
    """What clang-tidy says against a file; nothing when it is content."""
    command = [str(CLANG_TIDY), "-p", str(build), "--quiet", "--warnings-as-errors=*", str(file)]
    if "tests" in file.relative_to(ROOT).parts:
        command.append(f"--checks={NOT_OF_TESTS}")
    answer = subprocess.run(command, check=False, capture_output=True, text=True)
    return "" if answer.returncode == 0 else answer.stdout or answer.stderr


def main() -> int:
    """Checks what changed since it was clean, and says how many files are clean."""
    if CATCH2.exists() and not configure(ROOT / "build" / "tests"):
        return 1
    build_what_is_generated()
    found = sources()
    prints = fingerprints(list(found))
    known = set(json.loads(CLEAN.read_text(encoding="utf-8"))) if CLEAN.exists() else set()
    due = {file: build for file, build in found.items() if prints[file] not in known}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = dict(zip(due, pool.map(complaint, due, due.values()), strict=True))
    for text in filter(None, complaints.values()):
        print(text)
    clean = [prints[file] for file in found if not complaints.get(file)]
    CLEAN.write_text(json.dumps(clean, indent=1), encoding="utf-8")
    print(f"clang-tidy: {len(clean)} of {len(found)} files clean, {len(due)} looked at")
    return 0 if len(clean) == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
