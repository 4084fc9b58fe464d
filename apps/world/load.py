# SPDX-License-Identifier: MIT
"""load.py http PORT PATH COUNT | memcached PORT | dns PORT: a load for a server on the loopback.

Eight clients at the same time, each with a connection of its own. Says a digest of all answers,
which does not depend on their order.
"""

from __future__ import annotations

import hashlib
import http.client
import socket
import struct
import sys
from concurrent.futures import ThreadPoolExecutor

CLIENTS = 8
HOST = "127.0.0.1"


def http_client(port: int, path: str, count: int) -> list[bytes]:
    connection = http.client.HTTPConnection(HOST, port)
    answers = []
    for _ in range(count):
        connection.request("GET", path)
        answer = connection.getresponse()
        answers.append(b"%d " % answer.status + answer.read())
    return answers


def memcached_client(port: int, number: int) -> list[bytes]:
    answers = []
    with socket.create_connection((HOST, port)) as connection, connection.makefile("rwb") as stream:
        for each in range(1500):
            key, value = b"key%d.%d" % (number, each % 100), b"%d" % each * (each % 50 + 1)
            stream.write(b"set %s 0 0 %d\r\n%s\r\nget %s\r\n" % (key, len(value), value, key))
            stream.flush()
            answers += [stream.readline() for _ in range(4)]
    return answers


def dns_client(port: int) -> list[bytes]:
    name = b"\4host\4pirn\0"
    answers = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.settimeout(60)
        one.connect((HOST, port))
        for each in range(1000):
            one.send(struct.pack(">6H", each, 0x100, 1, 0, 0, 0) + name + struct.pack(">2H", 1, 1))
            answers.append(one.recv(512))
    return answers


def run(kind: str, port: int, rest: list[str]) -> None:
    with ThreadPoolExecutor(CLIENTS) as pool:
        if kind == "http":
            count = int(rest[1]) // CLIENTS
            parts = [pool.submit(http_client, port, rest[0], count) for _ in range(CLIENTS)]
        elif kind == "memcached":
            parts = [pool.submit(memcached_client, port, number) for number in range(CLIENTS)]
        else:
            parts = [pool.submit(dns_client, port) for _ in range(CLIENTS)]
        answers = sorted(answer for part in parts for answer in part.result())
    total = hashlib.sha256(b"".join(answers)).hexdigest()
    print(f"{len(answers)} answers, {total}")


run(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
