"""Run files and journals: what a run keeps for its analysis."""
