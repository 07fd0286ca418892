"""Templates of the sentences of all findings, and functions that fill them.

A sentence states one fact, with the figure that decides, in at most ``LONGEST`` characters. Names
of devices are shortened where they would not fit.
"""

from __future__ import annotations

from types import MappingProxyType

from isthmus.text import cut_middle

LONGEST = 100
_LEAST_NAME = 12
NAMES = frozenset({"who", "best", "usual", "one", "other"})
"""Template values of any length that may be shortened: names of devices or of kinds of memory."""

TEMPLATES = MappingProxyType(
    {
        "stated": "{subject}: {fact}.",
        # Templates of study transfer
        "rate_of_limit": "{what}: {rate} at {size}, {share} of {reference} ({who}).",
        "rate_alone": "{what}: {rate} at {size} ({who}).",
        "rate_grows": "{what}: {rate} at {size}, and still faster with larger copies ({who}).",
        "below_link": "Below what this link gives: {causes} ({who}{how}).",
        "below_known": "Below what {family} give: {operation} {rate}, known runs {least} to {most} "
        "({who}).",
        "lesser_link": "This link gives less than it could: {causes} ({who}{how}).",
        "curve": "{what}: {time} plus 1 ns per {per} ({who}).",
        "curve_between": "{what}, {size} to {largest}: {time} plus 1 ns per {per} ({who}).",
        "curve_constant": "{what}, {size} to {largest}: {time}, whatever the size ({who}).",
        "curve_rate": "{what}, {size} to {largest}: 1 ns per {per} ({who}).",
        "curve_none": "{what}: time over size follows no line, {percent} off ({who}).",
        "split": "{what}, {size}: of {time}, {parts} ({who}).",
        "normal": "Normal: copies reach {share} of what the link leaves for data{assumed} "
        "({who}{lesser}).",
        "normal_best": "Normal: {best} memory, {share} of link; {usual} is copied twice "
        "({who}{lesser}).",
        "normal_link": "Normal: {other} reaches {share} of this link; {who}{lesser}: {causes}.",
        "normal_known": "Normal for {family}: {operation} {rate}, known {least} to {most} "
        "({who}{lesser}).",
        "open_user": "Undecided: {share} of the link: a slow device or another user? "
        "Compare a later run ({who}).",
        "open": "Undecided whether the link is well used: {causes} ({who}{how}).",
        "impossible": "These figures are impossible: {causes} ({who}).",
        "not_arrived": "Data did not arrive: points with wrong data count nowhere ({who}).",
        "latency": "{what}: {time} for {size} ({who}).",
        "launch": "Starting an empty kernel and waiting for it takes {time} ({who}).",
        "in_cache": "{what}: {rate} at {size}, which fit in a cache ({who}).",
        "peak": "{what}: {rate} at {size}, but {slow} at {largest} ({who}).",
        "better_memory": "{best} memory is {ratio} times as fast as {usual} ({what}, {size}).",
        "better_device": "{best} is {ratio} times as fast as {usual} ({what}, {size}).",
        "memory_same": "The kind of host memory makes no difference: {percent} at most ({size}).",
        "memory_fastest": "No kind of memory is faster than {usual} ({what}, {size}).",
        "memory_unclear": "Kinds of host memory may differ by up to {percent} ({size}); "
        "none is proven faster.",
        "device_same": "{one} and {other} are equally fast, within {percent} ({size}).",
        "device_unclear": "{one} and {other} may differ by up to {percent} ({size}): not decided.",
        "api_share": "{what}: {best} takes {share} of {usual}'s time ({span}).",
        "api_same": "{what}: {best} and {usual} are alike, within {percent}.",
        "api_undecided": "{what}: {best} takes {span} of {usual}'s time: not decided.",
        "map_buffers": "Mapping {size} takes {map}, copying {copy}: map buffers ({who}).",
        "map_unclear": "Mapping {size} takes {map}, copying {copy}: not decided ({who}).",
        "map_shares": "Mapping {size} copies nothing here: {map}, a copy {copy}; map buffers "
        "({who}).",
        "model_memory": "The model has no runtime that copies in host memory: "
        "its kinds of memory are alike.",
        # Templates of study hostmem
        "copy_never": "Work on host memory directly: {size} take {direct}, "
        "copied first {copy} ({who}).",
        "copy_first": "Copy first: {size} in host memory take {direct}, copied {copy} ({who}).",
        "copy_unclear": "{size} take {direct} in host memory, {copy} copied first: not decided "
        "({who}).",
        "copy_same": "{size} take {direct} in host memory, {copy} copied first: alike ({who}).",
        "host_unreached": "No kernel on host memory was measured; on device memory {rate} at "
        "{size} ({who}).",
        "published_log": "The model is within {percent} (rms) of the published log, {count} points "
        "({who}).",
        # Templates of study allocation
        "offload_first_no": "No: the CPU needs {cpu}, a first offload {offload}, of it {start} to "
        "start the runtime.",
        "offload_first_yes": "Yes: a first offload needs {offload}, of it {start} to start the "
        "runtime; the CPU {cpu}.",
        "offload_first_open": "Undecided: the CPU needs {cpu}, a first offload {offload}.",
        "offload_again_no": "No: even repeated, the offload needs {offload}, "
        "the CPU {cpu} ({who}).",
        "offload_again_yes": "Yes, if repeated: the offload needs {offload}, "
        "the CPU {cpu} ({who}).",
        "offload_again_open": "Undecided, if repeated: offload {offload}, CPU {cpu} ({who}).",
        "memory_one": "Used once, filled: {best} memory takes {time}, {usual} "
        "{other_time} ({size} vectors).",
        "memory_many": "Used often: {best} memory takes {time} each time, {usual} {other_time} "
        "({size} vectors).",
        "memory_one_best": "Used once: no kind of memory is faster than {usual}.",
        "memory_many_best": "Used often: no kind of memory is faster than {usual}.",
        "memory_one_open": "Used once: undecided; kinds of memory differ by {percent} at most.",
        "memory_many_open": "Used often: undecided; kinds of memory differ by {percent} at most.",
        "memory_one_few": "Used once: too few processes to compare kinds of memory ({who}).",
        "memory_many_few": "Used often: too few processes to compare kinds of memory ({who}).",
        "off_page": "Memory that starts off a page boundary takes {time} more each time ({who}).",
        "phases": "First offload {total}: start the runtime {start}, fill the vectors {fill}, "
        "kernel {kernel}.",
        # Templates of study beff
        "b_eff": "b_eff is {rate} over channel {channel} ({who}).",
        "b_eff_best": "b_eff is {rate} over channel {channel}; HPCC's best-of rule: {best_rate} "
        "({who}).",
        "b_eff_published": "b_eff is {rate} over channel {channel}, {share} of the published one "
        "({who}).",
        "better_channel": "Channel {best} has {ratio} times the b_eff of {usual} ({who}).",
        "message": "A message takes {time} and then {rate} over channel {channel} ({who}).",
        "message_alone": "A message takes {time} over channel {channel} ({who}).",
        # Templates of study mmio
        "access": "{what}: {time} ({who}).",
        "stores": "One core stores {rate} to the device ({who}).",
        "stores_of_limit": "One core stores {rate} to the device, {share} of the link ({who}).",
        "fill_link": "Loads cannot fill the link: it needs {lines} cache lines in flight; use DMA "
        "({who}).",
        "crossover": "From {size} on DMA reads the device faster than {instruction} ({who}).",
        "call_measured": "A system call adds {time} to a load ({who}).",
        "call_extrapolated": "A system call costs {time}, from 4 to 64 B of configuration space "
        "({who}).",
        "write_combining": "Stores of {width} B beat one packet each: "
        "write combining works ({who}).",
    }
)

_CAPITALS = ("{what}", "{best} memory")
"""Beginnings of templates that are words, not names, so that they get a capital letter."""


def say(template: str, /, **values: str) -> str:
    """The template of this name, filled in; raises KeyError for an unknown template or value.

    A value ``short_X`` replaces ``X`` if the sentence would be too long.
    """
    text = filled(TEMPLATES[template], **values)
    short = {f"short_{name}" for name in values} & values.keys()
    if len(text) <= LONGEST or not short:
        return text
    shorter = {name.removeprefix("short_"): values[name] for name in short}
    return filled(TEMPLATES[template], **(values | shorter))


def filled(text: str, /, **values: str) -> str:
    """Puts values into a template, and cuts the middle of names to reach ``LONGEST`` characters.

    No name becomes shorter than ``_LEAST_NAME``. Raises KeyError for a missing value.
    """
    kept = dict(values)
    names = [name for name in kept if name in NAMES]
    while len(sentence := text.format(**kept)) > LONGEST and names:
        longest = max(names, key=lambda name: len(kept[name]))
        if len(kept[longest]) <= _LEAST_NAME:
            break
        kept[longest] = cut_middle(
            kept[longest], max(_LEAST_NAME, len(kept[longest]) - len(sentence) + LONGEST)
        )
    # Sentences begin with a capital letter, unless they begin with the name of a device.
    return sentence[0].upper() + sentence[1:] if text.startswith(_CAPITALS) else sentence
