"""Packages form a ladder: each module imports from its own package and from lower ones.

What counts: the package, the emulation of XRT and the backends' descriptions, wherever they lie;
imports at the top, in functions and for types only. There are no exceptions.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from isthmus.studies import registry

REPOSITORY = Path(__file__).parents[1]
ROOTS = {
    "isthmus": (REPOSITORY / "src" / "isthmus", ""),
    "isthmus_emulation": (REPOSITORY / "emulation/python/isthmus_emulation", "emulation."),
}
"""Packages that count, with their folder and what precedes the names of their modules here."""
LADDER = (
    "units", "statistics", "boards", "models", "system", "results", "checks", "backends",
    "studies", "measure", "analysis", "reporters", "cli",
)  # fmt: skip
"""The main packages, the lowest first. ``docs/design.md`` shows them."""


def _modules() -> dict[str, Path]:
    """Every module's file by its name within the package."""
    descriptions = REPOSITORY.glob("cpp/backends/*/*.py")
    modules = {f"backends.{file.stem}": file for file in descriptions}
    for root, prefix in ROOTS.values():
        for file in root.rglob("*.py"):
            name = prefix + ".".join(file.relative_to(root).with_suffix("").parts)
            modules[name.removesuffix("__init__").rstrip(".")] = file
    return modules


def _imports(file: Path, known: Mapping[str, Path]) -> set[str]:
    """Modules of the package that a file imports: at the top, in functions, and for types only."""
    named: list[str] = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: imports are absolute"
            named += [f"{node.module}.{alias.name}" for alias in node.names]
    result = set()
    for name in named:
        package, _, inner = name.partition(".")
        if package in ROOTS:
            module = f"{ROOTS[package][1]}{inner}".rstrip(".")
            result.add(module if module in known else module.rpartition(".")[0])
    return result - {""}


MODULES = _modules()
GRAPH = {name: _imports(file, MODULES) - {name} for name, file in MODULES.items()}


def _within(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def test_every_import_is_seen() -> None:
    assert set.union(*GRAPH.values()) <= set(MODULES)
    assert "analysis.summary" in GRAPH["cli.run"] | GRAPH["reporters.summary"]
    assert "reporters.html.page" in GRAPH["reporters.html"], "within a function"
    assert "studies" in GRAPH["cli.over_ranks"], "for types only"
    assert "emulation.backend" in GRAPH["emulation"], "for types only, outside src"
    assert "system.xrt" in GRAPH["backends.opencl"]
    assert sum(map(len, GRAPH.values())) > 500


def _with_packages(name: str) -> set[str]:
    """What a module imports, and the packages around it, which Python imports first."""
    imported = GRAPH[name]
    parts = (one.split(".") for one in imported)
    around = {".".join(path[:depth]) for path in parts for depth in range(1, len(path))}
    return imported | {one for one in around & set(MODULES) if not _within(name, one)}


def test_no_module_imports_itself_by_way_of_others() -> None:
    try:
        list(TopologicalSorter({name: _with_packages(name) for name in GRAPH}).static_order())
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def _package(module: str) -> str:
    return module.partition(".")[0]


PACKAGES: dict[str, set[str]] = {}
"""What each package imports of others; a file at the top is a package by itself."""
for _module, _imported in GRAPH.items():
    _others = {_package(one) for one in _imported} - {_package(_module)}
    PACKAGES.setdefault(_package(_module), set()).update(_others)


def test_no_package_imports_itself_by_way_of_others() -> None:
    try:
        list(TopologicalSorter(PACKAGES).static_order())
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


@pytest.mark.parametrize("place", range(len(LADDER)), ids=LADDER)
def test_a_package_imports_from_lower_ones(place: int) -> None:
    assert not PACKAGES[LADDER[place]] & set(LADDER[place + 1 :])


def test_docs_show_the_ladder() -> None:
    """The map in the documentation has the order that the tests hold."""
    design = (REPOSITORY / "docs" / "design.md").read_text(encoding="utf-8")
    assert " -> ".join(LADDER) in " ".join(design.split())


@pytest.mark.parametrize("name", registry())
def test_what_a_study_names_is_there(name: str) -> None:
    analysis = registry()[name].analysis()
    assert analysis.questions
    assert all(map(callable, analysis.questions))
    assert callable(analysis.findings)
