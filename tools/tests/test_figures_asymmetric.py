# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures asymmetric`: tables and verdicts from made-up runs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from pirn_tools.chip.sweep import Result, Run
from pirn_tools.errors import UserError
from pirn_tools.figures import asymmetric, asymmetric_page, mips_apps
from pirn_tools.figures.asymmetric import (
    APPS,
    CHIPS,
    POLICIES,
    PROGRAMS,
    SEEDS,
    Plan,
    Point,
    Sample,
    What,
)

IMAGE = Path("fork_join.elf")
CYCLES = {
    "single": 900,
    "dist": 800,
    "dist, capacity=on": 400,
    "central": 800,
    "central, capacity=on": 805,
    "steal": 600,
    "steal, capacity=on": 690,
}
SPEEDS = {1: 1.0, 2: 0.5, 4: 0.25}
OUTSIDE = 100_000


def results(plan: Plan, *, wrong: bool = False) -> dict[Run, Result]:
    """Each seed takes 1000 cycles more than the one before. All CPUs sleep for half of the time."""
    found = {}
    for number, (run, (what, seed)) in enumerate(plan.items()):
        took = CYCLES[what.policy] * 1000 + (seed - 1) * 1000
        sum_ = "00bad000" if wrong and number == 7 else "00c0ffee"
        harts = [
            {"wfi": took / 2 + (0 if core == 1 else OUTSIDE)} for core in range(run.config.cores)
        ]
        counters = {"cycles": took + OUTSIDE, "harts": harts}
        found[run] = Result(f"cycles={took} checksum={sum_}\n", counters)
    return found


def plan() -> Plan:
    return asymmetric.plan(IMAGE, short_=False)


def with_apps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.setattr(mips_apps, "clip", lambda folder: folder / "small.mjpeg")
    return plan() | asymmetric.app_plan(tmp_path, tmp_path)


def point(policy: str, *samples: tuple[float, float, float]) -> Point:
    what = What(CHIPS[0].title, "work", policy)
    return Point(what, tuple(Sample(at + 1, *one) for at, one in enumerate(samples)))


def test_the_plan_has_each_policy_on_each_chip_with_all_seeds() -> None:
    runs = plan()
    assert len(runs) == len(CHIPS) * len(SEEDS) * len(PROGRAMS) * len(POLICIES)
    assert {run.options[1] for run in runs} == {"1,1,2,2", "1,1,4,4,4,4,4,4"}
    assert {run.options[3] for run in runs} == {"1", "2", "3"}
    assert "PIRN_SCHED=central:capacity=on" in {run.settings[0] for run in runs}


def test_applications_run_on_each_chip_under_each_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = with_apps(tmp_path, monkeypatch)
    what = {one for one, _ in runs.values() if one.program in [app.title for app in APPS]}
    assert len(what) == len(APPS) * len(CHIPS) * len(POLICIES)
    assert [app.name for app in APPS] == ["mjpeg", "comm"]
    assert "--pictures=12" in APPS[0].words
    assert [word for word in APPS[1].words if "items" in word] == ["--items=100"]


def test_pinned_threads_of_applications_are_placed_by_loads() -> None:
    place = Path("comm.place")
    spec = {policy: asymmetric.app_spec(APPS[1], policy, place) for policy in POLICIES}
    assert spec["dist"] == "dist:unit=tree,place=comm.place"
    assert spec["central, capacity=on"] == "central:capacity=on,unit=tree,place=comm.place"
    assert spec["steal, capacity=on"] == "steal:capacity=on"


def test_a_wrong_checksum_is_an_error() -> None:
    with pytest.raises(UserError, match="checksum 00bad000, 00c0ffee in other runs"):
        asymmetric.points(results(plan(), wrong=True), plan())


def test_sleep_outside_of_the_measured_time_is_not_counted() -> None:
    found = asymmetric.points(results(plan()), plan())
    one = found[What(CHIPS[0].title, PROGRAMS[0].title, "steal")].samples[0]
    assert (one.asleep_fast, one.asleep_slow) == (600_000, 600_000)
    one = found[What(CHIPS[1].title, PROGRAMS[0].title, "steal")].samples[0]
    assert (one.asleep_fast, one.asleep_slow) == (600_000, 1_800_000)


def test_the_ideal_counts_the_fastest_cpus_that_have_threads() -> None:
    three, each = PROGRAMS[0], PROGRAMS[1]
    assert asymmetric.ideal(CHIPS[0], three, 8.0, SPEEDS) == pytest.approx(3 * 30000 * 8 / 2.5)
    assert asymmetric.ideal(CHIPS[0], each, 8.0, SPEEDS) == pytest.approx(4 * 20000 * 8 / 3)


@pytest.mark.parametrize(
    ("with_", "without", "verdict"),
    [
        ((80, 82, 81), (100, 99, 98), "gain"),
        ((80, 98, 81), (100, 99, 97), "none"),  # a seed of one is within the other's
        ((99, 99, 99), (100, 100, 100), "none"),  # too small
        ((101, 101, 101), (100, 100, 100), "none"),
        ((110, 111, 112), (100, 99, 98), "loss"),
        ((110, 99, 112), (100, 99, 98), "none"),
    ],
)
def test_a_verdict_needs_all_seeds_and_a_margin(
    with_: tuple[float, ...], without: tuple[float, ...], verdict: str
) -> None:
    points = [point("steal", *((one, 0, 0) for one in cycles)) for cycles in (with_, without)]
    assert asymmetric_page.verdict_of(*points) == verdict


def test_parts_of_a_change_add_up_and_the_largest_one_is_the_reason() -> None:
    before = point("steal", (100_000, 60_000, 10_000), (100_000, 60_000, 10_000))
    after = point("steal, capacity=on", (80_000, 0, 20_000), (80_000, 0, 20_000))
    change = asymmetric_page.change(after, before, CHIPS[0], SPEEDS)
    assert change.fast == pytest.approx(-60_000 / 3)
    assert change.slow == pytest.approx(10_000 * 0.5 / 3)
    assert change.fast + change.slow + change.awake == pytest.approx(-20_000)
    assert (change.verdict, change.reason) == ("gain", "fast CPUs sleep less")
    back = asymmetric_page.change(before, after, CHIPS[0], SPEEDS)
    assert (back.verdict, back.reason) == ("loss", "fast CPUs sleep longer")
    slow = point("steal", (200_000, 60_000, 210_000))
    assert asymmetric_page.change(slow, before, CHIPS[0], SPEEDS).reason == "CPUs are awake longer"
    slow = point("steal", (120_000, 60_000, 210_000))
    assert asymmetric_page.change(slow, before, CHIPS[0], SPEEDS).reason == "slow CPUs sleep longer"


def page(found: dict[What, Point]) -> str:
    return asymmetric_page.page(found, 8.0, SPEEDS, {"command": "none"})


def test_the_page_has_times_shares_and_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = with_apps(tmp_path, monkeypatch)
    text = page(asymmetric.points(results(runs), runs))
    least = 3 * 30000 * 8 / 2.5
    assert f"| `dist` | 801 (800 to 802), {least / 801_000:.0%} |" in text
    assert "every 2 cycles 0.50, every 4 cycles 0.25" in text
    assert "| policy | MJPEG, 12 pictures of 48 x 48 | COMM, 12 pairs" in text
    assert (
        "| `steal` | 3 long threads | 1.15 | loss | +30 | +15 | +45 | CPUs are awake longer |"
        in (text)
    )
    assert "| `central` | 3 long threads | 1.01 | none | +1 | +1 | +2 | - |" in text


def test_the_verdict_follows_from_the_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = with_apps(tmp_path, monkeypatch)
    text = page(asymmetric.points(results(runs), runs))
    assert (
        "`steal` gains in none and loses in 12 of 12 cases (it needs 1.15 of the time, because"
        in text
    )
    assert (
        "`dist` gains in 12 of 12 cases (it needs 0.50 of the time, because CPUs are awake less)"
        in text
    )
    assert "`central` gains in none and loses in none." in text
    assert "Because of the losses of `steal` capacities are not used by default." in text
    assert "Of 12 cases the fastest policy is `dist, capacity=on` in 12." in text
    monkeypatch.setitem(CYCLES, "steal, capacity=on", 500)
    assert "No policy loses in any case." in page(asymmetric.points(results(runs), runs))


def test_a_short_page_has_one_chip_and_no_applications() -> None:
    runs = asymmetric.plan(IMAGE, short_=True)
    text = page(asymmetric.points(results(runs), runs))
    assert f"## {CHIPS[0].title}" in text
    assert f"## {CHIPS[1].title}" not in text
    assert "| `dist` | 800, " in text
    assert "| policy | MJPEG" not in text


def test_the_values_of_all_seeds_are_kept(tmp_path: Path) -> None:
    found = asymmetric.points(results(plan()), plan())
    asymmetric.write_csv(tmp_path / "x.csv", found.values())
    with (tmp_path / "x.csv").open() as file:
        read = list(csv.DictReader(file))
    assert len(read) == len(plan())
    assert read[1]["seed"] == "2"
    assert (read[1]["cycles"], read[1]["asleep_fast"]) == ("901000", "901000")


def test_each_run_has_a_part_of_the_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mips_apps, "clip", lambda folder: folder / "small.mjpeg")
    alone, apps = asymmetric.alone(IMAGE), asymmetric.app_plan(tmp_path, tmp_path)
    named = asymmetric.parts(alone, plan(), apps)
    assert len(named) == len(alone) + len(plan()) + len(apps)
    assert list(dict.fromkeys(named.values())) == [
        "speeds of cores",
        *(f"`fork_join`, {chip.title}" for chip in CHIPS),
        *(f"applications, {chip.title}" for chip in CHIPS),
    ]
    cost = ["## Cost", "a table"]
    found = asymmetric.points(results(plan()), plan())
    text = asymmetric_page.page(found, 8.0, SPEEDS, {}, cost)
    assert text.endswith("\n\n## Cost\n\na table\n")
