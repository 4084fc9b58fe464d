# SPDX-License-Identifier: MIT
"""The page of the guest's results, from results that are made up."""

from __future__ import annotations

import sys
from pathlib import Path

GUEST = Path(__file__).resolve().parents[1] / "guest"
sys.path.insert(0, str(GUEST))

import page  # noqa: E402
import traces  # noqa: E402
from results import Cell, Part  # noqa: E402

SCHEDULERS = ("EEVDF", "new", "all pinned")


def part(program: str, scheduler: str, number: int) -> Part:
    """`number` is in all values, so that each cell says whose it is."""
    lines = [f"wavemix: samples=100 warmup=10 migrations={number}"]
    if program in page.SIZES:
        lines += [
            "sample,mixer0_cpu,mixer1_cpu,mixer2_cpu,wave0_cpu,wave1_cpu,wave2_cpu,wave3_cpu",
            *["0,0,1,2,3,3,3,3"] * number,  # all apart
            *["1,0,1,1,0,3,3,1"] * (10 - number),  # all together
        ]
    else:
        lines = ["relay: " + " ".join(f"{key}={number}" for key in page.PLACES)]
    if scheduler == "new":
        lines += [f"{key:<12} {number:>12}  text" for key in page.COUNTERS]
    return Part(Cell(program, scheduler, number).name, 0, lines)


def made(rounds: int = 1) -> str:
    parts = {}
    for program in (*page.SIZES, *page.RELAYS):
        for at, scheduler in enumerate(SCHEDULERS):
            if scheduler == "all pinned" and program in page.RELAYS:
                continue  # of wavemix only
            each = [part(program, scheduler, 1 + at + i) for i in range(rounds)]
            parts[program, scheduler] = [page.Run(p.values, p.counters) for p in each]
    situation = traces.Situation("one", "Figure 1", "", ["a b", "c d"])
    played = [page.Played(situation, "4 of 5 plays undisturbed", [])]
    return page.text(parts, played, {"commit": "abc"})


def rows(text: str, name: str) -> list[list[str]]:
    """Of all tables, those that begin with the name."""
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [row for row in cells if row[0] == name]


def test_page_has_shares_and_migrations_by_size() -> None:
    share, migrations, *relays = rows(made(), "EEVDF")
    assert share == ["EEVDF", *["90 %"] * 5]
    assert migrations == ["EEVDF", *["1"] * 5]
    assert len(relays) == len(page.RELAYS)
    assert all(row[1:5] == ["1"] * 4 for row in relays)
    assert [row[0] for row in rows(made(), "all pinned")] == ["all pinned"] * 2


def test_page_says_the_same_in_short() -> None:
    text = made()
    assert "- `EEVDF`: 90 % of the mixers' runs, 1 migrations." in text
    assert "- `new`: 80 % of the mixers' runs, 2 migrations." in text


def test_page_has_medians_and_ranges_of_several_runs() -> None:
    text = made(rounds=3)
    assert "figure is the median of 3 runs, with the least and the greatest in brackets." in text
    share, migrations, *relays = rows(text, "new")
    assert share == ["new", *["70 % (60 to 80)"] * 5]
    assert migrations == ["new", *["3 (2 to 4)"] * 5]
    assert all(row[1:5] == ["3 (2 to 4)"] * 4 for row in relays)
    assert all(row[5:] == ["3"] * len(page.COUNTERS) for row in relays)
    assert rows(text, "8 KB") == [["8 KB", "new", *["3"] * len(page.COUNTERS)]]
    assert "- `new`: 60 to 80 % of the mixers' runs, 2 to 4 migrations." in text
    assert "This is one run of each" in made()


def test_page_has_counters_of_rules_only() -> None:
    assert rows(made(), "8 KB") == [["8 KB", "new", *["2"] * len(page.COUNTERS)]]


def test_page_says_which_situations_agree() -> None:
    assert rows(made(), "Figure 1") == [["Figure 1", "2", "the same", "4 of 5 plays undisturbed"]]
