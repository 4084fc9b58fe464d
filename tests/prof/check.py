# SPDX-License-Identifier: MIT
"""Runs `profiled` with a profile and checks that the profile matches its actions.

Usage: check.py PROFILED NAME [LIBRARY], NAME one of the functions below, LIBRARY what to preload
where the program is not linked with it. The environment's EMULATOR, if there is one, runs the
program. This script has a reader of profiles of its own; tools/tests tests the one for users.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

PROGRAM = sys.argv[1]
EMULATOR = os.environ.get("EMULATOR", "").split()
THREADS, ROUNDS, LEAVES = 8, 100, 10


@dataclass
class Node:
    parent: int
    kind: str
    fn: int
    site: int
    calls: int


@dataclass
class Wait:
    kind: str
    reason: str
    object: int
    node: int
    times: int
    waited: int
    ready: int


@dataclass
class Profile:
    meta: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    maps: list[tuple[int, int, int, str]] = field(default_factory=list)
    threads: dict[int, list[str]] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)
    samples: list[tuple[int, int, int, int]] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)

    def calls(self) -> Counter[str]:
        """Of each function, by name."""
        total: Counter[str] = Counter()
        for n in self.nodes.values():
            if n.kind == "call":
                total[self.names[n.fn]] += n.calls
        return total

    def arcs(self) -> Counter[tuple[str, str]]:
        """Calls, by the names of caller and callee; a root's name is its kind."""
        total: Counter[tuple[str, str]] = Counter()
        for n in self.nodes.values():
            if n.kind == "call":
                above = self.nodes[n.parent]
                name = self.names[above.fn] if above.kind == "call" else self.threads[n.parent][1]
                total[name, self.names[n.fn]] += n.calls
        return total

    def root(self, node: int) -> int:
        while self.nodes[node].kind != "root":
            node = self.nodes[node].parent
        return node

    def sampled(self) -> Counter[str]:
        """Samples by the innermost instrumented function."""
        total: Counter[str] = Counter()
        for _, node, _, n in self.samples:
            total[self.names.get(self.nodes[node].fn, "?")] += n
        return total

    def kinds(self) -> Counter[str]:
        return Counter(t[1] for t in self.threads.values())


def symbols(profile: Profile) -> dict[int, str]:
    program = os.path.realpath(PROGRAM)
    # A position-independent program: its file's offsets are its addresses.
    bias = next(s - o for s, _, o, path in profile.maps if os.path.realpath(path) == program)
    out = subprocess.run(["nm", PROGRAM], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return {int(r[0], 16) + bias: r[2].split(".")[0] for r in rows if len(r) == 3 and r[1] in "tT"}


def read(file: str | Path) -> Profile:
    p = Profile()
    lines = Path(file).read_text().splitlines()
    assert lines[0] == "pirn-profile\t1", lines[0]
    assert lines[-1] == f"end\t{len(lines) - 1}", lines[-1]
    for line in lines[1:-1]:
        what, *row = line.split("\t")
        if what == "meta":
            p.meta[row[0]] = row[1]
        elif what == "count":
            p.counts[row[0]] = int(row[1])
        elif what == "map":
            p.maps.append((int(row[0], 16), int(row[1], 16), int(row[2], 16), row[3]))
        elif what == "thread":
            p.threads[int(row[0])] = row
        elif what == "node":
            p.nodes[int(row[0])] = Node(
                int(row[1]), row[2], int(row[3], 16), int(row[4], 16), int(row[5])
            )
        elif what == "sample":
            p.samples.append((int(row[0]), int(row[1]), int(row[2], 16), int(row[3])))
        elif what == "wait":
            numbers = (int(row[5]), int(row[6]), int(row[7]))
            p.waits.append(Wait(row[0], row[1], int(row[2], 16), int(row[3]), *numbers))
    p.names = symbols(p)
    assert all(n.parent == 0 or n.parent in p.nodes for n in p.nodes.values())
    return p


def run(part: str, file: str | Path, status: int = 0, **options: object) -> str:
    env = dict(os.environ, PIRN_PROF=str(file))
    env |= {f"PIRN_{k.upper()}" if k.islower() else k: str(v) for k, v in options.items()}
    command = [*EMULATOR, PROGRAM, part]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == status, (part, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def profile(part: str, **options: object) -> Profile:
    with tempfile.TemporaryDirectory() as folder:
        run(part, f"{folder}/p", **options)
        return read(f"{folder}/p")


def whole(p: Profile) -> None:
    for count in ("lost_calls", "lost_samples", "unmatched"):
        assert p.counts[count] == 0, p.counts


def calls() -> None:
    """Every call is counted, where it was made, in each thread's own tree."""
    p = profile("calls", profrate=0)
    whole(p)
    assert p.samples == [], p.samples
    n = THREADS * ROUNDS
    expect = {"main": 1, "calls": 1, "work": THREADS, "middle": n, "leaf": n * LEAVES}
    assert p.calls() == expect, p.calls()
    assert p.arcs() == {
        ("main", "main"): 1,
        ("main", "calls"): 1,
        ("user", "work"): THREADS,
        ("work", "middle"): n,
        ("middle", "leaf"): n * LEAVES,
    }, p.arcs()
    names = sorted(t[5] for t in p.threads.values() if t[1] == "user")
    assert names == [f"worker{i}" for i in range(THREADS)], names
    ids = {(t[2], t[3]) for t in p.threads.values() if t[1] == "user"}
    assert len(ids) == THREADS, ids


def policies() -> None:
    """The same under all policies, and while threads are preempted all the time."""
    for sched in ("single", "central", "dist", "steal", "request"):
        p = profile("calls", sched=sched, tick=1000, slice=1000, profrate=2000, profclock="wall")
        assert p.calls()["leaf"] == THREADS * ROUNDS * LEAVES, (sched, p.calls())
        assert p.counts["unmatched"] == p.counts["skipped"] == 0, (sched, p.counts)


def shared() -> None:
    """Threads beyond those with trees of their own share one."""
    p = profile("many", profthreads=10, profrate=0)
    whole(p)
    assert p.calls()["middle"] == 1000, p.calls()
    assert p.calls()["leaf"] == 1000 * LEAVES, p.calls()
    assert p.kinds()["user"] == 10, p.kinds()
    others = [t for t in p.threads.values() if t[1] == "others"]
    assert len(others) == 1, others
    assert int(others[0][4]) == 990, others


def full() -> None:
    """Calls for which there is no room are counted by function."""
    p = profile("recursion", profnodes=100, profrate=0)
    assert p.counts["lost_calls"] == 0, p.counts
    assert p.calls()["fib"] == 3193, p.calls()
    assert p.kinds()["rest"] == 1, p.kinds()
    assert sum(n.kind != "root" for n in p.nodes.values()) <= 110, len(p.nodes)


def recursion() -> None:
    """Each way down a recursion is a way of its own."""
    p = profile("recursion", profrate=0)
    whole(p)
    assert p.calls()["fib"] == 3193, p.calls()
    assert p.arcs()["fib", "fib"] == 3192, p.arcs()


def longjmps() -> None:
    """Functions that are left without a return are not active any more."""
    p = profile("longjmps", profrate=0)
    whole(p)
    n = THREADS * ROUNDS
    assert p.arcs()["jump_work", "jumps"] == n, p.arcs()
    assert p.arcs()["jump_work", "leaf"] == n, p.arcs()
    assert p.arcs()["jumps", "leaf"] == n, p.arcs()
    assert p.counts["skipped"] == n / 2, p.counts


def handlers() -> None:
    """Handlers of signals are counted, too, in the thread that they interrupt."""
    with tempfile.TemporaryDirectory() as folder:
        calls = int(run("handlers", f"{folder}/p", profrate=1000, profclock="wall"))
        p = read(f"{folder}/p")
    assert p.arcs()["signal_work", "leaf"] == calls, (calls, p.arcs())
    done = p.calls()["handled"]
    assert 0 < done <= ROUNDS, done
    assert p.arcs()["handled", "leaf"] == done, p.arcs()
    assert p.counts["unmatched"] == 0, p.counts


def near(n: float, expect: float, of: float) -> bool:
    return abs(n - expect) <= of * expect


def busy() -> None:
    """Samples are where the time goes, as often as the rate says."""
    p = profile("busy", profrate=250)
    whole(p)
    found = p.sampled()
    much, little = found["busy_much"], found["busy_little"]
    # 2 threads, 600 and 200 ms of CPU time; a kernel that is late by a tick costs one sample.
    assert near(much, 300, 0.25), found
    assert near(little, 100, 0.35), found
    users = [r for r, t in p.threads.items() if t[1] == "user"]
    by_thread = Counter()
    for _, node, _, n in p.samples:
        by_thread[p.root(node)] += n
    assert all(near(by_thread[r], 200, 0.3) for r in users), by_thread


def wall() -> None:
    """By the clock on the wall, CPUs without work are sampled, too."""
    p = profile("busy", profrate=500, profclock="wall", cpus=2)
    seconds = int(p.meta["elapsed_ns"]) / 1e9
    for cpu in (0, 1):
        n = sum(s[3] for s in p.samples if s[0] == cpu)
        assert near(n, 500 * seconds, 0.35), (cpu, n, seconds)


def moves() -> None:
    """A thread's tree follows it from CPU to CPU; each sample says on which it was."""
    if len(os.sched_getaffinity(0)) < 2:
        print("skipped: there is one CPU only")
        return
    p = profile("moves", profrate=250)
    users = [r for r, t in p.threads.items() if t[1] == "user"]
    assert len(users) == 1, p.threads
    by_cpu = Counter()
    for cpu, node, _, n in p.samples:
        if p.root(node) == users[0]:
            by_cpu[cpu] += n
    assert sum(by_cpu.values()) >= 100, by_cpu
    assert p.calls()["move_work"] == 1, p.calls()


def function_at(p: Profile, address: int) -> str:
    """The last symbol before it, in the program."""
    program = os.path.realpath(PROGRAM)
    if not any(s <= address < e and os.path.realpath(f) == program for s, e, _, f in p.maps):
        return "?"
    return p.names[max(at for at in p.names if at <= address)]


def chains(p: Profile) -> tuple[Counter, Counter]:
    """Of all samples: functions, and their callers, the innermost first."""
    kinds = Counter(n.kind for n in p.nodes.values())
    assert kinds["call"] == 0, kinds
    at: Counter[str] = Counter()
    found: Counter[tuple[str, ...]] = Counter()
    for _, node, pc, n in p.samples:
        at[function_at(p, pc)] += n
        chain = []
        while p.nodes[node].kind == "frame":
            chain.append(function_at(p, p.nodes[node].fn - 1))
            node = p.nodes[node].parent
        assert p.nodes[node].kind == "root", p.nodes[node]
        found[*chain] += n
    return at, found


def begins(found: Counter, *names: str) -> float:
    """The share of chains that begin with these callers."""
    return sum(n for chain, n in found.items() if chain[: len(names)] == names) / found.total()


def plain() -> None:
    """A program that knows nothing of it is sampled, with its callers."""
    p = profile("", LD_PRELOAD=sys.argv[3], profrate=250)
    whole(p)
    at, found = chains(p)
    assert at["innermost"] >= 0.8 * at.total(), at
    assert begins(found, "inner", "outer", "work") >= 0.8, found


def asking() -> None:
    """Callers of system calls are known, without frame pointers."""
    p = profile("asks", LD_PRELOAD=sys.argv[3], profrate=250)
    whole(p)
    at, found = chains(p)
    assert at["?"] >= 0.5 * at.total(), at
    callers = Counter[tuple[str, ...]]()
    for names, n in found.items():  # functions of libraries come first
        callers[tuple(name for name in names if name != "?")] += n
    assert begins(callers, "asks", "caller", "work") >= 0.5, found
    ends = sum(n for chain, n in found.items() if chain[-2:] == ("work", "?"))
    assert ends >= 0.8 * found.total(), found


def chain(p: Profile, node: int) -> list[str]:
    """Functions of the program on the way to a node, the innermost first."""
    found = []
    while p.nodes[node].kind == "frame":
        name = function_at(p, p.nodes[node].fn - 1)
        found += [name] if name != "?" else []
        node = p.nodes[node].parent
    return found


def each_wait() -> None:
    """On one CPU without ticks each wait is known: for what, how often, where."""
    p = profile("each", profwaits=1, profwaitns=1, cpus=1, preempt=0, profrate=0)
    assert p.counts["lost_waits"] == 0
    found: Counter[tuple[str, ...]] = Counter()
    for w in p.waits:
        found[w.kind, w.reason, *chain(p, w.node)[:2]] += w.times
    assert found["waited", "rdlock", "looks_up", "waits"] == 3, found
    # A writer that unlocks lets all readers go.
    assert found["released", "rdlock", "each", "main"] == 3, found
    # The CPU watches the descriptor, or sleeps in the call.
    assert sum(found["waited", why, "reads", "waits"] for why in ("io", "call")) == 1, found
    assert found["waited", "call", "blocks_silently", "waits"] == 1, found
    assert sum(w.times for w in p.waits if w.reason == "yield") == 3, found
    objects = {w.object for w in p.waits if w.reason == "rdlock"}
    assert len(objects - {0}) == 1, objects
    assert all(w.object == 0 for w in p.waits if w.reason in ("io", "call", "yield", "join"))


def many_waits() -> None:
    """Of short waits some stand for all."""
    rounds = 100000
    p = profile("many", profwaits=1, cpus=1, preempt=0, profrate=0)
    assert p.meta["waits"] == "100000"
    times = sum(w.times for w in p.waits if w.reason == "sem")
    assert near(times, 2 * rounds, 0.25), (times, p.waits)


def unwound() -> None:
    """Without the option samples are of the threads' roots."""
    p = profile("", LD_PRELOAD=sys.argv[3], profrate=250, profframes=0)
    whole(p)
    assert {n.kind for n in p.nodes.values()} == {"root"}, p.nodes
    found = sum(n for _, node, _, n in p.samples if p.threads[node][1] == "user")
    assert near(found, 150, 0.3), p.samples


def pauses() -> None:
    """Nothing is counted in a pause; calls that were active are forgotten after it."""
    with tempfile.TemporaryDirectory() as folder:
        assert run("pauses", f"{folder}/p").split() == ["0", "0"]
        p = read(f"{folder}/p")
    assert p.calls()["leaf"] == 15, p.calls()
    assert p.arcs()["pauses", "leaf"] == 10, p.arcs()
    assert p.arcs()["main", "leaf"] == 5, p.arcs()


def writes() -> None:
    """A profile in the middle of the run, and one at its end."""
    with tempfile.TemporaryDirectory() as folder:
        out = run("writes", f"{folder}/p", SECOND=f"{folder}/q")
        assert out.split() == ["0", "-2"], out
        assert read(f"{folder}/q").calls()["leaf"] == 1
        assert read(f"{folder}/p").calls()["leaf"] == 2


def forks() -> None:
    """A child has a profile of its own, or none."""
    with tempfile.TemporaryDirectory() as folder:
        run("forks", f"{folder}/p")
        assert [f.name for f in Path(folder).iterdir()] == ["p"]
        assert read(f"{folder}/p").calls()["leaf"] == 2
        run("forks", f"{folder}/%p")
        counts = sorted(read(f).calls()["leaf"] for f in Path(folder).iterdir() if f.name != "p")
        assert counts == [2, 1 + 2 * LEAVES], counts


def execs() -> None:
    """The program that a process becomes writes the profile."""
    p = profile("execs", profrate=1000, profclock="wall")
    assert p.calls()["fib"] == 3193, p.calls()
    assert p.calls()["leaf"] == 0, p.calls()


def leaves_first() -> None:
    """The profile is written when the last thread has ended."""
    p = profile("leaves_first")
    assert p.calls()["leaf"] == 1, p.calls()


def claimed() -> None:
    """Two processes do not write one file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "p"
        with file.open("w") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            out = run("recursion", file)
            assert "another process writes its profile there" in out, out
            assert file.read_text() == ""


def off() -> None:
    """Without the option nothing is written, and pirn_prof says so."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PIRN_PROF")}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [PROGRAM, "pauses"], env=env, capture_output=True, text=True, cwd=folder
        )
        assert done.stdout.split() == ["-2", "-2"], done.stdout
        assert list(Path(folder).iterdir()) == []


def refused() -> None:
    """Bad options: a message with the value and the valid values, status 2."""
    bad = {
        "profrate": ("fast", "0 to 100000"),
        "profclock": ("sun", "cpu or wall"),
        "profwaits": ("2", "0 or 1"),
        "profwaitns": ("0", "1 to 1000000000"),
        "profframes": ("2", "0 or 1"),
        "profnodes": ("1", "64 to 64M"),
        "profthreads": ("0", "1 to 1M"),
    }
    with tempfile.TemporaryDirectory() as folder:
        for option, (value, valid) in bad.items():
            out = run("recursion", f"{folder}/p", status=2, **{option: value})
            assert value in out, out
            assert valid in out, out
        for file, why in (
            (f"{folder}/a/b", "No such file"),
            (folder, "directory"),
            ("%q", "Invalid"),
        ):
            out = run("recursion", file, status=2)
            assert file in out, out
            assert why in out, out


if __name__ == "__main__":
    tests = {name: fn for name, fn in globals().items() if callable(fn) and fn.__doc__}
    tests[sys.argv[2]]()
