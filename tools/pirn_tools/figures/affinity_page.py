# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures affinity`: sample times, speed-ups, migrations and misses, pushes
and pulls. affinity_more.py has the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pirn_tools.figures import affinity_more as more
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
    SERIAL,
    TWO_NODES,
    Point,
    Points,
    wavemix,
)
from pirn_tools.figures.affinity_plots import MEASURES, file_of
from pirn_tools.figures.affinity_real import Real
from pirn_tools.figures.affinity_thesis import BUFFERS, TOPOLOGIES
from pirn_tools.figures.affinity_words import (
    Claim,
    claims,
    gains,
    mean,
    same_sign,
    share,
    signed,
    sizes,
    span,
    trend,
)

HEAD = """\
This page shows what task affinity gains: a thread that reads data is placed where the data has just
been written ([rules](../guide/affinity.md#where-a-consumer-runs)). It repeats the experiments of a
thesis that added it to Linux, with the thesis' numbers beside ours: {name}.

The machines of the thesis are modelled: the simulator runs Pirn's own policies on modelled caches
and in modelled time ([what it leaves out](../internals/model.md#what-is-left-out)). So compare ways
to schedule with each other, not microseconds with the thesis'. A cell is a mean over {seeds} seeds.
[affinity.csv](affinity.csv) has all of them. Only the sections that say so have runs on a real
machine.

The program is `wavemix`: four waves fill a buffer each; mixer0 reads two of these, mixer1 the other
two, and mixer2 reads the buffers of both. Ways to schedule:

- `steal`, `single`, `dist`: a policy without affinity. The thesis compares with Linux' real-time
  class, whose CPUs push and pull threads until each runs the most urgent ones.
- `affinity=old`: the rule before the thesis improved it. `affinity=declared`: the improved one. The
  tasks declare whom they read from.
- `affinity=auto`: nothing is declared; the rule learns from wake-ups.
- `nodes=off`: the runtime does not know which CPUs of the Xeon are on one die.
- `--pin all`, `--pin waves`: tasks tied to CPUs, as in the thesis' Table 3.2. `--serial`: one CPU.

A2S is mean + 2 sigma. An improvement is positive where A2S is smaller, as in the thesis' tables;
its equation 3.2 has the other sign."""


def sample_times(found: Points, topology: str) -> str:
    """Table 4.3c or 4.4c, ours and the thesis'."""
    rows = []
    for kb in BUFFERS:
        plain, ours = (found[wavemix(way, topology, kb)] for way in (PLAIN, DECLARED))
        row = thesis.TABLES[topology][kb]
        cells = [f"{kb} KB"]
        cells += [f"{one.mean:.1f} ± {one.sigma:.1f}" for one in (plain, ours)]
        cells += [f"{one.a2s:.1f}" for one in (plain, ours)]
        cells.append(signed(thesis.improvement(ours.a2s, plain.a2s)))
        cells += [f"{one.mean:.1f} ± {one.sigma:.1f}" for one in (row.plain, row.affinity)]
        cells.append(signed(thesis.NEW_IMPROVEMENT[topology][kb]))
        rows.append(cells)
    head = ["", f"`{PLAIN}`", f"`{DECLARED}`", f"A2S, `{PLAIN}`", f"A2S, `{DECLARED}`"]
    head += ["improvement", "thesis: plain", "new rule", "improvement"]
    return markdown.table(head, rows)


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
        "From one sample to the next, microseconds, mean ± sigma: Tables 4.3c, 4.4c and 3.1. Sigma "
        "is that within a run; the means of the seeds differ by at most "
        f"{share(spread(found))} with `{PLAIN}` and `{DECLARED}`. Another build of the model gives "
        "slightly different figures, as another seed does: the runtime's data then has other "
        "addresses, and conflicts with other lines in the caches.",
    ]
    for topology, title in TOPOLOGIES.items():
        parts += [
            f"### {title}: time",
            sample_times(found, topology),
            "Improvement of A2S by each rule, and by other ways to schedule:",
            improvements(found, topology),
            markdown.picture(file_of("a2s", topology), f"Improvement of A2S on {topology}"),
            time_verdict(found, topology),
        ]
    parts += [
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


# ---- speed-up ----

SPED = (PLAIN, DECLARED, OLD, "single", "single:affinity=declared")


def speedup(found: Points, way: str, topology: str, kb: int) -> float:
    return found[wavemix(SERIAL, topology, kb)].mean / found[wavemix(way, topology, kb)].mean


def average_speedup(found: Points, way: str, topology: str) -> float:
    return mean([speedup(found, way, topology, kb) for kb in BUFFERS])


def percents(portions: Sequence[float]) -> str:
    return ", ".join(share(one) for one in portions)


def speedup_table(found: Points, topology: str) -> str:
    rows = []
    for kb in BUFFERS:
        row = thesis.TABLES[topology][kb]
        cells = [f"{kb} KB", f"{found[wavemix(SERIAL, topology, kb)].mean:.0f}"]
        cells += [f"{speedup(found, way, topology, kb):.2f}" for way in SPED]
        cells += [f"{row.serial_us / one.mean:.2f}" for one in (row.plain, row.affinity)]
        rows.append(cells)
    said = thesis.SPEEDUPS[topology]
    plain, affinity = estimates(found, topology)
    averages = [f"{average_speedup(found, way, topology):.2f}" for way in SPED]
    rows.append(["average", "", *averages, f"{said.plain:.2f}", f"{said.affinity:.2f}"])
    theirs = [f"{said.plain_estimate:.2f}", f"{said.affinity_estimate:.2f}"]
    ours = [f"{plain:.2f}", f"{affinity:.2f}", "", f"{plain:.2f}", f"{affinity:.2f}"]
    rows.append(["equation 4.1", "", *ours, *theirs])
    head = ["", "serial, µs", *(f"`{way}`" for way in SPED), "thesis: plain", "new rule"]
    return markdown.table(head, rows)


def estimates(found: Points, topology: str) -> tuple[float, float]:
    serial = [found[wavemix(SERIAL, topology, kb)].serial() for kb in BUFFERS]
    return thesis.estimates(serial)


def speedup_verdict(found: Points, topology: str) -> str:
    said = thesis.SPEEDUPS[topology]
    serial = [found[wavemix(SERIAL, topology, kb)].serial() for kb in BUFFERS]
    portions = thesis.averages([thesis.affinity_portions(one) for one in serial])
    plain, affinity = estimates(found, topology)
    parts = [f"Portions of the serial run, with affinity: {percents(portions)}."]
    for way, estimate, real, guess in (
        (PLAIN, plain, said.plain, said.plain_estimate),
        (DECLARED, affinity, said.affinity, said.affinity_estimate),
    ):
        measured = average_speedup(found, way, topology)
        parts.append(
            f"`{way}`: measured {measured:.2f}, estimated {estimate:.2f} "
            f"({signed(measured / estimate - 1)}); the thesis {real:.2f} and {guess:.2f} "
            f"({signed(real / guess - 1)})."
        )
    here = average_speedup(found, DECLARED, topology) > average_speedup(found, PLAIN, topology)
    parts.append(
        "Affinity is faster on average, as in the thesis."
        if here
        else "Affinity is not faster on average; in the thesis it is."
    )
    return " ".join(parts)


def speedups(found: Points) -> list[str]:
    parts = [
        "## Speed-up",
        "Time of a sample on one CPU, divided by that on four; below it what the thesis' equation "
        "4.1 expects of plain scheduling and of affinity: portions of the serial run by Table 4.1, "
        "averaged over the sizes, each divided by the number of tasks that run at once (Table "
        "4.2). The thesis prints the second portion of affinity as three waves and the difference "
        "of mixer2 and a wave; its percentages, which are used here, are those of four waves. Its "
        "text calls the estimates of affinity too high, but by its own numbers all four are lower "
        "than what was measured.",
    ]
    for topology, title in TOPOLOGIES.items():
        parts += [
            f"### {title}: speed-up",
            speedup_table(found, topology),
            speedup_verdict(found, topology),
        ]
    parts.append(
        "The estimate takes the tasks' times from the serial run, whose data is in one CPU's "
        "caches. On four CPUs data comes from other caches, so tasks take longer: in the Xeon's "
        "model another die's line costs as much as memory, and even tasks that are all pinned as "
        f"in Table 3.2 reach {average_speedup(found, PIN_ALL, 'xeon'):.2f} only "
        f"(i7: {average_speedup(found, PIN_ALL, 'i7'):.2f}). On the other hand a producer starts "
        "on the next buffer while its consumer still works on another one, which the equation "
        "does not count."
    )
    return parts


# ---- migrations and misses ----

SHOWN = (PLAIN, OLD, DECLARED, AUTO, "single", "single:affinity=declared", PIN_WAVES, PIN_ALL)
SHOWN_KB = (4, 64)


def migrations(one: Point) -> float:
    return one.by_sample("migrations")


def l1(one: Point) -> float:
    return one.misses("l1")


def llc(one: Point) -> float:
    return one.misses("llc")


def from_core(one: Point) -> float:
    return one.by_sample("from_core") + one.by_sample("from_far")


def pair(one: Point, level: str) -> str:
    reads, writes = (one.by_sample(f"{level}_{what}_misses") for what in ("read", "write"))
    return f"{reads:.0f} / {writes:.0f}"


def counts(found: Points, topology: str) -> str:
    rows = []
    for way in SHOWN:
        for kb in SHOWN_KB:
            one = found[wavemix(way, topology, kb)]
            cells = [f"`{way}`", f"{kb} KB", f"{migrations(one):.1f}", pair(one, "l1")]
            rows.append([*cells, pair(one, "llc"), f"{from_core(one):.0f}"])
    head = ["", "", "migrations", "L1 misses, reads / writes", "last level", "from other cores"]
    return markdown.table(head, rows)


def count_claims(found: Points) -> str:
    new, old, pins = (DECLARED, PLAIN), (OLD, PLAIN), (PIN_WAVES, PIN_ALL)
    each = []
    for topology, title in TOPOLOGIES.items():
        each.append(claim(found, topology, f"{title}: affinity migrates more", new, migrations))
    each.append(claim(found, "xeon", "Xeon: affinity has more L1 misses", new, l1))
    each.append(claim(found, "xeon", "Xeon: affinity has more misses of the last level", new, llc))
    each.append(claim(found, "i7", "i7: affinity has fewer L1 misses", new, l1, "less"))
    flat = (f"{DECLARED}{FLAT}", f"{PLAIN}{FLAT}")
    for what, value in (("migrates more", migrations), ("has more misses of the last level", llc)):
        each.append(claim(found, TWO_NODES, f"Xeon: affinity {what}", flat, value))
    each.append(claim(found, "xeon", "Xeon, old rule: L1 misses are not fewer", old, l1))
    each.append(claim(found, "i7", "i7, old rule: L1 misses are fewer", old, l1, "less"))
    small = [kb for kb in BUFFERS if kb < 32]
    for topology, title in TOPOLOGIES.items():
        said = f"{title}: moving mixers cost L1 misses, buffers below 32 KB"
        each.append(claim(found, topology, said, pins, l1, among=small))
    said = "Xeon: moving mixers cost misses of the last level"
    each.append(claim(found, "xeon", said, pins, llc))
    said = "i7: moving mixers cost misses of the last level"
    each.append(claim(found, "i7", said, pins, llc))
    return claims(each)


def claim(
    found: Points,
    topology: str,
    said: str,
    ways: tuple[str, str],
    value: more.Value,
    wanted: str = "more",
    among: Sequence[int] = BUFFERS,
) -> Claim:
    got = trend(found, topology, ways, value, among)
    here = f"`{ways[0]}` against `{ways[1]}`: {got.words}; factors {got.factors}"
    return Claim(said, here, got.agrees(wanted))


def misses(found: Points) -> list[str]:
    parts = [
        "## Migrations and cache misses",
        "Counts of a sample (Figures 4.7 to 4.9, 4.14 to 4.16, and 3.12 to 3.20 for pinned tasks). "
        "A line that another core has modified counts as a miss of the L1; of the last level only "
        "if the core is on another die. The pictures divide misses by the size of a buffer.",
    ]
    for topology, title in TOPOLOGIES.items():
        parts += [f"### {title}: counts", counts(found, topology)]
        parts += [
            markdown.picture(file_of(one.name, topology), f"wavemix on {topology}: {one.label}")
            for one in MEASURES
        ]
    parts += [
        "### Beside the thesis: counts",
        "Factors are for buffers of " + markdown.joined([str(kb) for kb in BUFFERS]) + " KB.",
        count_claims(found),
        "The model's i7 has no misses of the last level once the buffers are in it: they fit, and "
        "no other program uses it. Its other cores' lines take the place of what the thesis "
        "counts there. From 32 KB on a task's buffers are larger than its L1, and LRU keeps "
        "nothing of a loop that does not fit, so nothing that a scheduler does changes the count.",
    ]
    return parts


# ---- pushes and pulls ----

PLACED = (DECLARED, "single:affinity=declared")


def each_ns(one: Point, time: str, *counters: str) -> str:
    number = sum(one.by_sample(name) for name in counters)
    return f"{one.by_sample(time) / number:.0f}" if number > 0 else "-"


def placements(found: Points, topology: str) -> str:
    rows = []
    for way in PLACED:
        for kb in BUFFERS:
            one = found[wavemix(way, topology, kb)]
            numbers = [
                f"{one.by_sample(f'affinity-{name}'):.2f}"
                for name in ("here", "there", "standard", "pushes")
            ]
            numbers.append(each_ns(one, "affinity-push-ns", "affinity-pushes"))
            numbers += [f"{one.by_sample(f'affinity-{name}'):.2f}" for name in ("pulls", "late")]
            numbers.append(each_ns(one, "affinity-pull-ns", "affinity-pulls", "affinity-late"))
            before = found[wavemix(PLAIN, topology, kb)].by_sample("steals")
            steals = [f"{one.by_sample('steals'):.2f}", f"{before:.2f}"]
            rows.append(
                [f"`{way}`", f"{kb} KB", *numbers, *(steals if way == DECLARED else ["", ""])]
            )
    head = ["", "", "here", "there", "standard", "pushes", "ns each", "pulls", "late", "ns each"]
    return markdown.table([*head, "taken in all", f"taken, `{PLAIN}`"], rows)


def taken(one: Point) -> float:
    """Threads that CPUs took from others, pulls included."""
    return one.by_sample("steals")


def move_claims(found: Points) -> str:
    each = []
    for topology, title in TOPOLOGIES.items():
        most = max(
            found[wavemix(DECLARED, topology, kb)].by_sample("affinity-pushes") for kb in BUFFERS
        )
        here = f"at most {most:.2f} pushes a sample; plain policies place a thread once"
        each.append(Claim(f"{title}: affinity pushes less", here, "cannot be compared"))
        got = trend(found, topology, (DECLARED, PLAIN), taken)
        here = f"threads taken from other CPUs, against `{PLAIN}`'s: {got.words}; "
        here += f"factors {got.factors}"
        each.append(Claim(f"{title}: affinity pulls more", here, got.agrees("more")))
    return claims(each)


def moves(found: Points) -> list[str]:
    parts = [
        "## Pushes and pulls",
        "Counts of a sample, and the time of one in nanoseconds (Figures 4.10, 4.11, 4.17 and "
        "4.18). A wake-up places a consumer on the waking CPU (here), on another one (there), or "
        "leaves it to the policy (standard). A push moves it on from a CPU where another thread "
        "precedes it. A pull takes it to the CPU that has just run its producer; a late one to a "
        "CPU that was without work for long. Linux calls its push and pull functions at most "
        "switches, whether they move a thread or not; here only those that move one are counted. "
        "The last two columns are threads that CPUs took from others: pulls, late ones and steals.",
    ]
    for topology, title in TOPOLOGIES.items():
        parts += [f"### {title}: pushes and pulls", placements(found, topology)]
    parts += ["### Beside the thesis: pushes and pulls", move_claims(found)]
    return parts


def page(
    found: Points,
    real: Real,
    follows: Mapping[tuple[str, str], float],
    facts: Mapping[str, str],
) -> str:
    seeds = len(next(iter(found.values())).seeds)
    parts = [
        markdown.begin("Task affinity", "affinity", "/affinity_page.py"),
        HEAD.format(name=thesis.NAME, seeds=seeds),
        markdown.facts(facts),
        more.short(found),
        *times(found),
        *speedups(found),
        *misses(found),
        *moves(found),
        *more.inference(found, real),
        *more.large(found),
        *more.price(real),
        *more.schedules(follows),
        *more.real_times(real),
        *more.losses(found, real),
    ]
    return "\n\n".join(parts) + "\n"
