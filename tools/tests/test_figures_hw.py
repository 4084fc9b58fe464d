# SPDX-License-Identifier: MIT
"""`pirn bench figures hw`: the plan, what is read from runs, and the page of made-up results."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pirn_tools.chip.bare import SCHEDULERS
from pirn_tools.chip.sweep import Result
from pirn_tools.errors import UserError
from pirn_tools.figures import hw, hw_claims, hw_differs, hw_page, hw_pirn, hw_plots
from pirn_tools.figures.hw import FULL, LATENCY, SHORT, Case, Plan, Point, Points
from pirn_tools.figures.hw_results import Best, best, grows, pays_until, ratio, speedup

ROOT = Path(__file__).resolve().parent.parent.parent
PRINTED = """cycles 70555
mean 1893
cores 600 400
inlined 0
rtu_overflows 3
dtb_overflows 2
recruits 5
blocked 1
"""


COUNTED = {
    "harts": [
        {"pipe": 11, "load": 12, "lock": 13, "device": 17, "atomic": 14},
        {"pipe": 21, "load": 22, "lock": 23, "device": 27, "atomic": 24},
    ]
}
NO_PIRN = hw_pirn.Found({}, Points(), 0)


def printed(output: str) -> Result:
    return Result(output, COUNTED)


def point(case: Case, seed: int, cycles: int) -> Point:
    cores = (case.threads,) + (0,) * (case.harts // case.each - 1)
    return Point(
        case, seed, cycles, 100, cores, 0, 1, 2, 3, 4, cycles // 2, 0, 0, 0, 7 * case.threads
    )


def made_up(plan: Plan, cycles: Callable[[Case, int], int]) -> Points:
    found = Points()
    for case, seed in plan.runs():
        found.of.setdefault(case, []).append(point(case, seed, cycles(case, seed)))
    return found


def plausible(case: Case, seed: int) -> int:
    """Software costs 300 cycles a thread more than hardware."""
    each = 10 * case.units * 4 / case.harts
    each += 40 if case.scheduler.startswith("hard") else 340 + case.cost
    return int(case.threads * each) + seed


def test_what_the_program_prints_is_read() -> None:
    found = hw.read(Case("hard", 50, 8), 3, printed(PRINTED))
    assert (found.cycles, found.mean, found.cores) == (70555, 1893, (600, 400))
    assert (found.rtu_overflows, found.dtb_overflows, found.recruits, found.blocked) == (3, 2, 5, 1)
    assert found.seed == 3
    assert (found.parent_pipe, found.parent_load) == (11, 12)
    assert (found.lock, found.device, found.atomic) == (13 + 23, 17 + 27, 14 + 24)


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("", "not what threads prints"),
        (PRINTED.replace("mean 1893", "mean x"), "not what threads prints"),
        (PRINTED.replace("600 400", "600 399"), "the cores have run 999 threads"),
    ],
)
def test_other_output_is_refused(output: str, text: str) -> None:
    with pytest.raises(UserError, match=text):
        hw.read(Case("hard", 50, 8), 1, printed(output))


def test_schedulers_have_the_names_that_the_program_knows() -> None:
    text = (ROOT / "bench" / "chip" / "main.c").read_text()
    kinds = text[text.index("kinds[KINDS] = {") :]
    names = re.findall(r'"([a-z-]+)"', kinds[: kinds.index("};")])
    assert sorted(names) == sorted(SCHEDULERS)


@pytest.mark.parametrize("plan", [FULL, SHORT])
def test_a_plan_has_no_run_twice_and_every_scheduler(plan: Plan) -> None:
    runs = plan.runs()
    assert len(set(runs)) == len(runs)
    assert {case.scheduler for case, _ in runs} == set(SCHEDULERS)
    for case, _ in runs:
        assert case.harts % case.each == 0
    assert all(case.threads >= hw.LEAST_COUNT for case in plan.swept())


def test_the_command_line_says_all_of_a_case() -> None:
    case = Case("mts", 50, 32, threads=200, latency=8, cost=1000)
    run = hw.run_of(Path("threads.elf"), case, 7)
    assert set(run.words) == {
        "scheduler=mts",
        "workload=a",
        "threads=200",
        "units=50",
        "seed=7",
        "cost=1000",
    }
    assert (run.config.cores, run.config.threads, run.config.scheduler) == (8, 4, 64)
    assert run.latency == 8
    assert run.options[:2] == ("--seed", "7")


def test_intervals_and_ratios() -> None:
    soft, hard = Case("mts", 1, 4), Case("hard", 1, 4)
    found = Points({c: [point(c, s, v) for s, v in enumerate(values)] for c, values in (
        (soft, (200, 210, 220)), (hard, (100, 100, 100)))})  # fmt: skip
    # 4.303 * 10 / sqrt(3)
    assert found.error(soft) == pytest.approx(24.84, abs=0.01)
    assert found.error(hard) == 0
    value, error = ratio(found, soft, hard)
    assert value == pytest.approx(2.1)
    assert error == pytest.approx(0.2484, abs=0.0001)
    assert speedup(found, [soft]) == 1


def test_one_run_has_no_interval() -> None:
    case = Case("hard", 1, 4)
    assert Points({case: [point(case, 1, 5)]}).error(case) == 0


def rows(*ratios: float) -> list[Best]:
    return [Best(10**i, 32, 8, "hard", "deque-tree", 1, r) for i, r in enumerate(ratios)]


@pytest.mark.parametrize(
    ("ratios", "answer"),
    [
        ((3.0, 1.2, 1.01), (10, 100)),
        ((3.0, 1.2, 1.1), (100, None)),
        ((1.0, 0.9), (None, 1)),
        ((1.0, 1.2, 1.0, 1.0), (10, 100)),
    ],
)
def test_where_the_hardware_stops_paying(
    ratios: tuple[float, ...], answer: tuple[int | None, int | None]
) -> None:
    assert pays_until(rows(*ratios)) == answer


def test_growth_compares_places_that_were_measured_with_both_values() -> None:
    every = [
        Best(units, harts, latency, "hard", "deque-tree", 1, ratio)
        for units, harts, latency, ratio in (
            *((1, 4, 8, 2.0), (1, 32, 8, 3.0)),  # grows
            *((1, 4, 32, 3.0), (1, 32, 32, 3.0)),  # does not
            *((10, 8, 8, 1.0), (10, 32, 8, 4.0)),  # was not measured with 4
        )
    ]
    assert grows(every, "harts", 4, 32) == (1, 2)
    assert grows(every, "latency", 8, 32) == (1, 2)


def test_numbers_in_sentences_come_from_the_runs() -> None:
    """If all runs take twice as long, sentences give the parent twice the cycles for a thread."""

    def times(by: int) -> Callable[[Case, int], int]:
        return lambda case, seed: by * plausible(case, 0)

    found = [made_up(SHORT, times(by)) for by in (1, 2)]
    texts = [hw_page.page(one, SHORT, {}, "", NO_PIRN) for one in found]
    spawned = [re.findall(r"every (\d+)", text) for text in texts]
    assert len(spawned[0]) == 3
    assert all(int(b) == pytest.approx(2 * int(a), abs=1) for a, b in zip(*spawned, strict=True))


def test_the_fastest_of_each_kind_is_compared() -> None:
    found = made_up(SHORT, plausible)
    every = best(found, SHORT, LATENCY)
    assert [(row.harts, row.units) for row in every] == sorted(
        (harts, units) for harts in SHORT.swept_harts for units in SHORT.swept_units
    )
    assert all(row.ratio > 1 for row in every)


@pytest.mark.parametrize("plan", [FULL, SHORT])
def test_the_page_has_all_parts_and_pictures(plan: Plan, tmp_path: Path) -> None:
    found = made_up(plan, plausible)
    text = hw_page.page(found, plan, {"command": "x"}, "a table of costs", NO_PIRN)
    assert text.endswith("a table of costs\n")
    for title in ("Figure 2", "Figure 3", "Figure 4", "Figure 5", "Where does hardware stop"):
        assert f"\n## {title}" in text
    for name in SCHEDULERS:
        assert f"| `{name}` |" in text
    hw_plots.draw(found, plan, tmp_path)
    pictures = re.findall(r"\(img/([a-z0-9-]+\.png)\)", text)
    assert len(pictures) == 5
    assert all((tmp_path / name).exists() for name in pictures)


def test_the_plan_has_the_hardware_threads_of_the_paper() -> None:
    assert FULL.harts == tuple(hw_claims.PAPER_BLOCKED)
    for case in (*FULL.figure2(), *FULL.figure3(), *FULL.figure4(), *FULL.figure5()):
        assert hw.run_of(Path("x"), case, 1).config.cores == case.harts // 4
    swept = FULL.swept()
    assert len(swept) == len(set(swept)) == 4 * 4 * 3 * 7
    assert {(c.harts, c.latency) for c in swept if c.units == 10_000} == {
        (harts, latency) for harts in (4, 8, 16, 32) for latency in (8, 32, 200)
    }


def test_the_papers_blocks_and_recruiting_threads_stand_beside_ours() -> None:
    text = "\n".join(hw_page.figure3(made_up(FULL, plausible), FULL))
    blocked = "8 | 19 | 29 | 39 | 68 | 71 | 77 | 83"
    assert f"| B in the paper: blocked threads | {blocked} |" in text
    assert "| B in the paper: recruiting threads | - | - | - | - | - | - | 1 | 1 |" in text


def with_pirn(plan: Plan) -> hw_pirn.Found:
    """Each policy needs so many times the cycles of `hard` as its number, half of it as a tree."""
    reference = hw_pirn.reference(hw_pirn.COMPARED, "hard", plan.most)
    bare = Points({reference: [point(reference, seed, 1000) for seed in (1, 2)]})
    works = (hw_pirn.COMPARED, replace(hw_pirn.COMPARED, tree=True))
    pirn = {
        hw_pirn.What(work, policy, plan.most): [
            hw_pirn.Count(seed, 0, 1000 * times // (2 if work.tree else 1) + seed, 0, ())
            for seed in (1, 2)
        ]
        for work in works
        for times, policy in enumerate(hw_pirn.POLICIES, 20)
    }
    return hw_pirn.Found(pirn, bare, 0)


def test_pirns_policies_stand_beside_the_schedulers_of_the_bare_chip() -> None:
    text = "\n".join(hw_page.comparison(made_up(SHORT, plausible), SHORT, with_pirn(SHORT)))
    assert "| Pirn, `steal` | threads of Pirn (100 threads) | 20.0 ± 0.0 | 20.00 ± 0.01 |" in text
    tree = "threads of Pirn, threads create threads (100 threads)"
    assert f"| Pirn, `steal` | {tree} | 10.0 ± 0.0 | 10.00 ± 0.01 |" in text
    assert text.count("| Pirn, ") == len(hw_pirn.POLICIES) + 1
    assert "at least 20.0 ± 0.0 times the cycles of `hard` with 100 threads (policy" in text
    ratios = [float(x) for x in re.findall(r"\| ([0-9.]+)(?: ± [0-9.]+)? \|$", text, re.M)]
    assert len(ratios) == len(SCHEDULERS) + 1 + len(hw_pirn.POLICIES) + 1
    assert ratios == sorted(ratios)


def test_the_page_says_how_this_chip_differs_and_what_counting_a_thread_costs() -> None:
    text = hw_page.page(made_up(SHORT, plausible), SHORT, {}, "", NO_PIRN)
    assert "\n## Where this chip differs from the paper\n" in text
    assert "first in, first out. As a stack," in text
    assert "The paper's worker is blocked while another one has the lock. Here it spins" in text
    assert "A thread of one unit waits\n7 cycles for it, of the 100 that it takes in all" in text
    assert max(map(len, hw_differs.section().splitlines())) <= 100


def test_each_run_counts_for_the_parts_that_need_it() -> None:
    program = Path("threads.elf")
    runs = {hw.run_of(program, case, seed): (case, seed) for case, seed in SHORT.runs()}
    results = {run: Result("", {"cycles": 1}, 60.0) for run in runs}
    parts = hw.costs(SHORT, runs, results)
    # besides the runs of the figure: the parent's, of two latencies, two chips and two numbers of
    # threads, but what the figure has already
    assert len(parts["Figure 2"]) == 3 * 2 * 2 + 2 * 2 * 2 - 1
    assert len(parts["Figure 3"]) == 4 * 2 * 2 + 2
    assert len(parts["Figure 5"]) == 2 * 2 * 2
    # 32 cases; 8 of them have a second seed, because other parts have them, too
    assert len(parts["where hardware stops paying"]) == 40
    assert {id(one) for each in parts.values() for one in each} == set(map(id, results.values()))


def test_a_place_of_the_sweep_says_where_the_hardware_stops_paying() -> None:
    text = hw_page.paying(made_up(SHORT, plausible), SHORT)
    assert "| latency 8 | up to 100, the last | up to 100, the last |" in text
    assert hw_page.until(None, 1) == "nowhere"
    assert hw_page.until(10, 50) == "up to 10, not at 50"


def test_the_table_of_all_runs(tmp_path: Path) -> None:
    found = made_up(SHORT, plausible)
    hw.write_csv(tmp_path / "hw.csv", found)
    with (tmp_path / "hw.csv").open() as file:
        read = list(csv.DictReader(file))
    assert len(read) == len(SHORT.runs())
    assert read[0]["scheduler"] == "hard"
    assert read[0]["cores"] == "1000"
