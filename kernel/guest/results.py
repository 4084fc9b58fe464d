# SPDX-License-Identifier: MIT
"""What the guest wrote: parts between "@begin NAME" and "@end NAME STATUS", and tables of it."""

from __future__ import annotations

import csv
import re
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


def table(head: list[str], rows: list[list[str]]) -> str:
    """Columns as wide as their longest value; the first one to the left."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
