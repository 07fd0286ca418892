"""What several tests need: the command as a user runs it, and devices that are here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("isthmus", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("isthmus")
"""No example has a time limit: machines are shared. CI tries the same ones every time."""

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def _own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests do not wait for a measurement beside them: no figure of theirs counts."""
    monkeypatch.setenv("ISTHMUS_LOCK", str(tmp_path / "measuring.lock"))


@pytest.fixture
def isthmus(tmp_path: Path) -> Command:
    """Runs ``isthmus ARGS`` in a folder of its own and returns what it printed."""

    def run(
        *arguments: str, env: dict[str, str] | None = None, timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "isthmus", *arguments],
            cwd=tmp_path, env={**os.environ, **(env or {})}, timeout=timeout,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


@pytest.fixture(scope="session")
def pocl() -> str:
    """Address of an OpenCL device that is really here; without one the test is skipped."""
    from isthmus.errors import IsthmusError
    from isthmus.measure.discovery import resolve

    try:
        return resolve("opencl:pocl").address
    except IsthmusError as error:
        pytest.skip(f"no PoCL here: {error}")
