"""Builds and runs the C++ tests in the build folders of both packages, as users compile them.

With --emulation it runs only the tests of the emulation of XRT. With --further the tests run in
other builds instead: all tests with the address and undefined behaviour sanitizers; tests that use
threads with the thread sanitizer; tests that depend on Verilator without Verilator. With
--coverage it reports which lines of cpp/, card/ and emulation/ the tests run. With --conformance
BACKEND it runs only the suite that every backend must pass, on this backend.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from progress import run
from stage import note

ROOT = Path(__file__).resolve().parent.parent
CATCH2 = Path("/usr/include/catch2/catch.hpp")  # version 2
BACKENDS = ROOT / "cpp" / "backends"
MODULE = ROOT / "build" / "module"  # the build folder that pyproject.toml names
JOBS = str(os.cpu_count() or 1)
WERROR = ("-DISTHMUS_WERROR=ON",) if os.environ.get("CI") else ()
APART = ("-DISTHMUS_PYTHON=OFF", "-DCMAKE_BUILD_TYPE=None")
WITH_EMULATION = (*APART, "-DISTHMUS_EMULATION=ON")


@dataclass(frozen=True)
class Tests:
    """A build of the tests: its folder, CMake's options, the targets to build, the tests to run."""

    name: str
    folder: Path
    options: tuple[str, ...]
    targets: tuple[str, ...] = ("isthmus_tests",)
    only: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()
    source: Path = ROOT


def sanitized(sanitizers: str) -> tuple[str, ...]:
    """CMake's options for sanitizers, with less optimisation: the build is three times as fast."""
    return (*WITH_EMULATION, "-DCMAKE_CXX_FLAGS=-Og -g1", f"-DISTHMUS_SANITIZE={sanitizers}")


def without_random_addresses() -> tuple[str, ...]:
    """Command to put before tests: older thread sanitizers fail with very random addresses."""
    prefix = ("setarch", "--addr-no-randomize")
    allowed = shutil.which("setarch") and subprocess.run([*prefix, "true"], check=False)
    return prefix if allowed and allowed.returncode == 0 else ()


def plain() -> Tests:
    """The tests of the module that users run; in CI a warning is an error."""
    options = WERROR
    if not (MODULE / "CMakeCache.txt").exists():  # someone has removed make setup's build folder
        options += (f"-DPython_EXECUTABLE={ROOT / '.venv' / 'bin' / 'python'}",)
    return Tests("C++ tests", MODULE, options)


def of_emulation() -> Tests:
    """The tests of the emulation of XRT, as users run it."""
    folder, source = ROOT / "build" / "emulation", ROOT / "emulation"
    return Tests("Emulation: C++ tests", folder, WERROR, source=source)


def with_sanitizers() -> list[Tests]:
    """Two builds: the thread sanitizer cannot be combined with the other sanitizers."""
    address, thread = ROOT / "build" / "tests-address", ROOT / "build" / "tests-thread"
    return [
        Tests("C++ tests, ASan and UBSan", address, sanitized("address,undefined")),
        Tests(
            "C++ tests, TSan", thread, sanitized("thread"), ("isthmus_thread_tests",),
            ("--label-regex", "threads"), without_random_addresses(),
        ),
    ]  # fmt: skip


def without_verilator() -> Tests:
    """The tests that depend on Verilator, in a build without Verilator."""
    options = (*APART, "-DCMAKE_CXX_FLAGS=-Og", "-DISTHMUS_VERILATOR=OFF")
    return Tests(
        "C++ tests, no Verilator", ROOT / "build" / "tests-bare", options,
        ("isthmus_bare_tests",), ("--label-regex", "bare"),
    )  # fmt: skip


def with_counters() -> Tests:
    """The build that counts which lines run."""
    options = (*WITH_EMULATION, "-DCMAKE_CXX_FLAGS=-Og -g1", "-DISTHMUS_COVERAGE=ON")
    return Tests("C++ coverage", ROOT / "build" / "coverage", options)


def configure(folder: Path, *options: str, source: Path = ROOT) -> bool:
    """Lets CMake configure a build folder; a new folder for Ninja, if Ninja is installed."""
    command = ["cmake", "-S", str(source), "-B", str(folder), *options]
    if shutil.which("ninja") and not (folder / "CMakeCache.txt").exists():
        command += ["-G", "Ninja"]
    return run(f"Configuring {folder.relative_to(ROOT)}", command)


def cases(folder: Path) -> int:
    """Number of test cases that the programs of the last run report."""
    log = folder / "Testing" / "Temporary" / "LastTest.log"
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    counts = re.findall(r"assertions? in (\d+) test cases?|^test cases: +(\d+)", text, re.MULTILINE)
    return sum(int(passed or all_of_them) for passed, all_of_them in counts)


def passes(tests: Tests) -> bool:
    """Builds tests and runs them, one process for each program."""
    begin = time.monotonic()
    build = ["cmake", "--build", str(tests.folder), "--parallel", JOBS, "--target", *tests.targets]
    test = ["ctest", "--test-dir", str(tests.folder), "--output-on-failure", "--parallel", JOBS]
    options = ("-DISTHMUS_TESTS=ON", *tests.options)
    built = configure(tests.folder, *options, source=tests.source) and run(
        f"Building {tests.folder.relative_to(ROOT)}", [*tests.prefix, *build]
    )
    asan = f"handle_sigill=1:{os.environ.get('ASAN_OPTIONS', '')}"  # print the stack at a trap
    environment = {**os.environ, "ASAN_OPTIONS": asan}
    command = [*tests.prefix, *test, *tests.only]
    passed = built and not subprocess.run(command, check=False, env=environment).returncode
    closing = f"{cases(tests.folder)} test cases" if built else "not built"
    note(tests.name, time.monotonic() - begin, passed, closing)
    return passed


def covers() -> bool:
    """Runs the tests in the build that counts lines, and prints the coverage of each file."""
    tests = with_counters()
    for old in tests.folder.glob("**/*.gcda"):
        old.unlink()
    report = [
        str(ROOT / ".venv" / "bin" / "gcovr"), "--root", str(ROOT),
        "--filter", f"{ROOT}/cpp/(include|engine|exchange|backends/[a-z]+/[^/]*$)",
        "--filter", f"{ROOT}/(card|emulation)/", "--exclude", ".*/tests/",
        "--gcov-ignore-parse-errors=all", "-j", JOBS, str(tests.folder),
    ]  # fmt: skip
    return passes(tests) and subprocess.run(report, check=False).returncode == 0


def conforms(backend: str) -> int:
    """Runs the conformance suite on one backend; returns 2 if no backend has this name."""
    names = sorted(path.parent.name for path in BACKENDS.glob("*/backend.cmake"))
    if backend not in names:
        error = (
            f"no backend '{backend}' in cpp/backends" if backend else "name a backend: BACKEND=null"
        )
        print(f"{error}; known: {', '.join(names)}", file=sys.stderr)
        return 2
    tests = plain()
    if not configure(tests.folder, "-DISTHMUS_TESTS=ON", *tests.options):
        return 1
    test = f"conformance.{backend}"
    listed = ["ctest", "--test-dir", str(tests.folder), "--show-only", "-R", f"^{test}$"]
    if test not in subprocess.run(listed, capture_output=True, text=True, check=False).stdout:
        file = (BACKENDS / backend / "backend.cmake").relative_to(ROOT)
        print(f"backend '{backend}' is not built on this machine: {file} says why", file=sys.stderr)
        return 1
    only = ("--verbose", "-R", f"^{test}$")
    targets = ("isthmus_conformance", f"isthmus_{backend}")
    return 0 if passes(replace(tests, name=test, targets=targets, only=only)) else 1


def main() -> int:
    """Runs the tests. Without Catch2 it prints that no test ran."""
    parser = argparse.ArgumentParser(description="Builds and runs the C++ tests")
    parser.add_argument("--emulation", action="store_true", help="only the emulation's")
    parser.add_argument("--further", action="store_true", help="only in the further builds")
    parser.add_argument("--coverage", action="store_true", help="only count which lines run")
    parser.add_argument("--conformance", metavar="BACKEND", help="only this backend's conformance")
    chosen = parser.parse_args()
    if not CATCH2.exists():
        print("C++ tests skipped: Catch2 v2 is not here (apt-get install catch2)")
        return 0 if chosen.conformance is None else 1
    if chosen.conformance is not None:
        return conforms(chosen.conformance)
    if chosen.coverage:
        return 0 if covers() else 1
    builds = [of_emulation()] if chosen.emulation else [plain(), of_emulation()]
    if chosen.further:
        builds = [without_verilator(), *with_sanitizers()]
    failed = [tests.name for tests in builds if not passes(tests)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
