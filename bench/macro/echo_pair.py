# SPDX-License-Identifier: MIT
"""Runs echo_server and echo_load against each other, for suite echo.

    echo_pair.py SERVER LOAD CONNECTIONS [OPTION OF THE LOAD...]

Prints the load's line, and what the server used: server_cpu_us (processor time a message, kernel
and opening of the connections included) and server_kb (its largest resident set, a connection; what
the kernel keeps for threads and sockets is not in it).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import NoReturn

PATIENCE = 15  # seconds without an answer


def fail(text: str) -> NoReturn:
    print(f"echo_pair: {text}", file=sys.stderr)
    sys.exit(1)


def port_of(server: subprocess.Popen[str]) -> str:
    line = server.stdout.readline() if server.stdout else ""
    match = re.search(r"listening port=(\d+)", line)
    if not match:
        fail(f"the server does not listen: {line.strip() or 'no output'}")
    return match[1]


def number_of(name: str, text: str) -> float:
    match = re.search(rf"\b{name}=([0-9.]+)", text)
    if not match:
        fail(f"no {name}= in: {text}")
    return float(match[1])


def measure(server: subprocess.Popen[str], load: str, connections: int, options: list[str]) -> None:
    command = [load, f"--port={port_of(server)}", f"--connections={connections}"]
    command += [f"--patience={PATIENCE}", *options]
    done = subprocess.run(command, env=without_pirn(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail((done.stderr or done.stdout).strip())
    said = server.stdout.read() if server.stdout else ""
    _, status, usage = os.wait4(server.pid, 0)
    server.returncode = os.waitstatus_to_exitcode(status)
    if server.returncode != 0:
        fail(f"the server's status is {server.returncode}")
    messages = number_of("messages", done.stdout) + connections
    cpu = (usage.ru_utime + usage.ru_stime) / messages
    memory = number_of("resident_kb", said) / connections
    print(f"{done.stdout.strip()} server_cpu_us={cpu * 1e6:.3f} server_kb={memory:.2f}")


def without_pirn() -> dict[str, str]:
    """The load is no part of what is measured."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PIRN_")}


def main() -> None:
    server_path, load, connections, *options = sys.argv[1:]
    command = [server_path, f"--serve={connections}", f"--connections={connections}"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        measure(server, load, int(connections), options)
    finally:
        if server.returncode is None:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
