# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures library-waits`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pirn_tools.errors import UserError
from pirn_tools.figures import library_waits
from pirn_tools.figures.library_waits import NPTL, PASSIVE, PIRN, Case

GATE = Case("gate", 100, 10, 1)
OPENMP = Case("openmp-barrier", 16, 10, 2)


def runs(gate: float) -> dict[tuple[Case, str], list[float]]:
    """Rounds that take longer and longer, so that only ratios within them say something."""
    seconds = {
        (GATE, PIRN): gate,
        (GATE, NPTL): 1.0,
        (OPENMP, PIRN): 0.5,
        (OPENMP, NPTL): 2.0,
        (OPENMP, PASSIVE): 1.0,
    }
    return {key: [one * round_ for round_ in range(1, 8)] for key, one in seconds.items()}


def test_ratios_are_within_rounds_and_against_the_faster_peer() -> None:
    found = runs(0.25)
    assert library_waits.ratios(found, GATE) == pytest.approx([0.25] * 7)
    assert library_waits.peer(found, OPENMP) == PASSIVE
    assert library_waits.ratios(found, OPENMP) == pytest.approx([0.5] * 7)
    table = library_waits.table(found)
    assert "| 0.25 (0.25 to 0.25) |  |" in table
    assert "| 0.50 (0.50 to 0.50) | passive |" in table
    assert library_waits.words(found) == "Geometric mean of the ratios: 0.35. Above 1.5: none."


def test_what_falls_short_is_named() -> None:
    said = library_waits.words(runs(2.0))
    assert said.endswith("Above 1.5: gate, 100 threads, 1 CPU: 2.00.")


def test_only_pirn_has_the_library_and_both_the_same_processors(tmp_path: Path) -> None:
    words = {way: OPENMP.words(way, tmp_path) for way in OPENMP.ways}
    assert [any("LD_PRELOAD" in word for word in words[way]) for way in OPENMP.ways] == [
        True,
        False,
        False,
    ]
    assert ["OMP_WAIT_POLICY=passive" in words[way] for way in OPENMP.ways] == [True, False, True]
    processors = {way: each[each.index("-c") + 1] for way, each in words.items()}
    assert len(set(processors.values())) == 1


def test_a_program_that_says_nothing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_waits, "execute", lambda *_: "kind=gate\n")
    with pytest.raises(UserError, match="did not say how long"):
        library_waits.run(GATE, PIRN, tmp_path)
