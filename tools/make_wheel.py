"""Builds an sdist, and from it a wheel for this Python, tagged with the oldest glibc that it needs.

The wheel contains no shared library of this machine, and links only glibc and libstdc++.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import setup

BIN = Path(sys.executable).parent
DIST = setup.ROOT / "dist"


def run(*command: object, **environment: str) -> str:
    """Returns the output of a tool of the virtual environment.

    Raises:
        CalledProcessError: If the tool fails.

    """
    surroundings = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **environment}
    words = [sys.executable, "-m", *map(str, command)]
    return subprocess.run(
        words, env=surroundings, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def build(folder: Path) -> tuple[Path, Path]:
    """Builds the sdist and from it a wheel, not yet repaired; returns both paths."""
    arguments = [*shlex.split(os.environ.get("CMAKE_ARGS", ""))]
    arguments.append(f"-DPython_INCLUDE_DIR={setup.python_headers()}")
    run("build", "--sdist", "--no-isolation", "--outdir", folder, setup.ROOT)
    sdist = next(folder.glob("*.tar.gz"))
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    run("pip", "wheel", *options, sdist, CMAKE_ARGS=shlex.join(arguments))
    return sdist, next(folder.glob("*.whl"))


def platform_of(wheel: Path) -> str:
    """Returns the tag of the oldest systems on which a wheel runs.

    Raises:
        SetupError: If no such tag fits.

    """
    shown = " ".join(run("auditwheel", "show", wheel).split())
    platform = re.search(r'following platform tag: "(manylinux\w+)"', shown)
    if platform is None:
        raise setup.SetupError(f"no tag fits the wheel, so it runs on this machine only: {shown}")
    return platform[1]


def main() -> int:
    """Builds the files, and prints their names and sizes."""
    with tempfile.TemporaryDirectory() as folder:
        sdist, raw = build(Path(folder))
        repaired = Path(folder, "repaired")
        run("auditwheel", "repair", "--plat", platform_of(raw), "--wheel-dir", repaired, raw)
        DIST.mkdir(exist_ok=True)
        for file in (sdist, *repaired.iterdir()):
            shutil.copy(file, DIST)
            print(f"{file.stat().st_size / 1e6:.2f} MB  dist/{file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
