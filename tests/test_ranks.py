"""The connections between a leader and its ranks: many of them, and strangers."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Pipe
from pathlib import Path

import msgspec
import pytest

from conftest import LIMIT_S, slow
from isthmus.errors import IsthmusError
from isthmus.measure import protocol
from isthmus.measure.ranks import Hello, Leader, Rank, Rendezvous, connect, encode

SCRIPT = Path(__file__).with_name("many_ranks.py")
MANY = 2000
"""``select`` knows descriptors below 1024 only."""
PROCESSES = 25
OTHER_FILES = 100


def led(ranks: int, most_files: int) -> subprocess.CompletedProcess[str]:
    """So many ranks, led by a process that may open so many files."""
    command = f'ulimit -n {most_files}; exec "$@"'
    return subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, SCRIPT, "lead", str(ranks), str(PROCESSES)],
        timeout=LIMIT_S, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_2000_ranks_are_led() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if 0 <= hard < MANY + OTHER_FILES:
        pytest.skip(f"a process may open {hard} files here, fewer than {MANY} ranks need")
    done = led(MANY, MANY + OTHER_FILES)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["descriptors"] > MANY
    assert (seen["members"], seen["described"]) == (MANY, MANY)
    assert seen["parts"] == 1 + MANY
    assert seen["unknown"] == "WorkerRefusedError: host has no operation 'teleport'"  # once
    assert seen["ended"].startswith(f"WorkerDiedError: rank {MANY // 2} ({socket.gethostname()}, ")
    assert seen["ended"].endswith("ended before its time")


def test_a_limit_that_is_too_low_is_told_with_its_cure() -> None:
    done = led(MANY, 256)
    assert done.returncode != 0
    assert "lets a process open 256 files" in done.stderr
    assert "ulimit -Hn" in done.stderr


def hello(rank: int, host: str) -> Hello:
    return Hello(rank, host, os.getpid(), protocol.Failed(f"no device on {host}"))


def failing(_request: protocol.Request) -> protocol.Answer:
    return protocol.Failed("not here")


def received(address: tuple[str, int], message: bytes) -> bytes:
    """All that the leader sends on a connection with this message, until it closes it."""
    answer = b""
    with socket.create_connection(address, LIMIT_S) as tcp:
        tcp.sendall(message)
        with contextlib.suppress(ConnectionResetError):
            while piece := tcp.recv(1 << 12):
                answer += piece
    return answer


@pytest.mark.parametrize("one_host", [True, *slow(False)])
def test_strangers_take_no_part(one_host: bool) -> None:
    pipe, of_leader = Pipe()
    sent: list[bytes] = []
    silent: list[socket.socket] = []

    def serve(number: int, rendezvous: Rendezvous) -> None:
        connection = connect(rendezvous, 2) if number else pipe
        Rank(connection, hello(number, "ours"), 2, lambda: "working", sys.exit).serve(failing)

    def strangers(address: tuple[str, int]) -> None:
        silent.append(socket.create_connection(address, LIMIT_S))
        first = encode(hello(1, "a stranger"))
        sent.append(received(address, b"GET / HTTP/1.1\r\n\r\n"))
        sent.append(received(address, len(first).to_bytes(4, "big") + first))
        with pytest.raises(AuthenticationError):
            Client(address, authkey=b"guessed")
        sent.append(b"")

    def follow() -> None:
        with pipe:
            rendezvous = msgspec.msgpack.decode(pipe.recv_bytes(), type=Rendezvous)
            strangers(("127.0.0.1", rendezvous.port))
            threading.Thread(target=serve, args=(1, rendezvous), daemon=True).start()
            serve(0, rendezvous)

    following = threading.Thread(target=follow, daemon=True)
    following.start()
    leader = Leader(of_leader, 2, one_host=one_host)
    assert len(sent) == 3
    assert all(b"#CHALLENGE#" in answer for answer in sent[:2])
    assert not any(b"#WELCOME#" in answer or b"ListDevices" in answer for answer in sent)
    assert silent[0].recv(1 << 12)
    assert silent[0].recv(1) == b""  # it got a challenge, and was sent away in the end
    assert [rank.hello.host for rank in leader.ranks] == ["ours", "ours"]
    answers = leader.ask([protocol.ListDevices("any")] * 2, LIMIT_S)
    assert answers == [protocol.Failed("not here")] * 2
    for rank in leader.ranks:
        rank.connection.close()
    following.join(LIMIT_S)
    assert not following.is_alive()


def test_a_rank_does_not_take_a_stranger_for_its_leader() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        rendezvous = Rendezvous(["127.0.0.1"], server.getsockname()[1], b"key")

        def answer() -> None:
            with server.accept()[0] as tcp:
                tcp.sendall(b"220 ready\r\n")

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(IsthmusError, match=r"cannot reach rank 0's host \(127.0.0.1: "):
            connect(rendezvous, 2)
