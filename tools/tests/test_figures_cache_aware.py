# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures cache-aware`."""

from __future__ import annotations

import pytest

from pirn_tools.errors import UserError
from pirn_tools.figures import cache_aware as aware

WAYS = {
    aware.JOBS: ("single", "gate"),
    aware.DEADLINES: ("single", "gate:order=edf"),
    aware.THREE: ("single", "gate"),
    aware.PRIVATE: ("single", "groups"),
    aware.SHARED: ("single", "groups:home=none"),
}
THREADS = {aware.JOBS: "T1 T2 T3 T4", aware.DEADLINES: "T1 T2 T3 T4", aware.THREE: "A B C"}
HEAD = (
    "case,way,seed,thread,n,late,sum_ns,squares,worst_ns,lines,misses,l2_misses,first_ns,end_ns,"
    "run_ns"
)
FIRST = {"T1": 1_000, "T2": 2_000, "T3": 2_000_000, "T4": 3_000_000}


def text(better: bool, hungry: int = 900, first: dict[str, int] | None = None) -> str:
    """Two seeds. better: the policy does what it is for."""
    lines = [HEAD]
    for seed in (1, 2):
        for case, ways in WAYS.items():
            for way in ways:
                good = better == (way != "single")
                # Two jobs of 1 ms, or of 0.5 and 1.5.
                squares = 2e12 if good else 2.5e12
                misses = 10 if good else 100
                for thread in THREADS.get(case, "Q1 R1").split():
                    start = (first or FIRST).get(thread, 0)
                    lines.append(
                        f'"{case}","{way}",{seed},{thread},2,{0 if way == "single" else 3},2e6,'
                        f"{squares},1e6,1000,{misses},{misses},{start},{misses * 1000},2000000"
                    )
        for slices, done in ((aware.EQUAL, 800), (aware.FAIR, hungry)):
            for beside, amount, ran in ((aware.MODEST, 1000, 100), (aware.HUNGRY, done, 110)):
                lines.append(f'"{beside}, {slices}",fair,{seed},A,0,0,0,0,0,{amount},7,7,0,0,{ran}')
    return "\n".join(lines) + "\n"


def test_rows_are_by_case_way_and_seed() -> None:
    found = aware.parse(text(better=True))
    assert found.ways(aware.JOBS) == ["single", "gate"]
    assert found.threads(aware.THREE) == ["A", "B", "C"]
    assert len(found.of(aware.JOBS, "gate", "T2")) == 2
    assert aware.mean(found.of(aware.JOBS, "gate", "T2")) == 1000
    assert aware.sigma(found.of(aware.JOBS, "gate", "T2")) == 0
    assert aware.sigma(found.of(aware.JOBS, "single", "T2")) == 500


def test_a_case_that_is_missing_is_named() -> None:
    some = [line for line in text(better=True).splitlines() if f'"{aware.THREE}"' not in line]
    with pytest.raises(UserError, match=r"pirn-sim-aware printed nothing of: three"):
        aware.parse("\n".join(some))


@pytest.mark.parametrize(("better", "said"), [(True, "yes"), (False, "no")])
def test_verdicts_follow_the_figures(better: bool, said: str) -> None:
    found = aware.parse(text(better))
    assert [one.agrees for one in aware.job_claims(found, aware.JOBS)][:2] == [said] * 2
    assert [one.agrees for one in aware.three_claims(found)][:2] == [said] * 2
    assert [one.agrees for one in aware.group_claims(found)] == [said] * 2


@pytest.mark.parametrize(
    ("first", "said"),
    [(FIRST, "yes"), ({**FIRST, "T4": 1_500_000}, "no"), ({**FIRST, "T3": 3_000}, "no")],
)
def test_the_fourth_job_waits_for_the_third(first: dict[str, int], said: str) -> None:
    """And the third begins only when a job before it has ended."""
    assert aware.waits_for_third(aware.parse(text(True, first=first))).agrees == said


@pytest.mark.parametrize(("hungry", "said"), [(990, "yes"), (900, "in part"), (700, "no")])
def test_progress_with_fair_slices(hungry: int, said: str) -> None:
    longer, progress = aware.fair_claims(aware.parse(text(True, hungry=hungry)))
    assert longer.agrees == "yes"
    assert progress.agrees == said


def test_the_page_has_all_sections() -> None:
    page = aware.page(aware.parse(text(better=True)), {"command": "x"})
    for title in ("Table 2.1", "by deadlines", "three tasks", "Figure 2.7", "Figures 2.9"):
        assert title in page
