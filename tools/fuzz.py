"""Builds and runs the fuzzing targets of ``emulation/fuzz``, each for so many seconds.

``python tools/fuzz.py [SECONDS]``: needs clang++ with libFuzzer. What crashes, hangs or takes over
2 GB ends it with 1; the input that did it lies in ``build/fuzz``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "fuzz"


def main(seconds: int) -> int:
    """Runs all targets, one after the other."""
    if not shutil.which("clang++"):
        print("no clang++: libFuzzer comes with it", file=sys.stderr)
        return 1
    options = [
        "-DISTHMUS_FUZZ=ON", "-DISTHMUS_PYTHON=OFF", "-DCMAKE_CXX_COMPILER=clang++",
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
    ]  # fmt: skip
    subprocess.run(["cmake", "-S", ROOT, "-B", FOLDER, *options], check=True)
    failed = 0
    for source in sorted((ROOT / "emulation" / "fuzz").glob("*.cpp")):
        target = f"isthmus_fuzz_{source.stem}"
        subprocess.run(["cmake", "--build", FOLDER, "--target", target], check=True)
        found = FOLDER / "corpus" / source.stem
        found.mkdir(parents=True, exist_ok=True)
        command: list[str | Path] = [
            next(FOLDER.rglob(target)), found, source.parent / "corpus" / source.stem,
            f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048",
            f"-artifact_prefix={FOLDER}/", "-print_final_stats=1",
        ]  # fmt: skip
        failed |= subprocess.run(command, check=False).returncode != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 60))
