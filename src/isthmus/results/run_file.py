"""Types of the run file, ``isthmus.run/1``, and functions that read and write it.

A run file has every sample with its environment, and no derived values: ``analysis.summary``
computes summaries from the samples. Times are raw ticks of a clock, with the seconds of a tick.
Sizes are bytes.
"""

from __future__ import annotations

import gzip
import io
import zlib
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal

import msgspec
from msgspec.structs import force_setattr

from isthmus import saving
from isthmus.errors import UsageError
from isthmus.program import quoted
from isthmus.results.noise import Noise
from isthmus.system.pci import Function
from isthmus.text import shortened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SCHEMA = "isthmus.run/1"
ClockName = Literal["host", "device", "simulated", "hybrid"]
JOURNAL_ENDING = ".journal"
"""Suffix of the journal's name, beside the run file."""
QUICK_PROCESSES = 3
"""Number of processes for each point of a quick run's curve: several, so that intervals cover their
differences."""
Verified = Literal["true", "false", "na"]
State = Literal["precision", "samples", "time", "once", "visit", "budget", "interrupted", "failed"]
MOST_BYTES = 128 << 20
"""Bytes of the largest run file that is read; in memory it may take twelve times as much."""
ENDINGS = (".json", ".json.gz")
"""Suffixes of run files."""
_GZIP = b"\x1f\x8b"
"""First bytes of a gzip file (RFC 1952, section 2.3.1)."""
_NAME = b"isthmus.run/"
"""Beginning of a run file's schema, which is near the beginning or the end of the file."""
_HEAD = 1 << 20
"""Bytes at the beginning and at the end of a file in which ``_NAME`` must be. As many as
``_MOST_ENVIRONMENT``, because the environment may stand before the schema."""
MOST_POINTS = 100_000
"""Most points of a run file that is read."""
_WORTH_KEEPING = 64
"""Fewest samples of which ``Rerun.seconds`` caches the array: few samples are computed faster.

A cache of all arrays would take 120 MB for 100 000 points with two processes each."""
_MOST_ENVIRONMENT = 1 << 20
"""Most bytes of ``environment`` in a run file, which may hold objects of any depth."""
_QUIET = Noise()
_NONE: list[int] = []
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Exceptions that decoding a damaged file raises."""
Whole = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
IMPORTED = "imported"
"""Remark that marks each figure of another program; tables show it as a flag."""
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
FINAL_STATES: frozenset[State] = frozenset({"precision", "samples", "time", "once", "visit"})
"""States in which a process's result is complete."""


class ClockRecord(msgspec.Struct, frozen=True, gc=False):
    """The host clock of a worker, as the worker calibrated it."""

    source: str
    reason: str
    uncertainty: Seconds
    """Relative uncertainty of the seconds of a tick."""
    resolution_s: Seconds
    empty_pair_s: Seconds
    """Median seconds of an empty timed interval; summaries subtract it from samples."""


class Samples(msgspec.Struct, frozen=True, gc=False):
    """Samples by one clock, in the order of measurement; cold if the rerun's state is ``once``."""

    ticks: list[Whole]
    """Raw ticks of each sample. A sample by the host clock covers ``batch`` repetitions, by another
    clock one repetition."""
    seconds_per_tick: Annotated[float, msgspec.Meta(gt=0, le=1)]
    cold_ticks: Whole | None = None
    """Ticks of the first repetition in the worker; None if it was not timed apart."""
    warm_ticks: list[Whole] = []
    """Ticks of further repetitions in the same process, if each sample of ``ticks`` is the first
    repetition of a fresh process (state ``once``)."""
    reference_ticks: list[Whole] = msgspec.field(default_factory=list, name="beside_ticks")
    """Ticks of repetitions with the reference kind of memory, each right before or after the
    repetition of ``warm_ticks`` with the same index."""
    empty_ticks: list[Whole] = []
    """If each repetition of a batch is timed separately: ticks of as many empty intervals as the
    sample has. Summaries subtract them in place of ``empty_pair_s``, measured at the start."""

    def __post_init__(self) -> None:
        """Raises ValueError if ``empty_ticks`` and ``ticks`` differ in number."""
        if self.empty_ticks and len(self.empty_ticks) != len(self.ticks):
            raise ValueError("as many empty_ticks as ticks, or none")


class HostReading(msgspec.Struct, frozen=True):
    """A reading of the host's speed: seconds that fixed work takes without any device."""

    at_s: Seconds
    """Seconds from the start of the run (``Run.started``)."""
    system_call_s: Seconds
    """Seconds of one system call without effect (getppid)."""
    copy_s: Seconds
    """Seconds of one copy of 4 MiB between buffers of the process (memcpy)."""
    arithmetic_s: Seconds
    """Seconds of 5000 multiplications and additions, each of which needs the result before."""


class Rerun(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The results of one worker for one point."""

    rerun: Count
    batch: Annotated[int, msgspec.Meta(ge=1, le=1 << 62)]
    """Repetitions in one host sample."""
    intervals: Count
    """Timed intervals in one host sample; summaries subtract as many empty intervals from it."""
    clocks: dict[ClockName, Samples]
    blocks: list[Count]
    """Number of samples of each visit, in the order of the visits."""
    clock: ClockRecord
    verified: Verified
    fault: str = ""
    state: State
    """Why sampling ended. ``visit``: the visit had its planned samples. ``once``: the same, in a
    worker for a single repetition. ``precision``: this process's interval is narrow enough."""
    noise: Noise
    remarks: list[str] = []
    """Remarks of the backend on this result, such as ``fast_forward``; tables show them as flags.
    """
    measured_s: Seconds
    """Wall time spent on the point, including set-up and verification."""
    at_s: Seconds | None = None
    """Seconds from the start of the run to the visit; None if unknown, or for a simulated point."""
    host_speed: list[HostReading] = []
    """Readings of the host's speed right after the visit. Most visits have none, so that readings
    take less than 2 % of the time. Only the first part of an operation has the reading."""

    @cached_property
    def _cached(self) -> dict[ClockName, NDArray[np.float64]]:
        return {}

    def seconds(self, clock: ClockName) -> NDArray[np.float64]:
        """Mean seconds of a repetition in each sample, less the empty intervals of the host clock.

        The caller must not write to the array: an array of many samples is cached.
        """
        if len(self.clocks[clock].ticks) < _WORTH_KEEPING:
            return self._seconds(clock)
        if clock not in self._cached:
            self._cached[clock] = self._seconds(clock)
            self._cached[clock].setflags(write=False)
        return self._cached[clock]

    def _seconds(self, clock: ClockName) -> NDArray[np.float64]:
        import numpy as np  # noqa: PLC0415 - reading a file does not need it

        if not self.batch:
            raise ZeroDivisionError("a batch of no repetitions")
        samples = self.clocks[clock]
        if len(samples.ticks) < _WORTH_KEEPING and not samples.empty_ticks:
            empty_s = self.intervals * self.clock.empty_pair_s
            each = [tick * samples.seconds_per_tick for tick in samples.ticks]
            if clock == "host":
                each = [max(seconds - empty_s, 0.0) / self.batch for seconds in each]
            return np.array(each, dtype=np.float64)
        taken = np.array(samples.ticks, dtype=np.float64) * samples.seconds_per_tick
        if clock != "host":
            return taken
        empty = np.array(self.intervals * self.clock.empty_pair_s)
        if samples.empty_ticks:
            empty = np.array(samples.empty_ticks, dtype=np.float64) * samples.seconds_per_tick
        repetitions: NDArray[np.float64] = np.maximum(taken - empty, 0.0) / self.batch
        return repetitions

    def resolution_s(self, clock: ClockName) -> float:
        """Seconds of the shortest repetition that the clock can tell from 0; 0 for an exact clock.

        The resolution of a device's clock is estimated from its samples.
        """
        if clock == "host":
            return max(self.intervals, 1) * self.clock.resolution_s / self.batch
        if clock != "device":
            return 0.0
        from isthmus import _core  # noqa: PLC0415 - reading a file does not need it

        return _core.step_of(self.seconds(clock))


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One measured configuration of a study."""

    study: str
    device: str
    """Address as the user typed it."""
    api: str
    operation: str
    memory: str
    bytes: Count
    direction: Literal["h2d", "d2h", "both", ""]
    initiator: Literal["cpu", "dma", "kernel"]
    axes: dict[str, Whole | str]
    """Values of the study's further columns, by name."""
    moved_bytes: Count = 0
    """Bytes that one repetition moves. A byte counts once, where it is sent."""
    reruns: list[Rerun] = []
    error: str = ""
    """Message of the error because of which samples are missing; empty without an error."""
    skipped: str = ""
    """Why the machine does not allow the point, and the remedy; empty if it does."""

    @property
    def measured(self) -> bool:
        """Whether the point has samples on any clock."""
        return any(samples.ticks for rerun in self.reruns for samples in rerun.clocks.values())


class DeviceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One device of the run and its properties."""

    address: str
    backend: str
    real: bool
    """Whether the device is hardware. Figures of null and emulated devices are never shown as
    hardware's."""
    simulated: bool = False
    """Whether the device's points have the clock ``simulated``."""
    name: str = ""
    platform: str = ""
    api: str = ""
    max_buffer_bytes: Count = 0
    memory_bytes: Count = 0
    properties: dict[str, str] = {}
    properties_after: dict[str, str] = {}
    """Properties in ``BackendDescription.changing``, read again after the run."""
    link: dict[str, str] = {}
    """PCIe link of the device, if it has one: generation, width, MPS, MRRS, IOMMU group ..."""
    pci: Function | None = None
    """PCIe function of the device with the ports above it, before the run."""
    pci_after: Function | None = None
    """The PCIe function as read after the run: a counter that differs has grown during the run."""
    environment: dict[str, str] = {}
    """Environment variables that the backend set for the device's workers."""
    added: bool = False
    """Whether the run added the device unasked, to time the software of an API without a card."""
    error: str = ""

    @property
    def kind(self) -> tuple[str, ...]:
        """Key of devices of the same kind: backend, model, link and memory node."""
        from isthmus.models.pcie import link_of  # noqa: PLC0415 - few readers need it

        link = link_of(self.link)
        return self.backend, self.name, link.name if link else "", self.link.get("numa_node", "")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings by which the run measured."""

    precision: Seconds
    confidence: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    reruns: Count
    """Processes for each point; 0: as many as its interval needs."""
    budget_s: Seconds
    seed: Whole
    quick: bool
    axes: dict[str, str] = {}
    """Values of axes that the user set, as typed, by name of the axis."""
    options: dict[str, str] = {}
    """Options of the command for the backends that declare them: see ``isthmus.run_options``."""
    cpus: list[Count] = []
    """Processors to which the workers were bound; empty: not bound."""
    numa_node: Count | None = None
    repetitions: Count = 0
    """Number of processes for each offload that the user set; 0: not set."""

    def processes(self, *, offload: bool) -> int:
        """Processes of each point, or of each offload; 0: as many as its interval needs."""
        if not offload:
            return self.reruns
        return self.repetitions or (QUICK_PROCESSES if self.quick else 0)


class Software(msgspec.Struct, frozen=True, kw_only=True):
    """Version and command of the Isthmus that measured."""

    version: str
    commit: str = ""
    command: list[str] = []


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """The program whose output was imported as this run."""

    tool: str
    version: str = ""
    """Version of the program; empty if the output does not state it."""
    format: str
    """Name of the importer."""
    file: str
    """Name of the imported file, without its folder."""
    sha256: str
    """Checksum of the imported file."""
    statistics: list[str]
    """Statistics that the imported figures are: ``mean``, ``median`` or ``best``; ``each`` for
    single repetitions."""
    not_measured: list[str]
    left_out: list[str] = []
    """Figures of the imported file that are in no point, with the reason."""
    assumed: list[str] = []
    """Facts that the imported file does not state, with the values that were assumed."""
    lines: list[int]
    """For each point of the run: line number in the imported file."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """Number of points of a study that a run left out, and that a run with more time measures."""

    study: str
    points: Count
    seconds: Seconds
    """Estimated time that these points need."""


def moment(text: str) -> datetime | None:
    """The time of an ISO 8601 text; None for any other text."""
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))  # Python before 3.11 rejects Z
    except ValueError:
        return None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Contents of a run file: a whole run."""

    schema: str = SCHEMA
    software: Software
    started: str
    """When the run started: UTC in ISO 8601."""
    finished: str = ""
    duration_s: Seconds = 0.0
    """Seconds of all sessions of the run, without the time between sessions; 0 in files of older
    versions."""
    status: Literal["complete", "budget", "interrupted"]
    studies: list[str]
    settings: Settings
    environment: dict[str, Any]
    """State of the host: see ``system.environment``."""
    devices: list[DeviceRecord]
    points: list[Point]
    origin: Origin | None = None
    """The program that measured, for an imported run; None if Isthmus measured."""
    left_out: list[LeftOut] = []
    """Points that the run did not measure because the user set no ``--budget``."""

    @property
    def host_readings(self) -> list[HostReading]:
        """All readings of the host's speed, in order of time; empty for files of older versions."""
        readings = (
            reading for p in self.points for rerun in p.reruns for reading in rerun.host_speed
        )
        return sorted(readings, key=lambda reading: reading.at_s)

    @property
    def took_s(self) -> float:
        """Seconds that the run took; 0 for an unfinished run."""
        if self.duration_s or not self.finished:
            return self.duration_s
        began, ended = moment(self.started), moment(self.finished)
        try:
            return (ended - began).total_seconds() if began and ended else 0.0
        except TypeError:  # only one of the two has a time zone
            return 0.0


class _Head(msgspec.Struct):
    schema: str = ""
    environment: msgspec.Raw = msgspec.Raw()


def schema() -> dict[str, Any]:
    """JSON Schema of the run file, generated from these types."""
    generated = msgspec.json.schema(Run)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA, **generated}


def encoded(value: object) -> bytes:
    """JSON of a value. U+FFFD replaces bytes of file names that are not UTF-8."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_as_text(msgspec.to_builtins(value)))


def _as_text(value: Any) -> Any:
    """The value with U+FFFD in place of surrogates: Python's marks for bytes that are not text.

    Source: PEP 383.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, list | tuple):
        return [_as_text(item) for item in value]
    if isinstance(value, dict):
        return {_as_text(key): _as_text(item) for key, item in value.items()}
    return value


def encode(run: Run) -> bytes:
    """JSON text of a run, with one line for each point."""
    head = msgspec.structs.replace(run, points=[])
    text = msgspec.json.format(encoded(head), indent=2)
    lines = b",\n".join(b"    " + encoded(point) for point in run.points)
    body = b'"points": [\n' + lines + b"\n  ]" if run.points else b'"points": []'
    return text.replace(b'"points": []', body) + b"\n"


class _Unread(Run, frozen=True, kw_only=True):
    """A run whose points are still JSON."""

    points: list[msgspec.Raw]  # type: ignore[assignment]


class _TooManyPointsError(ValueError):
    """A run has more than ``MOST_POINTS`` points; the message is their number."""


def _decoded(data: bytes) -> Run:
    """Decodes a run; equal parts of its points share one object.

    Each worker's clock is in all of its points, and few axes differ: sharing halves the memory of
    100 000 points. Raises the errors of ``UNREADABLE``, or _TooManyPointsError.
    """
    unread = msgspec.json.decode(data, type=_Unread)
    if len(unread.points) > MOST_POINTS:
        raise _TooManyPointsError(len(unread.points))
    decoder = msgspec.json.Decoder(Point)
    shared: dict[object, Any] = {}
    points = []
    for index, raw in enumerate(unread.points):
        try:
            point = decoder.decode(raw)
        except msgspec.ValidationError as error:
            what = str(error).replace("`$", f"`$.points[{index}]", 1)
            raise msgspec.ValidationError(what) from error
        _share(point, shared)
        points.append(point)
    fields = {name: getattr(unread, name) for name in Run.__struct_fields__}
    return Run(**{**fields, "points": points})


def _share(point: Point, shared: dict[object, Any]) -> None:
    """Replaces parts of a point by equal parts of earlier points."""
    for name in ("study", "device", "api", "operation", "memory"):
        text = getattr(point, name)
        force_setattr(point, name, shared.setdefault(text, text))
    axes = tuple(point.axes.items())
    force_setattr(point, "axes", shared.setdefault(axes, point.axes))
    for rerun in point.reruns:
        force_setattr(rerun, "clock", shared.setdefault(rerun.clock, rerun.clock))
        if rerun.noise == _QUIET:
            force_setattr(rerun, "noise", _QUIET)
        for name in ("blocks", "remarks"):
            listed = getattr(rerun, name)
            force_setattr(rerun, name, shared.setdefault((name, *listed), listed))
        for samples in rerun.clocks.values():
            for name in ("warm_ticks", "reference_ticks", "empty_ticks"):
                if not getattr(samples, name):
                    force_setattr(samples, name, _NONE)


def is_run_file(path: Path) -> bool:
    """Whether the name of a file ends like that of a run file."""
    return path.name.endswith(ENDINGS)


def _contents(path: Path) -> bytes:
    """Reads at most ``MOST_BYTES`` + 1 bytes of a file, and decompresses gzip.

    Decompression stops at that limit, because a small file may expand to any size. Of a plain file
    without ``_NAME`` only the first bytes are read.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if not head.startswith(_GZIP):
            if _NAME in head or len(head) < _HEAD or _NAME in _tail(file):
                return head + file.read(MOST_BYTES + 1 - len(head))
            return head
        packed = head + file.read(MOST_BYTES + 1 - len(head))
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as plain:
        return plain.read(MOST_BYTES + 1)


def _tail(file: BinaryIO) -> bytes:
    """Returns the last ``_HEAD`` bytes of a file, in which the schema may be; keeps its position.

    Isthmus writes the schema first, but a program that sorts keys writes it after the points. A
    pipe has no known end: returns ``_NAME``, so that the caller reads all of it.
    """
    if not file.seekable():
        return _NAME
    at = file.tell()
    file.seek(max(at, file.seek(0, io.SEEK_END) - _HEAD))
    tail = file.read()
    file.seek(at)
    return tail


def load(path: Path) -> Run:
    """Reads a run file. Raises UsageError with one line that says what is wrong."""
    try:
        large = path.stat().st_size > MOST_BYTES
        data = b"" if large else _contents(path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path}: not a run file: its gzip data are damaged ({error})") from error
    except OSError as error:
        cut_off = path.with_name(path.name + JOURNAL_ENDING)
        hint = f"; its run was cut off: go on with --resume --out {quoted(str(path))}"
        message = f"{error.strerror}{hint if cut_off.exists() else ''}"
        raise UsageError(f"{path}: {message}") from error
    if large or len(data) > MOST_BYTES:
        raise UsageError(f"{path}: larger than {MOST_BYTES >> 20} MiB, which no run file is")
    named = _NAME in data or len(data) < _HEAD
    try:
        head = msgspec.json.decode(data, type=_Head) if named else _Head()
    except msgspec.ValidationError:
        head = _Head()
    except UNREADABLE as error:
        raise UsageError(f"{path}: not a run file: not JSON, or cut short ({error})") from error
    written = head.schema
    if not written.startswith("isthmus.run/"):
        raise UsageError(f"{path}: not a run file (no schema {SCHEMA})")
    if written != SCHEMA:
        raise UsageError(
            f"{path}: written as {shortened(written)}; this Isthmus reads {SCHEMA}: update Isthmus"
        )
    if len(head.environment) > _MOST_ENVIRONMENT:
        raise UsageError(f"{path}: its environment is larger than {_MOST_ENVIRONMENT >> 20} MiB")
    try:
        run = _decoded(data)
    except UNREADABLE as error:
        what = shortened(str(error))
        raise UsageError(f"{path}: not a valid {SCHEMA} file: {what}") from error
    except _TooManyPointsError as error:
        raise UsageError(f"{path}: {error} points; at most {MOST_POINTS} are read") from error
    if unknown := {point.device for point in run.points} - {
        device.address for device in run.devices
    }:
        raise UsageError(f"{path}: no device '{shortened(min(unknown))}', which its points name")
    return run


def save(run: Run, path: Path, *, replace: bool = False) -> None:
    """Writes a run file completely or not at all: see ``isthmus.saving``."""
    saving.save(encode(run), path, replace=replace)
