"""Checks C++ sources with clang-tidy: those that changed, those that include what changed, or all.

A file changed if it differs from the commit ``history.base``. A clean file is checked again only
when it, a header of ours in it or the way it is compiled changes.
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
"""It follows every path through Catch2's macros, four fifths of all the time, and the sanitizers
run what it guesses at."""
AS_OTHERS = "/plugin/hls/"
"""Headers that stand in for AMD's: names, types and C++17 are AMD's choice."""
BUILD = ROOT / "build" / "clang-tidy"
CLEAN = BUILD / "clean.json"  # fingerprints of what was found clean
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)


def changed(since: str) -> set[Path] | None:
    """Files that differ from a commit; None where that means all."""
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
    """Which files of ours each one includes.

    A name is a path from the file that includes it; if nothing is there, it stands for every header
    that ends with it.
    """

    def __init__(self) -> None:
        files = [path for room in ROOMS for path in (ROOT / room).glob("**/*.[ch]pp")]
        headers = {path for path in files if path.suffix == ".hpp"}

        def named(name: str, file: Path) -> set[Path]:
            here = Path(os.path.normpath(file.parent / name))
            if here in headers:
                return {here}
            end = "/" + name.rpartition("../")[2]
            return {one for one in headers if one.as_posix().endswith(end)}

        self._direct = {
            file: set().union(
                *(named(name, file) for name in INCLUDE.findall(file.read_text(encoding="utf-8")))
            )
            for file in files
        }

    def of(self, file: Path) -> set[Path]:
        """The file, and all that it includes, at first or second hand."""
        including: set[Path] = set()
        due = {file}
        while due:
            including |= due
            due = {header for one in due for header in self._direct.get(one, ())} - including
        return including


def prepare() -> bool:
    """Lets CMake say how each source is compiled, by itself, and makes what headers are made."""
    cache = MODULE / "CMakeCache.txt"
    python = re.findall(
        r"^Python_(?:EXECUTABLE|INCLUDE_DIR):.*", cache.read_text(encoding="utf-8"), re.M
    )
    tests = "ON" if CATCH2.exists() else "OFF"
    separate = ("-DCMAKE_UNITY_BUILD=OFF", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON")
    if not configure(
        BUILD,
        *separate,
        *(f"-D{one}" for one in python),
        f"-DISTHMUS_TESTS={tests}",
        "-DISTHMUS_EMULATION=ON",
    ):
        return False
    # Without Verilator there is no such target.
    command = ["cmake", "--build", str(BUILD), "--parallel", JOBS, "--target", "isthmus_verilated"]
    subprocess.run(command, check=False, capture_output=True)
    return True


def sources() -> dict[Path, str]:
    """Every compiled file of ours, and the commands that compile it, one for each target."""
    entries = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    commands: dict[Path, str] = {}
    for file, command in sorted((Path(entry["file"]), entry["command"]) for entry in entries):
        if any(file.is_relative_to(ROOT / room) for room in ROOMS):
            commands[file] = f"{commands.get(file, '')}{command}\n"
    return commands


def fingerprint(file: Path, commands: str, includes: Includes) -> str:
    """Of a file, of how it is compiled, and of all that it depends on."""
    read = [ROOT / ".clang-tidy", ROOT / "pyproject.toml", *sorted(includes.of(file))]
    contents = [commands.encode(), *(path.read_bytes() for path in read)]
    return hashlib.sha256(b"".join(contents)).hexdigest()


def complaint(file: Path) -> str:
    """What clang-tidy says against a file; nothing when it is content."""
    command = [
        str(CLANG_TIDY), "-p", str(BUILD), "--quiet", "--warnings-as-errors=*",
        f"--exclude-header-filter={AS_OTHERS}", str(file),
    ]  # fmt: skip
    if "tests" in file.relative_to(ROOT).parts:
        command.append(f"--checks={NOT_OF_TESTS}")
    answer = subprocess.run(command, check=False, capture_output=True, text=True)
    return "" if answer.returncode == 0 else answer.stdout or answer.stderr


def main() -> int:
    """Checks what is due, and says how many files that were."""
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
    known = set(json.loads(CLEAN.read_text(encoding="utf-8"))) if CLEAN.exists() else set()
    due = [file for file, print_ in concerned.items() if print_ not in known]
    # The longest first, about: at the end no processor waits for one.
    due.sort(key=lambda file: file.stat().st_size, reverse=True)
    with ThreadPoolExecutor(int(JOBS)) as pool:
        results = zip(due, pool.map(complaint, due), strict=True)
        complaints = {file: text for file, text in results if text}
    for text in complaints.values():
        print(text)
    clean = {print_ for file, print_ in concerned.items() if file not in complaints}
    CLEAN.write_text(json.dumps(sorted(known | clean), indent=1), encoding="utf-8")
    which = "all" if touched is None else f"changed since {since[:8]}"
    print(
        f"clang-tidy: {len(clean)} of {len(concerned)} files clean ({which}; {len(files)} in all), "
        f"{len(due)} looked at"
    )
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
