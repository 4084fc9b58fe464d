# SPDX-License-Identifier: MIT
"""The library's instructions by function, counted by Valgrind's callgrind."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

from pirn_tools.errors import UserError

from harness.rounds import environment_with
from harness.scheduling import Plan
from harness.tables import markdown

SHOWN = 12
# 552,166 ( 6.92%)  src/sched/classq.c:push_slow'2 [build/release/lib/libpirn-pthread.so.0.1.0]
LINE = re.compile(r"^\s*([\d,]+) \([^)]*\)\s+(\S+?):([^\s']+)\S*\s+\[[^]]*/libpirn-pthread\.")


def counted(text: str) -> Counter[str]:
    """Instructions by function, of the library only; recursion levels together."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            found[f"{match[3]} ({Path(match[2]).name})"] += int(match[1].replace(",", ""))
    return found


def run(program: Path, args: str, sched: str, scratch: Path) -> Counter[str]:
    data = scratch / "callgrind.out"
    command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={data}", str(program)]
    # Without ticks: Valgrind is so slow that threads would meet some that otherwise meet none.
    options = {"PIRN_CPUS": "1", "PIRN_SCHED": sched, "PIRN_PREEMPT": "0"}
    environment = environment_with(options)
    for step in ([*command, *args.split()], ["callgrind_annotate", "--threshold=100", str(data)]):
        try:
            done = subprocess.run(
                step, env=environment, capture_output=True, text=True, timeout=300, check=False
            )
        except FileNotFoundError:
            raise UserError(f"{step[0]} is not installed (package valgrind)") from None
        if done.returncode != 0:
            raise UserError(f"{step[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    found = counted(done.stdout)
    if not found:
        raise UserError("callgrind_annotate names no function of the library")
    return found


def table(plan: Plan, apps: Path, scratch: Path) -> str:
    """The most expensive functions of each program side by side; the rest is last."""
    columns: list[list[str]] = []
    header = []
    for name, profile in plan.profiles.items():
        found = run(apps / f"{name}-pirn", profile.args, plan.policies[0], scratch)
        whole = sum(found.values())
        top = found.most_common(SHOWN)
        cells = [f"{function}: {number / whole:.1%}" for function, number in top]
        rest = whole - sum(number for _, number in top)
        columns.append([*cells, f"{len(found) - len(top)} others: {rest / whole:.1%}"])
        header.append(f"{name}: {whole / profile.threads:,.0f} instructions a thread")
    return markdown(header, [list(line) for line in zip(*columns, strict=True)])
