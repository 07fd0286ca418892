"""Fingerprints of a build's inputs: files of the packages, the compiler, and what CMake finds.

A fingerprint changes whenever the build could give another result. It reads no file but the
sources, so it takes little time.
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
"""Files that CMake looks for below these prefixes: for the XRT backend and tests, and Verilator,
with which the emulated card gets the RTL kernels.
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
    """Fingerprint of `isthmus`' built files and of the given surroundings, such as the compiler.

    It includes the names of Python packages: an editable install records which modules are
    packages.
    """
    packages = sorted((root / "src").rglob("__init__.py"))
    names = (str(file.relative_to(root)) for file in packages)
    return of_files(root, ISTHMUS, (*surroundings, *names))


def of_emulation(root: Path, *surroundings: str) -> str:
    """Changes with the files that `isthmus-emulation` consists of, and with what surrounds them."""
    return of_files(root, EMULATION, surroundings)


def of_files(root: Path, names: Iterable[str], surroundings: Iterable[str]) -> str:
    """Changes with these files and folders, and with what surrounds them."""
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
    """Paths, sizes and times of these files: they change with each package, and nothing is read."""
    real = [file.resolve() for file in files if file.exists()]
    stats = [(file, file.stat()) for file in real]
    return "; ".join(f"{file} {its.st_size} {its.st_mtime_ns}" for file, its in stats)
