"""Files of strangers that are made to hang, to fill the memory or to run a formula."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import other_outputs
from conftest import LIMIT_S, Command, slow
from isthmus import boards, patience
from isthmus.cli.judge import judge_files
from isthmus.errors import UsageError
from isthmus.importers import as_run
from isthmus.written import csv_text

SOURCES = Path(patience.__file__).parent
ISTHMUS = Path(sys.executable).with_name("isthmus")
DIGITS = "9" * 5000
"""Python refuses to read or print a whole number of more than 4300 digits."""


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("log.txt", content)
    return file.getvalue()


BOMBS = {
    "gzip": gzip.compress(bytes(1 << 26)),
    "zip": zipped(bytes(1 << 26)),
    "nesting": b"[" * (1 << 20),
    "nvbandwidth": b'{"nvbandwidth":' + b"[" * (1 << 20),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_in_one_line(isthmus: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / "log").write_bytes(BOMBS[name])
    for words in ("import", "log", "--out", "run.json"), ("judge", "log"):
        done = isthmus(*words)
        assert done.returncode == 2, done.stderr
        assert done.stderr.count("\n") == 1
        assert "Error:" not in done.stderr
        assert len(done.stderr) < 2000
    assert not (tmp_path / "run.json").exists()


def test_a_long_word_costs_no_more_than_its_length(tmp_path: Path) -> None:
    """The square of this length would exceed the time after which a text is refused."""
    text = (other_outputs.DATA / "xbutil-u250.txt").read_text("utf-8") + "x" * 1_000_000
    (tmp_path / "log").write_text(text)
    assert as_run.imported(tmp_path / "log", "xbutil", None, []).points


LONG_LINES = {"spaces": " " * 2_000_000 + "x"}
"""To search these for the patterns of importers takes the square of their length."""


@pytest.mark.parametrize("name", LONG_LINES)
def test_a_text_that_takes_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(patience, "READING_S", 0.5)
    (tmp_path / "log").write_text(LONG_LINES[name])
    with pytest.raises(UsageError, match="not read within 0 s, so it is not a benchmark's output"):
        as_run.imported(tmp_path / "log", None, None, [])
    with pytest.raises(UsageError, match="not read within 0 s, so it is not a benchmark's output"):
        judge_files([tmp_path / "log"])


def test_time_that_is_not_used_up_leaves_no_alarm() -> None:
    with patience.limited("a text"):
        pass
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) == signal.SIG_DFL


@pytest.mark.parametrize("file", other_outputs.FILES, ids=lambda path: path.name)
def test_numbers_without_end_are_refused_or_read(file: Path, tmp_path: Path) -> None:
    """The longest run of digits: a count, a size or a rate."""
    text = file.read_text("utf-8", "replace")[:20_000]
    for number in sorted(set(re.findall(r"\d+", text)), key=len)[-4:]:
        (tmp_path / "log.txt").write_text(text.replace(number, DIGITS))
        with contextlib.suppress(UsageError):
            as_run.imported(tmp_path / "log.txt", None, None, [])


INSTALLED = Path(boards.named("u250").settings["link.lanes"].file).read_text("utf-8")


def with_value(value: str) -> str:
    changed, count = re.subn(r"value = \d+", f"value = {value}", INSTALLED, count=1)
    assert count
    return changed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(with_value(DIGITS), "no TOML: Exceeds the limit", id="digits"),
        pytest.param(with_value(f"0x{DIGITS}"), "too many digits", id="hexadecimal"),
        pytest.param(with_value("inf"), "inf is not", id="infinite"),
        pytest.param("a = " + "[" * 60_000, "no TOML", id="nested"),
        pytest.param("# " + "x" * 65_536, "larger than 64 KiB, which no board is", id="large"),
    ],
)
def test_a_strangers_board_is_refused_in_one_line(
    isthmus: Command, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "mine.toml").write_text(text)
    done = isthmus("card", "boards", "./mine.toml")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 1000


def test_boards_that_include_one_another_without_end_are_refused(tmp_path: Path) -> None:
    for number in range(2000):
        include = f'[board]\ninclude = "./b{number + 1}.toml"\n'
        (tmp_path / f"b{number}.toml").write_text(include)
    with pytest.raises(UsageError, match="more than 16 files include one another"):
        boards.named(str(tmp_path / "b0.toml"))


LONG = "n" * 300


@pytest.mark.parametrize(
    "words",
    [("show", LONG), ("report", LONG), ("export", LONG, "--out", "a.csv"), ("compare", LONG, LONG),
     ("fleet", LONG), ("repeat", LONG), ("run", "transfer", "--device", "null", "--out", LONG)],
)  # fmt: skip
def test_a_name_that_no_file_can_have_is_refused_in_one_line(
    isthmus: Command, words: tuple[str, ...]
) -> None:
    done = isthmus(*words)
    assert done.returncode == 2
    assert "File name too long" in done.stderr
    assert "Error" not in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "text", ["=A1", "+A1", "-A1", "@A1", " =A1", "\uff1dA1", "a;=A1", "a; +A1", "a;\uff20A1"]
)
def test_no_cell_is_a_formula_in_any_country(text: str) -> None:
    """A semicolon separates cells where the comma is the decimal point."""
    cell = csv_text(["text"], [[text]]).splitlines()[1]
    for part in cell.split(";"):
        assert not re.match(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]", part)
    assert cell.replace("'", "") == text


COMMANDS = [("show", "run.json"), ("export", "run.json", "--out", "rows.csv"),
            ("report", "run.json", "--out", "page"), ("devices",)]  # fmt: skip


@pytest.mark.parametrize("words", slow(*((words,) for words in COMMANDS)))
def test_an_interrupt_at_any_time_is_one_line(
    isthmus: Command, tmp_path: Path, words: tuple[str, ...]
) -> None:
    measured = ("--device", "null", "--bytes", "1,64", "--reruns", "2", "--budget", "5")
    assert isthmus("run", "transfer", *measured, "--out", "run.json").returncode == 0
    for tenths in range(1, 12):
        with subprocess.Popen(
            [ISTHMUS, *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True,
        ) as process:  # fmt: skip
            try:
                process.wait(tenths / 10)
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGINT)
            _, said = process.communicate(timeout=LIMIT_S)
        assert str(SOURCES) not in said  # Python itself may be interrupted before Isthmus runs
        assert not list(tmp_path.rglob(".*.tmp"))
        for made in ("rows.csv", "page/index.html"):
            (tmp_path / made).unlink(missing_ok=True)


INTERRUPTED_AS_IT_IS_MADE = """
import os, signal, sys, numpy
sent = []
def watch(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.endswith("enum.py") and not sent:
        sent.append(os.kill(os.getpid(), signal.SIGINT))
sys.setprofile(watch)
try:
    import isthmus._core
except KeyboardInterrupt:
    sys.setprofile(None)
    print("interrupted", len(sent))
"""


def test_an_interrupt_waits_until_the_compiled_module_is_made() -> None:
    """nanobind would abort the process if the interrupt came while it makes an enumeration."""
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AS_IT_IS_MADE], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted 1\n", "")
