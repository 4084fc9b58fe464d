# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures scaling`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pirn_tools.figures import markdown
from pirn_tools.figures.scaling_model import (
    COARSE,
    CPUS,
    FINE,
    POLICIES,
    WORKLOADS,
    Case,
    Point,
    Points,
)

HALF, WORSE = 0.5, 0.9
MEASURED = POLICIES[0]

HEAD = """\
How much work a program gets done with more CPUs, up to 256, in the simulator as a
[model of performance](../internals/model.md): the runtime's own code and policies on a machine that
does not exist, 32 nodes with 8 cores each. The model knows where cache lines are and what moving
them costs, system calls and fences, but no instructions in between. So it shows what CPUs pay for
each other, not how fast a program is. The work grows with the CPUs. Each run comes after a first
one that is not measured, so that stacks are there. `make scaling-doc` makes the page again."""

WORDS = {
    "fib": """\
Each call of a recursive Fibonacci function creates a thread for one half and calls the other
itself. An operation is a thread.""",
    "create": """\
Two threads for each CPU create 16 threads, join them, and so on. An operation is a thread.""",
    "wake": """\
Pairs of threads, one pair for each CPU, wake each other in turn by two semaphores. An operation is
a wake-up.""",
    "yield": """\
Four threads for each CPU work and yield. An operation is a yield.""",
    "barrier": """\
Two threads for each CPU work, and wait for all others at a barrier. An operation is a thread's
arrival.""",
    "mutex": """\
Two threads for each CPU do half of their work with a mutex, which all of them want. An operation is
a lock. More than two CPUs cannot help: the best is a rate that stays.""",
}

TERMS = """\
*Efficiency*: the rate, divided by the CPUs and by the rate on one CPU under the same policy. *Bends
at*: the first number of CPUs with less than half. *Work*: what a thread computes in an operation.
Empty cells were not run, because they take the model long."""


def curve(points: Points, workload: str, policy: str, work: int) -> dict[int, Point]:
    found = {
        case.cpus: point
        for case, point in points.items()
        if (case.workload, case.policy, case.work) == (workload, policy, work)
    }
    return dict(sorted(found.items()))


def efficiency(found: Mapping[int, Point], cpus: int) -> float:
    return found[cpus].rate / (found[min(found)].rate / min(found) * cpus)


def bend(found: Mapping[int, Point]) -> str:
    """In a table."""
    low = [n for n in found if efficiency(found, n) < HALF]
    return str(low[0]) if low else f"not up to {max(found)}"


def ways(points: Points, workload: str) -> list[tuple[str, int, dict[int, Point]]]:
    each = [(policy, work) for policy in POLICIES for work in (FINE, COARSE)]
    found = [(policy, work, curve(points, workload, policy, work)) for policy, work in each]
    return [one for one in found if one[2]]


def rates(points: Points, workload: str) -> str:
    known = sorted({n for _, _, found in ways(points, workload) for n in found})
    rows = []
    for policy, work, found in ways(points, workload):
        cells = [
            f"{found[n].rate:.3g} ({100 * efficiency(found, n):.0f} %)" if n in found else ""
            for n in known
        ]
        rows.append([f"`{policy}`", f"{work // 1000} µs", *cells, bend(found)])
    return markdown.table(["policy", "work", *map(str, known), "bends at"], rows, left=(0,))


def reasons(points: Points) -> str:
    """Where the time of the first policy goes on the largest machine of each workload."""
    rows = []
    for workload in WORKLOADS:
        for work in (FINE, COARSE):
            found = curve(points, workload, MEASURED, work)
            point = found[max(found)]
            lines = [f"{name} {100 * share:.0f} %" for name, share in point.lines()[:3]]
            rows.append(
                [
                    workload,
                    f"{work // 1000} µs",
                    str(point.case.cpus),
                    f"{100 * point.share('idle'):.0f} %",
                    f"{100 * point.share('memory'):.0f} %",
                    "; ".join(lines),
                ]
            )
    head = ["workload", "work", "CPUs", "idle", "runtime's memory", "of that, by what lies there"]
    return markdown.table(head, rows, left=(0, 5))


def changes(points: Points, before: Mapping[Case, float]) -> str:
    """Rates under the first policy, and what they were."""
    rows = []
    worse = []
    for workload in WORKLOADS:
        for work in (FINE, COARSE):
            found = curve(points, workload, MEASURED, work)
            for n in (n for n in found if n >= CPUS[-1] // 8):
                old = before.get(Case(workload, MEASURED, n, work))
                if old is not None:
                    new = found[n].rate
                    change = f"{100 * (new / old - 1):+.0f} %"
                    cells = [str(n), f"{old:.3g}", f"{new:.3g}", change]
                    rows.append([workload, f"{work // 1000} µs", *cells])
                    if new < WORSE * old:
                        worse.append(f"{workload} with {work // 1000} µs on {n} CPUs")
    table = markdown.table(["workload", "work", "CPUs", "before", "now", "change"], rows)
    if not worse:
        return table
    return f"{table}\n\nWorse by more than 10 %: {markdown.joined(worse)}. {SPREAD}"


REASONS = f"""\
Under `{MEASURED}`, on the largest machine of each workload. *Idle*: CPUs that search or sleep, of
the time of all CPUs. *Runtime's memory*: accesses of the runtime's atomics. The rest is work,
switches, system calls and waiting for locks."""

CHANGED = f"""\
## What was changed

The first runs, of the commit that brought the program (`scaling-before.csv`), showed what costs
more with each CPU. Rates under `{MEASURED}` before and after it was changed:

- *Stacks.* The runtime kept 4096 stacks in all, so each of 64 CPUs kept 32, and each of 256 kept 8:
  nearly each thread went through the common pool and its lock. Now each CPU counts for 256 at
  least. Stacks of another node go back to it 32 at a time, under one lock. A new stack takes
  neither that lock, to look for its size, nor a number from a common counter.
- *Looks of thieves.* A CPU without work looked at the queues of all others. The owner of each pays
  for that look at its next change. Now a look covers the 16 nearest CPUs and 16 of the others, each
  time the next ones.
- *Lone threads.* A thief stopped its look at the first CPU with a ready thread. A thread that is
  alone there is taken only if it stays for some looks, so the thief waited, although other CPUs had
  several. Now the look goes on, and a longer queue comes first.
- *Waking.* While one CPU searched for work, no other was woken, so CPUs came one after the other.
  Now a CPU that has found a thread, and leaves others behind, may wake another one, up to one for
  each 16 CPUs."""


SPREAD = "A run differs from seed to seed by some 10 %, one with a mutex by up to 30 %."


def page(points: Points, before: Mapping[Case, float], facts: Mapping[str, str]) -> str:
    parts = [
        markdown.begin("More CPUs, modelled", "scaling", "/scaling_page.py"),
        HEAD,
        markdown.facts(facts),
        "## Rates\n\nOperations in a microsecond, over all CPUs; in parentheses the efficiency.",
        TERMS,
    ]
    for workload in WORKLOADS:
        picture = markdown.picture(f"scaling-{workload}.png", f"Rate by CPUs: {workload}")
        parts += [f"### {workload}", WORDS[workload], rates(points, workload), picture]
    parts += [
        "## Where the time goes",
        REASONS,
        reasons(points),
        *verdicts(points),
    ]
    if before:
        parts += [CHANGED, changes(points, before)]
    return "\n\n".join(parts) + "\n"


def verdicts(points: Points) -> Sequence[str]:
    """In words: which policy is best on the largest machine that all of them ran on."""
    said = []
    for workload in WORKLOADS:
        each = [(policy, found) for policy, work, found in ways(points, workload) if work == COARSE]
        common = min(max(found) for _, found in each)
        order = sorted(each, key=lambda one: -one[1][common].rate)
        best, worst = order[0], order[-1]
        said.append(
            f"- {workload}, {common} CPUs: `{best[0]}` is first with {best[1][common].rate:.3g} "
            f"operations in a microsecond, `{worst[0]}` last with {worst[1][common].rate:.3g}."
        )
    return ["With 10 µs of work:", "\n".join(said)]
