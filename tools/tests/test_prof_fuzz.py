# SPDX-License-Identifier: MIT
"""Some hundred damaged profiles (fuzz_prof.py); `make fuzz-prof` reads 100,000."""

from __future__ import annotations

import random
from pathlib import Path

from fuzz_prof import bases, fuzz, mutate
from profiles import needs_cc

from pirn_tools.errors import UserError
from pirn_tools.prof.read import load

pytestmark = needs_cc


def test_damaged_profiles_never_give_a_traceback() -> None:
    assert fuzz(first=0, files=600) == []


def test_damage_that_was_found_once_is_refused() -> None:
    # A program whose code has addresses that do not fit; one whose table of addresses has segments.
    for seed in (201431, 218319, 96080):
        assert fuzz(seed, 1) == []


def test_damage_is_done_and_not_all_of_it_is_noticed_at_once(tmp_path: Path) -> None:
    originals = bases()
    chance = random.Random(1)
    changed, read = 0, 0
    for _ in range(300):
        data = mutate(originals[0], chance)
        changed += data != originals[0].encode()
        (tmp_path / "p").write_bytes(data)
        try:
            load(tmp_path / "p")
        except UserError:
            continue
        read += 1
    assert changed > 270
    assert 30 < read < 270
