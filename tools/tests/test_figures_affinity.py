# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures affinity`: the thesis' arithmetic, the model's CSV, sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from pirn_tools.errors import UserError
from pirn_tools.figures import affinity_model, affinity_more, affinity_page, affinity_plots
from pirn_tools.figures import affinity_real as real_runs
from pirn_tools.figures import affinity_thesis as thesis
from pirn_tools.figures.affinity_model import (
    DECLARED,
    FLAT,
    OLD,
    PLAIN,
    SERIAL,
    Case,
    Point,
    Runner,
    wavemix,
)
from pirn_tools.figures.affinity_plots import Turn
from pirn_tools.figures.affinity_real import Real
from pirn_tools.figures.affinity_thesis import BUFFERS, TABLES, Serial
from pirn_tools.figures.affinity_words import trend

# ---- the thesis ----


@pytest.mark.parametrize(
    ("portions", "factors", "said"),
    [
        ((0.40, 0.35, 0.18, 0.07), thesis.AFFINITY_FACTORS, 2.23),
        ((0.40, 0.35, 0.25), thesis.PLAIN_FACTORS, 1.86),
        ((0.32, 0.49, 0.13, 0.06), thesis.AFFINITY_FACTORS, 2.45),
        ((0.32, 0.49, 0.19), thesis.PLAIN_FACTORS, 2.11),
    ],
)
def test_equation_4_1_of_the_thesis_own_portions(
    portions: tuple[float, ...], factors: tuple[int, ...], said: float
) -> None:
    assert thesis.speedup(portions, factors) == pytest.approx(said, abs=0.01)


@pytest.mark.parametrize("topology", ["xeon", "i7"])
def test_estimates_follow_from_the_thesis_serial_times(topology: str) -> None:
    serial = [row.serial for row in TABLES[topology].values()]
    plain, affinity = thesis.estimates(serial)
    said = thesis.SPEEDUPS[topology]
    assert plain == pytest.approx(said.plain_estimate, abs=0.03)
    assert affinity == pytest.approx(said.affinity_estimate, abs=0.03)


def test_portions_are_those_of_tables_4_3b_and_4_4b() -> None:
    xeon = thesis.affinity_portions(TABLES["xeon"][64].serial)
    assert xeon == pytest.approx((0.40, 0.37, 0.19, 0.04), abs=0.01)
    i7 = thesis.affinity_portions(TABLES["i7"][4].serial)
    assert i7 == pytest.approx((0.35, 0.46, 0.15, 0.04), abs=0.01)
    for table in TABLES.values():
        for row in table.values():
            assert sum(thesis.affinity_portions(row.serial)) == pytest.approx(1)
            assert sum(thesis.plain_portions(row.serial)) == pytest.approx(1)
            assert row.serial.whole == pytest.approx(row.serial_us, rel=0.01)


def test_portions_need_a_last_mixer_that_is_longer_than_a_wave() -> None:
    with pytest.raises(UserError, match="less time than a wave"):
        thesis.affinity_portions(Serial(10, 10, 9))


@pytest.mark.parametrize("topology", ["xeon", "i7"])
def test_improvements_follow_from_means_and_variances(topology: str) -> None:
    for kb, row in TABLES[topology].items():
        got = thesis.improvement(row.affinity.a2s, row.plain.a2s)
        assert got == pytest.approx(thesis.NEW_IMPROVEMENT[topology][kb], abs=0.006)


# ---- the model ----

HEAD = "workload,topology,buffer,samples,seed,thread,mean_ns,sigma_ns,a2s_ns,migrations"
TASKS = ("wave0", "wave1", "wave2", "wave3", "mixer0", "mixer1", "mixer2")


def printed(mean: float, migrations: int = 300) -> str:
    """Two seeds of wavemix; the second takes longer by 2 us."""
    lines = [HEAD]
    for seed in (1, 2):
        for number, task in enumerate(TASKS):
            lines.append(f"wavemix,i7,4096,100,{seed},{task},{1000 * (number + 1)},10,20,1")
        took = 1000 * mean + 2000 * (seed - 1)
        lines.append(f"wavemix,i7,4096,100,{seed},all,{took},1000,{took + 2000},{migrations}")
    return "\n".join(lines) + "\n"


def point(way: str, mean: float, topology: str = "i7", kb: int = 4, migrations: int = 300) -> Point:
    return affinity_model.parse(wavemix(way, topology, kb), printed(mean, migrations))


def test_a_point_is_the_mean_over_the_seeds() -> None:
    one = point(PLAIN, 50)
    assert one.mean == pytest.approx(51)
    assert one.a2s == pytest.approx(53)
    assert one.spread == (50, 52)
    assert one.by_sample("migrations") == pytest.approx(3)
    assert one.serial() == Serial(2.5, 5.5, 7.0)


def test_output_without_a_row_for_all_is_an_error() -> None:
    with pytest.raises(UserError, match="no row for all threads"):
        affinity_model.parse(wavemix(PLAIN, "i7", 4), HEAD + "\n")


def test_only_declared_rules_declare() -> None:
    assert "--affinity" in wavemix(DECLARED, "i7", 4).words()
    assert "--affinity" in wavemix(OLD, "i7", 4).words()
    assert "--affinity" not in wavemix("steal:affinity=auto", "i7", 4).words()
    flat = wavemix(f"{DECLARED}{FLAT}", "xeon", 4).words()
    assert {"--one-node", "--affinity", DECLARED} <= set(flat)
    every = affinity_model.plan()
    assert {case.topology for case in every if case.way.endswith(FLAT)} == {"xeon"}
    assert len(set(every)) == len(every)
    assert {case.buffer for case in every if not case.pairs} == set(BUFFERS)


def test_runs_are_kept_until_the_program_changes(tmp_path: Path) -> None:
    program, count = tmp_path / "model", tmp_path / "count"
    text = tmp_path / "text"
    text.write_text(printed(50))
    program.write_text(f"#!/bin/sh\necho run >>{count}\ncat {text}\n")
    program.chmod(0o755)
    case = Case("i7", PLAIN, 4)
    for _ in range(2):
        assert Runner(program, 2, tmp_path).run(case).mean == pytest.approx(51)
    assert count.read_text() == "run\n"
    program.write_text(program.read_text() + "# other\n")
    Runner(program, 2, tmp_path).run(case)
    assert count.read_text() == "run\nrun\n"


def test_the_csv_has_a_line_for_each_case(tmp_path: Path) -> None:
    path = tmp_path / "affinity.csv"
    affinity_model.write_csv(path, [point(PLAIN, 50), point(DECLARED, 40)])
    head, *lines = path.read_text().splitlines()
    assert head.startswith("workload,topology,buffer_kb,way,samples,seeds,mean_ns")
    assert lines[0] == "wavemix,i7,4,steal,100,2,51000.0,1000.0,53000.0,300.0"
    assert len(lines) == 2


# ---- words ----


def test_a_trend_says_where_there_is_more() -> None:
    found = {
        one.case: one
        for kb in BUFFERS
        for one in (
            point(PLAIN, 50, kb=kb),
            point(DECLARED, 50, kb=kb, migrations=600 if kb < 16 else 300),
        )
    }
    got = trend(found, "i7", (DECLARED, PLAIN), affinity_page.migrations)
    assert got.words == "more with 4 and 8 KB"
    assert got.factors == "2.00, 2.00, 1.00, 1.00, 1.00"
    assert (got.agrees("more"), got.agrees("less")) == ("in part", "no")
    small = trend(found, "i7", (DECLARED, PLAIN), affinity_page.migrations, BUFFERS[:2])
    assert small.agrees("more") == "yes"
    none = trend(found, "i7", (DECLARED, PLAIN), lambda one: 0.0)
    assert (none.words, none.agrees("more")) == ("there are none", "not modelled")


def test_agreement_counts_both_ways() -> None:
    counters = {"affinity-learned": 10.0, "affinity-declared": 20.0, "affinity-agreed": 5.0}
    got = affinity_more.agreement(counters)
    assert (got.precision, got.recall) == (0.5, 0.25)
    assert affinity_more.agreement(dict.fromkeys(counters, 0.0)).precision == 0


def test_a_mixer_follows_a_task_whose_buffer_it_reads() -> None:
    turns = [
        Turn("wave0", 0, 0, 10),
        Turn("wave2", 1, 0, 10),
        Turn("mixer0", 0, 10, 20),  # behind wave0
        Turn("mixer1", 2, 10, 20),  # the first on its CPU
        Turn("mixer2", 1, 20, 30),  # behind wave2, which it does not read
        Turn("mixer2", 0, 40, 50),  # behind mixer0
    ]
    assert affinity_plots.following(turns) == 0.5
    assert affinity_plots.ends(turns) == [30, 50]


# ---- the machine at hand ----


def test_values_are_those_of_the_last_line() -> None:
    text = "wavemix: thread=wave0 mean_us=1.5\nwavemix: sync=sem period_median_us=12.7 x=-3\n"
    assert real_runs.values(text) == {"period_median_us": 12.7, "x": -3.0}
    assert real_runs.values("") == {}


def test_rounds_alternate() -> None:
    order: list[str] = []

    def run(key: str) -> float:
        order.append(key)
        return len(order)

    assert real_runs.alternating(["a", "b"], 2, run) == {"a": [1, 3], "b": [2, 4]}
    assert order == ["a", "b", "a", "b"]


def measured(load: str) -> Real:
    times = {
        (kb, way): [10.0 if way == PLAIN else 9.0, 11.0 if way == PLAIN else 9.5]
        for kb in real_runs.BUFFERS
        for way in (*real_runs.RULES, real_runs.NPTL)
    }
    prices = {
        (rule, n): 700.0 + (0 if rule == PLAIN else 100 + 30 * n)
        for rule in real_runs.RULES
        for n in real_runs.PRODUCERS
    }
    posts = {key: [value / 20] for key, value in prices.items()}
    counters = {"affinity-learned": 10.0, "affinity-declared": 8.0}
    learned = {
        "sem": [{**counters, "affinity-agreed": 8.0}],
        "cond": [{**counters, "affinity-agreed": agreed} for agreed in (2.0, 5.0)],
    }
    return Real(times, learned, posts, prices, load, 2)


def test_a_busy_machine_is_named() -> None:
    assert measured("0.10, 0.20, 0.30").quiet
    text = "\n".join(affinity_more.real_times(measured("7.00, 6.00, 5.00")))
    assert "its load averages were 7.00, 6.00, 5.00 on 2 CPUs" in text
    assert "`steal:affinity=declared` changes the time of `steal` by -12 %" in text
    assert "four waves cannot run at once" in text


def test_the_price_is_that_of_a_producer_more() -> None:
    text = "\n".join(affinity_more.price(measured("0, 0, 0")))
    assert "100 instructions without producers, 130 with one, and 30 for each further one" in text
    assert "| 16 | 700 | 1280 | 1280 |" in text


# ---- the page ----

COUNTS = (
    *("switches", "reads", "memory_ns", "runtime_memory_ns", "idle_ns", "steals"),
    *("from_core", "from_far", "from_far_memory"),
    *(f"{level}_{what}_misses" for level in ("l1", "llc") for what in ("read", "write")),
    *(f"affinity-{name}" for name in ("here", "there", "standard", "pushes", "push-ns", "pulls")),
    *(f"affinity-{name}" for name in ("late", "pull-ns", "learned", "declared", "agreed")),
)


def whole_point(case: Case) -> Point:
    """A declared rule takes 40 us, old ones 60, a serial run 100, all others 50."""
    means = {DECLARED: 40.0, OLD: 60.0, SERIAL: 100.0}
    mean = means.get(case.way.removesuffix(FLAT), 50.0)
    head, *lines = printed(mean).splitlines()
    text = "\n".join(
        [f"{head},{','.join(COUNTS)}", *(line + ",100" * len(COUNTS) for line in lines)]
    )
    return affinity_model.parse(case, text)


def test_the_page_has_all_sections_and_pictures() -> None:
    found = {case: whole_point(case) for case in affinity_model.plan()}
    follows = {
        (topology, way): 0.5 for topology in thesis.TOPOLOGIES for way in (PLAIN, OLD, DECLARED)
    }
    text = affinity_page.page(found, measured("9, 9, 9"), follows, {"command": "none"})
    assert text.count("\n## ") == 10
    for name in (
        *(affinity_plots.file_of("a2s", topology) for topology in thesis.TOPOLOGIES),
        *(schedule.picture for schedule in affinity_plots.SCHEDULES),
    ):
        assert f"(img/{name})" in text
    assert "| `steal:affinity=declared` | `steal` | +19 % |" in text
    assert "`steal:affinity=old` is never better: -19 %, on average -19 %" in text
    assert "| `--sync=cond` | 10 | 20 % to 50 % | 25 % to 62 % |" in text
    assert "then as little as 20 % of what is learned is right." in text
    assert "| i7, 64 KB | `steal:affinity=old` | -19 % |" in text
    assert " nan " not in text
