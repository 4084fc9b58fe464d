# SPDX-License-Identifier: MIT
"""The list of cases that are expected to fail: expected.txt.

A line is `WHERE  CASE  HOW  REASON`, in words separated by blanks; the reason is the rest.

WHERE   the configurations: `nptl`, a pattern such as `pirn.*.1.*`, or `pirn`: all but `nptl`.
        PATTERN@CONFIGURATION is tried under that configuration only and skipped under the others;
        `pirn` stands for `pirn@pirn.steal.1.coop`.
CASE    a pattern over program.case
HOW     fails; or hangs (then it is given up early); or chance: whether it passes is chance, so it
        is not run at all

A case that is listed and passes is a failure: its line has to go.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

SAMPLE = "pirn.steal.1.coop"
HOWS = ("fails", "hangs", "chance")


class ListError(Exception):
    pass


class Entry(NamedTuple):
    where: str
    sample: str  # "" = everywhere
    case: str
    how: str
    reason: str
    line: int

    def holds_in(self, configuration: str) -> bool:
        if self.where == "pirn":
            return configuration != "nptl"
        return fnmatchcase(configuration, self.where)

    def is_tried_in(self, configuration: str) -> bool:
        return self.how != "chance" and self.sample in ("", configuration)

    def matches(self, case: str) -> bool:
        return fnmatchcase(case, self.case)


def read(path: str) -> list[Entry]:
    entries = []
    with open(path) as file:  # noqa: PTH123 - pathlib takes long to load
        lines = file.read().splitlines()
    for number, text in enumerate(lines, 1):
        if not text.strip() or text.startswith("#"):
            continue
        words = text.split(None, 3)
        if len(words) != 4 or words[2] not in HOWS:
            raise ListError(f"{path}:{number}: not WHERE CASE {'|'.join(HOWS)} REASON: {text}")
        where, _, sample = words[0].partition("@")
        if words[0] == "pirn":
            sample = SAMPLE
        entries.append(Entry(where, sample, *words[1:], line=number))
    return entries


def find(entries: list[Entry], configuration: str, case: str) -> Entry | None:
    for entry in entries:
        if entry.holds_in(configuration) and entry.matches(case):
            return entry
    return None
