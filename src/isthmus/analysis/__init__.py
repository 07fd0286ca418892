"""Analyses measured samples: summaries, fits and answers. Its modules read and write no files."""
