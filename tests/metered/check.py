# SPDX-License-Identifier: MIT
"""Checks the figures of the metered library for programs that spend their time in a known way.

usage: check.py PROGRAM

A CPU without work, a thread that computes and one that waits in the kernel are not in the
scheduler; two threads that yield are in it at least once for each yield.
Ticks may be shorter than the kernel's.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

POLICIES = ("steal", "single", "central", "dist", "request")


def run(program: str, mode: str, sched: str, cpus: int, stats: Path, tick: int = 10000) -> dict:
    options = {"PIRN_SCHED": sched, "PIRN_CPUS": str(cpus), "PIRN_STATS": f"json:{stats}"}
    options["PIRN_TICK"] = str(tick)
    done = subprocess.run(
        [program, mode], env={**os.environ, **options}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{mode} {sched} {cpus}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(stats.read_text())


def check(mode: str, counters: dict) -> str:
    """The errors; empty: none."""
    meter, wall = counters["meter"], counters["wall_ns"]
    each = [cpu for cpu in meter["per_cpu"] if cpu["events"] > 0]
    events = sum(cpu["events"] for cpu in each)
    inside = sum(cpu["inside_ns"] for cpu in each)
    if not 1 <= len(meter["per_cpu"]) <= counters["cpus"]:  # a worker may not have begun yet
        return f"{len(meter['per_cpu'])} CPUs, not {counters['cpus']}"
    if not 0 < meter["pair_inside_ns"] < meter["pair_ns"]:
        return f"an empty event takes {meter['pair_inside_ns']} of {meter['pair_ns']} ns"
    for cpu in each:
        if not cpu["shortest_ns"] <= cpu["inside_ns"] / cpu["events"] <= cpu["longest_ns"]:
            return f"the average is not between the shortest and the longest: {cpu}"
        if not 0 < cpu["inside_ns"] < 1.05 * wall:
            return f"{cpu['inside_ns']} ns in the scheduler, of {wall}"
    if mode == "yield":
        return "" if events >= 40000 else f"{events} events, with 40,000 yields"
    if inside > 0.5 * 300e6:
        return f"{inside / 1e6:.0f} ms in the scheduler, with nothing to do there"
    return ""


def main() -> None:
    (program,) = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="pirn-metered-") as scratch:
        stats = Path(scratch) / "stats.json"
        for sched in POLICIES:
            for cpus in (1, 2):
                for mode in ("yield", "sleep", "call", "compute"):
                    wrong = check(mode, run(program, mode, sched, cpus, stats))
                    if wrong:
                        sys.exit(f"{mode} {sched} {cpus}: {wrong}\n{stats.read_text()}")
        few = run(program, "compute", "steal", 1, stats)["ticks"]
        many = run(program, "compute", "steal", 1, stats, tick=200)["ticks"]
        if many < 5 * max(few, 1):
            sys.exit(f"{many} ticks of 200 us, {few} of the default, in the same time")


if __name__ == "__main__":
    main()
