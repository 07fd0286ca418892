"""Machines that are ready to measure, made from a seed, and faults to plant in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from isthmus import checks
from isthmus.checks import Facts, Result
from isthmus.measure.devices import link_attributes
from isthmus.results.run_file import DeviceRecord
from isthmus.system import environment, pci
from pci_tree import EGRESS, GI, MI, REDIRECTS, Card, Machine, Port, write

RATES = (8.0, 16.0, 32.0)


def state_of(check: str) -> str:
    """State of a check that finds its fault: stolen time is a fault of one run, not of a node."""
    return "warning" if check == "steal" else "bad"


@dataclass(frozen=True)
class Scene:
    """A machine with a card, and the process that would measure."""

    card: Card = field(default_factory=Card)
    machine: Machine = field(default_factory=Machine)
    cpus: Sequence[int] = tuple(range(16))
    memory_node: int | None = None
    memory_bytes: int = 32 * GI
    after: Card | None = None
    """As it is when a run has ended; None: nothing was measured."""
    as_root: bool = True
    stolen_s: float = 0.0
    """From its processors during a run of 10 s."""
    throttled: int = 0
    """Times that heat lowered a processor's clock during the run."""

    def facts(self, folder: Path) -> Facts:
        """What is read of it, before and after."""
        root = write(folder / "before", self.card, self.machine, as_root=self.as_root)
        host = {
            **environment.host(root), "usable_cpus": list(self.cpus), "logical_cpus": 16,
            "steal_before_s": 1.0, "steal_after_s": 1.0 + self.stolen_s,
            "busy_before_s": 50.0, "busy_after_s": 60.0 + self.stolen_s,
            "throttled_before": 7.0, "throttled_after": 7.0 + self.throttled,
        }  # fmt: skip
        after = pci.read(self.card.address, root) if self.after else None
        if self.after and self.after != self.card:
            later = write(folder / "after", self.after, self.machine, as_root=self.as_root)
            after = pci.read(self.after.address, later)
        function = pci.read(self.card.address, root)
        assert function is not None
        record = DeviceRecord(
            address="cuda:a", backend="a", real=True, memory_bytes=self.memory_bytes, pci=function,
            pci_after=after, link=link_attributes(function),
        )  # fmt: skip
        measured_s = 10.0 if self.after else 0.0
        return Facts(host, record, self.cpus, self.memory_node, measured_s)

    def results(self, folder: Path) -> dict[str, Result]:
        """What the checks of machine and device say, by name."""
        facts = self.facts(folder)
        results = [*checks.of_machine(facts), *checks.of_device(facts)]
        return {result.check: result for result in results}

    def bad(self, folder: Path) -> set[str]:
        """Names of the checks that found something."""
        return {name for name, one in self.results(folder).items() if one.state == state_of(name)}


def healthy(seed: int) -> Scene:
    """A machine without a fault: no two seeds need be alike."""
    by = Random(seed)
    gpu = by.random() < 0.3
    slot_speed, card_speed = by.choice(RATES), by.choice(RATES)
    speed, lanes = min(slot_speed, card_speed), by.choice((4, 8, 16))
    slot_payload, card_payload = by.choice((128, 256, 512)), by.choice((128, 256, 512, 1024))
    payload = min(slot_payload, card_payload)
    virtual = by.random() < 0.2
    idle = gpu and by.random() < 0.5
    trained = 2.5 if idle and by.random() < 0.7 else speed  # else only the links above are slow
    has_tags = by.random() < 0.8
    port = Port(
        speed=trained, most_speed=card_speed, lanes=lanes, payload=payload,
        most_lanes=by.choice((lanes, 16)) if virtual else lanes,
        relaxed_ordering=gpu or by.random() < 0.5,
        most_payload=card_payload, read_request=by.choice((512, 1024, 4096)),
        extended_tags=has_tags, can_extended_tags=has_tags,
        correctable=by.choice(({}, None, {"BadTLP": by.randrange(9)})), seen=by.choice((0, 0x41)),
        class_code="030200" if gpu else by.choice(("120000", "058000", "ff0000")),
    )  # fmt: skip
    slot = Port(
        "root port", speed=trained, most_speed=slot_speed, lanes=lanes,
        most_lanes=by.choice((lanes, 16)), payload=payload, most_payload=slot_payload,
        acs=by.choice((0, REDIRECTS)),
    )  # fmt: skip
    if by.random() < 0.5:  # as it comes out of a reset
        slot = replace(
            slot, read_request=128, relaxed_ordering=False, extended_tags=False,
            can_extended_tags=False,
        )  # fmt: skip
    above = [slot]
    if by.random() < 0.4:
        up = replace(
            slot, kind="root port", speed=2.5 if idle else 32.0, most_speed=32.0, lanes=16,
            most_lanes=16,
        )  # fmt: skip
        above = [
            replace(slot, kind="switch downstream", acs=by.choice((0, EGRESS))),
            replace(up, kind="switch upstream"),
            up,
        ]
    memory = by.choice((8, 16, 64)) * GI
    nodes = by.choice((("0-15",), ("0-7", "8-15")))
    node = by.randrange(len(nodes))
    cpus = range(16) if by.random() < 0.5 else range(8 * node, 8 * node + 8)
    card = Card(
        port, above, node=node if by.random() < 0.8 else -1,
        iommu=by.choice(("identity", "")),
        bars=(64 * MI, by.choice((256 * MI, memory) if gpu else (GI, memory))),
        driver=by.choice(("vfio-pci", "vendor")), runtime_control=by.choice(("on", "auto")),
    )  # fmt: skip
    machine = Machine(
        nodes=nodes,
        **by.choice(
            (
                {"governor": "performance"},
                {"governor": "schedutil"},
                {"governor": ""},
                {"governor": "powersave", "driver": "intel_pstate"},
                {"governor": "powersave", "driver": "amd-pstate-epp", "energy": "balance_power"},
            )
        ),
        idle=by.choice(({}, {"POLL": 0, "C1": 2, "C1E": 10}, {"POLL": 0, "C1": 1, "C6": 133})),
        idle_disabled=by.choice(((), ("C6",))),
        virtual=virtual,
        steal_ticks=by.choice((0, 300, 9000)),
        locked_memory=by.choice(("unlimited", str(8 * MI), str(4 * GI))),
        memory=by.choice((16, 512)) * GI,
    )
    return Scene(
        card, machine, tuple(cpus), None, memory,
        _after(card, by) if by.random() < 0.3 else None,
        as_root=by.random() < 0.7,
    )  # fmt: skip


def _after(card: Card, by: Random) -> Card:
    """A card after a run in which it reported errors for which no packet is sent again."""
    if card.port.correctable is None or by.random() < 0.5:
        return card
    counted = {**card.port.correctable, "NonFatalErr": 3}
    return replace(card, port=replace(card.port, correctable=counted))


def on_board(seed: int) -> Scene:
    """A healthy machine where each fault can be seen: by root, no hypervisor, a card, awake."""
    scene = healthy(seed)
    lanes, speed = 16, 16.0
    known = {
        "lanes": lanes, "most_lanes": lanes, "speed": speed, "most_speed": speed, "payload": 256,
        "most_payload": 256, "extended_tags": True, "can_extended_tags": True,
        "class_code": "120000", "correctable": {"BadTLP": 2}, "seen": 0,
    }  # fmt: skip
    down, up, root = (replace(port, **known) for port in (
        Port("switch downstream"), Port("switch upstream"), Port("root port"),
    ))  # fmt: skip
    card = replace(
        scene.card, port=replace(scene.card.port, **known), above=(down, up, root), node=1
    )
    machine = replace(
        scene.machine, virtual=False, nodes=("0-7", "8-15"), governor="performance",
        driver="acpi-cpufreq", energy="", idle={"POLL": 0, "C1": 2, "C6": 133},
        idle_disabled=("C6",), memory=512 * GI,
    )  # fmt: skip
    return replace(
        scene, card=card, machine=machine, cpus=tuple(range(8, 16)), as_root=True, after=card
    )


def _port(scene: Scene, **changes: object) -> Scene:
    """The card's port changed, before and after the run."""

    def changed(card: Card) -> Card:
        return replace(card, port=replace(card.port, **changes))  # type: ignore[arg-type]

    return replace(scene, card=changed(scene.card), after=changed(scene.after or scene.card))


def _card(scene: Scene, **changes: object) -> Scene:
    card = replace(scene.card, **changes)  # type: ignore[arg-type]
    return replace(scene, card=card, after=replace(scene.after or card, **changes))  # type: ignore[arg-type]


def _above(scene: Scene, index: int, **changes: object) -> Scene:
    """A port above the card changed, before and after the run."""

    def changed(card: Card) -> Card:
        above = list(card.above)
        above[index] = replace(above[index], **changes)  # type: ignore[arg-type]
        return replace(card, above=tuple(above))

    return replace(scene, card=changed(scene.card), after=changed(scene.after or scene.card))


def _machine(scene: Scene, **changes: object) -> Scene:
    return replace(scene, machine=replace(scene.machine, **changes))  # type: ignore[arg-type]


def _errors(scene: Scene, **counted: Mapping[str, int]) -> Scene:
    assert scene.after
    port = replace(scene.after.port, **counted)  # type: ignore[arg-type]
    return replace(scene, after=replace(scene.after, port=port))


Fault = Callable[[Scene], Scene]


def _later(fault: Fault) -> Fault:
    """The same fault, which comes while the run measures."""
    return lambda scene: replace(
        scene, after=fault(replace(scene, card=scene.after or scene.card)).card
    )


def _trained(**link: object) -> Fault:
    """Both ends of the card's own link as trained."""
    return lambda scene: _above(_port(scene, **link), 0, **link)


FAULTS: dict[str, tuple[str, Fault]] = {
    "x8 of x16": ("link_width", _trained(lanes=8)),
    "x16 card in an x8 slot": (
        "link_width", lambda s: _above(_port(s, lanes=8), 0, lanes=8, most_lanes=8),
    ),
    "gen 4 trained as gen 1": ("link_speed", _trained(speed=2.5)),
    "switch behind gen 3 x4": (
        "upstream",
        lambda s: _above(_above(s, 1, speed=8.0, lanes=4), 2, speed=8.0, lanes=4),
    ),
    "MPS 128": ("max_payload", lambda s: _port(s, payload=128)),
    "MRRS 128": ("max_read_request", lambda s: _port(s, read_request=128)),
    "trained down during the run": ("link_speed", _later(_trained(speed=2.5))),
    "lanes lost during the run": ("link_width", _later(_trained(lanes=8))),
    "switch trained down during the run": (
        "upstream", _later(lambda s: _above(_above(s, 1, lanes=1), 2, lanes=1)),
    ),
    "relaxed ordering off": (
        "relaxed_ordering", lambda s: _port(s, class_code="030200", relaxed_ordering=False),
    ),
    "extended tags off": ("extended_tags", lambda s: _port(s, extended_tags=False)),
    "ACS redirect in a switch": ("acs", lambda s: _above(s, 0, acs=REDIRECTS)),
    "IOMMU translates": ("iommu", lambda s: _card(s, iommu="DMA-FQ")),
    "wrong NUMA node": ("numa_node", lambda s: replace(s, cpus=tuple(range(8)))),
    "memory on the wrong node": ("numa_node", lambda s: replace(s, memory_node=0)),
    "D3hot": ("power_state", lambda s: _card(s, power_state="D3hot")),
    "BAR of 256 MiB of 32 GiB": (
        "bar_size", lambda s: _card(s, bars=(64 * MI, 256 * MI), rebar=(1, 32 * GI)),
    ),
    "32-bit DMA": ("bounce_buffer", lambda s: _card(s, dma_bits=32, driver="vendor", iommu="")),
    "swiotlb=force": ("bounce_buffer", lambda s: _machine(s, command_line="quiet swiotlb=force")),
    "errors grow": ("errors", lambda s: _errors(s, correctable={"BadTLP": 900})),
    "requests fail": ("errors", lambda s: _errors(s, uncorrectable={"CmpltTO": 3})),
    "powersave": ("governor", lambda s: _machine(s, governor="powersave")),
    "energy preference power": (
        "governor",
        lambda s: _machine(s, governor="powersave", driver="intel_pstate", energy="power"),
    ),
    "locked memory of 64 KiB": ("locked_memory", lambda s: _machine(s, locked_memory="65536")),
    "processor throttled": ("processor_heat", lambda s: replace(s, throttled=40)),
    "another tenant": (
        "steal", lambda s: replace(_machine(s, virtual=True), stolen_s=16.0),
    ),
}  # fmt: skip
"""What is planted: the check that must find it, and how."""
