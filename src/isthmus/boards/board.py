"""Type of a board: values of its parameters, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from isthmus.boards.table import Value
from isthmus.errors import UsageError


@dataclass(frozen=True)
class Setting:
    """A parameter's value on one board, and its source."""

    value: Value
    kind: str
    """``published``, ``fitted`` or ``assumed``; ``chosen`` if the user replaced it."""
    source: str
    calibration: str = ""
    """Published series and points to which the value was fitted. A comparison leaves them out,
    because fitted points cannot confirm the model. Empty for a value that is not fitted."""
    file: str = ""


@dataclass(frozen=True)
class Shell:
    """A vendor's platform (shell) for a card; programs find the card by the platform's name."""

    name: str
    source: str


@dataclass(frozen=True)
class Board:
    """A card with its link and host."""

    name: str
    title: str
    description: str
    settings: Mapping[str, Setting]
    """Settings by flat name, ``section.key``, in the order of ``boards.table.TABLE``. Each section
    that the board has is complete."""
    shells: tuple[Shell, ...] = ()
    """The card's platforms under XRT; kernels are built for the first platform."""

    def has(self, section: str) -> bool:
        """Whether the board has a section, i.e. the card has that part."""
        return any(name.startswith(f"{section}.") for name in self.settings)

    def value(self, name: str) -> Value:
        """A parameter's value. Raises UsageError if the card lacks that part."""
        if name not in self.settings:
            section = name.partition(".")[0]
            raise UsageError(f"board '{self.name}' has no [{section}]: it lacks {name}")
        return self.settings[name].value

    def number(self, name: str) -> float:
        """A parameter's number, in the unit of ``boards.table``."""
        value = self.value(name)
        if isinstance(value, str):
            raise UsageError(f"{name} is a text, no number")
        return float(value)

    def whole(self, name: str) -> int:
        """An integer parameter."""
        return int(self.number(name))

    def seconds(self, name: str) -> float:
        """A parameter in nanoseconds, as seconds."""
        return self.number(name) * 1e-9

    def hertz(self, name: str) -> float:
        """A parameter in MHz, as Hz."""
        return self.number(name) * 1e6

    def bank_rate(self) -> float:
        """Mean bytes per second of a bank of card memory, which moves no data during refreshes."""
        interval = self.number("memory.refresh_interval_ns")
        refreshing = self.number("memory.refresh_ns") / interval if interval else 0.0
        return self.number("memory.bandwidth_Bps") * (1 - refreshing)

    def with_values(self, values: Mapping[str, float]) -> Board:
        """A copy of the board with some values replaced and not checked, for the fit of a model."""
        changed = {k: replace(self.settings[k], value=v) for k, v in values.items()}
        return replace(self, settings=MappingProxyType({**self.settings, **changed}))

    def flat(self) -> dict[str, str]:
        """Values as texts (``true``, ``16``, ``1.5``), with the board's name as ``board.name``."""
        values = {name: text(setting.value) for name, setting in self.settings.items()}
        return {"board.name": self.name, **values}


def text(value: Value) -> str:
    """A value in the form of TOML and the command line, without quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
