"""Every sentence that a finding says, as a template: the one place where they are worded.

A sentence is one fact in the field's terms, with the figure that decides, in at most ``LONGEST``
characters. Names of devices are shortened where they would not fit.
"""

from __future__ import annotations

from types import MappingProxyType

LONGEST = 100
_LEAST_NAME = 12
NAMES = frozenset({"who", "best", "usual", "one", "other"})
"""Values that users chose and that may be of any length: names of devices."""

TEMPLATES = MappingProxyType(
    {
        # transfer
        "rate_of_limit": "{what} reaches {rate} at {size}, {share} of the {reference} ({who}).",
        "rate_alone": "{what} reaches {rate} at {size} ({who}).",
        "latency": "{what} of {size} takes {time} ({who}).",
        "launch": "Starting an empty kernel and waiting for it takes {time} ({who}).",
        "in_cache": "{what} peaks at {rate} with {size}, which fit in a cache ({who}).",
        "peak": "{what}: {rate} at {size}, but {slow} at {largest} ({who}).",
        "better_memory": "{best} memory is {ratio} times as fast as {usual} ({what}, {size}).",
        "better_device": "{best} is {ratio} times as fast as {usual} ({what}, {size}).",
        "memory_same": "The kind of host memory makes no difference: {percent} at most ({size}).",
        "memory_unclear": "Kinds of host memory may differ by up to {percent} ({size}); "
        "none is proven faster.",
        "device_same": "{one} and {other} are equally fast, within {percent} ({size}).",
        "device_unclear": "{one} and {other} may differ by up to {percent} ({size}): not decided.",
        "map_buffers": "Mapping {size} takes {map}, copying {copy}: map buffers ({who}).",
        "model_memory": "The model has no runtime that copies in host memory: "
        "its kinds of memory are alike.",
    }
)


def say(template: str, /, **values: str) -> str:
    """A template with its values in place, as long as a sentence may be.

    Where it would be longer, names lose their middle. Raises KeyError for an unknown template
    or a missing value.
    """
    text = TEMPLATES[template]
    kept = dict(values)
    names = [name for name in kept if name in NAMES]
    while len(said := text.format(**kept)) > LONGEST and names:
        longest = max(names, key=lambda name: len(kept[name]))
        if len(kept[longest]) <= _LEAST_NAME:
            break
        kept[longest] = shortened(
            kept[longest], max(_LEAST_NAME, len(kept[longest]) - len(said) + LONGEST)
        )
    # What is measured begins a sentence in capitals; a device's name stays as it is.
    return said[0].upper() + said[1:] if text.startswith("{what}") else said


def shortened(name: str, most: int) -> str:
    """A name in at most so many characters, without its middle: ``card:u2...nes=8``."""
    if len(name) <= most:
        return name
    left = (most - 2) // 2
    return f"{name[:left]}...{name[len(name) - (most - 3 - left) :]}"
