# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures affinity`: the time of a sample."""

from __future__ import annotations

from collections.abc import Sequence

from pirn_tools.figures import affinity_thesis as thesis
from pirn_tools.figures import markdown
from pirn_tools.figures.affinity_model import (
    AUTO,
    DECLARED,
    FAMILIES,
    FLAT,
    FLAT_FAMILIES,
    OLD,
    PIN_ALL,
    PIN_WAVES,
    PLAIN,
    TWO_NODES,
    Point,
    Points,
    wavemix,
)
from pirn_tools.figures.affinity_plots import TIMES, file_of, pictures
from pirn_tools.figures.affinity_thesis import BUFFERS, TOPOLOGIES
from pirn_tools.figures.affinity_words import (
    Claim,
    claim,
    claims,
    gains,
    mean,
    same_sign,
    share,
    signed,
    sizes,
    span,
)

# The thesis measured all of these but `auto`: plain scheduling and the new rule in Tables 4.3 and
# 4.4, the old rule in Table 3.1, pinned tasks in Figure 3.21.
TIMED = (PLAIN, OLD, DECLARED, AUTO, PIN_ALL, PIN_WAVES)


def sample_times(found: Points, topology: str) -> str:
    """Table 4.3c or 4.4c, ours and the thesis'."""
    rows = []
    for kb in BUFFERS:
        plain = found[wavemix(PLAIN, topology, kb)]
        for way in TIMED:
            one = found[wavemix(way, topology, kb)]
            gain = "" if way == PLAIN else signed(thesis.improvement(one.a2s, plain.a2s))
            rows.append([f"{kb} KB", f"`{way}`", *numbers(one), gain])
        row = thesis.TABLES[topology][kb]
        rows += [
            [f"{kb} KB", "thesis, plain", *numbers(row.plain), ""],
            [
                *(f"{kb} KB", "thesis, new rule", *numbers(row.affinity)),
                signed(thesis.NEW_IMPROVEMENT[topology][kb]),
            ],
        ]
    head = ["", "", "mean", "sigma", "variance, µs²", "A2S", "improvement"]
    return markdown.table(head, rows, left=(0, 1))


def numbers(one: Point | thesis.Sample) -> list[str]:
    return [f"{value:.1f}" for value in (one.mean, one.sigma, one.variance, one.a2s)]


def improvements(found: Points, topology: str) -> str:
    """Of every rule against its plain policy."""
    rows = []
    for plain, rules in FAMILIES.items():
        for way in rules:
            each = gains(found, way, plain, topology)
            rows.append([f"`{way}`", f"`{plain}`", *(signed(each[kb]) for kb in BUFFERS)])
    for plain, rules in FLAT_FAMILIES.items() if topology == TWO_NODES else ():
        for way in rules:
            each = gains(found, way, plain, topology)
            rows.append([f"`{way}`", f"`{plain}`", *(signed(each[kb]) for kb in BUFFERS)])
    for way in (PIN_WAVES, PIN_ALL, "single", "dist"):
        each = gains(found, way, PLAIN, topology)
        rows.append([f"`{way}`", f"`{PLAIN}`", *(signed(each[kb]) for kb in BUFFERS)])
    for title, table in (
        ("thesis, old rule (Table 3.1)", thesis.OLD_IMPROVEMENT),
        ("thesis, new rule", thesis.NEW_IMPROVEMENT),
    ):
        rows.append([title, "Linux", *(signed(table[topology][kb]) for kb in BUFFERS)])
    return markdown.table(["", "against", *(f"{kb} KB" for kb in BUFFERS)], rows, left=(0, 1))


def time_verdict(found: Points, topology: str) -> str:
    parts = []
    compared = [
        (DECLARED, PLAIN, thesis.NEW_IMPROVEMENT, "new"),
        (OLD, PLAIN, thesis.OLD_IMPROVEMENT, "old"),
        ("single:affinity=declared", "single", thesis.NEW_IMPROVEMENT, "new"),
    ]
    if topology == TWO_NODES:
        compared += [
            (f"{way}{FLAT}", f"{plain}{FLAT}", table, rule) for way, plain, table, rule in compared
        ]
    for way, plain, table, rule in compared:
        each, there = gains(found, way, plain, topology), table[topology]
        better = [kb for kb in BUFFERS if each[kb] > 0]
        where = f"is better than `{plain}` with {sizes(better)}" if better else "is never better"
        parts.append(
            f"`{way}` {where}: {span(list(each.values()))}, on average "
            f"{signed(mean(list(each.values())))}; the thesis' {rule} rule "
            f"{span(list(there.values()))}, on average {signed(mean(list(there.values())))}. "
            + agreement(same_sign(each, there))
        )
    ours = mean([deviation(found[wavemix(PLAIN, topology, kb)]) for kb in BUFFERS])
    plain_rows = [row.plain for row in thesis.TABLES[topology].values()]
    theirs = mean([row.sigma / row.mean for row in plain_rows])
    parts.append(
        f"Sigma of `{PLAIN}` is {share(ours)} of the mean on average, that of the thesis' plain "
        f"scheduler {share(theirs)}."
    )
    return "\n".join(f"- {part}" for part in parts)


def deviation(one: Point) -> float:
    return one.sigma / one.mean


def distance(found: Points, way: str, plain: str) -> float:
    """From the thesis' improvements by the new rule: the mean over machines and sizes; without
    the knowledge of nodes, where there are such runs."""
    each = []
    for topology in TOPOLOGIES:
        is_flat = topology == TWO_NODES and f"{plain}{FLAT}" in FLAT_FAMILIES
        names = [f"{name}{FLAT}" if is_flat else name for name in (way, plain)]
        for kb, gain in gains(found, names[0], names[1], topology).items():
            each.append(abs(gain - thesis.NEW_IMPROVEMENT[topology][kb]))
    return mean(each)


def nearest(found: Points) -> str:
    families = {
        plain: distance(found, way, plain)
        for plain, rules in FAMILIES.items()
        for way in rules
        if way not in (OLD, AUTO)
    }
    ordered = sorted(families, key=lambda plain: families[plain])
    each = ", ".join(f"`{plain}` {100 * families[plain]:.0f}" for plain in ordered)
    return (
        f"Of the policies, without nodes, what affinity changes under `{ordered[0]}` is nearest to "
        f"the thesis: improvements differ by these percentage points on average: {each}."
    )


def agreement(which: Sequence[int]) -> str:
    return f"The sign agrees with {sizes(which)}." if which else "The sign agrees with no size."


def times(found: Points) -> list[str]:
    parts = [
        "## Time of a sample",
        "From one sample to the next, microseconds: Tables 4.3c, 4.4c and 3.1, Figures 4.6 and "
        "4.13, and 3.10, 3.11 and 3.21 of the old rule and of pinned tasks. Sigma and the variance "
        "are those within a run, so the mean of the variances is not the square of the mean sigma; "
        "the means of the seeds differ by at most "
        f"{share(spread(found))} with `{PLAIN}` and `{DECLARED}`. Another build of the model gives "
        "slightly different figures, as another seed does: the runtime's data then has other "
        "addresses, and conflicts with other lines in the caches.",
    ]
    for topology, title in TOPOLOGIES.items():
        parts += [
            f"### {title}: time",
            sample_times(found, topology),
            "The same as pictures, divided by the size of a buffer:",
            *pictures(found, TIMES, topology),
            "Improvement of A2S by each rule, and by other ways to schedule:",
            improvements(found, topology),
            markdown.picture(file_of("a2s", topology), f"Improvement of A2S on {topology}"),
            time_verdict(found, topology),
        ]
    parts += [
        "### Beside the thesis: times",
        "Factors are for buffers of " + markdown.joined([str(kb) for kb in BUFFERS]) + " KB.",
        claims(time_claims(found)),
        nearest(found),
        "Reasons for differences:\n\n"
        "- *The plain policies are not Linux' real-time class.* `steal` wakes a thread on the CPU "
        "of its waker, and CPUs without work, which search all the time, take it away. `single` "
        "has one queue for all CPUs, as Linux has in effect by pushing and pulling; `dist` binds "
        "threads to CPUs in turn.\n"
        "- *Pirn knows the dies of the Xeon* as NUMA nodes: CPUs without work look at their own "
        "die first, and a consumer whose producers' CPUs are busy goes to their die. The thesis' "
        "rule does not, and names NUMA as future work; rows with `nodes=off` are without that.\n"
        "- *The improved rule does not hold a consumer back.* A CPU without work takes it after "
        "`affinity-idle`, 50 µs. The old rule holds it: that saves misses, which pays where they "
        "are dear (the Xeon), and lets CPUs idle, which costs where they are cheap (the i7).\n"
        "- *The system calls of the thesis' threads are not in the model.* They are much of the "
        "time with 4 KB, where the thesis says that pulling costs more than it saves.\n"
        "- *The model does not overlap misses,* so the place of data weighs more than on the "
        "Xeon's hardware, which also prefetches.\n"
        "- Table 3.1 reports a loss with 64 KB on the i7 and gains below; the thesis' text says "
        "that its old rule gains most above 32 KB. One of them is wrong.",
    ]
    return parts


def spread(found: Points) -> float:
    each = [
        found[wavemix(way, topology, kb)]
        for way in (PLAIN, DECLARED)
        for topology in TOPOLOGIES
        for kb in BUFFERS
    ]
    return max((one.spread[1] - one.spread[0]) / one.mean for one in each)


# ---- sentences of the thesis ----

LARGE = tuple(kb for kb in BUFFERS if kb >= 32)  # that an L1 does not hold


def a_mean(one: Point) -> float:
    return one.mean


def a_sigma(one: Point) -> float:
    return one.sigma


def time_claims(found: Points) -> list[Claim]:
    each = []
    old, new, pinned = (OLD, PLAIN), (DECLARED, PLAIN), (PIN_ALL, PLAIN)
    for topology, title in TOPOLOGIES.items():
        said = f"{title}, old rule: the mean is about the same"
        each.append(claim(found, topology, said, old, a_mean, "same"))
    said = "Xeon, old rule: samples differ more"
    each.append(claim(found, "xeon", said, old, a_sigma, "more"))
    said = "i7, old rule: samples differ less"
    each.append(claim(found, "i7", said, old, a_sigma, "less"))
    for topology, title in TOPOLOGIES.items():
        said = f"{title}: without migrations samples differ less, from 32 KB on (Figure 3.21)"
        each.append(claim(found, topology, said, pinned, a_sigma, "less", LARGE))
    said = "Xeon, new rule: the mean is smaller from 8 KB on"
    each.append(claim(found, "xeon", said, new, a_mean, "less", BUFFERS[1:]))
    said = "Xeon, new rule: samples differ more with 4 and 8 KB"
    each.append(claim(found, "xeon", said, new, a_sigma, "more", BUFFERS[:2]))
    said = "Xeon, new rule: samples differ less above 8 KB"
    each.append(claim(found, "xeon", said, new, a_sigma, "less", BUFFERS[2:]))
    said = "i7, new rule: the mean is smaller with every size"
    each.append(claim(found, "i7", said, new, a_mean, "less"))
    said = "i7, new rule: samples differ less"
    each.append(claim(found, "i7", said, new, a_sigma, "less"))
    return each
