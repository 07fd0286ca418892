"""Writes the costs of a kernel's loops as C++ code for the plug-in."""

from __future__ import annotations

from collections.abc import Iterable

from isthmus_emulation.estimate.structure import Cost, Estimate

NONE = (
    "\nextern const isthmus_estimated_type isthmus_estimated = {nullptr, 0, false, nullptr, 0};\n"
)
"""C++ code for a kernel without an estimate."""
UNCHECKED = (
    'extern "C" __attribute__((visibility("default")))\n'
    "const bool isthmus_depths_unchecked = true;\n"
)
"""C++ code for a kernel with DATAFLOW regions whose processes run one after the other."""


def of(estimate: Estimate, *, is_time: bool) -> str:
    """Defines ``isthmus_estimated`` with the types of ``isthmus/card/loop_counts.hpp``."""
    lists = [
        f"static constexpr unsigned isthmus_after_{number}[] = "
        f"{{{', '.join(map(str, (*process.after, 0)))}}};"
        for number, process in estimate.processes.items()
        if process.after
    ]
    count = 1 + max(cost.number for cost in estimate.costs)
    tables = [_table("isthmus_loop_costs", estimate.costs, estimate, count)]
    rows = []
    for n, change in enumerate(estimate.changes):
        name = f"isthmus_changed_{n}"
        tables.append(_table(name, change.costs, estimate, count))
        listed = "".join(f'"{one}", ' for one in change.arguments)
        lists.append(f"static constexpr const char* {name}_arguments[] = {{{listed}nullptr}};")
        moves = change.moves.replace(" ", "_")
        rows.append(
            f'    {{"{change.kind}", "{change.name}", {change.count}, {name}, {name}_arguments, '
            f"isthmus_moves::{moves}, {change.unrolled}}},"
        )
    changes = "nullptr"
    if rows:
        changes = "isthmus_loop_changes"
        rows = [f"static constexpr isthmus_loop_change {changes}[] = {{", *rows, "};"]
    return "\n".join([
        "", *lists, *tables, *rows,
        "extern const isthmus_estimated_type isthmus_estimated = "
        f"{{isthmus_loop_costs, {count}, {str(is_time).lower()}, {changes}, "
        f"{len(estimate.changes)}}};", "",
    ])  # fmt: skip


def _table(name: str, costs: Iterable[Cost], estimate: Estimate, count: int) -> str:
    """Defines the costs of all loops, each at the index of its counter's number."""
    of = {cost.number: cost for cost in costs}
    rows = []
    for number in range(count):
        process = estimate.processes.get(number)
        region = process.region if process else -1
        waits = f"isthmus_after_{number}" if process and process.after else "nullptr"
        cost = of.get(number)
        is_pipelined = str(cost is not None and cost.is_pipelined).lower()
        ahead = cost.ahead if cost is not None else 0
        rows.append(f"    {{{_row(cost)}, {is_pipelined}, {region}, {waits}, {ahead}}},")
    return "\n".join([f"static constexpr isthmus_loop_cost {name}[] = {{", *rows, "};"])


def _row(cost: Cost | None) -> str:
    if cost is None:
        return '0, 0, 0, 0, 0, ""'
    numbers = (
        cost.iteration.least, cost.iteration.most, cost.entry.least, cost.entry.most
    )  # fmt: skip
    return f'{cost.line}, {", ".join(map(repr, map(float, numbers)))}, "{cost.why}"'
