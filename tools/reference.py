"""Reference pages in Markdown, made from the program's registries.

``pages()`` returns all pages by name; ``docs_site.py`` adds them to the documentation's site.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import typer

from isthmus import (
    backends,
    boards,
    checks,
    cli,
    errors,
    importers,
    models,
    published,
    reporters,
    studies,
)
from isthmus.analysis import flags
from isthmus.boards.board import text as value_text
from isthmus.boards.table import TABLE
from isthmus.results import run_file
from isthmus.run_options import flag
from isthmus.studies.base import Axis, Value
from isthmus.units import format_size

_MANY = 12
"""Largest number of an axis' values that are listed in full."""


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    cells = [[str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells) + "\n"


def code(names: Iterable[object]) -> str:
    """Names as code, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def first_line(thing: object) -> str:
    """First paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def _commands(command: Any, path: str, parent: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yields a command and its subcommands, each with its full name and its context."""
    context = type(command).context_class(command, info_name=path.rpartition(" ")[2], parent=parent)
    yield path, command, context
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, f"{path} {name}", context)


def commands() -> str:
    """Every command with its arguments and options."""
    parts = ["# Commands\n"]
    for path, command, context in _commands(typer.main.get_command(cli.app), "isthmus", None):
        parts.append(f"## `{path}`\n\n{command.help or ''}\n")
        rows = []
        for parameter in command.get_params(context):
            if getattr(parameter, "hidden", False) or not (
                parameter.opts or parameter.secondary_opts
            ):
                continue
            named = parameter.opts + parameter.secondary_opts
            name = (
                code(named)
                if parameter.param_type_name == "option"
                else f"`{parameter.name.upper()}`"
            )
            rows.append((name, getattr(parameter, "help", "") or ""))
        if rows:
            parts.append(table(("option", "meaning"), rows))
    return "\n".join(parts)


def _values(values: Sequence[Value] | None) -> str:
    if values is None:
        return "as the device has it"
    texts = [format_size(v) if isinstance(v, int) else str(v) for v in values]
    few = texts if len(texts) <= _MANY else [texts[0], "...", texts[-1]]
    return code(few) + ("" if few == texts else f" ({len(texts)} values)")


def _all_and_first(axis: Axis) -> tuple[str, str]:
    """Values that a run can measure, and those that it measures first; empty if all."""
    every, first = _values(axis.default), _values(axis.first)
    return every, "" if first == every else first


def studies_page() -> str:
    """Every study with its operations and axes."""
    parts = ["# Studies\n"]
    for study in studies.in_order():
        usually = list(map(str, study.operations_usually))
        on_request = [name for name in study.operations if name not in usually]
        parts.append(f"## `{study.name}`\n\n{study.question}\n\nOperations: {code(usually)}\n")
        if on_request:
            parts.append(
                f"Operations that are measured only where they are named: {code(on_request)}\n"
            )
        rows = [
            (f"`{flag(axis.name)}`", *_all_and_first(axis), axis.describes)
            for axis in study.axes
            if axis.name != "operation"
        ]
        parts.append(table(("axis", "values", "measured first", "meaning"), rows))
    return "\n".join(parts)


def devices() -> str:
    """Every backend with its addresses, options and kinds of memory."""
    parts = ["# Backends and device addresses\n", "`BACKEND[:SELECTOR][,key=value...][@MODE]`\n"]
    for backend in backends.registry().values():
        rows = [
            ("addresses begin with", code(backend.schemes)),
            ("modes", code(f"@{mode}" for mode in backend.modes if mode)),
            ("short names", code(backend.aliases)),
            ("APIs", ", ".join(backend.api_names.values())),
            ("options of `isthmus run`", code(option.flag for option in backend.run_options)),
            ("own checks of `isthmus doctor`", code(check.name for check in backend.checks)),
            *((f"memory `{kind}`", f"`{call}`") for kind, call in backend.memory_calls.items()),
        ]
        about = inspect.getdoc(type(backend)) or ""
        parts.append(f"## `{backend.name}`\n\n{backend.summary}\n\n{about}\n")
        parts.append(table(("", ""), [row for row in rows if row[1]]))
    return "\n".join(parts)


def boards_page() -> str:
    """Every board with its parameters and their sources."""
    parts = ["# Boards\n", "A board is the description of an emulated card: `card:NAME`.\n"]
    for board in map(boards.load, boards.names()):
        rows = (
            (
                f"`{name}`",
                value_text(setting.value),
                TABLE[name].unit,
                TABLE[name].meaning,
                setting.kind,
                setting.source + (f" [{setting.calibration}]" if setting.calibration else ""),
            )
            for name, setting in board.settings.items()
        )
        parts.append(f"## `{board.name}`\n\n{board.title}\n\n{board.description}\n")
        parts.append(table(("parameter", "value", "unit", "meaning", "kind", "source"), rows))
    return "\n".join(parts)


def models_page() -> str:
    """Every closed-form model with its inputs."""
    parts = ["# Closed-form models\n"]
    for model in models.registry().values():
        board = f" (board: `{model.default_board}`)" if model.default_board else ""
        parts.append(f"## `isthmus model {model.name}`\n\n{model.summary}{board}\n")
        rows = [
            (f"`--{option.name.replace('_', '-')}`", option.unit, option.meaning,
             "" if option.default is None else f"{option.default:g}")
            for option in model.options
        ]  # fmt: skip
        if rows:
            parts.append(table(("input", "unit", "meaning", "default"), rows))
    return "\n".join(parts)


def checks_page() -> str:
    """Every check of ``isthmus doctor``."""
    every = list(checks.registry().values())
    every += [check for backend in backends.registry().values() for check in backend.checks]
    rows = [(f"`{check.name}`", check.of, check.question, check.fault) for check in every]
    head = ("check", "of", "question", "fault that makes large copies slow")
    return (
        f"# Checks\n\nWhat `isthmus doctor` asks, the likeliest cause first.\n\n{table(head, rows)}"
    )


def formats() -> str:
    """Every output format of runs, and every foreign format that can be imported."""
    written = [(f"`{form.name}`", form.summary) for form in reporters.registry().values()]
    read = [(f"`{form.name}`", form.reads) for form in importers.registry().values()]
    return "\n".join(
        [
            "# Formats\n",
            "## `isthmus show RUN.json --format`\n",
            table(("format", "gives"), written),
            "## `isthmus import FILE --format`\n",
            table(("format", "reads"), read),
        ]
    )


def published_page() -> str:
    """Figures of each published source, and which of them are reproduced."""
    parts = ["# Published figures\n\n`isthmus reproduce NAME` puts them beside ours.\n"]
    for source in published.sources().values():
        rows = [
            (f"`{figure.name}`", figure.title, figure.state, figure.because or figure.note)
            for figure in source.figures
        ]
        parts.append(f"## {source.name}\n\n{source.by}: {source.title}\n")
        parts.append(table(("figure", "what", "points", "note"), rows))
    return "\n".join(parts)


def flags_page() -> str:
    """Every flag of a row."""
    own = [(f"`{name}`", meaning, "") for name, meaning in flags.OWN.items()]
    own += [
        (f"`{name}`", meaning, f"`{backend.name}`")
        for backend in backends.registry().values()
        for name, meaning in backend.flags.items()
    ]
    head = ("flag", "meaning", "only of")
    return f"# Flags\n\nColumn `flags` of each row.\n\n{table(head, sorted(own))}"


def exit_codes() -> str:
    """Every exit code."""
    kinds = (errors.IsthmusError, *errors.IsthmusError.__subclasses__())
    rows = [(error.exit_code, first_line(error)) for error in kinds]
    rows += [
        (0, "Done."),
        (errors.GATE_FAILED, "A gate failed, or a search found something."),
        (errors.GATE_UNDECIDED, "A gate is undecided."),
    ]
    return f"# Exit codes\n\n{table(('code', 'meaning'), sorted(set(rows)))}"


def _type(schema: Mapping[str, Any]) -> str:
    """A type of the schema in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "enum" in schema:
        return code(schema["enum"])
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if "additionalProperties" in schema:
        return f"object of {_type(schema['additionalProperties'])}"
    return str(schema.get("type", "any"))


def run_file_page() -> str:
    """Every object of a run file."""
    schema = run_file.schema()
    about = f"JSON Schema `{schema['title']}`; a file is a [Run](#run)."
    parts = [f"# Run file\n\n{about} Times are seconds, sizes bytes.\n"]
    for name, definition in schema["$defs"].items():
        required = definition.get("required", ())
        rows = [
            (
                f"`{key}`",
                _type(inner),
                "" if key in required else f"`{json.dumps(inner.get('default'))}`",
            )
            for key, inner in definition.get("properties", {}).items()
        ]
        parts.append(f"## {name}\n\n{definition.get('description', '')}\n")
        parts.append(table(("key", "type", "where absent"), rows))
    return "\n".join(parts)


PAGES: Mapping[str, Callable[[], str]] = {
    "boards": boards_page,
    "checks": checks_page,
    "commands": commands,
    "devices": devices,
    "exit_codes": exit_codes,
    "flags": flags_page,
    "formats": formats,
    "models": models_page,
    "published": published_page,
    "run_file": run_file_page,
    "studies": studies_page,
}


def pages() -> dict[str, str]:
    """Text of every page by its name."""
    return {name: page() for name, page in PAGES.items()}
