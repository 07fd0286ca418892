"""Prints what ``isthmus fleet`` finds among many made-up machines, and how long it takes.

Machines differ by 2 %; three of them need 15, 30 and 100 % more time for large writes. With
``--healthy N`` it also judges N fleets without a slow machine, and 40 fleets with one machine that
needs 31 % more.

    .venv/bin/python benchmarks/fleet.py --machines 5000 --healthy 300
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from isthmus.analysis.fleet import inspect
from isthmus.results.run_file import save
from synthetic import machines, node

SLOWER, SLOW_FLEETS = 1.31, 40
PLANTED = {7: 1.15, 1234: 1.30, 4321: 2.0}


def main() -> None:
    """Prints the command's output and its time, then false alarms in healthy fleets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=5000)
    parser.add_argument("--healthy", type=int, default=0, help="fleets without a slow machine")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, now = Path(name), datetime.now(timezone.utc).isoformat()
        for i in range(given.machines):
            run = node(f"node{i:04}", PLANTED.get(i, 1.0), seed=i, started=now)
            save(run, folder / f"{i}.json")
        size = sum(file.stat().st_size for file in folder.iterdir())
        began, used = time.monotonic(), os.times().children_user
        command = [sys.executable, "-m", "isthmus", "fleet", str(folder)]
        ended = subprocess.run(command, check=False, capture_output=True, text=True)
        print(ended.stdout, end="")
        print(
            f"{given.machines} machines, {size / 1e6:.0f} MB: {time.monotonic() - began:.1f} s, "
            f"{os.times().children_user - used:.1f} s of processor time; exit {ended.returncode}"
        )
    for count in (4, 6, 8, 20, 60) if given.healthy else ():
        fleets = (inspect(machines(count, {}, seed=seed)) for seed in range(given.healthy))
        alarms = sum(bool(fleet.of("slow")) for fleet in fleets)
        slow = (inspect(machines(count, {2: SLOWER}, seed=seed)) for seed in range(SLOW_FLEETS))
        found = sum([node.name for node in fleet.of("slow")] == ["node002"] for fleet in slow)
        print(
            f"{given.healthy} healthy fleets of {count}: a false alarm in {alarms}; "
            f"a machine {SLOWER - 1:.0%} slower found in {found} of {SLOW_FLEETS}"
        )


if __name__ == "__main__":
    main()
