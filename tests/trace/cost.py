# SPDX-License-Identifier: MIT
"""Counts the cost of hooks while the trace is off: instructions with them and without.

Usage: cost.py COST LIBRARIES UNTRACED: the program, and the folders with the two libraries.
Without valgrind it says what is not checked, and exits with 77: skipped.
"""

from __future__ import annotations

import sys

import callgrind

PROGRAM, TRACED, UNTRACED = sys.argv[1:4]
# Hooks that an operation passes: a yield switches twice (there and back); a thread is spawned,
# woken, waited for (block), switched to, started, ended, switched from, and joined; a round trip
# of two semaphores is two of wake, block, switch.
HOOKS = {"yield": 2, "create_join": 8, "pingpong": 6}
# A hook is a comparison and a jump; with one more branch the compiler lays a function out anew.
PER_HOOK = 2
LAYOUT = 6


def main() -> int:
    if not callgrind.is_there(
        f"what a hook costs while the trace is off, at most {PER_HOOK} instructions, in "
        f"{', '.join(HOOKS)}"
    ):
        return callgrind.SKIPPED
    failures = 0
    for row, hooks in HOOKS.items():
        traced, untraced = (
            callgrind.per_operation(PROGRAM, library, row, "steal")
            for library in (TRACED, UNTRACED)
        )
        extra = traced - untraced
        allowed = PER_HOOK * hooks + LAYOUT
        print(
            f"{row}: {untraced:.1f} instructions without hooks, {traced:.1f} with "
            f"{hooks} of them: {extra:+.1f}, {extra / hooks:.2f} a hook (at most {allowed} in all)"
        )
        failures += extra > allowed
    return failures


if __name__ == "__main__":
    sys.exit(main())
