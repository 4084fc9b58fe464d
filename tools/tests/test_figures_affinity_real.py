# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures affinity`: what was measured on the machine at hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from affinity_points import measured

from pirn_tools.figures import affinity_here, affinity_more
from pirn_tools.figures import affinity_real as real_runs
from pirn_tools.figures import affinity_thesis as thesis
from pirn_tools.figures.affinity_model import AUTO, OLD, PIN_ALL
from pirn_tools.figures.hardware_counters import Counters


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


def test_a_busy_machine_is_named() -> None:
    assert measured("0.10, 0.20, 0.30").quiet
    text = "\n".join(affinity_here.section(measured("7.00, 6.00, 5.00")))
    assert "its load averages were 7.00, 6.00, 5.00 on 2 CPUs" in text
    assert "`steal:affinity=declared` changes the time of `steal` by -12 % with 4 KB, -12 %" in text
    assert "four waves cannot run at once" in text


def test_what_was_not_run_or_counted_is_named() -> None:
    text = "\n".join(affinity_here.section(measured("0, 0, 0")))
    assert "Not run: `--pin all`: needs 4 CPUs." in text
    assert "Cache misses were not counted here: the kernel has none." in text
    assert (
        "| 64 KB | NPTL, SCHED_FIFO | 9.2 (9.0 to 9.5) | 10.2 | 2.0 | 4.0 | 14.2 | 1.00 | 0.50 |"
        in text
    )
    text = "\n".join(affinity_here.section(measured("0, 0, 0", "")))
    assert "| 1.00 | 0.50 | 70 | 7 |" in text
    assert "not counted" not in text


def test_pushes_and_pulls_are_counted_and_timed() -> None:
    text = "\n".join(affinity_here.section(measured("0, 0, 0")))
    row = "| 0.50 | 0.50 | 0.50 | 0.50 | 1 | 0.50 | 0.50 | 0 |"
    assert f"| 8 KB | `{OLD}` {row}" in text  # of 0.5 ns in 0.5 pushes, and in twice as many pulls
    assert f"| `{real_runs.PLAIN}` | 0.50" not in text
    assert affinity_here.each_ns([{"ns": 5.0, "events": 0.0}], "ns", "events") == "-"


def test_the_estimate_is_of_the_serial_runs_here() -> None:
    text = "\n".join(affinity_here.section(measured("0, 0, 0")))
    assert "| 4 KB | 2.5 | 5.5 | 7.0 | 28.0 |" in text
    plain, affinity = thesis.estimates([thesis.Serial(2.5, 5.5, 7.0)])
    assert f"a speed-up of {plain:.2f} by plain scheduling and of {affinity:.2f} with" in text
    assert "It assumes 4 CPUs. Here are 2, so the speed-ups above cannot be compared" in text
    real = measured("0, 0, 0")
    for one in (run for runs in real.runs.values() for run in runs):
        assert isinstance(one, dict)
        one["mixer2"] = 1.0
    text = "\n".join(affinity_here.section(real))
    assert "It cannot be computed here: equation 4.1: the last mixer takes less time" in text


def said(text: str, status: int = 0) -> str:
    """A program that prints it."""
    return f"#!/bin/sh\ncat <<END\n{text}\nEND\nexit {status}\n"


def programs(folder: Path, fifo: str) -> real_runs.Programs:
    """wavemix of both libraries. fifo: what NPTL says to --class=fifo; empty: it runs."""
    made = real_runs.Programs(folder)
    made.pirn.parent.mkdir(parents=True)
    line = "wavemix: period_mean_us=5.5 period_sigma_us=2 period_a2s_us=7.5 period_median_us=5 "
    tasks = "wavemix: thread=wave0 mean_us=9 median_us=1.5 migrations=1\n"
    kept = 'test -z "$PIRN_STATS" || echo \'{"own": {"affinity-pulls": 2200, "x": 1}}\' '
    kept += '>"${PIRN_STATS#json:}"\n'
    made.pirn.write_text(f"#!/bin/sh\n{kept}{said(f'{tasks}{line}migrations=3000')}")
    refuse = f'case "$*" in *fifo*) echo "{fifo}" >&2; exit 1;; esac\n' if fifo else ""
    made.nptl.write_text(f"#!/bin/sh\n{refuse}{said(line + 'migrations=0')}")
    for program in (made.pirn, made.nptl):
        program.chmod(0o755)
    return made


def test_wavemix_is_read_and_its_migrations_are_those_of_a_sample(tmp_path: Path) -> None:
    got = real_runs.wavemix(programs(tmp_path, ""), OLD, 8, Counters({}))
    assert got == {
        "mean_us": 5.5,
        "sigma_us": 2,
        "variance": 4,
        "a2s_us": 7.5,
        "median_us": 5,
        "migrations": 3,
        "wave0": 1.5,
        "affinity-pulls": 2,
    }
    got = real_runs.wavemix(programs(tmp_path / "nptl", ""), real_runs.NPTL, 8, Counters({}))
    assert "affinity-pulls" not in got


def test_each_way_has_its_policy_and_arguments(tmp_path: Path) -> None:
    made = programs(tmp_path, "")
    old = real_runs.command_of(made, OLD, "--buffer=8K")
    assert old[-3:] == [str(made.pirn), "--affinity", "--buffer=8K"]
    assert f"PIRN_SCHED={OLD}" in old
    fifo = real_runs.command_of(made, real_runs.NPTL_FIFO)
    assert fifo[-2:] == [str(made.nptl), "--class=fifo"]
    assert not any(word.startswith("PIRN_SCHED") for word in fifo)


def test_a_way_that_cannot_be_run_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = programs(tmp_path, "wavemix: not permitted")
    assert real_runs.refused(made, real_runs.NPTL_FIFO) == "wavemix: not permitted"
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    assert real_runs.refused(made, PIN_ALL) == "tasks are pinned to 4 CPUs; here are 2"
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2, 3})
    assert real_runs.refused(made, PIN_ALL) == ""
    assert real_runs.refused(made, AUTO) == ""
    assert real_runs.refused(programs(tmp_path / "other", ""), real_runs.NPTL_FIFO) == ""


def test_the_price_is_that_of_a_producer_more() -> None:
    text = "\n".join(affinity_more.price(measured("0, 0, 0")))
    assert "100 instructions without producers, 130 with one, and 30 for each further one" in text
    assert "| 16 | 700 | 1280 | 1280 |" in text
