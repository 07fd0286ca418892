"""``isthmus run STUDY --help``: shows the axes and operations of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isthmus.cli.declared import DeclaringCommand
from isthmus.run_options import RunOption, flag
from isthmus.units import format_size

if TYPE_CHECKING:
    from isthmus.studies import Study
    from isthmus.studies.base import Axis

_MANY = 4
"""Most values of an axis that a line of help lists."""


class StudyCommand(DeclaringCommand):
    """A command with an option for each study's axes; ``STUDY --help`` lists one study's axes."""

    def declared(self) -> list[RunOption]:
        """Options of all backends, and of the axes of all studies."""
        from isthmus.studies import registry

        of_backends = super().declared()
        names = {option.name for option in of_backends}
        axes = dict.fromkeys(axis.name for study in registry().values() for axis in study.axes)
        hidden = [RunOption(name, "") for name in axes if name not in names]
        return [*of_backends, *hidden]

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters of the command; the help of its argument names the studies."""
        from isthmus.studies import in_order

        parameters = super().get_params(ctx)
        parameters[0].help = f"{', '.join(study.name for study in in_order())}, or all"
        return parameters

    def get_help_option(self, ctx: Any) -> Any:
        """The option ``--help``, which prints after the study's name was read."""
        option = super().get_help_option(ctx)
        if option:
            option.is_eager = False
        return option

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Prints the named study's axes, or else the command's own options."""
        from isthmus.studies import registry

        study = registry().get(ctx.params.get("study") or "")
        if study:
            formatter.write(usage(study))
        else:
            super().format_help(ctx, formatter)


def overview() -> str:
    """Text with the name and the question of each study."""
    from isthmus.columns import columns, wrapped
    from isthmus.studies import in_order

    rows = [(study.name, study.question) for study in in_order()]
    rows.append(("all", "all of them"))
    lines = [*wrapped("isthmus run STUDY [--quick] [--device D ...]"), *columns(rows)]
    more = wrapped("isthmus run STUDY --help says what a study varies.")
    return "\n".join([*lines, *more, ""])


def usage(study: Study) -> str:
    """Text with the axes and the operations of a study, and an example."""
    from isthmus.columns import columns, wrapped

    usually = list(map(str, study.operations_usually))
    on_request = [name for name in study.operations if name not in usually]
    rows = [("axis", "usually", "what it is")]
    rows += [(flag(axis.name), _usual(axis), axis.describes) for axis in study.axes]
    operations = [f"operations: {', '.join(usually)}"]
    operations += [f"on request: {', '.join(on_request)}"] if on_request else []
    more = [
        "Values are a list, 1,4Ki or read,write; sizes and numbers also a range, 1:2Gi.",
        f"Example: isthmus run {study.name} --quick {_few_sizes(study)}",
        "isthmus devices lists what can be measured, isthmus run --help all other options.",
    ]
    paragraphs = [[f"isthmus run {study.name}: {study.question}"], operations, more]
    title, below, last = ([part for text in p for part in wrapped(text)] for p in paragraphs)
    return "\n".join([*title, "", *columns(rows), "", *below, "", *last, ""])


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
    axis = study.size_axis
    sizes = [int(size) for size in axis.default or (1,)]
    two = map(format_size, dict.fromkeys((sizes[0], sizes[len(sizes) // 2])))
    return f"{flag(axis.name)} {','.join(two)}"
