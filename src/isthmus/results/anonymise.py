"""Makes a run anonymous: removes what identifies its machine or its user."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from isthmus.results.run_file import Run

_HOST_KEYS = {"host", "hosts", "hostname", "node"}
_OF_ONE_BOARD = re.compile(r"serial|uuid|guid|mac_?addr|asset|\bdna\b", re.IGNORECASE)
"""Keys whose values identify a single board."""
_UUID = re.compile(r"\b[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b", re.IGNORECASE)
_NETWORK = re.compile(
    r"\b(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{2}(?::[0-9a-f]{2}){5})\b", re.IGNORECASE
)
_PATH = re.compile(r"(?<![\w.)/])(?:~\w*|\.{1,2})?/[^\s:;,'\"=()]+(?:/[^\s:;,'\"=()]*)*")
_USER = re.compile(r"/(?:home|Users)/([^/\s:;,'\"=]+)")
_LIBRARY = re.compile(r"lib[\w.+-]+\.so(?:\.\d+)*")
_KERNEL_OPTIONS = re.compile(
    r"(?:amd_iommu|clocksource|cpuidle\S*|default_hugepagesz|hugepages|hugepagesz|idle|intel_idle\S*"
    r"|intel_iommu|intel_pstate|iommu\S*|isolcpus|mitigations|nohz_full|nosmt|numa_balancing|pci"
    r"|pcie_aspm\S*|processor\S*|rcu_nocbs|swiotlb|transparent_hugepage|tsc)(?:=[\w,.:-]*)?"
)
"""Options of the kernel command line that affect measurements; all others are removed."""
_NAMES_OF_PARTS = {"address", "device", "backend", "api", "study", "operation", "memory", "studies"}
"""Keys whose values are words of Isthmus: they stay, even if a machine has such a word as name."""


def anonymised(run: Run) -> Run:
    """The run without host names, serial numbers, UUIDs, network addresses, users and paths.

    Equal names get equal replacements: ``host1``, ``id1``, ``user1``. Of a path only the name of a
    shared library remains. Measurements do not change.
    """
    tree = msgspec.to_builtins(run)
    environment = tree["environment"]
    line = str(environment.get("kernel_command_line", ""))
    environment["kernel_command_line"] = " ".join(
        word for word in line.split() if _KERNEL_OPTIONS.fullmatch(word)
    )
    software = tree["software"]
    software["command"] = [_word(word) for word in software["command"]]
    hosts = dict.fromkeys(filter(None, _hosts(environment)))
    users = dict.fromkeys(user for text in _strings(tree) for user in _USER.findall(text))
    names = {
        **{user: f"user{n}" for n, user in enumerate(users, 1)},
        **{
            name: f"host{n}"
            for n, host in enumerate(hosts, 1)
            for name in (host, host.partition(".")[0])
        },
    }
    return msgspec.convert(_Replacer(names).of(tree), Run)


def _hosts(value: object, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for inner, child in value.items():
            yield from _hosts(child, inner)
    elif isinstance(value, list):
        for child in value:
            yield from _hosts(child, key)
    elif isinstance(value, str) and key in _HOST_KEYS:
        yield value


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for child in value.values():
            yield from _strings(child)
    elif isinstance(value, list):
        for child in value:
            yield from _strings(child)
    elif isinstance(value, str):
        yield value


def _word(word: str) -> str:
    """A word of a command line; ``PATH`` replaces a path, or the name of a JSON file."""
    option, equals, value = word.rpartition("=")
    return f"{option}{equals}PATH" if "/" in value or value.endswith(".json") else word


class _Replacer:
    """Replaces names in all strings of a tree; equal names get equal replacements."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        self._ids: dict[str, str] = {}
        words = sorted(names, key=len, reverse=True)
        pattern = "|".join(map(re.escape, words)) or r"(?!)"
        self._words = re.compile(rf"(?<![\w.-])(?:{pattern})(?![\w-])")

    def of(self, value: Any, key: str = "") -> Any:
        """A copy of the value with names replaced in all strings, also in keys of mappings."""
        if isinstance(value, dict):
            return {self._text(k, "device"): self.of(child, k) for k, child in value.items()}
        if isinstance(value, list):
            return [self.of(child, key) for child in value]
        return self._text(value, key) if isinstance(value, str) else value

    def _text(self, text: str, key: str) -> str:
        original = text
        text = _UUID.sub(lambda match: self._id(match[0]), text)
        if text == original and text and _OF_ONE_BOARD.search(key):
            return self._id(text)
        text = _NETWORK.sub(lambda match: self._id(match[0]), text)
        text = _PATH.sub(_library, text)
        if key in _NAMES_OF_PARTS:
            return text
        return self._words.sub(lambda match: self._names[match[0]], text)

    def _id(self, text: str) -> str:
        if re.fullmatch(r"(?:GPU-)?id\d+", text):
            return text
        return self._ids.setdefault(text, f"id{len(self._ids) + 1}")


def _library(path: re.Match[str]) -> str:
    name = path[0].rpartition("/")[2]
    return name if _LIBRARY.fullmatch(name) else "PATH"
