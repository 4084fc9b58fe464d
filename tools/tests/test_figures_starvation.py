# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures starvation`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pirn_tools.errors import UserError
from pirn_tools.figures import starvation
from pirn_tools.figures.starvation import NPTL, PIRN, Case, Run

OWN = Case("own-code", "sleeper", 1, counted=True)
FILE = Case("locked-file", "sleeper", 1, counted=False)
READY = Case("own-code", "ready", 1, counted=True)


def found(most: float) -> dict[tuple[Case, str], list[Run]]:
    pirn = [Run([1.0, 2.0], [1.0, 15.0], 110.0), Run([3.0, 50.0], [2.0, most], 90.0)]
    nptl = [Run([0.5, 0.1], [0.0, 0.0], 100.0), Run([0.2, 0.4], [0.0, 5.0], 100.0)]
    cases = (OWN, FILE, READY)
    return {(case, way): pirn if way == PIRN else nptl for case in cases for way in (PIRN, NPTL)}


def test_rounds_are_pooled_and_percentiles_are_samples() -> None:
    ordered = [float(one) for one in range(1, 201)]
    assert starvation.percentile(ordered, 50) == 100
    assert starvation.percentile(ordered, 99) == 198
    assert starvation.percentile([7.0], 99) == 7
    assert starvation.pooled(found(1.0)[OWN, PIRN], lambda run: run.late) == [1, 2, 3, 50]


def test_cpu_time_above_two_ticks_is_marked() -> None:
    row = starvation.row(found(16.5), OWN)
    assert row[:4] == ["`own-code`", "0.20", "0.50", "0.50"]
    assert row[7:] == ["5.00", "0", "**16.50**", "1", "1.00"]
    groups = [("sleeper", 1), ("ready", 1)]
    said = starvation.words(found(16.5), groups)
    assert said.splitlines()[0] == "- sleeper, 1 CPU: `own-code` (1)."
    assert starvation.words(found(16.0), groups) == "- sleeper, 1 CPU: none.\n- ready, 1 CPU: none."


def test_a_place_has_no_cpu_time() -> None:
    assert starvation.row(found(1.0), FILE)[7:] == ["-"] * 5


def test_both_have_the_same_processors_and_threads(tmp_path: Path) -> None:
    words = {way: OWN.words(way, 5, tmp_path) for way in (PIRN, NPTL)}
    assert len({tuple(each[each.index("taskset") :][1:3]) for each in words.values()}) == 1
    assert all(each[-2:] == ["--threads=2", "own-code"] for each in words.values())


def test_output_is_read_in_milliseconds_of_each_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "kind=ready late_us=1500.0,2.0 cpu_us=4000.0,0.0 calls=10 cpu_seconds=2.0\n"
    monkeypatch.setattr(starvation, "execute", lambda *_: said)
    case = Case("x", "ready", 2, counted=True)
    assert starvation.run(case, PIRN, 2, tmp_path) == Run([1.5, 0.002], [2.0, 0.0], 5.0)
    monkeypatch.setattr(starvation, "execute", lambda *_: "nothing\n")
    with pytest.raises(UserError, match="did not say how late"):
        starvation.run(case, PIRN, 2, tmp_path)


def test_places_are_no_cases_of_ready_threads() -> None:
    known = [("own-code", ["sleeper", "ready"]), ("handler", ["sleeper"])]
    each = starvation.cases(known, [1])
    assert [(case.function, case.kind) for case in each] == [
        ("own-code", "sleeper"),
        ("handler", "sleeper"),
        ("own-code", "ready"),
    ]
