"""Checks C++ sources with clang-tidy: the changed files and files that include them, or all.

A file counts as changed if it differs from the commit ``history.base``. A file that passed is
checked again only when the file, a header of the project that it includes, or its command changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cpp_tests import CATCH2, JOBS, MODULE, ROOT, configure
from history import base, git

CLANG_TIDY = ROOT / ".venv" / "bin" / "clang-tidy"
ROOMS = ("cpp", "card", "emulation")
NOT_OF_TESTS = "-clang-analyzer-*"
"""Rules that tests leave out. The analyzer follows every path through Catch2's macros, which takes
four fifths of the time; the sanitizers check the same code while it runs.
"""
AS_OTHERS = "/plugin/hls/"
"""Part of the path of headers that stand in for AMD's. Rules about names, types and C++20 do not
apply to them, because AMD chose these."""
BUILD = ROOT / "build" / "clang-tidy"
CLEAN = BUILD / "clean.json"  # fingerprints of the files that passed
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)


def changed(since: str) -> set[Path] | None:
    """Files that differ from a commit; None (all files) if git does not have this commit."""
    names = (
        git("diff", "--name-only", since, "--") + "\n" + git("ls-files", "-o", "--exclude-standard")
    )
    if not git("rev-parse", "--verify", "--quiet", f"{since}^{{commit}}"):
        return None
    if ".clang-tidy" in names or "clang-tidy==" in git(
        "diff", "--unified=0", since, "--", "pyproject.toml"
    ):
        return None
    return {ROOT / name for name in names.splitlines() if name}


class Includes:
    """Finds which files of the project each file of the project includes.

    An included name is a path relative to the file that includes it. If no header lies at that
    path, the name stands for every header whose path ends with it.
    """

    def __init__(self) -> None:
        files = [path for room in ROOMS for path in (ROOT / room).glob("**/*.[ch]pp")]
        headers = {path for path in files if path.suffix == ".hpp"}

        def named(name: str, file: Path) -> set[Path]:
            path = Path(os.path.normpath(file.parent / name))
            if path in headers:
                return {path}
            end = "/" + name.rpartition("../")[2]
            return {header for header in headers if header.as_posix().endswith(end)}

        self._direct = {
            file: set().union(
                *(named(name, file) for name in INCLUDE.findall(file.read_text(encoding="utf-8")))
            )
            for file in files
        }

    def of(self, file: Path) -> set[Path]:
        """Returns the file and all files that it includes, directly or indirectly."""
        including: set[Path] = set()
        due = {file}
        while due:
            including |= due
            due = {header for path in due for header in self._direct.get(path, ())} - including
        return including


def prepare() -> bool:
    """Runs CMake, which writes each source's command to compile, and makes generated headers."""
    cache = MODULE / "CMakeCache.txt"
    python = re.findall(
        r"^Python_(?:EXECUTABLE|INCLUDE_DIR):.*", cache.read_text(encoding="utf-8"), re.M
    )
    tests = "ON" if CATCH2.exists() else "OFF"
    separate = ("-DCMAKE_UNITY_BUILD=OFF", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON")
    if not configure(
        BUILD,
        *separate,
        *(f"-D{entry}" for entry in python),
        f"-DISTHMUS_TESTS={tests}",
        "-DISTHMUS_EMULATION=ON",
    ):
        return False
    # Without Verilator CMake has no such target, so a failure is no error.
    command = ["cmake", "--build", str(BUILD), "--parallel", JOBS, "--target", "isthmus_verilated"]
    subprocess.run(command, check=False, capture_output=True)
    return True


def sources() -> dict[Path, str]:
    """Returns the project's compiled files, each with its commands to compile: one per target."""
    entries = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    commands: dict[Path, str] = {}
    for file, command in sorted((Path(entry["file"]), entry["command"]) for entry in entries):
        if any(file.is_relative_to(ROOT / room) for room in ROOMS):
            commands[file] = f"{commands.get(file, '')}{command}\n"
    return commands


def fingerprint(file: Path, commands: str, includes: Includes) -> str:
    """Fingerprint of a file, of the commands that compile it and of all files that it includes."""
    read = [ROOT / ".clang-tidy", ROOT / "pyproject.toml", *sorted(includes.of(file))]
    contents = [commands.encode(), *(path.read_bytes() for path in read)]
    return hashlib.sha256(b"".join(contents)).hexdigest()


def complaint(file: Path) -> str:
    """Runs clang-tidy on a file; returns what it reports, empty if nothing."""
    command = [
        str(CLANG_TIDY), "-p", str(BUILD), "--quiet", "--warnings-as-errors=*",
        f"--exclude-header-filter={AS_OTHERS}", str(file),
    ]  # fmt: skip
    if "tests" in file.relative_to(ROOT).parts:
        command.append(f"--checks={NOT_OF_TESTS}")
    answer = subprocess.run(command, check=False, capture_output=True, text=True)
    return "" if answer.returncode == 0 else answer.stdout or answer.stderr


def main() -> int:
    """Checks the files that need it, and prints how many it checked."""
    if not prepare():
        return 1
    files = sources()
    includes = Includes()
    since = base()
    touched = None if "--all" in sys.argv[1:] else changed(since)
    concerned = {
        file: fingerprint(file, commands, includes)
        for file, commands in files.items()
        if touched is None or includes.of(file) & touched
    }
    passed = set(json.loads(CLEAN.read_text(encoding="utf-8"))) if CLEAN.exists() else set()
    due = [file for file, print_ in concerned.items() if print_ not in passed]
    # Largest files first, which take longest: otherwise one processor works alone at the end.
    due.sort(key=lambda file: file.stat().st_size, reverse=True)
    with ThreadPoolExecutor(int(JOBS)) as pool:
        results = zip(due, pool.map(complaint, due), strict=True)
        complaints = {file: text for file, text in results if text}
    for text in complaints.values():
        print(text)
    clean = {print_ for file, print_ in concerned.items() if file not in complaints}
    CLEAN.write_text(json.dumps(sorted(passed | clean), indent=1), encoding="utf-8")
    which = "all" if touched is None else f"changed since {since[:8]}"
    print(
        f"clang-tidy: {len(clean)} of {len(concerned)} files clean ({which}; {len(files)} in all), "
        f"{len(due)} looked at"
    )
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
