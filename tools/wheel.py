"""Builds an sdist, and from it a wheel for this Python, tagged with the oldest glibc it runs on.

The wheel brings no library of the machine that builds it, and links none but glibc's and libstdc++.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import setup

BIN = Path(sys.executable).parent
DIST = setup.ROOT / "dist"


def run(*command: object, **environment: str) -> str:
    """What a tool of the virtual environment prints; raises CalledProcessError where it fails."""
    surroundings = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **environment}
    words = [sys.executable, "-m", *map(str, command)]
    return subprocess.run(
        words, env=surroundings, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def build(folder: Path) -> Path:
    """The wheel as the compiler made it; the sdist goes to ``dist``."""
    arguments = [*shlex.split(os.environ.get("CMAKE_ARGS", ""))]
    arguments.append(f"-DPython_INCLUDE_DIR={setup.python_headers()}")
    run("build", "--sdist", "--no-isolation", "--outdir", DIST, setup.ROOT)
    sdist = max(DIST.glob("*.tar.gz"), key=lambda file: file.stat().st_mtime)
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    run("pip", "wheel", *options, sdist, CMAKE_ARGS=shlex.join(arguments))
    return next(folder.glob("*.whl"))


def main() -> int:
    """Prints the files and their sizes."""
    with tempfile.TemporaryDirectory() as folder:
        raw = build(Path(folder))
        shown = " ".join(run("auditwheel", "show", raw).split())
        platform = re.search(r'following platform tag: "(manylinux\w+)"', shown)
        if platform is None:
            print(f"wheel: not for other machines: {shown}", file=sys.stderr)
            return 1
        run("auditwheel", "repair", "--plat", platform[1], "--wheel-dir", DIST, raw)
    for file in sorted(DIST.iterdir(), key=lambda file: file.stat().st_mtime)[-2:]:
        print(f"{file.stat().st_size / 1e6:.2f} MB  {file.relative_to(setup.ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
