"""Checks the C++ sources with clang-tidy, in parallel, each as its build compiles it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cpp_tests import CATCH2, ROOT, configure

CLANG_TIDY = ROOT / ".venv" / "bin" / "clang-tidy"


def sources() -> dict[Path, Path]:
    """Every compiled file of ours, with a build folder that knows how."""
    found: dict[Path, Path] = {}
    for commands in sorted((ROOT / "build").glob("*/compile_commands.json"), reverse=True):
        for entry in json.loads(commands.read_text(encoding="utf-8")):
            file = Path(entry["file"])
            if file.is_relative_to(ROOT / "cpp") and file.exists():
                found.setdefault(file, commands.parent)
    return found


def complaint(file: Path, build: Path) -> str:
    """What clang-tidy says against a file; nothing when it is content."""
    command = [str(CLANG_TIDY), "-p", str(build), "--quiet", "--warnings-as-errors=*", str(file)]
    answer = subprocess.run(command, check=False, capture_output=True, text=True)
    return "" if answer.returncode == 0 else answer.stdout or answer.stderr


def main() -> int:
    """Checks all files and says how many are clean."""
    if CATCH2.exists() and not configure(ROOT / "build" / "tests"):
        return 1
    found = sources()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for text in pool.map(complaint, found, found.values()) if text]
    print("\n".join(complaints), end="")
    print(f"clang-tidy: {len(found) - len(complaints)} of {len(found)} files clean")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
