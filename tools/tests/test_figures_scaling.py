# SPDX-License-Identifier: MIT
"""`pirn bench figures scaling`: what the model prints is read right, and the page says it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pirn_tools.errors import UserError
from pirn_tools.figures import scaling_page as page
from pirn_tools.figures.scaling_model import (
    COARSE,
    FINE,
    POLICIES,
    WORKLOADS,
    Case,
    Line,
    Point,
    Points,
    Run,
    Symbols,
    parse,
    plan,
    read_rates,
    write_csv,
)

HEAD = (
    "row,workload,topology,cpus,sched,work_ns,seed,operations,ns,idle_ns,switches,migrations,kicks,"
    "sleeps,steals,steal_attempts,memory_ps,accesses,misses,far,name\n"
)
PRINTED = (
    HEAD
    + "run,fib,numa256,4,steal,1000,1,200,100000,40000,9,8,7,6,5,4,20000000,300,20,10,\n"
    + "line,fib,numa256,4,steal,1000,1,,,,,,,,,,15000000,200,15,,queue of a CPU\n"
    + "run,fib,numa256,4,steal,1000,2,200,200000,80000,9,8,7,6,5,4,20000000,300,20,10,\n"
)


def symbols() -> Symbols:
    return Symbols(Path(sys.executable).resolve())


def point(case: Case, rate: float) -> Point:
    run = Run(
        1000, round(1000 * 1000 / rate), 10, 5.0, 1, 2, 3, (Line("queue of a CPU", 4000, 9, 1),)
    )
    return Point(case, (run,))


def points() -> Points:
    """Rates that grow up to 8 CPUs, and stay."""
    return {case: point(case, float(min(case.cpus, 8))) for case in plan((1, 8, 32))}


def test_rows_are_read() -> None:
    found = parse(Case("fib", "steal", 4, 1000), PRINTED, symbols())
    assert found.rate == pytest.approx((2.0 + 1.0) / 2)
    assert found.spread == pytest.approx((1.0, 2.0))
    assert found.share("idle") == pytest.approx(0.1)
    assert found.share("memory") == pytest.approx((0.05 + 0.025) / 2)
    assert found.lines() == [("queue of a CPU", pytest.approx(0.75 / 2))]


def test_output_without_a_run_is_refused() -> None:
    with pytest.raises(UserError, match="the model printed no run"):
        parse(Case("fib", "steal", 4, 1000), HEAD, symbols())


def test_static_data_has_a_name_if_it_is_known() -> None:
    known = symbols()
    assert known.name("a semaphore") == "a semaphore"
    assert known.name("static 0xffffffffff") == "static data"


def test_bend_is_the_first_number_with_less_than_half() -> None:
    found = page.curve(points(), "wake", "steal", FINE)
    assert list(found) == [1, 8, 32]
    assert page.efficiency(found, 8) == pytest.approx(1.0)
    assert page.efficiency(found, 32) == pytest.approx(0.25)
    assert page.bend(found) == "32"
    assert page.bend({n: found[n] for n in (1, 8)}) == "not up to 8"


def test_page_has_all_workloads_and_what_changed(tmp_path: Path) -> None:
    file = tmp_path / "before.csv"
    write_csv(file, {case: point(case, 4.0) for case in plan((32,))})
    text = page.page(points(), read_rates(file), {"command": "x"})
    for workload in WORKLOADS:
        assert f"### {workload}\n" in text
        assert f"| {workload} | 1 µs | 32 | 4 | 8 | +100 % |" in text
    assert "| `steal` | 10 µs | 1 (100 %) | 8 (100 %) | 8 (25 %) | 32 |" in text
    assert "queue of a CPU 80 %" in text


def test_page_without_an_earlier_run_does_not_compare(tmp_path: Path) -> None:
    assert read_rates(tmp_path / "none.csv") == {}
    assert "What was changed" not in page.page(points(), {}, {"command": "x"})


def test_plan_leaves_out_what_takes_hours() -> None:
    most = {(one.workload, one.policy): 0 for one in plan((1, 64, 128, 256))}
    for one in plan((1, 64, 128, 256)):
        most[one.workload, one.policy] = max(most[one.workload, one.policy], one.cpus)
    assert most["wake", "steal"] == 256
    assert most["fib", "steal"] == 128
    assert most["fib", "single"] == most["mutex", "steal"] == 64
    assert {one.work for one in plan((1,)) if one.policy != POLICIES[0]} == {COARSE}
