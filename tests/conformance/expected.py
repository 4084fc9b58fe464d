# SPDX-License-Identifier: MIT
"""The list of cases that are expected to fail: expected.txt.

A line is `WHERE  CASE  HOW  REASON`, in words separated by blanks; the reason is the rest.

WHERE   the configurations: `nptl`, `pirn` (all of Pirn's, preloaded too), or a pattern such as
        `pirn.*.1`
CASE    a pattern over program.case
HOW     fails, or hangs (then it is given up early)

An entry for all of `pirn` is tried under one configuration only, SAMPLE, and skipped under the
others. A case that is listed and passes is a failure: its line has to go.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

SAMPLE = "pirn.steal.1"
HOWS = ("fails", "hangs")


class ListError(Exception):
    pass


@dataclass(frozen=True)
class Entry:
    where: str
    case: str
    how: str
    reason: str
    line: int

    @property
    def everywhere(self) -> bool:
        return self.where == "pirn"

    def holds_in(self, configuration: str) -> bool:
        if self.everywhere:
            return configuration.split(".")[0] != "nptl"
        return fnmatchcase(configuration, self.where)

    def matches(self, case: str) -> bool:
        return fnmatchcase(case, self.case)


def read(path: Path) -> list[Entry]:
    entries = []
    for number, text in enumerate(path.read_text().splitlines(), 1):
        if not text.strip() or text.startswith("#"):
            continue
        words = text.split(None, 3)
        if len(words) != 4 or words[2] not in HOWS:
            raise ListError(f"{path}:{number}: not WHERE CASE {'|'.join(HOWS)} REASON: {text}")
        entries.append(Entry(*words, line=number))
    return entries


def find(entries: list[Entry], configuration: str, case: str) -> Entry | None:
    for entry in entries:
        if entry.holds_in(configuration) and entry.matches(case):
            return entry
    return None
