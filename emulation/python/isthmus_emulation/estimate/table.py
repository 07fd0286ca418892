"""Writes the costs of a kernel's loops as C++ code for the plug-in."""

from __future__ import annotations

from isthmus_emulation.estimate.structure import Cost, Estimate

NONE = "\nextern const isthmus_estimated_type isthmus_estimated = {nullptr, 0, false};\n"
"""C++ code for a kernel without an estimate."""
UNCHECKED = (
    'extern "C" __attribute__((visibility("default")))\n'
    "const bool isthmus_depths_unchecked = true;\n"
)
"""C++ code for a kernel with DATAFLOW regions whose processes run one after the other."""


def of(estimate: Estimate, *, is_time: bool) -> str:
    """Defines ``isthmus_estimated`` with the types of ``isthmus/card/loop_counts.hpp``."""
    costs = {cost.number: cost for cost in estimate.costs}
    rows, lists = [], []
    for number in range(max(costs) + 1):
        process = estimate.processes.get(number)
        region, after = (process.region, process.after) if process else (-1, ())
        cost = costs.get(number)
        is_pipelined = "true" if cost is not None and cost.is_pipelined else "false"
        waits = f"isthmus_after_{number}" if after else "nullptr"
        if after:
            listed = ", ".join(map(str, (*after, 0)))
            lists.append(f"static constexpr unsigned {waits}[] = {{{listed}}};")
        ahead = cost.ahead if cost is not None else 0
        rows.append(f"    {{{_row(cost)}, {is_pipelined}, {region}, {waits}, {ahead}}},")
    return "\n".join([
        "", *lists, "static constexpr isthmus_loop_cost isthmus_loop_costs[] = {", *rows, "};",
        "extern const isthmus_estimated_type isthmus_estimated = "
        f"{{isthmus_loop_costs, {len(rows)}, {str(is_time).lower()}}};", "",
    ])  # fmt: skip


def _row(cost: Cost | None) -> str:
    if cost is None:
        return '0, 0, 0, 0, 0, "", 0, 0'
    numbers = (
        cost.iteration.least, cost.iteration.most, cost.entry.least, cost.entry.most
    )  # fmt: skip
    sums = f"{cost.partial_sums}, {cost.spared!r}"
    return f'{cost.line}, {", ".join(map(repr, map(float, numbers)))}, "{cost.why}", {sums}'
