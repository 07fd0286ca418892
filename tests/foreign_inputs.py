"""Targets of ``test_foreign_inputs.py``: the readers of foreign files and texts.

A target reads one input. It succeeds, or raises IsthmusError with a short message; any other
exception is a fault. ``tests/data/fuzz/TARGET`` has inputs that once raised such an exception.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from isthmus import boards, importers, units
from isthmus.address import Address
from isthmus.analysis.loaded import LoadedRun
from isthmus.analysis.summary import summarise
from isthmus.boards.reader import from_flat
from isthmus.boards.reader import read as read_board
from isthmus.cli import app
from isthmus.errors import IsthmusError
from isthmus.importers.as_run import imported
from isthmus.published import source
from isthmus.results import journal, run_file
from isthmus.results.anonymise import anonymised
from isthmus.system.binding import listed_cpus

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "tests" / "data" / "fuzz"
RUNS = CORPUS / "run"
MOST_SAID = 20_000
"""Longest allowed message, in characters."""
_PUBLISHED = Path(source.__file__).parent
_FILE = re.compile(r"^=== ([A-Za-z0-9_-]{1,60}\.(?:toml|csv))\n", re.MULTILINE)
_ESCAPES = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Target:
    """A reader and its valid inputs."""

    name: str
    read: Callable[[Path], None]
    """Reads the file; it may write into the file's folder."""
    seeds: Callable[[], Iterable[bytes]]
    """Valid inputs: the reader reads them."""
    others: Callable[[], Iterable[bytes]] = lambda: ()
    """Inputs that the reader may refuse, beside those of ``tests/data/fuzz``."""

    def doubtful(self) -> list[bytes]:
        """Returns the inputs that the reader reads or refuses."""
        own = sorted((CORPUS / self.name).glob("*"))
        return [*(path.read_bytes() for path in own), *self.others()]


def ensure(holds: bool, error: str) -> None:
    """Raises AssertionError unless ``holds``, also under ``python -O``."""
    if not holds:
        raise AssertionError(error)


def _run_file(path: Path) -> None:
    loaded = LoadedRun(path)
    frame = loaded.frame()
    loaded.samples()
    _ = loaded.findings, loaded.answers  # judged when they are asked for
    ensure(not (set(frame["verified"]) - {"true", "false", "na"}), "verified is a fourth value")
    text = run_file.encode(loaded.run)
    ensure(run_file.encode(msgspec.json.decode(text, type=run_file.Run)) == text, "not the same")
    once = anonymised(loaded.run)
    ensure(len(once.points) == len(loaded.run.points), "a point is lost")


def _commands(path: Path) -> None:
    """Runs one of the commands that read run files; a checksum of the file chooses it."""
    base, out = str(RUNS / "transfer.json"), path.parent / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    file = str(path)
    forms = ("csv", "json", "md", "table")
    choices = [
        ["show", file], ["compare", base, file], ["compare", file, base], ["compare", file, file],
        *(["show", file, "--format", form] for form in forms),
        *(["show", file, "--samples", "--format", form] for form in ("csv", "json")),
        *(["compare", base, file, "--format", form] for form in (*forms, "junit")),
        ["advise", "4Ki", file], ["advise", "64Mi", file], ["doctor", "--run", file],
        ["fleet", str(out / "fleet")], ["cite", file],
        ["export", file, "--out", str(out / "rows.csv")],
        ["anonymise", file, "--out", str(out / "free.json")],
    ]  # fmt: skip
    command = choices[zlib.crc32(path.read_bytes()) % len(choices)]
    if command[0] == "fleet":
        (out / "fleet").mkdir()
        for name in ("a.json", "b.json", "c.json"):
            shutil.copy(base, out / "fleet" / name)
        shutil.copy(path, out / "fleet" / "d.json")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        app(args=command, standalone_mode=False)
    if "csv" not in command:  # CSV keeps texts unchanged
        steering = _ESCAPES.search(said.getvalue())
        ensure(steering is None, f"{command[0]} prints {steering!r}")


def _page(path: Path) -> None:
    folder = path.parent / "page"
    with contextlib.redirect_stdout(io.StringIO()):
        app(args=["report", str(path), "--out", str(folder), "--force"], standalone_mode=False)
    page = (folder / "index.html").read_text(encoding="utf-8")
    ensure("<script>alert" not in page, "the page holds a script of the file")


def _journal(path: Path) -> None:
    run, entries = journal.read(path)
    points = journal.assemble(run.points, entries)
    whole = {journal.key_of(entry.point) for entry in entries}
    ensure(whole <= {journal.key_of(point) for point in points}, "a point of an entry is lost")
    run_file.encode(msgspec.structs.replace(run, points=points))


def _journals() -> Iterator[bytes]:
    for path in sorted(RUNS.glob("*.json")):
        run = run_file.load(path)
        head = msgspec.structs.replace(run, points=[])
        lines = [msgspec.json.encode(line) for line in (head, *journal.entries_of(run.points)[:8])]
        yield b"\n".join(lines) + b"\n"


def _imported(path: Path, form: str | None) -> None:
    try:
        run = imported(path, form, None, [])
    except IsthmusError:  # the output may not say the size of its transfers
        run = imported(path, form, 4096, [])
    frame = summarise(run)
    ensure(not frame["verified"].eq("true").any(), "an imported figure was called verified")
    ensure(bool(frame["median_s"].dropna().gt(0).all()), "a time is not above 0")
    run_file.encode(run)


def _outputs(form: str | None) -> Iterator[bytes]:
    for path in sorted((ROOT / "tests" / "data" / "import").iterdir()):
        data = path.read_bytes()
        if path.name != "README.md" and form in {None, importers.recognised(data.decode()).name}:
            yield data


def _judged(form: str | None) -> Iterator[bytes]:
    """Yields outputs for ``isthmus judge``; some have no figure to import."""
    for path in sorted((ROOT / "tests" / "data" / "judge").glob("*.txt")):
        if form in {None, path.name.partition("-")[0]}:
            yield path.read_bytes()


def _xclbin(path: Path) -> None:
    from isthmus_emulation.xclbin import listing, load, read

    file = load(path)
    listing.as_text(file)
    listing.as_data(file)
    ensure(read(file.encode()).sections == file.sections, "written and read, it has other sections")


def _xclbins() -> Iterator[bytes]:
    from isthmus_emulation.xclbin import Bank, Design, transfer_default

    yield transfer_default().encode()
    yield transfer_default("hw_emu").encode()
    yield Design(memories=(Bank("bank0"),)).build().encode()


def _sizes(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "surrogateescape")[:2000]
    parsers: tuple[Callable[[str], object], ...] = (
        units.parse_size, units.parse_sizes, units.parse_positive, units.parse_counts,
        units.parse_share, units.parse_seconds, Address.parse, listed_cpus, boards.named,
    )  # fmt: skip
    for parse in parsers:
        with refused():
            parse(text)
    with refused():
        size = units.parse_size(text)
        ensure(units.parse_size(units.format_size(size)) == size, "printed, it is another size")


def _board(path: Path) -> None:
    board = read_board(str(path), boards.FOLDER, {})
    flat = board.flat()
    ensure(from_flat(flat).flat() == flat, "recorded in a run, it is another board")


def _boards(names: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(boards.FOLDER.glob(f"{names}.toml"))]


def _published(path: Path) -> None:
    folder = path.parent / "source"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    _, *pieces = _FILE.split(path.read_bytes().decode("utf-8", "replace"))
    for name, text in zip(pieces[::2], pieces[1::2], strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    for row in source.read("fuzzed", folder).rows:
        ensure(row.text != "" and row.how in source.KINDS, "a row without a figure")
        row.residual(1.0)


def _sources() -> Iterator[bytes]:
    for path in sorted(_PUBLISHED.glob("*/source.toml")):
        tables = sorted(path.parent.glob("*.csv"))
        files = [f"=== {file.name}\n{file.read_text(encoding='utf-8')}" for file in (path, *tables)]
        yield "\n".join(files).encode()


@contextlib.contextmanager
def refused() -> Iterator[None]:
    """A context that accepts IsthmusError with a short message; other errors pass."""
    try:
        yield
    except IsthmusError as error:
        ensure(len(str(error)) <= MOST_SAID, "refused with a long message")


def _files(*folders: Path) -> Iterator[bytes]:
    for folder in folders:
        yield from (path.read_bytes() for path in sorted(folder.glob("*")) if path.is_file())


def _texts() -> list[bytes]:
    return [
        b"4Ki", b"1:2Gi", b"1,2,4Ki:64Ki", b"0,1,3", b"2%", b"0.02", b"1.5s", b"20us", b"0,2-3",
        b"opencl:pocl", b"xrt:0@card=u250", b"null:5us,clock=simulated", b"u250,link.lanes=8",
        b"card:u250,link.lanes=8@noop",
    ]  # fmt: skip


def _json(*names: str) -> list[bytes]:
    return [path.read_bytes() for name in names for path in sorted(RUNS.glob(f"{name}.json"))]


_runs = partial(_files, RUNS)
TARGETS = {
    target.name: target
    for target in (
        Target("run", _run_file, partial(_json, "*")),
        Target("commands", _commands, partial(_json, "transfer"), _runs),
        Target("page", _page, partial(_json, "*"), _runs),
        Target("journal", _journal, _journals),
        Target(
            "import", partial(_imported, form=None), partial(_outputs, None), partial(_judged, None)
        ),
        *(
            Target(
                f"import-{name}",
                partial(_imported, form=name),
                partial(_outputs, name),
                partial(_judged, name),
            )
            for name in importers.registry()
        ),
        Target("xclbin", _xclbin, _xclbins),
        Target("sizes", _sizes, _texts),
        Target("board", _board, partial(_boards, "[!_]*"), partial(_boards, "_*")),
        Target("published", _published, _sources),
    )
}
