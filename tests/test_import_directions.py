"""Modules import one way: no circles, and along question -> plan -> measure -> ... -> command.

What counts: the package, the emulation of XRT and the backends' descriptions, wherever they lie;
imports at the top, in functions and for types only.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from isthmus.studies import registry

REPOSITORY = Path(__file__).parents[1]
ROOTS = (REPOSITORY / "src" / "isthmus", REPOSITORY / "emulation" / "python" / "isthmus")
CHAIN = ("studies", "measure.plan", "measure", "results", "analysis", "reporters", "cli")
"""A room imports from itself, from rooms before it, and from what is in none of them."""
LAST = ("analysis", "reporters", "cli")
"""What is in none of the rooms needs none of these."""
EXCEPTIONS = {
    ("measure", "results.run_file"): "each process's samples are recorded as the file has them",
    ("measure", "results.journal"): "what was measured is kept at once, should the run be cut off",
    ("measure.plan", "measure.protocol"): "what a device can do is what its worker says",
    ("measure.plan", "measure.discovery"): "a plan is for a device that was found",
    ("", "analysis.loaded"): "isthmus.load is what Python users begin with",
    ("models.alpha_beta", "analysis.fits"): "the model's law is the one that runs are fitted to",
}
"""Importing room or module, what it imports, and why."""


def _modules() -> dict[str, Path]:
    """Every module's file by its name within the package."""
    descriptions = REPOSITORY.glob("cpp/backends/*/*.py")
    modules = {f"backends.{file.stem}": file for file in descriptions}
    for root in ROOTS:
        for file in root.rglob("*.py"):
            parts = file.relative_to(root).with_suffix("").parts
            modules[".".join(parts).removesuffix("__init__").rstrip(".")] = file
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
        if package == "isthmus":
            module = inner if inner in known else inner.rpartition(".")[0]
            result.add(module)
    return result - {""}


Graph = dict[str, set[str]]


@pytest.fixture(scope="module")
def graph() -> Graph:
    """What each module imports; a second of work, which processes without these tests spare."""
    modules = _modules()
    return {name: _imports(file, modules) - {name} for name, file in modules.items()}


def _within(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def _place(module: str) -> int | None:
    """The room's place in the chain; of two that fit, the narrower."""
    fitting = [room for room in CHAIN if _within(module, room)]
    return CHAIN.index(max(fitting, key=len)) if fitting else None


def _against(module: str, imported: str) -> bool:
    here, there = _place(module), _place(imported)
    if here is None:
        return any(_within(imported, room) for room in LAST) and module != "__main__"
    return there is not None and there > here


def test_every_import_is_seen(graph: Graph) -> None:
    assert set.union(*graph.values()) <= set(graph)
    assert "analysis.summary" in graph["cli.run"] | graph["reporters.summary"]
    assert "reporters.html.page" in graph["reporters.html"], "within a function"
    assert "studies" in graph["cli.over_ranks"], "for types only"
    assert "emulation.backend" in graph["emulation"], "for types only, outside src"
    assert "system.xrt" in graph["backends.opencl"]
    assert sum(map(len, graph.values())) > 500


def _with_packages(graph: Graph, name: str) -> set[str]:
    """What a module imports, and the packages around it, which Python imports first."""
    imported = graph[name]
    parts = (one.split(".") for one in imported)
    around = {".".join(path[:depth]) for path in parts for depth in range(1, len(path))}
    return imported | {one for one in around & set(graph) if not _within(name, one)}


def test_no_module_imports_itself_by_way_of_others(graph: Graph) -> None:
    try:
        list(
            TopologicalSorter({name: _with_packages(graph, name) for name in graph}).static_order()
        )
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_imports_point_one_way(graph: Graph) -> None:
    wrong = [
        f"{module} imports {imported}"
        for module, imports in graph.items()
        for imported in sorted(imports)
        if _against(module, imported)
        and not any(_within(module, a) and _within(imported, b) for a, b in EXCEPTIONS)
    ]
    assert not wrong


@pytest.mark.parametrize(("importing", "imported"), EXCEPTIONS)
def test_each_exception_is_needed(graph: Graph, importing: str, imported: str) -> None:
    assert any(
        _within(module, importing) and _within(one, imported) and _against(module, one)
        for module, imports in graph.items()
        for one in imports
    )


@pytest.mark.parametrize("name", registry())
def test_what_a_study_names_is_there(name: str) -> None:
    analysis = registry()[name].analysis()
    assert analysis.questions
    assert all(map(callable, analysis.questions))
    assert callable(analysis.findings)
