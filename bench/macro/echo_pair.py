# SPDX-License-Identifier: MIT
"""Runs echo_server and echo_load against each other, for suite echo.

    echo_pair.py SERVER LOAD CONNECTIONS [--busy=N] [OPTION OF THE LOAD...]

With --busy as many other processes compute all the time.

Prints the load's line, and what the server used: server_cpu_us (processor time a message, kernel
and opening of the connections included) and server_kb (its largest resident set, a connection; what
the kernel keeps for threads and sockets is not in it).
"""

from __future__ import annotations

import argparse
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


def compute(processes: int) -> list[subprocess.Popen[bytes]]:
    return [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]


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
    """Start the load, which is not measured."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PIRN_")}


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("server")
    parser.add_argument("load")
    parser.add_argument("connections", type=int)
    parser.add_argument("--busy", type=int, default=0)
    args, options = parser.parse_known_args()
    command = [args.server, f"--serve={args.connections}", f"--connections={args.connections}"]
    others = compute(args.busy)
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        measure(server, args.load, args.connections, options)
    finally:
        for process in (server, *others):
            if process.returncode is None:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()
