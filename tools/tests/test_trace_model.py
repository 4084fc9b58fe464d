# SPDX-License-Identifier: MIT
"""Spans and statistics against the books of the scheduler that made the trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from synthetic import HZ, SWITCH, Truth, Writer, play

from pirn_tools.trace.diff import compare
from pirn_tools.trace.loads import cpu_loads
from pirn_tools.trace.model import BLOCKED, READY, RUNNING, Model, build
from pirn_tools.trace.read import load
from pirn_tools.trace.stat import ThreadStat, compute

NS = 1e9 / HZ


def model_of(folder: Path, data: bytes, name: str = "t.pirn") -> Model:
    path = folder / name
    path.write_bytes(data)
    return build(load(path))


@pytest.fixture
def played(tmp_path: Path) -> tuple[Model, Truth]:
    writer, truth = play(cpus=3, threads=12, events=6000, seed=5, capacity=8192, slots=4096)
    return model_of(tmp_path, writer.bytes()), truth


def test_times_of_threads_are_those_of_the_scheduler(played: tuple[Model, Truth]) -> None:
    model, truth = played
    threads = {one.number: one for one in compute(model).threads}
    assert len(threads) > 50
    assert set(truth.run) <= set(threads)
    for number, thread in threads.items():
        for mine, books in (
            (thread.run, truth.run),
            (thread.ready, truth.ready),
            (thread.blocked, truth.blocked),
        ):
            assert mine == pytest.approx(books.get(number, 0) * NS, rel=1e-4, abs=150), number


def test_switches_and_latencies_are_those_of_the_scheduler(played: tuple[Model, Truth]) -> None:
    model, truth = played
    stat = compute(model)
    assert sum(cpu.switches for cpu in stat.cpus) == truth.switches
    by_reason = sum(sum(cpu.switches_by_reason.values()) for cpu in stat.cpus)
    assert by_reason == truth.switches
    assert {name for cpu in stat.cpus for name in cpu.switches_by_reason} <= set(SWITCH.values())
    ordered = sorted(truth.latencies)
    assert stat.latency.count == len(ordered)
    assert stat.latency.max == pytest.approx(ordered[-1] * NS, abs=60)
    assert stat.latency.p50 == pytest.approx(ordered[(len(ordered) + 1) // 2 - 1] * NS, abs=60)


def test_time_of_each_cpu_adds_up(played: tuple[Model, Truth]) -> None:
    model, _ = played
    stat = compute(model)
    busy = ~model.idle[model.cpu_spans["key"]]
    length = model.cpu_spans["end"] - model.cpu_spans["start"]
    for cpu in stat.cpus:
        own = length[busy & (model.cpu_spans["cpu"] == cpu.cpu)].sum()
        assert own + cpu.idle_time == cpu.time
    total = sum(thread.run for thread in stat.threads)
    assert total == length[busy].sum()


def test_load_is_the_number_of_running_and_ready_threads(played: tuple[Model, Truth]) -> None:
    model, _ = played
    edges = np.array([0, model.end])
    mean = sum(float(load.averages(edges)[0]) for load in cpu_loads(model))
    stat = compute(model)
    want = sum(thread.run + thread.ready for thread in stat.threads) / model.end
    assert mean == pytest.approx(want, rel=1e-6)


def one_thread(stat_threads: list[ThreadStat], number: str) -> ThreadStat:
    return next(one for one in stat_threads if one.number == number)


def test_an_index_is_another_thread_in_its_next_life(tmp_path: Path) -> None:
    w = Writer(1)
    for life in (4, 5):
        w.event(0, "spawn", a=7, b=life, text=f"life {life}")
        w.switch(0, 7, "start")
        w.event(0, "start", a=7, b=life)
        w.now += 1000 * life
        w.event(0, "exit", a=7, b=life)
        w.switch(0, 0, "exit")
        w.now += 100
    stat = compute(model_of(tmp_path, w.bytes()))
    assert [(one.number, one.name, one.run) for one in stat.threads] == [
        ("7.4", "life 4", 2000),
        ("7.5", "life 5", 2500),
    ]


def test_life_is_known_from_later_events_when_the_spawn_is_lost(tmp_path: Path) -> None:
    w = Writer(1)
    w.switch(0, 7, "start")
    w.now += 1000
    w.event(0, "exit", a=7, b=3)
    w.switch(0, 8, "exit")
    w.event(0, "spawn", a=8, b=6)  # in front of this, index 8 was life 5
    stat = compute(model_of(tmp_path, w.bytes()))
    assert {one.number for one in stat.threads} == {"7.3", "8.5", "8.6"}


def states_of(model: Model, index: int) -> list[tuple[int, int]]:
    own = [t.key for t in model.threads if t.index == index]
    spans = model.thread_spans[np.isin(model.thread_spans["key"], own)]
    return [(int(one["state"]), int(one["end"] - one["start"])) for one in spans]


def test_thread_is_ready_when_it_is_woken_before_its_switch_is_over(tmp_path: Path) -> None:
    w = Writer(2)
    w.event(0, "thread", small=2, a=5, b=1)
    w.switch(0, 5, "start")
    w.now += 200
    w.event(0, "block", small=1, a=0x77)
    w.now += 20
    w.event(1, "wake", a=5, b=1)
    w.now += 20
    w.switch(0, 0, "block")
    w.now += 400
    w.switch(1, 5, "start")
    w.now += 600
    model = model_of(tmp_path, w.bytes())
    assert states_of(model, 5) == [(RUNNING, 120), (READY, 200), (RUNNING, 300)]
    assert compute(model).latency.count == 1


def test_wake_of_a_running_thread_means_nothing(tmp_path: Path) -> None:
    w = Writer(2)
    w.event(0, "thread", small=1, a=5, b=1)
    w.now += 100
    w.switch(0, 5, "start")
    w.now += 100
    w.event(1, "wake", a=5, b=1)
    w.now += 100
    w.switch(0, 0, "yield")
    model = model_of(tmp_path, w.bytes())
    assert [state for state, _ in states_of(model, 5)] == [READY, RUNNING, READY]


def begin_call(w: Writer) -> None:
    """CPU 0 runs thread 5, which begins a call that may block."""
    w.event(0, "thread", small=1, a=5, b=1)
    w.switch(0, 5, "start")
    w.now += 200
    w.event(0, "call", small=1, a=5)


def test_thread_in_a_call_is_blocked_when_another_takes_the_cpu(tmp_path: Path) -> None:
    w = Writer(1)
    begin_call(w)
    w.now += 20
    w.event(0, "carry", a=0)
    w.running[0] = 0
    w.now += 1000
    w.anywhere(-1, "called", ab=5)
    w.now += 20
    w.anywhere(-1, "wake", ab=5)
    w.now += 100
    w.switch(0, 5, "start")
    w.now += 100
    model = model_of(tmp_path, w.bytes())
    states = states_of(model, 5)
    assert [state for state, _ in states[-4:]] == [RUNNING, BLOCKED, READY, RUNNING]
    assert states[-3] == (BLOCKED, 510)
    assert compute(model).threads[0].blocked_by == {"call": 510}


def test_cpu_is_idle_when_its_next_carrier_comes_after_the_call(tmp_path: Path) -> None:
    """The thread is ready from its wake-up on; who executes the CPU starts 700 ticks later."""
    w = Writer(1)
    begin_call(w)
    w.now += 400
    w.anywhere(-1, "called", ab=5)
    w.now += 20
    w.anywhere(-1, "wake", ab=5)
    w.now += 700
    w.event(0, "carry", a=1021, b=3, text="idle-spare")
    w.running[0] = 1021
    w.now += 60
    w.switch(0, 5, "start")
    w.now += 100
    model = model_of(tmp_path, w.bytes())
    assert states_of(model, 5)[-3:] == [(RUNNING, 310), (READY, 380), (RUNNING, 50)]
    stat = compute(model)
    assert stat.cpus[0].idle_time == 500 + 380  # 500 before thread 5 starts
    assert stat.cpus[0].time == stat.cpus[0].idle_time + stat.threads[0].run
    assert stat.latency.total == 380


def test_cpu_stays_idle_when_its_thread_goes_on_elsewhere(tmp_path: Path) -> None:
    """CPU 0 has lost its thread in a call, and the trace ends before it has another carrier."""
    w = Writer(2)
    w.event(0, "thread", small=1, a=0)
    begin_call(w)
    w.now += 400
    w.anywhere(-1, "called", ab=5)
    w.anywhere(-1, "wake", ab=5)
    w.now += 100
    w.switch(1, 5, "start")
    w.now += 1000
    w.switch(1, 1, "exit")
    model = model_of(tmp_path, w.bytes())
    assert states_of(model, 5)[-4:] == [(RUNNING, 300), (READY, 50), (RUNNING, 500), (READY, 0)]
    stat = compute(model)
    assert [cpu.time - cpu.idle_time for cpu in stat.cpus] == [300, 500]


def carried(w: Writer, *, marked: bool) -> None:
    """CPU 0 runs 5, which loses it in a call to the spare carrier whose idle thread is 1021.3."""
    w.switch(0, 5, "start")
    w.now += 200
    w.event(0, "call", small=1, a=5)
    if marked:
        w.event(0, "carry", a=1021, b=3, text="idle-spare")
        w.running[0] = 1021
    else:
        w.switch(0, 1021, "block")
    w.event(0, "idle_in")
    w.now += 3000
    w.event(0, "idle_out")
    w.event(0, "switch", small=5, a=6, b=1021)
    w.running[0] = 6
    w.now += 400
    w.switch(0, 1021, "block")
    w.now += 600


def test_idle_threads_of_spare_carriers_are_no_user_threads(tmp_path: Path) -> None:
    for marked in (True, False):
        w = Writer(1)
        carried(w, marked=marked)
        model = model_of(tmp_path, w.bytes())
        idle = [thread for thread in model.threads if thread.index == 1021]
        assert [one.idle for one in idle] == [True]
        assert idle[0].label == ('1021.3 "idle-spare"' if marked else "1021.0")
        stat = compute(model)
        assert {one.number for one in stat.threads} == {"5.0", "6.0"}
        assert (stat.cpus[0].idle_time, stat.cpus[0].time) == (1800 + 500, 2600)
        assert stat.run.total == 300


def test_idle_threads_are_named_when_the_trace_begins(tmp_path: Path) -> None:
    """As in a child of fork, whose CPUs do not have the threads of the lowest indexes."""
    w = Writer(1)
    w.event(0, "thread", small=5, a=7, b=2, text="idle-0")
    w.event(0, "thread", small=2, a=3, b=1)
    w.running[0] = 3
    w.now += 200
    w.switch(0, 7, "block")
    w.now += 200
    w.switch(0, 3, "start")
    model = model_of(tmp_path, w.bytes())
    assert {thread.index: thread.idle for thread in model.threads} == {0: True, 3: False, 7: True}


def test_an_index_is_idle_only_in_the_life_of_the_carrier(tmp_path: Path) -> None:
    w = Writer(1)
    w.event(0, "spawn", a=1021, b=2, text="earlier")
    w.switch(0, 1021, "start")
    w.now += 200
    w.event(0, "exit", a=1021, b=2)
    w.switch(0, 0, "exit")
    carried(w, marked=True)
    model = model_of(tmp_path, w.bytes())
    assert {one.number for one in compute(model).threads} == {"1021.2", "5.0", "6.0"}


def ran_for(w: Writer, used_ns: int, processors: int) -> bytes:
    """A trace in which thread 5 runs for 1 s, of a process that had so much CPU time."""
    w.switch(0, 5, "start")
    w.now += HZ
    w.switch(0, 0, "block")
    data = bytearray(w.bytes())
    data[120:128] = used_ns.to_bytes(8, "little")
    line = b"meta\tprogram\tsynthetic"  # as long as the one in its place
    return bytes(data).replace(line, b"meta\tprocessors\t%06d" % processors)


def test_time_without_a_processor_is_said(tmp_path: Path) -> None:
    model = model_of(tmp_path, ran_for(Writer(4), 600_000_000, 2))
    assert model.trace.remarks == [
        "4 CPUs on 2 processors: a CPU that waits for a processor counts as running",
        "threads ran for 1.000 s, the process had processors for 0.600 s: the rest, in which CPUs "
        "waited for a processor or in the kernel, is drawn as running",
    ]
    for used, processors in ((950_000_000, 4), (0, 2)):  # enough; not known
        assert model_of(tmp_path, ran_for(Writer(4), used, processors)).trace.remarks == []


def test_interrupts_are_paired_also_when_one_has_no_end(tmp_path: Path) -> None:
    w = Writer(1)
    for length in (200, 400):
        w.anywhere(0, "tick_in")
        w.now += length
        w.anywhere(0, "tick_out")
        w.now += 1000
    w.anywhere(0, "tick_in")
    cpu = compute(model_of(tmp_path, w.bytes())).cpus[0]
    assert (cpu.interrupts, cpu.interrupt_time) == (2, 300)
    assert (cpu.interrupt_shortest, cpu.interrupt_longest) == (100, 200)


def test_steals_and_sleep_are_counted(tmp_path: Path) -> None:
    w = Writer(2)
    w.switch(1, 1, "idle")
    w.event(1, "sleep_in")
    w.now += 2000
    w.event(1, "sleep_out")
    w.event(1, "steal", small=0, a=3, b=9)
    w.event(0, "kick", small=1)
    w.now += 2000
    stat = compute(model_of(tmp_path, w.bytes()))
    assert (stat.cpus[1].steals, stat.cpus[1].stolen) == (1, 3)
    assert stat.cpus[1].sleep_time == 1000
    assert stat.cpus[0].kicks == 1


def test_nothing_of_a_cpu_is_made_up_behind_its_last_event(tmp_path: Path) -> None:
    w = Writer(2, capacity=512, keeps_oldest=True)
    w.switch(0, 5, "start")
    for _ in range(600):
        w.event(0, "wake", a=6, b=5)
        w.now += 10
    for _ in range(50):
        w.event(1, "wake", a=6, b=5)
        w.now += 1000
    model = model_of(tmp_path, w.bytes())
    assert model.covered[0, 1] < model.covered[1, 1] == model.end
    assert one_thread(compute(model).threads, "5.0").run <= model.covered[0, 1]


def test_diff_finds_the_first_other_switch(tmp_path: Path) -> None:
    writer, _ = play(seed=3, events=1000)
    same = compare(model_of(tmp_path, writer.bytes(), "a"), model_of(tmp_path, writer.bytes(), "b"))
    assert same.partings == []
    assert all(pair.first == pair.second for pair in same.counts + same.cpus + same.threads)
    one, two = Writer(1), Writer(1)
    for place, writer in enumerate((one, two)):
        for turn in range(10):
            writer.switch(0, 5, "yield")
            writer.now += 100
            writer.switch(0, 6 if turn < 4 + place else 7, "yield")
    found = compare(model_of(tmp_path, one.bytes(), "a"), model_of(tmp_path, two.bytes(), "b"))
    assert [(p.cpu, p.same) for p in found.partings] == [(0, 9)]
    first, second = found.partings[0].first, found.partings[0].second
    assert first is not None
    assert second is not None
    assert (first.next, second.next) == ("7.0", "6.0")
