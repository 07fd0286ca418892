"""Cleans text that was pasted from a terminal, an issue or a mail; line numbers stay.

What is removed, line by line: colours and other escape sequences, what a carriage return wrote
over, quoting (``>``), fences of Markdown and tags of HTML, times, ranks and tasks in front of a
line, and the name in front of a prompt. A prompt becomes ``$ ``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

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
_QUOTE = re.compile(r"(?:[ \t]{0,3}>)+ ?")
_LABEL = re.compile(r"[ \t]{0,6}[0-9]{1,7}:(?: |$)")
"""The task in front of a line, as ``srun --label`` writes it."""
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
    """The text without what a terminal or a forum added; as many lines as before."""
    return "\n".join(_lines(text))


def _lines(text: str) -> Iterator[str]:
    rows = text.replace("\r\n", "\n").split("\n")
    quoted = _most(_QUOTE, rows)
    labelled = _most(_LABEL, [_QUOTE.sub("", row, count=1) for row in rows] if quoted else rows)
    for row in rows:
        line = _ESCAPES.sub("", row.rstrip("\r").rpartition("\r")[2] if "\r" in row else row)
        line = line.replace("\u00a0", " ").replace("\u2192", "->").replace("\u2190", "<-")
        if _ENTITIES.search(line) and "<" not in line:
            line = html.unescape(line).replace("\u00a0", " ")
        if quoted:
            line = _QUOTE.sub("", line, count=1) if _QUOTE.match(line) else line
        elif line.startswith(">"):
            line = f"$ {line[1:].lstrip()}"  # a prompt of one character
        if _FENCE.fullmatch(line) or _TAGS.match(line):
            yield ""
            continue
        if labelled and (found := _LABEL.match(line)):
            line = line[found.end() :]
        line = line[found.end() :] if (found := _PREFIX.match(line)) else line
        if not _HASH.match(line) and (found := _PROMPT.match(line)):
            line = f"$ {line[found.end() :]}"
        yield line.rstrip()


def _most(mark: re.Pattern[str], rows: list[str]) -> bool:
    """Whether more than a third of the lines that are not empty begin with a mark, and two."""
    filled = [row for row in rows if row.strip()]
    marked = sum(bool(mark.match(row)) for row in filled)
    return marked > 1 and marked > len(filled) / 3


def json_objects(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each outermost ``{...}``; of one that is cut short, all that is there."""
    at = 0
    while (begin := text.find("{", at)) >= 0:
        end = _end_of_object(text, begin)
        yield 1 + text.count("\n", 0, begin), text[begin:end]
        at = end


def _end_of_object(text: str, begin: int) -> int:
    depth, in_string, at = 0, False, begin
    for found in re.finditer(r'["{}\\]', text[begin:]):
        mark, at = found[0], begin + found.end()
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
