# SPDX-License-Identifier: MIT
"""Runs a program on another variant of a board's machine.

usage: machine.py OPTIONS -- pirn board run ...

OPTIONS go behind the machine's name, "virtualization=on" for instance. Ends with its status.
"""

from __future__ import annotations

import shlex
import subprocess
import sys


def variant(command: list[str], options: str) -> list[str]:
    where = command.index("-M") + 1
    return [*command[:where], f"{command[where]},{options}", *command[where + 1 :]]


def main() -> None:
    if len(sys.argv) < 4 or sys.argv[2] != "--":
        sys.exit(__doc__)
    asked = sys.argv[3:]
    at = asked.index("run") + 1
    printed = subprocess.run(
        [*asked[:at], "--dry-run", *asked[at:]], check=True, capture_output=True, text=True
    ).stdout
    done = subprocess.run(variant(shlex.split(printed), sys.argv[1]), timeout=240, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
