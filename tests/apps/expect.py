# SPDX-License-Identifier: MIT
"""Runs a program and checks how it ends.

usage: expect.py STATUS REGEX COMMAND...

The exit status must be STATUS, and standard output (standard error, if a failure
is expected) must match REGEX: what is wanted from a good run is its closing line,
from a bad one a sentence that names the fault.
"""

import re
import subprocess
import sys


def main() -> None:
    status, pattern, *command = sys.argv[1:]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    said = run.stdout if status == "0" else run.stderr
    if run.returncode != int(status):
        sys.exit(f"status {run.returncode}, {status} expected\n{run.stdout}{run.stderr}")
    if not re.search(pattern, said, re.MULTILINE):
        sys.exit(f"nothing matches '{pattern}' in:\n{said}")


if __name__ == "__main__":
    main()
