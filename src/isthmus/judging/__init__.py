"""Judges logs of other programs: a verdict on each rate by limit and known runs, and its causes.

All results are data; ``reporters/judged.py`` writes the sentences. With neither a limit nor a known
run there is no verdict: the result then says what is missing.
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
