"""What a study is: axes, the operations that it asks devices for, and where its runs are judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from isthmus.errors import UsageError
from isthmus.suggestion import nearest

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
    answers: str = ""
    """Where the questions asked of its runs are, as ``module:object``: functions that make an
    ``analysis.evidence.Answer`` of an ``Evidence``. By name, like the next two: it is loaded when a
    run is judged, and measuring does not wait for it."""
    findings: str = ""
    """Where the function is that makes the ``analysis.findings.Finding`` s of an ``Evidence``."""
    complete: str = ""
    """Where the function is that adds columns and rows of the study's own to a summary: of the
    frame, the point of each row, and the run's precision."""
    fresh: bool = False
    """Asks devices for offloads: see ``measure.offload``."""
    reference: Callable[[str, Mapping[str, Value]], bool] | None = None
    """Of offloads, by kind of memory and axes: whether the others of its device and size take turns
    with this one."""
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
