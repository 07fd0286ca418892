"""Entry points of glibc that take or return time: each is known, and those that are covered are."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from on_cards import Made, Run, card_exec, emulated, programs

from isthmus_emulation import elf
from isthmus_emulation.session import CLOCK

__all__ = ["card_exec", "emulated", "programs"]  # fixtures
LIST = Path(__file__).parents[1] / "clock" / "entry_points.toml"
NEWEST_LISTED = (2, 36)
"""Newest glibc (Debian 12) whose entry points the list was compared with."""
LIBRARIES = re.compile(r"/lib(?:c|pthread|rt)(?:\.so\.\d+|-2\.\d+\.so)$")


class Entries(msgspec.Struct, forbid_unknown_fields=True):
    status: Literal["covered", "needless", "not_covered"]
    why: str
    names: list[str]


class Known(msgspec.Struct, forbid_unknown_fields=True):
    named: list[str]
    entries: list[Entries]

    def unknown(self, symbols: Iterable[str]) -> list[str]:
        """Symbols that look like entry points and are not on the list."""
        there = {name for group in self.entries for name in group.names}
        like = re.compile("|".join(self.named))
        return sorted(name for name in symbols if like.search(name) and name not in there)

    def of(self, status: str) -> list[str]:
        return [name for group in self.entries if group.status == status for name in group.names]


def known() -> Known:
    return msgspec.toml.decode(LIST.read_bytes(), type=Known)


def exported(library: Path) -> list[str]:
    symbols = elf.symbols(library.read_bytes())
    return sorted(name for name, symbol in symbols.items() if symbol.section)


def glibc() -> list[Path]:
    """The libraries of the glibc that this process has, and their neighbours."""
    maps = Path("/proc/self/maps").read_text("utf-8").split()
    libc = next(Path(word) for word in maps if LIBRARIES.search(word) and "libc" in word)
    return [path for path in sorted(libc.parent.iterdir()) if LIBRARIES.search(str(path))]


def test_every_entry_point_of_the_installed_glibc_is_known() -> None:
    found = {name for library in glibc() for name in exported(library)}
    assert {"clock_gettime", "__poll_chk", "select"} <= found
    unknown = known().unknown(found)
    version = tuple(map(int, platform.libc_ver()[1].split(".")))
    if unknown and version > NEWEST_LISTED:
        pytest.skip(f"glibc {version} is newer than the list, which lacks {', '.join(unknown)}")
    assert unknown == []


def test_an_entry_point_that_the_list_does_not_know_is_found() -> None:
    new = ["__clock_gettime64", "__select_chk", "sleep_well", "pthread_mutex_x", "printf", "poll"]
    found = ["__clock_gettime64", "__select_chk", "pthread_mutex_x", "sleep_well"]
    assert known().unknown(new) == found


def test_what_the_list_calls_covered_is_replaced_and_nothing_else() -> None:
    if not CLOCK.exists():
        pytest.skip("Isthmus was built without its virtual clock")
    replaced = exported(CLOCK)
    names = [name for group in known().entries for name in group.names]
    assert len(set(names)) == len(names)
    assert sorted(set(known().of("covered")) - set(replaced)) == []
    others = known().of("needless") + known().of("not_covered")
    assert sorted(set(others) & set(replaced)) == []
    assert all(group.why for group in known().entries)


@pytest.mark.usefixtures("emulated")
def test_waits_by_every_name_take_the_programs_time(card_exec: Run, programs: Made) -> None:
    ran = card_exec("--", programs("entry_points"), "waits", programs("hw_emu.xclbin"))
    assert ran.code == 0, ran.errors
    figures = dict(ran.figures)
    assert 0 <= figures.pop("ftime") < 1  # what is left of its millisecond, and a bit
    a_tick = 0.01  # times(2): sysconf(_SC_CLK_TCK) is 100
    # 9 ticks are enough: 0.1 - 0.01 is more than 0.09, as doubles are rounded.
    short = {name: took for name, took in figures.items() if took / a_tick < 9}
    assert short == {}


@pytest.mark.usefixtures("emulated")
def test_select_takes_more_microseconds_than_a_second_has(card_exec: Run, programs: Made) -> None:
    ran = card_exec("--", programs("entry_points"), "select", programs("hw_emu.xclbin"))
    assert ran.code == 0, ran.errors
    figures = dict(ran.figures)
    invalid = 22  # EINVAL
    for when in ("before", "after"):
        assert figures.pop(f"{when}_seconds") >= 1.1
    assert figures == {
        f"{when}_{name}": value
        for when in ("before", "after")
        for name, value in (
            ("many", 0), ("many_left", 0), ("none", 0), ("none_left", 0),
            ("negative", invalid), ("negative_left", -1),
        )
    }  # fmt: skip


@pytest.mark.usefixtures("emulated")
def test_gettimeofday_clears_the_zone(card_exec: Run, programs: Made) -> None:
    ran = card_exec("--", programs("entry_points"), "zone", programs("hw_emu.xclbin"))
    assert ran.figures == {"before": 0, "after": 0}


@pytest.mark.usefixtures("emulated")
def test_waits_refuse_clocks_as_glibc_does(card_exec: Run, programs: Made) -> None:
    ran = card_exec("--", programs("entry_points"), "clocks", programs("hw_emu.xclbin"))
    assert ran.code == 0, ran.errors
    invalid = 22  # EINVAL
    assert len(ran.figures) == 10
    assert set(ran.figures.values()) == {invalid}


@pytest.mark.usefixtures("emulated")
def test_a_checked_array_that_is_too_short_ends_the_program(card_exec: Run, programs: Made) -> None:
    ran = card_exec("--", programs("entry_points"), "overflow", programs("hw_emu.xclbin"))
    assert ran.code != 0
    assert any("buffer overflow detected" in line for line in ran.errors), ran.errors
