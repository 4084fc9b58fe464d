# SPDX-License-Identifier: MIT
"""Runs quiet.c: both ranks say what their threads wait for, and go on when it comes.

Usage: quiet.py COMMAND..., which starts the ranks.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

LIMIT = 500  # s: hangs only
WANTED = (
    r"rank 0 of 2: for \d+ s no operation of MPI has ended, and no thread runs:",
    r'rank 0: thread \d+\.\d+ "receives" waits in MPI_Recv source=1 tag=5 bytes=4 comm=MPI_COMM_W',
    r"rank 1 of 2: for \d+ s no operation of MPI has ended, and no thread runs:",
    r'rank 1: thread \d+\.\d+ "answers" waits in MPI_Recv source=0 tag=6 bytes=4 comm=MPI_COMM_W',
)


def main() -> None:
    with subprocess.Popen(
        sys.argv[1:],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PIRN_QUIET": "1"},
    ) as process:
        text = ""
        for line in process.stdout or ():
            text += line
            if all(re.search(f"pirn-mpi: +{wanted}", text) for wanted in WANTED):
                break
        else:
            sys.exit(f"quiet: the ranks have not said what they wait for: {text}")
        rest = process.communicate("", timeout=LIMIT)[0]
        if process.returncode != 0 or "quiet: over\n" not in rest:
            sys.exit(f"quiet: exit status {process.returncode}: {text}{rest}")
    print("quiet: done")


main()
