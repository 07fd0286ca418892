"""All ranks of a launcher, from the side of the process that leads them: they look like a worker.

It watches them, too: a rank that ends or falls silent ends the run, which says which one it was.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import select
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import TracebackType
from typing import NoReturn

import msgspec
import psutil

from isthmus.backends import registry
from isthmus.errors import IsthmusError, NoDeviceError, UsageError
from isthmus.measure import protocol
from isthmus.measure.discovery import Found
from isthmus.measure.joint import joint
from isthmus.measure.ranks_protocol import (
    BEAT_S,
    SECRET_BYTES,
    Beat,
    Hello,
    Meeting,
    Messages,
    Seat,
    Signalled,
    prepare,
    read,
)
from isthmus.measure.supervisor import SILENCE_S, WorkerDiedError, WorkerRefusedError

_ARRIVAL_S = 300.0
"""Devices are looked for, and MPI is initialised, in that time."""
_GREETING_S = 10.0
_SILENCE = "ISTHMUS_SILENCE"
"""Variable with the seconds after which a rank that says nothing has hung; for tests."""
_PLACES = {
    "working": "in a call of its own device",
    "exchanging": "in the exchange of messages",
    "waiting": "where ranks wait for each other",
}
"""By the name of an activity: what comes first keeps those that are at what comes later."""
_GRACE_S = 0.5
"""A launcher that ends all ranks because one died may be faster than the news of that death."""


class _Rank:
    """One rank and its connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.messages = Messages(connection)
        self.hello: Hello | None = None
        self.heard = time.monotonic()
        self.answer: protocol.Answer | None = None
        self.asked_to_end = False
        self.activity = ""

    @property
    def said(self) -> Hello:
        """What it said of itself when it came."""
        assert self.hello is not None
        return self.hello

    @property
    def seat(self) -> Seat:
        """Its device, as it found it."""
        return self.said.seat

    @property
    def found(self) -> Found:
        """The same, as a device of this process."""
        assert self.seat.candidate
        assert self.seat.device
        backend = registry()[self.seat.backend]
        return Found(self.seat.address, backend, self.seat.candidate, self.seat.device)

    @property
    def name(self) -> str:
        """For messages."""
        return f"rank {self.said.rank} ({self.said.host}, process {self.said.pid})"

    def listen(self) -> None:
        """Takes in what has come."""
        for message in self.messages.receive():
            match message:
                case Hello():
                    self.hello = message
                case Signalled():
                    self.asked_to_end = True
                case Beat(activity):
                    self.activity = activity
                case _:
                    self.answer = message
        self.heard = time.monotonic()

    def ask(self, request: protocol.Request) -> None:
        """Sends a request; that the rank is gone is seen when it is listened to."""
        self.answer = None
        with contextlib.suppress(OSError):
            self.connection.sendall(protocol.frame(request))


def _addresses() -> list[str]:
    """Names and addresses of this host, those that other hosts are most likely to know first."""
    own = [
        address.address
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family == socket.AF_INET and not address.address.startswith("127.")
    ]
    return [socket.getfqdn(), *own]


def _meet(first: socket.socket, size: int, *, one_host: bool) -> list[_Rank]:
    """Waits until all ranks have come; rank 0 tells the others where, through MPI."""
    meeting = Meeting(
        hosts=["127.0.0.1"] if one_host else _addresses(),
        port=0,
        password=secrets.token_bytes(SECRET_BYTES),
        countersign=secrets.token_bytes(SECRET_BYTES),
    )
    here: dict[int, _Rank] = {}
    deadline = time.monotonic() + _ARRIVAL_S
    with socket.create_server(("127.0.0.1" if one_host else "", 0), backlog=size) as door:
        told = msgspec.structs.replace(meeting, port=door.getsockname()[1])
        first.sendall(protocol.frame(told))
        while len(here) < size:
            ready, _, _ = select.select(
                [door, first], [], [], max(0.0, deadline - time.monotonic())
            )
            if first in ready:
                _give_up(_last_word(first))
            if door in ready:
                rank = _welcome(door.accept()[0], meeting)
                if rank:
                    here[rank.said.rank] = rank
            if time.monotonic() > deadline:
                missing = ", ".join(str(n) for n in range(size) if n not in here)
                raise IsthmusError(f"of {size} ranks, {missing} did not come in {_ARRIVAL_S:.0f} s")
    return [here[n] for n in range(size)]


def _last_word(first: socket.socket) -> str:
    try:
        return first.recv(1 << 16).decode()
    except OSError:  # it ended before it read where to meet
        return ""


def _give_up(why: str) -> NoReturn:
    if why:
        raise UsageError(why)
    raise IsthmusError("the launcher ended the ranks before all had come; what it says is above")


def _welcome(connection: socket.socket, meeting: Meeting) -> _Rank | None:
    """A rank that came; None where somebody else did."""
    connection.settimeout(_GREETING_S)
    if not hmac.compare_digest(read(connection, SECRET_BYTES), meeting.password):
        connection.close()
        return None
    rank = _Rank(connection)
    try:
        connection.sendall(meeting.countersign)
        while rank.hello is None and not rank.messages.ended:
            rank.listen()
    except OSError:  # gone, or silent for too long
        return None
    prepare(connection)
    return None if rank.hello is None else rank


@dataclass(frozen=True)
class _Joint(Found):
    """What the devices of all ranks are together."""

    @cached_property
    def options(self) -> dict[str, str]:
        """None: each rank's device has its own."""
        return {}


class Team:
    """The ranks. Raises in ``ask`` what a worker does; KeyboardInterrupt when they are told to end.

    A context manager: on leaving, ranks of this host that hang are killed. The launcher and the
    ranks themselves see to the others.
    """

    def __init__(self, first: socket.socket, size: int, *, one_host: bool) -> None:
        self._silence_s = float(os.environ.get(_SILENCE) or SILENCE_S)
        self._death: WorkerDiedError | None = None
        self._silent: list[_Rank] = []
        self._ranks = _meet(first, size, one_host=one_host)
        self._opened: protocol.Opened | None = None
        self.members: list[Found] = []
        """Device of each rank."""

    def find(self, options: Mapping[str, str]) -> Found:
        """Opens the devices of all ranks, and says what they are together.

        Raises UsageError or NoDeviceError where a rank has none.
        """
        self._refuse({rank: rank.seat.error for rank in self._ranks if rank.seat.error})
        self.members = [rank.found.with_run_options(options) for rank in self._ranks]
        answers = self._all([found.open_request() for found in self.members], 0.0)
        opened = [answer for answer in answers if isinstance(answer, protocol.Opened)]
        self.members = [
            replace(found, description=answer.device)
            for found, answer in zip(self.members, opened, strict=True)
        ]
        device = joint([found.description for found in self.members])
        self._opened = msgspec.structs.replace(opened[0], device=device)
        address = "+".join(dict.fromkeys(found.address for found in self.members))
        if not device.operations:
            raise UsageError(f"no channel leads from each to each of these devices: {address}")
        return _Joint(address, self.members[0].backend, self.members[0].candidate, device)

    def ask(self, request: protocol.Request, allowed_s: float = 0.0) -> protocol.Answer:
        """See ``supervisor.Asked``; the answer is rank 0's."""
        if isinstance(request, protocol.Open):
            assert self._opened is not None
            return self._opened
        return self._all([request] * len(self._ranks), allowed_s)[0]

    def let_go(self) -> None:
        """Nothing: the ranks stay for the whole run."""

    def end(self) -> None:
        """Nothing: no rank can be started anew."""

    def described(self) -> dict[str, object]:
        """The ranks, for the run file's environment."""
        return {
            "mpi": self._ranks[0].said.mpi,
            "ranks": [
                {"rank": n, "host": rank.said.host, "device": found.address,
                 "id": found.description.id,
                 "name": found.description.name}
                for n, (rank, found) in enumerate(zip(self._ranks, self.members, strict=True))
            ],
        }  # fmt: skip

    def _refuse(self, errors: Mapping[_Rank, str]) -> None:
        if not errors:
            return
        usage = any(rank.seat.usage for rank in errors)
        raise (UsageError if usage else NoDeviceError)(_told(errors, len(self._ranks)))

    def _all(self, requests: Sequence[protocol.Request], allowed_s: float) -> list[protocol.Answer]:
        if self._death:
            raise self._death
        for rank, request in zip(self._ranks, requests, strict=True):
            rank.ask(request)
        deadline = time.monotonic() + allowed_s + self._silence_s
        while any(rank.answer is None for rank in self._ranks):
            self._listen(BEAT_S)
            self._look(deadline)
        answers = [rank.answer for rank in self._ranks if rank.answer is not None]
        failed = {
            rank: answer
            for rank, answer in zip(self._ranks, answers, strict=True)
            if isinstance(answer, protocol.Failed)
        }
        if failed:
            self._fail(failed)
        return answers

    def _fail(self, failed: Mapping[_Rank, protocol.Failed]) -> NoReturn:
        message = _told({rank: one.message for rank, one in failed.items()}, len(self._ranks))
        if any(one.lost for one in failed.values()):
            self._die(message)
        raise WorkerRefusedError(
            message,
            usage=any(one.usage for one in failed.values()),
            unavailable=any(one.unavailable for one in failed.values()),
        )

    def _listen(self, most_s: float) -> None:
        speaking = {rank.connection: rank for rank in self._ranks if not rank.messages.ended}
        ready, _, _ = select.select(speaking, [], [], most_s)
        for connection in ready:
            speaking[connection].listen()

    def _died(self) -> list[_Rank]:
        return [rank for rank in self._ranks if rank.messages.ended and not rank.asked_to_end]

    def _look(self, deadline: float) -> None:
        """Raises where a rank is gone, is to go, or says nothing any more."""
        told_to_end = any(rank.asked_to_end for rank in self._ranks)
        if told_to_end:
            until = time.monotonic() + _GRACE_S
            while time.monotonic() < until and not self._died():
                self._listen(_GRACE_S / 5)
        died = self._died()
        if died:
            self._die(f"{_names(died)} ended before its time")
        if told_to_end:
            raise KeyboardInterrupt
        now = time.monotonic()
        self._silent = [rank for rank in self._ranks if now - rank.heard > self._silence_s]
        if self._silent:
            self._die(f"nothing was heard of {_names(self._silent)} for {self._silence_s:.0f} s")
        late = [rank for rank in self._ranks if rank.answer is None]
        if now > deadline and len(late) < len(self._ranks):
            self._die(f"{_names(late)} did not answer in time, the others did")
        if now > deadline:
            self._die(f"no rank answered in time, but all live: {_who_hangs(self._ranks)}")

    def _die(self, how: str) -> NoReturn:
        self._death = WorkerDiedError(how, final=True)
        raise self._death

    def __enter__(self) -> Team:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        here = socket.gethostname()
        for rank in self._silent:
            if rank.said.host == here:
                with contextlib.suppress(OSError):
                    os.kill(rank.said.pid, signal.SIGKILL)


def _names(ranks: Sequence[_Rank]) -> str:
    return " and ".join(rank.name for rank in ranks)


def _who_hangs(ranks: Sequence[_Rank]) -> str:
    """Which of the ranks keep the others, as far as these have said what they are at."""
    if not all(rank.activity for rank in ranks):  # not heard of yet
        return "a link between them hangs"
    for activity, where in _PLACES.items():
        here = [rank for rank in ranks if rank.activity == activity]
        if len(here) == len(ranks):
            return f"all hang {where.replace('its own', 'their own')}"
        if here:
            return f"{_names(here)} hang{'s' * (len(here) == 1)} {where}, and the others wait"
    return "a link between them hangs"


def _told(messages: Mapping[_Rank, str], size: int) -> str:
    """What ranks say: once where all say the same."""
    if len(messages) == size and len(set(messages.values())) == 1:
        return next(iter(messages.values()))
    return "; ".join(f"{rank.name}: {message}" for rank, message in messages.items())
