"""A rank's process: its device's worker, among others that a launcher of MPI started.

``ranks`` turns itself into it, with the environment that the device's backend declares. Nothing is
started from here on.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

import msgspec

from isthmus import _core
from isthmus.errors import IsthmusError
from isthmus.measure import mpi, protocol
from isthmus.measure.ranks_protocol import (
    BEAT_S,
    SECRET_BYTES,
    Beat,
    Hello,
    Meeting,
    Seat,
    Signalled,
    prepare,
    read,
)
from isthmus.measure.worker import Worker
from isthmus.system.launcher import FIRST_WORD_S, Place

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

_CONNECT_S = 10.0
_END_S = 60.0
"""The leading process has so long to end once it has let go of the ranks."""


class Orders(msgspec.Struct, frozen=True):
    """What the process was told before it turned into this one."""

    place: Place
    seat: Seat
    leader: int = 0
    """Rank 0 only: the process that leads all, its child ..."""
    meeting: int = -1
    """... and the descriptor on which it says where."""


class _Line:
    """The connection to the leading process, and a thread that keeps it while the rank works.

    The thread says that the rank lives, what it is at and which signals it got, and ends it when
    the leading process is gone: a rank that waits for another one in MPI would never notice.
    """

    def __init__(
        self, connection: socket.socket, leader: int, communicator: _core.Communicator
    ) -> None:
        self._connection = connection
        self._communicator = communicator
        self._leader = leader
        self._sending = threading.Lock()
        self._busy = False
        self._signals = _signals()
        self._requests = connection.makefile("rb")
        threading.Thread(target=self._keep, daemon=True).start()

    def send(self, message: msgspec.Struct) -> None:
        """Says something, unless nobody is there any more."""
        with self._sending, contextlib.suppress(OSError):
            self._connection.sendall(protocol.frame(message))

    def request(self) -> protocol.Request | None:
        """What is asked next; None when the leading process has let go of its ranks."""
        try:
            return protocol.receive_request(self._requests)
        except OSError:  # it never read the last that was said
            return None

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """While the rank works and does not listen."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False

    def _keep(self) -> None:
        while True:
            watched: list[int | socket.socket] = [self._signals]
            if self._busy:
                watched.append(self._connection)
            ready, _, _ = select.select(watched, [], [], BEAT_S)
            if self._signals in ready:
                for number in os.read(self._signals, 16):
                    self.send(Signalled(number))
            # Busy still: else it let go of a rank that had answered, and that ends in peace.
            if self._connection in ready and self._is_cut() and self._busy:
                leave(self._leader)
            self.send(Beat(self._communicator.activity.name))

    def _is_cut(self) -> bool:
        try:
            return not self._connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:  # the rank itself took what was there
            return False
        except OSError:
            return True


def _signals() -> int:
    """A descriptor that tells which signals came, also while no Python runs."""
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: None)
    signal.set_wakeup_fd(tell)
    return told


def _ended(leader: int) -> int:
    """Exit code of the leading process once it has ended; 0 where it is not this one's child."""
    if not leader:
        return 0
    deadline = time.monotonic() + _END_S
    while time.monotonic() < deadline:
        try:
            pid, status = os.waitpid(leader, os.WNOHANG)
        except ChildProcessError:
            return 1
        if pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 1
        time.sleep(0.01)
    return 1


def leave(leader: int) -> NoReturn:
    """Ends in the middle of work; the launcher then ends those who cannot."""
    os._exit(_ended(leader) or 1)


def _meeting(orders: Orders, world: Intracomm) -> Meeting | None:
    """Where to meet, as rank 0 knows it; None when the run is over before it began."""
    told = b""
    if orders.leader:
        with socket.socket(fileno=os.dup(orders.meeting)) as leader:
            size = read(leader, protocol.HEAD_BYTES)
            told = read(leader, protocol.body_length(size)) if size else b""
    told = world.bcast(told)
    return msgspec.msgpack.decode(told, type=Meeting) if told else None


def _connected(meeting: Meeting) -> socket.socket:
    problems: list[str] = []
    for host in meeting.hosts:
        try:
            connection = socket.create_connection((host, meeting.port), _CONNECT_S)
            connection.sendall(meeting.password)
        except OSError as error:
            problems.append(f"{host}: {error.strerror or error}")
            continue
        if read(connection, SECRET_BYTES) == meeting.countersign:
            prepare(connection)
            return connection
        problems.append(f"{host}: somebody else is there")
    raise IsthmusError(f"cannot reach rank 0's host ({'; '.join(problems)}); TCP is needed to it")


def _serve(line: _Line, communicator: _core.Communicator) -> None:
    """Answers until the leading process lets go of its ranks."""
    worker = Worker(communicator)
    while (request := line.request()) is not None:
        with line.busy():
            answer = worker.answer(request)
        line.send(answer)


def take_part(orders: Orders) -> int:
    """Serves as a rank; returns the process's exit code."""
    place = orders.place
    try:
        world = mpi.world(place)
    except IsthmusError as error:
        if not orders.leader:  # most likely all are in the same place, and rank 0 says it
            time.sleep(FIRST_WORD_S)
            return error.exit_code
        with socket.socket(fileno=os.dup(orders.meeting)) as leader:
            leader.sendall(str(error).encode())
        return _ended(orders.leader)
    meeting = _meeting(orders, world)
    if meeting is not None:
        seat = orders.seat
        communicator = _core.alone_communicator()
        try:
            communicator = _core.mpi_communicator(mpi.version(), mpi.handle(world))
        except RuntimeError as error:
            seat = Seat(error=str(error))
        host = socket.gethostname()
        try:
            line = _Line(_connected(meeting), orders.leader, communicator)
        except IsthmusError as error:
            print(f"isthmus: rank {place.rank} ({host}): {error}", file=sys.stderr, flush=True)
            leave(orders.leader)
        line.send(Hello(place.rank, host, os.getpid(), mpi.in_use(), seat))
        _serve(line, communicator)
    # Collective: a rank that hangs elsewhere would keep this one for ever.
    last = threading.Timer(_END_S, os._exit, (1,))
    last.daemon = True
    last.start()
    mpi.finalise()
    last.cancel()
    return _ended(orders.leader)


def main(arguments: list[str]) -> NoReturn:
    """ORDERS_FD: what ``ranks`` turns itself into."""
    with os.fdopen(int(arguments[0]), "rb") as file:
        orders = msgspec.json.decode(file.read(), type=Orders)
    os.dup2(2, 1)  # results are the leading process's alone
    os._exit(take_part(orders))


if __name__ == "__main__":
    main(sys.argv[1:])
