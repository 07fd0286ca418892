"""Each rule of ``tools/prose.py`` names what breaks it, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = str(Path(__file__).resolve().parent.parent / "tools")
SENTENCE = "It" + " is" * 23 + " so."
"""As long as a sentence may be."""


@pytest.fixture
def prose(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(TOOLS)
    sys.modules.pop("prose", None)
    import prose

    monkeypatch.setattr(prose, "ROOT", tmp_path)
    return prose


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("docs/a.md", "x" * 50 + " " + "x" * 50, "docs/a.md:1: 101 columns"),
        ("a.cpp", "// " + "x" * 98, "a.cpp:1: 101 columns"),
        ("docs/a.md", "The user is told of it.", "docs/a.md:1: 'told of'"),
        ("a.py", '"""Is told of it."""', "a.py:1: 'told of'"),
        ("docs/a.md", f"First.\n\n- {SENTENCE[:-1]}\n  more.", "docs/a.md:3: 26 words"),
        ("README.md", f"Short.\n`Long piece` of\n{SENTENCE.lower()}", "README.md:1: 27 words"),
    ],
    ids=["page-line", "cpp-line", "page-phrase", "python-phrase", "item", "paragraph"],
)
def test_a_fault_is_named(
    prose: ModuleType, tmp_path: Path, name: str, text: str, fault: str
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / name).write_text(text)
    (found,) = prose.violations(tmp_path / name)
    assert found.startswith(fault)


def test_what_is_no_long_sentence(prose: ModuleType) -> None:
    for text in (
        SENTENCE,
        f"{SENTENCE} {SENTENCE}",
        f"**First.** {SENTENCE}",
        f"[{SENTENCE[:-1]}](page.md#with a name).",
        f"| {SENTENCE} {SENTENCE[:-1]} |",
        f"```\nA {SENTENCE}\n```",
        f"# A {SENTENCE}",
        f"- {SENTENCE[:-1]}\n- {SENTENCE}",
    ):
        assert not list(prose.long_sentences(text)), text


def test_subjects_of_commits(prose: ModuleType) -> None:
    good = ["clock: wait for the scheduler", "card exec: end", "tests: " + "x" * 65]
    assert not list(prose.bad_subjects(good))
    assert len(list(prose.bad_subjects(["tests: " + "x" * 66, "Changelog: ", "Wait for all"]))) == 3
