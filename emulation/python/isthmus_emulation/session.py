"""Makes the folder and the environment of one program that uses emulated cards."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import psutil

from isthmus import boards
from isthmus.boards import Board
from isthmus.errors import IsthmusError, NoDeviceError, UsageError
from isthmus.system import xrt
from isthmus_emulation import computing as computings
from isthmus_emulation import naming, requirements, xclbin
from isthmus_emulation import page as pages
from isthmus_emulation.compiler import PARTS
from isthmus_emulation.kernels import design
from isthmus_emulation.root import HW_EMU, MODE, root

ClockKind = Literal["virtual", "card", "wall"]
CLOCK = PARTS / "libisthmus_clock.so"
"""Library that is preloaded into a program: it has the virtual clock, and checks calls of XRT."""
SESSION = "ISTHMUS_CARD_SESSION"
EVENTS = "ISTHMUS_CARD_EVENTS"
KERNEL_FOLDERS = "ISTHMUS_CARD_KERNELS"
FAIL_ON_WARNING = "ISTHMUS_CARD_FAIL_ON_WARNING"
NOT_NEEDED = "ISTHMUS_CARD_NOT_NEEDED"
WARNINGS = "warnings"
"""Name of the file in a session's folder with the warning that ended the session's program."""
AS_HARDWARE = "ISTHMUS_CARD_AS_HARDWARE"

_BASE = Path("/tmp")
_PREFIX = "isthmus-card-"
_LOCK = "lock"
_MOST_CARDS = 16
_PID_DIGITS = 7
"""Most digits of a process id: the largest is 4194304 (kernel: ``PID_MAX_LIMIT``)."""
_CLOCK_STEP_S = 1.0
"""Error of a process' start time: /proc counts ticks of 10 ms from a boot time in full seconds."""
# The shim starts kernels; without these settings XRT would do so by its software scheduler.
_SETTINGS = """[Runtime]
sws=false
"""


@dataclass(frozen=True)
class Session:
    """The folder and environment of one run; leaving the context removes the folder."""

    directory: Path
    lock: IO[str]
    """Lock that is held while the folder is in use; containers repeat process ids."""
    environment: dict[str, str]
    """Changes of the program's environment; an empty value unsets a variable."""

    @property
    def page(self) -> Path:
        """File with counters of the cards' work; ``isthmus_emulation.page`` reads it."""
        return self.directory / "page"

    @property
    def events(self) -> list[Path]:
        """Files of events, one for each bitstream of a card, if a trace was requested."""
        return sorted((self.directory / "events").glob("*.tsv"))

    @property
    def computing(self) -> list[computings.Computing]:
        """Kernels that have run so far, each with the source of its computing time."""
        return computings.read(self.directory / computings.FILE)

    def used(self) -> list[pages.Slot]:
        """Use of each card so far, by process."""
        return pages.read(self.page)

    def close(self) -> None:
        """Removes the session's folder."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.lock.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def prepare(
    cards: Sequence[str],
    *,
    names: Sequence[str] = (),
    as_hardware: bool = False,
    clock: ClockKind = "wall",
    trace: bool = False,
    kernels: Sequence[Path] = (),
    fail_on_warning: bool = False,
    not_needed: Sequence[str] = (),
) -> Session:
    """Prepares a run with one card for each board, as ``isthmus card boards`` takes them.

    - ``names``: the cards' names that the program sees, one for each board, or none.
    - ``as_hardware``: XRT tells the program that it runs on a board, not in hw_emu.
    - ``clock``: with "virtual", computing takes its processor time; with "card", computing takes no
      time; with "wall", the program's clocks are unchanged.
    - ``trace``: the cards record their events.
    - ``kernels``: folders with plug-ins of kernels.
    - ``fail_on_warning``: the first warning ends the program.
    - ``not_needed``: outputs, as ``INSTANCE.ARGUMENT``, that the program need not read.

    Raises UsageError for a board or a folder that cannot be used, NoDeviceError if XRT lacks a
    library or the version of XRT or glibc is unknown, IsthmusError if the files cannot be written.
    """
    chosen = _checked(cards, kernels)
    installation = _installation()
    glibc = requirements.glibc_version()
    if clock != "wall":
        requirements.GLIBC.check(glibc)
    called = naming.of_cards(chosen, names)
    base = root(installation)
    _remove_stale()
    try:
        directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_BASE))
        lock = _locked(directory)
    except OSError as error:
        raise IsthmusError(f"no folder in {_BASE} for the emulated card: {error}") from error
    environment = _places(base, directory)
    environment |= {
        MODE: "" if as_hardware else HW_EMU,
        AS_HARDWARE: "yes" if as_hardware else "",
        EVENTS: str(directory / "events") if trace else "",
        FAIL_ON_WARNING: str(directory / WARNINGS) if fail_on_warning else "",
        NOT_NEEDED: ":".join(not_needed),
        KERNEL_FOLDERS: ":".join(str(folder.resolve()) for folder in kernels),
    }
    if requirements.GLIBC.knows(glibc):  # last, as other preloaded libraries may precede it
        environment["LD_PRELOAD"] = f"{os.environ.get('LD_PRELOAD', '')} {CLOCK}".strip()
    session = Session(directory, lock, environment)
    try:
        _write(session, chosen, called, clock)
    except BaseException as error:
        session.close()
        if isinstance(error, OSError):
            raise IsthmusError(f"{directory}: {error.strerror}") from error
        raise
    return session


def _checked(cards: Sequence[str], kernels: Sequence[Path]) -> list[Board]:
    """Returns the cards' boards; raises UsageError for unknown boards and folders."""
    chosen = [boards.named(card) for card in cards]
    if not 0 < len(chosen) <= _MOST_CARDS:
        raise UsageError(f"{len(chosen)} cards: one at least, and {_MOST_CARDS} at most")
    for board in chosen:
        _require_parts(board)
    for folder in kernels:
        if not folder.is_dir():
            raise UsageError(f"{folder}: no folder with kernels")
        if ":" in str(folder.resolve()):
            raise UsageError(f"{folder}: a folder with kernels cannot have ':' in its path")
    return chosen


def _installation() -> xrt.Installation:
    """Returns the installed XRT; raises NoDeviceError if it or our emulation is missing."""
    installation = xrt.find()
    if installation is None:
        raise NoDeviceError("; ".join(xrt.absent()))
    if not CLOCK.exists():
        raise NoDeviceError("Isthmus was built without its emulated card for XRT")
    return installation


def _places(base: Path, directory: Path) -> dict[str, str]:
    """Returns the variables that name the folders of XRT and the session's files."""
    libraries = base / "lib"
    path = os.environ.get("LD_LIBRARY_PATH")
    icds = os.environ.get("OCL_ICD_FILENAMES")
    opencl = libraries / f"lib{xrt.OPENCL}.so.2"
    return {
        "XILINX_XRT": str(base),
        "LD_LIBRARY_PATH": f"{libraries}:{path}" if path else str(libraries),
        "OCL_ICD_FILENAMES": f"{opencl}:{icds}" if icds else str(opencl),
        "XRT_INI_PATH": str(directory / "xrt.ini"),
        SESSION: str(directory),
        pages.VARIABLE: str(directory / "page"),
    }


def _require_parts(board: Board) -> None:
    """Raises UsageError for a board that lacks parts which XRT needs."""
    there = {
        "DMA engine": board.has("dma") or board.has("sync"),
        "kernels": board.has("kernel"),
    }
    if lacking := [name for name, has in there.items() if not has]:
        raise UsageError(
            f"programs behind XRT need a DMA engine and kernels; the board {board.name} has no "
            f"{' and no '.join(lacking)} (isthmus card boards lists others)"
        )


def _write(
    session: Session,
    cards: Sequence[Board],
    names: Sequence[str],
    clock: ClockKind,
) -> None:
    folder = session.directory
    pages.create(session.page, clock=pages.CLOCKS[clock])
    for index, (board, name) in enumerate(zip(cards, names, strict=True)):
        lines = (f"{key}={value}\n" for key, value in board.flat().items())
        (folder / f"card{index}.board").write_text("".join(lines), "utf-8")
        memories = design((), board).build().data(xclbin.SectionKind.BITSTREAM) or b""
        (folder / f"card{index}.card").write_bytes(f"{name}\n".encode() + memories)
    (folder / "events").mkdir()
    (folder / "xrt.ini").write_text(_SETTINGS, "utf-8")


def _locked(directory: Path) -> IO[str]:
    """Makes the folder's lock, held by this process. The file gets its name after it is locked."""
    lock = (directory / f"{_LOCK}.new").open("x", encoding="utf-8")
    fcntl.flock(lock, fcntl.LOCK_EX)
    (directory / f"{_LOCK}.new").rename(directory / _LOCK)
    return lock


def _remove_stale() -> None:
    """Removes folders of processes that were killed before they removed their folders."""
    for folder, process in _sessions():
        if not _in_use(folder, process):
            shutil.rmtree(folder, ignore_errors=True)  # follows no link out of the folder


def _in_use(folder: Path, process: int) -> bool:
    """Whether a process holds the folder's lock.

    A folder without a lock, as older versions made, is in use if the process that made it lives,
    which may also be about to lock it. Another process may have the same number by now.
    """
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return _made_by(folder, process)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _made_by(folder: Path, process: int) -> bool:
    """Whether a process of this number lives and began before the folder was made."""
    try:
        started = psutil.Process(process).create_time()
        return started <= folder.lstat().st_mtime + _CLOCK_STEP_S
    except (psutil.Error, OSError):
        return False


def _sessions() -> Iterator[tuple[Path, int]]:
    """Yields folders of this user's sessions, each with the number of the process that made it."""
    for folder in _BASE.glob(f"{_PREFIX}*-*"):
        process = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            status = folder.lstat()
            own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
            if own and process.isdecimal() and len(process) <= _PID_DIGITS:
                yield folder, int(process)
