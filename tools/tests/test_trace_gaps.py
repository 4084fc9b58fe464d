# SPDX-License-Identifier: MIT
"""Traces that the program paused: nothing is concluded from what is in front of a gap."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import trace_event_format
import vcd
from click.testing import CliRunner
from synthetic import Writer

from pirn_tools.trace import gaps, plot
from pirn_tools.trace.cli import trace as group
from pirn_tools.trace.loads import cpu_loads
from pirn_tools.trace.model import BLOCKED, READY, RUNNING, Model, build
from pirn_tools.trace.read import load
from pirn_tools.trace.stat import compute

STEP = 1000  # ns between two events; 2 ticks of the clock are one ns


def written(path: Path) -> Path:
    """Thread 5 runs, the trace is paused, 6 runs, which nobody has seen begin, then 5 again."""
    w = Writer(1)

    def then(name: str, **fields: int) -> None:
        w.now += 2 * STEP
        if name in ("pause", "resume", "tick_in", "tick_out"):
            w.anywhere(0, name)
        else:
            w.event(0, name, **fields)

    w.now -= 1000  # the start
    then("spawn", a=5, b=1)  # 1 us
    then("spawn", a=6, b=1)
    then("switch", small=0, a=5, b=0)  # 3 us
    then("sleep_in")
    then("tick_in")
    then("pause")  # 6 us
    w.now += 2 * STEP * 3
    w.running[0] = 6
    then("resume")  # 10 us
    then("wake", small=1, a=5, b=6)
    then("tick_out")
    then("exit", a=6, b=4)
    then("switch", small=3, a=5, b=6)  # 14 us
    then("block", small=9)
    then("switch", small=2, a=0, b=5)  # 16 us
    then("pause")  # 17 us
    path.write_bytes(w.bytes())
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "t.pirn")


@pytest.fixture
def model(file: Path) -> Model:
    return build(load(file))


def us(model: Model, spans: np.ndarray) -> list[tuple[float, float, str]]:
    return [
        (round(float(s["start"]) / STEP, 2), round(float(s["end"]) / STEP, 2), label)
        for s, label in ((s, model.threads[int(s["key"])].number) for s in spans)
    ]


def test_cpu_runs_nobody_known_in_a_gap(model: Model) -> None:
    assert (model.gaps / STEP).tolist() == [[6, 10], [17, 17]]
    assert us(model, model.cpu_spans) == [
        (0, 3, "0.0"),
        (3, 6, "5.1"),
        (10, 14, "6.4"),
        (14, 16, "5.1"),
        (16, 17, "0.0"),
    ]


def test_threads_begin_anew_behind_a_gap(model: Model) -> None:
    spans = model.thread_spans[~model.idle[model.thread_spans["key"]]]
    found = [(*span, int(s["state"])) for span, s in zip(us(model, spans), spans, strict=True)]
    assert found == [
        (1, 3, "5.1", READY),
        (3, 6, "5.1", RUNNING),
        (11, 14, "5.1", READY),
        (14, 16, "5.1", RUNNING),
        (16, 17, "5.1", BLOCKED),
        (2, 6, "6.1", READY),
        (10, 14, "6.4", RUNNING),
    ]
    rows = model.trace.which("wake")
    assert model.threads[int(model.key[rows[0]])].number == "6.4"


def test_stat_leaves_gaps_out(model: Model) -> None:
    stat = compute(model)
    assert stat.pauses == [[6000, 10000], [17000, 17000]]
    (cpu,) = stat.cpus
    assert cpu.time == 17_000 - 4000
    assert cpu.interrupts == 0  # its end is another one's
    assert cpu.sleep_time == 2000
    (said,) = (text for text in model.trace.remarks if "paused" in text)
    assert said == "the program paused the trace 2 times, 0.000004 s: nothing is known of that"


def test_verbs_show_gaps(file: Path, tmp_path: Path, model: Model) -> None:
    def export(kind: str) -> Path:
        output = tmp_path / f"t.{kind}"
        words = ["export", str(file), "--format", kind, "-o", str(output)]
        done = CliRunner().invoke(group, words)
        assert done.exit_code == 0, done.output
        return output

    events = json.loads(export("chrome").read_text())
    trace_event_format.check(events)
    paused = [e for e in events["traceEvents"] if e["name"] == "trace paused"]
    assert [(e["ts"], e["dur"]) for e in paused] == [(6, 4), (17, 0)]
    assert not [e for e in events["traceEvents"] if e.get("cat") == "interrupt"]
    signals, _ = vcd.parse(export("vcd").read_text())
    thread = signals["cpu0.thread"]
    assert [thread.at(int(t * STEP)) for t in (4, 7, 12, 15)] == [5, None, 6, 5]
    assert ",pause," in export("csv").read_text()
    for kind in ("timeline", "load"):
        output = tmp_path / f"{kind}.svg"
        done = CliRunner().invoke(group, ["plot", str(file), "-o", str(output), "--kind", kind])
        assert done.exit_code == 0, done.output
        assert "<pattern" in output.read_text()  # hatched
    assert cpu_loads(model)[0].threads.max() >= 1
    assert len(plot._pauses(model, plot.Window(7000, 8000))) == 1
    page = tmp_path / "t.html"
    assert CliRunner().invoke(group, ["report", str(file), "-o", str(page)]).exit_code == 0
    assert '"gaps":[[6000,10000],[17000,17000]]' in page.read_text()


@pytest.mark.parametrize(
    ("pauses", "resumes", "first", "last"),
    [
        ([], [], [], []),
        ([3], [5], [3], [5]),
        ([3], [], [3], [9]),
        ([], [5], [-1], [5]),
        ([3, 4, 7], [5, 6], [3, 7], [5, 9]),
        ([4], [2, 6], [-1, 4], [2, 6]),
    ],
)
def test_gaps_are_found_when_something_is_missing(
    pauses: list[int], resumes: list[int], first: list[int], last: list[int]
) -> None:
    found = gaps.find(np.array(pauses, np.int64), np.array(resumes, np.int64), 9)
    assert (found.first.tolist(), found.last.tolist()) == (first, last)


def test_rows_in_a_gap_belong_to_no_stretch() -> None:
    found = gaps.find(np.array([2, 6]), np.array([4]), 9)
    assert found.stretches(np.arange(9)).tolist() == [0, 0, 0, -1, 1, 1, 1, -1, -1]
