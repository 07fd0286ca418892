"""Analysis of measured samples: summaries, fits and answers. Reads and writes no files."""
