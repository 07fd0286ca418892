"""``isthmus run STUDY --help``: what a study varies, from its own table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from isthmus.units import format_size

if TYPE_CHECKING:
    from isthmus.studies import Study
    from isthmus.studies.base import Axis

_MANY = 4
"""Values that a line has room for."""


class StudyCommand(TyperCommand):
    """A command whose ``--help`` beside a study's name tells that study's axes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Tells them in place of the command's own options."""
        words = [word for word in args if not word.startswith("-")]
        if words and "--help" in args:
            from isthmus.studies import registry

            named = [registry()[word] for word in words if word in registry()]
            if named:
                print(usage(named[0]), end="")
                ctx.exit()
        return super().parse_args(ctx, args)


def overview() -> str:
    """All studies and what they ask."""
    from isthmus.boards.listing import columns
    from isthmus.studies import registry

    known = sorted(registry().values(), key=lambda study: study.place)
    rows = [(study.name, study.question) for study in known]
    rows.append(("all", "all of them"))
    lines = ["isthmus run STUDY [--quick] [--device D ...]", *columns(rows)]
    return "\n".join([*lines, "isthmus run STUDY --help says what a study varies.", ""])


def usage(study: Study) -> str:
    """A study's axes and operations, and an example."""
    from isthmus.boards.listing import columns

    usually = list(map(str, study.operations_usually))
    asked = [name for name in study.operations if name not in usually]
    rows = [("axis", "usually", "what it is")]
    rows += [(f"--{axis.name}", _usual(axis), axis.describes) for axis in study.axes]
    return "\n".join(
        [
            f"isthmus run {study.name}: {study.question}",
            "",
            *columns(rows),
            "",
            f"operations: {', '.join(usually)}",
            *([f"on request: {', '.join(asked)}"] if asked else []),
            "",
            "Values are a list, 1,4Ki or read,write; sizes and numbers also a range, 1:2Gi.",
            f"Example: isthmus run {study.name} --quick --{study.size_axis} {_few_sizes(study)}",
            "isthmus devices lists what can be measured, isthmus run --help all other options.",
            "",
        ]
    )


def _usual(axis: Axis) -> str:
    if axis.default is None:
        return "as the device has it"
    values = [format_size(v) if isinstance(v, int) else v for v in axis.default]
    if len(values) <= _MANY:
        return ", ".join(values)
    if axis.name == "operation":
        return f"{len(values)}, see below"
    return f"{len(values)}, {values[0]} to {values[-1]}"


def _few_sizes(study: Study) -> str:
    sizes = [int(size) for size in study.axis(study.size_axis).default or (1,)]
    return ",".join(map(format_size, dict.fromkeys((sizes[0], sizes[len(sizes) // 2]))))
