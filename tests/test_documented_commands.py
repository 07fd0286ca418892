"""Every command line of ``isthmus`` and ``make`` in the documentation: accepted, and run.

The tutorials are run as they stand, in order. Commands of other pages are run with few sizes and
little precision; ``ONLY_PARSED`` lists those whose options are only parsed, with the reason.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from conftest import LIMIT_S, made_once
from isthmus.cli import app
from isthmus.errors import UsageError
from isthmus.studies import registry

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SECTION = re.DOTALL | re.MULTILINE
BLOCK = re.compile(r"^ *```(?:sh|yaml|)\n(.*?)^ *```", SECTION)
COMMAND = re.compile(
    r"(?:\$ |- run: |if )?((?:mpirun|srun|\.venv/bin/isthmus|isthmus|make) .*|make)$"
)
EXIT_CODE = re.compile(r"# exit code (\d)")

ONLY_PARSED = {
    r"\b(cuda|nvidia)\b": "needs an NVIDIA GPU",
    r"(xrt|xocl):0(?!@(noop|card))|p520|@hw_emu": "needs an FPGA board or the vendor's tools",
    r"fpga-emulator": "needs Intel's FPGA emulator, which has its own licence",
    r"\bpci:|run mmio$": "reads configuration space of a PCI device: tests/test_mmio.py",
    r"^(mpirun|srun) ": "needs a launcher: tests/test_beff_ranks.py, tests/test_recipes.py",
    r"^make\b": "make sets up, builds or tests: each target is looked for",
    r"card kernel": "compiles a kernel: emulation/tests/test_kernel_docs.py",
    r"card exec": "runs a user's program: emulation/tests/test_emulation.py",
    r"reproduce (all|mmio$|opencl)": "takes minutes: tests/test_reproduce.py",
    r"advise .*--device opencl:pocl": "takes up to a minute: tests/test_advise.py",
    r"advise .*job\.json": "needs the run of a real device: tests/test_job.py",
    r"advise .*RUN\.json --code": "needs the run of an API: tests/test_advise_code.py",
    r"--resume": "needs an unfinished run: tests/test_run_command.py",
    r"\b(board|520n)\.json": "needs the run of a board",
    r"--launcher": "needs the run of several ranks: tests/test_repeat.py",
    r"xclbin (dump|write)": "needs the user's xclbin or list of kernels: emulation/tests",
    r"\$(SLURM|DEVICE|FLEET|turn)|before after": "part of a script: tests/test_recipes.py",
    r"--from|NAME|/mine\.toml": "needs a file of the user",
}
"""Commands that are not run, by pattern, with the reason."""
ENDS = {"faults.drop_write": 1, "--deadline 5ms": 3}
"""Exit codes of commands whose point is that they fail here: wrong data, too slow a card."""


class Line(NamedTuple):
    """A command line as a page has it."""

    page: str
    text: str
    exit_code: int

    @property
    def arguments(self) -> list[str]:
        """What ``isthmus`` is given, without redirections and other commands."""
        words = shlex.split(self.text, comments=True)
        first = next(
            (i for i, word in enumerate(words) if Path(word).name == "isthmus"), len(words)
        )
        rest = words[first + 1 :]
        ends = [i for i, word in enumerate(rest) if re.match(r"[>|;&]", word)]
        return rest[: ends[0]] if ends else rest

    @property
    def bare(self) -> str:
        """Without the comment."""
        return self.text.partition("  #")[0].strip()

    @property
    def reason(self) -> str:
        """Why it is only parsed; empty where it is run."""
        return next((why for what, why in ONLY_PARSED.items() if re.search(what, self.bare)), "")


def lines(page: Path) -> Iterator[Line]:
    """The command lines of a page's blocks of code."""
    for block in BLOCK.findall(page.read_text("utf-8")):
        whole = re.sub(r"\\\n\s*", "", block).splitlines()
        shown = [line for line in whole if line.startswith("$ ")] or whole  # else all are typed
        for line in shown:
            command = COMMAND.match(line.strip())
            code = EXIT_CODE.search(line)
            if command:
                one = Line(page.name, command[1], int(code[1]) if code else 0)
                if one.arguments or one.text.startswith("make"):
                    yield one


ALL = [line for page in PAGES for line in lines(page)]
TUTORIALS = [page for page in PAGES if page.name.startswith("tutorial_")]


def test_commands_are_found_and_each_reason_is_needed() -> None:
    assert {page.name for page in TUTORIALS} <= {line.page for line in ALL}
    used = {line.reason for line in ALL}
    assert used >= set(ONLY_PARSED.values()) | {""}


@cache
def isthmus() -> Any:
    return typer.main.get_command(app)


def _known(command: Any, name: str) -> Any:
    if command is None:
        raise UsageError(f"no command {name}")
    return command


def parse(arguments: list[str]) -> None:
    """Parses a command line as ``isthmus`` does; raises UsageError where that refuses it."""
    if "--help" in arguments:
        return
    command: Any = isthmus()
    try:
        context = command.make_context("isthmus", list(arguments))
        while context._protected_args:
            name, *rest = [*context._protected_args, *context.args]
            command = _known(command.get_command(context, name), name)
            context = command.make_context(name, rest, parent=context)
    except Exception as error:
        if hasattr(error, "format_message"):  # Typer's own
            raise UsageError(error.format_message()) from error
        raise
    study = registry().get(context.params.get("study") or "")
    if study and context.info_name == "run":
        names = {axis.name for axis in study.axes}
        given = {key: value for key, value in context.params.items() if value and key in names}
        study.parse({key: value[0] for key, value in given.items() if ":0x" not in value[0]})


@pytest.mark.parametrize("page", sorted({line.page for line in ALL}))
def test_every_command_is_accepted(page: str) -> None:
    for line in ALL:
        if line.page == page and line.text.split()[0] != "make":
            parse(line.arguments)


@pytest.mark.parametrize(
    "wrong",
    ["nothing", "run transfer --byte 1", "run transfer --operation swim", "card board u250"],
)
def test_what_is_not_there_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError):
        parse(wrong.split())


def test_every_target_of_make_exists() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for line in ALL:
        words = shlex.split(line.text, comments=True)
        if words[0] == "make" and "-C" not in words:
            assert {word for word in words[1:] if "=" not in word} <= set(targets), line


def shell(command: str, folder: Path, path: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in a folder, where no browser opens."""
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path, "BROWSER": "true"},
        check=False, capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip


def steps(page: Path) -> Iterator[tuple[str, int]]:
    """What a tutorial says to type, with the exit code that it promises.

    What takes PoCL's time is measured until it has any samples: no step needs its figures.
    """
    known = {line.text: line for line in ALL if line.page == page.name}
    for kind, block in re.findall(r"^```(sh|python)\n(.*?)^```", page.read_text("utf-8"), SECTION):
        if kind == "python":
            yield f"{sys.executable} -c {shlex.quote(block)}", 0
            continue
        for text in re.sub(r"\\\n\s*", "", block).splitlines():
            line = known.get(text, Line(page.name, text, 0))
            # ". " activates what is on PATH here; test_validation.py does what validate does.
            if line.reason or text.startswith(". ") or text == "isthmus model validate":
                continue
            command, sign, comment = text.partition("  #")
            enough = " --precision 0.9" * (" --device opencl:pocl" in text)
            yield f"{command.rstrip()}{enough}{sign}{comment}", line.exit_code


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [*TUTORIALS, ROOT / "docs" / "mistakes.md"], ids=lambda page: page.stem
)
def test_a_tutorial_can_be_followed(page: Path, tmp_path: Path, pocl: str, path: str) -> None:
    assert pocl
    assert page.read_text("utf-8").count("\n") <= 150
    for text, exit_code in steps(page):
        done = shell(text, tmp_path, path)
        assert done.returncode == exit_code, f"{text}\n{done.stdout}\n{done.stderr}"


def earlier(name: str, run: str) -> str:
    """The text of a run, begun a year before where its file's name says so: another run."""
    return re.sub(r'("started": ?")20\d\d', r"\g<1>2025", run) if "before" in name else run


def prepared(path: str, folder: Path) -> None:
    """Files of the names that the pages use."""
    card = "--device card:u250 --quick --memory aligned,pinned"
    made = shell(
        f"isthmus run transfer {card} --bytes 64Ki,1Mi --out run.json && "
        f"isthmus run transfer {card} --bytes 64Mi --out RUN.json && "
        f"isthmus run allocation {card} --elements 1Mi --out RUN2.json",
        folder, path,
    )  # fmt: skip
    assert not made.returncode, made.stderr
    for name in (
        "first", "before", "after", "base", "ours", "software", "model", "bw",
        "before.isthmus", "after.isthmus",
    ):  # fmt: skip
        text = (folder / "run.json").read_text("utf-8")
        (folder / f"{name}.json").write_text(earlier(name, text), "utf-8")
    for name in ("before", "after", "shared/fleet", "shared/fleet-before"):
        (folder / name).mkdir(parents=True)
        for i in range(7):
            text = earlier(name, (folder / "run.json").read_text("utf-8"))
            text = re.sub(r'"host": "[^"]*"', f'"host": "node{i}"', text)
            (folder / name / f"{i}.json").write_text(text, "utf-8")
    data = ROOT / "tests" / "data" / "import"
    for source, name in (
        ("nvbandwidth.json", "nvb.json"), ("nvbandwidth.json", "nvbandwidth.json"),
        ("osu_bw.txt", "osu_bw.txt"), ("osu_bw.txt", "log"),
    ):  # fmt: skip
        shutil.copy(data / source, folder / name)


def shortened(line: Line) -> str:
    """The command with few sizes, little precision and one process each, where it measures."""
    words = line.arguments
    command, marker, comment = line.text.partition("  #")
    if words[:1] == ["run"] and len(words) > 1:
        study = registry().get(words[1])
        size = f"--{study.size_axis.name}" if study else ""
        axes = {size, "--sizes"} if size else set()
        few = [] if axes & set(words) or not size else [size, "4Ki"]
        quick = [] if "--quick" in words else ["--quick"]
        # What other commands read must have something in it, on a busy machine too.
        seconds = "10" if "--out" in words else "2"
        budget = [] if "--budget" in words else ["--budget", seconds]
        command = re.sub(r" --precision \S+", "", command)
        command = re.sub(r"(--bytes \w+):\w+", r"\1,4Ki", command)
        enough = ["--precision", "0.9"]  # reached with any samples
        once = [] if "--reruns" in words else ["--reruns", "1"]
        extra = shlex.join([*quick, *budget, *enough, *once, *few])
        head, sign, tail = command.partition(" > ")
        command = f"{head.rstrip()} {extra}{sign}{tail}"
    return command.replace("/shared/", "shared/") + (marker and f" {marker}{comment}")


RUN_BY = {
    (line.bare, line.exit_code): line.page
    for line in sorted(ALL, key=lambda line: ROOT / "docs" / line.page in TUTORIALS)
    if not line.reason
}
"""The page that runs a command, of those that have it: a tutorial, if one does."""
PAGES_RUN = sorted({line.page for line in ALL if not line.reason} - {p.name for p in TUTORIALS})


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_RUN)
def test_every_command_of_a_page_runs(page: str, tmp_path: Path, pocl: str, path: str) -> None:
    assert pocl
    made = made_once("documented", partial(prepared, path))
    folder = tmp_path / "folder"
    shutil.copytree(made, folder)
    for line in ALL:
        if line.page != page or line.reason:
            continue
        if RUN_BY[line.bare, line.exit_code] != page and ".json" not in line.bare:
            continue
        for out in re.findall(r"--out (\S+\.json)", line.text):
            (folder / out).unlink(missing_ok=True)
        for out in re.findall(r"import (\w+)\.json", line.text):  # imported again
            (folder / f"{out}.isthmus.json").unlink(missing_ok=True)
        done = shell(shortened(line), folder, path)
        expected = next((code for part, code in ENDS.items() if part in line.text), 0)
        assert done.returncode == expected, f"{shortened(line)}\n{done.stdout}\n{done.stderr}"
