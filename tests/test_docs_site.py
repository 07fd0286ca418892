"""The documentation as a site: built with warnings as errors, and without a network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import LIMIT_S

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
LOADED = re.compile(
    r"""<(?:script|img|iframe)[^>]* src=["']?(?:https?:)?//"""
    r"""|<link[^>]* href=["']?(?:https?:)?//"""
    r"""|url\(\s*["']?(?:https?:)?//|@import\s+["'](?:https?:)?//"""
)


def build(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder), *options]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


def test_a_page_without_a_place_and_a_wrong_link_are_errors(tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    (pages / "README.md").write_text("[a](there.md), [b](lost.md), [c](there.md#lost)")
    (pages / "there.md").write_text("# There")
    config = tmp_path / "mkdocs.yml"
    config.write_text(f"INHERIT: {ROOT}/mkdocs.yml\nhooks: []\nnav: [README.md]\n")
    built = build(tmp_path / "site", "--config-file", str(config))
    assert built.returncode
    for fault in ('not included in the "nav"', "'lost.md'", "does not contain an anchor '#lost'"):
        assert fault in built.stderr


def test_the_first_page_links_all_others() -> None:
    first = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert not {page for page in pages if not re.search(rf"\({re.escape(page)}[)#]", first)}
    assert "(docs/judging.md)" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ('<script async src="https://a.example/b.js">', True),
        ('<script src="//a.example/b.js">', True),
        ('<link rel="stylesheet" href="//a.example/b.css">', True),
        ("@import '//a.example/b.css';", True),
        ("src: url( //a.example/b.woff2)", True),
        ('background: url("http://a.example/b.png")', True),
        ('<script src="assets/b.js">', False),
        ('<a href="https://a.example/">', False),
        ("src: url(../fonts/b.woff2)", False),
    ],
)
def test_what_a_page_loads_from_another_host_is_found(text: str, is_found: bool) -> None:
    assert bool(LOADED.search(text)) == is_found


def test_nothing_is_loaded_from_another_host(tmp_path: Path) -> None:
    built = build(tmp_path)
    assert built.returncode == 0, built.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 30
    for page in (*pages, *tmp_path.rglob("*.css")):
        assert not LOADED.search(page.read_text("utf-8")), page
