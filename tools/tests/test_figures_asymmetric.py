# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures asymmetric`: tables and verdicts from made-up runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pirn_tools.chip.sweep import Result, Run
from pirn_tools.errors import UserError
from pirn_tools.figures import asymmetric
from pirn_tools.figures.asymmetric import CHIPS, POLICIES, PROGRAMS, What

IMAGE = Path("fork_join.elf")
CYCLES = {
    "single": 900,
    "dist": 800,
    "dist, capacity=on": 400,
    "steal": 600,
    "steal, capacity=on": 450,
}


def results(*, wrong: bool = False) -> tuple[dict[Run, Result], dict[Run, What]]:
    what = asymmetric.plan(IMAGE, short_=False)
    found = {}
    for number, (run, one) in enumerate(what.items()):
        sum_ = "00bad000" if wrong and number == 7 else "00c0ffee"
        found[run] = Result(f"cycles={CYCLES[one.policy]}000 checksum={sum_}\n", {"cycles": 1})
    return found, what


def test_the_plan_has_each_policy_on_each_chip() -> None:
    runs = asymmetric.plan(IMAGE, short_=False)
    seeds = sum(len(chip.seeds) for chip in CHIPS)
    assert len(runs) == seeds * len(PROGRAMS) * len(POLICIES)
    assert {run.options[1] for run in runs} == {"1,1,2,2", "1,1,4,4,4,4,4,4"}


def test_a_wrong_checksum_is_an_error() -> None:
    with pytest.raises(UserError, match="checksum 00bad000, 00c0ffee in other runs"):
        asymmetric.points(*results(wrong=True))


def test_the_ideal_counts_the_fastest_cpus_that_have_threads() -> None:
    speed = {1: 1.0, 2: 0.5}
    three, each = PROGRAMS[0], PROGRAMS[1]
    assert asymmetric.ideal(CHIPS[0], three, 8.0, speed) == pytest.approx(3 * 30000 * 8 / 2.5)
    assert asymmetric.ideal(CHIPS[0], each, 8.0, speed) == pytest.approx(4 * 20000 * 8 / 3)


def test_the_page_has_shares_and_ratios() -> None:
    found = asymmetric.points(*results())
    least = {(CHIPS[0].title, PROGRAMS[0].title): 225000.0}
    text = asymmetric.page(found, {}, {1: 1.0, 2: 0.6}, least, {"command": "none"})
    assert "| 3 long threads | 900 (25%) | 800 (28%) | 400 (56%) | 600 (38%) | 450 (50%) |" in text
    assert "`steal` takes 0.75 of its time without them" in text
    assert "`dist` takes 0.50 of its time without them" in text
    assert "every 2 cycles 0.60" in text
    assert "COMM, 4 cores" not in text
