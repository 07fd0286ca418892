"""Builds an sdist and a wheel of each package, tagged with the oldest glibc that it runs on.

The wheel of `isthmus` is for this version of Python, the wheel of `isthmus-emulation` for all. A
wheel contains no shared library of this machine, and links only glibc and libstdc++.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
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


def build(source: Path, folder: Path) -> tuple[Path, Path]:
    """Builds a package's sdist and from it a wheel, not yet repaired; returns both paths."""
    arguments = [*shlex.split(os.environ.get("CMAKE_ARGS", ""))]
    arguments.append(f"-DPython_INCLUDE_DIR={setup.python_headers()}")
    run("build", "--sdist", "--no-isolation", "--outdir", folder, source)
    sdist = next(folder.glob("*.tar.gz"))
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    run("pip", "wheel", *options, sdist, CMAKE_ARGS=shlex.join(arguments))
    return sdist, next(folder.glob("*.whl"))


def repaired(raw: Path) -> Path:
    """Returns the wheel with the tag of the oldest systems that have all that it links.

    XRT's library may be linked, because XRT itself loads our shims. Raises SetupError for a wheel
    that links any other library that systems may lack.
    """
    folder = raw.parent / "repaired"
    run("auditwheel", "repair", "--exclude", "libxrt_coreutil.so.2", "--wheel-dir", folder, raw)
    wheel = next(folder.iterdir())
    with zipfile.ZipFile(wheel) as files:
        copied = [name for name in files.namelist() if ".libs/" in name]
    if copied or "manylinux" not in wheel.name:
        raise setup.SetupError(f"{wheel.name} is for no other machine: {copied}")
    return wheel


def main() -> int:
    """Builds the files, and prints their names and sizes."""
    DIST.mkdir(exist_ok=True)
    for source in (setup.ROOT, setup.ROOT / "emulation"):
        with tempfile.TemporaryDirectory() as folder:
            sdist, raw = build(source, Path(folder))
            for file in (sdist, repaired(raw)):
                shutil.copy(file, DIST)
                print(f"{file.stat().st_size / 1e6:.2f} MB  dist/{file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
