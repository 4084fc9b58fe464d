# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures hw`."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pirn_tools.chip.bare import SCHEDULERS
from pirn_tools.figures import hw_pirn, hw_plots, markdown
from pirn_tools.figures.hw import (
    COST,
    COUNT,
    FEW,
    HARDWARE,
    LATENCY,
    SLOW,
    THREADS_A_CORE,
    UNIT,
    Case,
    Plan,
    Points,
)
from pirn_tools.figures.hw_results import (
    PAYS,
    Best,
    best,
    grows,
    pays_until,
    ratio,
    speedup,
    with_error,
)
from pirn_tools.figures.markdown import joined, picture, table

# Of the paper: cycles of a thread by work unit, and its counts.
PAPER_MEAN = {1: 120, 10: 1000, 50: 4500, 400: 38001, 600: 58859}
PAPER_TRAPS = {1: "-", 10: "7", 50: "13"}
PAPER_BLOCKED = {4: 8, 8: 19, 12: 29, 16: 39, 20: 68, 24: 71, 28: 77, 32: 83}
PAPER_RECRUITS = {28: 1, 32: 1}  # it names no others
COUNTS3 = {
    "blocked": "blocked threads",
    "dtb_overflows": "traps, DTB full",
    "recruits": "recruiting threads",
}
CLOSE = 1.1
NOT_FAIR = (*HARDWARE, "take", "mts", *SLOW)
FINE = (1, 10, 50)
PAPER_RATIO = 22.76
PAPER_FIRST_CORES = 0.768  # of the threads, on two cores

HEAD = """\
Haddad and Cook propose a scheduler for fine-grained threads in hardware, and compare it with
software on a modified OpenSPARC T1 of 8 cores with 4 hardware threads each. Here the same
workloads run on the chip of `hw/`, which has such a scheduler ([The chip](../internals/chip.md)).
Software schedulers run on the very same chip. No operating system and no Pirn is below them. A
hardware thread is a hart, in RISC-V's word.

One parent creates {threads:,} threads. A thread does a number of work units of {unit} instructions
(constants, arithmetic, a branch; no memory), and about 10 instructions more that count it and
store its time. For each thread the parent loads 8 registers. With the hardware scheduler it
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
    cases, rows = plan.figure2(), []
    for case in (case for case in cases if case.harts == plan.most):
        cores = [sum(point.cores[:2]) / case.threads for point in found.of[case]]
        traps = found.mean(case, "rtu_overflows")
        rows.append(
            [
                str(case.units),
                f"{found.mean(case, 'mean'):,.0f}",
                f"{PAPER_MEAN[case.units]:,}",
                f"{sum(cores) / len(cores):.0%}",
                f"{PAPER_FIRST_CORES:.0%}" if case.units == 1 else "even",
                f"{traps:.1f}",
                f"{found.mean(case, 'recruits'):.1f}",
                PAPER_TRAPS[case.units],
                f"{found.mean(case, 'blocked'):.0f}",
            ]
        )
    head = ["work unit", "cycles of a thread, mean", "in the paper", "threads on cores 0 and 1"]
    head += ["in the paper", "traps, RTU full", "recruiting threads"]
    head += ["both, in the paper", "blocked threads"]
    return [
        "## Figure 2: hardware scheduler, workload A",
        picture(hw_plots.FIGURE2, "Cycles by hardware threads, hardware scheduler"),
        cycles_table(found, cases, plan.harts),
        f"With {plan.most} harts (the paper does not say with how many hardware threads it counted "
        "traps and recruiting threads):",
        table(head, rows),
        verdict2(found, plan),
    ]


def verdict2(found: Points, plan: Plan) -> str:
    times = {
        units: speedup(found, [case for case in plan.figure2() if case.units == units])
        for units in FINE
    }
    more = plan.most / plan.harts[0]
    fine = Case("hard", 1, plan.most)
    later = found.cycles(Case("hard", 10, plan.most)) / fine.threads
    tree = Case("hard-tree", 1, plan.most)
    first = statistics.fmean(point.cores[0] / fine.threads for point in found.of[fine])
    of_paper = [
        f"{found.mean(Case('hard', units, plan.most), 'mean') / PAPER_MEAN[units]:.2f}"
        for units in FINE
    ]
    longest = FINE[-1]
    paper_rate = THREADS_A_CORE * UNIT * longest / PAPER_MEAN[longest]
    traps = joined(
        [f"{found.mean(Case('hard', units, plan.harts[0]), 'rtu_overflows'):.0f}" for units in FINE]
    )
    scales = times[1] < times[10] < times[50]
    return (
        f"{'Reproduced' if scales and times[1] < more / 2 else 'Not reproduced'}: threads of one "
        f"unit do not scale, longer ones do, and the more the longer they are "
        f"({', '.join(f'{t:.1f}' for t in times.values())} times as fast on {more:.0f} times the "
        f"hardware threads). The cause is the paper's, too: the parent creates a thread only every "
        f"{spawned(found, plan):.0f} cycles ({later:.0f} with unit 10, when other threads share "
        "its core), and a few hardware threads execute short ones as fast as that. With one unit, "
        f"core 0 alone runs {first:.0%} of the threads. When threads spawn threads (`hard-tree`), "
        f"{plan.most} hardware threads need {found.cycles(tree) / 1000:.1f} thousand cycles in "
        f"place of {found.cycles(fine) / 1000:.1f} thousand.\n\nNot reproduced: cycles of a "
        f"thread, which are {joined(of_paper)} of the paper's. A core issues an instruction a "
        f"cycle here; the paper's {PAPER_MEAN[longest]:,} cycles for {longest * UNIT} instructions "
        f"mean {paper_rate:.2f} a cycle for a core, if all its {THREADS_A_CORE} hardware threads "
        "are busy. So traps and recruiting threads differ: they depend on how many threads wait "
        f"while the parent still spawns. With {plan.harts[0]} hardware threads, units 1, 10 and "
        f"50 have {traps} traps of the RTU."
    )


def spawned(found: Points, plan: Plan) -> float:
    """Cycles from a thread that the parent creates to the next, if it does nothing else."""
    fine = Case("hard", 1, plan.most)
    return found.cycles(fine) / fine.threads


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
        verdict3(found, plan),
    ]


def closeness(found: Points, plan: Plan, one: str, other: str, units: int) -> list[float]:
    """Cycles of a workload divided by those of the other, by hardware threads."""
    return [
        found.cycles(Case("hard", units, harts, one))
        / found.cycles(Case("hard", units, harts, other))
        for harts in plan.harts
    ]


def near(plan: Plan, ratios: Sequence[float]) -> str:
    """With which numbers of hardware threads two workloads are close."""
    which = [str(n) for n, value in zip(plan.harts, ratios, strict=True) if value < CLOSE]
    if not which:
        return "with no number of hardware threads"
    return f"with {joined(which)} hardware threads"


def commas(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def verdict3(found: Points, plan: Plan) -> str:
    before = closeness(found, plan, "b", "c", 50)
    after = closeness(found, plan, "d", "e", 100)
    roomy = [
        value
        for harts, value in zip(plan.harts, after, strict=True)
        if found.mean(Case("hard", 100, harts, "d"), "dtb_overflows") == 0
    ]
    text = (
        "The paper finds B close to C, and less so from 24 to 32 hardware threads, where a "
        f"recruiting thread is called. Here B is close to C {near(plan, before)}, and D to E "
        f"{near(plan, after)}: B takes {commas(before)} times the cycles of C, D {commas(after)} "
        "times those of E."
    )
    if roomy and max(roomy) < CLOSE < max(before):
        text += (
            " So the closeness is reproduced if the accesses come after the work, as long as the "
            "DTB has room."
        )
    shares = [
        found.mean(case, "blocked") / case.threads
        for case in plan.figure3()
        if case.workload == "b"
    ]
    return text + (
        "\n\nNot reproduced: that few threads block. The line is held for longer here. A "
        f"conditional access goes to the second level, which answers after {LATENCY} cycles, and "
        "back. The line passes from one thread to the next by two such accesses and the move of a "
        f"context: more than {2 * LATENCY} cycles. The parent can spawn a thread every "
        f"{spawned(found, plan):.0f}. A thread that blocks frees its hardware thread for the next "
        f"one, which blocks, too: in workload B at least {min(shares):.0%} of the threads, in the "
        f"paper at most {max(PAPER_BLOCKED.values()) / COUNT:.1%}. When the DTB is full, threads "
        "go to memory by traps and come back by recruiting threads, only to find it full again; "
        "the traps share a lock, and woken threads wait behind all that for a hardware thread. "
        "The paper's counts fit a line that is held so briefly that no queue builds up. So "
        "blocking in hardware is cheap only as long as the DTB has room."
    )


# ---- Figures 4 and 5


def figure4(found: Points, plan: Plan) -> list[str]:
    cases = plan.figure4()
    every = [speedup(found, [case for case in cases if case.units == units]) for units in FINE]
    flat = max(every) < 1
    return [
        "## Figure 4: one LIFO in software, fine threads",
        picture(hw_plots.FIGURE4, "Cycles by hardware threads, one LIFO in software"),
        cycles_table(found, cases, plan.harts),
        f"{'Reproduced' if flat else 'Not reproduced'}: with work units 1, 10 and 50 more hardware "
        f"threads do not help. {'Here they harm: ' if flat else ''}{plan.most} of them are "
        f"{', '.join(f'{e:.2f}' for e in every)} times as fast as {plan.harts[0]}. Each worker "
        "polls the lock, and the parent has to win it from all of them for each thread.",
    ]


def figure5(found: Points, plan: Plan) -> list[str]:
    cases = plan.figure5()
    parts = []
    for units in (400, 600):
        mine = [case for case in cases if case.units == units]
        fastest = min(mine, key=found.cycles)
        thread = found.mean(Case("mts", units, plan.harts[0]), "mean")
        parts.append(
            f"unit {units}: fastest with {fastest.harts} hardware threads, "
            f"{found.cycles(mine[0]) / found.cycles(fastest):.1f} times as fast as with "
            f"{plan.harts[0]}; a thread takes {thread:,.0f} cycles on {plan.harts[0]}, in the "
            f"paper {PAPER_MEAN[units]:,} (on an unstated number)"
        )
    gains = all(
        min(map(found.cycles, (c for c in cases if c.units == units)))
        < found.cycles(Case("mts", units, plan.harts[0])) / 1.5
        for units in (400, 600)
    )
    return [
        "## Figure 5: one LIFO in software, coarse threads",
        picture(hw_plots.FIGURE5, "Cycles by hardware threads, one LIFO, coarse threads"),
        cycles_table(found, cases, plan.harts),
        f"{'Reproduced' if gains else 'Not reproduced'}: software scales when threads have "
        f"thousands of instructions, up to the point at which the lock takes all the time. "
        f"{'; '.join(parts).capitalize()}. In the paper unit 400 scales weakly beyond 20 hardware "
        "threads.",
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


def page(
    found: Points, plan: Plan, facts: Mapping[str, str], costs: str, pirn: hw_pirn.Found
) -> str:
    """costs: a table."""
    parts = [
        markdown.begin("A hardware scheduler for fine-grained threads, here", "hw", "/hw_page.py"),
        HEAD.format(threads=COUNT, unit=UNIT),
        markdown.facts(facts),
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
