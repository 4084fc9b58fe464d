# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures affinity`: migrations, cache misses, pushes and pulls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pirn_tools.figures import markdown
from pirn_tools.figures.affinity_model import (
    AUTO,
    DECLARED,
    FLAT,
    OLD,
    PIN_ALL,
    PIN_WAVES,
    PLAIN,
    TASKS,
    TWO_NODES,
    Point,
    Points,
    wavemix,
)
from pirn_tools.figures.affinity_plots import COUNTS, MOVES, pictures
from pirn_tools.figures.affinity_thesis import BUFFERS, TOPOLOGIES
from pirn_tools.figures.affinity_words import SAME, Claim, claim, claims, judged, mean, trend

CPUS = 4  # of both machines

SHOWN = (PLAIN, OLD, DECLARED, AUTO, "single", "single:affinity=declared", PIN_WAVES, PIN_ALL)


def migrations(one: Point) -> float:
    return one.by_sample("migrations")


def l1(one: Point) -> float:
    return one.misses("l1")


def llc(one: Point) -> float:
    return one.misses("llc")


def llc_accesses(one: Point) -> float:
    """What the level above has missed; of a machine with two levels the columns of the L2 repeat
    those of the L1."""
    return one.misses("l2")


def from_core(one: Point) -> float:
    return one.by_sample("from_core") + one.by_sample("from_far")


def pair(one: Point, level: str) -> str:
    reads, writes = (one.by_sample(f"{level}_{what}_misses") for what in ("read", "write"))
    return f"{reads:.0f} / {writes:.0f}"


def counts(found: Points, topology: str) -> str:
    rows = []
    for way in SHOWN:
        for kb in BUFFERS:
            one = found[wavemix(way, topology, kb)]
            cells = [f"`{way}`", f"{kb} KB", f"{migrations(one):.1f}", pair(one, "l1")]
            cells += [f"{llc_accesses(one):.0f}", pair(one, "llc"), f"{from_core(one):.0f}"]
            rows.append(cells)
    head = ["", "", "migrations", "L1 misses, reads / writes", "accesses of the last level"]
    head += ["misses of the last level", "from other cores"]
    return markdown.table(head, rows)


def count_claims(found: Points) -> str:
    new, old, pins = (DECLARED, PLAIN), (OLD, PLAIN), (PIN_WAVES, PIN_ALL)
    each = []
    for topology, title in TOPOLOGIES.items():
        each.append(claim(found, topology, f"{title}: affinity migrates more", new, migrations))
    each.append(claim(found, "xeon", "Xeon: affinity has more L1 misses", new, l1))
    each.append(claim(found, "xeon", "Xeon: affinity has more misses of the last level", new, llc))
    each.append(claim(found, "i7", "i7: affinity has fewer L1 misses", new, l1, "less"))
    each.append(last_level_claim(found, new))
    flat = (f"{DECLARED}{FLAT}", f"{PLAIN}{FLAT}")
    for what, value in (("migrates more", migrations), ("has more misses of the last level", llc)):
        each.append(claim(found, TWO_NODES, f"Xeon: affinity {what}", flat, value))
    each.append(claim(found, "xeon", "Xeon, old rule: L1 misses are not fewer", old, l1))
    each.append(claim(found, "i7", "i7, old rule: L1 misses are fewer", old, l1, "less"))
    small = [kb for kb in BUFFERS if kb < 32]
    for topology, title in TOPOLOGIES.items():
        said = f"{title}: moving mixers cost L1 misses, buffers below 32 KB"
        each.append(claim(found, topology, said, pins, l1, among=small))
    large = [kb for kb in BUFFERS if kb >= 32]
    for topology, title, figure in (("xeon", "Xeon", "3.16"), ("i7", "i7", "3.19")):
        said = f"{title}: moving mixers cost accesses of the last level, buffers below 32 KB "
        said += f"(Figure {figure})"
        each.append(claim(found, topology, said, pins, llc_accesses, among=small))
    said = "i7: from 32 KB on about as many accesses of the last level (Figure 3.19)"
    each.append(claim(found, "i7", said, pins, llc_accesses, "same", large))
    said = "Xeon: moving mixers cost misses of the last level"
    each.append(claim(found, "xeon", said, pins, llc))
    said = "i7: moving mixers cost misses of the last level"
    each.append(claim(found, "i7", said, pins, llc))
    for topology in TOPOLOGIES:
        each += place_claims(found, topology)
    return claims(each)


def last_level_claim(found: Points, ways: tuple[str, str]) -> Claim:
    got = claim(
        found, "i7", "i7: affinity has fewer misses of the last level (Figure 4.16)", ways, llc,
        "less",
    )  # fmt: skip
    cores = trend(found, "i7", ways, from_core).factors
    return replace(got, found=f"{got.found}; lines from other cores: factors {cores}")


# ---- which tasks move ----

EACH = 0.9  # moves in a sample: "at each sample"
WAVES, FIRST_MIXERS = TASKS[:4], TASKS[4:6]


def place_claim(said: str, here: str, each: Sequence[float]) -> Claim:
    moved = ", ".join(f"{one:.2f}" for one in each)
    return Claim(said, f"{here}: {moved} by sample; {EACH} or more is yes",
                 judged([one >= EACH for one in each]))  # fmt: skip


def place_claims(found: Points, topology: str) -> list[Claim]:
    title = TOPOLOGIES[topology]

    def by_size(way: str, value: Callable[[Point], float]) -> list[float]:
        return [value(found[wavemix(way, topology, kb)]) for kb in BUFFERS]

    def moves_of(tasks: Sequence[str]) -> Callable[[Point], float]:
        return lambda one: mean([one.moves(task) for task in tasks])

    bounces = by_size(OLD, lambda one: max(one.moves(mixer) for mixer in FIRST_MIXERS))
    return [
        place_claim(
            f"{title}, old rule: mixer0 or mixer1 changes CPU at each sample (Figure 3.14)",
            f"`{OLD}`: the one of them that moves more",
            bounces,
        ),
        place_claim(
            f"{title}, new rule: waves change CPU at each sample (section 4.1.1)",
            f"`{DECLARED}`: a wave, on average",
            by_size(DECLARED, moves_of(WAVES)),
        ),
        place_claim(
            f"{title}, new rule: so do mixer0 and mixer1",
            f"`{DECLARED}`: a mixer, on average",
            by_size(DECLARED, moves_of(FIRST_MIXERS)),
        ),
    ]


def misses(found: Points) -> list[str]:
    parts = [
        "## Migrations and cache misses",
        "Counts of a sample (Figures 4.7 to 4.9, 4.14 to 4.16, and 3.12 to 3.20 for pinned tasks). "
        "A line that another core has modified counts as a miss of the L1; of the last level only "
        "if the core is on another die. The pictures divide misses by the size of a buffer.",
    ]
    for topology, title in TOPOLOGIES.items():
        parts += [f"### {title}: counts", counts(found, topology)]
        parts += pictures(found, COUNTS, topology)
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

PLACED = (OLD, DECLARED, AUTO, "single:affinity=declared")
OF_STEAL = PLACED[:3]


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
                [f"`{way}`", f"{kb} KB", *numbers, *(steals if way in OF_STEAL else ["", ""])]
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
    each.append(pull_claim(found))
    return claims(each)


def pulling(one: Point) -> float:
    """The share of the CPUs' time."""
    return one.by_sample("affinity-pull-ns") / (1000 * CPUS * one.mean)


def pull_claim(found: Points) -> Claim:
    """It is so if pulls take the most of the time with the least buffers, where samples differ
    more than without affinity."""
    shares = [pulling(found[wavemix(DECLARED, "xeon", kb)]) for kb in BUFFERS]
    least = wavemix(DECLARED, "xeon", BUFFERS[0])
    ratio = found[least].sigma / found[wavemix(PLAIN, "xeon", BUFFERS[0])].sigma
    each = ", ".join(f"{100 * one:.2f}" for one in shares)
    return Claim(
        "Xeon: pulling costs predictability, above all with 4 KB",
        f"pulls take {each} % of the CPUs' time; sigma with 4 KB is {ratio:.2f} times that of "
        f"`{PLAIN}`",
        judged([shares[0] == max(shares) > 0, ratio > 1 + SAME]),
    )


def moves(found: Points) -> list[str]:
    parts = [
        "## Pushes and pulls",
        "Counts of a sample, and the time of one in nanoseconds (Figures 4.10, 4.11, 4.17 and "
        "4.18). A wake-up places a consumer on the waking CPU (here), on another one (there), or "
        "leaves it to the policy (standard). A push moves it on from a CPU where another thread "
        "precedes it. A pull takes it to the CPU that has just run its producer; a late one to a "
        "CPU that was without work for long. Linux calls its push and pull functions at most "
        "switches, whether they move a thread or not; here only those that move one are counted. "
        "The last two columns are threads that CPUs took from others: pulls, late ones and steals. "
        "The old rule neither pushes nor pulls; that of the thesis does not either.",
    ]
    for topology, title in TOPOLOGIES.items():
        parts += [f"### {title}: pushes and pulls", placements(found, topology)]
        parts += pictures(found, MOVES, topology)
    parts += ["### Beside the thesis: pushes and pulls", move_claims(found)]
    return parts
