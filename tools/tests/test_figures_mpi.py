# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures mpi`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pirn_tools.errors import UserError
from pirn_tools.figures import mpi
from pirn_tools.figures.mpi import ALONE, BOTH, NPTL, Calls, Case

CASE = Case("openmpi", 8)


def test_a_row_has_medians_ranges_and_runs_that_did_not_end() -> None:
    found = {(CASE, NPTL): [None, 900.0], (CASE, ALONE): [1.0, 3.0], (CASE, BOTH): [0.5, 0.75]}
    assert mpi.table(found).splitlines()[-1] == (
        "| Open MPI | 2 | 8 | 1 of 2 runs ended | 2.00 (1.00 to 3.00) | 0.62 (0.50 to 0.75) |"
    )


def test_ranks_alone_have_the_libraries_in_this_order(tmp_path: Path) -> None:
    for way, names in {NPTL: [], ALONE: ["pthread"], BOTH: ["pthread", "mpi-openmpi"]}.items():
        words = CASE.words(way, tmp_path)
        preload = words[words.index("-n") + 3]
        libraries = [f"{tmp_path}/lib/libpirn-{name}.so" for name in names]
        assert preload == "LD_PRELOAD=" + " ".join(libraries)
        assert not any("LD_PRELOAD" in word for word in words[: words.index("-n")])


def test_each_thread_makes_a_round_trip_at_least(tmp_path: Path) -> None:
    assert Case("mpich", 10**6).words(NPTL, tmp_path)[-1] == "--rounds=1"
    assert Case("mpich", 50).words(NPTL, tmp_path)[-1] == "--rounds=20"
    assert Case("mpich", 50).words(BOTH, tmp_path)[-1] == "--rounds=400"
    assert Case("mpich", 1).words(NPTL, tmp_path)[-1] == "--rounds=20000"


def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """That instead of mpirun."""
    starter = tmp_path / "starter"
    starter.write_text(f"#!/bin/sh\n{text}\n")
    starter.chmod(0o755)
    monkeypatch.setitem(mpi.STARTERS, "openmpi", (str(starter),))


def test_what_a_run_says_is_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, "echo 1.250")
    assert mpi.run(CASE, BOTH, tmp_path) == pytest.approx(1.25)


def test_calls_have_a_row_for_each_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, "echo A, B: 2.0; echo C: 9.5")
    case = Calls("openmpi", 3)
    one = mpi.run_calls(case, BOTH, tmp_path)
    assert one == {"A, B": 2.0, "C": 9.5}
    found = {
        (case, NPTL): [None, None],
        (case, ALONE): [one],
        (case, BOTH): [one, {"A, B": 4, "C": 1}],
    }
    assert mpi.calls_table(found).splitlines()[-2:] == [
        "| Open MPI | 3 | `A, B` | 0 of 2 runs ended | 2.00 (2.00 to 2.00) | 3.00 (2.00 to 4.00) |",
        "| Open MPI | 3 | `C` | 0 of 2 runs ended | 9.50 (9.50 to 9.50) | 5.25 (1.00 to 9.50) |",
    ]


def test_ranks_are_bound_where_each_has_a_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    for ranks, how in ((2, "core"), (3, "none")):
        words = Calls("mpich", ranks).words(BOTH, tmp_path, tmp_path)
        assert words[words.index("-n") - 2 : words.index("-n") + 2] == [
            *("-bind-to", how, "-n", str(ranks))
        ]


def test_large_messages_are_a_bandwidth_in_both_directions() -> None:
    case = Case("mpich", 8, bytes=1 << 20, errors_return=True)
    found = {(case, NPTL): [None], (case, ALONE): [2.0], (case, BOTH): [1.0, 4.0]}
    assert mpi.large_table(found).splitlines()[-1] == (
        "| MPICH | 1,048,576 | 8 | returned | 0 of 1 runs ended | "
        "1048576.00 (1048576.00 to 1048576.00) | 1310720.00 (524288.00 to 2097152.00) |"
    )


def test_a_rate_counts_messages_of_both_directions() -> None:
    case = Case("mpich", 8, window=64)
    found = {(case, way): [0.5] for way in mpi.WAYS}
    assert mpi.rate_table(found).splitlines()[-1].split(" | ")[2] == "4000.00 (4000.00 to 4000.00)"


def test_threads_hide_the_time_of_messages() -> None:
    work = Case("mpich", 1, work=mpi.WORK, silent=True)
    one, many = (Case("mpich", n, work=mpi.WORK) for n in (1, 8))
    found = {(work, way): [40.0] for way in mpi.WAYS} | {(one, way): [60.0] for way in mpi.WAYS}
    found |= {(many, NPTL): [100.0], (many, ALONE): [None], (many, BOTH): [45.0]}
    rows = [row.strip("| ").split(" | ") for row in mpi.overlap_table(found).splitlines()]
    assert rows[-3][:4] == ["MPICH", "64", "1", "60.00 (60.00 to 60.00)"]
    assert rows[-2][3:] == [
        "100.00 (100.00 to 100.00), -200 %",
        "0 of 1 runs ended",
        "45.00 (45.00 to 45.00), 75 %",
    ]
    assert rows[-1][:4] == ["MPICH", "none", "1", "40.00 (40.00 to 40.00)"]


def test_a_share_of_nothing_is_said() -> None:
    assert mpi.hidden(40.0, 41.0, 40.0) == "one thread adds nothing"


def test_large_and_slow_runs_make_fewer_trips(tmp_path: Path) -> None:
    assert Case("mpich", 8, bytes=1 << 24).words(BOTH, tmp_path)[-1] == "--rounds=4"
    assert Case("mpich", 8, window=64).words(BOTH, tmp_path)[-1] == "--rounds=196"
    assert Case("mpich", 8, work=1).words(NPTL, tmp_path)[-1] == "--rounds=50"


def test_what_has_not_ended_does_not_run_again() -> None:
    asked: list[str] = []
    results = {"ends": 1.0, "hangs": None}
    run = mpi.patiently(lambda key: asked.append(key) or results[key])
    assert [run(key) for key in ("ends", "hangs", "ends", "hangs")] == [1.0, None, 1.0, None]
    assert asked == ["ends", "hangs", "ends"]


def test_a_run_that_takes_too_long_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, monkeypatch, "exec sleep 1000")
    assert mpi.run(CASE, BOTH, tmp_path, limit=0.1) is None


def test_a_run_that_says_nothing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, monkeypatch, "echo it failed >&2; exit 1")
    with pytest.raises(UserError, match="did not say how long it took\nit failed"):
        mpi.run(CASE, BOTH, tmp_path)


def test_without_programs_it_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="tools/setup --group mpi"):
        mpi.present(tmp_path)
