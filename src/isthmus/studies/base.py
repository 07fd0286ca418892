"""Types of a study: axes, headlines, and names of the functions that analyse its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pkgutil import resolve_name
from typing import Any

from isthmus.errors import UsageError
from isthmus.text import did_you_mean

Value = int | str
OWN_SIZES = "own"
"""Name that the column of a set of sizes has for sizes that the user gives."""


@dataclass(frozen=True)
class Axis:
    """One parameter that a study varies."""

    name: str
    describes: str
    parse: Callable[[str], Sequence[Value]]
    """Reads values from a text; raises UsageError for a wrong text."""
    default: Sequence[Value] | None = None
    """Values that a run measures by default; None: the usual values of the device's operation."""
    absent: Value = ""
    """Value that points of an operation without this axis have in the column of the axis."""
    selects: bool = False
    """Whether an operation without the axis is left out when the user requests a value; otherwise
    it is measured once, without the axis."""
    coarse: Sequence[Value] | None = None
    """The default values that a run measures before all others; None: every default value."""
    unit_bytes: int = 0
    """Bytes of a value of 1, for the axis that sets the sizes of points; 0 for other axes."""
    sets: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Named sets of sizes, for an axis whose values choose a set unless the user gives sizes."""
    reference: Value | None = None
    """In a study of offloads: value of the reference offload, which is timed in the same processes
    as the other offloads of its device and size; None: any value."""

    @property
    def first(self) -> Sequence[Value] | None:
        """Values that a run measures first; None: the usual values of the device's operation."""
        return self.default if self.coarse is None else self.coarse


class Size(Enum):
    """Sizes of a headline that are not a number of bytes."""

    PLATEAU = "plateau"
    """The headline is about the size above which copies are no faster, which the run searches."""
    ANY = "any"
    """The headline is about every size that the study measures."""


@dataclass(frozen=True)
class Headline:
    """A question that a study answers first, on each device that can answer it."""

    says: str
    """The measured quantity in words: "copy to device"."""
    operation: str
    bytes: int | Size = Size.PLATEAU
    memory: Sequence[str] = ()
    """Kinds of host memory by preference: the question is about the first kind that the run
    measures. Empty: about every kind that the run measures."""
    axes: Mapping[str, Value] = field(default_factory=dict)
    """Values of the study's further axes to which the question is limited, by name of the axis."""

    @property
    def on_plateau(self) -> bool:
        """Whether the headline is about a rate that no larger size exceeds."""
        return self.bytes is Size.PLATEAU


def words(text: str) -> list[str]:
    """Parses a list of names: ``read,write``."""
    names = [word.strip() for word in text.split(",")]
    if not all(names):
        raise UsageError(f"'{text}' is no list of names")
    return list(dict.fromkeys(names))


@dataclass(frozen=True)
class Analysis:
    """The functions that judge the runs of a study."""

    questions: Sequence[Callable[[Any], Any]] = ()
    """Functions that take an ``analysis.context.AnalysisContext`` and return an ``Answer``, in the
    order in which answers are shown."""
    findings: Callable[[Any], Sequence[Any]] | None = None
    """Function that takes an ``AnalysisContext`` and returns ``analysis.findings.Finding``
    objects."""
    complete: Callable[[Any, Sequence[Any], float], Any] | None = None
    """Function that adds the study's own columns and rows to a summary. Arguments: the frame, the
    point of each row, the run's precision. Returns the frame."""


@dataclass(frozen=True)
class Study:
    """A question as data, from which ``measure.plan`` makes tasks for a device."""

    name: str
    question: str
    operations: Sequence[str]
    axes: Sequence[Axis]
    columns: Sequence[str]
    """Names of the axes that are columns in tables of the study."""
    title: str = ""
    """Title of the study's part in a report; empty: the study's name."""
    needs: str = "other devices"
    """What a device must have for the study, in words."""
    headlines: Sequence[Headline] = ()
    """The questions that a run answers first, until each answer is precise."""
    curve: Sequence[str] = ()
    """Operations that a run measures after the headlines, over all sizes. Empty: every default
    operation."""
    place: int = 99
    """Rank of the study in lists and findings; the most used study has the smallest number."""
    analysed_by: str = ""
    """Where the study's ``Analysis`` is, as ``module:object``: measuring need not import it."""
    software: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    """Points, by axis, at which a run of several APIs on emulated cards also measures each API's
    software alone; empty: none."""
    plotted_by: str = ""
    """Where the function is that draws the study's plots (``reporters.html.charts.Plots``), as
    ``module:object``; empty: plots show rates over size."""
    between: bool = False
    """Whether the study is about the network between devices, which needs several ranks."""
    offload: bool = False
    """Whether the study's operations are offloads, each in a fresh process: see ``measure.visit``.
    """

    def __post_init__(self) -> None:
        """Raises ValueError for a study whose points would have no size."""
        if sum(axis.unit_bytes > 0 for axis in self.axes) != 1:
            raise ValueError(f"study '{self.name}': exactly one axis needs unit_bytes")

    def analysis(self) -> Analysis:
        """Loads ``analysed_by``; returns an empty ``Analysis`` if the study names none."""
        named: Analysis = resolve_name(self.analysed_by) if self.analysed_by else Analysis()
        return named

    @property
    def reference(self) -> Mapping[str, Value]:
        """Values of the reference offload, by axis; empty if the study has no reference."""
        return {axis.name: axis.reference for axis in self.axes if axis.reference is not None}

    @property
    def size_axis(self) -> Axis:
        """The axis that decides the sizes of points."""
        return next(axis for axis in self.axes if axis.unit_bytes)

    @property
    def _sets(self) -> Axis | None:
        """The axis that names sets of sizes, if the study has such an axis."""
        return next((axis for axis in self.axes if axis.sets), None)

    @property
    def operations_usually(self) -> Sequence[Value]:
        """Operations that a run measures if the user names none."""
        usual = next((axis.default for axis in self.axes if axis.name == "operation"), None)
        return self.operations if usual is None else usual

    @property
    def names(self) -> Sequence[str]:
        """Names of the study's axes."""
        return [axis.name for axis in self.axes]

    def axis(self, name: str) -> Axis:
        """The study's axis of this name; raises UsageError for an unknown name."""
        for axis in self.axes:
            if axis.name == name:
                return axis
        raise UsageError(
            f"study '{self.name}' has no axis '{name}'; {did_you_mean(name, self.names)}"
            f"it has {', '.join(self.names)}"
        )

    def parse(self, requested: Mapping[str, str]) -> dict[str, Sequence[Value]]:
        """Parses the texts of the axes that the user set; raises UsageError for wrong values."""
        parsed = {name: self.axis(name).parse(text) for name, text in requested.items()}
        for operation in parsed.get("operation", ()):
            if operation not in self.operations:
                raise UsageError(
                    f"study '{self.name}' has no operation '{operation}'; "
                    f"{did_you_mean(str(operation), self.operations)}"
                    f"it has {', '.join(self.operations)}"
                )
        named, sized = self._sets, self.size_axis.name
        for chosen in parsed.get(named.name, ()) if named else ():
            assert named
            if chosen not in named.sets:
                raise UsageError(
                    f"no {named.name} '{chosen}'; {did_you_mean(str(chosen), named.sets)}"
                    f"known: {', '.join(named.sets)}"
                )
            if sized in parsed:
                raise UsageError(f"give --{sized} or --{named.name}: both choose the sizes")
        return parsed

    def of_software(
        self, requested: Mapping[str, Sequence[Value]]
    ) -> dict[str, Sequence[Value]] | None:
        """Values of axes for the points at which a run times software without a card.

        None if the study or the request has no such points.

        ``requested`` holds the parsed axes that the user set.
        """
        wanted = dict(requested)
        for name, values in self.software.items():
            possible = requested.get(name, self.axis(name).first) or values
            wanted[name] = [value for value in possible if value in values]
        has_points = self.software and all(wanted[name] for name in self.software)
        return wanted if has_points else None

    def sizes(
        self, requested: Mapping[str, Sequence[Value]]
    ) -> list[tuple[dict[str, Value], list[int]]]:
        """Sets of buffer sizes in bytes, each with the axis and value that name the set, if any.

        ``requested`` holds the parsed axes that the user set.
        """
        axis, named = self.size_axis, self._sets

        def in_bytes(counts: Sequence[Value]) -> list[int]:
            return [axis.unit_bytes * int(count) for count in counts]

        if axis.name in requested:
            return [({named.name: OWN_SIZES} if named else {}, in_bytes(requested[axis.name]))]
        if named:
            chosen = requested.get(named.name, named.default or ())
            return [({named.name: name}, in_bytes(named.sets[str(name)])) for name in chosen]
        return [({}, in_bytes(axis.default or ()))]
