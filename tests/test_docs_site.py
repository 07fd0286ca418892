"""The documentation as a site: built with warnings as errors, complete, and without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import LIMIT_S
from isthmus import backends, boards, checks, importers, models, studies
from pages import needs_browser, visit

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]


def build(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder), *options]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = build(folder)
    assert built.returncode == 0, built.stderr
    return folder


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


def test_the_reference_has_all_that_is_registered(site: Path) -> None:
    for page, registry in (
        ("studies", studies.registry()), ("devices", backends.registry()),
        ("boards", boards.names()), ("models", models.registry()),
        ("checks", checks.registry()), ("formats", importers.registry()),
    ):  # fmt: skip
        text = (site / "reference" / f"{page}.html").read_text("utf-8")
        text = re.sub(r"<[^>]*>", " ", text)
        assert registry
        for name in registry:
            assert re.search(rf"\b{re.escape(name)}\b", text), f"{page} lacks {name}"


@needs_browser
def test_search_works_from_a_disk_and_nothing_is_loaded(site: Path, tmp_path: Path) -> None:
    shutil.copytree(site, tmp_path / "site")
    page = tmp_path / "site" / "index.html"
    text = page.read_text("utf-8")
    # As a reader who types: the word is in the address.
    page.write_text(
        text.replace("<head>", '<head><script>history.replaceState(0, "", "?q=zero_copy")</script>')
    )
    seen = visit(page, tmp_path)
    assert seen.requests == []
    assert re.search(r"\d+ matching document", seen.document), seen.console
    assert re.search(r'href="[^"]*flags\.html\?h=zero_copy"', seen.document)
