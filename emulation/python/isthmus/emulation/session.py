"""The folder and the environment of one program that uses emulated cards."""

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
from types import TracebackType
from typing import IO, Literal

import msgspec
import psutil

from isthmus import boards, built
from isthmus.boards import Board
from isthmus.emulation import computing as computings
from isthmus.emulation import naming, requirements
from isthmus.emulation import page as pages
from isthmus.emulation.kernels import banks
from isthmus.emulation.root import HIDDEN_MODE, HW_EMU, MODE, root
from isthmus.errors import IsthmusError, NoDeviceError, UsageError
from isthmus.system import xrt

ClockKind = Literal["virtual", "card", "wall"]
ShimKind = Literal["xrt", "own"]
"""Whose library answers XRT's calls: a changed copy of XRT's emulation shim, or our own."""
PROCESS = built.FOLDER / "emulation" / "isthmus-card"
"""Program that XRT starts as its simulation: the device process."""
CLOCK = PROCESS.parent / "libisthmus_clock.so"
"""What is preloaded into a program: its virtual clock, and cures for what XRT does to it."""
SESSION = "ISTHMUS_CARD_SESSION"
EVENTS = "ISTHMUS_CARD_EVENTS"
KERNEL_FOLDERS = "ISTHMUS_CARD_KERNELS"
FAIL_ON_WARNING = "ISTHMUS_CARD_FAIL_ON_WARNING"
WARNINGS = "warnings"
"""File in a session's folder with the warning that ended its program."""
PACKET_BYTES = 64 << 20
"""Size of the packets in which XRT sends a transfer, known to ``device.hpp``."""

# XRT puts its sockets into /tmp/$USER, whatever TMPDIR says: that folder is the session's own.
_BASE = Path("/tmp")
_PREFIX = "isthmus-card-"
_LOCK = "lock"
_MOST_CARDS = 16
_PID_DIGITS = 7
"""Digits of the largest process id, 4194304 (kernel: ``PID_MAX_LIMIT``)."""
_CLOCK_STEP_S = 1.0
"""A process's start is told in ticks of 10 ms after a boot that is told in whole seconds."""
_START = """#!/bin/sh
# XRT starts this in place of a simulation. What is preloaded is meant for the program.
unset LD_PRELOAD
exec "{process}"
"""
# Kernels by XRT's software scheduler, which has no kernel that copies: that goes through the host.
_SETTINGS = """[Runtime]
sws={sws}
cdma=false
[Emulation]
sim_dir={folder}/device
print_infos_in_console=false
system_dpa=false
packet_size={packet}
"""
# Large buffers are mapped anew for each message otherwise: a copy of 1 MiB takes five times longer.
_ALLOCATOR = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(2 << 30),
    "MALLOC_TOP_PAD_": str(32 << 20),
}


@dataclass(frozen=True)
class Session:
    """The folder and environment of one run; leaving the context removes the folder."""

    directory: Path
    lock: IO[str]
    """Held while the folder is in use; process ids do not suffice, because of containers."""
    environment: dict[str, str]
    """Changes of the program's environment; an empty value unsets a variable."""
    cure: str = ""
    """Message on a changed copy of XRT's shim; empty where the installed shim is used."""
    times_are_right: bool = True
    """Whether simulated times are right with this version of XRT."""

    @property
    def page(self) -> Path:
        """File with counters of the cards' work; ``isthmus.emulation.page`` reads it."""
        return self.directory / "page"

    @property
    def events(self) -> list[Path]:
        """Files of events, one a device process, where a trace was asked for."""
        return sorted((self.directory / "events").glob("*.tsv"))

    @property
    def computing(self) -> list[computings.Computing]:
        """Kernels that have run so far, with the sources of their computing times."""
        return computings.read(self.directory / computings.FILE)

    def used(self) -> list[pages.Slot]:
        """Use of each card so far."""
        return pages.read(self.page)

    def close(self) -> None:
        """Removes the folder."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.lock.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
    needs_times: bool = True,
    shim: ShimKind = "xrt",
) -> Session:
    """Prepares a run with one card for each board, as ``isthmus card boards`` takes them.

    ``names`` are the cards' names that the program sees, one for each board, or none.
    A program that asks XRT for its mode sees hw_emu, or with ``as_hardware`` a board. With the
    ``clock`` virtual, computing takes a program its processor time; with card, nothing; with wall,
    clocks are left alone. ``kernels`` are folders with plug-ins; ``fail_on_warning`` ends a program
    that reaches past its buffers. Without ``needs_times`` nobody looks at simulated times: for that
    more versions of XRT do. The ``shim`` own needs no device process.

    Raises UsageError for a board or a folder that cannot be, NoDeviceError where XRT lacks what is
    needed or a version of XRT or glibc is unknown, IsthmusError where the files cannot be written.
    """
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
    installation = xrt.find()
    if installation is None:
        raise NoDeviceError("; ".join(xrt.absent()))
    if not PROCESS.exists():
        raise NoDeviceError("Isthmus was built without its emulated card for XRT")
    glibc = requirements.glibc_version()
    _check(installation, shim, needs_times=needs_times)
    if clock != "wall":
        requirements.GLIBC.check(glibc)
    called = naming.of_cards(chosen, names)
    base = root(installation, as_hardware=as_hardware, cards=len(chosen), own=shim == "own")
    _remove_stale()
    try:
        directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_BASE))
        lock = _locked(directory)
    except OSError as error:
        raise IsthmusError(f"no folder in {_BASE} for the emulated card: {error}") from error
    path = os.environ.get("LD_LIBRARY_PATH")
    icds = os.environ.get("OCL_ICD_FILENAMES")
    opencl = base.libraries / f"lib{xrt.OPENCL}.so.2"
    environment = {
        "XILINX_XRT": str(base.path),
        "XILINX_VITIS": str(directory),  # newer versions want it named
        "LD_LIBRARY_PATH": f"{base.libraries}:{path}" if path else str(base.libraries),
        "OCL_ICD_FILENAMES": f"{opencl}:{icds}" if icds else str(opencl),
        MODE: "" if as_hardware else HW_EMU,
        HIDDEN_MODE: HW_EMU if as_hardware else "",
        "USER": directory.name,
        "XRT_INI_PATH": str(directory / "xrt.ini"),
        "EMCONFIG_PATH": str(directory),
        "SDACCEL_EM_RUN_DIR": str(directory),
        SESSION: str(directory),
        pages.VARIABLE: str(directory / "page"),
        EVENTS: str(directory / "events") if trace else "",
        FAIL_ON_WARNING: str(directory / WARNINGS) if fail_on_warning else "",
        KERNEL_FOLDERS: ":".join(str(folder.resolve()) for folder in kernels),
        **_ALLOCATOR,
    }
    if requirements.GLIBC.knows(glibc):  # last: what others preload may stand before it
        environment["LD_PRELOAD"] = f"{os.environ.get('LD_PRELOAD', '')} {CLOCK}".strip()
    timed = shim == "own" or requirements.XRT_IN_TIME.knows(installation.version)
    session = Session(directory, lock, environment, base.cure, timed)
    try:
        _write(session, chosen, called, clock, sws=shim == "xrt")
    except BaseException as error:
        session.close()
        if isinstance(error, OSError):
            raise IsthmusError(f"{directory}: {error.strerror}") from error
        raise
    return session


def _check(installation: xrt.Installation, shim: ShimKind, *, needs_times: bool) -> None:
    """Raises NoDeviceError for a version of XRT whose emulation shim is unknown."""
    if shim == "xrt":
        (requirements.XRT_IN_TIME if needs_times else requirements.XRT).check(installation.version)


def _require_parts(board: Board) -> None:
    """Raises UsageError for a board that XRT cannot work with."""
    parts = {"dma": "DMA engine", "kernel": "kernels"}
    if lacking := [name for part, name in parts.items() if not board.has(part)]:
        raise UsageError(
            f"programs behind XRT need a DMA engine and kernels; the board {board.name} has no "
            f"{' and no '.join(lacking)} (isthmus card boards lists others)"
        )


def _write(
    session: Session,
    cards: Sequence[Board],
    names: Sequence[str],
    clock: ClockKind,
    *,
    sws: bool,
) -> None:
    folder = session.directory
    pages.create(session.page, clock=pages.CLOCKS[clock])
    for index, (board, name) in enumerate(zip(cards, names, strict=True)):
        lines = (f"{key}={value}\n" for key, value in board.flat().items())
        (folder / f"card{index}.board").write_text("".join(lines), "utf-8")
        memory = banks(board)
        facts = f"{name}\n{len(memory)}\n{sum(bank.size for bank in memory)}\n"
        (folder / f"card{index}.card").write_text(facts, "utf-8")
    (folder / "events").mkdir()
    (folder / "device").mkdir()
    start = folder / "device" / "simulate.sh"
    start.write_text(_START.format(process=PROCESS), "utf-8")
    start.chmod(0o700)
    settings = _SETTINGS.format(folder=folder, packet=PACKET_BYTES, sws=str(sws).lower())
    (folder / "xrt.ini").write_text(settings, "utf-8")
    (folder / "emconfig.json").write_bytes(msgspec.json.encode(_configuration(cards, names)))


def _configuration(cards: Sequence[Board], names: Sequence[str]) -> dict[str, object]:
    """Description of the platform that XRT's emulation needs."""
    devices = [
        {
            "Name": name,
            "HalMajorVersion": "0",
            "HalMinorVersion": "0",
            "VendorId": "4334",  # in decimal
            "DeviceId": "20480",
            "SubsystemVendorId": "4334",
            "DeviceVersion": "0",
            "DataAlignment": "4096",
            "OclFreqency": "300",  # spelt so
            "NumDevices": "1",
            "DdrBanks": [
                {"Name": bank.name, "Size": size}
                for bank in banks(board)
                for size in _powers_of_two(bank.size)
            ],
            # A unit that copies within the card's memory, 0x20000 behind this address (device.hpp).
            "PlatformData": {
                "plp": {"m2m": "enabled", "m2m_address": "0x1", "ertBaseAddr": "0x1000000"}
            },
        }
        for board, name in zip(cards, names, strict=True)
    ]
    return {
        "Version": {"FileVersion": "2.0", "ToolVersion": "2022.1"},
        "Platform": {
            "UnifiedPlatform": "true",
            "ExpandedPR": "false",
            "Boards": [{"NumBoards": "1", "Devices": [device]} for device in devices],
        },
    }


def _powers_of_two(size: int) -> Iterator[str]:
    """Splits a size into powers of two: ``8GB`` and ``4GB``. XRT 2.13 reads other sizes as 0.

    Parts below 4 KiB, which no bank has, are left out.
    """
    for part in range(size.bit_length() - 1, 11, -1):
        if size >> part & 1:
            yield f"{1 << part % 10}{'KMGT'[part // 10 - 1]}B"


def _locked(directory: Path) -> IO[str]:
    """The folder's lock, held by this process. It has its name only when it is held."""
    lock = (directory / f"{_LOCK}.new").open("x", encoding="utf-8")
    fcntl.flock(lock, fcntl.LOCK_EX)
    (directory / f"{_LOCK}.new").rename(directory / _LOCK)
    return lock


def _remove_stale() -> None:
    """Removes folders of processes that were killed before they could remove them."""
    for folder, process in _sessions():
        if not _in_use(folder, process):
            shutil.rmtree(folder, ignore_errors=True)  # follows no link


def _in_use(folder: Path, process: int) -> bool:
    """Whether a process holds the folder's lock.

    Without a lock, which older versions did not have: whether the process that made the folder
    lives, or will lock it at once. Another process may have its number by now.
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
    """Whether a process lives and was there before the folder."""
    try:
        started = psutil.Process(process).create_time()
        return started <= folder.lstat().st_mtime + _CLOCK_STEP_S
    except (psutil.Error, OSError):
        return False


def _sessions() -> Iterator[tuple[Path, int]]:
    """Folders of this user's sessions, and the numbers of the processes that made them."""
    for folder in _BASE.glob(f"{_PREFIX}*-*"):
        process = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            status = folder.lstat()
            own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
            if own and process.isdecimal() and len(process) <= _PID_DIGITS:
                yield folder, int(process)
