"""What samples mean: summaries, fits and answers. Pure: no file is read or written here."""
