"""Judges a log: what was measured, the limit, what is known, a verdict and its causes.

All results are data; ``reporters/judged.py`` makes the sentences. Nothing is judged without a limit
or a reference: then the result says what is missing.
"""

from __future__ import annotations

from isthmus.judging.judgement import (
    Cause,
    Judged,
    Judgement,
    Limit,
    Reason,
    Verdict,
)
from isthmus.judging.pasted import Pasted
from isthmus.judging.rules import judge

__all__ = ["Cause", "Judged", "Judgement", "Limit", "Pasted", "Reason", "Verdict", "judge"]
