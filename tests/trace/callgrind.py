# SPDX-License-Identifier: MIT
"""Instructions of an operation, counted by Valgrind, for cost.py and affinity_cost.py.

What an operation takes is the difference of two runs of different lengths. Only the main kernel
thread counts, which executes all user threads on one CPU: what the runtime's others do (the
monitor, a spare one that begins) depends on time.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SHORT, LONG = 2000, 6000
SKIPPED = 77  # CTest's, as tests/trace/CMakeLists.txt says


def is_there(not_checked: str) -> bool:
    """False: there is no valgrind. Then it says what is not checked."""
    if shutil.which("valgrind") is None:
        print(
            "SKIPPED: valgrind is not installed, which counts instructions. Not checked: "
            f"{not_checked}."
        )
        return False
    return True


def instructions(program: str, library: str, row: str, sched: str, n: int) -> int:
    """Of a run of pirn-trace-cost on one CPU with the library in that folder."""
    with tempfile.TemporaryDirectory() as d:
        command = [
            "valgrind",
            "--tool=callgrind",
            "--separate-threads=yes",
            f"--callgrind-out-file={d}/out",
            program,
            row,
            str(n),
        ]
        env = dict(os.environ, LD_LIBRARY_PATH=library, PIRN_CPUS="1", PIRN_SCHED=sched)
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
        main = Path(d, "out-01")
        text = main.read_text(encoding="utf-8") if main.exists() else ""
    found = re.search(r"^totals: (\d+)$", text, re.MULTILINE)
    if done.returncode != 0 or found is None:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    return int(found[1])


def per_operation(program: str, library: str, row: str, sched: str) -> float:
    most, least = (instructions(program, library, row, sched, n) for n in (LONG, SHORT))
    return (most - least) / (LONG - SHORT)
