# SPDX-License-Identifier: MIT
"""What the guest writes, line by line: the start and the end of each test and program.

The last line may be cut off: the guest ended while it was written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

BEGIN, START, TEST, PROGRAM, END = "begin", "start", "test", "program", "end"
NPTL, PIRN = "nptl", "pirn"  # kinds of threads, as world/compare.py calls them
PASSED, FAILED, SKIPPED, MISSING = "passed", "failed", "skipped", "not run"
KEYS = {
    BEGIN: ("kernel", "cpus"),
    START: ("name",),
    TEST: ("name", "result", "seconds", "detail"),
    PROGRAM: ("name", "threads", "failure", "seconds"),
    END: (),
}


@dataclass(frozen=True)
class Test:
    name: str
    result: str
    seconds: float
    detail: str


@dataclass(frozen=True)
class Run:
    """Of a program with one kind of threads."""

    name: str
    threads: str
    failure: str
    seconds: float


@dataclass
class Results:
    kernel: str = ""
    cpus: int = 0
    tests: list[Test] = field(default_factory=list)
    programs: list[Run] = field(default_factory=list)
    running: list[str] = field(default_factory=list)  # began, and did not end
    ended: bool = False
    damaged: list[str] = field(default_factory=list)

    def count(self) -> Counter[str]:
        return Counter(one.result for one in self.tests)


def line(kind: str, **values: Any) -> str:  # noqa: ANN401 - of JSON
    return json.dumps({"kind": kind, **values}) + "\n"


def read(text: str) -> Results:
    results = Results()
    for number, each in enumerate(text.splitlines(), start=1):
        try:
            _take(results, json.loads(each))
        except (ValueError, KeyError, TypeError) as error:
            results.damaged.append(f"line {number}: {each[:80]!r}: {type(error).__name__}")
    return results


def _take(results: Results, entry: dict[str, Any]) -> None:
    values = {key: entry[key] for key in KEYS[entry["kind"]]}
    kind = entry["kind"]
    if kind == BEGIN:
        results.kernel, results.cpus = str(values["kernel"]), int(values["cpus"])
    elif kind == START:
        results.running.append(str(values["name"]))
    elif kind == TEST:
        results.tests.append(Test(**{**values, "seconds": float(values["seconds"])}))
        _ended(results, values["name"])
    elif kind == PROGRAM:
        results.programs.append(Run(**{**values, "seconds": float(values["seconds"])}))
        _ended(results, values["name"])
    else:
        results.ended = True


def _ended(results: Results, name: str) -> None:
    if name in results.running:
        results.running.remove(name)


def told(test: Test, number: int, total: int) -> str:
    """A line of progress."""
    width = len(str(total))
    reason = f": {test.detail}" if test.detail else ""
    return f"{number:{width}}/{total} {test.name}: {test.result} {test.seconds:.1f} s{reason}"


def summary(results: Results, expected: Sequence[str]) -> tuple[list[str], bool]:
    """Lines for the end, and whether all is well. expected: names of all tests of the plan."""
    count = results.count()
    parts = [f"{count[one]} {one}" for one in (PASSED, FAILED, SKIPPED, MISSING) if count[one]]
    known = {one.name for one in results.tests}
    lost = [name for name in expected if name not in known]
    if lost:
        parts.append(f"{len(lost)} without a result")
    lines = [f"{len(expected)} tests: {', '.join(parts) or 'none'}"]
    for kind in (SKIPPED, MISSING, FAILED):
        chosen = [one for one in results.tests if one.result == kind]
        lines += [f"  {kind}: {one.name}: {one.detail}" for one in chosen]
    lines += [f"  without a result: {name}" for name in lost]
    lines += [f"  damaged result: {each}" for each in results.damaged]
    bad = count[FAILED] + count[MISSING] + len(lost) + len(results.damaged)
    return lines, bad == 0 and results.ended


def program_table(results: Results, expected: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """Rows: a program, with each kind of threads whether it passed and its seconds; and what
    failed or was not run."""
    runs = {(one.name, one.threads): one for one in results.programs}
    rows = [["program", "NPTL", "seconds", "Pirn", "seconds"]]
    failures = []
    for name in expected:
        row = [name]
        for threads in (NPTL, PIRN):
            run = runs.get((name, threads))
            if run is None:
                row += [MISSING, ""]
                failures.append(f"{name}, {threads}: {MISSING}")
            elif run.failure:
                row += ["FAILS", ""]
                failures.append(f"{name}, {threads}: {run.failure}")
            else:
                row += ["passes", f"{run.seconds:.1f}"]
        rows.append(row)
    return rows, failures


def text_table(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their longest value."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)
