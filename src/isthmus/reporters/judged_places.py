"""Names the place of a figure by text, lines, device and run, if a screen has several places."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from isthmus.judging import Judgement
from isthmus.judging.judgement import Group


class Places:
    """Names of places, just long enough to distinguish the judgements of one screen."""

    def __init__(self, judgements: Sequence[Judgement]) -> None:
        groups = [judgement.group for judgement in judgements]
        files = {group.file for group in groups}
        self._names = {file: PurePath(file).name for file in files}
        if len({*self._names.values()}) < len(files):
            self._names = {file: file for file in files}
        self._devices: dict[str, set[str]] = {}
        for group in groups:
            if group.device:
                self._devices.setdefault(group.file, set()).add(group.device)

    def short(self, group: Group) -> str:
        """Short place for a table: ``fast.txt, run 2``; empty if all figures have one place."""
        return ", ".join(
            filter(None, (
                self._names[group.file],
                self._device(group),
                f"run {group.run}" if group.runs > 1 else "",
            ))
        )  # fmt: skip

    def full(self, group: Group) -> str:
        """Place for a sentence: ``fast.txt, lines 3 to 9, run 2 of 3:``; empty if ``short`` is."""
        if not self.short(group):
            return ""
        first, last = group.lines
        lines = f"line {first}" if first == last else f"lines {first} to {last}"
        run = f"run {group.run} of {group.runs}" if group.runs > 1 else ""
        return f"{', '.join(filter(None, (group.file, lines, self._device(group), run)))}:"

    def _device(self, group: Group) -> str:
        """The device of a group; empty if the group's text has only one device."""
        if len(self._devices.get(group.file, ())) < len(("this", "another")) or not group.device:
            return ""
        return group.device.partition(":")[2] or group.device
