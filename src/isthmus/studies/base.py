"""What a study is: axes, and the operations that it asks devices for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from isthmus.errors import UsageError
from isthmus.measure.protocol import DeviceDescription, OperationDescription
from isthmus.results.run_file import Point
from isthmus.suggestion import nearest

if TYPE_CHECKING:
    import pandas as pd

    from isthmus.analysis.evidence import Answer, Evidence
    from isthmus.analysis.findings import Finding

Value = int | str
OWN_SIZES = "own"
"""In place of a set's name where the user gave the sizes."""


@dataclass(frozen=True)
class Axis:
    """One thing that a study varies."""

    name: str
    describes: str
    parse: Callable[[str], Sequence[Value]]
    """Values from what the user wrote; raises UsageError."""
    default: Sequence[Value] | None = None
    """None: as the device or the operation says."""
    absent: Value = ""
    """What stands in the axis' column for an operation that does not have it."""
    selects: bool = False
    """Whether an operation that lacks the value asked for is left out, rather than measured as
    it is."""


def words(text: str) -> list[str]:
    """Values that are names: ``read,write``."""
    found = [word.strip() for word in text.split(",")]
    if not all(found):
        raise UsageError(f"'{text}' is no list of names")
    return list(dict.fromkeys(found))


class Published(NamedTuple):
    """Other people's bandwidths, for the plot of an operation."""

    sizes: Sequence[int]
    rates: Sequence[float]
    """GB/s (1e9 bytes), or as the note says."""
    names: Sequence[str]
    """Of each figure: what shares a name is drawn with one mark."""
    note: str


@dataclass(frozen=True)
class Task:
    """What a worker is asked to measure, and the points that come of it: one for each part."""

    operation: str
    bytes: int
    memory: str
    axes: Mapping[str, Value]
    """All that the operation has, also those that the study does not vary."""
    points: Mapping[int, Point]
    """By part of the operation; parts that nobody asked for are missing."""
    fresh: bool = False
    """Whether each repetition is a process of its own, and its parts are phases of one another."""
    joint: bool = False
    """Whether all ranks do it together."""


@dataclass(frozen=True)
class Plan:
    """Everything one device is asked, and what was left out, in words."""

    tasks: list[Task]
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Study:
    """A question, as data: the planner turns it into tasks."""

    name: str
    question: str
    operations: Sequence[str]
    axes: Sequence[Axis]
    columns: Sequence[str]
    """Axes that become columns of the study's own."""
    needs: str = "other devices"
    """What a device must have for it, in words."""
    place: int = 99
    """In the order in which findings are shown: the most used study first."""
    thin: Callable[[Sequence[int]], Sequence[int]] = lambda sizes: sizes
    """Sizes that a quick run keeps."""
    answers: Callable[[], Sequence[Callable[[Evidence], Answer]]] = tuple
    """What is asked of a run once it is measured. A function, so that measuring does not wait for
    the statistics to be loaded."""
    findings: Callable[[], Callable[[Evidence], Sequence[Finding]]] | None = None
    """Gives what makes the study's findings of a run; a function for the same reason."""
    complete: (
        Callable[[], Callable[[pd.DataFrame, Sequence[Point], float], pd.DataFrame]] | None
    ) = None
    """Gives what adds columns and rows of the study's own to a summary whose rows are of these
    points, each of one, and of a run of this precision."""
    fresh: bool = False
    """Asks devices for offloads: see ``measure.offload``."""
    reference: Callable[[Task], bool] | None = None
    """Of fresh tasks: whether the others of its device and size take turns with this one."""
    joint: bool = False
    """Whether it can spread over the ranks that a launcher of MPI started."""
    size_axis: str = "bytes"
    """The axis that decides the sizes; another one than ``bytes`` is a column too."""
    unit_bytes: int = 1
    """Bytes of one of what it counts."""
    size_sets: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Sets of sizes by name, of which axis ``sizes`` chooses where the sizes are not given."""
    quick: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    """Values of axes in a quick run that does not name them."""
    published: Callable[[str, frozenset[str]], Published | None] = lambda _operation, _devices: None
    """What others measured, to be drawn beside an operation of these APIs."""

    @property
    def operations_usually(self) -> Sequence[Value]:
        """Operations of a run that names none."""
        usual = next((axis.default for axis in self.axes if axis.name == "operation"), None)
        return self.operations if usual is None else usual

    def axis(self, name: str) -> Axis:
        """Axis of this name; raises UsageError for an unknown one."""
        for axis in self.axes:
            if axis.name == name:
                return axis
        known = [axis.name for axis in self.axes]
        raise UsageError(
            f"study '{self.name}' has no axis '{name}'; {nearest(name, known)}"
            f"it has {', '.join(known)}"
        )

    def parse(self, given: Mapping[str, str]) -> dict[str, Sequence[Value]]:
        """Values of the axes that the user gave, checked."""
        parsed = {name: self.axis(name).parse(text) for name, text in given.items()}
        for operation in parsed.get("operation", ()):
            if operation not in self.operations:
                raise UsageError(
                    f"study '{self.name}' has no operation '{operation}'; "
                    f"{nearest(str(operation), self.operations)}"
                    f"it has {', '.join(self.operations)}"
                )
        for chosen in parsed.get("sizes", ()) if self.size_sets else ():
            if chosen not in self.size_sets:
                raise UsageError(
                    f"no sizes '{chosen}'; {nearest(str(chosen), self.size_sets)}"
                    f"known: {', '.join(self.size_sets)}"
                )
            if self.size_axis in parsed:
                raise UsageError(f"give --{self.size_axis} or --sizes: both choose the sizes")
        return parsed

    def sizes_by_set(self, given: Mapping[str, Sequence[Value]]) -> Mapping[Value, Sequence[int]]:
        """Sizes of each set that is asked for, or those given; empty where there are no sets."""
        if not self.size_sets:
            return {}
        if self.size_axis in given:
            return {OWN_SIZES: [int(size) for size in given[self.size_axis]]}
        asked = given.get("sizes", self.axis("sizes").default or ())
        return {name: self.size_sets[str(name)] for name in asked}


def known_to(study: Study, device: DeviceDescription) -> Sequence[OperationDescription]:
    """What a study can ask of a device."""
    return device.offloads if study.fresh else device.operations


def offered(study: Study, device: DeviceDescription, operation: str) -> list[OperationDescription]:
    """Operations for a study that have a part of this name."""
    known = known_to(study, device)
    return [one for one in known if any(part.name == operation for part in one.parts)]
