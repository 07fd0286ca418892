"""Sets up Isthmus: `.venv` with both packages in it, and the system packages that uses need.

No step is done twice: each step stores its fingerprint in `.venv/setup.json`. The fingerprint of a
build includes the libraries that CMake found, so that a new library causes a new build. This script
uses only the standard library. For root it installs system packages through apt. For other users it
prints the missing packages, and continues without them where possible.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import ctypes.util
import fcntl
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fingerprints import COMPILER, of_build, of_compiler, of_emulation, of_found
from progress import follow, run, start, why_not

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / "setup.json"
HEADERS = VENV / "python-headers"
BUILD_FOLDERS = ROOT / "build"


class SetupError(Exception):
    """Why setup cannot continue, in one line that says what to do."""


@dataclass(frozen=True)
class SystemPackage:
    """A package of Debian and Ubuntu, its purpose, and a check whether it is installed."""

    name: str
    purpose: str
    present: Callable[[], bool]


def has_command(*names: str) -> Callable[[], bool]:
    """Returns a check: is one of these commands installed?"""
    return lambda: any(shutil.which(name) for name in names)


def has_file(path: str) -> Callable[[], bool]:
    """Returns a check: does a file exist?"""
    return lambda: Path(path).exists()


def has_library(name: str) -> Callable[[], bool]:
    """Returns a check: does the loader find a shared library?"""
    return lambda: ctypes.util.find_library(name) is not None


def has_module(name: str) -> Callable[[], bool]:
    """Returns a check: can this Python import a module?"""

    def importable() -> bool:
        importlib.invalidate_caches()  # apt may have just installed the module
        return importlib.util.find_spec(name) is not None

    return importable


def succeeds(*command: str, text: str = "") -> bool:
    """Whether a command that reads a text succeeds; its output is not shown."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


REQUIRED = (
    SystemPackage("python3-venv", "the virtual environment", has_module("ensurepip")),
    SystemPackage("g++", "the engine", has_command(COMPILER)),
    SystemPackage("make", "the engine", has_command("make")),
    SystemPackage("cmake", "the engine", has_command("cmake")),
    SystemPackage("git", "the version in run files", has_command("git")),
)
CATCH2 = SystemPackage("catch2", "the C++ tests", has_file("/usr/include/catch2/catch.hpp"))
OPENCL_HEADERS = SystemPackage(
    "opencl-headers", "the OpenCL ABI test", has_file("/usr/include/CL/cl.h")
)
BROWSER = SystemPackage(
    "chromium", "the page tests", has_command("chromium", "chromium-browser", "google-chrome")
)
POCL = SystemPackage(
    "pocl-opencl-icd", "the tests on a second PoCL", has_file("/etc/OpenCL/vendors/pocl.icd")
)
OPENCL_LOADER = SystemPackage(
    "ocl-icd-libopencl1", "the tests of the system's OpenCL loader", has_library("OpenCL")
)
OPENCL_DEVELOPMENT = SystemPackage(
    "ocl-icd-opencl-dev", "the OpenCL benchmark", has_file("/usr/include/CL/cl.h")
)
CLPEAK = SystemPackage("clpeak", "the comparison with clpeak", has_command("clpeak"))
GOOGLE_BENCHMARK = SystemPackage(
    "libbenchmark-dev",
    "the comparison with Google Benchmark",
    has_file("/usr/include/benchmark/benchmark.h"),
)
XRT = (
    SystemPackage(
        "libxrt-dev", "AMD's XRT, also above emulated cards", has_file("/usr/include/xrt/xrt.h")
    ),
    SystemPackage("uuid-dev", "the same", has_file("/usr/include/uuid/uuid.h")),
)
VERILATOR = SystemPackage("verilator", "the RTL kernels in C++ tests", has_command("verilator"))
ICARUS = SystemPackage("iverilog", "the RTL kernels under cocotb", has_command("iverilog"))
QEMU = SystemPackage(
    "qemu-system-x86", "the tests on a kernel of their own", has_command("qemu-system-x86_64")
)
MPICH = SystemPackage("mpich", "the tests of ranks over MPICH", has_command("mpiexec.hydra"))
OPEN_MPI = SystemPackage(
    "openmpi-bin", "the tests of ranks over the system's Open MPI", has_command("mpirun.openmpi")
)
TCL = SystemPackage("tcl", "the tests of the scripts for Vivado", has_command("tclsh"))

COMMANDS = ("report", "fit", "estimate")
"""Extras of pyproject.toml whose packages commands of `isthmus` import."""
WITHOUT_ISTHMUS = {"package"}
"""Uses that run no command of `isthmus`: a wheel is built from the sdist."""
# By use: extras of pyproject.toml and system packages that it needs beyond `isthmus` itself.
USES: dict[str, tuple[tuple[str, ...], tuple[SystemPackage, ...]]] = {
    "run": ((), ()),
    "test": (
        ("test",),
        (CATCH2, OPENCL_HEADERS, OPENCL_LOADER, POCL, VERILATOR, MPICH, OPEN_MPI, TCL, *XRT),
    ),
    # Use ``slow``: requirements of the tests with this marker.
    "slow": (
        ("rtl", "parquet", "reframe", "docs", "package", "slow"),
        (BROWSER, ICARUS, QEMU),
    ),
    "coverage": (("coverage",), ()),
    "conformance": ((), (CATCH2,)),
    "lint": (("lint", "docs"), (CATCH2, OPENCL_HEADERS, *XRT)),
    "docs": (("docs",), ()),
    "bench": ((), (CLPEAK, GOOGLE_BENCHMARK, OPENCL_DEVELOPMENT, VERILATOR)),
    "mpi": (("mpi",), ()),
    "package": (("package",), XRT),
    "sbom": (("sbom",), ()),
    "fpga-emulator": (("fpga-emulator",), (OPENCL_LOADER,)),
}


class Stamps:
    """Fingerprints of the steps that are done, stored in `.venv/setup.json`."""

    def __init__(self) -> None:
        try:
            self._done: dict[str, str] = json.loads(STAMPS.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self._done = {}

    def has(self, step: str, fingerprint: str) -> bool:
        """Whether the step was done with this fingerprint."""
        return self._done.get(step) == fingerprint

    def has_other(self, step: str, fingerprint: str) -> bool:
        """Whether the step was done with another fingerprint."""
        return step in self._done and not self.has(step, fingerprint)

    def add(self, step: str, fingerprint: str) -> None:
        """Stores that the step is done."""
        self._done[step] = fingerprint
        STAMPS.write_text(json.dumps(self._done, indent=1, sort_keys=True), encoding="utf-8")


def is_root_with_apt() -> bool:
    """Whether this process can install system packages: it is root, and apt is here."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def apt_install(packages: list[SystemPackage]) -> None:
    """Installs these packages, as far as apt can; the caller checks which are installed."""
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    update = ["apt-get", "update", "-q"]
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends"]
    lists = any(Path("/var/lib/apt/lists").glob("*Packages*"))
    if not lists:
        why_not("Fetching apt's package lists", update, environment)
    names = [package.name for package in packages]
    if not why_not(f"Installing {' '.join(names)}", [*install, *names], environment):
        return
    if lists:
        why_not("Renewing apt's package lists", update, environment)
    for name in names:
        reason = why_not(f"Installing {name}", [*install, name], environment)
        if reason:
            print(f"  {reason}")


def missing(packages: tuple[SystemPackage, ...]) -> list[SystemPackage]:
    """Returns the packages that are not installed."""
    return [package for package in packages if not package.present()]


def require_tools() -> None:
    """Checks the tools without which nothing works, and installs them if possible."""
    if sys.version_info < (3, 10):  # noqa: UP036
        raise SetupError(
            f"Isthmus needs Python 3.10 or later, this is {sys.version.split()[0]}; "
            "choose another with make PYTHON=python3.X"
        )
    absent = missing(REQUIRED)
    if absent and is_root_with_apt():
        apt_install(absent)
        absent = missing(REQUIRED)
    if absent:
        raise SetupError(f"not here; ask an administrator for: {apt_command(absent)}")


def apt_command(packages: list[SystemPackage]) -> str:
    """Returns the command that installs these packages."""
    return "apt-get install " + " ".join(package.name for package in packages)


def offer_system_packages(uses: list[str], stamps: Stamps) -> None:
    """Installs the system packages that these uses need, or prints which tests run without them."""
    wanted = tuple(dict.fromkeys(package for use in uses for package in USES[use][1]))
    absent = missing(wanted)
    fingerprint = apt_command(absent)
    if absent and is_root_with_apt() and not stamps.has("apt", fingerprint):
        apt_install(absent)
        stamps.add("apt", fingerprint)
        absent = missing(wanted)
    if absent:
        print("Going on without:")
        for package in absent:
            print(f"  {package.name:<20} for {package.purpose}")
        print(f"  to get them, as root: {apt_command(absent)}")


def venv_is_usable() -> bool:
    """Whether `.venv` works and was made for this folder."""
    activate = VENV / "bin" / "activate"
    made_here = activate.exists() and str(VENV) in activate.read_text(encoding="utf-8")
    return made_here and succeeds(str(PYTHON), "-c", "import pip")


def make_venv() -> None:
    """Makes `.venv`; if the existing one does not work, makes it again."""
    if not venv_is_usable() and not run(
        "Making .venv", [sys.executable, "-m", "venv", "--clear", str(VENV)]
    ):
        raise SetupError(f"{sys.executable} cannot make a virtual environment: see above")


def table(name: str) -> list[str]:
    """Reads a list of requirements from pyproject.toml (Python 3.10 has no TOML reader)."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    match = re.search(rf"^{name} = (\[.*?\])$", text, re.MULTILINE | re.DOTALL)
    if match is None:
        raise SetupError(f"pyproject.toml has no list {name!r}")
    return list(ast.literal_eval(match[1]))


def pip_install(*arguments: str) -> list[str]:
    """Returns the command that installs into `.venv`; imports compile to bytecode later."""
    options = ("--disable-pip-version-check", "--no-compile")
    return [str(PYTHON), "-m", "pip", "install", *options, *arguments]


def install_requirements(names: list[str], stamps: Stamps) -> None:
    """Installs lists of requirements from PyPI."""
    titles = {"requires": "the build's tools", "dependencies": "what isthmus imports"}
    wanted = {name: table(name) for name in names}
    new = {name: some for name, some in wanted.items() if not stamps.has(name, " ".join(some))}
    if not new:
        return
    purposes = ", ".join(titles.get(name, f"packages for {name}") for name in new)
    packages = [package for some in new.values() for package in some]
    if not run(f"Installing {purposes} from PyPI", pip_install(*packages)):
        raise SetupError("pip failed: see above; is the network there?")
    for name, some in new.items():
        stamps.add(name, " ".join(some))


def install_if_possible(name: str, title: str, cure: str, stamps: Stamps) -> None:
    """Installs an extra, or prints ``cure`` if that fails; after a failure does not try again."""
    wanted, failed = table(name), f"{name} failed"
    if any(stamps.has(step, " ".join(wanted)) for step in (name, failed)):
        return
    command = pip_install("--only-binary=:all:", *wanted)
    reason = why_not(f"Installing {title} from PyPI", command)
    if reason:
        print(f"  going on without it: {reason}")
        print(f"  to install it: {cure}")
    stamps.add(failed if reason else name, " ".join(wanted))


def forget_old_builds(stamps: Stamps, compiler: str, libraries: str) -> None:
    """Removes the build of another compiler, and CMake's cache if libraries changed.

    CMake searches again for a library that it did not find, but keeps a found path for ever.
    """
    caches = list(BUILD_FOLDERS.glob("*/CMakeCache.txt"))
    if stamps.has_other("compiler", compiler):
        for cache in caches:
            shutil.rmtree(cache.parent)
    elif not stamps.has("found", libraries):
        for cache in caches:
            cache.unlink()
    stamps.add("compiler", compiler)
    stamps.add("found", libraries)


def compiles_python_header(folder: Path) -> bool:
    """Whether a module of Python can be compiled with the headers in this folder."""
    options = ("-fsyntax-only", f"-I{folder}", "-xc++", "-")
    return succeeds(COMPILER, *options, text="#include <Python.h>\n")


def unpack_headers(package: str, version: str) -> Path:
    """Gets Python's headers without root: Debian's package, unpacked below `.venv`."""
    include = HEADERS / "usr" / "include" / f"python{version}"
    if include.exists() or shutil.which("apt-get") is None:
        return include
    HEADERS.mkdir(exist_ok=True)
    unpack = ["sh", "-c", 'cd "$0" && apt-get "$@" && dpkg -x *.deb .', str(HEADERS)]
    if why_not(f"Downloading {package}", [*unpack, "download", package]):
        lists, cache = HEADERS / "lists", HEADERS / "cache"
        for folder in (lists / "partial", cache / "archives" / "partial"):
            folder.mkdir(parents=True, exist_ok=True)
        own = [f"-oDir::State::lists={lists}", f"-oDir::Cache={cache}"]
        why_not("Fetching apt's package lists", ["apt-get", *own, "update"])
        why_not(f"Downloading {package}", [*unpack, *own, "download", package])
    for configuration in HEADERS.glob(f"usr/include/*-linux-*/python{version}/pyconfig.h"):
        shutil.copy(configuration, include)  # Debian's pyconfig.h only includes this file
    return include


def python_headers() -> Path:
    """Returns the folder of Python.h: the interpreter's, or one from a package."""
    ask = "import sysconfig as s; print(s.get_python_version(), s.get_path('include'))"
    answer = subprocess.run([PYTHON, "-c", ask], check=True, stdout=subprocess.PIPE, text=True)
    version, path = answer.stdout.strip().split(" ", 1)
    package = f"libpython{version}-dev"
    own = Path(path)
    if not compiles_python_header(own) and is_root_with_apt():
        apt_install([SystemPackage(package, "Python.h", has_file(f"{own}/Python.h"))])
    if compiles_python_header(own):
        return own
    unpacked = unpack_headers(package, version)
    if compiles_python_header(unpacked):
        return unpacked
    raise SetupError(f"Python.h is not here; ask an administrator for: apt-get install {package}")


@contextlib.contextmanager
def isthmus_built(stamps: Stamps) -> Iterator[None]:
    """Compiles changed files in the background, while the body of the ``with`` statement runs.

    The build also installs `isthmus` in editable mode, so changes to Python sources need no build.
    """
    compiler, libraries = of_compiler(), of_found()
    forget_old_builds(stamps, compiler, libraries)
    options = os.environ.get("CMAKE_ARGS", "")
    fingerprint = of_build(ROOT, compiler, libraries, options)
    if stamps.has("isthmus", fingerprint):
        yield
        return
    environment = {
        "CMAKE_ARGS": shlex.join(
            [*shlex.split(options), f"-DPython_INCLUDE_DIR={python_headers()}"]
        ),
        "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count() or 1),
    }
    command = pip_install("-v", "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    build, began = start(command, environment), time.monotonic()
    try:
        yield
    finally:
        reason = follow("Building isthmus", build, keep_quiet=False, began=began)
        if not reason:
            stamps.add("isthmus", fingerprint)
    if reason:
        raise SetupError("the build failed: see above")


def install_emulation(stamps: Stamps, *, needed: bool) -> None:
    """Builds and installs the emulation of XRT; prints a line if that fails."""
    surroundings = (of_compiler(), of_found(), os.environ.get("CMAKE_ARGS", ""))
    fingerprint, failed = of_emulation(ROOT, *surroundings), "emulation failed"
    if stamps.has("emulation", fingerprint) or (not needed and stamps.has(failed, fingerprint)):
        return
    environment = {"CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count() or 1)}
    built_in = f"--config-settings=build-dir={BUILD_FOLDERS / 'emulation'}"
    options = ("-v", "--no-deps", "--no-build-isolation", built_in)
    command = pip_install(*options, str(ROOT / "emulation"))
    reason = why_not("Building the emulation of XRT", command, environment, keep_quiet=not needed)
    if reason and needed:
        raise SetupError("the build failed: see above")
    if reason:
        print(f"  going on without it: {reason}")
        print("  to see more: python3 tools/setup.py test")
    stamps.add(failed if reason else "emulation", fingerprint)


def install_optional(uses: list[str], stamps: Stamps) -> None:
    """Installs the optional packages of ``uses``; prints a line for each failed installation."""
    instead = f"as root, {apt_command([POCL])}"
    install_if_possible("pocl", "PoCL (OpenCL on the CPU)", instead, stamps)
    if "test" in uses:
        install_if_possible("mpi", "MPI", "make mpi (prints why it fails)", stamps)
    if "slow" in uses:
        title = "Intel's FPGA emulator (its own licence)"
        install_if_possible(
            "fpga-emulator", title, "make fpga-emulator (prints why it fails)", stamps
        )


def set_up(uses: list[str]) -> None:
    """Does the steps for these uses that are not done yet."""
    require_tools()
    make_venv()
    stamps = Stamps()
    offer_system_packages(uses, stamps)
    commands = () if WITHOUT_ISTHMUS.issuperset(uses) else COMMANDS
    extras = dict.fromkeys((*commands, *(extra for use in uses for extra in USES[use][0])))
    install_requirements(["requires"], stamps)
    if not commands:
        install_requirements(["dependencies", *extras], stamps)
        return
    with isthmus_built(stamps):
        install_requirements(["dependencies", *extras], stamps)
        install_optional(uses, stamps)
    install_emulation(stamps, needed="test" in uses)


def main() -> int:
    """Reads the command line; a lock allows one setup of a tree at a time."""
    parser = argparse.ArgumentParser(description="Sets up Isthmus in .venv")
    parser.add_argument("uses", nargs="*", metavar="USE", help=", ".join(USES))
    uses = parser.parse_args().uses or ["run"]
    unknown = [use for use in uses if use not in USES]
    if unknown:
        parser.error(f"unknown use {unknown[0]}; known are {', '.join(USES)}")
    lock = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        set_up(uses)
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        os.close(lock)
    return 0


if __name__ == "__main__":
    sys.exit(main())
