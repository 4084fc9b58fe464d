# SPDX-License-Identifier: MIT
"""Task affinity costs nothing while it is off: a wake-up has as many instructions as without it.

Usage: affinity_cost.py COST LIBRARIES WITHOUT [CHOICE]: the program, and the folders with the
library and with that which has no task affinity. CHOICE: what the library's policies are given
instead of affinity=off; with anything else than off it has to fail. Without valgrind it says what
is not checked, and exits with 77: skipped.
"""

from __future__ import annotations

import sys

import callgrind

PROGRAM, WITH, WITHOUT = sys.argv[1:4]
# An instruction more in an operation is 1; runs vary by some dozens of instructions in all.
LEAST = 0.5
CHOICE = sys.argv[4] if len(sys.argv) > 4 else "off"
# A round trip of two semaphores is two wake-ups, two waits, two switches. The option replaces the
# short way of a yield, too.
ROWS = ("pingpong", "yield")
SCHEDS = (
    "steal:discipline=fifo",
    "steal:discipline=posix",
    "single:discipline=fifo",
    "dist:discipline=fifo",
)


def main() -> int:
    if not callgrind.is_there(
        f"that affinity=off costs no instruction of {', '.join(ROWS)} under {', '.join(SCHEDS)}"
    ):
        return callgrind.SKIPPED
    failures = 0
    for sched in SCHEDS:
        for row in ROWS:
            off = callgrind.per_operation(PROGRAM, WITH, row, f"{sched},affinity={CHOICE}")
            without = callgrind.per_operation(PROGRAM, WITHOUT, row, sched)
            print(
                f"{sched}, {row}: {without:.2f} instructions without task affinity, "
                f"{off:.2f} with affinity={CHOICE}"
            )
            failures += abs(off - without) >= LEAST
    print(f"{failures} of {len(SCHEDS) * len(ROWS)} differ")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
