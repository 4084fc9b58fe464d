# SPDX-License-Identifier: MIT
"""Checks echo_server and echo_load.

usage: check_echo.py run SERVER LOAD CONNECTIONS [OPTION...]    options are the load's
       check_echo.py faults LOAD          servers that answer wrongly; the load must say how
       check_echo.py leaving SERVER       peers that break off; the server goes on
       check_echo.py limit SERVER         too few descriptors: raised if allowed, else refused
"""

from __future__ import annotations

import contextlib
import re
import resource
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable

LIMIT = 200  # seconds: only a hang takes so long


def fields(line: str) -> dict[str, str]:
    return dict(re.findall(r"(\w+)=(\S+)", line))


def start_server(server: str, connections: int) -> tuple[subprocess.Popen[str], int]:
    command = [server, f"--serve={connections}", f"--connections={connections}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    line = process.stdout.readline()
    if "port" not in fields(line):
        sys.exit(f"the server said: {line}")
    return process, int(fields(line)["port"])


def last_line(process: subprocess.Popen[str]) -> dict[str, str]:
    try:
        said = process.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit("the server does not end")
    if process.returncode != 0:
        sys.exit(f"the server's status is {process.returncode}")
    return fields(said)


def run(server: str, load: str, connections: int, options: list[str]) -> None:
    process, port = start_server(server, connections)
    command = [load, f"--port={port}", f"--connections={connections}", *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit("the load does not end")
    if done.returncode != 0:
        process.kill()
        sys.exit(f"the load's status is {done.returncode}\n{done.stdout}{done.stderr}")
    ours, theirs = fields(done.stdout), last_line(process)
    sent = (int(ours["messages"]) + connections) * int(ours["size"])  # one each, when opened
    if (theirs["bytes"], theirs["reset"], ours["lost"]) != (str(sent), "0", "0"):
        sys.exit(f"{sent} bytes were sent\n{ours}\n{theirs}")
    if theirs["most_open"] != str(connections):
        sys.exit(f"{theirs['most_open']} connections were open at once, not {connections}")
    print(done.stdout)


def answer_with(change: Callable[[bytes], bytes | None]) -> int:
    """A server for one connection, in a thread; `change` gives the answer, None to close."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection = listener.accept()[0]
        with connection, contextlib.suppress(ConnectionResetError):
            while data := connection.recv(65536):
                answer = change(data)
                if answer is None:
                    return
                connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return int(listener.getsockname()[1])


def flipped_late() -> Callable[[bytes], bytes]:
    """The fifth message comes back with one bit wrong in its last byte."""
    seen = 0

    def change(data: bytes) -> bytes:
        nonlocal seen
        seen += len(data)
        return data if seen < 5 * 64 else data[:-1] + bytes([data[-1] ^ 1])

    return change


def faults(load: str) -> None:
    cases: list[tuple[Callable[[bytes], bytes | None], str]] = [
        (flipped_late(), r"connection 0, message 5, byte 63: 0x\w+ came back, not 0x"),
        (lambda data: data + b"x", "came back"),
        (lambda _: None, "the server closed it|reset by peer"),
        (lambda _: b"", "no answer for --patience=1 seconds on 1 connections"),
    ]
    for change, pattern in cases:
        command = [load, f"--port={answer_with(change)}", "--connections=1", "--messages=10"]
        done = subprocess.run(
            [*command, "--patience=1"], capture_output=True, text=True, timeout=LIMIT, check=False
        )
        if done.returncode != 1 or not re.search(pattern, done.stderr):
            sys.exit(f"status {done.returncode}; {pattern!r} is not in:\n{done.stderr}")


def leaving(server: str) -> None:
    """One breaks off with unread data (a reset), one closes; a third is served afterwards."""
    process, port = start_server(server, 3)
    for linger in (struct.pack("ii", 1, 0), struct.pack("ii", 0, 0)):
        with socket.create_connection(("127.0.0.1", port)) as peer:
            peer.sendall(b"half a mess")
            peer.recv(1)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall(b"whole")
        peer.shutdown(socket.SHUT_WR)
        if peer.makefile("rb").read() != b"whole":
            sys.exit("the third is not served")
    found = last_line(process)
    if int(found["reset"]) < 1:
        sys.exit(f"no connection was reset: {found}")


def limit(server: str) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 101))
        privileged = True
    except (ValueError, PermissionError):
        privileged = False
    command = [server, "--connections=100"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    said = process.stdout.readline()
    if said:
        process.kill()
    errors = process.communicate(timeout=LIMIT)[1]
    if privileged and "listening" not in said:
        sys.exit(f"the limit is not raised: {errors}")
    if not privileged and not re.search("164 descriptors are needed.* limit is 100 ", errors):
        sys.exit(f"not refused by name: {said}{errors}")


def main() -> None:
    what, *rest = sys.argv[1:]
    if what == "run":
        run(rest[0], rest[1], int(rest[2]), rest[3:])
    elif what == "faults":
        faults(rest[0])
    elif what == "leaving":
        leaving(rest[0])
    elif what == "limit":
        limit(rest[0])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
