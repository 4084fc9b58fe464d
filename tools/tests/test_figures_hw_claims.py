# SPDX-License-Identifier: MIT
"""Verdicts of `pirn bench figures hw`: they follow results, which are made up here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from pirn_tools.figures import hw_claims, hw_parent
from pirn_tools.figures.hw import COUNT, FEW, FULL, LATENCY, SHORT, Case, Plan, Point, Points
from pirn_tools.figures.hw_claims import (
    NOT,
    OPEN,
    PAPER_BLOCKED,
    PAPER_MEAN,
    PAPER_RECRUITS,
    PAPER_TRAPS,
    PARTLY,
    REPRODUCED,
    Claim,
)

Change = Callable[[Point], Point]


def cycles_of_paper(case: Case) -> float:
    """As the paper describes its curves."""
    more = case.harts / 4
    if case.scheduler == "hard-tree":
        return 20.0 * case.threads
    if case.scheduler == "mts":
        fine = case.units < 400
        return 5e6 if fine else case.units * 10_000 / min(more, 5.2 if case.units == 400 else 8)
    if case.workload != "a":
        weaker = case.workload in "bd"
        return 400_000 / more * ((1.08 if case.harts >= 24 else 1.02) if weaker else 1)
    scaling = {1: min(more, 2), 10: more**0.7, 50: more}
    return 100.0 * case.units**0.5 * case.threads / scaling.get(case.units, more)


def of_paper(case: Case, seed: int) -> Point:
    """What the paper says of a run."""
    cycles = int(cycles_of_paper(case))
    count, each = case.harts // case.each, case.threads
    cores = [each // count] * count
    if case.units == 1 and count > 2:
        cores = [int(0.4 * each), int(0.368 * each), *([0] * (count - 2))]
    cores[-1] += each - sum(cores)
    workload_a = case.workload == "a"
    traps = PAPER_TRAPS.get(case.units, 0) if workload_a else 0
    return Point(
        case,
        seed,
        cycles,
        PAPER_MEAN.get(case.units, 100),
        tuple(cores),
        inlined=0,
        rtu_overflows=traps,
        dtb_overflows=0,
        recruits=traps if workload_a else PAPER_RECRUITS.get(case.harts, 0),
        blocked=0 if workload_a else PAPER_BLOCKED[case.harts],
        parent_pipe=10 * each,
        parent_load=int(0.8 * cycles),
        lock=int(0.8 * cycles * case.harts) if case.scheduler == "mts" else 0,
        device=0,
        atomic=0,
    )


def runs(plan: Plan, change: Change = lambda point: point) -> Points:
    found = Points()
    for case, seed in plan.runs():
        found.of.setdefault(case, []).append(change(of_paper(case, seed)))
    return found


def claims(found: Points, plan: Plan = FULL) -> dict[str, Claim]:
    parts = (hw_claims.claims2, hw_claims.claims3, hw_claims.claims4, hw_claims.claims5)
    return {claim.paper: claim for part in parts for claim in part(found, plan)}


def found_one(of: dict[str, Claim], words: str) -> Claim:
    (only,) = (claim for paper, claim in of.items() if words in paper)
    return only


def test_all_is_reproduced_by_what_the_paper_describes() -> None:
    every = claims(runs(FULL))
    assert len(every) == 13 + 6 + 3 + 4
    other = [claim.paper for claim in every.values() if claim.verdict != REPRODUCED]
    assert other == ["Units 10 and 50 scale less because of these traps and recruiting threads."]


def changes(**values: object) -> Change:
    return lambda point: replace(point, **values)  # type: ignore[arg-type]


def slower(by: float, where: Callable[[Case], bool]) -> Change:
    def change(point: Point) -> Point:
        return replace(point, cycles=int(point.cycles * by)) if where(point.case) else point

    return change


def on_first_core(point: Point) -> Point:
    return replace(point, cores=(point.case.threads, *(0 for _ in point.cores[1:])))


@pytest.mark.parametrize(
    ("words", "change", "verdict"),
    [
        ("Unit 1 does not scale beyond", slower(0.5, lambda c: c.harts == 32), NOT),
        ("all scale from 4 to 8", slower(2, lambda c: c.units == 1 and c.harts > 4), PARTLY),
        ("all scale from 4 to 8", slower(2.2, lambda c: c.harts == 8), NOT),
        ("most threads run on cores 0 and 1", on_first_core, PARTLY),
        ("creates threads too slowly", slower(5, lambda c: c.scheduler == "hard-tree"), NOT),
        ("its loads wait long", changes(parent_load=5), NOT),
        ("Unit 10 scales much better", slower(9, lambda c: (c.units, c.harts) == (10, 32)), NOT),
        ("almost the same number", on_first_core, NOT),
        ("Unit 50 scales, and better", slower(9, lambda c: (c.units, c.harts) == (50, 32)), NOT),
        ("A thread of unit 1, 10 and 50", changes(mean=100), PARTLY),
        ("A thread of unit 400 and 600", changes(mean=100), NOT),
        ("the more often the RTU is full", changes(rtu_overflows=4), NOT),
        ("called as often", changes(recruits=7), PARTLY),
        ("called as often", changes(recruits=1), NOT),
        ("called as often", changes(rtu_overflows=0), OPEN),
        ("scale less because of these traps", changes(rtu_overflows=0), NOT),
        ("No thread blocks", changes(blocked=1), PARTLY),
        ("B scales, although", slower(9, lambda c: (c.workload, c.harts) == ("b", 32)), PARTLY),
        ("B scales, although", slower(9, lambda c: c.workload in "bd" and c.harts == 16), NOT),
        ("as long as C", slower(2, lambda c: c.workload == "b"), PARTLY),
        ("as long as C", slower(2, lambda c: c.workload in "bd"), NOT),
        ("less close to C", slower(2, lambda c: c.workload == "b" and c.harts < 24), PARTLY),
        ("threads block, the more", changes(blocked=999), NOT),
        ("One recruiting thread", changes(recruits=50), NOT),
        ("cost little", slower(2, lambda c: c.workload in "bd"), NOT),
        ("Units 1, 10 and 50 do not", slower(0.5, lambda c: c.harts == 32), NOT),
        ("Workers, not threads", changes(mean=10**9), NOT),
        ("load and store so often", changes(lock=0), NOT),
        ("begins to scale", slower(9, lambda c: c.units == 400 and c.harts > 4), NOT),
        ("more than 20 hardware", slower(2, lambda c: (c.units, c.harts) == (400, 32)), PARTLY),
        ("Unit 600 scales", slower(9, lambda c: (c.units, c.harts) == (600, 32)), PARTLY),
    ],
)
def test_a_verdict_follows_the_results(words: str, change: Change, verdict: str) -> None:
    assert found_one(claims(runs(FULL, change)), words).verdict == verdict


def test_a_short_plan_leaves_open_what_it_has_no_runs_for() -> None:
    every = claims(runs(SHORT), SHORT)
    for words in ("beyond 8", "cores 0 and 1", "almost the same", "less close", "more than 20"):
        one = found_one(every, words)
        assert (one.verdict, one.here) == (OPEN, "No run has more than 8 hardware threads.")


def test_the_line_says_what_the_paper_says_the_verdict_and_what_is_here() -> None:
    said = hw_claims.text([hw_claims.judged("It is so.", "2.00 times.", True, False)])
    assert said.endswith("\n\n- It is so. **Reproduced in part.** 2.00 times.")


def test_a_ratio_that_the_seeds_leave_open_is_named() -> None:
    def change(point: Point) -> Point:
        apart = (point.case.workload, point.case.harts) == ("b", 32)
        return replace(point, cycles=point.cycles * (1 + point.seed % 2)) if apart else point

    one = found_one(claims(runs(FULL, change)), "as long as C")
    assert re.search(r" and 1\.73 ± 0\.7\d times the cycles of C", one.here)
    assert one.here.endswith("leaves open which it is of B to C with 32 hardware threads.")


def test_b_is_close_to_c_as_long_as_the_dtb_has_room() -> None:
    def change(point: Point) -> Point:
        full = point.case.workload == "d" and point.case.harts in (16, 32)
        return replace(point, cycles=2 * point.cycles, dtb_overflows=1500) if full else point

    found = runs(FULL, change)
    one = found_one(claims(found), "cost little")
    assert one.verdict == PARTLY
    assert one.here.startswith("As long as the DTB has room, they cost up to 1.08 times the cycles")
    assert "; when it is full, up to 2.1" in one.here
    assert "1.5 traps for each thread in workload D with 16 hardware" in hw_claims.why3(found, FULL)


def test_what_makes_threads_wait_for_the_line_follows_how_fast_it_passes_on() -> None:
    """20 cycles from thread to thread, and in the other case 100; the parent needs 50."""
    slow = slower(5, lambda case: case in FULL.passes())
    assert "So the line is not the reason" in hw_claims.why3(runs(FULL), FULL)
    assert "So threads can come faster" in hw_claims.why3(runs(FULL, slow), FULL)


def parent_text(shared: tuple[int, int], alone: tuple[int, int], traps: int = 0) -> str:
    """Cycles that the parent needs for a thread, and those of them in the pipeline."""

    def change(point: Point) -> Point:
        if point.case not in FULL.parent():
            return point
        cycles, pipe = shared if point.case.each > 1 else alone
        threads = point.case.threads
        return replace(
            point,
            cycles=cycles * threads + 500,  # of the start
            parent_pipe=pipe * threads + 9000,
            rtu_overflows=0 if point.case.each > 1 else traps,
        )

    return "\n".join(hw_parent.section(runs(FULL, change), FULL))


@pytest.mark.parametrize(
    ("shared", "alone", "words"),
    [
        (
            (45, 28),
            (26, 7),
            "cost it 19.0 cycles a thread, and the counter `pipe` grows by 21.0. So",
        ),
        ((45, 8), (26, 7), "does not explain the difference"),
        ((27, 7), (26, 7), "is not slower beside other hardware threads (27.0 and 26.0 cycles"),
    ],
)
def test_what_slows_the_parent_down_follows_the_counters(
    shared: tuple[int, int], alone: tuple[int, int], words: str
) -> None:
    text = parent_text(shared, alone)
    assert words in text
    assert f"| {LATENCY} | 4 | {shared[0]}.0 | {shared[1]}.0 |" in text
    assert f"| {LATENCY} | 1 | {alone[0]}.0 | {alone[1]}.0 |" in text


def test_a_parent_that_others_cannot_keep_up_with_shows_nothing() -> None:
    assert "do not show the cause" in parent_text((45, 28), (26, 7), traps=8)


def test_the_parent_alone_in_its_core_runs_on_a_chip_of_one_hardware_thread_a_core() -> None:
    cases = FULL.parent()
    assert {(case.each, case.harts) for case in cases} == {(4, 32), (1, 8)}
    assert {case.threads for case in cases} == {COUNT, FEW}
    assert all(case.latency <= LATENCY for case in cases if case.each == 1)
