"""Describes backend ``opencl``: devices of every runtime that an ``.icd`` file names.

Two runtimes in one process can disturb each other (PoCL and another LLVM, two PoCLs). Each ``.icd``
file is therefore a candidate with a worker that sees no other file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType

from isthmus import xrt_emulation
from isthmus.address import Address
from isthmus.backends import BackendDescription, CardSoftware, Described
from isthmus.candidates import Candidate, Problem
from isthmus.descriptions import DeviceDescription
from isthmus.errors import IsthmusError
from isthmus.run_options import BITSTREAM, RunOption
from isthmus.system import private, xrt
from isthmus.system.files import has_library, is_there

XOCL = "xocl"
"""Scheme of addresses of devices through AMD's OpenCL library, which belongs to XRT."""
_LOADER = "libOpenCL.so.1"
FPGA_EMULATOR = "libintelocl_emu.so"
GET_ONE = "apt-get install pocl-opencl-icd, or pip install 'isthmus[pocl]'"


def vendor_folders() -> list[Path]:
    """Returns the folders of ``.icd`` files: the user's choice, else the usual folders."""
    chosen = os.environ.get("OCL_ICD_VENDORS")
    if chosen:
        return [Path(chosen)]
    return [Path("/etc/OpenCL/vendors"), Path(sys.prefix) / "etc" / "OpenCL" / "vendors"]


def icd_files() -> list[Path]:
    """Returns all ``.icd`` files, in order of preference."""
    files: list[Path] = []
    for folder in vendor_folders():
        files += [folder] if folder.is_file() else sorted(folder.glob("*.icd"))
    return files


def library_of(icd: Path) -> str | None:
    """Library that an ``.icd`` file names; None if the file names none.

    Raises IsthmusError if the file cannot be read.
    """
    try:
        lines = os.fsdecode(icd.read_bytes()).split()
    except OSError as error:
        raise IsthmusError(f"{icd}: {error.strerror}") from error
    return _of_package(Path(lines[0])) if lines else None


def _of_package(library: Path) -> str:
    """Path of a library in its Python package; Intel's ``.icd`` files name a missing folder."""
    if not library.is_absolute() or library.exists():
        return str(library)
    packaged_file = Path(sys.prefix) / "lib" / library.name
    if library.name == FPGA_EMULATOR and not packaged_file.exists():
        packaged_file = fpga_emulator(packaged_file.with_name("libintelocl.so"))
    return str(packaged_file if packaged_file.exists() else library)


def fpga_emulator(runtime: Path) -> Path:
    """Path of Intel's runtime under the file name by which it emulates an FPGA.

    The library, its configuration and its dependencies must be in one folder. Versions from 2025
    cannot emulate FPGAs.
    """
    emulator = runtime.with_name(FPGA_EMULATOR)
    if not (runtime.exists() and any(runtime.parent.glob(f"{runtime.name}.2024.*"))):
        return emulator
    kept = runtime.resolve().stat()
    folder = private.folder("fpga-emulator", f"{kept.st_ino}-{kept.st_mtime_ns}")
    emulator = folder / FPGA_EMULATOR
    if not emulator.exists():
        settings = (runtime.parent / "cl.cfg").read_bytes()
        private.write(folder / "cl.fpga_emu.cfg", settings + b"\nCL_CONFIG_DEVICES = fpga-emu\n")
        for part in runtime.parent.iterdir():
            if part.is_file() and not part.name.startswith(("libintelocl", "libOpenCL", "cl.cfg")):
                with contextlib.suppress(FileExistsError):
                    (folder / part.name).symlink_to(part)
        try:
            os.link(runtime, emulator)
        except FileExistsError:  # another process has made the link
            pass
        except OSError:  # no hard link to another file system: copy the file
            private.write(emulator, runtime.read_bytes())
    return emulator


def extra_libraries() -> list[str]:
    """Returns libraries that the user gives the Khronos loader in addition to ``.icd`` files."""
    return [name for name in os.environ.get("OCL_ICD_FILENAMES", "").split(":") if name]


def packaged() -> Iterator[tuple[str, Path]]:
    """Yields name and path of OpenCL libraries in Python packages that have no ``.icd`` file."""
    for site in map(Path, sys.path):
        for library in sorted((site / "pyopencl" / ".libs").glob("libpocl-*.so")):
            yield "pocl-wheel", library


def loader() -> str | None:
    """Path of the ICD loader: the system's, else a Python package's; None if there is none."""
    if has_library(_LOADER):
        return _LOADER
    own = Path(sys.prefix) / "lib" / _LOADER
    if is_there(own):
        return str(own)
    for site in map(Path, sys.path):
        for folder in (site / "pyopencl" / ".libs", site / "pyopencl.libs"):
            for library in sorted(folder.glob("libOpenCL*.so*")):
                return str(library)
    return None


def private_vendors(library: str) -> Path:
    """Makes a folder with one ``.icd`` file, which names one library, for the ICD loader."""
    digest = hashlib.sha256(library.encode()).hexdigest()[:16]
    folder = private.folder("icd", digest)
    icd = folder / "vendor.icd"
    if not icd.exists():
        private.write(icd, f"{library}\n".encode())
    return folder


def _library_path(library: str) -> dict[str, str]:
    """Environment by which a Python package's library finds other libraries of its folder."""
    folder = Path(library).parent
    if folder.name == "" or not (folder / "cl.fpga_emu.cfg").exists():
        return {}
    before = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return {"LD_LIBRARY_PATH": ":".join([str(folder), *filter(None, before)])}


def _xocl_candidates() -> Sequence[Candidate]:
    """Candidates for AMD's OpenCL, which a worker loads without an ICD loader in XRT's modes."""
    installation = xrt.find()
    library = installation.library(xrt.OPENCL) if installation else None
    if installation is None or library is None:
        return ()
    binary = xrt_emulation.default_xclbin
    own = {"ISTHMUS_OPENCL_LOADER": str(library)}
    return xrt.candidates(installation, XOCL, binary, ", OpenCL", **own)


def _xocl_problems() -> Sequence[Problem]:
    installation = xrt.find()
    if installation is None:
        return (Problem(*xrt.absent()),)
    if installation.library(xrt.OPENCL) is None:
        return (Problem(f"{installation.name} has no lib{xrt.OPENCL}", xrt.GET_IT),)
    return xrt.problems(installation)


class Opencl(BackendDescription):
    """Backend of OpenCL devices: ``opencl:pocl``, ``opencl:nvidia``, or part of a name.

    ``xocl:0`` is XRT's device 0 through AMD's OpenCL, in one of XRT's modes.
    """

    name = "opencl"
    summary = "any OpenCL platform, through the ICD loader"
    schemes = ("opencl", XOCL)
    own_api = False
    code_template = "opencl_advice.cpp.j2"
    job_template = "opencl_job.cpp.j2"
    card_software = CardSoftware(
        scheme=XOCL,
        name="AMD's OpenCL",
        transfer_s=(25e-6, 10e-6, 45e-6),
        kernel_s=(10e-6, 7.5e-6, 15e-6),
        mapped_call="map",
    )
    copied_memory = frozenset({"pageable", "aligned", "hugepage", "alloc_host"})
    memory_calls = MappingProxyType(
        {
            "aligned": "posix_memalign(4096) + CL_MEM_USE_HOST_PTR",
            "hugepage": "mmap + madvise(MADV_HUGEPAGE)",
            "use_host_ptr": "CL_MEM_USE_HOST_PTR",
            "alloc_host": "CL_MEM_ALLOC_HOST_PTR + clEnqueueMapBuffer",
            "svm": "clSVMAlloc",
        }
    )
    fastest_memory = "alloc_host"
    api_names = MappingProxyType({"opencl": "OpenCL"})
    map_advice = "clEnqueueMapBuffer in place of clEnqueueReadBuffer"
    modes = (*(mode for mode in xrt.MODES if mode), xrt.CARD)
    aliases = MappingProxyType(
        {
            "pocl": "Portable Computing Language",
            "fpga-emulator": "FPGA Emulation",
            "intel-cpu": "Intel(R) OpenCL\n",
            "nvidia": "NVIDIA CUDA",
        }
    )
    candidate_keys = ("icd",)
    run_options = BITSTREAM

    def candidates(self, scheme: str) -> Sequence[Candidate]:
        if scheme == XOCL:
            return _xocl_candidates()
        loader_path = loader()
        if loader_path is None:
            return ()
        named: list[tuple[str, str | None]] = []
        for icd in icd_files():
            with contextlib.suppress(IsthmusError):  # ``problems`` reports the error
                named.append((icd.stem, library_of(icd)))
        named += [(Path(library).stem, library) for library in extra_libraries()]
        if not os.environ.get("OCL_ICD_VENDORS"):
            named += [(name, str(library)) for name, library in packaged()]
        candidates: dict[str, Candidate] = {}
        for name, library in named:
            if library is not None and xrt.OPENCL in library:
                continue  # AMD's OpenCL has the scheme ``xocl`` with its own candidates
            if library is not None and library not in candidates:
                candidates[library] = Candidate(
                    label=f"{name}: {library}",
                    environment={
                        "OCL_ICD_VENDORS": f"{private_vendors(library)}/",
                        "OCL_ICD_FILENAMES": "",
                        # The ICD loader in the pyopencl wheel crashes if this variable is missing.
                        "PYOPENCL_HOME": "",
                        "ISTHMUS_OPENCL_LOADER": loader_path,
                        **_library_path(library),
                        **xrt.bitstreams(xrt.HARDWARE),
                    },
                    keys={"icd": name},
                )
        return tuple(candidates.values())

    def candidates_for(self, address: Address) -> Sequence[Candidate]:
        if address.scheme != XOCL or not address.mode.startswith(xrt.CARD):
            return super().candidates_for(address)
        installation = xrt.find()
        if installation is None or installation.library(xrt.OPENCL) is None:
            return ()
        return (xrt_emulation.candidate(address, xrt.OPENCL),)

    def problems(self, scheme: str) -> Sequence[Problem]:
        if scheme == XOCL:
            return _xocl_problems()
        problems: list[Problem] = []
        for icd in icd_files():
            try:
                if library_of(icd) is None:
                    cure = "write the library's path into it, or remove it"
                    problems.append(Problem(f"{icd} names no library", cure))
            except IsthmusError as error:
                problems.append(Problem(str(error), "let this user read it, or remove it"))
        if loader() is None:
            problems.append(Problem(f"no OpenCL loader ({_LOADER})", GET_ONE))
        elif not self.candidates(scheme):
            problems.append(Problem("no OpenCL platform: no .icd file", GET_ONE))
        return problems

    @staticmethod
    def emulates(device: DeviceDescription) -> bool:
        # Intel's emulators: platform "Intel(R) FPGA Emulation Platform", device "SimulatorDevice".
        named = f"{device.platform} {device.name}".lower()
        return any(word in named for word in ("emulat", "simulator"))

    def run_options_of(self, device: Described) -> tuple[RunOption, ...]:
        # A device that compiles the backend's source needs no option that names a binary.
        return () if device.properties.get("compiler") == "yes" else self.run_options

    def id_in(self, scheme: str, device: DeviceDescription) -> str:
        # Leave out the platform's number: under ``xocl`` there is only AMD's platform.
        return device.id.rpartition(":")[2] if scheme == XOCL else device.id

    def software_alone(self, address: Address) -> str:
        return xrt.software_alone(address)


BACKEND = Opencl()
