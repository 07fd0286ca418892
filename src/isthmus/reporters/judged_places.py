"""Where a figure stands: text, lines, device and run, as far as a screen has several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from isthmus.judging import Judgement
from isthmus.judging.judgement import Group


class Places:
    """Says where figures stand, for the judgements of one screen."""

    def __init__(self, judgements: Sequence[Judgement]) -> None:
        groups = [one.group for one in judgements]
        files = {one.file for one in groups}
        self._names = {file: PurePath(file).name for file in files}
        if len({*self._names.values()}) < len(files):
            self._names = {file: file for file in files}
        self._devices: dict[str, set[str]] = {}
        for one in groups:
            if one.device:
                self._devices.setdefault(one.file, set()).add(one.device)

    def short(self, group: Group) -> str:
        """In few letters, for a table: ``fast.txt, run 2``; empty where all figures are of one."""
        return ", ".join(
            filter(None, (
                self._names[group.file],
                self._device(group),
                f"run {group.run}" if group.runs > 1 else "",
            ))
        )  # fmt: skip

    def full(self, group: Group) -> str:
        """For a sentence: ``fast.txt, lines 3 to 9, run 2 of 3:``; empty as ``short``."""
        if not self.short(group):
            return ""
        first, last = group.lines
        lines = f"line {first}" if first == last else f"lines {first} to {last}"
        run = f"run {group.run} of {group.runs}" if group.runs > 1 else ""
        return f"{', '.join(filter(None, (group.file, lines, self._device(group), run)))}:"

    def _device(self, group: Group) -> str:
        """The device, where the text has several."""
        if len(self._devices.get(group.file, ())) < len(("this", "another")) or not group.device:
            return ""
        return group.device.partition(":")[2] or group.device
