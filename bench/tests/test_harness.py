# SPDX-License-Identifier: MIT
"""The benchmarks' own Python, and that its tables name rows that exist."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))

from harness import page, policies, tables  # noqa: E402
from harness.goals import Goal, Goals, constants, load_goals, total  # noqa: E402
from harness.rounds import Outcome, grouped, jobs_of, rotated, run_rounds  # noqa: E402
from harness.summary import summarize  # noqa: E402
from pirn_tools.bench.runner import Sample  # noqa: E402
from pirn_tools.bench.suites import load_suites  # noqa: E402
from pirn_tools.errors import UserError  # noqa: E402

SUITES = """
[suite.micro]
result = "ns_per_op"
[suite.micro.peers]
pirn = 'sh -c "echo \\\\# ns_per_op=10; echo \\\\# p99=30"'
nptl = 'sh -c "echo \\\\# ns_per_op=40; echo \\\\# p99=50"'
skips = 'sh -c "echo \\\\# skipped: skips yield with 1: has none; exit 77"'
fails = 'sh -c "echo too bad >&2; exit 3"'
[suite.micro.rows]
yield-1w = "--row yield"
wakeup-1w = { args = "--row yield", result = "p99" }
"""


def samples(**peers: list[float]) -> list[Sample]:
    return [
        Sample("micro", "yield-1w", "ns", peer, number, value)
        for peer, values in peers.items()
        for number, value in enumerate(values, start=1)
    ]


@pytest.fixture
def outcome(tmp_path: Path) -> Outcome:
    (tmp_path / "suites.toml").write_text(SUITES)
    jobs = jobs_of([load_suites(tmp_path / "suites.toml")["micro"]], [], [], {})
    return run_rounds(jobs, 2, {}, lambda _: None)


def test_rounds_give_every_row_of_an_execution(outcome: Outcome) -> None:
    values = {(s.row, s.peer): s.value for s in outcome.samples}
    assert values == {
        ("yield-1w", "pirn"): 10,
        ("yield-1w", "nptl"): 40,
        ("wakeup-1w", "pirn"): 30,
        ("wakeup-1w", "nptl"): 50,
    }
    assert len(outcome.samples) == 2 * 4


def test_rounds_keep_the_reasons(outcome: Outcome) -> None:
    assert outcome.skipped["yield-1w", "skips"] == "has none"
    assert outcome.failed["wakeup-1w", "fails"] == "status 3 too bad"
    assert tables.gaps(outcome.failed) == ["fails: status 3 too bad (yield-1w, wakeup-1w)"]


def test_rotated_takes_everybody_in_a_new_order() -> None:
    assert [rotated("abc", number) for number in range(3)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
    ]


def test_summary_compares_with_the_best_peer_and_the_floor() -> None:
    goal = Goal("yield-1w", "pirn", 8.0, {"switch": 2}, None, "")
    floor = [Sample("floor", "switch", "ns", "floor", number, 3) for number in (1, 2, 3)]
    own = samples(pirn=[10, 20, 30], nptl=[100, 100, 100], go=[20, 20, 300])
    (line,) = summarize([*floor, *own], Goals((goal,), {"switch": 2}), ["pirn", "nptl", "go"])
    assert line.best_peer == "go"
    assert line.ratios == {"pirn": 0.5}
    assert line.floor == 6
    (target,) = line.targets
    assert (target.multiple, target.best) == (20 / 6, 10 / 6)
    assert (target.wanted, target.met) == (2.0, False)


def test_goals_name_rows_that_exist() -> None:
    goals = load_goals(BENCH / "goals.toml")
    suites = load_suites(BENCH / "suites.toml")
    rows = {row.name for row in suites["micro"].rows}
    floor = dict.fromkeys([*(row.name for row in suites["floor"].rows), *constants()], 1.0)
    for goal in goals.goals:
        assert goal.row in rows
        assert goal.ratio_to or goals.multiple(goal) > 1
        assert total(goal.floor, floor) is not None


def test_every_micro_row_is_run_by_a_test() -> None:
    listed = re.search(r"set\(rows ([^)]*)\)", (BENCH / "micro/CMakeLists.txt").read_text())
    assert listed
    rows = load_suites(BENCH / "suites.toml")["micro"].rows
    assert {row.args.split()[1] for row in rows} == set(listed[1].split())


def test_report_names_suites_that_exist() -> None:
    suites = load_suites(BENCH / "suites.toml")
    for entry in tomllib.loads((BENCH / "macro/report.toml").read_text())["measurement"]:
        suite = suites[entry["suite"]]
        assert entry["row"] in [row.name for row in suite.rows]
        assert {entry["before"], entry["after"]} <= {peer.name for peer in suite.peers}


def test_plan_of_the_policies_loads() -> None:
    plan = policies.load_plan(BENCH / "macro/policies.toml")
    settings = policies.settings_of(plan, plan.apps[1], Path("loads"))
    assert settings[1].environment["PIRN_SCHED"] == "central:unit=tree,place=loads"
    assert len(grouped(load_suites(BENCH / "suites.toml")["micro"].rows)) == 44


def test_published_text_is_between_the_marks(tmp_path: Path) -> None:
    (tmp_path / "img").mkdir()
    (tmp_path / "results").mkdir()
    (tmp_path / "results/a.png").write_text("picture")
    target = tmp_path / "PAGE.md"
    target.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    for text in ("one", "two"):
        page.publish(target, f"# Title\n\n{text}", tmp_path / "results", ["a.png"])
        assert target.read_text() == f"before\n{page.BEGIN}\n{text}\n{page.END}\nafter\n"
    assert (tmp_path / "img/a.png").read_text() == "picture"


def test_page_without_its_marks_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "PAGE.md"
    target.write_text(f"{page.BEGIN}\n{page.BEGIN}\n{page.END}\n")
    with pytest.raises(UserError, match="once each"):
        page.publish(target, "# Title\n\ntext", tmp_path, [])
    assert target.read_text() == f"{page.BEGIN}\n{page.BEGIN}\n{page.END}\n"
