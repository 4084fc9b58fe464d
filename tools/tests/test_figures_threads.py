# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures threads`: tables and verdicts from made-up counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pirn_tools.figures import mips_apps, threads
from pirn_tools.figures.mips import Count

CYCLES = {"hw": 100.0, "single": 200.0, "dist": 110.0, "steal": 90.0}
INSTRUCTIONS = {"hw": 50.0, "single": 60.0, "dist": 40.0, "steal": 37.0}


def counts(cpus: int = 4, latency: int = threads.LATENCY) -> list[Count]:
    return [
        Count(policy, cpus, latency, name, 1000, cycles, 300, INSTRUCTIONS[policy])
        for policy, cycles in CYCLES.items()
        for name in threads.OPERATIONS
    ]


def timings() -> list[mips_apps.Timing]:
    return [
        mips_apps.Timing(
            app.name, policy, threads.APP_CPUS, 2e6 if policy == "hw" else 4e6, 0.25, {}, (0.25,)
        )
        for app in mips_apps.APPS
        for policy in threads.POLICIES
    ]


def at_all_latencies() -> list[Count]:
    return [count for latency in threads.LATENCIES for count in counts(latency=latency)]


def test_the_ratio_is_to_the_best_of_the_others() -> None:
    text = threads.table(counts(), 4)
    assert "| context switch | 100 (50) | 200 (60) | 110 (40) | 90 (37) | 1.11 |" in text


def test_the_verdict_counts_rows_for_each_of_the_others() -> None:
    text = threads.verdict(counts(), 4)
    rows = len(threads.OPERATIONS)
    assert f"than `single` in {rows} of {rows} rows" in text
    assert f"than `steal` in 0 of {rows} rows." in text
    assert f"it needs fewer in 0 of {rows} rows, and more in {rows} of {rows} rows (" in text
    assert "context switch, 1.11 (steal; 13 instructions more)" in text


def test_a_policy_that_was_not_measured_in_a_row_is_not_the_best() -> None:
    found = [
        one for one in counts() if (one.kernel, one.operation) != ("steal", "take a full word")
    ]
    assert "| take a full word | 100 (50) | 200 (60) | 110 (40) | - | 0.91 |" in threads.table(
        found, 4
    )
    text = threads.verdict(found, 4)
    assert f"it needs fewer in 1 of {len(threads.OPERATIONS)} rows (take a full word, 0.91)" in text


def test_ratios_that_change_with_the_latency_are_named() -> None:
    slow = threads.LATENCIES[-1]
    found = [
        replace(one, cycles=one.cycles / 2)
        if (one.kernel, one.latency, one.operation) == ("hw", slow, "context switch")
        else one
        for one in at_all_latencies()
    ]
    text = threads.latency_verdict(found)
    rows = len(threads.PLOTTED)
    assert f"becomes smaller in 1 of {rows} rows (context switch, 1.11 to 0.56)" in text
    assert f"becomes larger in 0 of {rows} rows." in text


def test_applications_are_compared_with_the_best_of_the_others() -> None:
    assert "| `hw` | 2.00 (25%) | 2.00 (25%) |" in threads.app_table(timings())
    assert "mjpeg: `hw` takes 0.50 of the time of" in threads.app_verdict(timings())


def test_a_page_without_applications_has_no_picture() -> None:
    text = threads.page(counts(1), [], {"command": "none"})
    assert "## 1 CPU\n" in text
    assert threads.PICTURE not in text
    whole = threads.page([*counts(1), *at_all_latencies()], timings(), {"command": "none"})
    assert "## 4 CPUs\n" in whole
    assert threads.PICTURE in whole


def test_the_picture_is_drawn_from_all_latencies(tmp_path: Path) -> None:
    threads.draw(at_all_latencies(), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000
