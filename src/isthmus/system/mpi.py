"""Loads the MPI library of the launcher that started this rank, and uses it through mpi4py."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from isthmus.errors import UsageError
from isthmus.system import private
from isthmus.system.launcher import Place

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

_OPEN_MPI = "libmpi.so.40"
_MPICH = "libmpi.so.12"
_DEBIANS_MPICH = "libmpich.so.12"
_LIBRARIES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("orterun", "orted", "prterun", "prted", "prte"), (_OPEN_MPI,)),
    **dict.fromkeys(("hydra_pmi_proxy", "mpiexec.hydra"), (_MPICH, _DEBIANS_MPICH)),
}
"""Names of MPI's library by the launcher's program that is an ancestor of each rank."""
_FOLDERS = ("lib", "lib64", "lib/*-linux-*")


def library_of_launcher() -> Path | None:
    """The MPI library that was installed with the launcher of this process; None if unknown."""
    for ancestor in psutil.Process().parents():
        try:
            program = Path(ancestor.exe())
        except psutil.Error:  # another user's process: the launcher is not among its ancestors
            break
        for name in _LIBRARIES.get(program.name, ()):
            for folder in _FOLDERS:
                libraries = sorted(program.parent.parent.glob(f"{folder}/{name}"))
                if libraries:
                    return libraries[0]
    return None


def environment(before: Mapping[str, str]) -> dict[str, str]:
    """Environment variables by which mpi4py's wheels load the launcher's MPI.

    Empty if the launcher is unknown or the user has chosen an MPI.
    """
    library = library_of_launcher()
    if library is None or {"MPI4PY_LIBMPI", "MPI4PY_MPIABI"} & before.keys():
        return {}
    if library.name != _DEBIANS_MPICH:
        return {"MPI4PY_LIBMPI": str(library)}
    link = private.folder("mpich") / _MPICH  # mpi4py expects this name; Debian's differs
    if not link.exists():
        partial = link.with_name(f".{_MPICH}.{os.getpid()}")
        partial.symlink_to(library)
        partial.replace(link)
    path = filter(None, (str(link.parent), before.get("LD_LIBRARY_PATH")))
    return {"MPI4PY_LIBMPI": str(link), "LD_LIBRARY_PATH": ":".join(path)}


def world(place: Place) -> Intracomm:
    """The communicator of all ranks, with MPI initialised.

    Raises UsageError if there is no MPI, or a different MPI from the launcher's.
    """
    try:
        import mpi4py  # noqa: PLC0415 - only ranks need it

        # "funneled" is enough: only one thread of a rank calls MPI.
        mpi4py.rc.thread_level = os.environ.get("MPI4PY_RC_THREAD_LEVEL", "funneled")
        mpi4py.rc.finalize = False
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # hide mpi4py's warning about another launcher: the error below reports it
            from mpi4py import MPI  # noqa: PLC0415
    except (ImportError, RuntimeError) as error:
        why = str(error).splitlines()[0]
        raise UsageError(
            f"no MPI for {place.launcher} ({why}): make mpi, or pip install 'isthmus[mpi]'"
        ) from error
    communicator = MPI.COMM_WORLD
    if communicator.size != place.size:
        raise UsageError(
            f"{place.launcher} started {place.size} ranks, but to {version()} each of them is "
            f"{communicator.rank} of {communicator.size}: start them with that MPI's own "
            "mpirun, or name the launcher's library in MPI4PY_LIBMPI"
        )
    return communicator


def handle(communicator: Intracomm) -> int:
    """The communicator's handle in C as a number: an address or an integer, depending on MPI."""
    from mpi4py import MPI  # noqa: PLC0415

    return int(MPI._handleof(communicator))


def version() -> str:
    """Name and version of the loaded MPI."""
    from mpi4py import MPI  # noqa: PLC0415

    name, numbers = MPI.get_vendor()
    return f"{name} {'.'.join(map(str, numbers))}"


def in_use() -> str:
    """Name, version and thread level of the loaded MPI; higher levels cost time in some MPIs."""
    from mpi4py import MPI  # noqa: PLC0415

    levels = {
        MPI.THREAD_SINGLE: "single",
        MPI.THREAD_FUNNELED: "funneled",
        MPI.THREAD_SERIALIZED: "serialized",
        MPI.THREAD_MULTIPLE: "multiple",
    }
    return f"{version()}, threads {levels[MPI.Query_thread()]}"


def finalise() -> None:
    """Finalises MPI, which waits for all ranks."""
    from mpi4py import MPI  # noqa: PLC0415

    MPI.Finalize()
