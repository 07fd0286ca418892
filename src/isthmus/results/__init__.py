"""Run files: what a run keeps, read back by whoever explains it."""
