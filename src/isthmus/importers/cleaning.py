"""Cleans text that was pasted from a terminal, an issue or a mail; keeps the number of lines.

``cleaned`` removes escape sequences, text before a carriage return, quoting (``>``), fences of
Markdown, tags of HTML and the common indent. At the beginning of a line it removes times, ranks,
tasks, marks of lists and line numbers. User and host before a prompt become ``$ ``.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator, Sequence

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|[\x00-\x08\x0b\x0c"
    r"\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[\w+ -]*$")
_TAGS = re.compile(
    r"^\s*(?:</?(?:details|pre|code|p|blockquote|div|br|hr|b)(?: [^<>]*)?/?>|"
    r"<summary>.*?</summary>|</?summary>)\s*$",
    re.IGNORECASE,
)
_TAG = r"</?(?:details|summary|pre|code|p|blockquote|div|br|b|i|span)(?: [^<>]{0,200})?/?>"
_TAGS_IN_FRONT = re.compile(rf"(?:\s{{0,8}}{_TAG}){{1,8}}", re.IGNORECASE)
_TAGS_AT_END = re.compile(rf"(?:{_TAG}\s{{0,8}}){{1,8}}$", re.IGNORECASE)
_QUOTE = re.compile(r"(?:[ \t]{0,3}>)+(?: |$)?")
_LABEL = re.compile(r"[ \t]{0,6}[0-9]{1,7}:(?: |$)")
"""Matches the number of a task at the beginning of a line, as ``srun --label`` writes it."""
_MARK = re.compile(
    r"[ \t]{0,6}(?:[-*|\u2502\u2022](?=[ \t]) ?|\[[A-Za-z][\w./:-]{0,80}\] |[\w.-]{1,40} {1,20}\| )"
)
"""Matches the mark of a list or table, or the name of a container, at the beginning of a line."""
_NUMBER = re.compile(r"[ \t]{0,6}(\d{1,6})(?:\t|:? {1,2}|:|$)")
"""Matches the number at the beginning of a line, as ``cat -n`` and editors write it."""
_FEWEST_NUMBERED = 3
_NESTED = 2
"""Times that ``cleaned`` removes prefixes from all lines: a rank may stand before a time."""
_PREFIX = re.compile(
    r"""
    \s*\[\d+,\d+\]<std(?:out|err)>:\ ?                                # mpirun --tag-output
                                                                      # ISO 8601
  | \[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|\s?[+-]\d\d:?\d\d)?\]?[:\s|]\s?
                                                                      # syslog
  | (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\ [ \d]\d\ \d\d:\d\d:\d\d\ \S+\ \S+?:\s
  | \[\s*\d+\.\d{6}\]\s                                              # dmesg
  | \[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?[:\s|]\s?                         # time alone
    """,
    re.VERBOSE,
)
_PROMPT = re.compile(
    r"\s*(?:\([\w.-]+\) ?)?(?:\[[^\[\]\n]{1,60}@[^\[\]\n]{1,80}\][$#%]|"
    r"[\w.-]{1,40}@[\w.-]{1,60}:?[^\s$#%]{0,200} ?[$#%]|[$#%❯➜]) +(?=\S)"
)
_ENTITIES = re.compile(r"&(?:gt|lt|amp|quot|nbsp|#39|#x27);")
_HASH = re.compile(r"\s*#")


def cleaned(text: str) -> str:
    """The text without what a terminal, launcher or forum added; the number of lines stays."""
    rows = [_plain(row) for row in text.replace("\r\n", "\n").split("\n")]
    rows = [_without_tags(row) for row in _without_quotes(rows)]
    for _ in range(_NESTED):
        rows = [_without(_PREFIX, row) for row in rows]
        for mark in (_LABEL, _MARK):
            rows = [_without(mark, row) for row in rows] if _most(mark, rows) else rows
        rows = _without_numbers(rows)
    return "\n".join(_without_user(row).rstrip() for row in _dedented(rows))


def _plain(row: str) -> str:
    """A line as the terminal shows it: without overwritten text and escape sequences."""
    row = row.rstrip("\r").rpartition("\r")[2] if "\r" in row else row
    row = _ESCAPES.sub("", row)
    row = row.replace("\u00a0", " ").replace("\u2192", "->").replace("\u2190", "<-")
    if _ENTITIES.search(row) and "<" not in row:
        row = html.unescape(row).replace("\u00a0", " ")
    return row


def _without_quotes(rows: list[str]) -> list[str]:
    if _most(_QUOTE, rows):
        return [_without(_QUOTE, row) for row in rows]
    # Where few lines begin with ``>``, it is a prompt: it becomes ``$ `` for ``commands``.
    return [f"$ {row[1:].lstrip()}" if row.startswith(">") else row for row in rows]


def _without_tags(row: str) -> str:
    if _FENCE.fullmatch(row) or _TAGS.match(row):
        return ""
    return _TAGS_AT_END.sub("", _TAGS_IN_FRONT.sub("", row)) if "<" in row else row


def _without(mark: re.Pattern[str], row: str) -> str:
    match = mark.match(row)
    return row[match.end() :] if match else row


def _without_user(row: str) -> str:
    """The line with ``$`` in place of a prompt with user and host; other lines unchanged."""
    match = None if _HASH.match(row) else _PROMPT.match(row)
    return f"$ {row[match.end() :]}" if match else row


def _without_numbers(rows: list[str]) -> list[str]:
    """The lines without line numbers, if each nonempty line has the next number; else unchanged."""
    matches = [(row, _NUMBER.match(row)) for row in rows if row.strip()]
    numbers = [int(number[1]) for _, number in matches if number]
    if len(numbers) < max(len(matches), _FEWEST_NUMBERED):
        return rows
    if any(after != before + 1 for before, after in itertools.pairwise(numbers)):
        return rows
    return [_without(_NUMBER, row) for row in rows]


def _dedented(rows: list[str]) -> list[str]:
    """The lines without the indent that all lines have, as code in an issue has it."""
    indents = [len(row) - len(row.lstrip(" \t")) for row in rows if row.strip()]
    least = min(indents, default=0) if len(indents) > 1 else 0
    return [row[least:] for row in rows]


def _most(mark: re.Pattern[str], rows: list[str]) -> bool:
    """Whether at least two lines, and more than a third of the lines, begin with a mark.

    Empty lines do not count. A single line is enough if the text has no other line.
    """
    filled = [row for row in rows if row.strip()]
    marked = sum(bool(mark.match(row)) for row in filled)
    return marked > len(filled) / 3 and (marked > 1 or len(filled) == 1)


def json_objects(text: str) -> Iterator[tuple[int, str]]:
    """Yields line and text of each outermost ``{...}``; an incomplete object extends to the end."""
    at = 0
    while (begin := text.find("{", at)) >= 0:
        end = _end_of_object(text, begin)
        yield 1 + text.count("\n", 0, begin), text[begin:end]
        at = end


def without_objects(text: str, objects: Sequence[tuple[int, str]]) -> str:
    """The text without the objects of ``json_objects``; the number of lines stays."""
    parts, at = [], 0
    for _, body in objects:
        begin = text.find(body, at)
        parts += [text[at:begin], "\n" * body.count("\n")]
        at = begin + len(body)
    return "".join([*parts, text[at:]])


def _end_of_object(text: str, begin: int) -> int:
    depth, in_string, at = 0, False, begin
    for match in re.finditer(r'["{}\\]', text[begin:]):
        mark, at = match[0], begin + match.end()
        if mark == "\\":
            continue
        if mark == '"':
            escaped = in_string and text[at - 2] == "\\" and text[at - 3] != "\\"
            in_string = in_string if escaped else not in_string
        elif not in_string:
            depth += 1 if mark == "{" else -1
            if depth == 0:
                return at
    return len(text)
