# SPDX-License-Identifier: MIT
"""The clients of a server, in one process: python -m pirn_tools.soak.client KIND ...

Requests are due at random moments that do not depend on replies (a Poisson process of the given
rate), as those of many users are. A latency is counted from the moment at which the request was due
to the last byte of its reply: a server that stalls delays all requests that are due meanwhile, and
all of them show it. Each connection has one request at a time and is closed after some. What a
reply has to be is known beforehand.

Writes into the current folder: latencies (microseconds, each an unsigned int), and at the end
result.json. SIGTERM ends it early, in the same way.
"""

from __future__ import annotations

import argparse
import json
import random
import select
import signal
import socket
import sys
import time
from array import array
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import IO

from pirn_tools.soak.protocols import PROTOCOLS, Protocol, ReplyError

HOST = "127.0.0.1"
PATIENCE = 120.0  # seconds for a reply: only a hang takes as long
DRAIN = 120.0  # seconds after the end for requests that are due and not sent yet
LATENCIES, RESULT = "latencies", "result.json"
KEPT_ERRORS = 20
PART = 4096  # latencies are written so many at a time


class Connection:
    """One connection, and the request that waits for its reply."""

    def __init__(self, protocol: Protocol, port: int, lifetime: int) -> None:
        self.protocol = protocol
        self.port = port
        self.lifetime = lifetime
        self.socket: socket.socket | None = None
        self.served = 0
        self.due = self.sent = 0.0

    def send(self, due: float, now: float) -> None:
        self.due, self.sent = due, now
        if self.socket is None:
            self.socket = socket.create_connection((HOST, self.port), timeout=PATIENCE)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.served = 0
        self.socket.sendall(self.protocol.request())

    def receive(self) -> bool:
        """Takes what has come; whether the reply is whole. ReplyError if it is not as expected."""
        assert self.socket is not None  # noqa: S101, only then it is selected
        data = self.socket.recv(1 << 16)
        if not data:
            raise ReplyError("the server has closed the connection")
        if not self.protocol.reply(data):
            return False
        self.served += 1
        if self.served == self.lifetime:
            self.close()
        return True

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None


class Clients:
    """All connections; the loop that keeps them busy."""

    def __init__(self, connections: list[Connection], rate: float, warm_up: float) -> None:
        self.idle = deque(connections)
        self.busy: dict[socket.socket, Connection] = {}
        self.rate = rate
        self.warm_up = warm_up
        self.latencies = array("I")
        self.done = self.failed = 0
        self.worst, self.worst_at = 0, 0.0  # the longest latency, seconds since the start
        self.errors: list[str] = []
        self.stopped = False

    def stop(self, _: int, __: FrameType | None) -> None:
        self.stopped = True

    def run(self, seconds: float, out: IO[bytes]) -> None:
        chance = random.Random(1)
        waiting: deque[float] = deque()  # requests that are due, and have no connection
        start = time.monotonic()
        due = start + chance.expovariate(self.rate)
        end = start + seconds
        while self.busy or waiting or (due < end and not self.stopped):
            now = time.monotonic()
            if self.stopped or now - end > DRAIN:
                due = end
                self._give_up(waiting)
            while due <= now and due < end:
                waiting.append(due)
                due += chance.expovariate(self.rate)
            while waiting and self.idle:
                self._send(waiting.popleft(), now)
            limit = min(due - time.monotonic(), 1.0) if due < end else 1.0
            self._receive(max(0.0, limit), start)
            if len(self.latencies) >= PART:
                self._write(out)
        self._write(out)
        for one in self.idle:
            one.close()

    def _give_up(self, waiting: deque[float]) -> None:
        if waiting and not self.stopped:
            self.failed += len(waiting)
            self.errors.append(
                f"the server is too slow for the rate: {len(waiting)} requests had not been sent "
                f"{DRAIN:.0f} s after the end"
            )
        waiting.clear()

    def _write(self, out: IO[bytes]) -> None:
        self.latencies.tofile(out)
        del self.latencies[:]

    def _send(self, due: float, now: float) -> None:
        one = self.idle.popleft()
        try:
            one.send(due, now)
            assert one.socket is not None  # noqa: S101
            self.busy[one.socket] = one
        except OSError as error:
            self._fail(one, str(error))

    def _receive(self, limit: float, start: float) -> None:
        if not self.busy:
            time.sleep(limit)
            return
        ready, _, _ = select.select(list(self.busy), [], [], limit)
        now = time.monotonic()
        for each in ready:
            one = self.busy[each]
            try:
                if one.receive():
                    self._done(each, one, start)
            except (OSError, ReplyError) as error:
                del self.busy[each]
                self._fail(one, str(error))
        for each, one in list(self.busy.items()):
            if now - one.sent > PATIENCE:
                del self.busy[each]
                self._fail(one, f"no reply within {PATIENCE:.0f} s")

    def _done(self, each: socket.socket, one: Connection, start: float) -> None:
        now = time.monotonic()
        self.done += 1
        if one.due - start >= self.warm_up:
            latency = min(round((now - one.due) * 1e6), 0xFFFFFFFF)
            self.latencies.append(latency)
            if latency > self.worst:
                self.worst, self.worst_at = latency, now - start
        del self.busy[each]
        self.idle.append(one)

    def _fail(self, one: Connection, why: str) -> None:
        self.failed += 1
        if len(self.errors) < KEPT_ERRORS:
            self.errors.append(why)
        one.close()
        one.protocol.forget()
        self.idle.append(one)
        if self.failed > 10 * KEPT_ERRORS:
            self.stopped = True  # enough is known


def run(
    make: Callable[[int], Protocol],
    port: int,
    connections: int,
    lifetime: int,
    rate: float,
    seconds: float,
    warm_up: float,
) -> None:
    every = [Connection(make(number), port, lifetime) for number in range(connections)]
    clients = Clients(every, rate, warm_up)
    signal.signal(signal.SIGTERM, clients.stop)
    with Path(LATENCIES).open("wb") as out:
        clients.run(seconds, out)
    result = {"done": clients.done, "failed": clients.failed, "errors": clients.errors}
    Path(RESULT).write_text(json.dumps({**result, "worst_at": clients.worst_at}))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=sorted(PROTOCOLS))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--lifetime", type=int, required=True, help="Requests of a connection.")
    parser.add_argument("--rate", type=float, required=True, help="Requests a second.")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--warm-up", type=float, required=True, help="Seconds without latencies.")
    given = parser.parse_args(arguments)
    run(
        PROTOCOLS[given.kind],
        given.port,
        given.connections,
        given.lifetime,
        given.rate,
        given.seconds,
        given.warm_up,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
