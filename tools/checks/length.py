# SPDX-License-Identifier: MIT
"""A source file has at most 600 lines, unless its header gives a reason: `Length: why`."""

from __future__ import annotations

import re
from pathlib import Path

from common import CODE_SUFFIXES, Problem, main, read_lines

LIMIT = 600
HEADER_LINES = 40
REASON = re.compile(r"\bLength:\s*\S+\s+\S+")


def check(root: Path, files: list[Path]) -> list[Problem]:
    problems = []
    for path in files:
        if path.suffix not in CODE_SUFFIXES and path.name not in ("CMakeLists.txt", "Makefile"):
            continue
        lines = read_lines(root / path)
        excused = any(REASON.search(line) for line in lines[:HEADER_LINES])
        if len(lines) > LIMIT and not excused:
            text = f"{len(lines)} lines, over {LIMIT}: split it or say why (Length: ...)"
            problems.append(Problem(str(path), len(lines), text))
    return problems


if __name__ == "__main__":
    main("length", check, __doc__)
