# SPDX-License-Identifier: MIT
"""Counts the cost of hooks while the trace is off: instructions with them and without.

Usage: cost.py COST LIBRARIES UNTRACED: the program, and the folders with the two libraries.
Valgrind counts; what an operation takes is the difference of two runs of different lengths. Without
valgrind it says what is not checked, and exits with 77: skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM, TRACED, UNTRACED = sys.argv[1:4]
# Hooks that an operation passes: a yield switches twice (there and back); a thread is spawned,
# woken, waited for (block), switched to, started, ended, switched from, and joined; a round trip
# of two semaphores is two of wake, block, switch.
HOOKS = {"yield": 2, "create_join": 8, "pingpong": 6}
# A hook is a comparison and a jump; with one more branch the compiler lays a function out anew.
PER_HOOK = 2
LAYOUT = 6
SHORT, LONG = 2000, 6000
SKIPPED = 77  # CTest's, as tests/trace/CMakeLists.txt says


def instructions(library: str, row: str, n: int) -> int:
    with tempfile.TemporaryDirectory() as d:
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={d}/out",
            PROGRAM,
            row,
            str(n),
        ]
        env = dict(os.environ, LD_LIBRARY_PATH=library, PIRN_CPUS="1", PIRN_SCHED="steal")
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    found = re.search(r"Collected *: *(\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    return int(found[1])


def main() -> int:
    if shutil.which("valgrind") is None:
        print(
            "SKIPPED: valgrind is not installed, which counts instructions. Not checked: what a "
            f"hook costs while the trace is off, at most {PER_HOOK} instructions, in "
            f"{', '.join(HOOKS)}."
        )
        return SKIPPED
    failures = 0
    for row, hooks in HOOKS.items():
        per = {}
        for library in (TRACED, UNTRACED):
            difference = instructions(library, row, LONG) - instructions(library, row, SHORT)
            per[library] = difference / (LONG - SHORT)
        extra = per[TRACED] - per[UNTRACED]
        allowed = PER_HOOK * hooks + LAYOUT
        print(
            f"{row}: {per[UNTRACED]:.1f} instructions without hooks, {per[TRACED]:.1f} with "
            f"{hooks} of them: {extra:+.1f}, {extra / hooks:.2f} a hook (at most {allowed} in all)"
        )
        failures += extra > allowed
    return failures


if __name__ == "__main__":
    sys.exit(main())
