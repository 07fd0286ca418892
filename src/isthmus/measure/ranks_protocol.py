"""What the ranks of a launcher and the process that leads them say to each other.

Each rank has a connection of its own to that process, which asks all of them the same things that
it asks a worker. Between the answers a rank says that it lives.
"""

from __future__ import annotations

import contextlib
import socket

import msgspec

from isthmus.backends import Candidate
from isthmus.measure import protocol

BEAT_S = 1.0
"""A rank is heard at least so often."""
SECRET_BYTES = 16
_UNANSWERED_MS = 60_000
_PIECE = 1 << 20


class Seat(msgspec.Struct, frozen=True):
    """The device that a rank found for itself, or why it has none."""

    address: str = ""
    backend: str = ""
    candidate: Candidate | None = None
    device: protocol.DeviceDescription | None = None
    error: str = ""
    usage: bool = False


class Meeting(msgspec.Struct, frozen=True):
    """Where the ranks meet the process that leads them."""

    hosts: list[str]
    """Its names and addresses, to be tried in turn."""
    port: int
    password: bytes
    """What a rank says first."""
    countersign: bytes
    """What it must hear then: two hosts can have one address each of the same name."""


class Hello(msgspec.Struct, frozen=True, tag=True):
    """A rank has come."""

    rank: int
    host: str
    pid: int
    mpi: str
    """Its MPI: name, version, level of threads."""
    seat: Seat


class Beat(msgspec.Struct, frozen=True, tag=True):
    """A rank lives."""

    activity: str = ""
    """What its work is at: a name of ``_core.Activity``."""


class Signalled(msgspec.Struct, frozen=True, tag=True):
    """Somebody asked a rank to end, by this signal."""

    number: int


Told = Hello | Beat | Signalled | protocol.Answer
_told: msgspec.msgpack.Decoder[Told] = msgspec.msgpack.Decoder(Told)


def prepare(connection: socket.socket) -> None:
    """Sends at once, and finds out in a minute that the other host is gone."""
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNANSWERED_MS)


def read(connection: socket.socket, size: int) -> bytes:
    """So many bytes, or fewer where the other side ended."""
    data = b""
    with contextlib.suppress(OSError):
        while len(data) < size:
            piece = connection.recv(size - len(data))
            if not piece:
                break
            data += piece
    return data


class Messages:
    """What has come over a rank's connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._data = b""
        self.ended = False

    def receive(self) -> list[Told]:
        """Waits for something, and returns the messages that are whole now."""
        try:
            piece = self._connection.recv(_PIECE)
        except OSError:
            piece = b""
        self.ended = not piece
        self._data += piece
        found: list[Told] = []
        head = protocol.HEAD_BYTES
        while len(self._data) >= head:
            end = head + protocol.body_length(self._data[:head])
            if len(self._data) < end:
                break
            found.append(_told.decode(self._data[head:end]))
            self._data = self._data[end:]
        return found
