# SPDX-License-Identifier: MIT
"""Runs apps/heat with several numbers of ranks and blocks, with and without Pirn: the result is the
same, and that of a sweep over the whole plate, which is computed here.

Usage: heat.py NPTL PIRN -- MPIRUN...
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys

LIMIT = 500  # s: hangs only
SIZE, STEPS = 61, 25
HOT = 100.0
RUNS = (  # which program, ranks, rows and columns of blocks
    *((0, 1, 1, 1), (0, 3, 3, 1), (0, 2, 2, 2)),
    *((1, 1, 1, 1), (1, 1, 6, 5), (1, 2, 7, 4), (1, 3, 3, 1), (1, 3, 13, 11), (1, 2, 61, 1)),
)


def plate() -> str:
    """The sum that the program prints."""
    width = SIZE + 2
    values = [HOT] * width + [0.0] * (width * (SIZE + 1))
    for _ in range(STEPS):
        for i in range(1, SIZE + 1):
            for at in range(i * width + 1, i * width + SIZE + 1):
                around = values[at - width] + values[at - 1] + values[at + 1] + values[at + width]
                values[at] = 0.25 * around
    total = 0
    for i in range(SIZE):
        for j in range(SIZE):
            raw = struct.pack("<d", values[(i + 1) * width + j + 1])
            total += int.from_bytes(raw, "little") * (2 * (i * SIZE + j) + 1)
    return f"{total & (1 << 64) - 1:016x}"


def main() -> None:
    place = sys.argv.index("--")
    programs, mpirun = sys.argv[1:place], sys.argv[place + 1 :]
    expected = plate()
    for which, ranks, rows, columns in RUNS:
        words = [f"--size={SIZE}", f"--steps={STEPS}", f"--rows={rows}", f"--columns={columns}"]
        done = subprocess.run(
            [*mpirun, "-n", str(ranks), programs[which], *words],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        found = re.search(r"sum ([0-9a-f]{16}),", done.stdout)
        if done.returncode != 0 or found is None or found[1] != expected:
            sys.exit(
                f"heat: {programs[which]} {' '.join(words)} on {ranks} ranks: exit status "
                f"{done.returncode}, expected the sum {expected}: {done.stdout}{done.stderr}"
            )
    print("heat: done")


main()
