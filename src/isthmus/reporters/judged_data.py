"""Converts the results of judging to plain data for JSON."""

from __future__ import annotations

import dataclasses
from typing import Any

from isthmus.importers.base import Row
from isthmus.judging import Judged, Judgement
from isthmus.reporters.judged_sentences import sentence, what


def data(judged: Judged) -> dict[str, Any]:
    """Returns the results of judging as dictionaries and lists for JSON."""
    return {
        "verdict": judged.verdict,
        "failed": judged.failed,
        "logs": [
            {
                "file": log.file, "tool": log.tool, "version": log.version,
                "names": list(log.names),
                "rows": [_row(row) for row in log.rows],
                "links": [dataclasses.asdict(item) for item in log.links],
                "outcomes": [dataclasses.asdict(item) for item in log.outcomes],
                "problems": [dataclasses.asdict(item) for item in log.problems],
                "left_out": list(log.left_out), "facts": dict(log.facts),
            }
            for log in judged.logs
        ],
        "boards": [item.name for item in judged.boards],
        "judgements": [_judgement(item) for item in judged.judgements],
        "missing": list(judged.missing),
        "problems": list(judged.problems),
        "contradictions": [dataclasses.asdict(item) for item in judged.contradictions],
        "without_effect": list(judged.without_effect),
        "unused_links": [dataclasses.asdict(item) for item in judged.unused_links],
        "same_data": [dataclasses.asdict(item) for item in judged.same],
    }  # fmt: skip


def _row(row: Row) -> dict[str, Any]:
    names = ("line", "name", "kind", "device", "part", "direction", "memory", "unit", "statistic",
             "size", "batch", "cold", "beside", "fault", "nothing", "operation", "run")  # fmt: skip
    fields = {name: getattr(row, name) for name in names}
    return {
        **fields, "values": list(row.values), "printed_unit": row.printed_unit or row.unit,
        "rates_Bps": row.rates(), "seconds": row.seconds(),
    }  # fmt: skip


def _judgement(judgement: Judgement) -> dict[str, Any]:
    group = dataclasses.replace(judgement.group, rows=[])
    row = dataclasses.replace(judgement.row, axes={})
    fields = dataclasses.asdict(dataclasses.replace(judgement, board=None, group=group, row=row))
    fields["group"] |= {"lines": [row.line for row in judgement.group.rows]}
    fields["group"].pop("rows")
    fields["row"] = _row(judgement.row)
    fields["board"] = judgement.board.name if judgement.board else ""
    fields["what"], fields["sentence"] = what(judgement), sentence(judgement)
    return fields
