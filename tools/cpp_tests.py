"""Builds and runs the C++ tests; with --sanitize, under every sanitizer too."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from progress import run

ROOT = Path(__file__).resolve().parent.parent
CATCH2 = Path("/usr/include/catch2/catch.hpp")  # version 2
STRICT = "ON" if os.environ.get("CI") else "OFF"
SANITIZED = ("-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1 -g1")  # twice as fast to build
BUILDS = {"tests": "", "tests-address": "address,undefined", "tests-thread": "thread"}


def configure(folder: Path, sanitizers: str = "") -> bool:
    """Lets CMake prepare a build folder; in CI a warning is an error."""
    return run(
        f"Configuring {folder.relative_to(ROOT)}",
        [
            "cmake",
            *("-S", str(ROOT), "-B", str(folder)),
            "-DISTHMUS_PYTHON=OFF",
            "-DISTHMUS_TESTS=ON",
            f"-DISTHMUS_SANITIZE={sanitizers}",
            *(SANITIZED if sanitizers else (f"-DISTHMUS_WERROR={STRICT}",)),
        ],
    )


def without_random_addresses() -> list[str]:
    """What older thread sanitizers need in front: they cannot map very random addresses."""
    prefix = ["setarch", "--addr-no-randomize"]
    allowed = shutil.which("setarch") and subprocess.run([*prefix, "true"], check=False)
    return prefix if allowed and allowed.returncode == 0 else []


def passes(folder: Path, sanitizers: str) -> bool:
    """Builds the tests in a folder and runs them."""
    jobs = str(os.cpu_count() or 1)
    prefix = without_random_addresses() if sanitizers == "thread" else []
    build = [*prefix, "cmake", "--build", str(folder), "--parallel", jobs]
    test = [*prefix, "ctest", "--test-dir", str(folder), "--output-on-failure"]
    return (
        configure(folder, sanitizers)
        and run(f"Building {folder.relative_to(ROOT)}", build)
        and subprocess.run(test, check=False).returncode == 0
    )


def main() -> int:
    """Runs the tests; without Catch2 there are none, and that is said."""
    parser = argparse.ArgumentParser(description="Builds and runs the C++ tests")
    parser.add_argument("--sanitize", action="store_true", help="also with the sanitizers")
    chosen = BUILDS if parser.parse_args().sanitize else {"tests": ""}
    if not CATCH2.exists():
        print("C++ tests skipped: Catch2 v2 is not here (apt-get install catch2)")
        return 0
    failed = [name for name, using in chosen.items() if not passes(ROOT / "build" / name, using)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
