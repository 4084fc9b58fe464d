# SPDX-License-Identifier: MIT
"""run_scheduling.py: its arithmetic, its tables, what it refuses, and a small run."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))

from harness import scheduling, scheduling_report  # noqa: E402
from harness.scheduling import METERED, NPTL, PIRN, Measured  # noqa: E402
from pirn_tools.errors import UserError  # noqa: E402

SMALL = BENCH / "tests" / "scheduling.toml"
BUILD = Path(os.environ.get("PIRN_BUILD", BENCH.parent / "build" / "release"))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = str(BENCH / "run_scheduling.py")
    return subprocess.run(
        [sys.executable, "-B", program, *arguments], capture_output=True, text=True, check=False
    )


def test_meter_counts_without_itself() -> None:
    values = {"events": 10.0, "inside_ns": 1200.0, "pair_inside_ns": 20.0, "pair_ns": 50.0}
    values["seconds"] = 3e-6
    scheduling.derive(values, workers=2)
    assert values["scheduler_ns"] == 1000
    assert values["event_ns"] == 100
    assert values["share"] == pytest.approx(1000 / (6000 - 500))


def test_counters_of_the_workers_are_put_together() -> None:
    cpu = {"events": 3, "inside_ns": 30, "longest_ns": 20, "shortest_ns": 4}
    idle = {"events": 0, "inside_ns": 0, "longest_ns": 0, "shortest_ns": 0}
    other = {"events": 1, "inside_ns": 8, "longest_ns": 8, "shortest_ns": 8}
    meter = {"pair_ns": 40.0, "pair_inside_ns": 20.0, "per_cpu": [cpu, idle, other]}
    found = scheduling.counters_of({"ticks": 1, "preemptions": 2, "switches": 3, "meter": meter})
    assert (found["events"], found["inside_ns"]) == (4, 38)
    assert (found["longest_ns"], found["shortest_ns"]) == (20, 4)


def test_plan_runs_every_system_with_every_size() -> None:
    plan = scheduling.load_plan(BENCH / "macro" / "scheduling.toml")
    groups = scheduling.pattern_cases(plan)
    sizes = sum(len(pattern.threads) for pattern in plan.patterns)
    assert len(groups) == sizes * len(plan.workers)
    assert {len(group) for group in groups} == {1 + 2 * len(plan.policies)}
    chain = next(one for one in plan.patterns if one.name == "join_chain")
    assert chain.argv(400) == ["--threads=400", "--repeat=100"]
    keys = [case.key for make in scheduling.PARTS.values() for g in make(plan) for case in g]
    assert len(keys) == len(set(keys))


def test_ticks_are_compared_with_the_same_round() -> None:
    plan = scheduling.load_plan(SMALL)
    measured = Measured()
    for number, noise in enumerate((100.0, 5000.0), start=1):
        for tick, away, ticks in (("0", noise, 0.0), ("4000", noise + 40.0, 10.0)):
            values = {"duration": 40.0, "away_us": away, "ticks": ticks}
            key = (scheduling.TICKS, tick, "steal", 1, PIRN)
            measured.values.setdefault(key, {})[number] = values
    (found,) = scheduling_report.ticks_of(plan, measured)
    assert (found.rate, found.whole_us) == (250, 4)
    assert found.overhead == pytest.approx(0.001)


def test_ratio_is_of_the_same_round() -> None:
    measured = Measured()
    for number, ours, theirs in ((1, 1.0, 2.0), (2, 10.0, 20.0), (3, 1.0, 4.0)):
        measured.values.setdefault(("p", "4", "steal", 1, PIRN), {})[number] = {"seconds": ours}
        measured.values.setdefault(("p", "4", NPTL, 1, NPTL), {})[number] = {"seconds": theirs}
    assert scheduling_report.own_ratio(measured, ("p", "4", "steal", 1)) == "0.500"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rounds", "0"], "--rounds 0: at least 1"),
        (["--only", "nothing"], "invalid choice: 'nothing'"),
        (["--publish", "--only", "ticks"], "--publish: only with all parts, of the usual plan"),
    ],
)
def test_bad_options_are_refused(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_plan_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        scheduling.load_plan(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("workers = [1]\n")
    with pytest.raises(UserError, match="'pattern'"):
        scheduling.load_plan(tmp_path / "bad.toml")


@pytest.mark.skipif(
    not (BUILD / "apps" / "join_chain-metered").exists(),
    reason="the applications are not built here, or not on x86-64",
)
def test_a_small_run_writes_everything(tmp_path: Path) -> None:
    done = run("--no-build", "--rounds", "1", "--plan", str(SMALL), "--output", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "scheduling-cost.md").read_text()
    for title in ("Master/worker", "Join chain", "From the end of a thread", "Ticks"):
        assert f"### {title}" in text
    assert "no result" not in text or len(os.sched_getaffinity(0)) < 2
    rows = list(csv.DictReader((tmp_path / "scheduling-cost.csv").open()))
    assert {row["build"] for row in rows} == {NPTL, PIRN, METERED}
    shares = [float(row["value"]) for row in rows if row["name"] == "share"]
    assert len(shares) >= 3 * 2  # and those of the ticks
    assert all(0 < share < 1.1 for share in shares)
    for picture in ("scheduling-ticks.png", "scheduling-chain.png"):
        assert (tmp_path / picture).stat().st_size > 1000
