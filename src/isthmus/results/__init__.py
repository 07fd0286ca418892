"""Reads and writes what a run keeps for its analysis: run file and journal."""
