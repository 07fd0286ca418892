"""Runs the cells of docs/python.ipynb and stores their output; ``--check`` only compares.

The cells run in one namespace, in a temporary folder, as Jupyter would run them.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "docs" / "python.ipynb"


def run(cells: list[dict[str, Any]]) -> None:
    """Runs the code cells in order, and stores the number and output of each."""
    names: dict[str, Any] = {"__name__": "__main__"}
    code = (cell for cell in cells if cell["cell_type"] == "code")
    for number, cell in enumerate(code, 1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
        text = printed.getvalue().splitlines(keepends=True)
        output = {"output_type": "stream", "name": "stdout", "text": text}
        cell["execution_count"] = number
        cell["outputs"] = [output] if text else []


def main() -> int:
    """Returns 1 if ``--check`` finds output that differs from the stored one."""
    stored = NOTEBOOK.read_text(encoding="utf-8")
    notebook = json.loads(stored)
    programs = Path(sys.executable).parent
    os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        run(notebook["cells"])
        os.chdir(NOTEBOOK.parent)
    new = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    if "--check" not in sys.argv:
        NOTEBOOK.write_text(new, encoding="utf-8")
        return 0
    changed = list(
        difflib.unified_diff(stored.splitlines(), new.splitlines(), "stored", "now", lineterm="")
    )
    print("\n".join(changed) if changed else f"{NOTEBOOK.name}: every cell prints what is stored")
    return bool(changed)


if __name__ == "__main__":
    sys.exit(main())
