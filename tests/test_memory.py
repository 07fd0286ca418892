"""Memory that is left, in control groups that are written as the kernel writes them."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from isthmus.descriptions import DeviceDescription
from isthmus.measure.plan import Limits
from isthmus.system import memory

GIB = 1 << 30


def write(folder: Path, **files: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def left(root: Path, own: str) -> int:
    (root / "own").write_text(own)
    return memory.available_bytes(root, root / "own")


def test_the_tightest_group_of_version_2_decides_and_cache_counts_as_free(tmp_path: Path) -> None:
    stat = "anon 5\ninactive_file 1000"
    write(tmp_path, memory__max=GIB, memory__current=0, memory__stat=stat)
    write(tmp_path / "a", memory__max=5000, memory__current=4000, memory__stat=stat)
    write(tmp_path / "a" / "b", memory__max="max", memory__current=1, memory__stat=stat)
    assert left(tmp_path, "0::/a/b\n") == 2000
    assert left(tmp_path, "0::/\n") == GIB + 1000


def test_version_1_has_a_folder_for_memory(tmp_path: Path) -> None:
    write(
        tmp_path / "memory",
        memory__limit_in_bytes=7000,
        memory__usage_in_bytes=8000,
        memory__stat="total_inactive_file 1500",
    )
    # The group's name is one of the host's: in the container it is the root.
    assert left(tmp_path, "4:memory:/docker/0123\n3:cpu,cpuacct:/x\n") == 500


def test_without_a_limit_the_machine_decides(tmp_path: Path) -> None:
    assert left(tmp_path, "0::/\n") <= psutil.virtual_memory().total
    assert memory.available_bytes(tmp_path, tmp_path / "missing") > 0


def test_sizes_are_chosen_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, memory__max=64 << 20, memory__current=0, memory__stat="inactive_file 0")
    (tmp_path / "own").write_text("0::/\n")
    free = memory.available_bytes(tmp_path, tmp_path / "own")
    monkeypatch.setattr("isthmus.measure.plan.available_bytes", lambda: free)
    device = DeviceDescription("", "", "", "", GIB, GIB, [], [], {})
    assert Limits.of(device).host_bytes == 64 << 20
