"""What judging found, as plain data for JSON."""

from __future__ import annotations

import dataclasses
from typing import Any

from isthmus.importers.base import Row
from isthmus.judging import Judged, Judgement
from isthmus.reporters.judged_sentences import sentence, what


def data(judged: Judged) -> dict[str, Any]:
    """The judgements as plain data for JSON."""
    return {
        "verdict": judged.verdict,
        "failed": judged.failed,
        "logs": [
            {
                "file": log.file, "tool": log.tool, "version": log.version,
                "names": list(log.names),
                "rows": [_row(row) for row in log.rows],
                "links": [dataclasses.asdict(one) for one in log.links],
                "outcomes": [dataclasses.asdict(one) for one in log.outcomes],
                "problems": [dataclasses.asdict(one) for one in log.problems],
                "left_out": list(log.left_out), "facts": dict(log.facts),
            }
            for log in judged.logs
        ],
        "boards": [one.name for one in judged.boards],
        "judgements": [_judgement(one) for one in judged.judgements],
        "missing": list(judged.missing),
        "problems": list(judged.problems),
        "contradictions": [dataclasses.asdict(one) for one in judged.contradictions],
        "without_effect": list(judged.without_effect),
        "unused_links": [dataclasses.asdict(one) for one in judged.unused_links],
        "same_data": [dataclasses.asdict(one) for one in judged.same],
    }  # fmt: skip


def _row(row: Row) -> dict[str, Any]:
    names = ("line", "name", "kind", "device", "part", "direction", "memory", "unit", "statistic",
             "size", "batch", "cold", "beside", "fault", "nothing", "operation", "run")  # fmt: skip
    found = {name: getattr(row, name) for name in names}
    return {
        **found, "values": list(row.values), "printed_unit": row.printed_unit or row.unit,
        "rates_Bps": row.rates(), "seconds": row.seconds(),
    }  # fmt: skip


def _judgement(one: Judgement) -> dict[str, Any]:
    found = dataclasses.asdict(dataclasses.replace(one, board=None, group=dataclasses.replace(
        one.group, rows=[]), row=dataclasses.replace(one.row, axes={})))  # fmt: skip
    found["group"] |= {"lines": [row.line for row in one.group.rows]}
    found["group"].pop("rows")
    found["row"] = _row(one.row)
    found["board"] = one.board.name if one.board else ""
    found["what"], found["sentence"] = what(one), sentence(one)
    return found
