"""Counts the functions and modules that a command passes.

Runs a command of ``isthmus`` in this process, and notes each function of the command's packages at
its first call by another module. ``run`` is followed from the command line to the run file, through
``measure``; any other command from the run file to the screen, through ``results``, ``analysis``,
``judging``, ``reporters`` and the command's own module. Packages below these, such as ``units``,
``frames`` and ``statistics``, do not count. Workers are other processes: what they call is not
counted, nor is what modules call while they are imported.

    python benchmarks/walk.py [--list] [ARGUMENT...]

Arguments are those of ``isthmus``, by default of a run; ``run`` writes to a
temporary folder. ``--list`` prints the functions in the order of their first calls.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import FrameType

import isthmus
from isthmus.__main__ import main as isthmus_main

ROOT = Path(isthmus.__file__).parent
USUAL = ("run", "transfer", "--device", "null", "--bytes", "64", "--reruns", "2")
LAST = ("cli.run", "_close")
"""Module and function at which the walk of ``run`` ends: it runs when the run file is written."""
PACKAGES = ("results", "analysis", "judging", "reporters")
"""Packages that a command passes from the run file to the screen."""
LONGEST = 60
"""Most lines of a function, by a rule of this project."""


class Walk:
    """Records stations in the order of their first calls, and which module calls which.

    A station is a function that another module calls. Calls within a module do not count, so that
    splitting a long function makes the walk no longer.
    """

    def __init__(self, command: str) -> None:
        self.packages = ("measure",) if command == "run" else PACKAGES
        self.command = f"cli.{command}"
        self.stations: dict[tuple[str, str], None] = {}
        self.functions: set[tuple[str, str]] = set()
        self.calls: set[tuple[str, str]] = set()
        """Pairs of modules: a function of the first calls one of the second."""
        self.ended = False

    def module_of(self, frame: FrameType) -> str:
        """Module of a frame, as ``measure.plan``; empty outside of the command's packages."""
        path = Path(frame.f_code.co_filename)
        if ROOT not in path.parents:
            return ""
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        counts = name == self.command or name.partition(".")[0] in self.packages
        return name if counts else ""

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Counts a call. ``sys.setprofile`` gets this function."""
        if event != "call" or self.ended or not (module := self.module_of(frame)):
            return
        name = frame.f_code.co_qualname
        self.ended = (module, name) == LAST
        is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # not the body of a class
        if self.ended or not is_function or frame.f_code.co_name.startswith("<"):
            return
        caller = frame.f_back
        while caller and not (before := self.module_of(caller)):
            caller = caller.f_back
        if caller and caller.f_code.co_name == "<module>":
            return
        self.functions.add((module, name))
        if caller and before != module:
            self.calls.add((before, module))
            self.stations.setdefault((module, name))

    @property
    def modules(self) -> list[str]:
        """The modules in the order of the first calls, each as often as the walk enters it."""
        names = [module for module, _ in self.stations]
        return names[:1] + [later for before, later in pairwise(names) if later != before]


def sizes(packages: Sequence[str]) -> tuple[int, int, list[str]]:
    """Number of modules and lines of packages, and names of their functions over ``LONGEST``."""
    files = sorted(file for package in packages for file in (ROOT / package).rglob("*.py"))
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    long = [
        f"{path.name}: {node.name}, {node.end_lineno - node.lineno + 1} lines"
        for path, text in texts.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
        and node.end_lineno
        and node.end_lineno - node.lineno + 1 > LONGEST
    ]
    return len(files), sum(text.count("\n") for text in texts.values()), long


def main(arguments: list[str]) -> None:
    """Walks, and prints the counts."""
    listed = "--list" in arguments
    words = [word for word in arguments if word != "--list"] or list(USUAL)
    walk = Walk(words[0])
    with tempfile.TemporaryDirectory() as folder:
        out = ["--out", str(Path(folder, "run.json"))] if words[0] == "run" else []
        sys.argv = ["isthmus", *words, *out]
        sys.setprofile(walk.note)
        with contextlib.suppress(SystemExit):
            isthmus_main()
        sys.setprofile(None)
    entered = walk.modules
    count, lines, long = sizes(walk.packages)
    print(f"{', '.join(walk.packages)}: {count} modules, {lines} lines")
    print("\n".join([f"{len(long)} functions above {LONGEST} lines", *long]))
    print(
        f"walk: {len(walk.stations)} stations in {len(set(entered))} modules, "
        f"{len(entered) - len(set(entered))} returns to a module that was left, "
        f"{len(walk.calls)} pairs of modules that call each other; {len(walk.functions)} functions"
    )
    if listed:
        for module, name in walk.stations:
            print(f"  {module:24} {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
