# SPDX-License-Identifier: MIT
"""The table of results in README.md has the figures of docs/results/benchmarks.md; --fix writes it.

The machine, the rows and the demo's line are read from that page, so that a new measurement that is
not copied to the README fails here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from common import Problem, parse_root, report

SOURCE = Path("docs/results/benchmarks.md")
TARGET = Path("README.md")
BEGIN, END = "<!-- results: begin (make results-table) -->", "<!-- results: end -->"
PEERS = {"boost": "Boost.Fiber", "pth": "Pth", "go": "Go", "may": "may", "tokio": "Tokio"}
ROWS = {
    "yield-1w": "yield, 1 worker",
    "create_join-1w": "create and join a thread, 1 worker",
    "fib-2w": "fork-join fib, each spawn, 2 workers",
    "mutex-1w": "mutex, uncontended",
    "mutex_contended-2w": "mutex, 64 threads, 2 workers",
    "pingpong-2w": "semaphores, there and back, 2 workers",
    "memory-1w [bytes]": "bytes of a blocked thread",
}


# bench/README.md says why: Tokio's tasks have no stack.
NOT_COMPARABLE = {("memory-1w [bytes]", "tokio")}


class StaleError(Exception):
    """The page lacks what the table needs."""


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(text: str) -> Iterator[list[list[str]]]:
    """The tables of a page: rows of cells, without the line below the head."""
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append(cells(line))
        elif rows:
            yield [rows[0], *rows[2:]]
            rows = []


def table_with(text: str, head: list[str]) -> list[dict[str, str]]:
    for rows in tables(text):
        if rows[0][: len(head)] == head:
            return [dict(zip(rows[0], row, strict=False)) for row in rows[1:]]
    raise StaleError(f"no table with the columns {', '.join(head)}")


def shown(value: str) -> str:
    """A figure with separators: 1147 as 1,147."""
    return f"{int(value):,}" if value.isdigit() else value


def best(row: dict[str, str]) -> str:
    """The peer with the least, NPTL aside: it has a column of its own."""
    keys = [key for key in PEERS if (row["row"], key) not in NOT_COMPARABLE]
    known = [(float(row[key]), key) for key in keys if row.get(key, "-") != "-"]
    if not known:
        raise StaleError(f"no peer has a figure in the row {row['row']}")
    key = min(known)[1]
    return f"{shown(row[key])} ({PEERS[key]})"


def wanted(text: str) -> str:
    machine = {row["machine"]: row[""] for row in table_with(text, ["machine", ""])}
    lines = [
        f"Medians of one run of all systems on a virtual machine ({machine['processor']},"
        f" {machine['kernel']}, {machine['C library']}),",
        "in nanoseconds an operation.",
        "",
        "| | Pirn, native | Pirn, pthread | best peer | NPTL |",
        "| --- | --: | --: | --: | --: |",
    ]
    measured = {row["row"]: row for row in table_with(text, ["row", "pirn", "pirn-pthread"])}
    for name, label in ROWS.items():
        if name not in measured:
            raise StaleError(f"no row {name}")
        row = measured[name]
        own = [shown(row[key]) for key in ("pirn", "pirn-pthread")]
        lines.append(f"| {label} | {own[0]} | {own[1]} | {best(row)} | {shown(row['nptl'])} |")
    demo = {row["policy"]: row for row in table_with(text, ["policy", "wall time"])}
    threads = re.search(r"decoded \d+ times: ([\d,]+) threads", text)
    if "steal" not in demo or threads is None:
        raise StaleError("no result of the demo")
    lines += [
        "",
        f"`make demo` decodes a video with {threads[1]} threads in"
        f" {demo['steal']['ratio to NPTL']} of NPTL's time, bit-identical.",
    ]
    return "\n".join(lines)


def renewed(page: str, block: str) -> str:
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise StaleError(f'{TARGET} must have "{BEGIN}" and "{END}" once each')
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{block}\n{END}{rest.split(END)[1]}"


def check(root: Path, fix: bool = False) -> list[Problem]:
    page = (root / TARGET).read_text()
    try:
        new = renewed(page, wanted((root / SOURCE).read_text()))
    except StaleError as missing:
        return [Problem(str(SOURCE), 1, str(missing))]
    if new == page:
        return []
    if fix:
        (root / TARGET).write_text(new)
        return []
    line = page[: page.index(BEGIN)].count("\n") + 1
    return [Problem(str(TARGET), line, f"not the figures of {SOURCE}: make results-table")]


if __name__ == "__main__":
    parser = parse_root(__doc__)
    parser.add_argument("--fix", action="store_true", help="write the table")
    options = parser.parse_args()
    sys.exit(report("results_table", check(options.root.resolve(), options.fix)))
