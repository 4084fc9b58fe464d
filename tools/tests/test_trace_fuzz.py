# SPDX-License-Identifier: MIT
"""Some hundred damaged traces (fuzz_trace.py); `make fuzz-trace` reads 100,000."""

from __future__ import annotations

import random

from fuzz_trace import bases, fuzz, mutate


def test_damaged_traces_never_give_a_traceback() -> None:
    assert fuzz(first=0, files=600) == []


def test_damage_is_done() -> None:
    originals = bases()
    chance = random.Random(1)
    changed = sum(mutate(originals[0], chance) != originals[0] for _ in range(100))
    assert changed > 90
