"""Counts the functions and modules that a request passes from ``isthmus run`` to the run file.

Runs ``isthmus run transfer --device null --bytes 64 --reruns 2`` in this process, and notes each
function of ``cli.run`` and ``measure`` at its first call by another module. Workers are other
processes: what they call is not counted.

    python benchmarks/walk.py [--list] [ARGUMENT...]

Arguments replace those of ``isthmus``. ``--list`` prints the functions in the order of their first
calls.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from types import FrameType

import isthmus
from isthmus.__main__ import main as isthmus_main

ROOT = Path(isthmus.__file__).parent
USUAL = ("run", "transfer", "--device", "null", "--bytes", "64", "--reruns", "2")
LAST = ("cli.run", "_close")
"""Module and function at which the walk ends: it runs when the run file is written."""
LONGEST = 60
"""Most lines of a function, by a rule of this project."""


def module_of(frame: FrameType) -> str:
    """Module of a frame, as ``measure.plan``; empty outside of ``measure`` and ``cli.run``."""
    path = Path(frame.f_code.co_filename)
    if ROOT not in path.parents:
        return ""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name if name.startswith("measure.") or name == "cli.run" else ""


class Walk:
    """Records stations in the order of their first calls, and which module calls which.

    A station is a function that another module calls. Calls within a module do not count, so that
    splitting a long function makes the walk no longer.
    """

    def __init__(self) -> None:
        self.stations: dict[tuple[str, str], None] = {}
        self.functions: set[tuple[str, str]] = set()
        self.calls: set[tuple[str, str]] = set()
        """Pairs of modules: a function of the first calls one of the second."""
        self.ended = False

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Counts a call. ``sys.setprofile`` gets this function."""
        if event != "call" or self.ended or not (module := module_of(frame)):
            return
        name = frame.f_code.co_qualname
        self.ended = (module, name) == LAST
        is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # not the body of a class
        if self.ended or not is_function or frame.f_code.co_name.startswith("<"):
            return
        self.functions.add((module, name))
        caller = frame.f_back
        while caller and not (before := module_of(caller)):
            caller = caller.f_back
        if caller and before != module:
            self.calls.add((before, module))
            self.stations.setdefault((module, name))

    @property
    def modules(self) -> list[str]:
        """The modules in the order of the first calls, each as often as the walk enters it."""
        names = [module for module, _ in self.stations]
        return names[:1] + [later for before, later in pairwise(names) if later != before]


def sizes() -> tuple[int, int, list[str]]:
    """Number of modules and lines of ``measure``, and names of its functions over ``LONGEST``."""
    files = sorted((ROOT / "measure").glob("*.py"))
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
    given = [one for one in arguments if one != "--list"] or list(USUAL)
    walk = Walk()
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["isthmus", *given, "--out", str(Path(folder, "run.json"))]
        sys.setprofile(walk.note)
        with contextlib.suppress(SystemExit):
            isthmus_main()
        sys.setprofile(None)
    entered = walk.modules
    count, lines, long = sizes()
    print(f"measure/: {count} modules, {lines} lines, {len(long)} functions above {LONGEST} lines")
    print("\n".join(long))
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
