"""From ``isthmus run`` under a launcher of MPI to ranks and the process that leads them.

Rank 0 starts that process: the same command again, with the runner, the run file and everything
that is printed. Then each rank looks for its device and turns itself into a worker (``rank``), all
before MPI is initialised: nothing may be started afterwards.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

import msgspec

from isthmus.errors import IsthmusError, NoDeviceError, UsageError
from isthmus.measure import discovery, mpi
from isthmus.measure.plan import known_to
from isthmus.measure.rank import Orders
from isthmus.measure.ranks_protocol import Seat
from isthmus.measure.session import LED
from isthmus.studies import Study
from isthmus.system.launcher import Place, without_place


def _lead(place: Place) -> tuple[subprocess.Popen[bytes], int]:
    """Starts the process that leads; returns it and the descriptor to it."""
    ours, theirs = socket.socketpair()
    led = f"{theirs.fileno()},{place.size},{int(place.one_host)}"
    process = subprocess.Popen(
        [sys.executable, "-m", "isthmus", *sys.argv[1:]],
        # What it prints goes through the launcher, also where that looks like a terminal.
        env={**without_place(os.environ), LED: led, "TERM": "dumb", "TTY_COMPATIBLE": "0"},
        stdin=subprocess.DEVNULL,
        pass_fds=(theirs.fileno(),),
        start_new_session=True,  # what ends the ranks must not end it: it keeps what was measured
    )
    theirs.close()
    return process, ours.detach()


def _some_device(studies: Sequence[Study], turn: int) -> discovery.Found:
    """One of the first backend that has what ranks do together, where none was asked for."""
    for here in discovery.surveys():
        able = [
            one
            for one in here.found
            if one.real
            and any(o.joint for study in studies for o in known_to(study, one.description))
        ]
        if able:
            return able[turn % len(able)]
    raise NoDeviceError("no device here does anything together with others")


def _seat(place: Place, devices: Sequence[str], studies: Sequence[Study]) -> Seat:
    """The device of this rank: those that were named go round."""
    try:
        if devices:
            found = discovery.resolve(devices[place.rank % len(devices)], place.local_rank)
        else:
            found = _some_device(studies, place.local_rank)
    except IsthmusError as error:
        return Seat(error=str(error), usage=isinstance(error, UsageError))
    way = dataclasses.replace(
        found.candidate,
        environment=dict(found.candidate.environment),
        keys=dict(found.candidate.keys),
    )
    return Seat(found.address, found.backend.name, way, found.description)


def _kept_open(text: bytes) -> int:
    """A descriptor that this text can be read from, also by what this process turns into."""
    descriptor = os.memfd_create("isthmus", 0)
    os.write(descriptor, text)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def take_part(place: Place, devices: Sequence[str], studies: Sequence[Study]) -> NoReturn:
    """Turns this process into a rank; ``devices`` are addresses as typed, or none."""
    # Kept until the end: one that nobody keeps is waited for by whoever starts the next process.
    leader, meeting = _lead(place) if place.rank == 0 else (None, -1)
    seat = _seat(place, devices, studies)
    if leader:
        os.set_inheritable(meeting, True)
    orders = _kept_open(
        msgspec.json.encode(Orders(place, seat, leader.pid if leader else 0, meeting))
    )
    environment = {**os.environ, **(seat.candidate.environment if seat.candidate else {})}
    environment.update(mpi.environment(environment))
    command = [sys.executable, "-m", "isthmus.measure.rank", str(orders)]
    os.execve(sys.executable, command, environment)
