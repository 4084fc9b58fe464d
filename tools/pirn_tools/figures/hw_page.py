# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures hw`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pirn_tools.chip.bare import SCHEDULERS
from pirn_tools.figures import hw_claims, hw_differs, hw_parent, hw_pirn, hw_plots, markdown
from pirn_tools.figures.hw import (
    COST,
    COUNT,
    FEW,
    HARDWARE,
    SLOW,
    THREADS_A_CORE,
    UNIT,
    Case,
    Plan,
    Points,
)
from pirn_tools.figures.hw_claims import FINE, PAPER_BLOCKED, PAPER_MEAN, PAPER_RECRUITS
from pirn_tools.figures.hw_results import (
    PAYS,
    Best,
    best,
    grows,
    pays_until,
    ratio,
    share,
    speedup,
    with_error,
)
from pirn_tools.figures.markdown import joined, picture, table

COUNTS2 = {"rtu_overflows": "traps, RTU full", "recruits": "recruiting threads"}
COUNTS3 = {
    "blocked": "blocked threads",
    "dtb_overflows": "traps, DTB full",
    "recruits": "recruiting threads",
}
NOT_FAIR = (*HARDWARE, "take", "mts", *SLOW)
PAPER_RATIO = 22.76

HEAD = """\
Haddad and Cook propose a scheduler for fine-grained threads in hardware, and compare it with
software on a modified OpenSPARC T1 of 8 cores with 4 hardware threads each. Here the same
workloads run on the chip of `hw/`, which has such a scheduler ([The chip](../internals/chip.md)).
Software schedulers run on the very same chip. No operating system and no Pirn is below them. A
hardware thread is a hart, in RISC-V's word.

One parent creates {threads:,} threads. A thread does a number of work units of {unit} instructions
(constants, arithmetic, a branch; no memory), and about 10 instructions more that count it and
store its time. One of these is an atomic addition in the second level. A thread of one unit waits
{atomic:.0f} cycles for it, of the {mean:.0f} that it takes in all (with {most} hardware threads).
For each thread the parent loads 8 registers. With the hardware scheduler it
executes `spawn`; with a software scheduler it writes a descriptor of 64 bytes and puts it into a
queue, from which workers, one on each hardware thread, take it. The parent's hardware thread runs
threads, too, once all are created: as a worker in software, by `term` in hardware. Each run
checks that each thread has run once. Cycles count from the parent's first instruction to the end
of the last thread.

The hardware keeps ready threads in a queue for each core (RTU), and threads that wait for a line in
one buffer (DTB). If one of these is full, the instruction traps, and a handler moves threads to
memory. A recruiting thread moves them back ([how](../internals/chip.md#hardware-scheduler))."""

SCHEDULERS_TEXT = """\
The paper's baseline (`mts`) has one LIFO under a lock, and workers that poll it without a pause.
The paper's worker is blocked while another one has the lock. Here it spins: it reads the lock's
word of the test-and-set device until that is free
([why](#where-this-chip-differs-from-the-paper)).
The paper runs Qthreads over POSIX threads; what such a runtime does besides is not in `mts`. The
row with {cost:,} cycles of other work adds it: the lock is held that much longer for each thread
that enters or leaves the LIFO. The value is an assumption; the paper gives none. The other
schedulers are what one would write today: locks with back-off, workers that look at the queue
before they lock it, and a deque for each worker. Ticket and MCS locks serve all workers in turn,
also those that find the queue empty. Slow schedulers run {few} threads, and their ratio is to
`hard` with as many. An idle worker waits for an uncached load, and so leaves the pipeline to the
others of its core."""


def harts_of(numbers: Sequence[int]) -> list[str]:
    return [f"{number} harts" for number in numbers]


def cell(found: Points, case: Case) -> str:
    if case not in found:
        return "-"
    return with_error(found.cycles(case) / 1000, found.error(case) / 1000, 1)


def cycles_table(found: Points, cases: Sequence[Case], harts: Sequence[int]) -> str:
    """A row for each unit and workload."""
    rows = []
    for units, workload in dict.fromkeys((case.units, case.workload) for case in cases):
        mine = [case for case in cases if (case.units, case.workload) == (units, workload)]
        cells = [cell(found, case) for case in sorted(mine, key=lambda case: case.harts)]
        rows.append([f"{workload.upper()}, unit {units}", *cells, f"{speedup(found, mine):.1f}"])
    head = ["thousand cycles", *harts_of(harts), "times as fast"]
    return table(head, rows)


# ---- Figure 2


def figure2(found: Points, plan: Plan) -> list[str]:
    cases = plan.figure2()
    rows = []
    for units in FINE:
        mine = [case for case in cases if case.units == units]
        first = (f"{share(found, case, 2):.0%}" for case in mine)
        rows.append([f"unit {units}: threads on cores 0 and 1", *first])
        for name, what in COUNTS2.items():
            counts = (f"{found.mean(case, name):,.1f}" for case in mine)
            rows.append([f"unit {units}: {what}", *counts])
    return [
        "## Figure 2: hardware scheduler, workload A",
        picture(hw_plots.FIGURE2, "Cycles by hardware threads, hardware scheduler"),
        cycles_table(found, cases, plan.harts),
        table(["", *harts_of(plan.harts)], rows),
        hw_claims.text(hw_claims.claims2(found, plan)),
        why_shorter(),
        *hw_parent.section(found, plan),
    ]


def why_shorter() -> str:
    """Threads take less time than the paper's."""
    longest = FINE[-1]
    rate = THREADS_A_CORE * UNIT * longest / PAPER_MEAN[longest]
    return (
        "Threads are likely shorter here because a core ends up to one instruction a cycle. The "
        f"paper's {PAPER_MEAN[longest]:,} cycles for {longest * UNIT} instructions mean {rate:.2f} "
        f"a cycle for a core, if all its {THREADS_A_CORE} hardware threads are busy. Counts of "
        "traps and recruiting threads likely differ for that reason, too: they depend on how many "
        "threads wait while the parent still creates others."
    )


def as_long(found: Points, plan: Plan) -> str:
    """The work unit at which a thread takes about as long as the paper's at 50."""
    mean = found.mean(Case("hard", 100, plan.most), "mean")
    return (
        f"work unit 100, where a thread takes {mean:,.0f} cycles (the paper's at 50: "
        f"{PAPER_MEAN[50]:,})"
    )


# ---- Figure 3


def figure3(found: Points, plan: Plan) -> list[str]:
    cases = plan.figure3()
    rows = []
    for workload, units in (("b", 50), ("d", 100)):
        mine = [case for case in cases if case.workload == workload]
        for name, what in COUNTS3.items():
            numbers = (f"{found.mean(case, name):,.0f}" for case in mine)
            rows.append([f"{workload.upper()}, unit {units}: {what}", *numbers])
    for what, paper in (("blocked threads", PAPER_BLOCKED), ("recruiting threads", PAPER_RECRUITS)):
        numbers = (str(paper.get(n, "-")) for n in plan.harts)
        rows.append([f"B in the paper: {what}", *numbers])
    return [
        "## Figure 3: workloads B and C",
        "In workload B each thread takes the shared line with a conditional load, adds 1, and "
        "gives it back with a conditional store. Workload C does the same with ordinary accesses, "
        "and so loses updates. Both access the line before they work. The paper does not say "
        "whether its threads do so before or after. Workloads D and E are B and C with the "
        "accesses after the work, "
        f"at {as_long(found, plan)}.",
        picture(hw_plots.FIGURE3, "Cycles by hardware threads, workloads B to E"),
        cycles_table(found, cases, plan.harts),
        table(["", *harts_of(plan.harts)], rows),
        hw_claims.text(hw_claims.claims3(found, plan)),
        hw_claims.why3(found, plan),
    ]


# ---- Figures 4 and 5


def figure4(found: Points, plan: Plan) -> list[str]:
    return [
        "## Figure 4: one LIFO in software, fine threads",
        picture(hw_plots.FIGURE4, "Cycles by hardware threads, one LIFO in software"),
        cycles_table(found, plan.figure4(), plan.harts),
        hw_claims.text(hw_claims.claims4(found, plan)),
    ]


def figure5(found: Points, plan: Plan) -> list[str]:
    return [
        "## Figure 5: one LIFO in software, coarse threads",
        picture(hw_plots.FIGURE5, "Cycles by hardware threads, one LIFO, coarse threads"),
        cycles_table(found, plan.figure5(), plan.harts),
        hw_claims.text(hw_claims.claims5(found, plan)),
    ]


# ---- the ratio


def comparison(found: Points, plan: Plan, pirn: hw_pirn.Found) -> list[str]:
    rows: list[tuple[float, list[str]]] = []
    for case in [*(plan.compared(name) for name in SCHEDULERS), plan.modelled()]:
        value, error = ratio(found, case, plan.reference(case))
        name = f"`{case.scheduler}`" + (
            f", {case.cost:,} cycles of other work" if case.cost else ""
        )
        what = SCHEDULERS[case.scheduler]
        note = f" ({case.threads} threads)" if case.threads != COUNT else ""
        rows.append((value, [name, what + note, cell(found, case), with_error(value, error)]))
    for one in hw_pirn.compared(pirn, plan.most):
        value, error = pirn.ratio(one, "hard")
        what = "threads of Pirn" + (", threads create threads" if one.work.tree else "")
        cycles = with_error(pirn.cycles(one) / 1000, pirn.error(one) / 1000, 1)
        note = f" ({hw_pirn.THREADS} threads)"
        row = [f"Pirn, `{one.policy}`", what + note, cycles, with_error(value, error)]
        rows.append((value, row))
    rows.sort(key=lambda row: row[0])
    return [
        f"## Hardware against software, work unit 50, {plan.most} hardware threads",
        SCHEDULERS_TEXT.format(cost=COST, few=FEW),
        table(
            ["scheduler", "", "thousand cycles", "times the cycles of `hard`"],
            [row for _, row in rows],
            left=(0, 1),
        ),
        " ".join([verdict_ratio(found, plan), hw_pirn.compared_verdict(pirn, plan.most)]).strip(),
    ]


def verdict_ratio(found: Points, plan: Plan) -> str:
    baseline, _ = ratio(found, plan.compared("mts"), plan.reference(plan.compared("mts")))
    hard = Case("hard", 100, plan.most)
    longer, _ = ratio(found, replace(hard, scheduler="mts"), hard)
    modelled, _ = ratio(found, plan.modelled(), plan.reference(plan.modelled()))
    fair = min(
        (plan.compared(name) for name in SCHEDULERS if name not in NOT_FAIR),
        key=found.cycles,
    )
    value, error = ratio(found, fair, plan.reference(fair))
    twin = found.cycles(fair) / found.cycles(plan.compared("hard-tree"))
    same = 0.5 < baseline / PAPER_RATIO < 2
    return (
        f"The paper's hardware is {PAPER_RATIO} times as fast as its baseline, ours {baseline:.1f} "
        f"times: the order of magnitude is {'' if same else 'not '}reproduced. With {COST:,} "
        f"cycles of other work it is {modelled:.1f}. At {as_long(found, plan)}, it is "
        f"{longer:.1f}. But this is the cost of polling one lock with {plan.most} workers, not of "
        f"software: `{fair.scheduler}` ({SCHEDULERS[fair.scheduler]}) needs only "
        f"{with_error(value, error)} times the cycles of `hard`, and {twin:.2f} times those of "
        "`hard-tree`, in which threads create threads, too."
    )


def fine(found: Points, plan: Plan) -> list[str]:
    """The finest threads, among them those on hardware queues."""
    names = list(dict.fromkeys(case.scheduler for case in plan.fine()))
    rows = []
    for name in names:
        cases = [Case(name, units, plan.most) for units in FINE]
        rows.append([f"`{name}`", *(cell(found, case) for case in cases)])
    inlined = found.mean(Case("take", FINE[-1], plan.most), "inlined")
    spawner, tree = (against(found, plan, name) for name in ("deque-spawner", "deque-tree"))
    verdict = (
        "So a hardware queue alone helps, but less than many parents do: "
        if all(float(value) < 1 for value in spawner) and all(float(value) > 1 for value in tree)
        else "And "
    )
    return [
        "## Finest threads, and hardware queues with software workers",
        "`take` is the middle way of Carbon (Kumar, Hughes, Nguyen): threads are descriptors in "
        "memory; the parent puts their addresses into the hardware's queue with `spawn`, and a "
        "worker gets the next one with the instruction `take`. If the queue is full, the parent "
        "runs the thread itself. "
        f"Thousand cycles with {plan.most} hardware threads:",
        table(["scheduler", *(f"unit {units}" for units in FINE)], rows),
        f"Cycles of `take`, divided by those of `hard`: {joined(against(found, plan, 'hard'))}. "
        "The difference is the descriptor: the parent stores it and waits until all see it, and "
        "the worker loads it. Divided by those of `deque-spawner`, which has one parent as well: "
        f"{joined(spawner)}. {verdict}divided by those of `deque-tree`, {joined(tree)}. "
        f"{inlined:.0f} threads of unit {FINE[-1]} found the queue full. The paper does not "
        "measure such a scheduler; it expects to be faster than Carbon.",
    ]


def against(found: Points, plan: Plan, name: str) -> list[str]:
    """`take`'s cycles to those of another scheduler, for the finest threads."""
    values = []
    for units in FINE:
        take = Case("take", units, plan.most)
        values.append(f"{found.cycles(take) / found.cycles(replace(take, scheduler=name)):.2f}")
    return values


# ---- the sweep


def crossover(found: Points, plan: Plan) -> list[str]:
    parts = [
        "## Where does hardware stop paying?",
        "No publication that we know has this sweep. A cell is the cycles of the faster of "
        "`deque-spawner` and `deque-tree`, divided by those of the faster of `hard` and "
        "`hard-tree`: above 1 the hardware is faster. One run each, or the mean of those that "
        "another section has of the same case. If threads work longer, a run has fewer of them.",
        picture(hw_plots.SWEEP, "Best software / best hardware, by work units"),
    ]
    for latency in plan.latencies:
        parts += [f"Latency of the second level {latency} cycles:", ratios(found, plan, latency)]
    parts += ["Work units at which the hardware is faster:", paying(found, plan)]
    return [*parts, verdict_sweep(found, plan)]


def ratios(found: Points, plan: Plan, latency: int) -> str:
    at = {(row.units, row.harts): row.ratio for row in best(found, plan, latency)}
    threads = {case.units: case.threads for case in plan.swept()}
    rows = [
        [str(units), str(threads[units]), *(f"{at[units, n]:.2f}" for n in plan.swept_harts)]
        for units in plan.swept_units
    ]
    return table(["work unit", "threads", *harts_of(plan.swept_harts)], rows)


def paying(found: Points, plan: Plan) -> str:
    """Up to which work unit the hardware is faster, at each place of the sweep."""
    rows = []
    for latency in plan.latencies:
        every = best(found, plan, latency)
        at = (pays_until([row for row in every if row.harts == n]) for n in plan.swept_harts)
        rows.append([f"latency {latency}", *(until(*one) for one in at)])
    return table([f"at least {PAYS - 1:.0%} faster", *harts_of(plan.swept_harts)], rows)


def until(last: int | None, following: int | None) -> str:
    if last is None:
        return "nowhere"
    return f"up to {last}, the last" if following is None else f"up to {last}, not at {following}"


def verdict_sweep(found: Points, plan: Plan) -> str:
    every = [row for latency in plan.latencies for row in best(found, plan, latency)]
    finest = max(every, key=lambda row: row.ratio)
    slower = grown(every, "latency", plan.latencies[0], plan.latencies[-1])
    more = grown(every, "harts", plan.swept_harts[0], plan.swept_harts[-1])
    return (
        f"The hardware helps most, {finest.ratio:.1f} times, with work unit {finest.units}, "
        f"{finest.harts} hardware threads and a latency of {finest.latency} cycles. Two effects "
        "add up. The hardware needs fewer cycles to create and start a thread, the more so the "
        f"slower the memory is: {slower}. And the more hardware threads share the work, the larger "
        f"is the share of these cycles: {more}."
    )


def grown(every: Sequence[Best], by: str, low: int, high: int) -> str:
    larger, all_ = grows(every, by, low, high)
    what = "cycles" if by == "latency" else "hardware threads"
    return f"from {low} to {high} {what} the ratio grows in {larger} of {all_} cells"


def head(found: Points, plan: Plan) -> str:
    fine = Case("hard", 1, plan.most)
    atomic = found.mean(fine, "atomic") / fine.threads
    mean = found.mean(fine, "mean")
    return HEAD.format(threads=COUNT, unit=UNIT, atomic=atomic, mean=mean, most=plan.most)


def page(
    found: Points, plan: Plan, facts: Mapping[str, str], costs: str, pirn: hw_pirn.Found
) -> str:
    """costs: a table."""
    parts = [
        markdown.begin("A hardware scheduler for fine-grained threads, here", "hw", "/hw_page.py"),
        head(found, plan),
        markdown.facts(facts),
        hw_differs.section(),
        *figure2(found, plan),
        *figure3(found, plan),
        *figure4(found, plan),
        *figure5(found, plan),
        *comparison(found, plan, pirn),
        *fine(found, plan),
        *crossover(found, plan),
        "## Cost",
        "What the runs of each part cost. A run that two parts need counts in both.",
        costs,
    ]
    return "\n\n".join(parts) + "\n"
