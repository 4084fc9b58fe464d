# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures threads`: tables and verdicts from made-up counts."""

from __future__ import annotations

from pathlib import Path

from pirn_tools.figures import mips_apps, threads
from pirn_tools.figures.mips import Count

CYCLES = {"hw": 100.0, "single": 200.0, "steal": 90.0}


def counts(cpus: int = 4, latency: int = threads.LATENCY) -> list[Count]:
    return [
        Count(policy, cpus, latency, name, 1000, cycles, 300, 50.0)
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


def test_the_ratio_is_to_the_best_of_the_others() -> None:
    text = threads.table(counts(), 4)
    assert "| context switch | 100 (50) | 200 (50) | 90 (50) | 1.11 |" in text


def test_the_verdict_counts_rows_for_each_of_the_others() -> None:
    text = threads.verdict(counts(), 4)
    assert f"than `single` in {len(threads.OPERATIONS)} of {len(threads.OPERATIONS)} rows" in text
    assert f"than `steal` in 0 of {len(threads.OPERATIONS)} rows." in text


def test_applications_are_compared_with_the_best_of_the_others() -> None:
    assert "| `hw` | 2.00 (25%) | 2.00 (25%) |" in threads.app_table(timings())
    assert "mjpeg: `hw` takes 0.50 of the time of" in threads.app_verdict(timings())


def test_a_page_without_applications_has_no_picture() -> None:
    text = threads.page(counts(1), [], {"command": "none"})
    assert "## 1 CPU\n" in text
    assert threads.PICTURE not in text
    whole = threads.page([*counts(1), *counts()], timings(), {"command": "none"})
    assert "## 4 CPUs\n" in whole
    assert threads.PICTURE in whole


def test_the_picture_is_drawn_from_all_latencies(tmp_path: Path) -> None:
    found = [count for latency in threads.LATENCIES for count in counts(latency=latency)]
    threads.draw(found, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000
