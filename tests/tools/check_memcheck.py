# SPDX-License-Identifier: MIT
"""Runs a program under Valgrind and checks Valgrind's report.

usage: check_memcheck.py STATUS REGEX COMMAND...

The exit status must be STATUS, REGEX must match what is said on either stream; no switch may be
taken for a change of one stack's depth, and with status 0 Valgrind says nothing of its own.
"""

import re
import subprocess
import sys


def main() -> None:
    status, pattern, *command = sys.argv[1:]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    said = run.stdout + run.stderr
    # Its own signal, which the C library uses as well.
    left = re.sub(r"^==\d+==.*SIGRT32.*\n", "", run.stderr, flags=re.MULTILINE)
    if run.returncode != int(status):
        sys.exit(f"status {run.returncode}, {status} expected\n{said}")
    if not re.search(pattern, said, re.MULTILINE):
        sys.exit(f"nothing matches '{pattern}' in:\n{said}")
    if "client switching stacks" in said or (status == "0" and left):
        sys.exit(f"Valgrind has something to say:\n{said}")


if __name__ == "__main__":
    main()
