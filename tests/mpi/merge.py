# SPDX-License-Identifier: MIT
"""Traces of two ranks on one time line: `pirn trace merge` finds both ends of every message, and
the difference of their clocks, also where rank 1 has a clock of its own (a time namespace).

Usage: merge.py PROGRAM ARGUMENTS... -- MPIRUN...
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "tests"))
import trace_event_format

LIMIT = 500  # s: hangs only
AHEAD = 3600  # s
SHIFT = ["unshare", "--time", "--monotonic", str(AHEAD)]


def may_shift() -> bool:
    try:
        done = subprocess.run(
            [*SHIFT, "cat", "/proc/self/timens_offsets"],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return False
    return done.returncode == 0 and re.search(rf"^monotonic\s+{AHEAD}\b", done.stdout) is not None


def merge(folder: str, output: str) -> list[str]:
    """The remarks."""
    files = sorted(str(path) for path in Path(folder).glob("*.trace"))
    command = [sys.executable, "-m", "pirn_tools", "trace", "merge", *files, "-o", output]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    if done.returncode != 0:
        sys.exit(f"merge: exit status {done.returncode}: {done.stderr}")
    return done.stderr.splitlines()


def check(folder: str, ahead: float) -> None:
    remarks = merge(folder, f"{folder}/all.json")
    text = "\n".join(remarks)
    clock = re.search(r"clock of rank 1: ([-+][\d,.]+) µs ahead.* at most ([\d,.]+) µs", text)
    if clock is None:
        sys.exit(f"merge: nothing is said of the clock of rank 1: {text}")
    found, error = (float(word.replace(",", "")) / 1e6 for word in clock.groups())
    if abs(found - ahead) > error:
        sys.exit(f"merge: rank 1 is {ahead} s ahead, not {found} s ± {error} s")
    if "have no other end" in text or "have no arrows" in text:
        sys.exit(f"merge: not all messages have arrows: {text}")
    trace = json.loads(Path(f"{folder}/all.json").read_text())
    trace_event_format.check(trace)
    flows = [e for e in trace["traceEvents"] if e["ph"] == "s" and e["cat"] == "message"]
    ends = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "f" and e["cat"] == "message"}
    between = [e for e in flows if ends[e["id"]]["pid"] != e["pid"]]
    if len(flows) != len(ends) or not between or len(between) == len(flows):
        sys.exit(f"merge: {len(flows)} messages, {len(between)} of them between ranks")
    late = [ends[e["id"]]["ts"] - e["ts"] for e in between]
    if max(late) > 1e6 * AHEAD / 2:
        sys.exit(f"merge: a message is under way for {max(late) / 1e6} s")
    merge(folder, f"{folder}/all.html")
    page = Path(f"{folder}/all.html").read_text()
    if "2 ranks" not in page or "messageSent" not in page:
        sys.exit("merge: the page has no ranks, or no messages")


def run(command: list[str], shifted: bool) -> None:
    place = command.index("--")
    program, mpirun = command[:place], command[place + 1 :]
    second = [*SHIFT, *program] if shifted else program
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*mpirun, "-n", "1", *program, ":", "-n", "1", *second],
            env={**os.environ, "PIRN_TRACE": f"{folder}/%p.trace"},
            stdin=subprocess.DEVNULL,
            timeout=LIMIT,
            check=False,
        )
        if done.returncode != 0:
            sys.exit(f"merge: the program's exit status is {done.returncode}")
        check(folder, AHEAD if shifted else 0.0)


run(sys.argv[1:], shifted=False)
if may_shift():
    run(sys.argv[1:], shifted=True)
else:
    print("merge: no time namespaces here: not with a clock of another machine")
print("merge: done")
