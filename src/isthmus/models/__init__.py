"""Models: what a crossing should cost. Pure functions; no file is read or written here."""
