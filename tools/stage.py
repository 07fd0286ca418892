"""Records how long each stage of the checks takes, and prints all stages as a table.

`stage.py NAME COMMAND...` runs a command. If ISTHMUS_STAGES names a file, it appends a line with
the duration and the command's last output. `stage.py --table` prints these lines.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

FILE = os.environ.get("ISTHMUS_STAGES", "")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def note(name: str, seconds: float, passed: bool, closing: str) -> None:
    """Adds a stage to the table, if ISTHMUS_STAGES names a file."""
    if FILE:
        stage: dict[str, object] = {
            "name": name,
            "seconds": seconds,
            "passed": passed,
            "closing": closing,
        }
        stage["ended"] = time.time()
        with Path(FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(stage) + "\n")


def run(name: str, command: list[str]) -> int:
    """Runs a command, shows its output, and records its last line."""
    if not FILE:
        return subprocess.run(command, check=False).returncode
    begin = time.monotonic()
    closing = ""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            closing = COLOURS.sub("", line).strip(" =\n") or closing
    note(name, time.monotonic() - begin, process.returncode == 0, closing)
    return process.returncode


def table() -> str:
    """Returns a line for each stage: its name, seconds, and last output."""
    lines = Path(FILE).read_text(encoding="utf-8").splitlines() if Path(FILE).is_file() else []
    stages = [json.loads(line) for line in lines]
    rows = [
        f"{stage['name']:<26} {stage['seconds']:>6.0f} s  "
        f"{'' if stage['passed'] else 'FAILED: '}{stage['closing']}"
        for stage in stages
    ]
    # Total from the first begin to the last end: stages of one `make` may run at the same time.
    begin = min((stage["ended"] - stage["seconds"] for stage in stages), default=0.0)
    all_s = max((stage["ended"] for stage in stages), default=0.0) - begin
    return "\n".join([*rows, f"{'all, from begin to end':<26} {all_s:>6.0f} s"])


def main() -> int:
    """Reads the command line."""
    if sys.argv[1:] == ["--table"]:
        print(table())
        return 0
    if len(sys.argv) < 3:
        print("usage: stage.py NAME COMMAND... | stage.py --table", file=sys.stderr)
        return 2
    return run(sys.argv[1], sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
