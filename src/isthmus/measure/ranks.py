"""Connects the leader of a run with the ranks of MPI: messages, handshakes and heartbeats.

The leader is a process beside rank 0. It sends each request to all ranks, as the runner does to a
worker; ranks send heartbeats while they work. Rank 0 has a pipe to the leader. Other ranks connect
over TCP to an address and key (``Rendezvous``) that rank 0 broadcasts by MPI. In the handshake both
sides prove that they know the key.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import resource
import selectors
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from queue import SimpleQueue
from typing import NoReturn

import msgspec
import psutil

from isthmus.candidates import Candidate
from isthmus.descriptions import DeviceDescription
from isthmus.errors import IsthmusError, UsageError
from isthmus.measure import protocol
from isthmus.measure.supervisor import SILENCE_S, WorkerDiedError
from isthmus.text import truncated

_ARRIVAL_S = 300.0
"""Most seconds in which all ranks must find their devices, initialise MPI and connect."""
_HANDSHAKE_S = 5.0
"""Seconds that the leader waits at most for each step of a handshake; handshakes are sequential."""
_HANDSHAKES_S = 60.0
"""Seconds that a rank waits at most for its handshake: other connections may come first."""
_HANDSHAKES_PER_S = 50.0
"""Lowest rate at which the leader completes handshakes, per second."""
_HEARTBEAT_S = 1.0, 15.0
_HEARTBEATS_PER_S = 100.0
"""Heartbeats per second of all ranks together, few because they cost the leader's host time."""
_GRACE_S = 0.5
"""Seconds that the leader waits after an interrupt for a rank's end. When a rank dies, a launcher
interrupts all ranks, and the leader should name the dead rank as the cause."""
_OTHER_FILES = 64
_ACTIVITIES = {
    "working": "in a call of its own device",
    "exchanging": "in the exchange of messages",
    "waiting": "where ranks wait for each other",
}
"""By name of ``_core.Activity``: text for messages. A rank in an activity further up keeps ranks
in activities further down waiting."""
_REFUSED = (OSError, EOFError, ValueError, AuthenticationError, AssertionError)
"""Errors of a failed handshake. Before Python 3.12, AssertionError means that the other side sent
no challenge, and ValueError that this system forbids MD5."""


class Rendezvous(msgspec.Struct, frozen=True):
    """Address and key by which ranks connect to the leader."""

    hosts: list[str]
    """Names and addresses of the leader's host. A rank tries them in order, because a name may
    also belong to another host."""
    port: int
    key: bytes


def _allow_files(count: int) -> None:
    """Raises this process's limit of open files to ``count``; IsthmusError above the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < count:  # a hard limit of -1 means no limit
        raise IsthmusError(
            f"this host lets a process open {hard} files, {count} are needed: raise ulimit -Hn"
        )
    if 0 <= soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


class RankDevice(msgspec.Struct, frozen=True, tag=True):
    """The device that a rank found, with what the leader needs to name it."""

    address: str
    backend: str
    candidate: Candidate
    description: DeviceDescription


class Hello(msgspec.Struct, frozen=True, tag=True):
    """The first message from a rank to the leader: its host and its device."""

    rank: int
    host: str
    pid: int
    device: RankDevice | protocol.Failed
    mpi: str = ""
    """Name, version and thread level of the rank's MPI."""
    free_bytes: int = 0
    """Available memory of the rank's host in bytes; 0: unknown."""


class Heartbeat(msgspec.Struct, frozen=True, tag=True):
    """Message by which a working rank shows that it runs, with the name of its activity."""

    activity: str


class Interrupted(msgspec.Struct, frozen=True, tag=True):
    """Message of a rank that got SIGINT or SIGTERM."""


_NOBODY = Hello(-1, "", 0, protocol.Failed(""))
Message = Hello | Heartbeat | Interrupted | protocol.Answer
encode = msgspec.msgpack.Encoder(enc_hook=dict).encode  # sends any other mapping as a dict
_messages: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
_requests: msgspec.msgpack.Decoder[protocol.Request] = msgspec.msgpack.Decoder(protocol.Request)


def send(connection: Connection, message: msgspec.Struct) -> None:
    """Sends a message. Ignores a closed connection, which the next receive reports."""
    with contextlib.suppress(OSError):
        connection.send_bytes(encode(message))


def _over_tcp(tcp: socket.socket, most_s: float) -> Connection:
    """Makes a connection of a socket: it sends at once and waits at most ``most_s`` seconds."""
    tcp.settimeout(None)
    tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(SILENCE_S * 1000))
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(most_s), 0))
    return Connection(tcp.detach())


@dataclass(eq=False)
class RankState:
    """What the leader knows about one rank: connection, first message, latest sign of life."""

    connection: Connection
    hello: Hello = _NOBODY
    heard: float = 0.0
    answer: protocol.Answer | None = None
    activity: str = ""
    interrupted: bool = False
    ended: bool = False

    def __str__(self) -> str:
        return f"rank {self.hello.rank} ({self.hello.host}, process {self.hello.pid})"


class Leader:
    """Sends requests to all ranks; raises an error that names a rank that ends or is silent."""

    def __init__(self, pipe: Connection, size: int, *, one_host: bool) -> None:
        """Waits until all ranks have connected. Raises IsthmusError if a rank does not connect."""
        # Tests shorten the silence by the variable.
        self._silence_s = float(os.environ.get("ISTHMUS_SILENCE") or SILENCE_S)
        self._selector = selectors.DefaultSelector()
        self._arrived: dict[int, RankState] = {}
        self._unanswered: set[RankState] = set()
        self._alarm = False  # True after a rank has ended or was interrupted
        self._checked = 0.0
        _allow_files(size + _OTHER_FILES)
        hosts = ["127.0.0.1"] if one_host else _addresses()
        first = self._add(pipe)
        deadline = time.monotonic() + _ARRIVAL_S
        with socket.create_server((hosts[0] if one_host else "", 0), backlog=size) as server:
            rendezvous = Rendezvous(hosts, server.getsockname()[1], os.urandom(32))
            accept = partial(self._accept, server, rendezvous.key)
            self._selector.register(server, selectors.EVENT_READ, accept)
            send(pipe, rendezvous)
            while len(self._arrived) < size:
                self._listen(deadline - time.monotonic())
                if isinstance(first.answer, protocol.Failed):
                    raise UsageError(first.answer.message)
                if any(rank.interrupted for rank in self._arrived.values()):
                    raise KeyboardInterrupt
                if first.ended:
                    raise IsthmusError(
                        "the launcher ended the ranks before all connected; its message is above"
                    )
                if time.monotonic() > deadline:
                    late = ", ".join(truncated([n for n in range(size) if n not in self._arrived]))
                    raise IsthmusError(
                        f"of {size} ranks, {late} did not connect in {_ARRIVAL_S:.0f} s"
                    )
            self._selector.unregister(server)
        self.ranks = [self._arrived[n] for n in range(size)]

    def ask(self, requests: Sequence[protocol.Request], allowed_s: float) -> list[protocol.Answer]:
        """Sends each rank its request, and waits for all answers.

        Raises WorkerDiedError with the name of a rank that does not answer, KeyboardInterrupt when
        ranks are interrupted.
        """
        self._unanswered = set(self.ranks)
        for rank, request in zip(self.ranks, requests, strict=True):
            rank.answer = None
            send(rank.connection, request)
        deadline = time.monotonic() + allowed_s + self._silence_s
        while self._unanswered:
            self._listen(_HEARTBEAT_S[0])
            if self._alarm or time.monotonic() > self._checked + _HEARTBEAT_S[0]:
                self._check(deadline)
        return [rank.answer for rank in self.ranks if rank.answer]

    def _accept(self, server: socket.socket, key: bytes) -> None:
        connection = _over_tcp(server.accept()[0], _HANDSHAKE_S)
        with contextlib.suppress(*_REFUSED):  # a stranger's connection closes when it is dropped
            deliver_challenge(connection, key)
            answer_challenge(connection, key)
            self._add(connection)

    def _add(self, connection: Connection) -> RankState:
        rank = RankState(connection)
        self._selector.register(connection, selectors.EVENT_READ, partial(self._receive, rank))
        return rank

    def _listen(self, most_s: float) -> None:
        for key, _ in self._selector.select(max(0.0, most_s)):
            key.data()

    def _receive(self, rank: RankState) -> None:
        """Receives a message from a rank; a closed connection means that the rank has ended."""
        rank.heard = time.monotonic()
        try:
            message = _messages.decode(rank.connection.recv_bytes())
        except (EOFError, OSError):
            self._selector.unregister(rank.connection)
            rank.connection.close()
            rank.ended = self._alarm = True
            return
        match message:
            case Hello(number):
                rank.hello = message
                self._arrived[number] = rank
            case Heartbeat(activity):
                rank.activity = activity
            case Interrupted():
                rank.interrupted = self._alarm = True
            case _:
                rank.answer = message
                self._unanswered.discard(rank)

    def _check(self, deadline: float) -> None:
        """Raises an error if a rank has ended, was interrupted, or is silent."""
        self._checked = now = time.monotonic()
        interrupted = any(rank.interrupted for rank in self.ranks)
        while not (died := self._died()) and interrupted and time.monotonic() < now + _GRACE_S:
            self._listen(_GRACE_S / 5)
        if interrupted and not died:
            raise KeyboardInterrupt
        silent = [rank for rank in self.ranks if now - rank.heard > self._silence_s]
        for rank in silent:
            if rank.hello.host == socket.gethostname():  # kill it: Open MPI leaves it stopped
                atexit.register(_kill, rank.hello.pid)
        if died:
            why = f"{' and '.join(truncated(died))} ended before its time"
        elif silent:
            silent_ranks = " and ".join(truncated(silent))
            since_s = now - max(rank.heard for rank in silent)
            why = f"nothing was heard of {silent_ranks} for {since_s:.0f} s"
        elif now < deadline:
            return
        elif len(self._unanswered) < len(self.ranks):
            late = [rank for rank in self.ranks if rank in self._unanswered]
            why = f"{' and '.join(truncated(late))} did not answer in time, the others did"
        else:
            why = f"no rank answered in time, but all live: {_who_hangs(self.ranks)}"
        raise WorkerDiedError(why, final=True)

    def _died(self) -> list[RankState]:
        return [rank for rank in self.ranks if rank.ended and not rank.interrupted]


def _who_hangs(ranks: Sequence[RankState]) -> str:
    """Names the ranks that keep other ranks waiting, by the activities that they reported last."""
    for activity, where in _ACTIVITIES.items():
        ranks_in_activity = [rank for rank in ranks if rank.activity == activity]
        if len(ranks_in_activity) == len(ranks):
            return f"all hang {where.replace('its own', 'their own')}"
        if ranks_in_activity:
            hang = "hangs" if len(ranks_in_activity) == 1 else "hang"
            return (
                f"{' and '.join(truncated(ranks_in_activity))} {hang} {where}, and the others wait"
            )
    return "a link between them hangs"


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _addresses() -> list[str]:
    """Names and addresses of this host; those that other hosts can most likely reach come first."""
    interface_addresses = [address for every in psutil.net_if_addrs().values() for address in every]
    own = [address.address for address in interface_addresses if address.family == socket.AF_INET]
    return [socket.getfqdn(), *(address for address in own if not address.startswith("127."))]


def connect(rendezvous: Rendezvous, size: int) -> Connection:
    """Connects this rank, one of ``size``, to the leader; raises IsthmusError if that fails."""
    problems: list[str] = []
    for host in rendezvous.hosts:
        try:
            tcp = socket.create_connection((host, rendezvous.port), _HANDSHAKE_S)
            connection = _over_tcp(tcp, _HANDSHAKES_S + size / _HANDSHAKES_PER_S)
            answer_challenge(connection, rendezvous.key)
            deliver_challenge(connection, rendezvous.key)
        except _REFUSED as error:
            problems.append(f"{host}: {str(error) or 'another program answered'}")
        else:
            return connection
    raise IsthmusError(
        f"cannot reach rank 0's host ({'; '.join(problems)}); ranks connect to it by TCP"
    )


class Rank:
    """A rank's end of the connection to the leader; a thread sends heartbeats while the rank works.

    ``activity`` returns the name of the rank's activity for heartbeats. When the leader ends while
    the rank works, the thread calls ``leave``: a rank that waits in MPI would not notice the end.
    """

    def __init__(
        self,
        connection: Connection,
        hello: Hello,
        size: int,
        activity: Callable[[], str],
        leave: Callable[[], NoReturn],
    ) -> None:
        self._connection = connection
        self._leave = leave
        self._activity = activity
        self._heartbeat_s = min(max(size / _HEARTBEATS_PER_S, _HEARTBEAT_S[0]), _HEARTBEAT_S[1])
        self._requests: SimpleQueue[protocol.Request | None] = SimpleQueue()
        self._busy = False
        self._sending = threading.Lock()
        self.send(hello)
        threading.Thread(target=self._receive, daemon=True).start()

    def serve(self, answer: Callable[[protocol.Request], protocol.Answer]) -> None:
        """Answers requests until the leader ends."""
        while (request := self._requests.get()) is not None:
            answered = answer(request)
            self._busy = False  # before the answer: the leader may end as soon as it arrives
            self.send(answered)

    def send(self, message: Message) -> None:
        """Sends a message to the leader."""
        with self._sending:
            send(self._connection, message)

    def _receive(self) -> None:
        while True:
            if not self._connection.poll(self._heartbeat_s):
                self.send(Heartbeat(self._activity()))
                continue
            try:
                request = _requests.decode(self._connection.recv_bytes())
            except (EOFError, OSError):
                if self._busy:
                    self._leave()
                self._requests.put(None)
                return
            self._busy = True
            self._requests.put(request)
