"""What compilers call for the accesses of a kernel's code: all of it is there, whoever compiles."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from on_cards import SOURCES, Run, card_exec, compiled, emulated

from conftest import Command
from isthmus_emulation import elf

__all__ = ["card_exec", "emulated"]  # fixtures
CHANGES = """
#include <cstdint>
#ifndef __clang__  // which calls it for each compare_exchange
extern "C" std::uint32_t __tsan_atomic32_compare_exchange_val(volatile std::uint32_t* at,
    std::uint32_t expected, std::uint32_t value, int order, int otherwise);
#endif
static int changed(int* at, int expected, int value) {
#ifdef __clang__
  __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
#else
  return __tsan_atomic32_compare_exchange_val(reinterpret_cast<std::uint32_t*>(at), expected, value,
                                              5, 5);
#endif
}
extern "C" void copy(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    __atomic_store_n(&out[i], 5, __ATOMIC_SEQ_CST);
    const int kept = changed(&out[i], 6, 99);  // fails
    const int was = changed(&out[i], kept, in[i]);
    __atomic_fetch_nand(&out[i], 0, __ATOMIC_SEQ_CST);  // all bits are set
    __atomic_fetch_and(&out[i], in[i], __ATOMIC_SEQ_CST);
    out[i] += was - 2;
  }
}
"""
CALLED = re.compile(
    r"__tsan_(?:(?:unaligned_|volatile_)*(?:read|write)\d+|atomic\w+|(?:read|write)_range|init"
    r"|func_\w+|vptr_\w+|ignore_thread_\w+)"
)
"""Of ThreadSanitizer's interface: what compilers call."""


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_kernel_that_changes_memory_atomically_runs(
    isthmus: Command, card_exec: Run, tmp_path: Path, compiler: str
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    (tmp_path / "copy.cpp").write_text(CHANGES)
    built = isthmus("card", "kernel", "build", "copy.cpp", env={"CXX": compiler})
    assert built.returncode == 0, built.stderr
    program = compiled(SOURCES / "brought.cpp", tmp_path / "program")
    ran = card_exec("--kernels", tmp_path, "--", program, "beside", tmp_path / "copy.xclbin")
    assert ran.code == 0, ran.errors
    assert ran.figures["wrong"] == 0


@pytest.mark.slow
def test_all_that_the_compilers_library_has_for_accesses_is_there(
    isthmus: Command, tmp_path: Path
) -> None:
    ask = [os.environ.get("CXX", "c++"), "-print-file-name=libtsan.so"]
    library = Path(subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip())
    if not library.is_absolute():
        pytest.skip("no library of ThreadSanitizer here")
    symbols = elf.symbols(library.read_bytes())
    names = sorted(name for name, one in symbols.items() if one.section and CALLED.fullmatch(name))
    assert len(names) > 80
    declared = "".join(
        f'extern "C" int asked{n}() asm("{name}");\n' for n, name in enumerate(names)
    )
    calls = " + ".join(f"asked{n}()" for n in range(len(names)))
    source = f"{declared}void all(int* out) {{ if (*out) *out = {calls}; }}\n"
    (tmp_path / "all.cpp").write_text(source)
    built = isthmus("card", "kernel", "build", "all.cpp")
    assert built.returncode == 0, built.stderr
