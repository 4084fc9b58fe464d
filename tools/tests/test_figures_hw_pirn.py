# SPDX-License-Identifier: MIT
"""Pirn's policies on the page of `pirn bench figures hw`: from made-up results."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pirn_tools.errors import UserError
from pirn_tools.figures import hw, hw_pirn
from pirn_tools.figures.hw_pirn import POLICIES, THREADS, WORKS, Count, Found, What, Work

ROOT = Path(__file__).resolve().parent.parent.parent
SEEDS = (1, 2, 3)
HARTS = (4, 8, 16, 32)
WHAT = What(WORKS[0], "steal", 8)
PRINTED = "first 9000\ncycles 7000\nmean 150\ncores 60 40\n"


def made_up() -> Found:
    """Policy number N needs 2 + N times the cycles of bench/chip, and 1 / harts of the time."""
    bare = hw.Points()
    for case in hw_pirn.references(HARTS):
        counts = (0,) * 10
        bare.of[case] = [
            hw.Point(case, seed, 320_000 // case.harts, 100, (THREADS,), *counts) for seed in SEEDS
        ]
    pirn = {}
    for what in hw_pirn.plan_of(HARTS):
        cycles = 320_000 // what.harts * (2 + POLICIES.index(what.policy))
        pirn[what] = [Count(seed, 2 * cycles, cycles, 100, (THREADS,)) for seed in SEEDS]
    return Found(pirn, bare, 60)


def test_what_the_program_prints_is_read() -> None:
    assert hw_pirn.read(WHAT, 2, PRINTED) == Count(2, 9000, 7000, 150, (60, 40))


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("", "not what many_threads prints"),
        (PRINTED.replace("mean 150", "mean x"), "not what many_threads prints"),
        (PRINTED.replace("60 40", "60 39"), "the cores have run 99 threads"),
    ],
)
def test_other_output_is_refused(output: str, text: str) -> None:
    with pytest.raises(UserError, match=text):
        hw_pirn.read(WHAT, 1, output)


def test_each_policy_runs_each_workload_on_each_number_of_hardware_threads() -> None:
    runs = [hw_pirn.run_of(Path("x.elf"), w, s) for w in hw_pirn.plan_of(HARTS) for s in SEEDS]
    assert len(set(runs)) == len(WORKS) * len(POLICIES) * len(HARTS) * len(SEEDS)
    assert {work.workload for work in WORKS} == {"a", "b", "c"}
    assert {work.tree for work in WORKS} == {False, True}


def test_a_short_plan_has_few_hardware_threads() -> None:
    assert hw_pirn.harts_of(hw.FULL) == hw_pirn.HARTS
    assert hw_pirn.harts_of(replace(hw.SHORT, seeds=1)) == (4,)


def test_the_command_line_says_all_of_a_run() -> None:
    run = hw_pirn.run_of(Path("x.elf"), What(Work("a", 50, tree=True), "dist", 16), 3)
    assert set(run.words) == {"--workload=a", "--units=50", f"--threads={THREADS}", "--tree"}
    assert set(run.settings) == {"PIRN_SCHED=dist", "PIRN_PREEMPT=0", "PIRN_STACK=16384"}
    assert (run.config.cores, run.config.threads, run.config.scheduler) == (4, 4, 64)
    assert run.latency == hw.LATENCY
    assert run.options[:2] == ("--seed", "3")


def test_options_have_the_names_that_the_program_knows() -> None:
    text = (ROOT / "bench" / "board" / f"{hw_pirn.PROGRAM}.c").read_text()
    known = set(re.findall(r'option_[a-z]+\("([a-z]+)"', text))
    used = {
        word.lstrip("-").split("=")[0]
        for what in hw_pirn.plan_of(HARTS)
        for word in hw_pirn.run_of(Path("x.elf"), what, 1).words
    }
    assert used == known


def test_software_of_bench_chip_is_not_asked_for_conditional_accesses() -> None:
    cases = hw_pirn.references(HARTS)
    assert {case.scheduler for case in cases if case.workload == "b"} == {"hard"}
    assert {case.threads for case in cases} == {THREADS}


def test_a_table_has_a_row_for_each_policy_and_its_ratio_to_the_hardware() -> None:
    text = hw_pirn.table(made_up(), WORKS[0])
    assert "| scheduler | 4 harts | 8 harts | 16 harts | 32 harts | times `hard` |" in text
    assert "| `hard` | 80.0 | 40.0 | 20.0 | 10.0 | 1.00 |" in text
    assert "| Pirn, `steal` | 160.0 | 80.0 | 40.0 | 20.0 | 2.00 |" in text
    assert "| Pirn, `hw` | 560.0 | 280.0 | 140.0 | 70.0 | 7.00 |" in text


def test_the_verdict_names_the_fastest_policy_and_the_slowest() -> None:
    text = hw_pirn.verdict(made_up(), WORKS[0])
    assert "`steal` is the fastest policy: 200 cycles a thread, 2.0 times `hard`" in text
    assert (
        "`hw`, the slowest, takes 3.5 times as long. `steal` is 8.0 times as fast with 32" in text
    )


def test_a_run_has_as_many_seeds_as_the_plan_but_few() -> None:
    assert len(hw_pirn.seeds_of(hw.FULL)) == min(hw_pirn.SEEDS, hw.FULL.seeds)
    assert list(hw_pirn.seeds_of(replace(hw.FULL, seeds=1))) == [1]


def test_ratios_have_intervals_of_both() -> None:
    found = made_up()
    each = found.pirn[WHAT]
    apart = replace(
        found,
        pirn={
            **found.pirn,
            WHAT: [replace(one, cycles=80_000 + 100 * one.seed) for one in each],
        },
    )
    # 4.303 * 100 / sqrt(3), to 40,000
    value, error = apart.ratio(WHAT, "hard")
    assert (value, error) == (pytest.approx(2.005), pytest.approx(0.00621, abs=0.00001))
    assert found.ratio(WHAT, "hard") == (2.0, 0.0)


def test_only_what_ran_on_as_many_hardware_threads_is_compared() -> None:
    found = made_up()
    what = hw_pirn.compared(found, 32)
    assert [one.policy for one in what] == [*POLICIES, "steal"]
    assert [one.work.tree for one in what] == [False] * len(POLICIES) + [True]
    assert "at least 2.0 times the cycles of `hard`" in hw_pirn.compared_verdict(found, 32)
    assert hw_pirn.compared(found, 24) == []
    assert hw_pirn.compared_verdict(found, 24) == ""


def test_the_section_says_what_differs_and_has_all_workloads() -> None:
    text = hw_pirn.section(made_up())
    assert text.startswith("\n## Pirn's policies\n")
    assert "a stack of 16 KiB" in text
    assert re.findall(r"^### (.*)$", text, re.M) == [work.title for work in WORKS]
    assert text.count("Pirn, `central`") == len(WORKS)
    assert "Each has 3 seeds of arbitration" in text
    assert "took 1.0 minutes" in text


def test_the_table_of_all_runs(tmp_path: Path) -> None:
    found = made_up()
    hw_pirn.write_csv(tmp_path / "hw-pirn.csv", found)
    with (tmp_path / "hw-pirn.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(found.pirn) * len(SEEDS)
    assert (rows[0]["policy"], rows[0]["first"], rows[0]["cycles"]) == ("steal", "320000", "160000")
    assert [row["seed"] for row in rows[:3]] == ["1", "2", "3"]
