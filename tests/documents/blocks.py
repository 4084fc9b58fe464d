# SPDX-License-Identifier: MIT
"""Blocks of code in a document, and the action for each.

A comment on the line before a block says what the block cannot say itself:

    <!-- file: NAME -->       it is written to that file of the working folder
    <!-- not run: WHY -->     a test cannot run it: it needs a network, a package, half an hour
    <!-- output varies -->    it runs, and must succeed; what it prints is an example
    <!-- status N -->         its last command ends with this exit status

Blocks of the languages sh and console run; blocks of other languages, or of none, are to be read or
are files. An indented block could be taken for either, so there must be none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

FENCE = re.compile(r"^```(\w*)\s*$")
MARK = re.compile(r"^<!-- (file|not run|output varies|status)(?::? (.+?))? -->$")
RUN = ("sh", "console")


class DocumentError(Exception):
    """The document breaks a rule above."""


@dataclass
class Command:
    """A line behind "$ ", with those behind "> ", and the output that the document shows."""

    line: int
    text: str
    output: list[str] = field(default_factory=list)


@dataclass
class Block:
    line: int
    language: str
    lines: list[str]
    marks: dict[str, str]

    @property
    def runs(self) -> bool:
        return self.language in RUN and not {"not run", "file"} & set(self.marks)

    @property
    def status(self) -> int:
        return int(self.marks.get("status", "0"))

    def commands(self) -> list[Command]:
        """Of a console block each command; an sh block is one."""
        if self.language == "sh":
            return [Command(self.line, "\n".join(self.lines))]
        found: list[Command] = []
        for number, line in enumerate(self.lines, start=self.line + 1):
            if line.startswith("$ "):
                found.append(Command(number, line[2:]))
            elif not found:
                raise DocumentError(f'line {number}: a console block begins with "$ "')
            elif line.startswith("> ") and not found[-1].output:
                found[-1].text += "\n" + line[2:]
            else:
                found[-1].output.append(line)
        return found


def _marks(lines: Sequence[str], at: int) -> dict[str, str]:
    found: dict[str, str] = {}
    while at > 0 and (match := MARK.match(lines[at - 1])):
        found[match[1]] = match[2] or ""
        at -= 1
    return found


def _check(block: Block) -> None:
    marks = block.marks
    for name in ("file", "not run"):
        if name in marks and not marks[name]:
            raise DocumentError(f'line {block.line}: "{name}" needs a name or a reason')
    if "status" in marks and not marks["status"].isdigit():
        raise DocumentError(f'line {block.line}: status "{marks["status"]}" is no number')
    if block.language not in RUN and {"not run", "output varies", "status"} & set(marks):
        raise DocumentError(f"line {block.line}: only blocks of sh and console run")


def blocks(text: str) -> list[Block]:
    lines = text.splitlines()
    found: list[Block] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("    ") and at > 0 and not lines[at - 1].strip():
            raise DocumentError(f"line {at + 1}: an indented block; use a fence with its language")
        match = FENCE.match(line)
        if match:
            end = next((i for i in range(at + 1, len(lines)) if lines[i] == "```"), None)
            if end is None:
                raise DocumentError(f"line {at + 1}: a block without end")
            found.append(Block(at + 1, match[1], lines[at + 1 : end], _marks(lines, at)))
            _check(found[-1])
            at = end
        at += 1
    return found


def matches(shown: Sequence[str], got: Sequence[str]) -> bool:
    """Does `got` look as shown? In a line ... stands for any text, alone for any lines."""
    if not shown:
        return not got
    if shown[0].strip() == "...":
        return any(matches(shown[1:], got[i:]) for i in range(len(got) + 1))
    if not got:
        return False
    pattern = ".*".join(re.escape(part) for part in shown[0].rstrip().split("..."))
    return re.fullmatch(pattern, got[0].rstrip()) is not None and matches(shown[1:], got[1:])
