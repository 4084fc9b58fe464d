# SPDX-License-Identifier: MIT
"""What the paper says of its Figures 2 to 5, each statement with a verdict from the runs here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pirn_tools.figures.hw import COUNT, LATENCY, ROOMY, THREADS_A_CORE, Case, Plan, Points
from pirn_tools.figures.hw_parent import Parent
from pirn_tools.figures.hw_results import CLOSE, ratio, share, speedup, with_error
from pirn_tools.figures.markdown import joined

REPRODUCED, PARTLY = "reproduced", "reproduced in part"
NOT, OPEN = "not reproduced", "not measured"

# Of the paper: cycles of a thread by work unit, and its counts.
PAPER_MEAN = {1: 120, 10: 1000, 50: 4500, 400: 38001, 600: 58859}
PAPER_TRAPS = {10: 7, 50: 13}  # and as many recruiting threads
PAPER_BLOCKED = {4: 8, 8: 19, 12: 29, 16: 39, 20: 68, 24: 71, 28: 77, 32: 83}
PAPER_RECRUITS = {28: 1, 32: 1}  # it names no others
PAPER_FIRST_CORES = 0.768  # of the threads, on two cores

FINE = (1, 10, 50)
GAIN = 1.2  # the least speed-up that counts as one
NEAR = 0.25  # of the paper's number
TWO_CORES = 2 * THREADS_A_CORE
SOME = 0.01  # of the threads


@dataclass(frozen=True)
class Claim:
    paper: str
    verdict: str
    here: str


def judged(paper: str, here: str, *holds: bool) -> Claim:
    """The paper's statement has parts, of which each holds here or not."""
    return Claim(paper, REPRODUCED if all(holds) else PARTLY if any(holds) else NOT, here)


def text(claims: Sequence[Claim]) -> str:
    lines = (f"- {one.paper} **{one.verdict.capitalize()}.** {one.here}" for one in claims)
    return "\n".join(["What the paper says, and whether it is so here:", "", *lines])


def numbers(values: Sequence[float], digits: int = 2) -> str:
    return joined([f"{value:,.{digits}f}" for value in values])


def shares(values: Sequence[float]) -> str:
    return joined([f"{value:.0%}" for value in values])


def harts(which: Sequence[int]) -> str:
    return f"with {joined([str(n) for n in which])} hardware threads" if which else "nowhere"


def close(value: float, paper: float) -> bool:
    return abs(value / paper - 1) < NEAR


def faster(found: Points, slow: Case, fast: Case) -> float:
    """How many times as fast the second case is."""
    return found.cycles(slow) / found.cycles(fast)


def means(found: Points, cases: Sequence[Case]) -> Claim:
    """Of a thread. The paper does not say with how many hardware threads."""
    paper = [PAPER_MEAN[case.units] for case in cases]
    ours = [found.mean(case, "mean") for case in cases]
    units = joined([str(case.units) for case in cases])
    return judged(
        f"A thread of unit {units} takes {joined([f'{n:,}' for n in paper])} cycles.",
        f"{numbers(ours, 0)} with {cases[0].harts} hardware threads: "
        f"{numbers([a / b for a, b in zip(ours, paper, strict=True)])} of that.",
        *(close(a, b) for a, b in zip(ours, paper, strict=True)),
    )


# ---- Figure 2


def claims2(found: Points, plan: Plan) -> list[Claim]:
    times = {
        units: speedup(found, [case for case in plan.figure2() if case.units == units])
        for units in FINE
    }
    most = [Case("hard", units, plan.most) for units in FINE]
    span = f"from {plan.harts[0]} to {plan.most} hardware threads"
    blocked = sum(found.mean(case, "blocked") for case in plan.figure2())
    full = sum(found.mean(case, "dtb_overflows") for case in plan.figure2())
    return [
        beyond_two_cores(found, plan),
        second_core(found, plan),
        first_cores(found, plan),
        one_parent(found, plan),
        loads_of_parent(found, plan),
        judged(
            "Unit 10 scales much better than unit 1.",
            f"{times[10]:.1f} and {times[1]:.1f} times as fast {span}.",
            times[10] > GAIN * times[1],
        ),
        spread_evenly(found, plan),
        judged(
            "Unit 50 scales, and better than unit 10.",
            f"{times[50]:.1f} and {times[10]:.1f} times as fast {span}.",
            times[50] > max(GAIN, times[10]),
        ),
        means(found, most),
        more_traps(found, plan),
        as_many_recruits(found, plan),
        cost_of_traps(found, most[1:]),
        judged(
            "No thread blocks, and the DTB is never full.",
            f"{blocked:,.0f} threads blocked, and {full:,.0f} traps of the DTB, in all runs.",
            blocked == 0,
            full == 0,
        ),
    ]


def no_more(plan: Plan, paper: str) -> Claim:
    return Claim(paper, OPEN, f"No run has more than {plan.most} hardware threads.")


def beyond_two_cores(found: Points, plan: Plan) -> Claim:
    paper = f"Unit 1 does not scale beyond {TWO_CORES} hardware threads."
    if plan.most <= TWO_CORES:
        return no_more(plan, paper)
    gain = faster(found, Case("hard", 1, TWO_CORES), Case("hard", 1, plan.most))
    here = f"{plan.most} are {gain:.2f} times as fast as {TWO_CORES}."
    return judged(paper, here, gain < CLOSE)


def second_core(found: Points, plan: Plan) -> Claim:
    pairs = [(Case("hard", u, THREADS_A_CORE), Case("hard", u, TWO_CORES)) for u in FINE]
    gains = [faster(found, one, two) for one, two in pairs]
    alone = [u for u, (_, two) in zip(FINE, pairs, strict=True) if share(found, two, 1) > 0.9]
    here = f"{TWO_CORES} are {numbers(gains)} times as fast as {THREADS_A_CORE}."
    if alone:
        here += (
            f" With {TWO_CORES} hardware threads core 0 alone runs "
            f"{shares([share(found, Case('hard', u, TWO_CORES), 1) for u in alone])} of the "
            f"threads of unit {joined([str(u) for u in alone])}."
        )
    return judged(
        f"Units 1, 10 and 50 all scale from {THREADS_A_CORE} to {TWO_CORES} hardware threads.",
        here,
        *(gain >= GAIN for gain in gains),
    )


def first_cores(found: Points, plan: Plan) -> Claim:
    paper = (
        "With unit 1 most threads run on cores 0 and 1: "
        f"{PAPER_FIRST_CORES * COUNT:.0f} of {COUNT:,}."
    )
    if plan.most <= TWO_CORES:
        return no_more(plan, paper)
    cases = [Case("hard", 1, plan.most, latency=latency) for latency in plan.latencies]
    mine = share(found, Case("hard", 1, plan.most), 2)
    here = (
        f"With latencies of {joined([str(n) for n in plan.latencies])} cycles these cores run "
        f"{shares([share(found, case, 2) for case in cases])} of them, core 0 alone "
        f"{shares([share(found, case, 1) for case in cases])}."
    )
    return judged(paper, here, mine > 0.5, close(mine, PAPER_FIRST_CORES))


def one_parent(found: Points, plan: Plan) -> Claim:
    one, many = Case("hard", 1, plan.most), Case("hard-tree", 1, plan.most)
    return judged(
        "Unit 1 does not scale because the parent creates threads too slowly.",
        f"It creates one every {found.cycles(one) / one.threads:.0f} cycles. If threads create "
        f"threads (`hard-tree`), {plan.most} hardware threads need "
        f"{found.cycles(many) / 1000:.1f} thousand cycles in place of "
        f"{found.cycles(one) / 1000:.1f} thousand.",
        faster(found, one, many) >= GAIN,
    )


def loads_of_parent(found: Points, plan: Plan) -> Claim:
    mine = Parent.of(found, plan, LATENCY, THREADS_A_CORE)
    each = [Parent.of(found, plan, latency, THREADS_A_CORE).cycles for latency in plan.latencies]
    return judged(
        "The parent is slow because its loads wait long for memory.",
        f"Of the {mine.cycles:.1f} cycles from a thread to the next its loads wait "
        f"{mine.load:.1f}{', for they hit the cache' if mine.load < 1 else ''}. With "
        f"latencies of {joined([str(n) for n in plan.latencies])} cycles it needs "
        f"{numbers(each, 1)} cycles for a thread. [Below](#what-slows-the-parent-down) is what "
        "slows it down here.",
        mine.load > mine.cycles / 2,
    )


def spread_evenly(found: Points, plan: Plan) -> Claim:
    paper = "It does because the cores get almost the same number of threads of unit 10."
    if plan.most <= TWO_CORES:
        return no_more(plan, paper)
    case, even = Case("hard", 10, plan.most), TWO_CORES / plan.most
    first, gain = share(found, case, 2), faster(found, Case("hard", 10, TWO_CORES), case)
    here = f"Cores 0 and 1 run {first:.0%} of them; {even:.0%} would be even. {plan.most} hardware "
    here += f"threads are {gain:.2f} times as fast as {TWO_CORES}. With unit 50 these cores run "
    here += f"{share(found, Case('hard', 50, plan.most), 2):.0%}."
    many = Case("hard-tree", 10, plan.most)
    if faster(found, case, many) >= GAIN:
        here += (
            f" One parent is too slow for unit 10, too: `hard-tree` needs "
            f"{found.cycles(many) / 1000:.1f} thousand cycles in place of "
            f"{found.cycles(case) / 1000:.1f} thousand."
        )
    return judged(paper, here, first < 1.5 * even)


def trap_counts(found: Points, plan: Plan, units: int) -> list[float]:
    return [found.mean(Case("hard", units, n), "rtu_overflows") for n in plan.harts]


def more_traps(found: Points, plan: Plan) -> Claim:
    counts = list(zip(*(trap_counts(found, plan, u) for u in FINE), strict=True))
    grow = [c[0] <= c[1] < c[2] for c in counts]
    which = [n for n, more in zip(plan.harts, grow, strict=True) if more]
    none = [n for n, c in zip(plan.harts, counts, strict=True) if not any(c)]
    papers = joined([f"{count} times" for count in PAPER_TRAPS.values()])
    here = f"So it is {harts(which)}."
    if none:
        here += f" There is no trap at all {harts(none)}."
    return judged(
        f"The more units, the more often the RTU is full: {papers} with units 10 and 50 (it does "
        "not say with how many hardware threads).",
        here,
        *grow,
    )


def as_many_recruits(found: Points, plan: Plan) -> Claim:
    paper = "A recruiting thread is called as often as the trap of the RTU."
    cases = [case for case in plan.figure2() if found.mean(case, "rtu_overflows") > 0]
    if not cases:
        return Claim(paper, OPEN, "There is no trap.")
    each = [found.mean(case, "recruits") / found.mean(case, "rtu_overflows") for case in cases]
    return judged(
        paper,
        f"{min(each):.2f} to {max(each):.2f} times as often. A trap here moves half of the queue "
        "to memory, and a recruiting thread fills its queue if memory has as many.",
        *(abs(one - 1) < 0.1 for one in each),
    )


def cost_of_traps(found: Points, most: Sequence[Case]) -> Claim:
    paper = "Units 10 and 50 scale less because of these traps and recruiting threads."
    traps = [found.mean(case, "rtu_overflows") for case in most]
    if any(traps):
        return Claim(paper, OPEN, "No runs differ only in the size of the queues.")
    return Claim(paper, NOT, f"With {most[0].harts} hardware threads there are none.")


# ---- Figure 3


Ratios = dict[int, tuple[float, float]]


def closeness(found: Points, plan: Plan, one: str, other: str, units: int) -> Ratios:
    """By hardware threads: cycles of a workload divided by those of the other, and half of the
    confidence interval."""
    return {
        n: ratio(found, Case("hard", units, n, one), Case("hard", units, n, other))
        for n in plan.harts
    }


def listed(ratios: Ratios) -> str:
    return joined([with_error(value, error) for value, error in ratios.values()])


def near(ratios: Ratios) -> list[int]:
    return [n for n, (value, _) in ratios.items() if value < CLOSE]


def unsure(ratios: Ratios) -> list[int]:
    return [n for n, (value, error) in ratios.items() if abs(value - CLOSE) < error]


def claims3(found: Points, plan: Plan) -> list[Claim]:
    before = closeness(found, plan, "b", "c", 50)
    after = closeness(found, plan, "d", "e", 100)
    return [
        scales_though_blocked(found, plan),
        b_is_close_to_c(before, after),
        weaker_at_the_end(found, plan, before),
        few_block(found, plan),
        few_recruits(found, plan),
        blocking_is_cheap(found, plan, before, after),
    ]


def workload(plan: Plan, name: str) -> list[Case]:
    return [case for case in plan.figure3() if case.workload == name]


def scales_though_blocked(found: Points, plan: Plan) -> Claim:
    """More hardware threads never cost much, and in the end help at least half as much as they
    are more."""

    def scales(cases: Sequence[Case]) -> bool:
        steady = all(found.cycles(b) < CLOSE * found.cycles(a) for a, b in pairwise(cases))
        return steady and speedup(found, cases) > plan.most / plan.harts[0] / 2

    b, c, d, e = (workload(plan, name) for name in "bcde")
    return judged(
        "B scales, although threads block.",
        f"From {plan.harts[0]} to {plan.most} hardware threads B is {speedup(found, b):.1f} times "
        f"as fast, C {speedup(found, c):.1f} times; D {speedup(found, d):.1f} times, E "
        f"{speedup(found, e):.1f} times.",
        scales(b),
        scales(d),
    )


def b_is_close_to_c(before: Ratios, after: Ratios) -> Claim:
    here = (
        f"B takes {listed(before)} times the cycles of C, and D {listed(after)} times those of E. "
        f"Less than {CLOSE} is close: B to C {harts(near(before))}, D to E {harts(near(after))}."
    )
    doubtful = [
        f"of {pair} {harts(unsure(ratios))}"
        for pair, ratios in (("B to C", before), ("D to E", after))
        if unsure(ratios)
    ]
    if doubtful:
        here += f" The interval leaves open which it is {joined(doubtful)}."
    return judged(
        "B takes about as long as C.",
        here,
        *(value < CLOSE for ratios in (before, after) for value, _ in ratios.values()),
    )


def weaker_at_the_end(found: Points, plan: Plan, ratios: Ratios) -> Claim:
    paper = "B is less close to C from 24 to 32 hardware threads, where a recruiting thread comes."
    early = [value for n, (value, _) in ratios.items() if n < 24]
    late = [value for n, (value, _) in ratios.items() if n >= 24]
    if not late or not early:
        return no_more(plan, paper)
    sooner = [c for c in workload(plan, "b") if c.harts < 24 and found.mean(c, "recruits") > 0]
    here = (
        f"B takes up to {max(early):.2f} times the cycles of C with fewer than 24, and up to "
        f"{max(late):.2f} times with 24 and more."
    )
    if sooner:
        here += f" Recruiting threads come {harts([case.harts for case in sooner])}, too."
    return judged(paper, here, min(late) > max(early), not sooner)


def span(values: Sequence[float]) -> str:
    low, high = (f"{value:,.0f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def few_block(found: Points, plan: Plan) -> Claim:
    counts = {name: [found.mean(c, "blocked") for c in workload(plan, name)] for name in "bd"}
    paper = [PAPER_BLOCKED[n] for n in plan.harts]
    return judged(
        f"{span(paper)} of {COUNT:,} threads block, the more the more hardware threads there are.",
        f"In B {span(counts['b'])} do, in D {span(counts['d'])}.",
        *(all(close(a, b) for a, b in zip(each, paper, strict=True)) for each in counts.values()),
    )


def few_recruits(found: Points, plan: Plan) -> Claim:
    counts = {name: [found.mean(c, "recruits") for c in workload(plan, name)] for name in "bd"}
    paper = [PAPER_RECRUITS.get(n, 0) for n in plan.harts]
    return judged(
        "One recruiting thread comes, with 28 and with 32 hardware threads.",
        f"In B {span(counts['b'])} come, in D {span(counts['d'])}.",
        *(all(abs(a - b) < 1 for a, b in zip(e, paper, strict=True)) for e in counts.values()),
    )


def blocking_is_cheap(found: Points, plan: Plan, before: Ratios, after: Ratios) -> Claim:
    paper = "Threads that block cost little, because the hardware moves them fast."
    roomy: list[float] = []
    full: list[float] = []
    for name, ratios in (("b", before), ("d", after)):
        for case in workload(plan, name):
            if found.mean(case, "blocked") >= SOME * case.threads:
                room = found.mean(case, "dtb_overflows") == 0
                (roomy if room else full).append(ratios[case.harts][0])
    if not roomy and not full:
        return Claim(paper, OPEN, "No threads block.")
    said = []
    if roomy:
        said.append(
            f"As long as the DTB has room, they cost up to {max(roomy):.2f} times the cycles"
        )
    if full:
        said.append(f"when it is full, up to {max(full):.2f} times")
    holds = [max(each) < CLOSE for each in (roomy, full) if each]
    return judged(paper, f"{'; '.join(said)}.", *holds)


def passing(found: Points, plan: Plan) -> float:
    """Cycles from a thread that has the line to the next."""
    few, many = plan.passes()
    return (found.cycles(many) - found.cycles(few)) / (many.threads - few.threads)


def lock_share(found: Points, case: Case, cause: str = "lock") -> float:
    """Waits for test-and-set locks, or for `cause`, of all cycles of the hardware threads."""
    return found.mean(case, cause) / (found.cycles(case) * case.harts)


def why3(found: Points, plan: Plan) -> str:
    """Why threads block here, and what that costs."""
    fine = Case("hard", 1, plan.most)
    each, spawned = passing(found, plan), found.cycles(fine) / fine.threads
    parts = [
        f"The line passes from a thread to the next every {each:.0f} cycles. (This was measured: "
        f"workload B with unit 1 and `hard-tree`, the difference between runs of {ROOMY[0]} and of "
        f"{ROOMY[1]} threads, for which the DTB has room. The answer to the conditional load takes "
        f"{LATENCY} of these cycles.) The parent can create a thread every {spawned:.0f}."
    ]
    parts.append(
        "So threads can come faster than the line passes on, and then most of them have to wait. "
        "The paper's line is likely held for a shorter time."
        if each > spawned
        else "So the line is not the reason why threads wait."
    )
    cases = [*workload(plan, "b"), *workload(plan, "d")]
    worst = max(cases, key=lambda case: found.mean(case, "dtb_overflows"))
    traps = found.mean(worst, "dtb_overflows") / worst.threads
    if traps > 0:
        plain = Case("hard", worst.units, worst.harts, {"b": "c", "d": "e"}[worst.workload])
        parts.append(
            f"When the DTB is full, threads go to memory by a trap, come back by a recruiting "
            f"thread, and may find it full again: {traps:.1f} traps for each thread in workload "
            f"{worst.workload.upper()} with {worst.harts} hardware threads. There the hardware "
            f"threads wait {lock_share(found, worst):.0%} of all cycles for the lock of the trap "
            f"handlers and {lock_share(found, worst, 'device'):.0%} for registers of the scheduler "
            f"({lock_share(found, plain):.0%} and {lock_share(found, plain, 'device'):.0%} in "
            f"workload {plain.workload.upper()})."
        )
    return " ".join(parts)


# ---- Figures 4 and 5


def in_threads(found: Points, case: Case) -> float:
    """Share of the hardware threads' time that threads take."""
    return found.mean(case, "mean") * case.threads / (found.cycles(case) * case.harts)


def claims4(found: Points, plan: Plan) -> list[Claim]:
    gains = [speedup(found, [c for c in plan.figure4() if c.units == units]) for units in FINE]
    most = [Case("mts", units, plan.most) for units in FINE]
    mostly = [case for case in plan.figure4() if in_threads(found, case) < 0.5]
    others = [case for case in plan.figure4() if case not in mostly]
    said = f"With {plan.most} hardware threads, threads take "
    said += f"{shares([in_threads(found, case) for case in most])} of their time."
    if others:
        places = (f"unit {case.units} on {case.harts} hardware threads" for case in others)
        said += f" Threads take more than half of it with {joined(list(places))}."
    return [
        judged(
            "Units 1, 10 and 50 do not scale at all.",
            f"{plan.most} hardware threads are {numbers(gains)} times as fast as {plan.harts[0]}.",
            *(gain < CLOSE for gain in gains),
        ),
        judged(
            "Workers, not threads, take most of the time.",
            said,
            *(in_threads(found, case) < 0.5 for case in plan.figure4()),
        ),
        judged(
            "That is because workers load and store so often to manage the LIFO.",
            f"With {plan.most} hardware threads they wait "
            f"{shares([lock_share(found, case) for case in most])} of their time for the lock of "
            "the LIFO.",
            *(lock_share(found, case) > 0.5 for case in most),
        ),
    ]


def claims5(found: Points, plan: Plan) -> list[Claim]:
    by_units = {u: [c for c in plan.figure5() if c.units == u] for u in (400, 600)}
    fastest = {u: min(cases, key=found.cycles) for u, cases in by_units.items()}
    gains = {u: faster(found, cases[0], fastest[u]) for u, cases in by_units.items()}
    ends = {u: speedup(found, cases) for u, cases in by_units.items()}

    def best(units: int) -> str:
        return (
            f"Fastest with {fastest[units].harts} hardware threads, {gains[units]:.1f} times as "
            f"fast as with {plan.harts[0]}."
        )

    return [
        judged("About unit 400 software begins to scale.", best(400), gains[400] >= GAIN),
        weak_at_the_end(found, plan),
        judged(
            "Unit 600 scales visibly, and better than unit 400.",
            f"{best(600)} {plan.most} are {ends[600]:.1f} times as fast as {plan.harts[0]}, with "
            f"unit 400 {ends[400]:.1f} times.",
            gains[600] >= GAIN,
            ends[600] > ends[400],
        ),
        means(found, [by_units[u][0] for u in by_units]),
    ]


def weak_at_the_end(found: Points, plan: Plan) -> Claim:
    paper = "With unit 400 more than 20 hardware threads help little."
    if plan.most <= 20:
        return no_more(plan, paper)
    early, late = Case("mts", 400, 20), Case("mts", 400, plan.most)
    gain = faster(found, early, late)
    here = (
        f"{plan.most} are {gain:.2f} times as fast as 20{', so they harm' if gain < 0.9 else ''}. "
        f"They wait {lock_share(found, late):.0%} of their time for the lock, 20 of them "
        f"{lock_share(found, early):.0%}."
    )
    return judged(paper, here, gain < GAIN, gain > 0.9)
