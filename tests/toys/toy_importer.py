"""The format ``hops``: a line ``hops BYTES MICROSECONDS`` for each size."""

from __future__ import annotations

from isthmus.importers.base import Importer, Log, Row, device, number, size


def read(text: str) -> Log:
    """Times of transfers."""
    rows = [(i, line.split()) for i, line in enumerate(text.splitlines(), 1)]
    figures = [
        Row(
            line=i, study="transfer", operation="write", device="toy", size=size(row[1], i),
            values=(number(row[2], i),), unit="us", statistic="mean", direction="h2d",
        )
        for i, row in rows
    ]  # fmt: skip
    return Log(tool="hopper", rows=figures, devices=[device("toy", "a toy")])


IMPORTER = Importer("hops", "text of hopper", lambda text: text.startswith("hops "), read)
