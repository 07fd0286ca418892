"""The folder and the environment of one program that uses emulated cards."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from isthmus.emulation import page

ClockKind = Literal["virtual", "wall"]


@dataclass(frozen=True)
class Session:
    """What ``prepare`` made; leaving the context removes its folder and what XRT left elsewhere."""

    directory: Path
    environment: dict[str, str]
    """To be laid over the program's own."""

    @property
    def page(self) -> Path:
        """File in which the cards tell what they did; ``isthmus.emulation.page`` reads it."""
        return self.directory / "page"

    @property
    def events(self) -> list[Path]:
        """Files of events, one a device process, where a trace was asked for."""
        return sorted((self.directory / "events").glob("*.tsv"))

    def used(self) -> list[page.Slot]:
        """What each card was used for, so far."""
        return page.read(self.page)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)


def prepare(
    boards: Sequence[str],
    *,
    as_hardware: bool = False,
    clock: ClockKind = "wall",
    trace: bool = False,
) -> Session:
    """Prepares a run with one card for each board, as ``isthmus card boards`` takes them.

    A program that asks XRT for its mode sees hw_emu, or with ``as_hardware`` a board. ``clock``
    says whether the program will have the virtual clock preloaded. Raises UsageError for a board
    that cannot be, NoDeviceError where XRT lacks what is needed.
    """
    raise NotImplementedError
