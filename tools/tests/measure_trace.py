# SPDX-License-Identifier: MIT
"""Time and memory of each verb of `pirn trace` on a trace of a million events made here.

    python measure_trace.py [--events N] [--trace FILE]

Fails if a verb takes more than 10 s of CPU time, or 1 GiB.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from synthetic import play

SECONDS, MEBIBYTES = 10.0, 1024.0


def verbs(file: Path, folder: Path) -> list[list[str]]:
    name = str(file)
    return [
        ["stat", name],
        ["stat", name, "--json"],
        ["plot", name, "-o", str(folder / "t.png")],
        ["plot", name, "-o", str(folder / "t.svg"), "--kind", "load"],
        ["export", name, "--format", "csv", "-o", str(folder / "t.csv")],
        ["export", name, "--format", "chrome", "-o", str(folder / "t.json")],
        ["export", name, "--format", "vcd", "-o", str(folder / "t.vcd")],
        ["diff", name, name],
        ["report", name, "-o", str(folder / "t.html")],
    ]


def measure(arguments: list[str]) -> tuple[float, float, float]:
    """Seconds, seconds of CPU time, MiB."""
    start = time.monotonic()
    command = [sys.executable, "-m", "pirn_tools", *arguments]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"pirn {arguments[0]} {arguments[1]} failed")
    return (
        time.monotonic() - start,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--trace", type=Path, help="this one, instead of one made here")
    options = parser.parse_args()
    worst = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = options.trace
        if file is None:
            file = folder / "t.pirn"
            room = 1 << (2 * options.events).bit_length()
            writer, _ = play(4, 400, options.events, capacity=room, slots=room // 8)
            file.write_bytes(writer.bytes())
        for arguments in verbs(file, folder):
            wall, cpu, memory = measure(["trace", *arguments])
            bad = cpu > SECONDS or memory > MEBIBYTES
            worst |= bad
            what = " ".join([arguments[0], *(word for word in arguments[2:] if "/" not in word)])
            print(f"{what:<28} {wall:6.1f} s {cpu:6.1f} s CPU {memory:7.0f} MiB")
    return int(worst)


if __name__ == "__main__":
    sys.exit(main())
