# SPDX-License-Identifier: MIT
"""Runs a program on a board and checks its exit status and output.

usage: expect.py --status N --match REGEX [--input TEXT [--after S]] -- COMMAND...

Standard output and error are taken together. TEXT and a line end are written S seconds after the
program has printed "ready".
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time


def run(command: list[str], text: str | None, after: float) -> tuple[int, str]:
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert child.stdin is not None
    assert child.stdout is not None
    said = []
    for line in child.stdout:
        said.append(line)
        if text is not None and line.strip() == "ready":
            time.sleep(after)
            child.stdin.write(text + "\n")
            child.stdin.flush()
    return child.wait(), "".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--status", type=int, required=True)
    parser.add_argument("--match", required=True)
    parser.add_argument("--input")
    parser.add_argument("--after", type=float, default=0)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    status, said = run(options.command, options.input, options.after)
    said = said.replace("\r\n", "\n")
    if status != options.status:
        sys.exit(f"status {status}, {options.status} expected\n{said}")
    if not re.search(options.match, said):
        sys.exit(f"nothing matches '{options.match}' in:\n{said}")


if __name__ == "__main__":
    main()
