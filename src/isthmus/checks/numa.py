"""Check whether processes run on, and allocate from, the NUMA node of a device."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result, sysfs
from isthmus.program import Invocation, invocation
from isthmus.system.binding import listed_cpus


def _on_node(node: int) -> Invocation:
    return invocation("run", "transfer", "--numa-node", node)


def judge(facts: Facts) -> Result | None:
    """Bad if the measuring processes or their memory are bound to nodes other than the device's."""
    cpu_lists = facts.host.get("numa_nodes", {})
    nodes = {name: listed_cpus(cpus) for name, cpus in cpu_lists.items() if cpus}
    if len(nodes) <= 1:
        return Result(state="good", found="one node has all processors")
    near = facts.function.numa_node
    if near is None or f"node{near}" not in nodes:
        return Result(
            state="unknown",
            found="the firmware does not say on which node the device is",
            cure=f"compare: {_on_node(0)}, then 1",
            command=sysfs(facts.port, "numa_node"),
        )
    allowed, local = set(facts.cpus), nodes[f"node{near}"]
    command = sysfs(facts.port, "numa_node")
    elsewhere = facts.memory_node not in {None, near}
    if elsewhere or (allowed and not allowed & local):
        binding = f"memory is bound to node {facts.memory_node}" if elsewhere else "bound to others"
        return Result(
            state="bad",
            found=f"the device is on node {near}; {binding}",
            cause="--cpus, --numa-node, taskset or numactl: each byte crosses between sockets",
            cure=str(_on_node(near)),
            command=command,
        )
    if allowed <= local:
        return Result(state="good", found=f"device and processes on node {near}", command=command)
    return Result(
        state="unknown",
        found=f"the device is on node {near}; processes may run on any",
        cure=str(_on_node(near)),
        command=command,
    )


CHECK = Check(
    "numa_node",
    "Are processes and memory on the device's side?",
    judge,
    place=5,
    fault="processes on another memory node",
)
