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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    built = subprocess.run(
        [*command, "--site-dir", str(folder)], cwd=ROOT, capture_output=True, text=True,
        timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    return folder


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
