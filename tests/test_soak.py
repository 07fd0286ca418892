"""The soak in short, and that it sees what grows."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import soak


@pytest.mark.slow
@pytest.mark.parametrize("kind", soak.KINDS)
def test_nothing_grows(kind: str) -> None:
    """In a process of its own: it imports much, and sets where temporary files go."""
    command = [sys.executable, soak.__file__, "0.25", "--short", "--only", kind]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # Other tests beside this one use shared memory.
    grown = done.stdout.splitlines()[-1].rpartition("grows: ")[2]
    assert done.returncode == 0 or grown.strip(" |") == "shared", done.stdout + done.stderr


def test_descriptors_files_and_memory_that_grow_are_seen(tmp_path: Path) -> None:
    kept: list[object] = []

    def leaks(_: soak.Extent, folder: Path) -> Iterator[soak.Round]:
        (folder / "tmp").mkdir()
        for number in range(20):
            kept.append((folder / "tmp" / str(number)).open("wb"))
            kept.append(block := mmap.mmap(-1, 1 << 20))  # not from what others have freed
            block.write(os.urandom(1 << 20))
            time.sleep(0.06)
            yield soak.Round(number, os.getpid())

    samples, done = soak.soaked(leaks, soak.Extent(), tmp_path)
    assert done == 19
    for quantity in ("descriptors", "files", "memory_kib"):
        assert soak.rise(samples, quantity) > soak.ALLOWED[quantity]
    assert soak.rise(samples, "threads") <= soak.ALLOWED["threads"]
