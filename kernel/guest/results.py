# SPDX-License-Identifier: MIT
"""What the guest wrote: parts between "@begin NAME" and "@end NAME STATUS", and tables of it."""

from __future__ import annotations

import csv
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

BEGIN = re.compile(r"^@begin (.*)$")
END = re.compile(r"^@end (\d+)$")
COUNTER = re.compile(r"^(\w+) +(\d+)  \S")
VALUE = re.compile(r"(\w+)=(\S+)")
SAMPLES = re.compile(r"^(sample,|\d+,)")
# Of apps/wavemix: who reads whose buffers.
READS = {
    "mixer0": ("wave0", "wave1"),
    "mixer1": ("wave2", "wave3"),
    "mixer2": ("mixer0", "mixer1"),
}


@dataclass(frozen=True)
class Cell:
    """A run of a program under a scheduler: the name of such a part."""

    program: str
    scheduler: str
    round: int  # from 1 on

    @property
    def name(self) -> str:
        return f"{self.program}|{self.scheduler}|{self.round}"

    @property
    def of_rounds(self) -> tuple[str, str]:
        return self.program, self.scheduler


def read_cell(name: str) -> Cell | None:
    """None: another part."""
    found = re.fullmatch(r"([^|]+)\|([^|]+)\|(\d+)", name)
    return Cell(found[1], found[2], int(found[3])) if found else None


@dataclass(frozen=True)
class Part:
    name: str
    status: int | None  # None: the guest ended in it
    lines: list[str]

    @property
    def counters(self) -> dict[str, int]:
        found = (COUNTER.match(line) for line in self.lines)
        return {match[1]: int(match[2]) for match in found if match}

    @property
    def values(self) -> dict[str, str]:
        """Of the closing line of an application, `name: key=value ...`."""
        lines = [line for line in self.lines if re.match(r"\w+: \w+=", line)]
        found = dict(VALUE.findall(lines[-1])) if lines else {}
        rows = list(csv.DictReader(line for line in self.lines if SAMPLES.match(line)))
        return found | (with_producer(rows) if rows else {})


def with_producer(rows: list[dict[str, str]]) -> dict[str, str]:
    """Of wavemix's table of samples: how many mixers ran where one of their inputs was made, in the
    same sample; and how many ran."""
    together = sum(
        any(row[f"{mixer}_cpu"] == row[f"{thread}_cpu"] for thread in inputs)
        for row in rows
        for mixer, inputs in READS.items()
    )
    return {"with_producer": str(together), "mixers": str(len(rows) * len(READS))}


def read(text: str) -> list[Part]:
    parts: list[Part] = []
    name = ""
    lines: list[str] = []
    for line in text.replace("\r", "").splitlines():
        begin, end = BEGIN.match(line), END.match(line)
        if begin:
            name, lines = begin[1], []
        elif end:
            parts.append(Part(name, int(end[1]), lines))
            name = ""
        else:
            lines.append(line)
    if name:
        parts.append(Part(name, None, lines))
    return parts


def several(values: Sequence[str]) -> str:
    """Of several runs: what all have; of numbers the median, and from the least to the most."""
    each = list(dict.fromkeys(values))
    if len(each) == 1:
        return each[0]
    if not all(re.fullmatch(r"-?\d+", one) for one in each):
        return ", ".join(each)
    return spread([float(one) for one in values])


def spread(numbers: Sequence[float], unit: str = "") -> str:
    """The median, and the range if there is one."""
    middle, least, most = (
        f"{number:.0f}" for number in (statistics.median(numbers), min(numbers), max(numbers))
    )
    return f"{middle}{unit}" if least == most else f"{middle}{unit} ({least} to {most})"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Columns as wide as their longest value; the first one to the left."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
