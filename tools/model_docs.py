"""Writes the residual table into docs/models.md, and held-out errors into their file.

``--check`` only compares the page.
"""

from __future__ import annotations

import sys
from pathlib import Path

from isthmus.validation import fitting, residuals

TARGET = Path(__file__).parents[1] / "docs" / "models.md"
BEGIN = "<!-- residuals: begin, written by tools/model_docs.py -->\n"
END = "<!-- residuals: end -->\n"


def updated(text: str, validation: residuals.Validation) -> str:
    """The page with the table as the models give it now."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{TARGET} lacks its markers")
    return f"{before}{BEGIN}\n{residuals.render(validation, 'md')}\n{END}{after}"


if __name__ == "__main__":
    page = TARGET.read_text(encoding="utf-8")
    validated = residuals.validate()
    new = updated(page, validated)
    if "--check" in sys.argv:
        sys.exit(0 if page == new else f"{TARGET} is out of date: run {__file__}")
    fitting.HELD_OUT.write_text(fitting.held_out_text(validated.held_out), encoding="utf-8")
    TARGET.write_text(new, encoding="utf-8")
