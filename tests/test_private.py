"""Folders of a user's own under the temporary one."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import Command
from isthmus.backends import by_scheme
from isthmus.errors import IsthmusError
from isthmus.measure import discovery
from isthmus.system import lock, private


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def _writable(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def _link(path: Path) -> None:
    (path.parent / "elsewhere").mkdir(exist_ok=True)
    path.symlink_to(path.parent / "elsewhere")


def _of_another(path: Path) -> None:
    path.mkdir()
    os.chown(path, os.getuid() + 1, -1)


FOREIGN = [
    _writable, _link, Path.touch,
    lambda path: path.symlink_to("/nowhere"),
    pytest.param(
        _of_another, marks=pytest.mark.skipif(os.getuid() != 0, reason="only root gives it away")
    ),
]  # fmt: skip


@pytest.mark.parametrize("put", FOREIGN, ids=["writable", "link", "file", "dead link", "another's"])
def test_a_strangers_folder_of_our_name_is_not_used(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    """Another private folder is, and each process finds the same."""
    usual = tmp_path / f"isthmus-{os.getuid()}"
    put(usual)
    put(tmp_path / f"isthmus-{os.getuid()}-0")
    made = private.folder("a", "b")
    assert made == private.folder("a", "b")
    base = made.parents[1]
    assert base.parent == tmp_path
    assert base not in (usual, tmp_path / f"isthmus-{os.getuid()}-0")
    assert base.lstat().st_uid == os.getuid()
    assert stat.S_IMODE(base.lstat().st_mode) == 0o700


def test_our_own_folder_has_the_usual_name(tmp_path: Path) -> None:
    made = private.folder("a")
    assert made == tmp_path / f"isthmus-{os.getuid()}" / "a"
    assert stat.S_IMODE(made.lstat().st_mode) == 0o700


def test_a_run_works_beside_a_strangers_folder(isthmus: Command, tmp_path: Path) -> None:
    _writable(tmp_path / f"isthmus-{os.getuid()}")
    listed = isthmus("devices", env={"TMPDIR": str(tmp_path)})
    assert listed.returncode == 0
    assert "private folder" not in listed.stdout
    assert not list((tmp_path / f"isthmus-{os.getuid()}").iterdir())


def test_where_no_folder_can_be_made_only_who_needs_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    icds = tmp_path / "icds"
    icds.mkdir()
    (icds / "some.icd").write_text("libnothing.so.1\n")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(icds))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    problems = discovery.survey(by_scheme("opencl")).problems
    assert any("no private folder" in problem.what or "loader" in problem.what
               for problem in problems)  # fmt: skip


def test_a_generous_umask_shuts_nobody_out() -> None:
    before = os.umask(0o002)
    try:
        private.folder("icd", "x")
        private.folder("xrt")
    finally:
        os.umask(before)


def test_many_may_write_one_file_at_once() -> None:
    path = private.folder("many") / "file"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: private.write(path, b"whole"), range(200)))
    assert path.read_bytes() == b"whole"
    assert [each.name for each in path.parent.iterdir()] == ["file"]


def _lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISTHMUS_LOCK", str(path))
    with lock.exclusive(lambda _: None, no_wait=True):
        pass


@pytest.mark.parametrize("put", [Path.symlink_to, Path.hardlink_to])
def test_a_lock_that_leads_to_another_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, put: Callable[[Path, Path], None]
) -> None:
    """Anybody may put a link where the lock is expected; the file behind it is not touched."""
    precious = tmp_path / "precious"
    precious.write_text("kept")
    precious.chmod(0o600)
    put(tmp_path / "lock", precious)
    with pytest.raises(IsthmusError, match=r"cannot lock .*; remove it"):
        _lock(tmp_path / "lock", monkeypatch)
    assert precious.read_text() == "kept"
    assert stat.S_IMODE(precious.stat().st_mode) == 0o600


def test_a_lock_that_is_a_pipe_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "lock")
    with pytest.raises(IsthmusError, match=r"cannot lock .*; remove it"):
        _lock(tmp_path / "lock", monkeypatch)
