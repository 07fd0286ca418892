"""Fuzzes all readers of foreign files and texts, each for some seconds of processor time.

``python tools/fuzz.py [SECONDS] [TARGET ...] [--jobs N]``. Targets in Python (``fuzz_targets.py``)
need nothing but Isthmus. Targets in C++ (``emulation/fuzz``) need clang++ with libFuzzer, or their
programs from an earlier build in ``build/fuzz``. An input that raises anything but IsthmusError,
hangs, crashes or takes over 2 GB is a finding: the tool keeps the input, and ends with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).parent
ROOT = TOOLS.parent
FOLDER = ROOT / "build" / "fuzz"
NATIVE = {source.stem: source for source in sorted((ROOT / "emulation" / "fuzz").glob("*.cpp"))}


@dataclass
class Result:
    """A row of the table."""

    name: str
    seconds: float = 0.0
    inputs: int = 0
    coverage: int = 0
    megabytes: int = 0
    found: list[str] | None = None
    """Files of the findings; None: the target did not run."""
    note: str = ""

    def __str__(self) -> str:
        """A line of a Markdown table."""
        found = "did not run" if self.found is None else str(len(self.found))
        cells = (self.name, f"{self.seconds / 60:.1f}", self.inputs, self.coverage, self.megabytes)
        return f"| {' | '.join(map(str, cells))} | {found} | {self.note} |"


def _python(name: str, seconds: float, seed: int) -> Result:
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    (folder / "input").unlink(missing_ok=True)
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}
    command = [sys.executable, TOOLS / "fuzz_python.py", name, folder, str(seconds), str(seed)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, **threads, "TMPDIR": str(temporary), "COLUMNS": "80"},
    )  # fmt: skip
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        if not (folder / "input").exists():
            return Result(name, found=[f"ended with {done.returncode} before its first input"])
        kept = folder / "found-crash"
        shutil.copy(folder / "input", kept)
        how = f"ended with {done.returncode}: {kept}"
        return Result(name, found=[how], note=f"seed {seed}, {how}")
    report = json.loads(lines[-1])
    found = [f"{what}: {file}" for what, file in report["found"].items()]
    note = f"seed {seed}, {report['refused']} refused"
    return Result(
        name, report["seconds"], report["inputs"], report["arcs"], report["megabytes"], found, note
    )


def _build(names: list[str]) -> None:
    """Builds the programs of C++ targets, linked statically except for the C library."""
    options = [
        "-DISTHMUS_FUZZ=ON", "-DCMAKE_CXX_COMPILER=clang++", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
    ]  # fmt: skip
    subprocess.run(
        ["cmake", "-S", ROOT / "emulation", "-B", FOLDER, *options],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    targets = [f"isthmus_fuzz_{name}" for name in names]
    subprocess.run(
        ["cmake", "--build", FOLDER, "--target", *targets], check=True, stdout=subprocess.DEVNULL
    )


def _native(name: str, seconds: float, seed: int) -> Result:
    program = next(FOLDER.rglob(f"isthmus_fuzz_{name}"), None)
    if program is None:
        return Result(name, note="no clang++: libFuzzer comes with it")
    corpus = FOLDER / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    # Older address sanitizers crash at their start if addresses are very random.
    fixed = ["setarch", "-R"]
    works = shutil.which("setarch") and not subprocess.run([*fixed, "true"], check=False).returncode
    command: list[str | Path] = [
        *(fixed if works else ()), program, corpus, NATIVE[name].parent / "corpus" / name,
        f"-max_total_time={seconds:.0f}", "-timeout=10", "-rss_limit_mb=2048", f"-seed={seed}",
        f"-artifact_prefix={FOLDER}/{name}-", "-print_final_stats=1",
    ]  # fmt: skip
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True, errors="replace")
    says = done.stderr
    if done.returncode:
        print(says[-4000:], file=sys.stderr)

    def last(pattern: str) -> int:
        return int((re.findall(pattern, says) or ["0"])[-1])

    return Result(
        name, seconds, last(r"number_of_executed_units: +(\d+)"), last(r"cov: (\d+)"),
        last(r"peak_rss_mb: +(\d+)"), re.findall(r"Test unit written to (\S+)", says)
        or ([f"ended with {done.returncode}"] if done.returncode else []), f"seed {seed}",
    )  # fmt: skip


def _results(names: list[str], seconds: float, seed: int, jobs: int) -> Iterator[Result]:
    with ThreadPoolExecutor(jobs) as pool:
        runs = [
            pool.submit(_native if name in NATIVE else _python, name, seconds, seed)
            for name in names
        ]
        for run in as_completed(runs):
            yield run.result()


def main() -> int:
    """Prints a table; ends with 1 if there is a finding, or if a named target could not run."""
    listed = subprocess.run(
        [sys.executable, "-c", "from fuzz_targets import TARGETS; print(*TARGETS)"], cwd=TOOLS,
        check=True, stdout=subprocess.PIPE, text=True,
    ).stdout.split()  # fmt: skip
    targets = [*listed, *NATIVE]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("seconds", nargs="?", type=float, default=60.0, help="of each target")
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(targets)} [all]")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time [1]")
    parser.add_argument("--seed", type=int, help="of random numbers [another each time]")
    arguments = parser.parse_args()
    if unknown := set(arguments.targets) - set(targets):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(targets)}")
    names = arguments.targets or targets
    if shutil.which("clang++") and (native := [name for name in names if name in NATIVE]):
        _build(native)
    seed = random.SystemRandom().randrange(1, 1 << 31) if arguments.seed is None else arguments.seed
    print(
        "| target | CPU minutes | inputs | coverage | MB | found | |\n|---|--:|--:|--:|--:|--:|---|"
    )
    bad = False
    for result in _results(names, arguments.seconds, seed, arguments.jobs):
        print(result, flush=True)
        for finding in result.found or ():
            print(f"  {result.name}: {finding}", file=sys.stderr, flush=True)
        bad |= bool(result.found) or (result.found is None and result.name in arguments.targets)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
