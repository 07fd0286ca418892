"""Runs git, and finds the commit with which this branch is compared."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DAY_S = 86_400


def git(*arguments: str) -> str:
    """Returns git's output; empty if git fails."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL).stdout.strip()  # fmt: skip


def base() -> str:
    """Returns the commit from which changes count; empty if the history is too short.

    The environment variable BASE names it. Without BASE it is the commit where this branch left
    origin/main: HEAD, if the branch has no commit. On main itself it is the last commit that is a
    day older than the newest.
    """
    if named := os.environ.get("BASE"):
        return git("merge-base", "HEAD", named) or named
    left = git("merge-base", "HEAD", "origin/main")
    if left and (left != git("rev-parse", "HEAD") or git("branch", "--show-current") != "main"):
        return left
    newest = git("show", "--no-patch", "--format=%ct", "HEAD")
    return git("rev-list", "-1", f"--before={int(newest) - DAY_S}", "HEAD") if newest else ""
