"""A rank of MPI: starts from ``isthmus run`` under a launcher and serves its device to the leader.

Rank 0 starts the leader: the same command again, with the runner, the run file and all output. Each
rank finds its device and replaces its program by this module, with the environment that its backend
and MPI need. No process starts after MPI is initialised.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection, Pipe
from typing import TYPE_CHECKING, NoReturn

import msgspec
import psutil

from isthmus import _core, interpreter
from isthmus.errors import IsthmusError, NoDeviceError, UsageError
from isthmus.measure import discovery, protocol
from isthmus.measure.plan import known_to
from isthmus.measure.ranks import (
    Hello,
    Interrupted,
    Rank,
    RankDevice,
    Rendezvous,
    connect,
    encode,
    send,
)
from isthmus.measure.selection import Identity
from isthmus.measure.worker import DeviceServer
from isthmus.output import warn
from isthmus.studies.base import Study
from isthmus.system import launcher, mpi
from isthmus.system.launcher import Place
from isthmus.system.memory import available_bytes

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

_END_S = 60.0
"""Seconds that a rank waits at most for MPI's finalisation, and then for the leader's end."""
_POLL_S = 0.002
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _start_leader(place: Place) -> tuple[subprocess.Popen[bytes], Connection]:
    ours, theirs = Pipe()
    process = subprocess.Popen(
        interpreter.command("isthmus", *sys.argv[1:]),
        env={
            **os.environ,
            launcher.LEADER: f"{theirs.fileno()},{place.size},{int(place.one_host)}",
            # The launcher forwards the output to a terminal or a file: write no colours.
            "TERM": "dumb",
            "TTY_COMPATIBLE": "0",
        },
        stdin=subprocess.DEVNULL,
        pass_fds=(theirs.fileno(),),
        # A signal that ends the ranks must not reach the leader, which still saves the results.
        start_new_session=True,
    )
    theirs.close()
    return process, ours


def _some_device(studies: Sequence[Study], turn: int) -> discovery.FoundDevice:
    """The device of rank ``turn`` in a run without ``--device``.

    Ranks share the devices of the first backend with joint operations for the studies.
    """
    for survey in discovery.surveys():
        able = [
            device
            for device in survey.devices
            if device.real
            and any(o.joint for study in studies for o in known_to(study, device.description))
        ]
        if able:
            return able[turn % len(able)]
    raise NoDeviceError("no device here has operations with other ranks: start it without mpirun")


def _device(
    place: Place, devices: Sequence[str], studies: Sequence[Study], before: Sequence[Identity]
) -> RankDevice | protocol.Failed:
    """The device of this rank, or why it has none; ranks take the named devices in turn."""
    try:
        if devices:
            address = devices[place.rank % len(devices)]
            own = before[place.rank] if before else None
            device = discovery.resolve(address, place.turn, before=own)
        else:
            device = _some_device(studies, place.turn)
    except IsthmusError as error:
        return protocol.Failed(str(error), usage=isinstance(error, UsageError))
    return RankDevice(device.address, device.backend.name, device.candidate, device.description)


def become_rank(
    place: Place,
    devices: Sequence[str],
    studies: Sequence[Study],
    before: Sequence[Identity],
) -> NoReturn:
    """Replaces this process by a rank.

    ``devices``: addresses that the user typed; may be empty. ``before``: identity of each rank's
    device in the run that is resumed; empty for a new run.
    """
    # Keep the reference to the leader's process: subprocess reaps unreferenced children, and then
    # this rank could not read the leader's exit code.
    leader, pipe = _start_leader(place) if place.rank == 0 else (None, None)
    device = _device(place, devices, studies, before)
    file = os.memfd_create("isthmus", 0)  # the program that replaces this one inherits it
    hello = Hello(
        place.rank, socket.gethostname(), os.getpid(), device, free_bytes=available_bytes()
    )
    os.write(file, encode(hello))
    arguments = [file]
    if leader and pipe:
        os.set_inheritable(pipe.fileno(), True)
        arguments += [leader.pid, pipe.fileno()]
    environment = dict(os.environ)
    if isinstance(device, RankDevice):
        environment.update(device.candidate.environment)
    environment.update(mpi.environment(environment))
    command = interpreter.command("isthmus.measure.rank", *arguments)
    os.execve(sys.executable, command, environment)


def _exit_code(leader: int) -> int:
    """Waits for the leader and returns its exit code; 0 on a rank that started no leader.

    1 if the leader was killed, with a message on how to resume the run, or does not end in time.
    """
    if not leader:
        return 0
    try:
        code = psutil.Process(leader).wait(_END_S)
    except psutil.Error:
        return 1
    if code is not None and code < 0:
        warn(
            f"the runner (process {leader}) was killed by {signal.Signals(-code).name}; "
            "its journal OUT.journal has the results: go on with --resume --out OUT"
        )
    return code if code is not None and code >= 0 else 1


def _rendezvous(world: Intracomm, pipe: Connection | None) -> Rendezvous | None:
    """The leader's rendezvous, broadcast by rank 0; None if the leader has ended."""
    message = b""
    if pipe:
        with contextlib.suppress(EOFError, OSError):
            message = pipe.recv_bytes()
    # Sleep until rank 0 is ready: a wait in the broadcast would keep each rank's processor busy
    # while the leader starts.
    ready = world.Ibarrier()
    while not ready.Test():
        time.sleep(_POLL_S)
    message = world.bcast(message)
    return msgspec.msgpack.decode(message, type=Rendezvous) if message else None


def _serve(hello: Hello, world: Intracomm, leader: int, pipe: Connection | None) -> None:
    """Answers the leader's requests until the leader ends."""
    rendezvous = _rendezvous(world, pipe)
    if rendezvous is None:
        return
    communicator = _core.single_process_communicator()
    try:
        communicator = _core.mpi_communicator(mpi.version(), mpi.handle(world))
    except RuntimeError as error:
        hello = msgspec.structs.replace(hello, device=protocol.Failed(str(error)))
    hello = msgspec.structs.replace(hello, mpi=mpi.in_use())

    def leave() -> NoReturn:
        """Ends this process in the middle of work; the launcher then ends ranks that hang."""
        os._exit(_exit_code(leader) or 1)

    try:
        connection = pipe or connect(rendezvous, world.size)
    except IsthmusError as error:
        warn(f"rank {hello.rank} ({hello.host}): {error}")
        os._exit(1)
    rank = Rank(connection, hello, world.size, lambda: communicator.activity.name, leave)
    threading.Thread(target=_report_signals, args=(rank,), daemon=True).start()
    server = DeviceServer(communicator)

    def answer(request: protocol.Request) -> protocol.Answer:
        """Answers a request. Ranks other than 0 leave the samples out: all ranks have the same."""
        answered = server.answer(request)
        if hello.rank and isinstance(answered, protocol.Measured):
            return msgspec.structs.replace(answered, parts=[])
        return answered

    rank.serve(answer)


def _report_signals(rank: Rank) -> None:
    while True:
        signal.sigwait(_SIGNALS)
        rank.send(Interrupted())


def _run(hello: Hello, leader: int, pipe: Connection | None) -> int:
    """Runs a rank until the leader ends it; returns the exit code."""
    place = launcher.place()
    assert place
    try:
        world = mpi.world(place)
    except IsthmusError as error:
        if pipe:
            send(pipe, protocol.Failed(str(error), usage=True))
            return _exit_code(leader)
        time.sleep(launcher.REPORT_S)  # so that rank 0 can report before the launcher ends all
        return error.exit_code
    _serve(hello, world, leader, pipe)
    # End this process after _END_S: MPI's finalisation waits for all ranks, and one may hang.
    last = threading.Timer(_END_S, os._exit, (1,))
    last.daemon = True
    last.start()
    mpi.finalise()
    last.cancel()
    return _exit_code(leader)


def main(hello: int, leader: int = 0, pipe: int = -1) -> NoReturn:
    """The program of a rank, which ``become_rank`` starts.

    ``hello``: descriptor of a file with the rank's first message. On rank 0, ``leader`` is the
    process id of the leader, its child, and ``pipe`` the descriptor of the pipe to it.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # MPI's threads inherit the mask
    os.dup2(2, 1)  # stdout to stderr: stdout carries only the leader's results
    with os.fdopen(hello, "rb") as file:
        file.seek(0)
        decoded = msgspec.msgpack.decode(file.read(), type=Hello)
    os._exit(_run(decoded, leader, Connection(pipe) if leader else None))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
