"""``isthmus judge``: tells whether rates in the output of another program are normal."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.errors import GATE_FAILED

if TYPE_CHECKING:
    from isthmus.judging import Pasted

_NETWORK = re.compile(r"(\d{1,4}) ?(?:Gb|G|Gbps|Gbit)(?:/s)?", re.IGNORECASE)
MOST_BYTES = 16 << 20
"""Most bytes of all texts together; outputs of such programs have some kilobytes."""


def judge_files(
    files: Annotated[
        list[Path] | None, typer.Argument(help="pasted output; - or nothing: standard input")
    ] = None,
    board: Annotated[
        str | None, typer.Option(help="the board, or a file that describes it [as in the text]")
    ] = None,
    link: Annotated[
        str | None, typer.Option(help="gen3x16, or a port's 100Gb [as in text or board]")
    ] = None,
    boards: Annotated[bool, typer.Option("--boards", help="list the boards, with sources")] = False,
    form: Annotated[str, typer.Option("--format", help="text or json")] = "text",
) -> int:
    """Judges outputs of known programs; files without rates, as of lspci, describe the devices."""
    import json

    from isthmus.errors import UsageError
    from isthmus.judging import judge
    from isthmus.output import put
    from isthmus.patience import limited
    from isthmus.references import link as parsed_link
    from isthmus.reporters.boards_known import board_lines
    from isthmus.reporters.judged import lines
    from isthmus.reporters.judged_data import data
    from isthmus.text import require_known

    require_known("format", form, ["text", "json"])
    if boards:
        put("\n".join(board_lines()))
        return 0
    network = 0.0
    if link and (port := _NETWORK.fullmatch(link)):
        network, link = float(port[1]), None
    elif link:
        try:
            parsed_link(link)
        except UsageError as error:
            raise UsageError(f"'{link}' is no link; write gen3x16, or 100Gb for a port") from error
    pasted = _texts(files or [])
    with limited("the text"):
        result = judge(pasted, board, link, network)
    if form == "json":
        put(json.dumps(data(result), indent=1))
    else:
        put("\n".join(lines(result)))
    is_bad = result.failed or result.verdict in {"below", "impossible"}
    return GATE_FAILED if is_bad else 0


def _texts(files: list[Path]) -> list[Pasted]:
    """Reads each text with its name; raises UsageError for files that are not text."""
    from isthmus.errors import UsageError
    from isthmus.judging import Pasted

    chosen = files or [Path("-")]
    names = {file: "standard input" if str(file) == "-" else str(file) for file in chosen}
    texts, room = [], MOST_BYTES
    for file in dict.fromkeys(chosen):
        data = _bytes(file, room)
        room -= len(data)
        if b"\0" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise UsageError(f"{file}: not text")
        texts.append(Pasted(_decoded(data), names[file] if len(names) > 1 else ""))
    if not any(text.text.strip() for text in texts):
        raise UsageError("empty: there is nothing to judge")
    return texts


def _bytes(file: Path, most: int) -> bytes:
    """Content of a file or of standard input; raises UsageError if it exceeds ``most`` bytes."""
    from isthmus.errors import UsageError

    if str(file) == "-":
        if sys.stdin.isatty():
            raise UsageError("give a file, or pipe the output in: nvbandwidth | isthmus judge")
        data = sys.stdin.buffer.read(most + 1)
    else:
        try:
            if not file.is_file():
                raise UsageError(f"{file}: {'no file' if file.exists() else 'not there'}")
            with file.open("rb") as opened:
                data = opened.read(most + 1)
        except OSError as error:
            raise UsageError(f"{file}: {error.strerror}") from error
    if len(data) > most:
        raise UsageError(f"{file}: more than {MOST_BYTES >> 20} MiB in all, so no output of a tool")
    return data


def _decoded(data: bytes) -> str:
    """Decodes UTF-8, or UTF-16 with a byte order mark as Windows writes; replaces other bytes."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace").replace("\0", "")
    return data.decode("utf-8-sig", errors="replace").replace("\0", "")
