# SPDX-License-Identifier: MIT
"""Runs killed.c. When a rank is killed, mpirun ends the others and says so. When one is stopped, of
which mpirun knows nothing, the others say what they wait for, until somebody kills it.

Usage: killed.py PROGRAM -- MPIRUN...
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

RANKS, KILLED = 3, 1
THREADS, LINES = 300, 100  # of killed.c, and as many as a report names
LIMIT = 500  # s: hangs only
PROCESS = re.compile(r"rank (\d): process (\d+)\n")
REPORT = (  # of a rank; the other thread is in MPI_Barrier
    r"pirn-mpi: rank {0} of 3: for \d+ s no operation of MPI has ended, and no thread runs:\n",
    r"pirn-mpi:   rank {0}: thread \d+\.\d+ \".*\" waits in MPI_Recv source=1 tag=\d+ bytes=4 ",
    rf"pirn-mpi:   rank {{0}}: and {THREADS + 1 - LINES} threads more\n",
)


def fail(text: str) -> None:
    sys.exit(f"killed: {text}")


def is_there(pid: int) -> bool:
    """A process that has ended and is waited for by nobody is not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def processes(text: str) -> dict[int, int]:
    return {int(rank): int(pid) for rank, pid in PROCESS.findall(text)}


def check_gone(text: str) -> None:
    pids = processes(text)
    if len(pids) != RANKS or "failed:" in text:
        fail(f"expected {RANKS} ranks, and no failure: {text}")
    until = time.monotonic() + LIMIT
    while any(is_there(pid) for pid in pids.values()):
        if time.monotonic() > until:
            fail(f"ranks have not ended: {text}")
        time.sleep(0.05)


def start(words: list[str], **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **variables},
    )


def check_end(process: subprocess.Popen[str], text: str) -> None:
    """mpirun has ended, all ranks end, and mpirun says why."""
    check_gone(text)
    if process.returncode == 0 or not re.search(r"\b[Kk]illed\b|KILLED", text):
        fail(f"mpirun does not say that a rank was killed: {process.returncode}, {text}")


def killed(words: list[str]) -> None:
    with start([*words, str(int(signal.SIGKILL))]) as process:
        text = process.communicate(timeout=LIMIT)[0]
    check_end(process, text)


def stopped(words: list[str]) -> None:
    left = [rank for rank in range(RANKS) if rank != KILLED]
    wanted = [line.format(rank) for rank in left for line in REPORT]
    with start([*words, str(int(signal.SIGSTOP))], PIRN_QUIET="1") as process:
        text = ""
        for line in process.stdout or ():
            text += line
            if all(re.search(one, text) for one in wanted):
                break
        else:
            fail(f"the ranks have not said what they wait for: {text}")
        os.kill(processes(text)[KILLED], signal.SIGKILL)
        text += process.communicate(timeout=LIMIT)[0]
    check_end(process, text)


def main() -> None:
    program, _, *mpirun = sys.argv[1:]
    words = [*mpirun, "-n", str(RANKS), program]
    killed(words)
    stopped(words)
    print("killed: done")


main()
