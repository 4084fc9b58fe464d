# SPDX-License-Identifier: MIT
"""Links in Markdown lead to files that exist, and to headings in them.

Every `docs/....md` or `docs/....png` that another text file names exists, too, and every picture in
docs/ is shown by a document. Links to the web are not followed. Anchors are those that GitHub makes
of headings, and `<a id="...">`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from common import Problem, main, read_lines

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
# [text](target "title"); a text may hold one pair of brackets: an image that is a link.
LINK = re.compile(
    r"\[(?:[^\[\]]|\[[^\[\]]*\](?:\([^()]*\))?)*\]\(<?([^()\s<>]*)>?(?:\s+\"[^\"]*\")?\)"
)
IMAGE = re.compile(r"!\[[^\[\]]*\]\(([^()\s]*)\)")
DEFINITION = re.compile(r" {0,3}\[[^\]]+\]:\s*(\S+)")
HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//")
PICTURES = (".png", ".svg")
MENTION = re.compile(r"(?<![\w/.-])docs/[\w./-]*\w\.(?:md|png)\b")


@dataclass(frozen=True)
class Line:
    number: int
    text: str


def prose(lines: list[str]) -> Iterator[Line]:
    """The lines outside of blocks of code; spans of code in them are still there."""
    fence = ""
    before = ""
    for number, line in enumerate(lines, start=1):
        match = FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and line.strip() == match[1]:
                fence = ""
        elif match:
            fence = match[1]
        elif not (line.startswith("    ") and (not before.strip() or before.startswith("    "))):
            yield Line(number, line)
        before = line


def slug(heading: str) -> str:
    """What GitHub makes of a heading: markup goes, and what is no letter, digit, space, - or _."""
    text = IMAGE.sub("", heading)
    text = re.sub(r"\[([^\[\]]*)\]\([^()]*\)", r"\1", text)
    text = re.sub(r"(?<!\w)[*_]+(?=\S)|(?<=\S)[*_]+(?!\w)", "", text.replace("`", ""))
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def anchors(lines: list[str]) -> set[str]:
    found: set[str] = set()
    for line in prose(lines):
        found.update(ANCHOR.findall(line.text))
        match = HEADING.match(line.text)
        if match is None:
            continue
        name = first = slug(match[2])
        count = 0
        while name in found:
            count += 1
            name = f"{first}-{count}"
        found.add(name)
    return found


@cache
def anchors_of(path: Path) -> set[str]:
    return anchors(read_lines(path))


def targets(lines: list[str]) -> Iterator[tuple[int, str]]:
    for line in prose(lines):
        text = CODE.sub("``", line.text)
        for pattern in (LINK, IMAGE, DEFINITION):
            for match in pattern.finditer(text):
                yield line.number, match[1]


def fault(root: Path, path: Path, target: str) -> str | None:
    """The fault of a link of the document; None: there is none."""
    if ELSEWHERE.match(target):
        return None
    name, _, anchor = target.partition("#")
    if target.startswith("/"):
        return f'"{target}" is absolute; links are relative to the document'
    place = Path(os.path.normpath(root / path.parent / name)) if name else root / path
    if not place.is_relative_to(root):
        return f'"{target}" leads out of the repository'
    if not place.exists():
        return f'"{target}": there is no {place.relative_to(root)}'
    if anchor and place.suffix == ".md" and anchor not in anchors_of(place):
        return f'"{target}": {place.relative_to(root)} has no heading "#{anchor}"'
    return None


def of_document(root: Path, path: Path) -> list[Problem]:
    problems = []
    for number, target in dict.fromkeys(targets(read_lines(root / path))):
        text = fault(root, path, target)
        if text:
            problems.append(Problem(str(path), number, text))
    return problems


def mentions(root: Path, path: Path) -> list[Problem]:
    """Of a file that is no document: comments, messages, paths that a script writes to."""
    return [
        Problem(str(path), number, f"there is no {name}")
        for number, line in enumerate(read_lines(root / path), start=1)
        for name in MENTION.findall(line)
        if not (root / name).exists()
    ]


def unused(root: Path, files: list[Path]) -> list[Problem]:
    """Pictures of the documents that none of them shows."""
    shown = {
        os.path.normpath(path.parent / target)
        for path in files
        if path.suffix == ".md"
        for _, target in targets(read_lines(root / path))
    }
    return [
        Problem(str(path), 1, "no document shows this picture")
        for path in files
        if path.parts[0] == "docs" and path.suffix in PICTURES and str(path) not in shown
    ]


def check(root: Path, files: list[Path]) -> list[Problem]:
    anchors_of.cache_clear()
    problems = unused(root, files)
    for path in files:
        if path.suffix == ".md":
            problems += of_document(root, path)
        problems += mentions(root, path)
    return problems


if __name__ == "__main__":
    main("links", check, __doc__)
