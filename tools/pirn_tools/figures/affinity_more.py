# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures affinity`, continued: what is learned, the machine with 64 cores,
the price of a wake-up, and schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pirn_tools.figures import markdown
from pirn_tools.figures.affinity_loss import cases, lost
from pirn_tools.figures.affinity_model import (
    AUTO,
    BOTH,
    DECLARED,
    FLAT,
    OLD,
    PAIRS,
    PAIRS_BUFFER,
    PAIRS_FLAT,
    PAIRS_WAYS,
    PLAIN,
    Point,
    Points,
    pairs,
    wavemix,
)
from pirn_tools.figures.affinity_real import PRODUCERS, RULES, SYNCS, Real, Values, middle
from pirn_tools.figures.affinity_schedules import SAMPLE, SCHEDULES, SHOWN, Schedule, Seen
from pirn_tools.figures.affinity_thesis import (
    BUFFERS,
    NEW_IMPROVEMENT,
    OLD_IMPROVEMENT,
    TOPOLOGIES,
)
from pirn_tools.figures.affinity_words import (
    Claim,
    a2s_gain,
    claims,
    gains,
    judged,
    mean,
    share,
    signed,
    span,
)


def short(found: Points) -> str:
    """The page in a few sentences."""
    lines = []
    for topology, title in TOPOLOGIES.items():
        parts = []
        for way, plain in ((DECLARED, PLAIN), ("single:affinity=declared", "single"), (OLD, PLAIN)):
            each = list(gains(found, way, plain, topology).values())
            parts.append(f"`{way}` {signed(mean(each))} ({span(each)})")
        new = list(NEW_IMPROVEMENT[topology].values())
        old = list(OLD_IMPROVEMENT[topology].values())
        lines.append(
            f"- {title}, improvement of A2S over the sizes: {'; '.join(parts)}. The thesis: "
            f"{signed(mean(new))} by the improved rule, {signed(mean(old))} by the old one."
        )
    number = len(lost(found))
    spread = [
        signed(found[pairs("dist:affinity=declared", n)].mean / found[pairs("dist", n)].mean - 1)
        for n in PAIRS
    ]
    lines += [
        f"- Affinity loses in {number} of {cases()} cases ([which, and "
        "why](#where-affinity-does-not-help)).",
        f"- 64 cores: `dist:affinity=declared` changes the time of `dist` by "
        f"{markdown.joined(spread)} with {markdown.joined([str(n) for n in PAIRS])} pairs "
        "([more](#64-cores)).",
    ]
    return "In short:\n\n" + "\n".join(lines)


# ---- inference ----


@dataclass(frozen=True)
class Agreement:
    """Of wake-ups by learned producers, the share by declared ones, and the other way round."""

    precision: float
    recall: float


def agreement(counters: Values) -> Agreement:
    agreed = counters["affinity-agreed"]
    learned, declared = counters["affinity-learned"], counters["affinity-declared"]
    return Agreement(agreed / learned if learned else 0.0, agreed / declared if declared else 0.0)


def shares(each: Sequence[float]) -> str:
    least, most = share(min(each)), share(max(each))
    return least if least == most else f"{least} to {most}"


def modelled(one: Point) -> Agreement:
    names = ("affinity-agreed", "affinity-learned", "affinity-declared")
    return agreement({name: one.by_sample(name) for name in names})


def inference(found: Points, real: Real) -> list[str]:
    rows, every = [], []
    for topology, title in TOPOLOGIES.items():
        for kb in BUFFERS:
            got = modelled(found[wavemix(BOTH, topology, kb)])
            every.append(got)
            a2s = [signed(a2s_gain(found, way, PLAIN, topology, kb)) for way in (AUTO, DECLARED)]
            late = found[wavemix(BOTH, topology, kb)].by_sample("affinity-late")
            agreed = [share(got.precision), share(got.recall), f"{late:.2f}"]
            rows.append([title, f"{kb} KB", *agreed, *a2s])
    head = ["model, semaphores", "", "precision", "recall", "late", f"`{AUTO}`", f"`{DECLARED}`"]
    lines = []
    for sync in SYNCS:
        runs = [agreement(one) for one in real.learned[sync]]
        lines.append(
            [
                f"`--sync={sync}`",
                f"{mean([one['affinity-learned'] for one in real.learned[sync]]):.0f}",
                shares([one.precision for one in runs]),
                shares([one.recall for one in runs]),
            ]
        )
    closer = [
        mean(list(gains(found, AUTO, PLAIN, topology).values()))
        - mean(list(gains(found, DECLARED, PLAIN, topology).values()))
        for topology in TOPOLOGIES
    ]
    return [
        "## Inference",
        "`affinity=auto` learns producers from wake-ups. The program declares, too, so that both "
        "can be compared: of the wake-ups by a learned producer, the share that is declared "
        "(precision); of those by a declared one, the share that is learned (recall). The last "
        "columns are the improvements of A2S without declarations and with them, against "
        f"`{PLAIN}`. The thesis has declarations only.",
        markdown.table(head, rows, left=(0, 1)),
        f"Precision is at least {share(min(one.precision for one in every))}, recall "
        f"{share(min(one.recall for one in every))} to {share(max(one.recall for one in every))}. "
        "Without declarations the improvement is smaller by "
        + markdown.joined(
            [
                f"{-100 * one:.1f} percentage points on the {title}"
                for title, one in zip(TOPOLOGIES.values(), closer, strict=True)
            ]
        )
        + ", on average over the sizes. Recall suffers from late placements (in the table, by "
        "sample): a consumer that a CPU without work had to take away costs its learned producer "
        "weight, so the producer is forgotten for a while.",
        "`wavemix-pirn` on the machine at hand, with semaphores, and with mutexes and condition "
        "variables; the least and the most of "
        f"{len(real.learned[SYNCS[0]])} runs:",
        markdown.table(["", "learned wake-ups", "precision", "recall"], lines),
        condition_words(real),
    ]


def condition_words(real: Real) -> str:
    sem, cond = ([agreement(one) for one in real.learned[sync]] for sync in SYNCS)
    worst = min(one.precision for one in cond)
    if worst > min(one.precision for one in sem) - 0.05:
        return "Condition variables are told apart as well as semaphores."
    return (
        "A semaphore that begins above 0 counts free places in a buffer, not data, so its wake-ups "
        "are left out. A condition variable does not tell which of the two its waiter waits for. "
        "Of two threads that wake each other, the one whose wake-ups counted first is taken for "
        "the producer. That may be the consumer, and then as little as "
        f"{share(worst)} of what is learned is right. Programs with condition variables should "
        "declare their dependencies."
    )


# ---- the machine with 64 cores ----


def far(one: Point) -> float:
    return one.by_sample("from_far") + one.by_sample("from_far_memory")


def large(found: Points) -> list[str]:
    rows = []
    for number in PAIRS:
        for way in shown_pairs():
            one = found[pairs(way, number)]
            cells = [f"{one.mean:.1f} ± {one.sigma:.1f}", f"{one.a2s:.1f}"]
            cells += [
                f"{value / number:.1f}"
                for value in (
                    one.by_sample("migrations"),
                    one.misses("l1"),
                    one.misses("llc"),
                    far(one),
                )
            ]
            rows.append([f"{number} pairs", f"`{way}`", *cells])
    head = ["", "", "time, µs", "A2S", "migrations", "L1 misses", "last level", "from another node"]
    parts = []
    for policy in ("steal", "single", "dist"):
        for rule in ("declared", "auto"):
            way = f"{policy}:affinity={rule}"
            each = [
                1 - found[pairs(way, number)].mean / found[pairs(policy, number)].mean
                for number in PAIRS
            ]
            lines = [
                f"{far(found[pairs(policy, number)]) / number:.0f} to "
                f"{far(found[pairs(way, number)]) / number:.0f} with {number}"
                for number in PAIRS
            ]
            parts.append(
                f"- `{way}` changes the time of `{policy}` by "
                f"{markdown.joined([signed(-one) for one in each])} with "
                f"{markdown.joined([str(number) for number in PAIRS])} pairs, and lines from "
                f"another node from {markdown.joined(lines)}."
            )
    return [
        "## 64 cores",
        f"Workload `pairs` on `numa64`, 8 nodes of 8 cores: a producer and its consumer, buffers "
        f"of {PAIRS_BUFFER} KB; counts of one pair's sample. The thesis measured one node of an "
        "Opteron only: its rule did not place threads as meant there, and lost.",
        markdown.table(head, rows, left=(0, 1)),
        "\n".join(parts),
        node_words(found),
        "Where a plain policy wakes a consumer on the CPU of its waker, as `steal` does, pairs "
        "settle on one CPU each, and affinity has nothing to add"
        + (", but samples differ more" if unsteady(found) else "")
        + ". It gains where the policy spreads partners over the nodes.",
        *still(found),
    ]


STILL = 0.05  # migrations of a pair's sample


def still(found: Points) -> list[str]:
    """Where nothing moves, it does not show whether near CPUs go before far ones."""
    each = [way for way in PAIRS_FLAT if way.startswith(PLAIN)]
    most = max(
        found[pairs(way, n)].by_sample("migrations") / n
        for way in (*each, *(f"{way}{FLAT}" for way in each))
        for n in PAIRS
    )
    if most >= STILL:
        return []
    return [
        f"Under `{PLAIN}` a pair hardly moves (at most {most:.2f} migrations a sample), so these "
        "runs do not show what it gains that CPUs look near before far. Those of "
        "[pipelines](pipelines.md#64-cores), whose threads move, do."
    ]


def shown_pairs() -> list[str]:
    """Rows with nodes=off stand below those with nodes."""
    every = []
    for way in PAIRS_WAYS:
        every += [way, f"{way}{FLAT}"] if way in PAIRS_FLAT else [way]
    return every


def node_words(found: Points) -> str:
    """What the runtime's knowledge of nodes changes."""
    lines = []
    for way in PAIRS_FLAT:
        each = []
        for number in PAIRS:
            on, off = (found[pairs(name, number)] for name in (way, f"{way}{FLAT}"))
            each.append(
                f"with {number} pairs time {signed(on.mean / off.mean - 1)}, A2S "
                f"{signed(on.a2s / off.a2s - 1)}, lines from another node {far(off) / number:.1f} "
                f"to {far(on) / number:.1f}"
            )
        lines.append(f"- `{way}`: {'; '.join(each)}")
    return (
        "What it changes that the runtime knows the nodes, against `nodes=off`; less than 0 is "
        "better:\n\n" + "\n".join(lines)
    )


def unsteady(found: Points) -> bool:
    return all(found[pairs(DECLARED, n)].sigma > 2 * found[pairs(PLAIN, n)].sigma for n in PAIRS)


# ---- price ----


def price(real: Real) -> list[str]:
    rows = []
    for producers in PRODUCERS:
        cells = [str(producers)]
        for rule in RULES:
            if real.instructions:
                cells.append(f"{real.instructions[rule, producers]:.0f}")
        cells += [f"{middle(real.posts[rule, producers]):.1f}" for rule in RULES]
        rows.append(cells)
    head = ["producers"]
    if real.instructions:
        head += [f"`{rule}`, instructions" for rule in RULES]
    head += [f"`{rule}`, ns" for rule in RULES]
    return [
        "## Price",
        "A wake-up by the number of the consumer's producers, all but the last of which wait "
        "(`wakeup-producers`, one CPU of the machine at hand). Instructions, counted by callgrind, "
        "are those of a whole round: the post, the consumer's turn, and the way back. Times are "
        "those of the post, medians.",
        markdown.table(head, rows),
        price_words(real),
    ]


def price_words(real: Real) -> str:
    if not real.instructions:
        return "There is no Valgrind here, so no instructions were counted."
    cost = real.instructions
    last = PRODUCERS[-1]
    more = (cost[DECLARED, last] - cost[DECLARED, 1]) / (last - 1)
    learned = cost[AUTO, 1] - cost[PLAIN, 1]
    return (
        f"Declared affinity costs {cost[DECLARED, 0] - cost[PLAIN, 0]:.0f} instructions without "
        f"producers, {cost[DECLARED, 1] - cost[PLAIN, 1]:.0f} with one, and {more:.0f} for each "
        f"further one; `auto` {learned:.0f} with one. A policy without the option pays nothing: "
        "its table of operations is not replaced. The thesis reports no price of a wake-up."
    )


# ---- schedules ----


def schedules(seen: Mapping[tuple[str, str], Seen]) -> list[str]:
    ways = (PLAIN, OLD, DECLARED)
    rows = [
        [title, *(share(seen[topology, way].follows) for way in ways)]
        for topology, title in TOPOLOGIES.items()
    ]
    shown = SCHEDULES[0]
    parts = [
        "## Schedules",
        f"{SHOWN} samples of one seed, from the end of sample {SAMPLE} on (Figures 3.14, 4.5 and "
        f"4.12), buffers of {shown.buffer} KB. A dot is a thread that another CPU has taken.",
    ]
    for one in SCHEDULES:
        parts.append(markdown.picture(one.picture, title_of(one)))
        parts.append(f"{title_of(one)}.")
    parts += [
        "One sample of each, from the end of the one before, as a waveform: the trace as a value "
        "change dump (`pirn trace export --format vcd`), drawn as GTKWave does. A row for each CPU "
        "has the thread that it runs, a row for each task its state.",
    ]
    for one in SCHEDULES:
        parts.append(markdown.picture(one.waveform, f"Waveform: {title_of(one)}"))
        parts.append(f"{title_of(one)}.")
    parts += [
        "Turns of mixers that directly follow, on their CPU, a turn of a task whose buffer they "
        "read, in those runs:",
        markdown.table(["", *(f"`{way}`" for way in ways)], rows),
        follow_words(seen),
        "### Beside the thesis: schedules",
        claims([one for topology in TOPOLOGIES for one in wave_claims(seen, topology)]),
        "The old rule takes any CPU that ran a producer last, even if it runs another thread by "
        "now. So two mixers choose one CPU, and one of them has to wait or go elsewhere (the "
        "thesis' Figure 3.14). The same run as a trace, as a waveform for GTKWave, and as a "
        "picture:",
        "<!-- not run: the simulator is a program of the build -->\n"
        "```console\n"
        f"$ build/release/tests/sim/model/pirn-sim-model {' '.join(shown.words())} "
        "--trace old.trace\n"
        "$ .venv/bin/pirn trace export old.trace --format vcd --output old.vcd\n"
        "$ .venv/bin/pirn trace plot old.trace --output old.png\n"
        "```",
    ]
    return parts


def wave_claims(seen: Mapping[tuple[str, str], Seen], topology: str) -> list[Claim]:
    """Section 4.1.1: one wave waits until mixer2 has ended; Figure 4.1."""
    each = []
    for way, number, said in (
        (DECLARED, 3, "new rule: three of the four waves run at once (section 4.1.1)"),
        (PLAIN, 4, "plain scheduling: all four waves run at once"),
    ):
        waves = seen[topology, way].waves
        shown = ", ".join(f"{most} in {share(part)}" for most, part in waves.items())
        commonest = max(waves, key=lambda most: waves[most]) if waves else 0
        here = f"`{way}`, waves at once, of the samples: {shown}; what is commonest counts"
        each.append(Claim(f"{TOPOLOGIES[topology]}, {said}", here, judged([commonest == number])))
    return each


def follow_words(seen: Mapping[tuple[str, str], Seen]) -> str:
    parts = []
    for topology, title in TOPOLOGIES.items():
        plain, old, new = (seen[topology, way].follows for way in (PLAIN, OLD, DECLARED))
        parts.append(
            f"On the {title} the improved rule changes the share from {share(plain)} to "
            f"{share(new)}, the old one to {share(old)}."
        )
    parts.append(
        "The improved rule places a consumer only where a producer runs, or has run last. A mixer "
        "that waited for room, not for data, is woken by its consumer, when its producers' CPUs "
        "may run something else; then the policy places it (standard, in the tables of pushes). "
        "And a CPU without work may take it. The old rule always places it, and nobody takes it."
    )
    return " ".join(parts)


def title_of(one: Schedule) -> str:
    rule = "old" if one.way == OLD else "improved"
    return f"{TOPOLOGIES[one.topology]}, {rule} rule, `{one.way}`"
