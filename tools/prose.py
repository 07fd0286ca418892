"""Checks words: lengths of lines and sentences, phrases to avoid, and subjects of commits.

``prose.py`` prints each violation, and exits with 1 if there is one. Tables, blocks of code,
headings and links may have any length. ruff checks the length of lines in Python.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from history import ROOT, base, git

MOST_COLUMNS = 100
"""Columns that a line may have: the limit of ruff and clang-format."""
MOST_WORDS = 25
"""Words that a sentence may have: longer sentences hold more than one idea."""
MOST_OF_SUBJECT = 72
"""Columns that a commit's subject may have: ``git log`` shows them in a terminal of 80."""
SUBJECT = re.compile(r"[\w ,./-]+: \S")
"""Matches a commit's subject: the part that it changes, a colon, and the change."""
SUBJECTS_AFTER = "27f34d23ea3f0492a91faa71588d77a5f4fc1cde"
"""Commit from which subjects are checked: earlier commits can no longer change."""
PAGES = re.compile(r"README\.md|docs/.*\.md")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
ITEM = re.compile(r"^(?:[-*]|\d+\.) ")
NO_SENTENCE = ("|", "#", ">", "<", "![")
"""How tables, headings, quotations, markup and pictures begin."""
END_OF_SENTENCE = re.compile(r"(?<=[.!?])[)\"*]*\s+(?=[A-Z0-9`*(\"])")
PHRASES = {
    "told of": "report, warn",
    "tells of": "report, warn",
    "nobody says": "without, if none is given",
    "that which": "name the thing",
    "one's own": "your own, a user's",
    "to be had": "available",
    "nobody tells": "unknown",
    "as it is now": "current",
    "what there is": "name the thing",
    "device process": "no such process exists: our shim",
    "both shims": "only our shim exists",
}
"""Phrases that the check refuses, each with the words to use in its place."""
COMMENT = re.compile(r"\s*(?:#|//|\*|/\*)|.*\s(?:#|//|///<)\s")
SOURCES = (".py", ".cpp", ".hpp", ".h", ".c", ".sv", ".cmake", ".toml", ".sh", ".yml")
LEFT_OUT = ("tests/data/", "tests/test_prose.py", "tools/prose.py")


def lines_of_page(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yields number, text, and whether the length counts, for each line outside of code."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        begin = line.lstrip()
        if begin.startswith("```"):
            in_code = not in_code
        elif not in_code:
            single = len(begin.removeprefix("- ").split()) == 1 or begin[:1] in {"[", "`", "!"}
            yield number, line, not (begin.startswith(("|", "#")) or single)


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yields each paragraph and list item of a page, with the number of its first line."""
    first, words, previous = 0, "", 0
    for number, line, _ in lines_of_page(text):
        begin = line.strip()
        prose = begin and not begin.startswith(NO_SENTENCE)
        if words and (not prose or ITEM.match(begin) or number > previous + 1):
            yield first, words
            words = ""
        if prose:
            first, words = (
                (first, f"{words} {begin}") if words else (number, ITEM.sub("", begin, 1))
            )
        previous = number
    if words:
        yield first, words


def long_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yields each sentence that is too long, with the first line of its paragraph.

    A piece of code counts as one word, a link as its text, a sign such as ``=`` not at all.
    """
    for number, paragraph in paragraphs(text):
        plain = LINK.sub(r"\1", re.sub(r"`[^`]+`", "CODE", paragraph))
        for sentence in END_OF_SENTENCE.split(plain):
            words = sum(any(map(str.isalnum, word)) for word in sentence.split())
            if words > MOST_WORDS:
                yield number, f"{words} words, more than {MOST_WORDS}: '{sentence[:60]}...'"


def bad_subjects(subjects: list[str]) -> Iterator[str]:
    """Yields a line for each subject that is too long or does not begin with a part."""
    for subject in subjects:
        if len(subject) > MOST_OF_SUBJECT:
            yield f"commit '{subject}': {len(subject)} columns, more than {MOST_OF_SUBJECT}"
        if not SUBJECT.match(subject):
            yield f"commit '{subject}': begin with the part: 'clock: wait for the scheduler'"


def subjects_of_branch() -> list[str]:
    """Returns the subjects of the commits since BASE, without merges."""
    starts = [f"^{start}" for start in (base(), SUBJECTS_AFTER) if git("cat-file", "-t", start)]
    log = git("log", "--no-merges", "--format=%s", "HEAD", *starts) if starts else ""
    return log.splitlines()


def lines_of_source(text: str, *, python: bool) -> Iterator[tuple[int, str, bool]]:
    """Yields number, text, and whether the length counts, for comments and docstrings."""
    in_docstring = False
    for number, line in enumerate(text.splitlines(), 1):
        quotes = line.count('"""') if python else 0
        if in_docstring or quotes or COMMENT.match(line):
            yield number, line, not python and "://" not in line
        in_docstring ^= quotes % 2 == 1


def violations(path: Path) -> Iterator[str]:
    """Yields a line for each violation in a file."""
    text, kind = path.read_text("utf-8"), path.suffix
    name = str(path.relative_to(ROOT))
    lines = lines_of_page(text) if kind == ".md" else lines_of_source(text, python=kind == ".py")
    for number, line, counts in lines:
        place = f"{name}:{number}"
        if counts and len(line) > MOST_COLUMNS:
            yield f"{place}: {len(line)} columns, more than {MOST_COLUMNS}"
        yield from (f"{place}: '{p}': {use}" for p, use in PHRASES.items() if p in line)
    if PAGES.fullmatch(name):
        yield from (f"{name}:{number}: {fault}" for number, fault in long_sentences(text))


def main() -> int:
    """Checks the files that git lists, and the commits of this branch."""
    listed = git("ls-files", "-co", "--exclude-standard").splitlines()
    named = [ROOT / name for name in listed if not name.startswith(LEFT_OUT)]
    checked = [p for p in named if p.suffix in (".md", *SOURCES) or p.name == "CMakeLists.txt"]
    faults = [line for path in checked if path.exists() for line in violations(path)]
    faults += bad_subjects(subjects_of_branch())
    faults += [] if checked else ["git lists no file here"]
    print("\n".join(faults) or f"{len(checked)} files: short lines and sentences, no banned phrase")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
