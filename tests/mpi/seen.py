# SPDX-License-Identifier: MIT
"""Runs waits.c and looks at it: what its threads wait for is shown by `pirn ps` and `pirn dump`, in
its own report (pirn_dump), and in its trace.

Usage: seen.py COMMAND..., which starts the ranks.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 500  # s: hangs only
COMM = r"comm=MPI_COMM_WORLD"
WAITS = {
    "receives": rf"MPI_Recv source=1 tag=7 bytes=64 {COMM}",
    "receives-any": r"MPI_Recv source=any tag=any bytes=1 comm=halo",
    "sends": rf"MPI_Ssend dest=1 tag=9 bytes=24 {COMM}",
    "probes": rf"MPI_Probe source=1 tag=11 {COMM}",
    "waits": r"MPI_Waitall requests=2",
    "meets": r"MPI_Barrier comm=0x[0-9a-f]+",
}


def pirn(*words: str) -> str:
    command = [sys.executable, "-m", "pirn_tools", *words]
    environment = {**os.environ, "TERM": "dumb"}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False, timeout=LIMIT
    )
    if done.returncode != 0:
        sys.exit(f"pirn {words[0]}: exit status {done.returncode}: {done.stderr}")
    return done.stdout


def missing(text: str, form: str) -> list[str]:
    """The threads that are not shown: `form` is a pattern with NAME and WAIT."""
    found = []
    for name, wait in WAITS.items():
        pattern = form.replace("NAME", re.escape(name)).replace("WAIT", wait)
        if re.search(pattern, text, re.MULTILINE) is None:
            found.append(name)
    return found


def check(what: str, text: str, form: str) -> None:
    gone = missing(text, form)
    if gone:
        sys.exit(f"seen: {what} does not say what these wait for: {', '.join(gone)}\n{text}")


def first_rank(stream: object) -> str:
    """The number of its process."""
    for line in stream:  # type: ignore[attr-defined]
        match = re.search(r"rank 0 is (\d+)", line)
        if match is not None:
            return match[1]
    sys.exit("seen: rank 0 did not start")


def look(pid: str) -> None:
    """While it runs."""
    end = time.monotonic() + LIMIT
    while missing(pirn("ps", "-p", pid), r"^ *\d+\.\d+ +NAME .*blocked .* WAIT$"):
        if time.monotonic() > end:
            check("pirn ps", pirn("ps", "-p", pid), r" NAME .*blocked .* WAIT$")
            sys.exit("seen: too slow")
        time.sleep(0.05)
    check("pirn dump", pirn("dump", "-p", pid), r'^Thread \d+\.\d+ "NAME": waits for WAIT$')


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace = f"{folder}/%p.trace"
        with subprocess.Popen(
            sys.argv[1:],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # The waits begin early, and last until all commands have looked: a minute on a busy
            # machine, in which the poller fills much of a trace.
            env={**os.environ, "PIRN_TRACE": trace, "PIRN_TRACEFULL": "stop"},
        ) as process:
            try:
                pid = first_rank(process.stdout)
                look(pid)
                report = process.communicate("", timeout=LIMIT)[1]
            finally:
                process.kill()
        check("pirn_dump", report, r'^pirn:   thread \d+ "NAME" waits for WAIT(, in .*)?$')
        if process.returncode != 0:
            sys.exit(f"seen: exit status {process.returncode}: {report}")
        export = f"{folder}/trace.csv"
        pirn("trace", "export", f"{folder}/{pid}.trace", "--format", "csv", "-o", export)
        check_trace(Path(export).read_text())
    print("seen: done")


def check_trace(text: str) -> None:
    """The waits have the labels as reasons."""
    waits = set()
    for columns in csv.reader(text.splitlines()):
        match = re.search(r'reason="?([^"]*?)"? object=', columns[6])
        if columns[3] == "block" and match is not None:
            waits.add(match[1])
    gone = [wait for wait in WAITS.values() if not any(re.fullmatch(wait, one) for one in waits)]
    if gone:
        sys.exit(f"seen: the trace has no waits for {gone}, but for {sorted(waits)}")


main()
