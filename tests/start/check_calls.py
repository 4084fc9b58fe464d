# SPDX-License-Identifier: MIT
"""check_calls.py CALLS.DEF LIBRARY: has each name that the library exports a line in calls.def?"""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
from pathlib import Path


def exported(library: str) -> set[str]:
    """Names without versions."""
    command = ["nm", "-D", "--defined-only", library]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def main() -> int:
    """Print missing names, and lines that match none."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    called = set(re.findall(r"^CALL\((\w+),", text, re.MULTILINE))
    left = re.findall(r"^LEFT\(([\w*]+),", text, re.MULTILINE)
    names = exported(sys.argv[2])
    problems = [
        f"{name}: exported, but no line in calls.def"
        for name in sorted(names - called)
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in left)
    ]
    problems += [f"CALL({name}): is not exported" for name in sorted(called - names)]
    problems += [
        f"LEFT({pattern}): is for no name"
        for pattern in left
        if not any(fnmatch.fnmatchcase(name, pattern) for name in names - called)
    ]
    for problem in problems:
        print(problem)
    return 1 if problems or not called else 0


if __name__ == "__main__":
    sys.exit(main())
