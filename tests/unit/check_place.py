#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Placement by measured load: a run on one CPU writes the file, later runs read it.

usage: check_place.py [--capacities] COMMAND [ARG ...]

For both pinned policies and both units: measure, place on 2 and 4 CPUs, and log that no thread has
moved. The program is comm. A word "{cpus}" stands for the number of CPUs: COMMAND may run the
program on a board.

--capacities: a CPU that is said to be very slow gets threads, but none if the policy uses
capacities. Each thread that COMMAND's main thread creates must create another one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def with_cpus(command: list[str], cpus: int) -> list[str]:
    return [word.replace("{cpus}", str(cpus)) for word in command]


def run(
    command: list[str], sched: str, cpus: int, stats: Path, settings: dict[str, str] | None = None
) -> dict[str, Any]:
    env = (
        os.environ
        | (settings or {})
        | {
            "PIRN_SCHED": sched,
            "PIRN_CPUS": str(cpus),
            "PIRN_STATS": f"json:{stats}",
        }
    )
    full = with_cpus(command, cpus)
    subprocess.run(full, env=env, check=True, stdout=subprocess.DEVNULL)
    counters: dict[str, Any] = json.loads(stats.read_text())
    return counters


def fail(text: str) -> None:
    print(f"FAILED: {text}")
    sys.exit(1)


def trees(threads: int) -> int:
    """The main thread, and each couple of threads: comm's producers create their consumers."""
    return 1 + (threads - 1) // 2


def check(name: str, command: list[str], folder: Path) -> None:
    loads, stats = folder / f"{name}.place", folder / "stats.json"
    for unit in ("tree", "task"):
        measured = run(command, f"{name}:measure={loads},unit={unit}", 1, stats)
        lines = loads.read_text().splitlines()
        tasks = [line for line in lines[1:] if not line.startswith("#")]
        right = trees(measured["threads"]) if unit == "tree" else measured["threads"]
        if lines[0] != "pirn-place 1" or len(tasks) != right:
            fail(f"{loads}: {len(tasks)} tasks by {unit}, {measured['threads']} threads")
        for cpus in (2, 4):
            counters = run(command, f"{name}:place={loads},unit={unit}", cpus, stats)
            moved, threads = counters["migrations"], counters["threads"]
            print(f"{name} {cpus} CPUs unit {unit}: {threads} threads, {moved} migrations")
            if moved != 0:
                fail(f"{name}: a pinned thread has moved")
    loads.write_text("pirn-place 1\nnonsense\n")
    env = os.environ | {"PIRN_SCHED": f"{name}:place={loads}"}
    full = with_cpus(command, 2)
    bad = subprocess.run(full, env=env, capture_output=True, text=True, check=False)
    if bad.returncode != 2 or "line 2" not in bad.stdout + bad.stderr:
        fail(f"a corrupt place file: status {bad.returncode}, {bad.stdout!r} {bad.stderr!r}")


def check_capacities(name: str, command: list[str], folder: Path) -> None:
    loads, stats = folder / f"{name}.place", folder / "stats.json"
    run(command, f"{name}:measure={loads}", 1, stats)
    for capacity in ("off", "on"):
        spec = f"{name}:place={loads},unit=tree,capacity={capacity}"
        counters = run(command, spec, 2, stats, {"PIRN_CAPACITIES": "1024,1"})
        made = counters["per_cpu"][1]["threads"]
        print(f"{name} capacity={capacity}: threads on the slow CPU have created {made}")
        if (made != 0) != (capacity == "off"):
            fail(f"{name}: capacity={capacity}, and a slow CPU's threads have created {made}")


def main() -> None:
    capacities = sys.argv[1] == "--capacities"
    command = sys.argv[2 if capacities else 1 :]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("dist", "central"):
            check(name, command, Path(folder))
            if capacities:
                check_capacities(name, command, Path(folder))


if __name__ == "__main__":
    main()
