# SPDX-License-Identifier: MIT
"""Memory-order tags: each comment ORDER(tag) has a partner and is explained.

A tag stands at two places or more in src/ and port/ (an order has two sides), and
docs/internals/memory-order.md lists it: in a heading, or in the first column of a table, as
ORDER(tag) or `tag`. Each tag listed there exists in the code. Of tables, only those whose first
column is headed "tag" (or has ORDER in it) count as lists.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from common import CODE_SUFFIXES, Problem, main, read_lines, under

DOCUMENT = Path("docs/internals/memory-order.md")
TAG = re.compile(r"\bORDER\(([^)\s]*)\)")
GOOD_TAG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
PLACEHOLDERS = {"tag"}  # prose about the convention itself
LISTED = re.compile(r"ORDER\(([a-z0-9-]+)\)|`([a-z0-9-]+)`")


def tags_in_code(root: Path, files: list[Path]) -> dict[str, list[tuple[str, int]]]:
    """Every tag with its places."""
    places: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for path in files:
        if not under(path, "src", "port") or path.suffix not in CODE_SUFFIXES:
            continue
        for number, line in enumerate(read_lines(root / path), start=1):
            for tag in TAG.findall(line):
                if tag not in PLACEHOLDERS:
                    places[tag].append((str(path), number))
    return places


def tags_in_document(lines: list[str]) -> dict[str, int]:
    """Every listed tag with its line."""
    listed: dict[str, int] = {}
    in_tag_table = previous_was_table = False
    for number, line in enumerate(lines, start=1):
        cell = line.strip().split("|")[1].strip() if line.lstrip().startswith("|") else None
        if cell is not None and not previous_was_table:
            in_tag_table = "tag" in cell.lower() or "order" in cell.lower()
        previous_was_table = cell is not None
        text = line if line.startswith("#") else (cell if in_tag_table else None)
        for first, second in LISTED.findall(text or ""):
            if (first or second) not in PLACEHOLDERS:
                listed.setdefault(first or second, number)
    return listed


def check(root: Path, files: list[Path]) -> list[Problem]:
    code = tags_in_code(root, files)
    lines = read_lines(root / DOCUMENT) if (root / DOCUMENT).exists() else []
    listed = tags_in_document(lines)
    problems: list[Problem] = []
    for tag, places in code.items():
        path, number = places[0]
        if not GOOD_TAG.fullmatch(tag):
            problems.append(Problem(path, number, f"ORDER({tag}): tags are lower-case-words"))
        if len(places) < 2:
            problems.append(Problem(path, number, f"ORDER({tag}) has no partner anywhere"))
        if tag not in listed:
            problems.append(Problem(path, number, f"ORDER({tag}) is not listed in {DOCUMENT}"))
    for tag, number in listed.items():
        if tag not in code:
            problems.append(Problem(str(DOCUMENT), number, f'no code has the tag "{tag}"'))
    return problems


if __name__ == "__main__":
    main("order_tags", check, __doc__)
