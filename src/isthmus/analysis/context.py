"""Selects the rows that analyses read, and makes the tables that answer their questions."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from isthmus import backends, boards, studies
from isthmus.analysis.ratios import Pair, pairs
from isthmus.analysis.summary import memory_copies, select, summarise
from isthmus.answers import Answer
from isthmus.backends import BackendDescription
from isthmus.boards import Board
from isthmus.frames import Frame
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.statistics import relevant

SERIES = ["device", "api", "operation", "memory", "axes", "clock"]
"""Columns that are equal for all points of a series: the points differ in size only."""


@dataclass(frozen=True)
class RunContext:
    """A run with its summary, and what is known of its devices: the same for all its studies."""

    run: Run
    studies: list[str]
    """See ``studies_in``."""
    devices: Mapping[str, DeviceRecord]
    """Records of the run's devices, by address."""
    titles: Mapping[str, str]
    """Names of devices in sentences, by address; a model or emulated card is named as such."""
    backends: Mapping[str, BackendDescription | type[BackendDescription]]
    """Backend of each device, or the base class with defaults if it is not installed."""
    boards: Mapping[str, Board | None]
    """Board of each device by address; None for hardware that names no board."""
    simulated: frozenset[str]
    """Addresses of models, whose times are simulated."""
    software: frozenset[str]
    """Addresses of APIs without a device, whose times are those of their software."""
    copies: frozenset[str]
    """Addresses of devices that are plain memory copies."""
    beside: Mapping[str, str]
    """Addresses of a card's further APIs, each with the address of the card by its own API."""
    kinds: list[list[DeviceRecord]]
    """The devices that a run measures fully, by kind; findings of one kind may be joined."""
    summary: Frame
    confidence: float
    """Confidence of each interval of the run."""
    least: float
    """Smallest relevant difference of two times, as a share: the run's precision."""

    @classmethod
    def of(cls, run: Run | RunContext, summary: Frame | None = None) -> RunContext:
        """The context of a run, or ``run`` if it is one. ``summary``: the run's, if computed."""
        if isinstance(run, RunContext):
            return run
        devices = {device.address: device for device in run.devices}
        addresses = dict.fromkeys([*devices, *(point.device for point in run.points)])
        others = _beside(run)
        return cls(
            run=run,
            studies=studies_in(run),
            devices=devices,
            titles={address: _title(address, devices.get(address)) for address in addresses},
            backends={
                address: backends.of(devices[address].backend if address in devices else "")
                for address in addresses
            },
            boards={
                address: boards.of_device(device.properties) for address, device in devices.items()
            },
            simulated=frozenset(device.address for device in run.devices if device.simulated),
            software=frozenset(
                d.address for d in run.devices if d.properties.get("keeps_data") == "no"
            ),
            beside=others,
            kinds=_kinds(run, others),
            copies=memory_copies(run),
            summary=summarise(run) if summary is None else summary,
            confidence=run.settings.confidence,
            least=relevant(run.settings.precision),
        )

    def of_study(self, study: str, columns: Sequence[str] = ()) -> AnalysisContext:
        """Prepares one study; for ``columns`` see ``summary.select``."""
        selected = select(self.run, self.summary, study, columns)
        measured = set(selected.rows["device"])
        references = frozenset() if measured <= self.copies else self.copies
        return AnalysisContext(
            **vars(self),
            study=study,
            every=selected.every,
            rows=_named(selected.rows, self.titles),
            timed=selected.timed,
            medians=selected.medians,
            pairs=pairs(self.run, selected.medians),
            reported=frozenset(self.titles) - references,
        )


@dataclass(frozen=True)
class AnalysisContext(RunContext):
    """The measurements of one study of a run, and what is known of its devices."""

    study: str
    every: Frame
    """Summary rows of all studies: see ``summary.Selected``."""
    rows: Frame
    """Trusted rows of this study with a rate: see ``summary.Selected``. Column ``who`` names the
    device, with memory and axes if the operation has several."""
    timed: Frame
    """Trusted rows of this study with a time: see ``summary.Selected``."""
    medians: Frame
    """Median times of the processes of this study's points."""
    pairs: list[Pair]
    """Comparisons of two devices, by operation, memory and axes."""
    reported: frozenset[str]
    """Addresses that findings name; a plain memory copy is only a reference for devices."""


def _title(address: str, record: DeviceRecord | None) -> str:
    if record is None or record.real:
        return address
    return f"{address}, model" if record.simulated else f"{address}, no hardware"


def _named(rows: Frame, titles: Mapping[str, str]) -> Frame:
    """Adds the column ``who``: device, with memory and axes where these tell its rows apart."""
    kinds: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    table = rows.rows(["device", "operation", "memory", "axes"])
    for device, operation, memory, axes in table:
        memories, several = kinds.setdefault((device, operation), (set(), set()))
        memories.add(memory)
        several.add(axes)
    texts = []
    for device, operation, *own in table:
        apart = (len(of) > 1 for of in kinds[device, operation])
        parts = [text for text, several in zip(own, apart, strict=True) if several]
        texts.append(", ".join(filter(None, [titles[device], *parts])))
    return rows.assign(who=texts)


def _beside(run: Run) -> dict[str, str]:
    """Addresses of a card's further APIs, each with the address of the card by its own API.

    Further runtimes that compute on the processor are included, with the first such runtime.
    """
    own: dict[str, DeviceRecord] = {}
    reached = [record for record in run.devices if record.real and not record.added]
    by_api = sorted(reached, key=lambda record: not backends.of(record.backend).own_api)
    for device in by_api:
        if subject := _subject(device):
            own.setdefault(subject, device)
    pairs = ((record, own.get(_subject(record))) for record in reached)
    return {r.address: first.address for r, first in pairs if first and first is not r}


def _subject(device: DeviceRecord) -> str:
    """The card or processor that a device is, as in ``FoundDevice.subject``; empty if unknown."""
    if device.simulated or not backends.of(device.backend).has_runtime:
        return ""
    if device.properties.get("type") == "cpu":
        return "processor"
    return (device.link.get("address") or device.properties.get("pci_address", "")).lower()


def _kinds(run: Run, others: Container[str]) -> list[list[DeviceRecord]]:
    """The devices that a run measures fully, by backend, model, link and memory node."""
    result: dict[tuple[str, ...], list[DeviceRecord]] = {}
    for device in run.devices:
        if not (device.address in others or device.added):
            result.setdefault(device.kind, []).append(device)
    return list(result.values())


def studies_in(run: Run) -> list[str]:
    """Names of the studies that were requested for a run or that its points belong to."""
    return list(dict.fromkeys([*run.studies, *(point.study for point in run.points)]))


def answers_to(study: str, of_run: RunContext) -> list[Answer]:
    """Answers to the questions of one study; empty where the study is not installed."""
    declared = studies.registry().get(study)
    if declared is None:
        return []
    context = of_run.of_study(study, declared.columns)
    return [question(context) for question in declared.analysis().questions]


def answers(run: Run | RunContext) -> list[Answer]:
    """Answers to the questions of all studies of a run."""
    of_run = RunContext.of(run)
    return [answer for study in of_run.studies for answer in answers_to(study, of_run)]
