# SPDX-License-Identifier: MIT
"""A source file has at most 600 lines, unless its header gives a reason: `Length: why`.

A line of a comment in C or assembly has at most 100 columns: clang-format breaks code only.
"""

from __future__ import annotations

import re
from pathlib import Path

from common import CODE_SUFFIXES, Problem, main, read_lines

LIMIT = 600
HEADER_LINES = 40
COLUMNS = 100
COMMENT = re.compile(r"\s*(/\*|\*|//)")
COMMENTED = (".c", ".h", ".cpp", ".hpp", ".S")
REASON = re.compile(r"\bLength:\s*\S+\s+\S+")


def wide(path: Path, lines: list[str]) -> list[Problem]:
    if path.suffix not in COMMENTED:
        return []
    return [
        Problem(str(path), number, f"a comment of {len(line)} columns; at most {COLUMNS}")
        for number, line in enumerate(lines, start=1)
        if len(line) > COLUMNS and COMMENT.match(line)
    ]


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
        problems += wide(path, lines)
    return problems


if __name__ == "__main__":
    main("length", check, __doc__)
