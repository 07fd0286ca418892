"""Folders of a user's own under the temporary one."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from isthmus.backends import by_scheme
from isthmus.errors import IsthmusError
from isthmus.measure import discovery
from isthmus.system import lock, private


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    made = private.folder("a", "b")
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    (tmp_path / f"isthmus-{os.getuid()}").chmod(0o777)
    with pytest.raises(IsthmusError, match="not this user's own"):
        private.folder("a")


def test_one_that_is_refused_costs_only_who_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    icds = tmp_path / "icds"
    icds.mkdir()
    (icds / "some.icd").write_text("libnothing.so.1\n")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(icds))
    private.folder("icd")
    (tmp_path / f"isthmus-{os.getuid()}").chmod(0o777)
    problems = discovery.survey(by_scheme("opencl")).problems
    assert any("not this user's own" in problem.what or "loader" in problem.what
               for problem in problems)  # fmt: skip
    assert discovery.survey(by_scheme("null")).devices


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
