"""The mmio backend against a real Linux kernel and real PCI devices, in a virtual machine.

Emulated instruction by instruction, so that it runs anywhere: correctness is tested, no speed.
"""

from __future__ import annotations

import gzip
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import LIMIT_S

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "build" / "guest"
BUILD = ROOT / "build" / "module"
QEMU = "qemu-system-x86_64"
PACKAGE = "linux-image-cloud-amd64"
MODULES = ("irqbypass", "vfio", "vfio_virqfd", "vfio_iommu_type1", "vfio-pci-core", "vfio-pci")
DEVICES = (
    "intel-iommu", "edu", "pci-testdev", "ivshmem-plain,memdev=shared", "pcie-root-port,chassis=1",
)  # fmt: skip


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False,
        timeout=LIMIT_S,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.fail(f"{' '.join(map(str, command))}: {done.stderr[-2000:]}")
    return done.stdout


def kernels_here() -> Iterator[Path]:
    named = os.environ.get("ISTHMUS_GUEST_KERNEL")
    if named:
        yield Path(named)
    for folder in (KERNELS / "boot", Path("/boot")):
        yield from sorted(folder.glob("vmlinuz-*"))


@pytest.fixture(scope="session")
def kernel() -> Path:
    """A Debian kernel: one that is here, else the one that apt offers, unpacked in build."""
    for file in kernels_here():
        if os.access(file, os.R_OK):
            return file
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        pytest.skip("no kernel: set ISTHMUS_GUEST_KERNEL to a vmlinuz")
    KERNELS.mkdir(parents=True, exist_ok=True)
    text = run("apt-cache", "depends", "--important", PACKAGE)
    images = [line.split()[-1] for line in text.splitlines() if "Depends: linux-image-" in line]
    if not images:
        pytest.skip(f"apt has no {PACKAGE}: apt-get update, or set ISTHMUS_GUEST_KERNEL")
    got = subprocess.run(
        ["apt-get", "download", images[0]], cwd=KERNELS, capture_output=True, check=False
    )
    packages = list(KERNELS.glob("linux-image-*.deb"))
    if got.returncode != 0 or not packages:
        pytest.skip(f"{images[0]} cannot be downloaded: set ISTHMUS_GUEST_KERNEL to a vmlinuz")
    run("dpkg-deb", "-x", packages[0], KERNELS)
    packages[0].unlink()
    return next(kernels_here())


@pytest.fixture(scope="session")
def program() -> Path:
    """The backend and its steps in one program that needs nothing else, of the module's objects."""
    if not shutil.which("cmake"):
        pytest.skip("no cmake: apt-get install cmake")
    run("cmake", "--build", BUILD, "--target", "isthmus_guest")
    return BUILD / "isthmus_guest"


def modules_of(kernel: Path) -> list[bytes]:
    """VFIO's modules for this kernel, each after those that it needs; none where one is missing."""
    version = kernel.name.removeprefix("vmlinuz-")
    folder = kernel.parent.parent / "lib" / "modules" / version / "kernel"
    files = [next(iter(sorted(folder.glob(f"**/{name}.ko"))), None) for name in MODULES]
    return [one.read_bytes() for one in files if one is not None] if all(files) else []


def archive(program: bytes, modules: list[bytes]) -> bytes:
    """A file system with one program, in cpio's "newc" form, as the kernel unpacks it."""

    def entry(name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> bytes:
        numbers = (0, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08x" % number for number in numbers)
        named = head + name.encode() + b"\0"
        return named + bytes(-len(named) % 4) + data + bytes(-len(data) % 4)

    return (
        entry("dev", 0o40755)
        + entry("dev/console", 0o20600, device=(5, 1))
        + entry("init", 0o100755, program)
        + entry("modules", 0o40755)
        + b"".join(entry(f"modules/{i}.ko", 0o100644, data) for i, data in enumerate(modules))
        + entry("TRAILER!!!", 0)
    )


@pytest.mark.slow
def test_backend_on_a_real_kernel(kernel: Path, program: Path, tmp_path: Path) -> None:
    if not shutil.which(QEMU):
        pytest.skip(f"no {QEMU}: apt-get install qemu-system-x86")
    initrd = tmp_path / "initrd.gz"
    initrd.write_bytes(gzip.compress(archive(program.read_bytes(), modules_of(kernel)), 1))
    devices = [word for device in DEVICES for word in ("-device", device)]
    said = run(
        QEMU, "-machine", "q35,accel=tcg", "-cpu", "max", "-m", "512", "-display", "none",
        "-serial", "stdio", "-monitor", "none", "-no-reboot", "-nodefaults",
        "-object", "memory-backend-ram,id=shared,size=1M,share=on", *devices,
        "-kernel", kernel, "-initrd", initrd,
        # Its check of the timer panics where ticks come late, as on a busy machine.
        "-append", "console=ttyS0 quiet panic=-1 intel_iommu=on no_timer_check",
    )  # fmt: skip
    lines = [line for line in said.splitlines() if "guest:" in line]
    print("\n".join(lines))
    assert any("guest: done, 0 failed" in line for line in lines), said[-3000:]
    assert not any("FAILED" in line for line in lines)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its loops are x86 assembly")
@pytest.mark.skipif(not shutil.which("objdump"), reason="no objdump: apt-get install binutils")
def test_loops_hold_the_instructions_that_they_claim() -> None:
    """From the compiler's output: the innermost loop is the access, its fence, and the count."""
    import re

    from isthmus.backends import LIBRARIES

    plain = {
        ("load", "1"): r"movzbl \(%\w+\),%eax", ("load", "2"): r"movzwl \(%\w+\),%eax",
        ("load", "4"): r"mov +\(%\w+\),%eax", ("load", "8"): r"mov +\(%\w+\),%rax",
        ("store", "1"): r"mov +%dl,\(%\w+\)", ("store", "2"): r"mov +%dx,\(%\w+\)",
        ("store", "4"): r"mov +%edx,\(%\w+\)", ("store", "8"): r"mov +%rdx,\(%\w+\)",
    }  # fmt: skip
    register = {"16": "xmm0", "32": "ymm0", "64": "zmm0", "4": "edx", "8": "rdx"}

    def wanted(way: str, instruction: str, width: str) -> str:
        if instruction == "mov":
            return plain[way, width]
        if instruction == "movdir64b":
            return r"movdir64b \(%\w+\),%\w+"
        mnemonic = {"16": "", "32": "v", "64": "v"}.get(width, "") + instruction
        mnemonic += "64" if (instruction, width) == ("movdqa", "64") else ""
        named = f"%{register[width]}"
        memory = r"\(%\w+\)"
        return rf"{mnemonic} +" + (f"{memory},{named}" if way == "load" else f"{named},{memory}")

    text = run("objdump", "-d", "--no-show-raw-insn", LIBRARIES / "libisthmus_mmio.so")
    functions = re.findall(r"<(isthmus_(?:load|store)_\w+)(?:@@Base)?>:\n((?:.+\n)+)", text)
    assert len(functions) == 10 * 4 + 13 * 4
    for name, body in functions:
        _, way, instruction, width, fence, order = name.split("_")
        code = [line.split("\t", 1)[1].strip() for line in body.splitlines() if "\t" in line]
        code = [re.sub(r"\s+", " ", line) for line in code]
        at = [
            i for i, line in enumerate(code) if re.fullmatch(wanted(way, instruction, width), line)
        ]
        assert len(at) == 1, (name, code)
        end = next(i for i in range(at[0], len(code)) if code[i].startswith("jb "))
        loop = code[at[0] : end + 1]
        fences = [line for line in loop if line.endswith("fence")]
        if order == "dependent" and fence != "none":
            assert fences == [fence], name
        else:
            assert not fences, name
        if fence == "sfence" and order == "pipelined":
            assert code[end + 1] == "sfence", name
        depends = any(line.startswith("and $0x0,%rax") for line in loop)
        assert depends == (way == "load" and fence == "none" and order == "dependent"), name
        counted = {"add", "cmp", "jb", "and", "movq"}
        rest = [line for line in loop[1:] if line.split()[0] not in counted and line not in fences]
        assert not rest, (name, rest)
