# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures affinity`: the thesis' arithmetic, the model's CSV, sentences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from affinity_points import (
    HEAD,
    SEEN,
    SURVEY,
    claimed,
    measured,
    point,
    printed,
    whole_page,
    whole_point,
)

from pirn_tools.errors import UserError
from pirn_tools.figures import (
    affinity_counts,
    affinity_model,
    affinity_more,
    affinity_page,
    affinity_plots,
    affinity_schedules,
    affinity_serial,
    affinity_survey,
    affinity_times,
    affinity_waveform,
)
from pirn_tools.figures import affinity_thesis as thesis
from pirn_tools.figures.affinity_model import (
    AUTO,
    DECLARED,
    FLAT,
    OLD,
    PAIRS_FLAT,
    PIN_ALL,
    PLAIN,
    SERIAL,
    TASKS,
    Case,
    Point,
    Runner,
    wavemix,
)
from pirn_tools.figures.affinity_schedules import Turn
from pirn_tools.figures.affinity_survey import Survey
from pirn_tools.figures.affinity_thesis import BUFFERS, TABLES, Serial
from pirn_tools.figures.affinity_words import judged, trend

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


@pytest.mark.parametrize("topology", ["xeon", "i7"])
def test_portions_are_those_of_tables_4_3b_and_4_4b(topology: str) -> None:
    every = []
    for kb, row in TABLES[topology].items():
        every.append(thesis.affinity_portions(row.serial))
        said = [part / 100 for part in thesis.PORTIONS[topology][kb]]
        assert every[-1] == pytest.approx(said, abs=0.01)
        assert sum(every[-1]) == pytest.approx(1)
        assert sum(thesis.plain_portions(row.serial)) == pytest.approx(1)
        assert row.serial.whole == pytest.approx(row.serial_us, rel=0.01)
    said = [part / 100 for part in thesis.AVERAGE_PORTIONS[topology]]
    assert thesis.averages(every) == pytest.approx(said, abs=0.01)


def test_portions_need_a_last_mixer_that_is_longer_than_a_wave() -> None:
    with pytest.raises(UserError, match="less time than a wave"):
        thesis.affinity_portions(Serial(10, 10, 9))


@pytest.mark.parametrize("topology", ["xeon", "i7"])
def test_improvements_follow_from_means_and_variances(topology: str) -> None:
    for kb, row in TABLES[topology].items():
        got = thesis.improvement(row.affinity.a2s, row.plain.a2s)
        assert got == pytest.approx(thesis.NEW_IMPROVEMENT[topology][kb], abs=0.006)


# ---- the model ----


def test_a_point_is_the_mean_over_the_seeds() -> None:
    one = point(PLAIN, 50)
    assert one.mean == pytest.approx(51)
    assert one.a2s == pytest.approx(53)
    assert one.spread == (50, 52)
    assert one.by_sample("migrations") == pytest.approx(3)
    assert one.serial() == Serial(2.5, 5.5, 7.0)
    assert one.variance == pytest.approx(1)


def test_the_variance_is_the_mean_of_those_of_the_seeds() -> None:
    text = printed(50).replace(",52000,1000,", ",52000,3000,")
    one = affinity_model.parse(wavemix(PLAIN, "i7", 4), text)
    assert one.sigma == pytest.approx(2)
    assert one.variance == pytest.approx(5)  # of 1 and 9, not 2 * 2


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
    assert {case.topology for case in every if case.way.endswith(FLAT)} == {"xeon", "numa64"}
    without = {case.way for case in every if case.pairs and case.way.endswith(FLAT)}
    assert without == {f"{way}{FLAT}" for way in PAIRS_FLAT}
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


def test_the_csv_has_a_line_for_each_case_and_the_tasks_of_serial_runs(tmp_path: Path) -> None:
    path = tmp_path / "affinity.csv"
    affinity_model.write_csv(path, [point(PLAIN, 50), point(SERIAL, 40), point(DECLARED, 40)])
    head, *lines = path.read_text().splitlines()
    assert head.startswith("workload,topology,buffer_kb,way,samples,seeds,thread,mean_ns")
    assert lines[15] == "wavemix,i7,4,steal,100,2,all,51000.0,1000.0,53000.0,300.0"
    assert [line.split(",")[6] for line in lines] == 3 * [*TASKS, "all"]
    assert lines[6].startswith("wavemix,i7,4,serial,100,2,mixer2,7000.0,")
    affinity_model.write_csv(path, [point(AUTO, 50)])
    assert [line.split(",")[6] for line in path.read_text().splitlines()] == ["thread", "all"]


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
    got = trend(found, "i7", (DECLARED, PLAIN), affinity_counts.migrations)
    assert got.words == "more with 4 and 8 KB"
    assert got.factors == "2.00, 2.00, 1.00, 1.00, 1.00"
    assert (got.agrees("more"), got.agrees("less")) == ("in part", "no")
    small = trend(found, "i7", (DECLARED, PLAIN), affinity_counts.migrations, BUFFERS[:2])
    assert small.agrees("more") == "yes"
    assert (got.agrees("same"), small.agrees("same")) == ("in part", "no")
    assert trend(found, "i7", (DECLARED, PLAIN), affinity_times.a_mean).agrees("same") == "yes"
    none = trend(found, "i7", (DECLARED, PLAIN), lambda one: 0.0)
    assert (none.words, none.agrees("more")) == ("there are none", "not modelled")


def test_what_is_said_of_every_size_is_true_of_all_or_some() -> None:
    assert judged([True, True]) == "yes"
    assert judged([True, False]) == "in part"
    assert judged([False]) == "no"
    assert judged([]) == "not modelled"


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
    assert affinity_schedules.following(turns) == 0.5
    assert affinity_schedules.ends(turns) == [30, 50]


def test_waves_at_once_are_those_of_one_sample() -> None:
    turns = [
        *(Turn(f"wave{i}", i, 0, 10) for i in range(3)),
        Turn("wave3", 3, 10, 20),  # begins when the others end
        *(Turn(f"wave{i}", i, 20 + i, 30) for i in range(4)),
        *(Turn(f"wave{i}", i, 40, 50) for i in range(3)),  # the trace ends within a sample
    ]
    assert affinity_schedules.waves_at_once(turns) == {3: 0.5, 4: 0.5}
    assert affinity_schedules.waves_at_once([]) == {}


def test_what_the_thesis_says_of_schedules_has_a_verdict() -> None:
    text = whole_page()
    assert claimed(text, "Xeon, new rule: three of the four waves").endswith(
        "3 in 75 %, 4 in 25 %; what is commonest counts | yes |"
    )
    assert claimed(text, "i7, plain scheduling: all four waves run at once").endswith("| no |")
    # In whole_point a task moves once in 100 samples.
    for said in ("old rule: mixer0 or mixer1 changes CPU", "new rule: waves change CPU"):
        for title in thesis.TOPOLOGIES.values():
            line = claimed(text, f"{title}, {said} at each sample")
            assert "0.01, 0.01, 0.01, 0.01, 0.01 by sample" in line
            assert line.endswith("| no |")
    moves = [printed(50).replace(f"{task},{1000 * (at + 1)},10,20,1\n", f"{task},1,1,1,95\n")
             for at, task in enumerate(TASKS)]  # fmt: skip
    mixer0 = affinity_model.parse(wavemix(OLD, "i7", 4), moves[4])
    assert (mixer0.moves("mixer0"), mixer0.moves("mixer1")) == (0.95, 0.01)


def test_losses_of_the_thesis_stand_beside_gains_here() -> None:
    line = claimed(
        whole_page(), "Xeon: with 4 KB affinity is no faster: speed-up 2.33 against 2.38"
    )
    assert "`steal:affinity=declared` 2.46 against `steal` 1.98" in line
    assert "`single:affinity=declared` 1.98 against `single` 1.98" in line
    assert line.endswith("| in part |")


def test_what_is_not_modelled_is_said() -> None:
    found = {case: whole_point(case) for case in affinity_model.plan()}
    for case, one in found.items():
        if case.topology == "i7":
            none = {"llc_read_misses": "0", "llc_write_misses": "0"}
            found[case] = Point(case, tuple({**s, "all": {**s["all"], **none}} for s in one.seeds))
    line = claimed(affinity_counts.count_claims(found), "i7: affinity has fewer misses of the last")
    assert "there are none; factors -; lines from other cores: factors 1.00" in line
    assert line.endswith("| not modelled |")


# ---- chapter 2 ----


def test_a_scene_that_fails_is_a_no() -> None:
    text = "FAILED rule 2: another CPU takes another group\ndemand steps: failed\n"
    scenes = [scene for step in affinity_survey.STEPS for scene in step.scenes]
    failed = affinity_survey.failures(text, 1, "demand-steps", scenes)
    assert failed == ["rule 2"]
    found = Survey({"demand-steps": failed}, [(11.0, 18.0), (10.0, 11.0)], [(5, 9), (6, 8)])
    lines = "\n".join(affinity_survey.section(found)).splitlines()
    assert [line for line in lines if line.endswith("| no |")] == [
        line for line in lines if "failed: rule 2 (`demand-steps`)" in line
    ]
    assert sum(line.endswith("| yes |") for line in lines) == len(affinity_survey.STEPS) - 2
    assert sum(line.endswith("| in part |") for line in lines) == 3
    worse = "\n".join(affinity_survey.section(Survey({}, [(12.0, 11.0)], [(9, 9)])))
    assert worse.count("| no |") == 2
    with pytest.raises(UserError, match="status 1: demand-steps\nno memory"):
        affinity_survey.failures("no memory\n", 1, "demand-steps", scenes)


def test_a_late_thread_that_waits_is_not_what_the_thesis_says() -> None:
    lines = "\n".join(affinity_survey.section(SURVEY)).splitlines()
    (late,) = (line for line in lines if "whether they fit or not" in line)
    assert late.endswith("(`demand-steps`) | in part |")
    failed = Survey({"demand-steps": ["a late thread does not fit"]}, SURVEY.losses, SURVEY.misses)
    lines = "\n".join(affinity_survey.section(failed)).splitlines()
    (late,) = (line for line in lines if "whether they fit or not" in line)
    assert late.endswith("(`demand-steps`) | no |")


def test_figures_of_the_shared_cache_are_read() -> None:
    text = (
        "seed 1: a hungry neighbour costs 11.1 %, with equal slices 18.6 %\n"
        "seed 1: misses 500, without measuring 900\n"
    )
    assert affinity_survey.parse_shared(text) == ([(11.1, 18.6)], [(500, 900)])


@pytest.mark.parametrize("step", affinity_survey.STEPS, ids=lambda step: step.said[:30])
def test_programs_have_the_scenes_that_the_page_names(step: affinity_survey.Step) -> None:
    sources = Path(__file__).resolve().parents[2] / "tests" / "unit"
    text = (sources / f"{step.program.replace('-', '_')}.c").read_text()
    for scene in step.scenes:
        assert f'"{scene}"' in text


# ---- the page ----


def test_the_page_has_all_sections_and_pictures() -> None:
    text = whole_page()
    assert text.count("\n## ") == 12
    for name in (
        *(
            affinity_plots.file_of(measure, topology)
            for topology in thesis.TOPOLOGIES
            for measure in ("a2s", *(one.name for one in affinity_plots.MEASURES))
        ),
        *(schedule.picture for schedule in affinity_schedules.SCHEDULES),
        *(schedule.waveform for schedule in affinity_schedules.SCHEDULES),
    ):
        assert f"(img/{name})" in text
    assert "| `steal:affinity=declared` | `steal` | +19 % |" in text
    assert "`steal:affinity=old` is never better: -19 %, on average -19 %" in text
    assert "| `--sync=cond` | 10 | 20 % to 50 % | 25 % to 62 % |" in text
    assert "then as little as 20 % of what is learned is right." in text
    assert "| i7, 64 KB | `steal:affinity=old` | -19 % |" in text
    assert re.search(r"\b(nan|inf)\b", text) is None


def test_both_rules_have_a_schedule_on_both_machines() -> None:
    shown = {(one.topology, one.way) for one in affinity_schedules.SCHEDULES}
    assert shown == {(topology, way) for topology in thesis.TOPOLOGIES for way in (OLD, DECLARED)}


def test_each_part_counts_its_own_seeds() -> None:
    found = {case: whole_point(case) for case in affinity_model.plan()}
    for case, one in found.items():
        if not case.pairs:
            found[case] = Point(case, one.seeds * 5)
    text = affinity_page.page(found, measured("9, 9, 9"), SURVEY, SEEN, {})
    assert "mean over 10\nseeds, with 64 cores over 2." in text


def test_the_tables_have_all_ways_and_sizes() -> None:
    text = whole_page()
    for kb in BUFFERS:
        for way in affinity_times.TIMED:
            assert f"| {kb} KB | `{way}` |" in text
        assert f"| {kb} KB | thesis, new rule |" in text
        for way in affinity_counts.SHOWN:
            assert f"| `{way}` | {kb} KB |" in text
    # Table 4.3c: variances, and A2S.
    assert "| 4 KB | thesis, new rule | 63.1 | 6.7 | 44.7 | 76.5 | -11 % |" in text
    # Table 4.3a: a wave, the first mixers, the last one, all.
    assert "| 4 KB | 2.5 | 5.5 | 7.0 | 101.0 | 12.2 | 29.6 | 38.8 | 146.8 |" in text
    # Table 4.3b: of 10, 11 and 7 us; those of 28, and the rest of mixer2.
    assert "| 4 KB | 39 % | 36 % | 18 % | 7 % | 25 % | 40 % | 33 % | 17 % | 9 % | 26 % |" in text
    took = {DECLARED: 41, OLD: 61}
    for way in affinity_serial.SPED:
        assert f"| `{way}` | {101 / took.get(way, 51):.2f} | " in text


def test_speed_ups_stand_beside_the_estimate_of_their_schedule() -> None:
    found = {case: whole_point(case) for case in affinity_model.plan()}
    plain, affinity = thesis.estimates([Serial(2.5, 5.5, 7.0)] * len(BUFFERS))
    lines = affinity_serial.speedup_table(found, "i7").splitlines()
    rows = {line.split(" | ")[0]: line.split(" | ") for line in lines}
    assert rows[f"| `{AUTO}`"][7] == f"{affinity:.2f}"
    assert rows[f"| `{PIN_ALL}`"][7] == f"{plain:.2f}"
    assert rows[f"| `{OLD}`"][7] == ""


def test_what_nodes_gain_stands_beside_runs_without_them() -> None:
    found = {case: whole_point(case) for case in affinity_model.plan()}
    text = "\n".join(affinity_more.large(found))
    for way in PAIRS_FLAT:
        assert f"| 32 pairs | `{way}{FLAT}` |" in text
    assert "- `steal:affinity=auto`: with 32 pairs time 0.0 %, A2S 0.0 %" in text


def test_pairs_that_do_not_move_do_not_show_what_near_before_far_gains() -> None:
    found = {case: whole_point(case) for case in affinity_model.plan()}
    assert affinity_more.still(found) == []  # 6 by pair and sample
    for case, one in found.items():
        if case.pairs:
            none = {"migrations": "8"}
            found[case] = Point(case, tuple({**s, "all": {**s["all"], **none}} for s in one.seeds))
    (said,) = affinity_more.still(found)
    assert "Under `steal` a pair hardly moves (at most 0.01 migrations a sample)" in said
    assert said in affinity_more.large(found)


def test_a_plot_of_zeros_is_a_sentence(tmp_path: Path) -> None:
    found = {case: whole_point(case) for case in affinity_model.plan()}
    for case, one in found.items():
        if case.topology == "i7":
            none = {"llc_read_misses": "0", "llc_write_misses": "0"}
            found[case] = Point(case, tuple({**s, "all": {**s["all"], **none}} for s in one.seeds))
    llc = next(one for one in affinity_plots.COUNTS if one.name == "llc")
    assert affinity_plots.pictures(found, [llc], "i7") == [
        "No picture of misses of the last level on i7: all values are 0."
    ]
    assert "(img/affinity-llc-xeon.png)" in affinity_plots.pictures(found, [llc], "xeon")[0]
    old = tmp_path / affinity_plots.file_of("llc", "i7")
    old.write_text("of an earlier set")
    made = affinity_plots.draw(found, tmp_path)
    assert not old.exists()
    assert all(path.stat().st_size > 1000 for path in made)
    assert len(made) == 2 * (1 + len(affinity_plots.MEASURES)) - 1


# ---- waveforms ----


def test_a_waveform_says_what_cpus_and_tasks_do() -> None:
    signals = {
        "pirn.cpu0.thread": [(0, "x"), (10, "101"), (40, "110")],
        "pirn.cpu0.idle": [(0, "x"), (10, "0"), (30, "1"), (40, "0")],
        **{
            f"pirn.thread{5 + at}_{task}.state": [(0, "0"), (10, "10"), (30, "11")]
            for at, task in enumerate(TASKS)
        },
        "pirn.thread5_wave0.life": [(0, "0")],
    }
    cpu, wave0, *rest = affinity_waveform.rows(signals, 5, 50)
    assert cpu.name == "CPU 0"
    assert cpu.spans == [(5, 10, "idle"), (10, 30, "wave0"), (30, 40, "idle"), (40, 50, "wave1")]
    assert wave0.spans == [(5, 10, "none"), (10, 30, "running"), (30, 50, "blocked")]
    assert [row.name for row in rest] == list(TASKS[1:])
    with pytest.raises(UserError, match="no thread mixer2"):
        affinity_waveform.rows({name: [] for name in signals if "mixer2" not in name}, 5, 50)
