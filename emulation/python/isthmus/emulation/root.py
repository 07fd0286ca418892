"""A folder that looks like an installation of XRT, with a shim that is fit for an emulated card.

Debian 12's build of the shim (2.13) loses the result of a ``realloc``: it writes to memory that was
freed as soon as a message is larger than all before. In a private copy two bytes are changed, so
that the result is stored; the installed file is never touched.

The copy eases six more things, in each version that allows it:

- The shim sleeps for 10 seconds where a simulation would be slow. The copy calls ``usleep`` with
  the same number.
- The shim unmaps buffers that came from the heap in whole pages, and so tears out what lies behind
  them. The copy keeps the last, partial page.
- The shim has addresses for 21 845 commands. The copy has addresses for 327 680.
- The shim throws where it is asked for the UUID of a card's interface. The copy returns an empty
  UUID.
- The shim says that there are 0 cards. The copy says how many there are.
- The shim's error for an unknown query says nothing of the emulation. The copy's error says that
  the query is not modelled.

A second copy passes for the shim of a board: the one variable that it, and everything else, reads
to learn the mode has another name there.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from isthmus.emulation import elf
from isthmus.emulation.shims import own_shim
from isthmus.errors import NoDeviceError
from isthmus.system import private, xrt

HW_EMU = "hw_emu"
MODE = "XCL_EMULATION_MODE"
HIDDEN_MODE = "ISTHMUS_CARD__MODE"
"""Variable that the disguised shim reads in place of the mode: a name of equal length."""
assert len(MODE) == len(HIDDEN_MODE)

_SOUND_SINCE = (2, 14)
_VENDORS = Path("/opt/xilinx")
# alloc_void() as the compilers of Debian 12 and 13 laid it out: malloc's branch stores rax and
# returns; the branch of realloc returns where rax is not null, without having stored it.
_DEFECT = re.compile(
    rb"\x48\x89\xf7\xe8.{4}"  # mov rdi, rsi; call malloc
    rb"(?P<store>\x48\x89[\x83\x85](?P<buffer>.{4}))"  # mov [rbx or rbp + buffer], rax
    rb"(?:\x48\x89\xe8\xeb.\x0f\x1f\x40\x00"  # mov rax, rbp; jmp; nop
    rb"|\x48\x83\xc4\x08\x48\x89\xd8\x5b\x5d\xc3\x0f\x1f\x80\x00{4})"  # mov rax, rbx; ret; nop
    rb"\x48\x8b\xbf(?P=buffer)\xe8.{4}"  # mov rdi, [rdi + buffer]; call realloc
    rb"\x48\x85\xc0(?P<branch>\x75[\xe6\xde])",  # test rax, rax; jne (return)
    re.DOTALL,
)
_SHORT_JUMP = 0xEB
_UNMAP = "_ZN11xclhwemhal28HwEmShim10xclUnmapBOEjPv"
_WHOLE_PAGES_OR_SKIP = b"\x48\x81\xe6\x00\xf0\xff\xff\x74\x05"  # and rsi, -4096; jz over a jump
# The constructor makes the addresses of command buffers: getpagesize(), xor edx, edx;
# mov esi, 256 MiB; mov rdi, rbp; mov ecx, eax. Each buffer takes 12 KiB of them.
_COMMAND_SPACE = re.compile(rb"\x31\xd2\xbe\x00\x00\x00\x10(?=\x48\x89\xef\x89\xc1)")
_MORE_COMMAND_SPACE = b"\x31\xd2\xbe\x00\x00\x00\xf0"
_LOOK_UP = "_ZNK8xrt_core5hwemu6device12lookup_queryENS_5query8key_typeE"


class _Keys(NamedTuple):
    """Numbers of queries (``key_type`` of ``query_requests.h``)."""

    interfaces: int
    clocks: int


_QUERIES: dict[tuple[int, ...], _Keys] = {
    (2, 13): _Keys(156, 64),
    (2, 14): _Keys(158, 64),
    (2, 15): _Keys(163, 65),
    (2, 16): _Keys(166, 67),
    (2, 17): _Keys(180, 71),
}
_COUNT_CARDS = "_ZNK8xrt_core5hwemu6system17get_total_devicesEb"
_NO_QUERY, _NOT_MODELLED = b"No such query request (%d)", b"not modelled: query no. %d"
assert len(_NO_QUERY) == len(_NOT_MODELLED)
_NOTHING_DONE = b"\x31\xc0\xc3"  # xor eax, eax; ret


@dataclass(frozen=True)
class Root:
    """A folder for ``XILINX_XRT``."""

    path: Path
    cure: str
    """Message on a changed copy of the shim; empty where the installed shim is used."""

    @property
    def libraries(self) -> Path:
        """Folder of the libraries."""
        return self.path / "lib"


def cured(shim: bytes, version: str, where: Path) -> bytes | None:
    """The shim without the defect; None where it has none. Raises NoDeviceError where unsure.

    Only what is recognised with certainty is changed.
    """
    defects = list(_DEFECT.finditer(shim))
    if not defects:
        number = tuple(map(int, re.findall(r"\d+", version)[:2]))
        if number >= _SOUND_SINCE or where.is_relative_to(_VENDORS):
            return None
        raise NoDeviceError(
            f"{where}: XRT {version} may have Debian's defect, and its code is not the one known: "
            "install AMD's package of XRT 2.13"
        )
    if len(defects) > 1:
        raise NoDeviceError(f"{where}: the defect is there {len(defects)} times, expected once")
    branch, store = defects[0].start("branch"), defects[0].start("store")
    jump = bytes([_SHORT_JUMP, (store - (branch + 2)) & 0xFF])
    return shim[:branch] + jump + shim[branch + 2 :]


def disguised(shim: bytes, where: Path) -> bytes:
    """The shim that reads its mode from ``HIDDEN_MODE``; raises NoDeviceError where none can."""
    name = b"\0" + MODE.encode() + b"\0"
    if shim.count(name) != 1 or shim.count(MODE.encode() + b"\0") != 1:
        raise NoDeviceError(
            f"{where}: {MODE} is not there exactly once, so it cannot pass for a board's: "
            "leave out --as-hardware"
        )
    return shim.replace(name, b"\0" + HIDDEN_MODE.encode() + b"\0")


def _answering(shim: bytes, version: str) -> bytes:
    """The shim that gives a program that asks for a card's interface an empty UUID; else it throws.

    XRT gives the UUID if the card lists one. The list of clocks, of the same type, has four.
    """
    major, minor, *_ = (*map(int, re.findall(r"\d+", version)), 0, 0)
    keys = _QUERIES.get((major, minor))
    if keys is None:
        return shim
    compare = b"\x81\xfe" + struct.pack("<I", keys.interfaces)  # cmp esi, interfaces
    instead = b"\x75\x05\xbe" + struct.pack("<I", keys.clocks)  # jne over it; mov esi, clocks
    return elf.Library(shim).extended(_LOOK_UP, compare + instead) or shim


def _counting(shim: bytes, cards: int) -> bytes:
    """The shim, which then says that there are ``cards`` cards, all usable; XRT's says 0.

    So a program that searches all ``xrt::system::enumerate_devices()`` cards finds its card.
    """
    both = cards << 32 | cards  # a pair of 32 bits each
    answer = b"\x48\xb8" + struct.pack("<Q", both) + b"\xc3"  # movabs rax, both; ret
    return elf.Library(shim).extended(_COUNT_CARDS, answer) or shim


def _naming_what_lacks(shim: bytes) -> bytes:
    """The shim, whose error for an unknown query then says that the query is not modelled.

    Compilers keep the text as it is, or as its first and last 16 bytes.
    """
    for part in (slice(None), slice(16)):
        old, new = _NO_QUERY[part], _NOT_MODELLED[part]
        if part.stop:
            old, new = old + _NO_QUERY[-16:], new + _NOT_MODELLED[-16:]
        if shim.count(old) == 1:
            return shim.replace(old, new)
    return shim


def _eased(shim: bytes, version: str, cards: int) -> bytes:
    """The shim without its long sleeps, and with buffers that are unmapped only as far as theirs.

    Each change is made only where the code is recognised; without it the shim works as installed.
    """
    try:
        shim = elf.Library(shim).redirected("sleep", "usleep") or shim
        shim = _naming_what_lacks(_counting(_answering(shim, version), cards))
        if len(_COMMAND_SPACE.findall(shim)) == 1:
            shim = _COMMAND_SPACE.sub(_MORE_COMMAND_SPACE, shim)
        return (
            elf.Library(shim).guarded(_UNMAP, "munmap", _WHOLE_PAGES_OR_SKIP, _NOTHING_DONE) or shim
        )
    except ValueError:
        return shim


def root(
    installation: xrt.Installation, *, as_hardware: bool, cards: int = 1, own: bool = False
) -> Root:
    """The folder for this installation with so many cards, made where it is missing.

    With ``own`` it has a shim of our own. Raises NoDeviceError where the installation has no
    emulation, one that cannot be cured, or one that our shim does not know.
    """
    if own:
        return root_with(own_shim(installation), installation)
    name = xrt.MODES[HW_EMU]
    shim = installation.library(name)
    if shim is None:
        raise NoDeviceError(
            f"{installation.name} has no lib{name}, behind which a card is emulated"
        )
    before = shim.read_bytes()
    after = cured(before, installation.version, shim.resolve())
    cure = "" if after is None else f"{shim} uses freed memory: a private, corrected copy is loaded"
    copy = _eased(before if after is None else after, installation.version, cards)
    files, links = {shim.name: copy}, {}
    board = f"lib{xrt.MODES[xrt.HARDWARE]}.so.2"
    if as_hardware:
        files[board] = disguised(copy, shim)
    else:
        links[board] = shim.name
    digest = hashlib.sha256(repr((installation.libraries, as_hardware, links)).encode() + copy)
    path = private.folder("xrt", f"card-{digest.hexdigest()[:16]}")
    _fill(path / "lib", installation, files, links)
    return Root(path, cure)


def root_with(shim: Path, installation: xrt.Installation) -> Root:
    """The folder for this installation with a shim of our own, made where it is missing.

    XRT loads the shim by the name of a board's or of the emulation's.
    """
    names = [f"lib{xrt.MODES[mode]}.so.2" for mode in (xrt.HARDWARE, HW_EMU)]
    digest = hashlib.sha256(repr((installation.libraries, shim)).encode())
    path = private.folder("xrt", f"card-{digest.hexdigest()[:16]}")
    _fill(path / "lib", installation, {}, dict.fromkeys(names, str(shim)))
    return Root(path, "")


def _fill(
    folder: Path, installation: xrt.Installation, files: dict[str, bytes], links: dict[str, str]
) -> None:
    """Fills the folder with changed ``files``, ``links``, and links to all other libraries.

    A program that is linked with a board's shim gets the emulated card's shim: two shims would end
    the program. Each library also has a link without a version in its name, which Python hosts
    open. Distributions install that name only with the headers.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, data in files.items():
        copy = folder / name
        if copy.is_symlink() or not copy.exists() or copy.stat().st_size != len(data):
            private.write(copy, data)
    for name, target in links.items():
        _link(folder / name, Path(target))
    for pattern in ("libxrt*.so.*", "libxilinxopencl.so.*", "xrt"):
        for library in installation.libraries.glob(pattern):
            _link(folder / library.name, library)
    for library in folder.glob("lib*.so.2"):
        _link(library.with_suffix(""), Path(library.name))


def _link(link: Path, target: Path) -> None:
    """Makes a link where nothing has its name."""
    if not link.exists() and not link.is_symlink():
        with contextlib.suppress(FileExistsError):  # somebody else was faster
            link.symlink_to(target)
