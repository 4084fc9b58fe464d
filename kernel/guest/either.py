# SPDX-License-Identifier: MIT
"""One binary, two schedulers: the wavemix that declares its dependencies to the kernel's scheduler
in the guest (checks.sh, "declared") runs here, too, preloaded with Pirn's threads, and declares
them to Pirn's. Its output must be the same.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path

from results import Part

PROGRAM = Path("apps/wavemix-nptl")
LIBRARY = Path("lib/libpirn-pthread.so")
OPTIONS = ("--buffer=4K", "--samples=50", "--warmup=10")  # those of checks.sh
PLACED = re.compile(r"^pirn: \S+\.affinity-(?:here|there) (\d+)$", re.MULTILINE)


def run_here(build: Path, *words: str) -> Part:
    """On Pirn's threads; the counter "placed": wake-ups for which the rule chose the CPU."""
    settings = {
        "LD_PRELOAD": str((build / LIBRARY).resolve()),
        "PIRN_SCHED": "steal:affinity=declared",
        "PIRN_CPUS": "2",
        "PIRN_STATS": "text",
    }
    done = subprocess.run(
        [str(build / PROGRAM), *OPTIONS, *words],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    placed = sum(int(number) for number in PLACED.findall(done.stderr))
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines(), f"placed {placed}  wake-ups"]
    return Part("here", done.returncode, lines)


def faults(build: Path, parts: list[Part]) -> list[str]:
    """What differs. Nothing, if the guest has not run that check."""
    there = next((p for p in parts if p.name == "check declared"), None)
    if there is None:
        return []
    if not (build / LIBRARY).exists():
        return [f"there is no {build / LIBRARY}; run make kernel"]
    here, plain = run_here(build, "--affinity"), run_here(build)
    bad = [f"wavemix on Pirn's threads: {p.lines}" for p in (here, plain) if p.status != 0]
    if here.counters["placed"] == 0 or plain.counters["placed"] > 0:
        counts = f"{here.counters['placed']} and {plain.counters['placed']}"
        bad.append(f"wavemix on Pirn's threads: {counts} wake-ups placed, declared and not")
    placed = there.counters.get("here", 0) + there.counters.get("elsewhere", 0)
    if placed == 0:
        bad.append("wavemix in the guest: the kernel's scheduler placed nothing")
    sums = {p.values.get("checksum") for p in (here, plain, there)}
    if len(sums) != 1 or None in sums:
        bad.append(f"wavemix: different output: {sums}")
    own = hashlib.sha256((build / PROGRAM).read_bytes()).hexdigest()
    if not any(line.startswith(own) for line in there.lines):
        bad.append("wavemix: the guest has another binary")
    return bad
