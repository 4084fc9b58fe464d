# SPDX-License-Identifier: MIT
"""Runs a program that is built with a sanitizer, and checks its report.

usage: check_report.py STATUS REGEX COMMAND...

The exit status must be STATUS (not0: any other than 0), REGEX must match what is said on either
stream; with status 0 nothing is said on standard error.
"""

import re
import subprocess
import sys


def main() -> None:
    status, pattern, *command = sys.argv[1:]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    said = run.stdout + run.stderr
    wrong = run.returncode <= 0 if status == "not0" else run.returncode != int(status)
    if wrong:
        sys.exit(f"status {run.returncode}, {status} expected\n{said}")
    if not re.search(pattern, said, re.MULTILINE | re.DOTALL):
        sys.exit(f"nothing matches '{pattern}' in:\n{said}")
    if status == "0" and run.stderr:
        sys.exit(f"something is reported of a correct program:\n{said}")


if __name__ == "__main__":
    main()
