"""Thresholds of answers stand in one module, each with its unit and the reason for its value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from isthmus import thresholds

SOURCE = Path(thresholds.__file__)
PACKAGE = SOURCE.parent


def constants(file: Path) -> Iterator[tuple[str, object, str]]:
    """Name, value and docstring of each numeric constant of a module."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    for node, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        if not isinstance(node, ast.Assign):
            continue
        try:
            value = eval(compile(ast.Expression(node.value), "", "eval"), {})
        except (NameError, AttributeError, TypeError):
            continue  # no number
        text = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            text = str(after.value.value)
        targets = node.targets[0]
        several = isinstance(targets, ast.Tuple) and isinstance(value, tuple)
        pairs = zip(targets.elts, value, strict=True) if several else [(targets, value)]
        for target, number in pairs:
            if isinstance(target, ast.Name) and isinstance(number, (int, float)):
                yield target.id, number, text


KNOWN = {name: (value, text) for name, value, text in constants(SOURCE)}


def test_each_says_where_its_value_is_from() -> None:
    assert len(KNOWN) > 30
    sources = ("Source:", "A choice", "The same", "faster copy moved nothing")
    assert not [name for name, (_, text) in KNOWN.items()
                if not any(word in " ".join(text.split()) for word in sources)]  # fmt: skip


def test_no_module_defines_one_again() -> None:
    again = [
        f"{file.relative_to(PACKAGE)}: {name}"
        for file in PACKAGE.rglob("*.py")
        if file != SOURCE
        for name, value, _ in constants(file)
        if KNOWN.get(name.lstrip("_"), (None, ""))[0] == value
    ]
    assert not again


def test_each_is_used() -> None:
    texts = [file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py") if file != SOURCE]
    assert not [name for name in KNOWN if not any(name in text for text in texts)]
