"""Many ranks in few processes, for ``test_ranks``: all but MPI is as under a launcher.

``lead SIZE PROCESSES`` starts and leads them, and says what it saw as a line of JSON.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from typing import NoReturn

import msgspec

from isthmus import _core
from isthmus.errors import IsthmusError
from isthmus.measure import protocol
from isthmus.measure.discovery import resolve
from isthmus.measure.joint import RankGroup
from isthmus.measure.ranks import Hello, Leader, Rank, RankDevice, Rendezvous, connect
from isthmus.measure.worker import DeviceServer

USUAL_FILES = 256
"""What the leader may open before it raises that limit."""


def unknown_operation(ending: int) -> protocol.Measure:
    """A request that every rank refuses; the rank with the number ``ending`` ends instead."""
    criterion = protocol.Criterion(precision=0.9, confidence=0.95, most_seconds=1.0)
    return protocol.Measure("teleport", 64 + ending, "aligned", {}, criterion, 0.1)


def error_of(ask: Callable[[], object]) -> str:
    try:
        ask()
    except IsthmusError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def lead(size: int, processes: int) -> None:
    """Asks them all, until one ends."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (USUAL_FILES, hard))
    ours, theirs = Pipe()
    subprocess.Popen(
        [sys.executable, __file__, "follow", str(size), str(processes), str(theirs.fileno())],
        pass_fds=(theirs.fileno(),),
    )
    theirs.close()
    group = RankGroup(Leader(ours, size, one_host=True))
    device = group.open_devices({})
    unknown = error_of(lambda: group.ask(unknown_operation(0), 60.0))
    ended = error_of(lambda: group.ask(unknown_operation(size // 2), 60.0))
    exchange = next(one for one in device.description.operations if one.name == "exchange")
    print(json.dumps({
        "descriptors": len(os.listdir("/proc/self/fd")),
        "members": len(group.members),
        "described": len(group.described()["ranks"]),
        "parts": len(exchange.parts),
        "unknown": unknown,
        "ended": ended,
    }), flush=True)  # fmt: skip


def serve(
    numbers: range, size: int, device: RankDevice, rendezvous: Rendezvous, pipe: Connection | None
) -> None:
    """Serves as these ranks, which connect at once; rank 0 by its pipe."""
    barrier = threading.Barrier(len(numbers))
    ended: set[int] = set()

    def take_part(number: int) -> None:
        barrier.wait()
        connection = pipe if pipe and not number else connect(rendezvous, size)
        hello = Hello(number, socket.gethostname(), os.getpid(), device, "none")

        def leave() -> NoReturn:
            if number in ended:
                sys.exit()  # its thread
            os._exit(0)

        rank = Rank(connection, hello, size, lambda: "working", leave)
        server = DeviceServer(_core.single_process_communicator())

        def answer(request: protocol.Request) -> protocol.Answer:
            if isinstance(request, protocol.Measure) and request.bytes - 64 == number > 0:
                ended.add(number)
                with socket.socket(fileno=os.dup(connection.fileno())) as tcp:
                    tcp.shutdown(socket.SHUT_RDWR)  # as at the end of its process
                sys.exit()
            return server.answer(request)

        rank.serve(answer)

    threading.stack_size(1 << 20)
    threads = [threading.Thread(target=take_part, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def follow(size: int, processes: int, descriptor: int) -> None:
    """Is all ranks, in so many processes."""
    host = resolve("host")
    device = RankDevice("host", host.backend.name, host.candidate, host.description)
    pipe = Connection(descriptor)
    rendezvous = msgspec.msgpack.decode(pipe.recv_bytes(), type=Rendezvous)
    each = -(-size // processes)
    for begin in range(each, size, each):
        if not os.fork():
            pipe.close()
            serve(range(begin, min(begin + each, size)), size, device, rendezvous, None)
            os._exit(0)
    serve(range(min(each, size)), size, device, rendezvous, pipe)


if __name__ == "__main__":
    {"lead": lead, "follow": follow}[sys.argv[1]](*map(int, sys.argv[2:]))
