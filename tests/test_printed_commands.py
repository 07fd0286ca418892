"""Commands that Isthmus prints can be pasted, whatever stands in a run file of a stranger's."""

from __future__ import annotations

import copy
import html
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import LIMIT_S, Command
from isthmus import backends
from isthmus.analysis import commands
from isthmus.analysis.findings import findings
from isthmus.analysis.findings.finding import plain
from isthmus.errors import UsageError
from isthmus.program import Invocation, invocation, quoted, shorter
from isthmus.reporters import summary
from isthmus.results import run_file
from isthmus.results.run_file import Run
from planted import FAULTS, on_board
from synthetic import Law, transfer_run
from test_documented_commands import parse

SHELL = (
    "beff --allow-program; touch owned; $(touch owned)`touch owned`"
    "'; touch owned; '\\\"; touch owned #"
)
"""Ends words, substitutes commands and leaves either kind of quotes: quoting stops all or fails."""
PAYLOADS = {
    "shell": lambda old: old + SHELL,
    "permission": lambda _: "--allow-program",
    "control": lambda old: f"{old}x\x1b]0;owned\x07\u202e\ntouch owned\n",
}
"""What a stranger writes into a string: an option begins a word, all else may follow a good one."""
PERMISSIONS = {one.flag for one in backends.run_options().values() if one.permission}
NAMED = re.compile(
    r"(?:^|[\s>:;])((?:\S*/)?isthmus (?:run|show|report|compare|doctor|advise|reproduce|repeat) .*)"
)
Document = dict[str, Any]


def undecided() -> Run:
    """A run cut off whose comparison of memory kinds is open, so that it advises to go on."""
    laws = {"cuda:0": {"write": Law(1e-6, 9e9), "read": Law(1e-6, 9e9)}}
    of_memory = [
        transfer_run(laws, [4096, 1 << 20, 1 << 26], between=0.4, seed=seed).points
        for seed in (1, 2)
    ]
    points = [
        msgspec.structs.replace(point, memory=memory)
        for memory, points in zip(("pageable", "pinned"), of_memory, strict=True)
        for point in points
    ]
    run = transfer_run(laws, [4096], status="budget")
    axes = {"bytes": "4Ki,1Mi,64Mi", "depth": "1"}
    return msgspec.structs.replace(
        run, points=points, settings=msgspec.structs.replace(run.settings, axes=axes)
    )


def printed(text: str) -> Iterator[str]:
    """Commands of Isthmus in a text, lines that end in a backslash joined."""
    for line in text.replace("\\\n", "").splitlines():
        yield from (found[1] for found in NAMED.finditer(line))


def texts(run: Run) -> Iterator[str]:
    """What reporters print of a run, as text."""
    yield "\n".join(summary.lines(run, Path("run.json")))
    yield "\n".join(str(value) for one in findings(run) for value in commands_in(plain(one)))
    yield str(commands.recorded(run))


def commands_in(data: Any) -> Iterator[str]:
    """Values of the keys that hold commands, in data for programs."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key in {"action", "command", "cure"} and isinstance(value, str):
                yield value
            yield from commands_in(value)
    if isinstance(data, list):
        for value in data:
            yield from commands_in(value)


def check(command: str, folder: Path) -> None:
    """Fails where a shell would do anything but call Isthmus, or where that has a permission."""
    words = shlex.split(command)
    program = next(i for i, word in enumerate(words) if Path(word).name == "isthmus")
    stand_in = f"function {Path(words[program])} {{ printf '%s\\0' \"$@\" >called; }}; "
    launch = 'function mpirun { shift 2; "$@"; }; function sudo { "$@"; }; '
    subprocess.run(
        ["bash", "-c", stand_in + launch + command], cwd=folder, check=True, timeout=LIMIT_S
    )
    assert [file.name for file in folder.iterdir()] == ["called"], command
    given = (folder / "called").read_text().split("\0")[:-1]
    (folder / "called").unlink()
    assert given == words[program + 1 :], command
    assert not PERMISSIONS & set(given), command
    parse(given)


def planted(document: Document, payload: str) -> Iterator[tuple[str, Document]]:
    """The document with a payload in each of its strings in turn."""

    def places(data: Any, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
        pairs = data.items() if isinstance(data, dict) else enumerate(data)
        for key, value in pairs:
            if isinstance(value, str):
                yield (*path, key)
            elif isinstance(value, dict | list) and value:
                yield from places(value, (*path, key))

    seen = set()
    for path in places(document):
        name = ".".join("*" if isinstance(key, int) else str(key) for key in path)
        if name in seen:
            continue
        seen.add(name)
        changed = copy.deepcopy(document)
        at: Any = changed
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = PAYLOADS[payload](at[path[-1]])
        if name.startswith("points") and "device" in name:  # a device that the run has
            changed["devices"][0]["address"] = at[path[-1]]
            for point in changed["points"]:
                point["device"] = at[path[-1]]
        yield name, changed


def judged(folder: Path) -> Run:
    """A run of a board whose checks find a fault, so that it advises to look closer."""
    facts = FAULTS["MPS 128"][1](on_board(4)).facts(folder)
    assert facts.device
    laws = {"cuda:a": {"write": Law(5e-6, 2e9), "read": Law(5e-6, 2e9)}}
    return transfer_run(laws, [4096, 1 << 26], devices=[facts.device], environment=dict(facts.host))


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    """Runs of which each kind of command is printed, with what a stranger would add."""
    added: Document = {
        "options": {"xclbin": "a b.xclbin", "allow_program": "yes", "other": "x"},
        "cpus": [0], "numa_node": 0,
    }  # fmt: skip
    result = []
    for run in (undecided(), judged(tmp_path_factory.mktemp("sysfs"))):
        document = json.loads(run_file.encode(run))
        document["settings"] |= added
        document["environment"]["ranks"] = []
        document["software"]["command"] = ["mpirun", "-n", "2", "isthmus", "run", "transfer"]
        result.append(document)
    return result


@pytest.mark.parametrize("payload", PAYLOADS)
def test_what_a_strangers_file_says_is_no_command_of_its_own(
    documents: list[Document], payload: str, tmp_path: Path
) -> None:
    shell = tmp_path / "shell"
    shell.mkdir()
    checked: set[str] = set()
    for document in documents:
        for name, changed in planted(document, payload):
            data = json.dumps(changed).encode()
            try:
                run = msgspec.json.decode(data, type=Run)
                shown = list(texts(run))
            except (msgspec.ValidationError, UsageError, ArithmeticError, LookupError, ValueError):
                continue
            for command in {one for text in shown for one in printed(text)} - checked:
                checked.add(command)
                try:
                    check(command, shell)
                except Exception as error:
                    raise AssertionError(f"{name}: {command!r}") from error
    assert len(checked) > 5


def test_every_command_that_shows_a_file_quotes_what_it_prints(
    documents: list[Document], run_isthmus: Command, tmp_path: Path
) -> None:
    """All strings that a shell could take for something are in one file, for all reporters."""
    document = copy.deepcopy(documents[0])
    evil = SHELL
    document["software"]["command"] = ["sh", "-c", "touch owned", "isthmus", "run"]
    document["settings"]["options"] = {evil: "yes", "allow_program": "yes", "xclbin": evil}
    document["settings"]["axes"] = {"bytes": "4Ki", "memory": evil, evil: "1"}
    document["environment"]["ranks"] = [{"device": evil}, {"device": "cuda:0"}]
    for point in document["points"]:
        point["memory"] = point["memory"].replace("pinned", evil)
    files, shell = tmp_path / "files", tmp_path / "shell"
    files.mkdir()
    shell.mkdir()
    name = "a; touch owned; b.json"
    (files / name).write_text(json.dumps(document))
    seen = 0
    for line in (
        ["show", name], ["show", name, "--format", "json"], ["show", name, "--format", "md"],
        ["compare", name, name], ["compare", name, name, "--format", "json"], ["cite", name],
        ["advise", "5Ki", name], ["advise", "5Ki", name, "--once"], ["fleet", "."],
        ["doctor", "--run", name], ["doctor", "--run", name, "--json"],
        ["report", name, "--out", "page"], ["repeat", name], ["show", "none.json"],
        ["run", "transfer", "--resume", "--out", name],
    ):  # fmt: skip
        done = run_isthmus(*line, cwd=files)
        assert "Traceback" not in done.stderr, done.stderr
        text = done.stdout + "\n" + done.stderr
        if "json" in line:
            text = "\n".join(commands_in(json.loads(done.stdout)))
        if line[0] == "report":
            page = (files / "page" / "index.html").read_text("utf-8")
            shown = re.findall(r"<(?:code|pre)[^>]*>(.*?)</", page, re.DOTALL)
            text = "\n".join(map(html.unescape, shown))
        for command in printed(text):
            check(command, shell)
            seen += 1
    assert seen > 8


def test_the_users_own_axes_are_repeated_and_no_permission() -> None:
    run = undecided()
    options = {"allow_program": "yes"}
    settings = msgspec.structs.replace(run.settings, options=options, numa_node=0)
    run = msgspec.structs.replace(run, settings=settings)
    shown = "\n".join(summary.lines(run, Path("run.json")))
    (decide,) = (one for one in printed(shown) if "--resume" not in one and " run " in one)
    words = shlex.split(decide)
    for name, value in {**run.settings.axes, "numa-node": "0"}.items():
        assert words[words.index(f"--{name}") + 1] == value
    assert not PERMISSIONS & set(shlex.split(shown))


def test_a_run_of_ranks_goes_on_in_as_many() -> None:
    run = undecided()
    ranks = [{"rank": n, "device": f"cuda:{n}"} for n in range(2)]
    run = msgspec.structs.replace(run, environment={"ranks": ranks})
    lines = "\n".join(summary.lines(run, Path("run.json"))).replace("\\\n", "")
    assert re.search(r"Go on: +mpirun -n 2 isthmus run transfer --resume", lines)
    again = commands.again(run, "transfer", ["cuda:0"])
    assert str(again).startswith(
        "mpirun -n 2 isthmus run transfer --device cuda:0 --device cuda:1 --bytes"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"axes": {"bites": "1"}}, {"axes": {"bytes": "many"}}, {"axes": {"memory": "0:0+4Ki"}},
        {"axes": {"memory": "a\nb"}}, {"options": {"registers": "0:0\n"}},
    ],
)  # fmt: skip
def test_a_value_that_this_isthmus_does_not_take_gives_no_command(
    change: dict[str, dict[str, str]],
) -> None:
    run = undecided()
    device = msgspec.structs.replace(run.devices[0], address="pci:0", backend="mmio")
    run = msgspec.structs.replace(run, devices=[device])
    assert commands.again(run, "transfer", ["pci:0"])
    settings = msgspec.structs.replace(run.settings, **change)
    changed = msgspec.structs.replace(run, settings=settings)
    found = commands.again(changed, "transfer", ["pci:0"])
    assert found == "" or not set(change["axes"]) & set(found.words)


@pytest.mark.parametrize(
    "address", ["a", "--resume", "pci:0,allow_writes=yes", "cuda:0\n", "cuda:\u202e0", "null:"]
)
def test_an_address_of_no_backend_is_none(address: str) -> None:
    assert not commands.is_address(address)
    assert commands.again(undecided(), "transfer", [address]) == ""


@pytest.mark.parametrize(
    "word", ["a", "", "a b", "it's", "a\nb", "\x1b[31m'\\", "\udcff.json", "\u202e", "$(x)", "-"]
)
def test_a_shell_reads_a_quoted_word_as_it_was(word: str) -> None:
    shown = subprocess.run(
        ["bash", "-c", f"printf %s {quoted(word)}"], capture_output=True, check=True
    )
    assert shown.stdout == os.fsencode(word)
    assert quoted(word).isprintable()


def test_a_file_whose_name_begins_as_an_option_stays_a_file() -> None:
    assert shorter(Path("--open.json")) == "./--open.json"
    command = invocation("show", shorter(Path("-x")), "--points")
    assert command == Invocation(("show", "./-x", "--points"))
    assert commands.resumed(["transfer"], Path("-x")) == Invocation(
        ("run", "transfer", "--resume", "--out", "./-x")
    )
