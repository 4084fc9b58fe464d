# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures incoherent`: tables and verdicts from made-up counts."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from pirn_tools.figures import incoherent, mips, mips_apps
from pirn_tools.figures.incoherent import Row, Time

KERNEL = incoherent.KERNELS[0]
CYCLES = {"coherent": 100.0, "uncached": 250.0}


def rows(cpus: int) -> list[Row]:
    """Twice as long on more CPUs without coherence; a switch takes even longer."""
    return [
        Row(memory, KERNEL.name, cpus, name, 1000, cycles * more * switch, 900, 50.0)
        for memory, cycles in CYCLES.items()
        for name in incoherent.PAPER
        for more in [1 if cpus == 1 or memory == "coherent" else 2]
        for switch in [2 if name == "context switch" and memory == "uncached" else 1]
    ]


def times() -> list[Time]:
    return [
        Time(memory, app.name, policy, cpus, base * 1e6 / speed, 0.25, 0.5)
        for memory, base in (("coherent", 4.0), ("uncached", 16.0))
        for app in incoherent.APPS
        for policy in incoherent.POLICIES
        for cpus in incoherent.APP_CPUS
        for speed in [cpus / 2 if cpus > 1 and policy == "dist" else cpus]
    ]


def test_both_memories_stand_beside_each_other() -> None:
    text = incoherent.table([*rows(1), *rows(4)], KERNEL)
    assert "| lock a free mutex | 100 | 250 | 2.5 | 100 | 500 | 5.0 |" in text
    assert "| context switch | 100 | 500 | 5.0 | 100 | 1000 | 10.0 |" in text


def test_the_verdict_names_the_extremes_and_the_growth() -> None:
    text = incoherent.verdict([*rows(1), *rows(4)], KERNEL)
    assert 'On 1 CPU operations take 2.5 ("lock a free mutex") to 5.0 ("context switch")' in text
    assert 'On 4 CPUs operations take 5.0 ("lock a free mutex") to 10.0 ("context switch")' in text
    assert "1.0 to 1.0 times with coherent caches, 2.0 to 2.0 times without." in text


def test_operations_run_under_each_policy_on_1_to_8_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mips, "program", lambda root, kernel, board: root / board / kernel.name)
    runs = incoherent.plan(Path("root"), short_=False)
    whats = {(memory.name, what.kernel.policy, what.cpus) for memory, what in runs.values()}
    assert len(runs) == len(whats) == 2 * 3 * 5
    assert {policy for _, policy, _ in whats} == {"single", "dist", "steal"}
    assert {cpus for _, _, cpus in whats} == {1, 2, 4, 6, 8}
    for run, (memory, what) in runs.items():
        assert ("--incoherent" in run.options) == (memory.name == "uncached")
        assert run.program == Path("root") / memory.board / what.kernel.name
        assert run.config.cores == what.cpus


def test_both_applications_run_under_each_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mips_apps, "clip", lambda folder: folder / "small.mjpeg")
    runs = incoherent.app_plan(tmp_path, tmp_path)
    kinds = {(app, policy, cpus) for _, app, policy, cpus in runs.values()}
    assert len(runs) == 2 * len(kinds)
    assert len(kinds) == 2 * 4 * len(incoherent.APP_CPUS)
    assert {policy for _, policy, _ in kinds} == {"single", "central", "dist", "steal"}
    for run, (memory, _, policy, _) in runs.items():
        assert run.settings[0].startswith(f"PIRN_SCHED={policy}")
        assert memory.board in str(run.program)


def test_applications_have_their_ratio_and_speed() -> None:
    text = incoherent.app_table(times())
    assert "| mjpeg | `single` | 4 | 1.00 (25%, 50%) | 4.00 (25%, 50%) | 4.0 |" in text
    said = incoherent.app_verdict(times())
    assert "mjpeg: without coherent caches it takes 4.0 to 4.0 times as long." in said
    assert "`single` 6.0 and 6.0;" in said
    assert "`dist` 3.0 and 3.0;" in said


def test_the_fastest_policy_is_named_for_each_memory() -> None:
    slow = [
        replace(one, cycles=one.cycles * 3)
        if (one.memory, one.policy) in {("uncached", "single"), ("uncached", "steal")}
        else one
        for one in times()
    ]
    said = incoherent.app_verdict(slow)
    assert (
        "On 6 CPUs the fastest policy with coherent caches is `single` (the others take, as "
        "multiples of its time: `central` 1.00, `steal` 1.00, `dist` 2.00); without, `central` "
        "(the others take, as multiples of its time: `dist` 2.00, `single` 3.00, `steal` 3.00)."
    ) in said


def test_a_page_without_applications_says_nothing_of_them() -> None:
    facts = {"command": "none"}
    text = incoherent.page(rows(1), [], facts)
    assert "## Applications" not in text
    assert "Not on this page:" in text
    assert "## Applications" in incoherent.page(rows(1), times(), facts)


def test_an_application_whose_runs_are_not_all_there_is_named() -> None:
    some = [one for one in times() if (one.app, one.memory) != ("mjpeg", "uncached")]
    text = incoherent.page(rows(1), some, {"command": "none"})
    assert "Not measured yet: mjpeg." in text
    assert "| mjpeg |" not in text
    assert "Not measured yet" not in incoherent.page(rows(1), times(), {"command": "none"})


def test_the_values_are_kept(tmp_path: Path) -> None:
    incoherent.write_csv(tmp_path / "x.csv", rows(1), Row)
    with (tmp_path / "x.csv").open() as file:
        read = list(csv.DictReader(file))
    assert len(read) == 2 * len(incoherent.PAPER)
    assert read[0]["memory"] == "coherent"
    assert read[0]["cycles"] == "100.0"


def test_the_papers_figures_are_drawn_without_coherence(tmp_path: Path) -> None:
    assert [len(incoherent.pictures(app)) for app in mips_apps.APPS] == [2, 1]
    for app in mips_apps.APPS:
        for name, picture in incoherent.pictures(app).items():
            incoherent.draw(times(), app, name, tmp_path / picture)
            assert (tmp_path / picture).stat().st_size > 1000
            assert f"](img/{picture})" in incoherent.page([], times(), {"command": "none"})
