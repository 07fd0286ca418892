"""Plans the tasks of a study on a device, in layers, with reasons for values left out.

A run measures a layer when the layer before it is precise or cannot become precise:

1. HEADLINES: the questions that the study answers first (``Study.headlines``).
2. CURVE: the study's main operations over the first sizes; ``rounds`` adds sizes between them.
3. FURTHER: all other operations, over the first sizes.
4. REST: every other size and value.

Values that the user names are part of the first two layers, so that a run measures all of them,
except on a device like an earlier device: its curve is part of FURTHER.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import product
from math import prod

from isthmus import _core
from isthmus.descriptions import DeviceDescription, OperationDescription, PartDescription
from isthmus.errors import UsageError
from isthmus.measure.discovery import FoundDevice
from isthmus.results.run_file import Point
from isthmus.run_options import flag
from isthmus.studies.base import Axis, Headline, Size, Study, Value
from isthmus.system.memory import available_bytes
from isthmus.thresholds import LARGE, SMALL
from isthmus.units import format_size

Questions = Sequence[tuple[Study, Mapping[str, Sequence[Value]]]]
"""The studies of a run, each with the values of axes that the user set, by name of the axis."""
_MEMORY_SHARE = 0.8
"""Share of the free memory of host or device that the buffers of a point may use."""
_PLATEAU_MOST = 1 << 30
"""Largest size in bytes for the search of a plateau."""
_PLATEAU_DIVISOR = 8
"""The search of a plateau uses buffers up to the largest possible buffer over this divisor."""
_PLATEAU_STEP = 4
"""Least factor from each size to the next larger size in the search of a plateau."""


class Layer(IntEnum):
    """Order in which a run measures tasks, lowest first: see the module's docstring."""

    HEADLINES = 1
    CURVE = 2
    FURTHER = 3
    REST = 4


@dataclass(frozen=True)
class Task:
    """One operation at one size and with one set of axes, with a point for each timed part."""

    operation: str
    bytes: int
    memory: str
    axes: Mapping[str, Value]
    """All axes of the operation, even those that the study does not vary."""
    points: Mapping[int, Point]
    """Points by number of the operation's part; parts that the study does not need are missing."""
    offload: bool = False
    """Whether the task is an offload: each repetition has a fresh process, parts are its phases."""
    joint: bool = False
    """Whether all ranks execute the task together."""
    layer: Layer = Layer.CURVE
    first_layer: Layer = Layer.HEADLINES
    """Layer of the headlines of the task's device: later for a device that serves as comparison."""
    headline: Headline | None = None
    """For a task of the first layer: the question that it answers.

    For another task: the question that it answers if its size turns out to be on the plateau."""

    def has(self, values: Mapping[str, Value]) -> bool:
        """Whether the task has these values, as far as its operation has the axes."""
        own = {"memory": self.memory, **self.axes}
        return all(own.get(name, value) == value for name, value in values.items())


def known_to(study: Study, device: DeviceDescription) -> Sequence[OperationDescription]:
    """Operations or offloads of a device whose parts the study measures."""
    every = device.offloads if study.offload else device.operations
    return [
        operation
        for operation in every
        if any(part.name in study.operations for part in operation.parts)
    ]


def offered(study: Study, device: DeviceDescription, operation: str) -> list[OperationDescription]:
    """Operations of a device for a study that have a part of the name ``operation``."""
    usable = known_to(study, device)
    return [offer for offer in usable if any(part.name == operation for part in offer.parts)]


@dataclass(frozen=True)
class Limits:
    """Limits of memory on host and device, and the largest buffers that they allow."""

    device: DeviceDescription
    host_bytes: int

    @classmethod
    def of(cls, device: DeviceDescription) -> Limits:
        """Limits for a device by the host memory that is available now."""
        return cls(device, device.host_bytes or available_bytes())

    def largest(self, operation: OperationDescription, axes: Mapping[str, Value]) -> int:
        """Bytes of the largest buffer of an operation with these values of its axes."""
        counts = (int(axes[axis.name]) for axis in operation.axes if axis.buffers)
        buffers = operation.device_buffers * prod(counts)
        device = int(_MEMORY_SHARE * self.device.memory_bytes) // buffers
        # Divide by 2: if the device is the host itself, both ends of a transfer use its memory.
        host = int(_MEMORY_SHARE * self.host_bytes) // (2 * buffers)
        return min(self.device.max_buffer_bytes, operation.most_bytes, device, host)


def _takes(kinds: Sequence[str], kind: str) -> bool:
    """Whether an operation with these kinds of memory accepts ``kind``.

    An operation with kind ``aligned`` also accepts ``node<N>`` (pages of a NUMA node) and
    ``offset<N>`` (an offset into a page).
    """
    numbered = "aligned" in kinds and kind.startswith(("offset", "node"))
    return kind in kinds or (numbered and _core.knows_host_memory(kind))


def _memory_kinds(
    operation: OperationDescription, wanted: Sequence[Value] | None, direct: str
) -> Sequence[str]:
    """The requested kinds that an operation accepts; by default its first kind and ``direct``."""
    if wanted is None:
        kinds = operation.memory_kinds
        return [*kinds[:1], *(kind for kind in kinds[1:] if kind == direct)]
    return [kind for kind in map(str, wanted) if _takes(operation.memory_kinds, kind)]


def has_memory(study: Study, description: DeviceDescription, kind: Value) -> bool:
    """Whether any operation of a device for this study accepts this kind of host memory."""
    operations = known_to(study, description)
    return any(_takes(operation.memory_kinds, str(kind)) for operation in operations)


def describe_memory_kinds(study: Study, descriptions: Iterable[DeviceDescription]) -> str:
    """Lists the kinds of memory that these devices accept for a study, for a message."""
    kinds_of_devices = (
        kind for d in descriptions for o in known_to(study, d) for kind in o.memory_kinds
    )
    kinds = list(dict.fromkeys(kinds_of_devices))
    return ", ".join([*kinds, *(("offset<N>", "node<N>") if "aligned" in kinds else ())])


class Plan:
    """Collects the tasks of one study for one device, and reasons for values left out."""

    def __init__(
        self,
        study: Study,
        device: FoundDevice,
        requested: Mapping[str, Sequence[Value]],
        chosen: Mapping[str, Sequence[Value]],
    ) -> None:
        self._study = study
        self._direct_memory = device.direct_memory
        self._device = device.address
        self._description = device.description
        self._given = requested
        self._chosen = chosen
        self._limits = Limits.of(device.description)
        self._curve = set(requested.get("operation") or study.curve or study.operations_usually)
        self._first_values = {
            axis.name: set(axis.first or ())
            for axis in study.axes
            if axis.coarse is not None and axis.name not in requested
        }
        self._too_large: dict[tuple[tuple[int, ...], int], list[str]] = {}
        self._columns = [study.axis(name) for name in study.columns if name != study.size_axis.name]
        self._varied = {axis.name for o in device.description.operations for axis in o.axes}
        self.tasks: list[Task] = []
        self.left_out: list[str] = []

    def add(
        self,
        operation: OperationDescription,
        wanted: Sequence[str],
        sizes: Sequence[int],
        sizes_from: Mapping[str, Value],
    ) -> None:
        """Adds the tasks of one operation, with points for its parts in ``wanted``.

        ``sizes_from``: the axis and value that name the set of ``sizes``; empty without sets.
        """
        kinds: Sequence[str] = [""]
        if operation.sized:
            kinds = _memory_kinds(operation, self._chosen.get("memory"), self._direct_memory)
        columns = [
            [sizes_from[axis.name]]
            if axis.name in sizes_from
            else _values(
                operation, axis, self._chosen.get(axis.name), varies=axis.name in self._varied
            )
            for axis in self._columns
        ]
        usual_values = {axis.name: _as_value(axis.usual) for axis in operation.axes}
        for kind, *values in product(kinds, *columns):
            study_axes = dict(zip((axis.name for axis in self._columns), values, strict=True))
            operation_axes = {
                name: study_axes.get(name, value) for name, value in usual_values.items()
            }
            largest = self._limits.largest(operation, operation_axes)
            multiples = [size for size in sizes if size % operation.unit_bytes == 0]
            fitting = [size for size in multiples if size <= largest]
            if operation.sized and len(fitting) < len(multiples):
                beyond = tuple(size for size in multiples if size > largest)
                self._too_large.setdefault((beyond, largest), []).append(operation.name)
            steps: Sequence[int] = []
            if operation.sized:
                steps = self._plateau_steps(fitting, operation, operation_axes)
            for size in fitting if operation.sized else (0,):
                points = {
                    index: self._point(part, size, str(kind), study_axes, operation.api)
                    for index, part in enumerate(operation.parts)
                    if part.name in wanted
                }
                task = Task(
                    operation.name,
                    size,
                    str(kind),
                    operation_axes,
                    points,
                    offload=self._study.offload,
                    joint=operation.joint,
                )
                self.tasks.append(self._in_layer(task, study_axes, steps, kinds))

    def _plateau_steps(
        self, sizes: Sequence[int], operation: OperationDescription, axes: Mapping[str, Value]
    ) -> Sequence[int]:
        """The sizes that the search of a plateau visits, rising by a factor of 4 or more."""
        most = min(_PLATEAU_MOST, self._limits.largest(operation, axes) // _PLATEAU_DIVISOR)
        steps: list[int] = []
        for size in sorted(set(sizes)):
            far_enough = not steps or size >= _PLATEAU_STEP * steps[-1]
            if LARGE <= size <= most and far_enough:
                steps.append(size)
        # If the user names only sizes above the limit, the largest of them counts as the plateau.
        return steps or [size for size in sorted(sizes)[-1:] if size >= LARGE]

    def _in_layer(
        self, task: Task, axes: Mapping[str, Value], steps: Sequence[int], kinds: Sequence[str]
    ) -> Task:
        """Returns the task with its layer, and with the headline that it answers, if any.

        Args:
            task: A task of the plan.
            axes: Values of the study's further axes.
            steps: Sizes for the search of a plateau.
            kinds: Kinds of host memory that the operation is measured with.

        """
        names = {point.operation for point in task.points.values()}
        values = {"memory": task.memory, **axes}
        if self._study.size_axis.name in self._first_values:
            values[self._study.size_axis.name] = task.bytes // self._study.size_axis.unit_bytes
        is_first = all(
            values.get(name) in first_values
            for name, first_values in self._first_values.items()
            if name in values
        )
        if task.bytes == 0:  # the operation has no size: its only point is among the first
            is_first = True
        for headline in self._study.headlines:
            if headline.operation not in names or not self._asks_for(headline, task, axes, kinds):
                continue
            if headline.bytes in {Size.ANY, task.bytes}:
                return replace(task, layer=Layer.HEADLINES, headline=headline)
            if headline.on_plateau and task.bytes in steps:
                # Of several sizes, the search visits each in time, whatever its layer.
                layer = Layer.CURVE if is_first else Layer.REST
                if len(steps) == 1:
                    layer = Layer.HEADLINES
                return replace(task, layer=layer, headline=headline)
        if not is_first:
            return replace(task, layer=Layer.REST)
        named = self._study.size_axis.name in self._given
        return replace(task, layer=Layer.CURVE if named or names & self._curve else Layer.FURTHER)

    def _asks_for(
        self,
        headline: Headline,
        task: Task,
        axes: Mapping[str, Value],
        kinds: Sequence[str],
    ) -> bool:
        """Whether a task's memory and axes are those of a headline; the size may differ."""
        preferred = next((kind for kind in headline.memory if kind in kinds), "")
        if headline.memory and task.memory != preferred and "memory" not in self._given:
            return False
        return all(
            axes.get(name, value) in {value, ""} or name in self._given
            for name, value in headline.axes.items()
        )

    def _point(
        self, part: PartDescription, size: int, kind: str, axes: Mapping[str, Value], api: str
    ) -> Point:
        sized = self._study.size_axis
        if sized.name in self._study.columns:
            axes = {sized.name: size // sized.unit_bytes, **axes}
        return Point(
            study=self._study.name,
            device=self._device,
            api=api or self._description.api,
            operation=part.name,
            memory=kind,
            bytes=size,
            direction=part.direction,  # type: ignore[arg-type]
            initiator=part.initiator,  # type: ignore[arg-type]
            axes={**axes, **part.axes},
        )

    def note_left_out(self, operations: Sequence[OperationDescription]) -> None:
        """Notes as left out: requested or default values that none of these operations accepts."""
        for axis in self._columns:
            described = [
                axis_of_operation
                for o in operations
                for axis_of_operation in o.axes
                if axis_of_operation.name == axis.name
            ]
            most = [
                axis_of_operation.most
                for axis_of_operation in described
                if not axis_of_operation.values
            ]
            for value in self._given.get(axis.name, ()) if most else ():
                if int(value) > max(most):
                    reason = f"{self._device} takes no {axis.name} {value}: at most {max(most)}"
                    self.left_out.append(reason)
            if not described and not axis.selects and not axis.sets:
                self._note_ignored(axis, operations)
            if not axis.selects or any(
                not axis_of_operation.values for axis_of_operation in described
            ):  # an axis without listed values accepts any number up to ``most``
                continue
            available = list(
                dict.fromkeys(
                    _as_value(v)
                    for axis_of_operation in described
                    for v in axis_of_operation.values
                )
            )
            for value in self._given.get(axis.name, axis.default or ()):
                why = self._description.lacks.get(f"{axis.name}={value}", "")
                requested = axis.name in self._given and (described or value != axis.absent)
                if value not in available and (why or requested):
                    others = (
                        f"it has {', '.join(map(str, available))}" if available else "nor any other"
                    )
                    self.left_out.append(
                        f"{self._device} has no {axis.name} {value}: {why or others}"
                    )

    def _note_ignored(self, axis: Axis, operations: Sequence[OperationDescription]) -> None:
        """Notes as left out: requested values of an axis, if none of these operations has it."""
        parts = [part for o in operations for part in o.parts if axis.name in part.axes]
        available = list(dict.fromkeys(part.axes[axis.name] for part in parts))
        for value in self._given.get(axis.name, ()):
            if value not in available and value != axis.absent:
                others = f": it has {', '.join(map(str, available))}" if available else ""
                self.left_out.append(f"{self._device} takes no {axis.name} {value}{others}")

    def end(self) -> Plan:
        """Completes the plan; sizes of the user that are too large get a reason in ``left_out``."""
        self.left_out = list(dict.fromkeys(self.left_out))
        if self._study.size_axis.name in self._given:
            for (sizes, largest), operations in self._too_large.items():
                names = ", ".join(dict.fromkeys(operations))
                listed = ", ".join(map(format_size, sizes))
                most = largest >> 20 << 20 or largest
                self.left_out.append(
                    f"{self._device} does not do {listed} for {names}: left out; "
                    f"{format_size(most)} is the most, by its limits and by what memory is free"
                )
        return self


def _values(
    operation: OperationDescription, axis: Axis, requested: Sequence[Value] | None, *, varies: bool
) -> Sequence[Value]:
    """The values of an axis with which an operation is measured; empty: it is left out.

    An operation that lacks the axis is measured once, without it. It is left out if the user
    requested a value of a selecting axis (``Axis.selects``) that no operation of the device has.
    ``varies``: whether any operation of the device has the axis.
    """
    described = next(
        (described for described in operation.axes if described.name == axis.name), None
    )
    if described is None:
        included = varies or not (requested and axis.selects) or axis.absent in requested
        return [axis.absent] if included else []
    usual = _as_value(described.usual)
    if not described.values:
        return [
            value for value in requested or axis.default or (usual,) if int(value) <= described.most
        ]
    takes = [_as_value(value) for value in described.values]
    wanted = requested or axis.default
    if wanted is None:  # no values without a request if the operation lacks its usual value
        return [usual] if usual in takes else []
    return [value for value in wanted if value in takes]


def _as_value(text: str) -> Value:
    return int(text) if text.isdigit() else text


def plan(study: Study, device: FoundDevice, requested: Mapping[str, Sequence[Value]]) -> Plan:
    """Plans the tasks of one study for one device.

    ``requested``: values of the axes that the user set, by name. The plan leaves out points that
    the device cannot hold or execute, with a reason if the user named them. By default it has two
    kinds of host memory: the operation's first kind and the device's ``direct_memory``.
    """
    usual = {axis.name: axis.default for axis in study.axes if axis.default is not None}
    chosen = {**usual, **requested}
    planner = Plan(study, device, requested, chosen)
    description = device.description
    for kind in requested.get("memory", ()):
        if not has_memory(study, description, kind):
            why = description.lacks.get(f"memory={kind}")
            offers = describe_memory_kinds(study, [description])
            reason = f": {why}" if why else f"; it has {offers}"
            planner.left_out.append(f"{device.address} has no memory kind '{kind}'{reason}")
    wanted = [str(name) for name in requested.get("operation", study.operations_usually)]
    sizes_by_set = study.sizes(requested)
    seen: list[OperationDescription] = []
    for name in wanted:
        operations = offered(study, description, name)
        if not operations and "operation" in requested:
            planner.left_out.append(f"{device.address} cannot do '{name}'")
        for operation in operations:
            if operation not in seen:
                seen.append(operation)
                for sizes_from, sizes in sizes_by_set:
                    planner.add(operation, wanted, sizes, sizes_from)
    planner.note_left_out(seen)
    return planner.end()


def plan_run(
    questions: Questions,
    devices: Sequence[FoundDevice],
    layer_of: Callable[[Task], Layer | None] | None = None,
    *,
    ranks: bool = False,
) -> tuple[list[tuple[FoundDevice, Task]], list[str]]:
    """Plans a run: returns tasks, each with its device, and the reasons for values left out.

    Args:
        questions: Studies, each with the values of axes that the user set.
        devices: Devices of the run.
        layer_of: Gives each task's layer, or None to leave it out; by default the plan decides.
        ranks: Whether several ranks measure together.

    Raises UsageError if nothing is left to measure.

    """
    placed: list[tuple[FoundDevice, Task]] = []
    left_out: list[str] = []
    named = [device for device in devices if not device.added]
    for study, requested in questions:
        plans = [plan(study, device, requested) for device in named]
        for device, planned in zip(named, plans, strict=True):
            # Give each reason once: devices of the same kind have the same reasons, and a card's
            # other APIs measure only headlines.
            if not device.beside and not device.like:
                left_out += planned.left_out
            first = _first_layer(device, devices)
            if study.between and not ranks:  # without ranks no network: a later layer
                first = Layer.CURVE
            placed += [
                (device, _in_turn(task, device, first))
                for task in (_layered(planned.tasks, layer_of) if layer_of else planned.tasks)
                if not device.beside or _compares_apis(task, device)
            ]
        if software := study.of_software(requested):
            added = (device for device in devices if device.added)
            placed += [
                (added_device, task)
                for added_device in added
                for task in plan(study, added_device, software).tasks
            ]
        if ranks and not any(planned.tasks or planned.left_out for planned in plans):
            raise UsageError(
                f"study '{study.name}' does not spread over ranks: start it without mpirun"
            )
    sizes_given = any(study.size_axis.name in requested for study, requested in questions)
    if not any(task.bytes for _, task in placed) and (sizes_given or not placed):
        studies = [study for study, _ in questions]
        if placed and not left_out:
            names = ", ".join(sorted({task.operation for _, task in placed}))
            axes = ", ".join(flag(s.size_axis.name) for s, g in questions if s.size_axis.name in g)
            raise UsageError(f"{axes} has no effect on {names}, which moves no bytes: leave it out")
        able = any(known_to(study, device.description) for study in studies for device in devices)
        reasons = "; ".join(left_out) if able else ""
        raise UsageError(f"nothing to measure: {reasons or _unmet_needs(studies, devices)}")
    return placed, left_out


def _layered(tasks: Sequence[Task], layer_of: Callable[[Task], Layer | None]) -> Iterator[Task]:
    """Yields tasks with the layers that ``layer_of`` gives them, and without headlines."""
    for task in tasks:
        if (layer := layer_of(task)) is not None:
            yield replace(task, layer=layer, headline=None)


def _in_turn(task: Task, device: FoundDevice, first: Layer) -> Task:
    """Returns a task in a layer not before ``first``, the layer of its device's headlines.

    A device like an earlier device has its curve in a later layer.
    """
    own = Layer.FURTHER if task.layer is Layer.CURVE and device.like else task.layer
    return replace(task, layer=max(own, first), first_layer=first)


def _first_layer(device: FoundDevice, devices: Sequence[FoundDevice]) -> Layer:
    """The layer in which a device's headlines are measured.

    Copies by the processor itself and other APIs of a card are comparisons, which come later. If
    the run has no device with a runtime, they come first.
    """
    any_runtime = any(device.backend.has_runtime for device in devices)
    is_comparison = device.beside or not device.backend.has_runtime
    return Layer.CURVE if is_comparison and any_runtime else Layer.HEADLINES


def _compares_apis(task: Task, device: FoundDevice) -> bool:
    """Whether another API of a card measures a task, to compare rates and latency with its own API.

    Such a task answers a headline, is no offload, and copies at least a page of fastest memory.
    """
    fastest = device.direct_memory
    in_fastest = not fastest or task.memory == fastest
    in_pages = task.bytes >= SMALL
    return bool(task.headline) and in_fastest and in_pages and not task.offload


def _unmet_needs(studies: Sequence[Study], devices: Sequence[FoundDevice]) -> str:
    """The message that the devices lack what the studies need, so that nothing can be measured."""
    addresses = ", ".join(device.address for device in devices)
    needs = "; ".join(f"{study.name} needs {study.needs}" for study in studies)
    return f"{needs}: not on {addresses}; isthmus devices says which devices have that"
