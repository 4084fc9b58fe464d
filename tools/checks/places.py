# SPDX-License-Identifier: MIT
"""Tables in docs/ that say where to look name files that exist and functions that are in them.

A place is a cell of a table that is one path in backquotes, followed by a cell of names in
backquotes. The names are words of that file: functions, macros, structures.
"""

from __future__ import annotations

import re
from pathlib import Path

from common import Problem, main, read_lines

PATH = re.compile(r"`((?:src|port|include|tests|tools|apps|bench)/[\w./-]+\.\w+)`")
NAMES = re.compile(r"`(?:struct )?(\w+)`(?:, `(?:struct )?(\w+)`)*")
NAME = re.compile(r"`(?:struct )?(\w+)`")


def places(lines: list[str]) -> list[tuple[int, str, list[str]]]:
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        for path, names in zip(cells, [*cells[1:], ""], strict=True):
            if PATH.fullmatch(path):
                known = NAME.findall(names) if NAMES.fullmatch(names) else []
                found.append((number, path.strip("`"), known))
    return found


def check(root: Path, files: list[Path]) -> list[Problem]:
    problems = []
    for path in files:
        if path.suffix != ".md" or path.parts[0] != "docs":
            continue
        for number, place, names in places(read_lines(root / path)):
            if not (root / place).is_file():
                problems.append(Problem(str(path), number, f"there is no {place}"))
                continue
            words = set(re.findall(r"\w+", "\n".join(read_lines(root / place))))
            problems += [
                Problem(str(path), number, f"{place} has no {name}")
                for name in names
                if name not in words
            ]
    return problems


if __name__ == "__main__":
    main("places", check, __doc__)
