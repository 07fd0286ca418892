"""Computes fingerprints of a build's inputs: sources, the compiler, and files that CMake finds.

A fingerprint changes whenever the build could give another result. It reads only the sources, so
that it takes little time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

ISTHMUS = ("CMakeLists.txt", "pyproject.toml", "cmake", "cpp", "kernels", "card")
EMULATION = ("emulation", "cmake", "cpp/include", "card")
NOT_BUILT = (Path("cpp", "tests"), Path("emulation", "tests"))
COMPILER = os.environ.get("CXX", "c++")
TOOLS = ("cmake", "make", "ninja", "verilator")
PREFIXES = ("/usr", "/usr/local", "/opt/xilinx/xrt", os.environ.get("XILINX_XRT", ""))
SOUGHT = (
    "include/xrt/xrt_bo.h",
    "include/xrt/xrt/xrt_bo.h",
    "lib/libxrt_coreutil.so",
    "lib/*/libxrt_coreutil.so",
    "include/uuid/uuid.h",
    "include/CL/cl.h",
    "include/catch2/catch.hpp",
)
"""Files that CMake looks for below ``PREFIXES``: those of XRT for its backend and tests, and
Verilator, which compiles the RTL kernels for the emulated card.
"""


def built_files(root: Path, names: Iterable[str]) -> Iterator[Path]:
    """Yields the files of a tree from which a package's compiled parts are built."""
    for name in names:
        path = root / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            tests = any(root / folder in file.parents for folder in NOT_BUILT)
            if file.is_file() and not tests and file.suffix != ".pyc":
                yield file


def of_build(root: Path, *surroundings: str) -> str:
    """Fingerprint of the files from which `isthmus` is built, and of further texts.

    ``surroundings``: fingerprints of the compiler and of what CMake finds.

    It includes the names of Python packages: an editable install records which modules are
    packages.
    """
    packages = sorted((root / "src").rglob("__init__.py"))
    names = (str(file.relative_to(root)) for file in packages)
    return of_files(root, ISTHMUS, (*surroundings, *names))


def of_emulation(root: Path, *surroundings: str) -> str:
    """Fingerprint of the files of `isthmus-emulation`, and of further texts: see ``of_build``."""
    return of_files(root, EMULATION, surroundings)


def of_files(root: Path, names: Iterable[str], surroundings: Iterable[str]) -> str:
    """Fingerprint of files, of all files in folders, and of further texts: see ``of_build``."""
    digest = hashlib.sha256("\n".join(surroundings).encode())
    for file in built_files(root, names):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{file.relative_to(root)} {content}\n".encode())
    return digest.hexdigest()


def of_compiler() -> str:
    """Fingerprint of the compiler; changes with another compiler or version."""
    return of_tools(COMPILER)


def of_found(prefixes: Iterable[str] = PREFIXES) -> str:
    """Fingerprint of the files and tools that CMake looks for."""
    folders = [Path(prefix) for prefix in dict.fromkeys(prefixes) if prefix]
    files = (file for folder in folders for name in SOUGHT for file in sorted(folder.glob(name)))
    return f"{of_tools(*TOOLS)}; {stamp_of(files)}"


def of_tools(*names: str) -> str:
    """Fingerprint of these commands; changes if one is added, removed or updated."""
    return stamp_of(Path(path) for path in map(shutil.which, names) if path)


def stamp_of(files: Iterable[Path]) -> str:
    """Paths, sizes and times of files: each update of a package changes them. Reads no file."""
    real = [file.resolve() for file in files if file.exists()]
    stats = [(file, file.stat()) for file in real]
    return "; ".join(f"{file} {its.st_size} {its.st_mtime_ns}" for file, its in stats)
