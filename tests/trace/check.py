# SPDX-License-Identifier: MIT
"""Runs `traced` with a trace and checks that the trace matches its actions.

Usage: check.py TRACED DUMP NAME, NAME one of the functions below.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

TRACED, DUMP = sys.argv[1:3]

# Numbers of src/trace/events.def, which never change.
SWITCH, SPAWN, START, EXIT, BLOCK, WAKE, JOIN, CONTEND, PREEMPT = range(8, 17)
NAME, THREAD, CARRY = 20, 21, 40
SWITCH_IDLE, SWITCH_YIELD, SWITCH_PREEMPT = 0, 1, 2
TICK_IN, TICK_OUT, MARK, PAUSE, RESUME = 64, 65, 66, 67, 68


@dataclass
class Event:
    ring: int
    cpu: int
    clock: int
    event: int
    small: int
    a: int
    b: int
    ab: int
    text: str


@dataclass
class Trace:
    events: list[Event]
    lost: int
    ended: bool

    def count(self, event: int) -> int:
        return sum(e.event == event for e in self.events)

    def marks(self) -> dict[str, int]:
        signed = [(e.text, e.ab - (1 << 64 if e.ab >> 63 else 0)) for e in self.only(MARK)]
        return dict(signed)

    def only(self, event: int) -> list[Event]:
        return [e for e in self.events if e.event == event]


def run(what: str, file: str, status: int = 0, **options: str) -> subprocess.CompletedProcess[str]:
    env = dict(os.environ, PIRN_TRACE=file, **{f"PIRN_{k.upper()}": v for k, v in options.items()})
    done = subprocess.run([TRACED, what], env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == status, (what, done.returncode, done.stderr)
    return done


def read(file: str | Path) -> Trace:
    done = subprocess.run([DUMP, str(file)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    *lines, lost, ended = done.stdout.splitlines()
    events = []
    for line in lines:
        *numbers, text = line.split("\t")
        events.append(Event(*map(int, numbers), text))
    return Trace(events, int(lost.split()[1]), ended == "ended 1")


def threads(trace: Trace, n: int) -> None:
    """n threads were made, ran and were joined, none of it twice."""
    assert trace.lost == 0
    assert trace.ended
    for event in (SPAWN, START, EXIT, JOIN):
        assert trace.count(event) == n, (event, trace.count(event), n)
    lives = Counter((e.a, e.b) for e in trace.only(START))
    assert lives == Counter((e.a, e.b) for e in trace.only(EXIT))
    names = Counter(e.text for e in trace.only(SPAWN))
    assert names[f"worker-{0}"] == n / 10 if n % 10 == 0 else True, names
    woken = sum(e.small == 0 for e in trace.only(WAKE))
    assert woken == n, (woken, n)


def test_threads(d: str) -> None:
    for sched in ("steal", "single", "central", "dist", "request", "steal:discipline=posix"):
        for cpus in ("1", "2"):
            file = f"{d}/t"
            run("threads", file, sched=sched, cpus=cpus)
            trace = read(file)
            threads(trace, 10)
            # With two workers each thread may find no thread to yield to.
            least = 10 * 20 // 2 if cpus == "1" else 10
            assert trace.count(SWITCH) > least, (sched, cpus, trace.count(SWITCH))
            marks = sorted(e.ab for e in trace.only(MARK) if e.text == "begin")
            assert marks == list(range(10)), marks


def test_marks(d: str) -> None:
    run("marks", f"{d}/t")
    trace = read(f"{d}/t")
    assert trace.marks() == {
        "": -(1 << 63),
        "a name that is longer than 32 by": (1 << 63) - 1,
        "signal": signal.SIGUSR1,
        "foreign": 7,
        "last": 2,
    }, trace.marks()
    assert [e.cpu for e in trace.only(MARK) if e.text == "foreign"] == [-1]
    paused, resumed, last = (e.clock for e in trace.events if e.event > MARK or e.text == "last")
    assert [trace.count(event) for event in (PAUSE, RESUME)] == [1, 1]
    assert paused < resumed < last
    assert not [e for e in trace.events if paused < e.clock < resumed]
    assert [e.text for e in trace.only(NAME)] == ["renamed"]


def test_overflow(d: str) -> None:
    """64 KiB for each CPU: oldest keeps what came last, stop what came first."""
    run("many", f"{d}/t", tracesize="64K", cpus="2")
    trace = read(f"{d}/t")
    assert trace.lost > 10000
    assert trace.marks()["last"] == 1
    before = min(e.clock for e in trace.only(SWITCH))
    # On one CPU: of two, one may do so little that its buffer still has room for the last mark.
    run("many", f"{d}/u", tracesize="64K", cpus="1", tracefull="stop")
    trace = read(f"{d}/u")
    assert trace.lost > 10000
    assert "last" not in trace.marks()
    assert trace.only(SPAWN)[0].text == "worker-0"
    assert trace.count(SPAWN) > 10
    assert before != 0


def test_crash(d: str) -> None:
    run("crash", f"{d}/t", status=-signal.SIGABRT)
    trace = read(f"{d}/t")
    assert not trace.ended
    trace.ended = True
    threads(trace, 10)


def test_fork(d: str) -> None:
    """The child's threads are not in its parent's trace; with %p it has one of its own."""
    run("fork", f"{d}/t")
    trace = read(f"{d}/t")
    assert "parent" in trace.marks()
    assert "child" not in trace.marks()
    threads(trace, 4)
    run("fork", f"{d}/p.%p", sched="steal")
    files = sorted(Path(d).glob("p.*"), key=lambda f: int(f.name[2:]))
    assert len(files) == 2, files
    parent, child = read(files[0]), read(files[1])
    assert parent.marks()["parent"] == int(files[1].name[2:])
    threads(parent, 4)
    assert child.count(EXIT) >= 2
    assert child.ended


def test_busy(d: str) -> None:
    """Two processes never write into one file: the second runs without a trace, and says so."""
    env = dict(os.environ, PIRN_TRACE=f"{d}/t")
    first = subprocess.Popen([TRACED, "wait"], env=env, stdin=-1, stdout=-1, text=True)
    assert first.stdin is not None
    assert first.stdout is not None
    assert first.stdout.readline() == "ready\n"
    second = run("threads", f"{d}/t")
    assert "another process writes its trace there" in second.stderr, second.stderr
    first.stdin.write("x")
    first.stdin.close()
    assert first.wait(timeout=60) == 0
    threads(read(f"{d}/t"), 10)


def test_ticks(d: str) -> None:
    run("ticks", f"{d}/t", cpus="1", preempt="1")
    trace = read(f"{d}/t")
    assert trace.count(TICK_IN) == trace.count(TICK_OUT) >= 10, trace.count(TICK_IN)
    assert trace.count(PREEMPT) >= 10
    whys = (SWITCH_PREEMPT, SWITCH_YIELD)  # discipline fifo: a preempted thread yields
    assert sum(e.small in whys for e in trace.only(SWITCH)) >= 10
    assert sum(e.small for e in trace.only(TICK_OUT)) <= trace.count(PREEMPT)


def test_calls(d: str) -> None:
    """Idle threads are distinguished from others, those of spare carriers, too."""
    run("calls", f"{d}/t", cpus="1")
    trace = read(f"{d}/t")
    assert trace.lost == 0
    carried = trace.only(CARRY)
    assert len(carried) >= 4, len(carried)
    spare = {(e.a, e.b) for e in carried if e.text == "idle-spare"}
    assert spare, [e.text for e in carried]
    assert all(e.text.startswith("idle-") for e in carried)
    user = {(e.a, e.b) for e in trace.only(SPAWN)}
    assert len(user) == 5
    assert not user & spare
    idle = {e.a for e in carried} | {e.a for e in trace.only(THREAD) if e.text.startswith("idle-")}
    assert {e.b for e in trace.only(SWITCH) if e.small == SWITCH_IDLE} <= idle


def test_off(d: str) -> None:
    run("off", "off")
    assert list(Path(d).iterdir()) == []


def test_refused(d: str) -> None:
    def refused(file: str, says: str, **options: str) -> None:
        done = run("threads", file, status=2, **options)
        assert says in done.stderr, done.stderr

    refused("", 'option trace="": valid: off, or the name of a file')
    refused(f"{d}/none/t", "cannot make the file: No such file or directory")
    refused(d, "cannot make the file: Is a directory")
    refused("/dev/null", "cannot make the file: it is a FIFO, a socket or a device; valid: ")
    refused(f"{d}/%q", "cannot make the file: Invalid argument")
    refused("x" * 600, "the name is too long; valid: up to 511 bytes")
    refused(f"{d}/t", 'option tracesize="1K" is not valid; valid: 64K to 1G', tracesize="1K")
    refused(
        f"{d}/t",
        'option tracefull="newest" is not valid; valid: oldest or stop',
        tracefull="newest",
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        globals()["test_" + sys.argv[3]](directory)
