"""Texts that people and strangers write: each is read, or refused by a UsageError of one line."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from isthmus import boards, units
from isthmus.address import Address
from isthmus.boards.reader import read as read_board
from isthmus.errors import UsageError
from isthmus.published import source
from isthmus.system.binding import parse_cpus

PUBLISHED = Path(source.__file__).parent
_DIGITS = st.text("0123456789:,.-KiMGT%msnu", max_size=30)


@pytest.mark.parametrize(
    "parse",
    [
        units.parse_size, units.parse_sizes, units.parse_positive, units.parse_counts,
        units.parse_share, units.parse_seconds, Address.parse, parse_cpus,
    ],
)  # fmt: skip
@given(text=st.text(max_size=20) | _DIGITS)
@example(text="9" * 5000)
@example(text="0-" + "9" * 9)
@example(text="1:1125899906842624")
@example(text="9" * 400 + "s")
@example(text="²")
@example(text="٣")
def test_a_text_is_parsed_or_refused(parse: Callable[[str], object], text: str) -> None:
    try:
        value = parse(text)
    except UsageError as error:
        message = str(error)
        assert len(message) < len(text) * 6 + 300
    else:
        assert not isinstance(value, float) or math.isfinite(value)


def _damaged(text: str, edits: list[tuple[int, int, str]]) -> str:
    for at, length, put in edits:
        place = at % (len(text) + 1)
        text = text[:place] + put + text[place + length :]
    return text


_EDITS = st.lists(
    st.tuples(
        st.integers(0, 10**5),
        st.integers(0, 40),
        st.text(max_size=6)
        | st.sampled_from(
            ["0", "-1", "1e999", "nan", "inf", "[]", "{}", '""', "true", "\n[board]\n", "[" * 5000,
             "9" * 400, "{x.__class__}", "{0}", "{size", "1:2Gi", "= 3\n", "#", "[[row]]\n"]
        ),
    ),
    min_size=1, max_size=4,
)  # fmt: skip


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(["u250", "520n", "f1-vu9p", "stratix4-gen2x8"]), edits=_EDITS)
@example(name="u250", edits=[(0, 0, "x = " + "[" * 100_000)])
def test_a_damaged_board_is_read_or_refused(
    tmp_path: Path, name: str, edits: list[tuple[int, int, str]]
) -> None:
    text = (boards.FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    path = tmp_path / "board.toml"
    path.write_bytes(_damaged(text, edits).encode("utf-8", "surrogatepass"))
    try:
        board = read_board(str(path), boards.FOLDER, {})
    except UsageError as error:
        assert "\n" not in str(error)  # noqa: PT017 - most are read
    else:
        assert board.settings


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(sorted(path.parent.name for path in PUBLISHED.glob("*/source.toml"))),
    edits=_EDITS,
)
def test_a_damaged_source_is_read_or_refused(
    tmp_path: Path, name: str, edits: list[tuple[int, int, str]]
) -> None:
    for path in (PUBLISHED / name).iterdir():
        if path.is_file() and path.name != "source.toml" and not (tmp_path / path.name).exists():
            (tmp_path / path.name).symlink_to(path)
    text = (PUBLISHED / name / "source.toml").read_text(encoding="utf-8")
    (tmp_path / "source.toml").write_bytes(_damaged(text, edits).encode("utf-8", "surrogatepass"))
    try:
        read = source.read(name, tmp_path)
    except UsageError as error:
        assert str(tmp_path) in str(error)  # noqa: PT017 - most are read
    else:
        assert read.name == name
