"""Counts how often verdicts on the cases of ``planted_cases.py`` name a fault, or invent one.

An emulated card with the faulty board gives the times. The script makes run files of them as a host
would have measured them, so that processes and samples scatter. Facts about the machine are those
that such a system shows (``tests/planted.py``).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from msgspec.structs import replace as replace_fields
from planted_cases import (
    COPIES,
    FAULTS,
    HEALTHY,
    PAIRS,
    SAMPLES,
    SIZES,
    Case,
    Copy,
    Keys,
    Times,
    both,
)

from isthmus import boards, checks
from isthmus.analysis.findings import Finding, findings
from isthmus.boards.board import Board
from isthmus.models.pcie import path_of
from isthmus.results import run_file
from isthmus.results.run_file import Run

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from planted import Scene, _above, _card, _port, on_board
from synthetic import point, run

OPERATIONS = (*COPIES, "launch", "kernel_read")
HOSTS = ((3, 0.002), (5, 0.02), (10, 0.01))
"""For cases with a fault: number of processes, and spread between the processes."""
HEALTHY_HOSTS = tuple((n, between) for n in (1, 3, 10) for between in (0.002, 0.02, 0.05))
WITHIN, LATE = 0.01, 0.02
"""Spread of a process's samples, and share of its samples that take up to twice as long."""
TOGETHER = 8
"""Most emulated cards in one run, because each has a process with buffers of the largest size."""
HEDGES = {"hidden_check", "device_or_user", "below_known", "no_large_copy"}
"""Kinds of causes that name no fault."""


def simulate(
    addresses: list[str], out: Path, sizes: Sequence[int], operations: Sequence[str]
) -> dict[str, Times]:
    """Seconds of each copy on each emulated card, from the run file ``out``.

    Makes the run if the file does not exist.
    """
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


def changes(case: Case, on: tuple[str, Keys]) -> tuple[str, dict[str, str]]:
    """The board's name, and the values that differ from it, including those of the fault."""
    base, keys = on
    healthy = {key: str(value) for key, value in keys.items()}
    wrong = case.board(boards.load(base, healthy)).items()
    return base, {**healthy, **{k: f"{v:g}" if isinstance(v, float) else str(v) for k, v in wrong}}


def board_of(case: Case, on: tuple[str, Keys]) -> Board:
    """The card's board with the values of the fault."""
    return boards.load(*changes(case, on))


def address_of(case: Case, on: tuple[str, Keys]) -> str:
    """Address of the emulated card that has this board."""
    base, keys = changes(case, on)
    return ",".join([f"card:{base}", *(f"{key}={value}" for key, value in keys.items())])


KNOWN = {"f1-vu9p": "xilinx_aws-vu9p-f1_shell-v04261818_201920_3"}
"""By board: name under which a runtime shows its card, as far as this project knows one."""


def called(case: Case, on: tuple[str, Keys]) -> str:
    """Name that the runtime shows; empty if a healthy card differs from the board of this name."""
    faulty = bool(case.wanted or case.doctor)
    same = faulty or board_of(case, on) == board_of(Case(), on)
    return KNOWN.get(on[0], "") if same and case.api != "cuda" else ""


def scene_of(case: Case, on: tuple[str, Keys], seed: int) -> Scene:
    """What the system shows of the machine: ports of the healthy board, changed by the case."""
    healthy = path_of(board_of(Case(), on))
    link = healthy.link
    known = {
        "lanes": link.lanes, "most_lanes": link.lanes, "speed": link.gigatransfers,
        "most_speed": link.gigatransfers, "payload": healthy.max_payload,
        "read_request": healthy.max_read_request,
    }  # fmt: skip
    scene = _port(on_board(seed), **known, most_payload=512)
    for i in range(3):
        scene = _above(scene, i, **known, most_payload=healthy.max_payload)
    return case.shown(scene, path_of(board_of(case, on)).link)


def samples(case: Case, copy: Copy, between: float) -> list[float]:
    """Seconds of the samples of one process. Disturbances only make them longer."""
    random = copy.random
    seconds = case.change(copy, np.full(SAMPLES, copy.times[copy.operation, copy.size]))
    seconds = seconds * np.exp(between * np.abs(random.standard_normal()))
    seconds = seconds * np.exp(WITHIN * np.abs(random.standard_normal(SAMPLES)))
    held_up = random.random(SAMPLES) < LATE
    return list((seconds * (1 + random.random(SAMPLES) * held_up)).tolist())


def measured(
    case: Case, on: tuple[str, Keys], times: Mapping[str, Times], seed: int,
    host: tuple[int, float], folder: Path,
) -> Run:  # fmt: skip
    """Makes the run of a host with the card of a case."""
    random, (processes, between) = np.random.default_rng(seed), host
    cards = [("a", case), *([("b", Case())] if case.beside else [])]
    points, devices, shown = [], [], scene_of(case, on, seed)
    for name, of in cards:
        scene = shown if name == "a" else _card(scene_of(of, on, seed), address="0000:13:00.0")
        facts = scene.facts(folder / name)
        assert facts.device
        devices.append(replace_fields(facts.device, address=name, api=of.api, name=called(of, on)))
        known, link = times[address_of(of, on)], path_of(board_of(of, on)).link
        for operation, size in known:
            if operation not in case.operations or size > case.most:
                continue
            for memory in case.memories if operation in COPIES else ("device",):
                drawn = [
                    samples(of, Copy(operation, size, memory, link, 2 * i >= processes, known,
                                     random), between)
                    for i in range(processes)
                ]  # fmt: skip
                points.append(point(
                    name, operation, size, drawn, memory=memory, api=case.api,
                    initiator="dma" if operation in COPIES else "kernel",
                    rerun_changes={"verified": case.verified if operation != "launch" else "na"},
                ))  # fmt: skip
    host_facts = shown.facts(folder / "host").host
    of_run = run(points, devices=devices, environment=dict(host_facts),
                 finished="2025-01-01T00:00:10Z")  # fmt: skip
    settings = replace_fields(of_run.settings, cpus=list(shown.cpus), numa_node=shown.memory_node)
    return replace_fields(of_run, settings=settings)


@dataclass
class Row:
    """Counts of verdicts, causes and checks over the runs of a case."""

    runs: int = 0
    named: int = 0
    found: int = 0
    """Number of bad checks that the case names."""
    invented: int = 0
    """Number of causes that were not planted, and of bad verdicts on the healthy second card."""
    other_checks: int = 0

    def __post_init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.causes: Counter[str] = Counter()
        self.bad: Counter[str] = Counter()
        self.boards: Counter[tuple[str, str]] = Counter()

    def add(self, case: Case, of: Run, board: str) -> None:
        """Judges a run, and adds its verdict, causes and checks to the counts."""
        kinds = {"normal", "below", "impossible", "unknown"}
        verdicts: dict[str, Finding] = {
            one.device: one for one in findings(of) if one.verdict in kinds
        }
        self.runs += 1
        one = verdicts.get("a")
        self.verdicts[one.verdict if one else "none"] += 1
        self.boards[board, one.verdict if one else "none"] += 1
        names = [cause.name for cause in one.causes] if one else []
        self.causes.update(names)
        words = [word.lower() for fault in case.wanted for word in fault]
        self.named += sum(
            any(word.lower() in name.lower() for word in fault for name in names)
            for fault in case.wanted
        )
        self.invented += sum(
            not any(word in cause.name.lower() for word in words) and cause.kind not in HEDGES
            for cause in (one.causes if one else [])
        )
        if "b" in verdicts:
            self.invented += verdicts["b"].verdict in {"below", "impossible"}
        facts = [checks.Facts.of_run(of, record) for record in of.devices[:1]]
        results = [r for fact in facts for r in checks.of_device(fact)]
        results += checks.of_machine(checks.Facts.of_run(of))
        bad = {result.check for result in results if result.state == "bad"}
        self.bad.update(bad)
        self.found += len(bad & set(case.doctor))
        self.other_checks += len(bad - set(case.doctor))


def judge(
    case: Case, times: Mapping[str, Times], hosts: tuple[tuple[int, float], ...], seed: int
) -> Row:
    """Judges the runs of a case, for each board with each host."""
    row = Row()
    repeats = max(1, 12 // (len(case.on) * len(hosts)))
    for on in case.on:
        for host in hosts * repeats:
            seed += 1
            with tempfile.TemporaryDirectory() as folder:
                of = measured(case, on, times, seed, host, Path(folder))
                row.add(case, of, address_of(Case(), on))
    return row


def cost(case: Case, times: Mapping[str, Times]) -> str:
    """Text: by which share the fault makes the largest copies longer, from board to board."""
    most = []
    for on in case.on:
        known, healthy = times[address_of(case, on)], times[address_of(Case(), on)]
        link, size = path_of(board_of(case, on)).link, max(s for s in SIZES if s <= case.most)
        longer = []
        for operation in set(case.operations) & set(COPIES):
            random = np.random.default_rng(1)
            copy = Copy(operation, size, case.memories[-1], link, True, known, random)
            seconds = case.change(copy, np.full(SAMPLES, known[operation, size]))
            longer.append(float(np.mean(seconds)) / healthy[operation, size] - 1)
        most.append(max(longer, key=abs))
    return f"{min(most):+.0%} to {max(most):+.0%}"


def table(title: str, cases: Mapping[str, Case], times: Mapping[str, Times],
          hosts: tuple[tuple[int, float], ...], *, verbose: bool) -> None:  # fmt: skip
    """Prints a row for each case."""
    print(f"{title} | cost | runs | below | cannot be true | not decided | normal | named | doctor"
          " | invented | other checks bad", flush=True)  # fmt: skip
    for number, (name, case) in enumerate(cases.items()):
        row = judge(case, times, hosts, 1000 * number + len(title))
        kinds = (row.verdicts[k] for k in ("below", "impossible", "unknown", "normal"))
        print(
            name, cost(case, times), row.runs, *kinds,
            f"{row.named} of {row.runs * len(case.wanted)}",
            f"{row.found} of {row.runs * len(case.doctor)}", row.invented, row.other_checks,
            sep=" | ", flush=True,
        )  # fmt: skip
        if verbose:
            print(name, dict(row.causes), dict(row.bad), file=sys.stderr)
            for on in case.on:
                board = address_of(Case(), on)
                kinds_here = {k: n for (b, k), n in row.boards.items() if b == board}
                alone = cost(replace(case, on=(on,)), times)
                print("   ", board, alone, kinds_here, file=sys.stderr, flush=True)


def main() -> None:
    """Prints the three tables of verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--simulated", type=Path, default=Path("simulated"), help="folder of kept runs"
    )
    parser.add_argument("--verbose", action="store_true", help="causes and checks of each case")
    parser.add_argument("--table", default="", help="healthy, planted or two: this one alone")
    parser.add_argument("--unnamed", action="store_true", help="no card has a name that is known")
    given = parser.parse_args()
    if given.unnamed:
        KNOWN.clear()
    pairs = {f"{one} + {other}": both(FAULTS[one], FAULTS[other]) for one, other in PAIRS}
    known = [Case(), *FAULTS.values(), *pairs.values(), *HEALTHY.values()]
    addresses = list(dict.fromkeys(address_of(case, on) for case in known for on in case.on))
    given.simulated.mkdir(exist_ok=True)
    times: dict[str, Times] = {}
    for kept in given.simulated.glob("*.json"):
        there = [device.address for device in run_file.load(kept).devices]
        times |= simulate(there, kept, SIZES, OPERATIONS)
    missing = [address for address in addresses if address not in times]
    for i in range(0, len(missing), TOGETHER):
        out = given.simulated / f"{len(times)}.json"
        times |= simulate(missing[i : i + TOGETHER], out, SIZES, OPERATIONS)
    healthy = ("healthy", HEALTHY, HEALTHY_HOSTS)
    for title, of, hosts in (healthy, ("planted", FAULTS, HOSTS), ("two", pairs, HOSTS)):
        if given.table in {"", title}:
            table(title, of, times, hosts, verbose=given.verbose)


if __name__ == "__main__":
    main()
