# SPDX-License-Identifier: MIT
"""A program on a board with trace and profile, read by the tools.

usage: check_records.py PIRN BOARD GPROF PROGRAM FOLDER

The calls of its instrumented functions are exact, both in the profile and in what GNU gprof reads
of it; the trace has its threads, and what every CPU did.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

CALLS = {"allocates": 16, "keeps_errno": 16, "sets_variable": 16, "prints": 16, "run_threads": 4}
CPUS = 4


def output(*command: str, **settings: str) -> str:
    run = subprocess.run(
        command, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {run.returncode}\n{run.stdout}{run.stderr}")
    return run.stdout


def check(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(what)


def gprof_calls(text: str) -> dict[str, int]:
    """Of the flat profile: %, cumulative, self, calls, and two times for some, name."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 5 and words[-1] in CALLS and words[3].isdigit():
            found[words[-1]] = int(words[3])
    return found


def main() -> None:
    pirn, board, gprof, program, folder = sys.argv[1:]
    trace, prof = Path(folder, "board.trace"), Path(folder, "board.prof")
    said = output(
        pirn, "board", "run", "--cpus", str(CPUS), board, program, "libc",
        PIRN_TRACE=str(trace), PIRN_PROF=str(prof), PIRN_PROFRATE="1000", PIRN_PREEMPT="1",
    )  # fmt: skip
    check("done" in said, said)

    stat = json.loads(output(pirn, "trace", "stat", str(trace), "--json"))
    check(len(stat["cpus"]) == CPUS, f"{len(stat['cpus'])} CPUs in the trace")
    check(stat["counts"]["spawn"] == 4 * 16, f"{stat['counts']} in the trace")

    flat = json.loads(output(pirn, "prof", "flat", str(prof), "--json"))
    calls = {row["name"]: row["calls"] for row in flat["functions"]}
    found = {name: calls.get(name) for name in CALLS}
    check(found == CALLS, f"the profile has {found}, not {CALLS}")

    gmon = Path(folder, "gmon.out")
    output(pirn, "prof", "gprof", str(prof), "-o", str(gmon))
    found = gprof_calls(output(gprof, "-b", "-p", program, str(gmon)))
    check(found == CALLS, f"gprof reads {found}, not {CALLS}")


if __name__ == "__main__":
    main()
