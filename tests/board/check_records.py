# SPDX-License-Identifier: MIT
"""A program on a board with trace and profile, read by the tools.

usage: check_records.py [--chip] GPROF PROGRAM FOLDER PIRN board run OPTION... BOARD

The calls of its instrumented functions are exact, both in the profile and in what GNU gprof reads
of it; the trace has its threads, and what every CPU did. The trace's file is as large as its events
need, and has whole rings where events were lost. On the chip (--chip), which is slow, no events are
lost, and times are cycles: a quarter at least of all that the simulator counts is in the trace, and
no more than all. The rest clears memory before, and writes the files.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

CALLS = {"allocates": 16, "keeps_errno": 16, "sets_variable": 16, "prints": 16, "run_threads": 4}
CYCLE_NS = 10  # of the chip
FILE_EVENT = 2 * 64  # bytes of the trace's file, as rings have powers of two of records
SMALL = 64 << 10  # of a CPU's ring, so that events are lost


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


def check_cycles(counters: Path, cpus: list[dict[str, int]]) -> None:
    """The time of each CPU in the trace, against the cycles of the whole run."""
    all_cycles = json.loads(counters.read_text())["cycles"]
    for cpu in cpus:
        traced = cpu["time"] // CYCLE_NS
        here = f"CPU {cpu['cpu']}: {traced} cycles in the trace, {all_cycles} in all"
        check(all_cycles // 4 < traced <= all_cycles, here)


def cpus_of(given: argparse.Namespace) -> int:
    """As the command line says."""
    return int(given.run[given.run.index("--cpus") + 1])


def run_traced(given: argparse.Namespace, options: list[str], **settings: str) -> dict[str, Any]:
    """The numbers of the trace of a run."""
    pirn, trace = given.run[0], given.folder / "board.trace"
    command = (*given.run[:-1], *options, given.run[-1], given.program, "libc")
    said = output(*command, PIRN_TRACE=str(trace), PIRN_PREEMPT="1", **settings)
    check("done" in said, said)
    stat: dict[str, Any] = json.loads(output(pirn, "trace", "stat", str(trace), "--json"))
    check(len(stat["cpus"]) == cpus_of(given), f"{len(stat['cpus'])} CPUs in the trace")
    return stat


def check_loss(given: argparse.Namespace) -> None:
    """With rings that are too small."""
    stat = run_traced(given, ["--env=ROUNDS=16000"], PIRN_TRACESIZE=str(SMALL))
    check(stat["lost"] > 0, f"{stat['events']} events in the trace, and none is lost")
    size = (given.folder / "board.trace").stat().st_size
    cpus = cpus_of(given)
    check(size > cpus * SMALL // 2, f"{size} bytes, less than {cpus} rings of {SMALL}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--chip", action="store_true")
    parser.add_argument("gprof")
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("run", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    pirn, gprof, program = given.run[0], given.gprof, given.program
    trace, prof, counters = (
        given.folder / f"board.{kind}" for kind in ("trace", "prof", "counters")
    )
    if not given.chip:
        check_loss(given)
    options = [f"--with=--counters={counters}"] if given.chip else []
    stat = run_traced(given, options, PIRN_PROF=str(prof), PIRN_PROFRATE="1000")
    if given.chip:
        check_cycles(counters, stat["cpus"])
    check(stat["lost"] == 0, f"{stat['lost']} events are lost")
    check(stat["counts"]["spawn"] == 4 * 16, f"{stat['counts']} in the trace")
    rest = (2 * cpus_of(given) + 4) * 4096
    size, most = trace.stat().st_size, FILE_EVENT * stat["events"] + rest
    check(size <= most, f"{size} bytes for {stat['events']} events, more than {most}")

    flat = json.loads(output(pirn, "prof", "flat", str(prof), "--json"))
    calls = {row["name"]: row["calls"] for row in flat["functions"]}
    found = {name: calls.get(name) for name in CALLS}
    check(found == CALLS, f"the profile has {found}, not {CALLS}")

    gmon = given.folder / "gmon.out"
    output(pirn, "prof", "gprof", str(prof), "-o", str(gmon))
    found = gprof_calls(output(gprof, "-b", "-p", program, str(gmon)))
    check(found == CALLS, f"gprof reads {found}, not {CALLS}")


if __name__ == "__main__":
    main()
