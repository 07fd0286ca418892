"""How often a run's verdict names what is wrong with a device's link, and how often it invents it.

The emulated card gives the times, with a board that has the fault; they are then written down as a
host would have measured them: processes and samples that scatter, beside what the system would show
of such a machine (``tests/planted.py``). Two faults are none of a board and are added to the times:
a driver's copy of ordinary memory, and a neighbour that takes 30 % of the link, in bursts of half
of it or steadily.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from msgspec.structs import replace as replace_fields

from isthmus import boards, checks
from isthmus.analysis.findings import Finding, findings
from isthmus.models.pcie import path_of
from isthmus.results import run_file
from isthmus.results.run_file import Run

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from planted import FAULTS, Scene, on_board
from synthetic import point, run

SIZES = (4096, 65536, 1 << 20, 1 << 24, 1 << 26)
BOARDS = ("u250", "u200", "generic-gen4x8", "generic-gen5x16")
PROCESSES, SAMPLES = 6, 25
BETWEEN, WITHIN = 0.005, 0.01
COPY_BPS = 6e9
"""Bytes a second of a driver's copy of ordinary memory."""
ON, HALF = 0.6, 2.0
"""Share of the time that the neighbour's bursts take, and how much longer a copy is meanwhile."""
Times = Mapping[tuple[str, int], float]
Samples = Callable[[np.random.Generator, float, float], np.ndarray]
"""Of one process: from the generator, seconds of the copy, and of them on the link."""


def quiet(random: np.random.Generator, seconds: float, _: float) -> np.ndarray:
    """Samples that scatter."""
    centre = seconds * np.exp(BETWEEN * random.standard_normal())
    return np.asarray(centre * np.exp(WITHIN * np.abs(random.standard_normal(SAMPLES))))


def bursts(random: np.random.Generator, seconds: float, on_link: float) -> np.ndarray:
    """The same, with a neighbour that uses half of the link for a part of the time."""
    crowded = random.random(SAMPLES) < ON
    return quiet(random, seconds, on_link) + np.where(crowded, (HALF - 1) * on_link, 0.0)


def steady(random: np.random.Generator, seconds: float, on_link: float) -> np.ndarray:
    """The same, with a neighbour that always uses 30 % of the link."""
    return quiet(random, seconds + on_link * (1 / 0.7 - 1), on_link)


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, as board, as what the system shows, and as times."""

    cause: str
    """What a verdict must say."""
    board: tuple[tuple[str, str], ...] = ()
    planted: str = ""
    """Name in ``tests/planted.py``."""
    copied: bool = False
    samples: Samples = quiet


PLANTED = {
    "half of the lanes": Fault("fewer lanes", (("link.lanes", "half"),), "x8 of x16"),
    "trained as gen 1": Fault("", (("link.generation", "1"),), "gen 4 trained as gen 1"),
    "MPS 128": Fault("small packets", (("link.max_payload_bytes", "128"),), "MPS 128"),
    "IOMMU misses": Fault(
        "", (("host.translation_entries", "64"), ("host.translation_miss_ns", "500")),
        "IOMMU translates",
    ),
    "bounce copies": Fault("a bounce copy", copied=True),
    "1 % replay": Fault("errors on the link", (("link.error_rate", "0.01"),), "errors grow"),
    "a neighbour in bursts": Fault("another user of the link", samples=bursts),
    "a steady neighbour": Fault("a slow device, or another user", samples=steady),
}  # fmt: skip


def named(fault: Fault) -> str:
    """What a verdict must say: the words of the check that reads it, or the fault's own."""
    check = FAULTS[fault.planted][0] if fault.planted else ""
    return checks.registry()[check].fault if check else fault.cause


def device(base: str, faults: tuple[str, ...]) -> str:
    """Address of the emulated card with these faults."""
    changes = [change for fault in faults for change in PLANTED[fault].board]
    lanes = str(boards.load(base).whole("link.lanes") // 2)
    texts = [f"{key}={lanes if value == 'half' else value}" for key, value in changes]
    return ",".join([f"card:{base}", *texts])


def simulate(
    addresses: list[str], out: Path, sizes: Sequence[int] = SIZES,
    operations: Sequence[str] = ("read", "write"),
) -> dict[str, Times]:  # fmt: skip
    """Seconds of each copy on each emulated card; ``out``: the run, made where it is not there."""
    command = [
        sys.executable, "-m", "isthmus", "run", "transfer", "--out", str(out),
        "--bytes", ",".join(map(str, sizes)), "--operation", ",".join(operations),
    ]  # fmt: skip
    for address in addresses:
        command += ["--device", address]
    if not out.exists():
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    simulated = run_file.load(out)
    found: dict[str, dict[tuple[str, int], float]] = {address: {} for address in addresses}
    for one in simulated.points:
        seconds = float(np.median(one.reruns[0].seconds("simulated")))
        found[one.device][one.operation, one.bytes] = seconds
    return found


def scene(base: str, faults: tuple[str, ...], seed: int, *, hidden: bool) -> Scene:
    """What the system shows of a machine with this board and these faults."""
    link = path_of(boards.load(base)).link
    made = on_board(seed)
    lanes = {"lanes": link.lanes, "most_lanes": link.lanes}
    speed = {"speed": link.gigatransfers, "most_speed": link.gigatransfers}
    ports = [
        port.__class__(**{**port.__dict__, **lanes, **speed})
        for port in (made.card.port, *made.card.above)
    ]
    card = made.card.__class__(
        **{**made.card.__dict__, "port": ports[0], "above": tuple(ports[1:])}
    )
    made = made.__class__(**{**made.__dict__, "card": card, "after": card})
    for fault in faults:
        if PLANTED[fault].planted == "x8 of x16":
            made = _narrow(made, link.lanes // 2)
        elif PLANTED[fault].planted:
            made = FAULTS[PLANTED[fault].planted][1](made)
    return made.__class__(**{**made.__dict__, "as_root": not hidden})


def _narrow(made: Scene, lanes: int) -> Scene:
    """Both ends of the card's own link with so many lanes in use."""
    for which in ("card", "after"):
        card = getattr(made, which)
        port = card.port.__class__(**{**card.port.__dict__, "lanes": lanes})
        slot = card.above[0].__class__(**{**card.above[0].__dict__, "lanes": lanes})
        card = card.__class__(**{**card.__dict__, "port": port, "above": (slot, *card.above[1:])})
        made = made.__class__(**{**made.__dict__, which: card})
    return made


def measured(shown: Scene, times: Times, faults: tuple[str, ...], seed: int, folder: Path) -> Run:
    """The run of a host that copies to such a card, with pinned and with ordinary memory."""
    random = np.random.default_rng(seed)
    facts = shown.facts(folder)
    assert facts.device
    samples = next((PLANTED[f].samples for f in faults if PLANTED[f].samples is not quiet), quiet)
    copied = any(PLANTED[fault].copied for fault in faults)
    points = []
    for (operation, size), seconds in times.items():
        for memory in ("pinned", "aligned"):
            more = size / COPY_BPS if copied and memory == "aligned" else 0.0
            on_link = seconds - times[operation, SIZES[0]]
            drawn = [samples(random, seconds + more, on_link).tolist() for _ in range(PROCESSES)]
            points.append(point("a", operation, size, drawn, memory=memory, api="opencl"))
    of = run(points, devices=[facts.device], environment=dict(facts.host),
             finished="2025-01-01T00:00:10Z")  # fmt: skip
    settings = replace_fields(of.settings, cpus=list(shown.cpus), numa_node=shown.memory_node)
    return replace_fields(of, settings=settings)


def verdict(of: Run) -> Finding:
    """The verdict on the only device."""
    verdicts = ("normal", "below", "impossible", "unknown")
    (found,) = [one for one in findings(of) if one.verdict in verdicts]
    return found


def judged(
    base: str, faults: tuple[str, ...], times: Times, seed: int, *, hidden: bool = False
) -> tuple[str, int, int]:
    """The verdict, how many of the faults are among its causes, and how many causes are none."""
    with tempfile.TemporaryDirectory() as folder:
        shown = scene(base, faults, seed, hidden=hidden)
        one = verdict(measured(shown, times, faults, seed, Path(folder)))
    wanted = [named(PLANTED[fault]) for fault in faults]
    causes = [cause.name for cause in one.causes if cause.kind != "hidden_check"]
    found = sum(any(cause.startswith(name) for cause in causes) for name in wanted)
    known = [*wanted, named(PLANTED["a steady neighbour"])]  # which does not tell
    invented = sum(not any(cause.startswith(name) for name in known) for cause in causes)
    return one.verdict, found, invented


def cases() -> Iterator[tuple[str, ...]]:
    """Each fault alone, then every two that can be together."""
    yield from ((name,) for name in PLANTED)
    neighbours = {"a neighbour in bursts", "a steady neighbour"}
    yield from (pair for pair in combinations(PLANTED, 2) if not neighbours <= set(pair))


def main() -> None:
    """Prints a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="of each case on each board")
    parser.add_argument("--healthy", type=int, default=100, help="seeds without a fault")
    parser.add_argument("--hidden", action="store_true", help="as a user who is not root")
    parser.add_argument("--simulated", type=Path, default=Path("simulated.json"), help="kept run")
    given = parser.parse_args()
    on = {(base, faults): device(base, faults) for faults in [(), *cases()] for base in BOARDS}
    times = simulate(list(dict.fromkeys(on.values())), given.simulated)
    false = open_ = 0
    for seed in range(given.healthy):
        base = BOARDS[seed % len(BOARDS)]
        kind, _, invented = judged(base, (), times[on[base, ()]], seed, hidden=given.hidden)
        false += kind in {"below", "impossible"} or invented > 0
        open_ += kind == "unknown"
    print(f"healthy: {false} of {given.healthy} with a finding, {open_} not decided")
    print("case | runs | below | not decided | named | of | invented")
    for faults in cases():
        results = [
            judged(base, faults, times[on[base, faults]], seed, hidden=given.hidden)
            for base in BOARDS
            for seed in range(given.seeds)
        ]
        kinds, named_, invented = zip(*results, strict=True)
        print(
            " + ".join(faults), len(results), kinds.count("below"), kinds.count("unknown"),
            sum(named_), len(results) * len(faults), sum(invented), sep=" | ",
        )  # fmt: skip


if __name__ == "__main__":
    main()
