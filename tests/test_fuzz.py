"""The fuzzing tool: inputs of the repository pass, and each kind of finding is seen."""

from __future__ import annotations

import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Command
from isthmus.errors import UsageError

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import fuzz_python
from fuzz_mutation import MOST_BYTES, Mutator
from fuzz_targets import TARGETS, Target, refused

_EXTRA = {"commands", "page"}  # the same inputs as run; each takes seconds


@pytest.mark.parametrize("name", [name for name in TARGETS if name not in _EXTRA])
def test_inputs_of_the_repository_are_read_or_refused(name: str, tmp_path: Path) -> None:
    inputs = TARGETS[name].inputs()
    assert inputs
    for data in inputs:
        (tmp_path / "input").write_bytes(data)
        with refused():
            TARGETS[name].read(tmp_path / "input")


def _found(read: Callable[[Path], None], folder: Path, limit_s: float = 1.0) -> dict[str, str]:
    target = Target("planted", read, lambda: (b'{"a": 1}',), limit_s)
    report = fuzz_python.Fuzzer(target, folder, 1).run(0.05)
    assert report.inputs
    return report.found


def test_an_error_that_is_no_refusal_is_found_and_its_input_kept(tmp_path: Path) -> None:
    def read(path: Path) -> None:
        if path.read_bytes() != b'{"a": 1}':
            raise ZeroDivisionError

    ((what, file),) = _found(read, tmp_path).items()
    assert what.startswith("ZeroDivisionError at test_fuzz.py:")
    with pytest.raises(ZeroDivisionError):
        read(Path(file))


def test_a_hang_is_found_and_a_refusal_is_none(tmp_path: Path) -> None:
    def hang(_: Path) -> None:
        while True:
            pass

    def refuse(_: Path) -> None:
        raise UsageError("not a run file")

    before = signal.signal(signal.SIGPROF, fuzz_python._hung)
    try:
        assert [what.partition(" ")[0] for what in _found(hang, tmp_path, 0.1)] == ["HungError"]
    finally:
        signal.signal(signal.SIGPROF, before)
    assert not _found(refuse, tmp_path)


def test_mutations_repeat_with_their_seed_and_end_at_the_limit() -> None:
    data, other = b'{"name": [1, 2.5, "x"]}\n', b"# sizes\n1 2\n"

    def some() -> list[bytes]:
        mutator = Mutator(random.Random(5))
        return [mutator.mutated(data, other) for _ in range(500)]

    first = some()
    assert first == some()
    assert len(set(first)) > 400
    assert max(map(len, first)) <= MOST_BYTES


def test_text_of_strangers_in_an_error_is_one_line_without_escapes(isthmus: Command) -> None:
    done = isthmus("run", "transfer", "--device", "null", "--bytes", "1\n\x1b[31m2")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr


def test_a_board_name_that_no_file_can_have_is_refused(isthmus: Command) -> None:
    done = isthmus("card", "boards", "a" * 5000)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert len(done.stderr) < 400
